#!/usr/bin/env bats
# --report and --trace: the pictures of a run, made as it ends or later from its log.

load helper

log() { "$BATS_TEST_DIRNAME/tools/runlog" "$@"; }
trace_of() { "$BATS_TEST_DIRNAME/tools/check-trace" "$@"; }

# The text of an element of the page that holds no others, by the element before it: fact jobs gives the number of jobs.
fact() { sed -n "s|.*<dt>$1</dt><dd>\(<a[^>]*>\)\{0,1\}\([^<]*\)<.*|\2|p" "$2"; }

# Numbers without their commas.
plain() { tr -d ,; }

@test "--report makes a page of a log, with the numbers of the log" {
	log 200 >run.jsonl
	run_fairpar --from-log run.jsonl --report run.html
	assert_eq "$stderr$output" ""
	assert_eq "$(fact jobs run.html) $(fact ok run.html) $(fact failed run.html)" "201 197 4"
	assert_eq "$(grep -c '<svg ' run.html) $(tail -n 1 run.html)" "1 </html>"
	assert_contains "$(cat run.html)" 'make check CC=gcc: file21.dat: No such file or directory'
	# every job has its row
	assert_eq "$(sed -n '/id="jobs"/,$p' run.html | grep -c '<tr><th scope="row">')" 201
}

@test "the summary, the page, the drawing and the trace tell the same numbers" {
	need python3
	log 300 5 4 >run.jsonl
	run_fairpar --from-log run.jsonl --summary
	local summary=$output
	run_fairpar --from-log run.jsonl --report run.html --report run.svg --trace run.json
	local jobs failed wall busy
	read -r jobs failed wall busy < <(sed -n 's/^fairpar: \([0-9]*\) jobs in \([^:]*\): .* ok, \([0-9]*\) failed.*, \([0-9]*%\) busy$/\1 \3 \2 \4/p' <<<"$summary")
	assert_contains "$(grep -o '<text[^>]*font-weight[^<]*' run.svg)" " · $(sed -n 's/^fairpar: \(.* busy\)$/\1/p' <<<"$summary")"
	assert_eq "$(fact jobs run.html) $(fact failed run.html) $(fact time run.html) $(fact slots run.html) $(fact busy run.html)" \
		"$jobs $failed $wall 5 $busy"
	assert_eq "$(trace_of run.json | cut -d ' ' -f 1-6)" "jobs $jobs failed $failed retried $(fact retried run.html)"
	# the table of batches, cell by cell
	local table
	table=$(sed -n '/id="batches"/,/<tfoot>/p' run.html | grep '^<tr>' | sed 's|</t[hd]>| |g; s|<[^>]*>||g; s|–|-|g; s/ *$//')
	assert_eq "$table" "$(sed -n '/^  batch /,/^  slowest/p' <<<"$summary" | sed '1d; $d; s/^ *//; s/  */ /g')"
}

@test "the table of jobs has each job as a whole: all its attempts, at all its steps" {
	need jq
	run_fairpar 1 --log run.jsonl --report run.html -j2 --retries 3 --then 'echo again {}' --then 'test {} != b' \
		'echo x >>n.{}; test $(wc -l <n.{}) -ge 2' ::: a b
	local job
	for job in 1 2; do
		local row whole
		row=$(sed -n '/id="jobs"/,$p' run.html | grep "^<tr>.*>#$job<" | sed 's#</t[hd]>#|#g; s#<[^>]*>##g')
		# its state, its attempts, the start of the first one, and how long it was until the end of the last one
		whole=$(jq -rs --arg job "default#$job" '[.[] | select(.ev == "job_end" and .job == $job)] |
			"\(length) \((.[0].start * 1e6 | round / 1000 | floor)) \(((.[-1].start + .[-1].wall - .[0].start) * 1e6 | round / 1000 | floor))"' run.jsonl)
		IFS='|' read -r _ state attempts _ _ start time _ _ command <<<"$row"
		assert_eq "$(((job == 1 ? 4 : 6))) $((10#${start/./})) $((10#${time/./}))" "$whole"
		if [[ $job = 1 ]]; then
			assert_eq "$state;$attempts" 'ok;2'
			assert_contains "$command" 'echo x &gt;&gt;n.a'
		else # once more the first step, twice more the last one
			assert_eq "$state;$attempts" 'exit 1 at step 3;4'
			assert_eq "$command" 'test b != b'
		fi
	done
}

@test "what the page says and marks is told from what is behind it, in the light and in the dark" {
	need python3
	local jobs=()
	for n in {1..16}; do jobs+=(--batch "b$n=b$n"); echo "$n" >"b$n"; done
	run_fairpar 16 --report run.html --summary=never --quiet "${jobs[@]}" 'exit 1 {}' >/dev/null
	run python3 - run.html <<-'END'
		import re, sys
		text = open(sys.argv[1], encoding='utf-8').read()
		def luminance(colour):  # WCAG 2.1, "relative luminance"
		    parts = [int(c, 16) / 255 for c in re.findall('..', colour)]
		    return sum(w * (c / 12.92 if c <= .03928 else ((c + .055) / 1.055) ** 2.4) for w, c in zip((.2126, .7152, .0722), parts))
		def full(colour):
		    return colour if len(colour) == 6 else ''.join(c * 2 for c in colour)
		def contrast(a, b):
		    a, b = sorted((luminance(full(a)), luminance(full(b))), reverse=True)
		    return (a + .05) / (b + .05)
		def rule(style, name, key):
		    found = re.search(r'%s\{[^}]*?(?<![-\w])%s:#(\w+)' % (re.escape(name), key), style)
		    return found and found.group(1)
		page, drawing = re.findall('<style>(.*?)</style>', text, re.S)
		halves = drawing.split('@media(prefers-color-scheme:dark)')
		colours = set(re.findall(r'\.c\d+\{fill:#(\w{6})\}', drawing))
		assert len(colours) >= 8, colours
		seen = []
		for half, dark in enumerate((False, True)):
		    def at(name, key):
		        return rule(halves[half], name, key) or rule(halves[0], name, key)
		    variables = dict(re.findall(r'--(\w+):#(\w+)', page.split('prefers-color-scheme:dark')[half]))
		    for name in 'fg', 'dim', 'bad':
		        for behind in 'bg', 'card':
		            seen.append((4.5, name, behind, contrast(variables[name], variables[behind])))
		    for behind in at('.fp .bg', 'fill'), at('.fp .lane', 'fill'):
		        seen.append((4.5, 'text', behind, contrast(at('.fp text', 'fill'), behind)))
		        for name, key in ('.fp .f', 'stroke'), ('.fp .ft', 'fill'), ('.fp .k', 'stroke'), ('.fp .o', 'stroke'), ('.fp .q', 'fill'):
		            seen.append((3, name, behind, contrast(at(name, key), behind)))
		    seen.append((3, '.x', '.xo', contrast(at('.fp .x', 'stroke'), at('.fp .xo', 'stroke'))))  # the cross on its rim
		    for colour in colours:
		        seen.append((3, '.m', colour, contrast(at('.fp .m', 'fill'), colour)))
		for least, what, behind, found in seen:
		    if found < least:
		        print(what, 'on', behind, 'has only', round(found, 2))
		print(len(seen))
	END
	assert_eq "$status $output" "0 54"
	log 50 3 3 >run.jsonl # where a bar of what failed has room for it, whatever this machine does meanwhile
	run_fairpar --from-log run.jsonl --report run.html
	[[ $(cat run.html) = *'class="xo"'*'class="x"'* ]] || fail "no cross in a failed bar"
}

@test "a name is the same in every place of the page, and no table scrolls its head away" {
	printf 'a\001b\377c%070d' 0 >name
	run_fairpar 1 --report run.html --batch-by '{}' 'false {}' :::: name
	local want
	want=$(printf 'a\\x01b\\xFFc%070d' 0)
	assert_eq "$(grep -cF "$want#1<" run.html)" 3
	grep -qF "</i>$want</th>" run.html || fail "another name in the table of batches"
	# a box that scrolls keeps the head for itself: only where the table is too wide for the screen, and of its height
	assert_eq "$(grep -o '[^}]*{\.scroll{[^}]*}' run.html)" '@media screen and (max-width:70rem){.scroll{overflow:auto;max-height:75vh}'
	assert_contains "$(cat run.html)" 'thead th{position:sticky;top:0;'
	assert_contains "$(cat run.html)" 'tbody th,td.end{white-space:normal;overflow-wrap:anywhere;'
}

@test "the drawing is XML, the trace is JSON that keeps the rules, with arrows from each attempt to the next" {
	need python3
	need xmllint
	log 1000 4 20 >run.jsonl
	run_fairpar --from-log run.jsonl --report run.svg --trace run.json
	xmllint --noout run.svg
	assert_contains "$(cat run.svg)" "prefers-color-scheme:dark"
	local words
	read -ra words < <(trace_of run.json)
	assert_eq "${words[*]:0:2}" "jobs 1001"
	assert_eq "${words[7]}" "$(grep -c '"attempt":2.*"ev"\|"ev":"job_start".*"attempt":2' run.jsonl)"
}

@test "the policy of the page lets its own script run, and nothing else" {
	need openssl
	log 5 >run.jsonl
	run_fairpar --from-log run.jsonl --report run.html
	local script=$BATS_TEST_TMPDIR/script hash
	awk '/<\/script>/ { inside = 0 } /<script>/ { sub(/.*<script>/, ""); inside = 1 } inside' run.html >"$script"
	hash=$(openssl dgst -sha256 -binary "$script" | openssl base64)
	assert_contains "$(cat run.html)" "script-src 'sha256-$hash'"
	assert_contains "$(cat run.html)" "default-src 'none'"
	assert_eq "$(grep -c '://' run.html) $(grep -o '[a-z]*://[^"]*' run.html)" "1 http://www.w3.org/2000/svg"
}

@test "commands and output stay text, whatever is in them" {
	need iconv
	local hostile=$'</script><script>alert(1)</script>"><img src=x onerror=alert(1)>\e[31m\x01\xff\xe2\x80\xae&amp;]]>'
	printf '%s\0' "$hostile" | run_fairpar 1 -0 --batch '</title><b x>' --report run.html --report run.svg --trace run.json \
		'printf "%s\n" {} </dev/null; exit 3'
	assert_eq "$(grep -o '<script' run.html | wc -l) $(grep -c '<img\|<b x' run.html run.svg | tr '\n' ' ')" "1 run.html:0 run.svg:0 "
	assert_contains "$(cat run.html)" '&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;&gt;&lt;img src=x onerror=alert(1)&gt;'
	if command -v xmllint >/dev/null; then
		xmllint --noout run.svg
	fi
	assert_eq "$(tr -d '\n\t\40-\176\200-\377' <run.html | wc -c)" 0
	iconv -f UTF-8 -t UTF-16 run.html >/dev/null
	if command -v python3 >/dev/null; then
		assert_eq "$(trace_of run.json | cut -d ' ' -f 1-4)" "jobs 1 failed 1"
	fi
}

@test "a run of four batches with failures, retries, a late one and a long-running one tells one story everywhere" {
	need python3
	make_fifo go late stop
	start_fairpar -j2 --retries 2 --summary --long-running=watch --batch quick=<(seq 6) --batch slow=<(seq 2) \
		--batch late=<(cat late) --batch watch=<(echo w) --log run.jsonl --report run.html --report run.svg --trace run.json \
		'case $FAIRPAR_BATCH.{} in quick.3) echo broken; exit 3 ;; quick.4) test $FAIRPAR_ATTEMPT = 2 ;; slow.2) echo here >go ;; watch.*) cat stop ;; esac'
	await go
	release late 1$'\n'2
	release stop
	end_fairpar 1
	local summary=$stderr
	run_fairpar --from-log run.jsonl --summary
	assert_eq "$output" "$summary"
	assert_contains "$output" "fairpar: 11 jobs in "
	assert_eq "$(fact jobs run.html) $(fact ok run.html) $(fact failed run.html) $(fact retried run.html)" "11 10 1 2"
	assert_contains "$(cat run.svg)" " · 11 jobs in "
	assert_contains "$(cat run.svg)" '>long 1</text>'
	assert_eq "$(trace_of run.json)" "jobs 11 failed 1 retried 2 arrows 2 tracks 3"
	assert_contains "$(cat run.html)" "broken"
	# later, from the log, they are the same
	run_fairpar --from-log run.jsonl --report again.html --report again.svg --trace again.json
	cmp run.html again.html
	cmp run.svg again.svg
	cmp run.json again.json
}

@test "a picture comes whole or not at all, with the mode of the file before, through a link" {
	log 5 >run.jsonl
	echo before >old.svg
	chmod 600 old.svg
	ln -s old.svg link.svg
	run_fairpar --from-log run.jsonl --report link.svg
	assert_eq "$(stat -c %a old.svg) $(readlink link.svg) $(grep -c '</svg>' old.svg)" "600 old.svg 1"
	umask 027
	run_fairpar --from-log run.jsonl --report new.svg
	assert_eq "$(stat -c %a new.svg)" 640
	echo before >old.svg
	head -n 20 run.jsonl >cut.jsonl
	echo '{"v":9}' >>cut.jsonl
	run_fairpar 255 --from-log cut.jsonl --report old.svg --trace old.svg
	assert_eq "$(cat old.svg) $(find . -name '.fairpar*')" "before "
}

@test "a link to a file that was removed, or is not there yet, stays a link" {
	log 5 >run.jsonl
	ln -s /proc/self/fd/1 stdout.svg # as /dev/stdout is one
	(
		exec >gone 3<gone
		rm gone
		"$FAIRPAR" --from-log run.jsonl --report stdout.svg
		grep -c '</svg>' <&3 >count
	)
	assert_eq "$(readlink stdout.svg) $(<count)" "/proc/self/fd/1 1"
	ln -s later.svg link.svg
	run_fairpar --from-log run.jsonl --report link.svg
	assert_eq "$(readlink link.svg) $(grep -c '</svg>' later.svg)" "later.svg 1"
	ln -s no/such.svg nowhere.svg
	run_fairpar 255 --from-log run.jsonl --report nowhere.svg
	assert_eq "$stderr" "fairpar: error: cannot write 'nowhere.svg': No such file or directory"
	assert_eq "$(readlink nowhere.svg)" no/such.svg
}

@test "pictures go to stdout, FIFOs and devices" {
	log 5 >run.jsonl
	run_fairpar --from-log run.jsonl --report -.svg
	assert_contains "$output" "</svg>"
	run_fairpar --from-log run.jsonl --report -
	assert_contains "$output" "</html>"
	run_fairpar --from-log run.jsonl --trace -
	assert_contains "$output" '"traceEvents"'
	run_fairpar --from-log run.jsonl --trace /dev/stdout
	assert_contains "$output" '"traceEvents"'
	make_fifo pipe.svg
	run_fairpar --from-log run.jsonl --report pipe.svg &
	assert_contains "$(timeout "$patience" cat pipe.svg)" "</svg>"
	wait
	run_fairpar --from-log - --report run.svg < <(cat run.jsonl)
	assert_contains "$(cat run.svg)" "</svg>"
}

@test "a log from a pipe that cannot be kept for a second reading is not called unreadable" {
	log 5 >run.jsonl
	TMPDIR=$PWD/gone run_fairpar 255 --from-log - --report run.svg < <(cat run.jsonl)
	assert_eq "$stderr" "fairpar: error: cannot make a temporary file in '$PWD/gone': No such file or directory"
	run_fairpar 255 --from-log . --report run.svg
	assert_eq "$stderr" "fairpar: error: cannot read '.': Is a directory"
	[[ ! -e run.svg ]]
}

@test "a picture that cannot be written is named before anything runs, or ends the run with 255" {
	run_fairpar 255 --report no/such.html touch ::: a
	assert_contains "$stderr" "cannot write 'no/such.html': No such file or directory"
	[[ ! -e a ]]
	run_fairpar 255 --report . touch ::: a
	assert_contains "$stderr" "--report"
	run_fairpar 255 --report x.pdf touch ::: a
	assert_contains "$stderr" ".html or .svg"
	[[ ! -e a ]]
	mkdir gone
	run_fairpar 255 --report gone/x.html --trace run.json 'rmdir gone; echo {}' ::: a
	assert_lines a
	assert_contains "$stderr" "cannot write 'gone/x.html'"
	assert_contains "$(cat run.json)" traceEvents
	run_fairpar 255 --trace /dev/full echo ::: a
	assert_lines a
	assert_contains "$stderr" "cannot write '/dev/full': No space left on device"
}

@test "a log that was cut off is drawn as far as it goes" {
	log 50 >run.jsonl
	head -c 20000 run.jsonl >cut.jsonl
	run_fairpar --from-log cut.jsonl --report run.html --report run.svg --trace run.json
	assert_contains "$(cat run.html)" "The log ends before the run did"
	assert_contains "$(cat run.svg)" "not ended"
}

@test "a run that a signal ended has its pictures, with what was cancelled" {
	need python3
	make_fifo go stop
	start_fairpar -j1 --report run.html --report run.svg --trace run.json 'echo >go; cat stop' ::: 1 2 3
	await go
	kill -INT "$fairpar_pid"
	end_fairpar 130
	assert_eq "$(fact jobs run.html) $(fact failed run.html) $(fact cancelled run.html)" "3 0 3"
	assert_contains "$(cat run.svg)" ">cancelled</text>"
	assert_eq "$(trace_of run.json | cut -d ' ' -f 1-4)" "jobs 1 failed 0"
	assert_contains "$(cat run.json)" "fairpar was ended by signal 2 INT"
}

@test "a dry run draws nothing" {
	run_fairpar --dry-run --report run.html echo ::: a
	assert_lines "echo a"
	assert_eq "$stderr" "fairpar: warning: --report has no effect with --dry-run"
	[[ ! -e run.html ]]
}

@test "a run without jobs has its pictures" {
	run_fairpar --report run.html --report run.svg --trace run.json echo </dev/null
	assert_eq "$(fact jobs run.html)" 0
	assert_contains "$(cat run.svg)" " · 0 jobs in "
}

@test "100,000 jobs make a page of less than 4 MB, in little memory" {
	log 100000 8 4 0.05 >run.jsonl
	run_fairpar --from-log run.jsonl --report run.html --report run.svg
	(($(stat -c %s run.html) < 4000000 && $(stat -c %s run.svg) < 2000000))
	assert_eq "$(fact jobs run.html)" 100,001
	assert_contains "$(cat run.html)" " of the 100,001 jobs that ran: "
	(limit_memory 100000 && run_fairpar --from-log run.jsonl --report run.html --trace /dev/null)
}

@test "jobs that were emitted and continued have arrows from what started them" {
	need python3
	cat >m.yaml <<-'E'
		version: 1
		batches:
		  find:
		    args: [a, b]
		    run: echo {}1; echo {}2
		    emits: work
		  work:
		    run: "true {}"
		    then: ["true {}"]
	E
	run_fairpar -f m.yaml --trace run.json --summary=never
	assert_contains "$(trace_of run.json)" " arrows 8 "
	assert_eq "$(grep -o '"ph":"s".*"name":"[a-z]*"' run.json | sed 's/.*"name"://' | sort | uniq -c | tr -s ' ' | tr '\n' ' ')" ' 4 "emits"  4 "then" '
}

@test "a FIFO that nobody reads does not keep fairpar from being ended" {
	[[ ${FAIRPAR_PROFILE-} != tsan ]] || skip "ThreadSanitizer runs no handler while open(2) waits"
	mkfifo run.html trace.json
	for picture in --report=run.html --trace=trace.json; do
		mkfifo told
		start_fairpar $picture --log told echo ::: 1
		assert_contains "$(timeout "$patience" cat told)" '"ev":"run_end"'
		kill -TERM "$fairpar_pid"
		end_fairpar 143
		rm told
	done
}

@test "drawing that a signal or a limit ends leaves nothing behind, and what was there before" {
	log 5000 >run.jsonl
	echo before >page.html
	mkfifo picture
	# the drawing is under way when the first of the trace comes, and stays so
	start_fairpar --from-log run.jsonl --trace picture --report page.html
	exec {picture}<>picture
	timeout "$patience" head -c 1 <&$picture >/dev/null
	kill -TERM "$fairpar_pid"
	end_fairpar 143
	exec {picture}<&-
	assert_eq "$(ls -A)" "$(printf '%s\n' page.html picture run.jsonl)"
	for wanted in page.html new.html; do
		status=0
		(ulimit -f 20 && exec "$FAIRPAR" --from-log run.jsonl --report $wanted 3>&-) >out 2>&1 || status=$?
		assert_eq "$status $(cat out)" "255 fairpar: error: cannot write '$wanted': File too large"
	done
	rm out
	assert_eq "$(ls -A) $(cat page.html)" "$(printf '%s\n' page.html picture run.jsonl) before"
}

@test "a picture in another directory leaves nothing beside it" {
	log 5 >run.jsonl
	umask 027
	mkdir dir
	echo before >dir/old.html
	chmod 604 dir/old.html
	run_fairpar --from-log run.jsonl --report dir/old.html --report dir/new.html
	cmp dir/old.html dir/new.html
	assert_eq "$(stat -c %a dir/old.html dir/new.html | xargs)" "604 640"
	assert_eq "$(ls -A dir)" "$(printf '%s\n' new.html old.html)"
}

@test "a file is not taken for two options" {
	run_fairpar --log run.jsonl true ::: 1
	cp run.jsonl kept
	ln -s run.jsonl link.html
	local words
	for words in '--from-log run.jsonl --trace run.jsonl' '--from-log run.jsonl --report link.html' \
		'--log x --trace x true ::: 1' '--log x --joblog x true ::: 1' '--report x.svg --report x.svg true ::: 1' \
		'--from-log run.jsonl --report - --trace -' '--report - --report -.svg true ::: 1' '--report - --results -.csv true ::: 1' \
		'--log x --trace ./x true ::: 1' '--trace-service x --log x true ::: 1' '--results x.csv --trace x.csv true ::: 1' \
		'--eta=run.jsonl --trace run.jsonl true ::: 1' '--eta=run.jsonl --joblog +link.html true ::: 1'; do
		# shellcheck disable=SC2086 # words
		run_fairpar 255 $words
		assert_contains "$stderr" "are the same file"
	done
	run_fairpar 255 --log fd:7 --trace run.jsonl true ::: 1 7>>run.jsonl
	assert_contains "$stderr" "are the same file"
	for words in '--joblog run.jsonl' '--log ./run.jsonl'; do
		status=0
		# shellcheck disable=SC2086 # words
		"$FAIRPAR" $words echo ::: 1 >>run.jsonl 2>"$BATS_TEST_TMPDIR/said" || status=$?
		assert_eq "$status" 255
		assert_contains "$(<"$BATS_TEST_TMPDIR/said")" "and standard output are the same file"
	done
	cmp run.jsonl kept
	assert_eq "$(echo *)" "kept link.html run.jsonl"
	mkdir links # they lead to what is not there yet, and what is written is made behind them
	ln -s ../x.log links/there
	ln -s links/there y.log
	run_fairpar 255 --log x.log --joblog y.log echo ::: a
	assert_contains "$stderr" "--joblog and --log are the same file"
	run_fairpar 255 --trace "$PWD/links/there" --log y.log echo ::: a
	assert_contains "$stderr" "are the same file"
	[[ ! -e x.log ]]
	run_fairpar --log /dev/null --trace /dev/null true ::: 1
	run_fairpar --log run.jsonl --results r/1 --joblog r.csv true ::: 1
}

@test "a file that is read is not written over" {
	seq 3 >items
	printf 'version: 1\nbatches:\n  one:\n    run: echo {}\n    args_from: {file: items}\n' >m.yaml
	cp items kept
	cp m.yaml m.kept
	ln -s items items.csv
	local words
	for words in '--log items -a items echo' '--log ./items echo :::: items' '--joblog +items -a items echo' \
		'--trace-service items --batch A=items echo' '--results items.csv -a items echo' '--trace items --pipe-part -a items cat' \
		'-f m.yaml --log m.yaml' '-f m.yaml --joblog items' '-f m.yaml --dry-run --trace-service ./items' \
		'--semaphore --fg -a items --log items cat'; do
		# shellcheck disable=SC2086 # words
		run_fairpar 255 $words
		assert_contains "$stderr" "are the same file"
		assert_lines ""
	done
	run_fairpar 255 --log items echo <items
	assert_contains "$stderr" "--log and standard input are the same file"
	run_fairpar 255 --log m.yaml -f - <m.yaml
	assert_contains "$stderr" "are the same file"
	cmp items kept
	cmp m.yaml m.kept
	run_fairpar -k --log x -a items -a items echo
	run_fairpar --log x echo ::: 1 <x
}

@test "a number of slots that changes: the page tells both bounds, and no line of waiting begins before the slot is there" {
	cat >run.jsonl <<-'EOF'
		{"v":1,"ev":"run_start","t":0,"time":"2026-11-22T12:00:00.000Z","run":"01M82KTWRQBD1BGGGG74F9YF2X","version":"0.1.0","host":"h","pid":1,"slots":1,"fair":"turns","argv":["fairpar"],"cwd":"/"}
		{"v":1,"ev":"batch_start","t":0,"batch":"b","weight":1,"priority":0}
		{"v":1,"ev":"slots","t":5,"slots":2,"why":"-j"}
		{"v":1,"ev":"job_start","t":8,"job":"b#1","batch":"b","seq":1,"attempt":1,"slot":2,"nslots":1,"pid":2,"source":"queue","queued":8,"why":"turn","cmd":"true"}
		{"v":1,"ev":"job_end","t":10,"job":"b#1","batch":"b","seq":1,"attempt":1,"slot":2,"status":"ok","exit":0,"queued":8,"start":8,"wall":2}
		{"v":1,"ev":"run_end","t":10,"ok":1,"wall":10,"slot_time":2,"exit":0}
	EOF
	run_fairpar --from-log run.jsonl --report run.html
	grep -q '<dt>slots</dt><dd>1 to 2</dd>' run.html
	grep -q '<rect class="q" x="570.0" ' run.html # at half of the width
}

@test "the rows of a run on several machines stand below the names of these" {
	need python3
	# slot 1 of the machine of the run, 2 of one, 3 and 4 of another
	log 60 4 | sed 's/"slot":2,/&"host":"node9.example",/; s/"slot":[34],/&"host":"node10",/' >run.jsonl
	run_fairpar --from-log run.jsonl --report run.svg --report run.html --trace run.json
	assert_eq "$(grep -o 'class="host"[^<]*\|>slot [0-9]*' run.svg | sed 's/.*>//' | tr '\n' ,)" \
		"build,slot 1,node9.example,slot 1,node10,slot 1,slot 2,"
	assert_eq "$(grep -o '"thread_name","args":{"name":"[^"]*' run.json | sed 's/.*"//' | tr '\n' ,)" \
		"build slot 1,node9.example slot 1,node10 slot 1,node10 slot 2,long-running 1,"
	assert_eq "$(trace_of run.json | cut -d ' ' -f 1-4)" "jobs 61 failed $(grep -c '"status":"\(failed\|signal\)".*"tail"' run.jsonl)"
	# the machine of a job is that of its last attempt
	assert_eq "$(sed -n '/id="jobs"/,$p' run.html | grep '^<tr><th scope="row"' | sed 's#</t[hd]>#|#g; s#<[^>]*>##g' | cut -d '|' -f 4,5 | sort -u | tr '\n' ' ')" \
		"1|build 2|node9.example 3|node10 4|node10 –|build "
	grep -q '</span> on node\(9.example\|10\), ' run.html || fail "a failed job does not say where"
}

@test "a run on one machine is drawn as ever" {
	log 20 >run.jsonl
	run_fairpar --from-log run.jsonl --report run.html
	[[ $(cat run.html) != *'class="host"'* && $(cat run.html) != *'>machine</th>'* ]] || fail "machines are named"
}
