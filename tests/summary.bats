# The summary at the end of a run, and what a log tells of it later.

load helper

manifest() { { echo 'version: 1'; echo 'batches:'; cat; } >m.yaml; }

# numbers: the table of the summary in $1 without its times and shares: batch, jobs, ok, failed, retried
numbers() { sed -n '/^  batch /,/^  slowest/p' <<<"$1" | sed '1d; $d' | awk '{ print $1, $2, $3, $4, $5 }'; }

@test "a manifest ends with a table of its batches, and the last lines of what failed" {
	manifest <<'END'
  thumbs: {args: [a, b, c], run: "true {}"}
  tests:
    retries: 1
    args: [x, y]
    run: "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $i {}; done; test {} = x"
END
	run_fairpar 1 -f m.yaml
	assert_contains "$stderr" "fairpar: 5 jobs in "
	assert_contains "$stderr" ": 4 ok, 1 failed; "
	assert_eq "$(numbers "$stderr")" $'thumbs 3 3 0 0\ntests 2 1 1 1'
	assert_contains "$stderr" "  FAILED tests#2: exit 1 after 2 attempts, "
	assert_eq "$(grep -c '^    | line [0-9]* y$' <<<"$stderr")" 10
	assert_contains "$stderr" '    | line 12 y'
	assert_eq "${stderr##*$'\n'}" 'fairpar: 1 of 5 jobs failed: tests#2 (exit 1)'
}

@test "a command line that fails lists what failed, but not what has just been seen" {
	run_fairpar 1 -j1 'echo {}; test {} != b' ::: a b c
	assert_eq "$(sed 's/, [0-9.]*[mu]*s:/, T:/' <<<"$stderr")" "$(printf '%s\n' \
		'  FAILED #2: exit 1, T: echo b; test b != b' '    | b' 'fairpar: 1 of 3 jobs failed')"
	run_fairpar 1 false ::: a
	assert_eq "$stderr" 'fairpar: 1 of 1 jobs failed: #1 (exit 1)'
	run_fairpar 'true' ::: a b
	assert_eq "$stderr" ''
}

# brief ARGUMENT …: what a run with stdout and stderr in one place says of its own, times cut out
brief() {
	"$FAIRPAR" -j1 "$@" >out 2>&1 || true
	sed -n '/^  FAILED/,$s/, [0-9.]*[mu]*s: /, T: /p' out
}

@test "a single batch of a command line has a line for each failure, and does not repeat what has been seen" {
	brief 'echo o{}; echo e{} >&2; exit {}' ::: {0..12}
	assert_eq "$(brief 'echo o{}; echo e{} >&2; exit {}' ::: {0..12})" "$(
		for i in {1..10}; do
			echo "  FAILED #$((i + 1)): exit $i, T: echo o$i; echo e$i >&2; exit $i"
		done)"
	assert_eq "$(tail -n 2 out)" $'  FAILED and 2 more\nfairpar: 12 of 13 jobs failed'
	assert_eq "$(wc -l <out)" $((26 + 12))
	brief --summary=always 'echo o{}; exit {}' ::: 0 1
	assert_contains "$(<out)" 'fairpar: 2 jobs in '
	assert_contains "$(<out)" '    | o1'
	assert_contains "$(<out)" 'failed: #2 (exit 1)'
}

@test "of failed jobs of a single batch that output is repeated which went elsewhere" {
	run_fairpar 1 -j1 'echo o{}; echo e{} >&2; exit {}' ::: 0 1
	assert_eq "$(grep -A 3 '^  FAILED' <<<"$stderr" | tail -n +2)" $'    | o1\nfairpar: 1 of 2 jobs failed'
	for how in '--results table.csv' '--results dir' --latest-line; do
		# shellcheck disable=SC2086 # two words
		brief $how 'echo o{}; echo e{} >&2; exit {}' ::: 0 1
		assert_eq "$(tail -n 3 out)" $'    | o1\n    | e1\nfairpar: 1 of 2 jobs failed'
	done
}

@test "a command of several lines is named by the first of them" {
	run_fairpar 2 -j1 $'\n\n  set -e\necho {} >&2\nfalse\n' ::: a b
	assert_eq "$(sed -n 's/^  FAILED.*s: //p' <<<"$stderr")" $'set -e ...\nset -e ...'
	run_fairpar 2 -j1 $'false # {}\n\n' ::: a b
	assert_eq "$(sed -n 's/^  FAILED.*s: //p' <<<"$stderr")" $'false # a\nfalse # b'
}

@test "several batches have a table if one of them failed, and always on demand" {
	run_fairpar 1 --batch-by '{}' 'test {} != b' ::: a b
	assert_eq "$(numbers "$stderr")" $'a 1 1 0 0\nb 1 0 1 0'
	run_fairpar --batch-by '{}' true ::: a b
	assert_eq "$stderr" ''
	run_fairpar --summary true ::: a b
	assert_eq "$(numbers "$stderr")" 'default 2 2 0 0'
	run_fairpar --summary=always --quiet true ::: a b
	assert_contains "$stderr" 'fairpar: 2 jobs in '
}

@test "--summary=never leaves the last line, --quiet nothing" {
	manifest <<<'  a: {run: "false"}'
	run_fairpar 1 --summary=never -f m.yaml
	assert_eq "$stderr" 'fairpar: 1 of 1 jobs failed: a#1 (exit 1)'
	run_fairpar 1 --quiet -f m.yaml
	assert_eq "$stderr" ''
	run_fairpar 255 --summary=often true ::: a
	assert_eq "$stderr" "fairpar: error: --summary must be auto, always or never, not 'often'"
}

@test "names, commands and output of others do not drive the terminal" {
	run_fairpar 2 --summary --batch-by '{}' $'printf "\\033]0;title\\a\\033[31mred\\n\\377"; false' ::: $'\033[2J' x
	[[ $stderr != *$'\033'* && $stderr != *$'\a'* && $stderr != *$'\377'* ]] || fail "control characters are not escaped"
	assert_contains "$stderr" '\x1B[2J#1: exit 1'
	assert_contains "$stderr" '    | \x1B]0;title\x07red'
	assert_contains "$stderr" '    | \xFF'
}

@test "names in the last line are escaped as in the table" {
	run_fairpar 1 --batch-by '{}' false ::: $'a\xe2\x80\xaeb'
	assert_eq "$stderr" 'fairpar: 1 of 1 jobs failed: a\xE2\x80\xAEb#1 (exit 1)'
}

@test "colours are for terminals, unless the environment says otherwise" {
	need python3
	export TERM=xterm FAIRPAR_PROGRESS=none # a line of status has escape sequences of its own, and comes where a run takes long
	: >talk
	on_terminal "$FAIRPAR" -j1 --batch-by '{}' 'test {} != b' ::: a b
	assert_contains "$output" $'\033[31m1 failed\033[m'
	NO_COLOR=1 on_terminal "$FAIRPAR" -j1 --batch-by '{}' 'test {} != b' ::: a b
	[[ $output == *'1 failed'* && $output != *$'\033'* ]] || fail "$output"
	TERM=dumb on_terminal "$FAIRPAR" -j1 --batch-by '{}' 'test {} != b' ::: a b
	[[ $output == *'1 failed'* && $output != *$'\033'* ]] || fail "$output"
	FORCE_COLOR=1 run_fairpar 1 --batch-by '{}' 'test {} != b' ::: a b
	assert_contains "$stderr" $'\033[31m1 failed\033[m'
}

# ---- from a log ----

# A log by hand: two batches, one that failed after a retry, and skipped jobs.
write_log() {
	cat <<'END'
{"v":1,"ev":"run_start","t":0.000000,"time":"2026-11-21T08:00:00.000Z","run":"01RUN","version":"0.1.0","host":"h","pid":1,"slots":2,"fair":"turns","argv":["fairpar","-f","x.yaml"],"cwd":"/","manifest":"x.yaml","parent":null}
{"v":1,"ev":"batch_start","t":0.000100,"batch":"thumbs","weight":1,"priority":0,"max_parallel":null,"jobs":2}
{"v":1,"ev":"batch_start","t":0.000200,"batch":"tests","weight":1,"priority":0,"max_parallel":1,"jobs":2}
{"v":1,"ev":"job_start","t":0.001000,"job":"thumbs#1","batch":"thumbs","seq":1,"attempt":1,"slot":1,"nslots":1,"pid":11,"source":"queue","lag":0,"queued":0.0005,"cmd":"convert a","args":["a"]}
{"v":1,"ev":"job_end","t":2.000000,"job":"thumbs#1","batch":"thumbs","seq":1,"attempt":1,"slot":1,"status":"ok","exit":0,"signal":null,"queued":0.0005,"start":0.001,"wall":1.999}
{"v":1,"ev":"job_start","t":2.000000,"job":"tests#1","batch":"tests","seq":3,"attempt":1,"slot":2,"nslots":1,"pid":12,"source":"stolen","lag":1,"queued":1.9995,"why":"turn","cmd":"check x","args":["x"]}
{"v":1,"ev":"job_end","t":3.000000,"job":"tests#1","batch":"tests","seq":3,"attempt":1,"slot":2,"status":"failed","exit":3,"signal":null,"queued":1.9,"start":2,"wall":1,"next":"retry"}
{"v":1,"ev":"job_start","t":4.000000,"job":"tests#1","batch":"tests","seq":3,"attempt":2,"slot":1,"nslots":1,"pid":13,"source":"own","lag":1,"queued":1,"why":"retry","cmd":"check x","args":["x"]}
{"v":1,"ev":"job_end","t":4.500000,"job":"tests#1","batch":"tests","seq":3,"attempt":2,"slot":1,"status":"signal","exit":0,"signal":9,"queued":1,"start":4,"wall":0.5,"tail":"oops\n"}
{"v":1,"ev":"lost","t":4.6,"batch":"docs","status":"skipped","jobs":3,"why":"'tests' failed"}
END
}
# with_waits: the log that is read, with the ends of its batches
with_waits() {
	echo '{"v":1,"ev":"batch_end","t":4.7,"batch":"thumbs","ok":1,"failed":0,"cancelled":0,"skipped":0,"longest_wait":0.0005}'
	echo '{"v":1,"ev":"batch_end","t":4.7,"batch":"tests","ok":0,"failed":1,"cancelled":0,"skipped":0,"longest_wait":1.9995}'
}
end_log() {
	echo '{"v":1,"ev":"run_end","t":5.000000,"ok":1,"failed":1,"cancelled":0,"skipped":3,"allowed":0,"current":0,"resumed":0,"wall":5,"slot_time":3.499,"exit":1,"signal":null}'
}

@test "--from-log prints the summary of a run that was" {
	{ write_log; end_log; } >log
	run_fairpar --from-log log
	assert_eq "$stderr" ''
	assert_lines 'fairpar: 5 jobs in 5.00s: 1 ok, 1 failed, 3 skipped; 2 slots, 34% busy' \
		'  batch   jobs  ok  failed  skipped  retried   wall  slot-time  share    p50    max' \
		'  thumbs     1   1       0        0        0  1.99s      1.99s    57%  1.99s  1.99s' \
		'  tests      1   0       1        0        1  2.50s      1.50s    43%  0.50s  1.00s' \
		'  docs       3   0       0        3        0      -          -      -      -      -' \
		'  slowest: thumbs#1 1.99s  convert a' \
		'           tests#1 1.00s  check x' \
		'  FAILED tests#1: signal 9 (KILL) after 2 attempts, 0.50s: check x' \
		'    | oops' \
		"  SKIPPED docs: 3 jobs: 'tests' failed" \
		'fairpar: 1 of 5 jobs failed: tests#1 (signal 9 (KILL)); 3 skipped'
	run_fairpar --from-log - <log
	assert_contains "$output" 'fairpar: 5 jobs in 5.00s'
}

@test "the longest time that each batch waited for a turn stands in the summary of several" {
	{ write_log; with_waits; end_log; } >log
	run_fairpar --from-log log
	assert_contains "$output" 'share    p50    max  waited'
	assert_contains "$output" '57%  1.99s  1.99s   500us'
	assert_contains "$output" '43%  0.50s  1.00s   1.99s'
	seq 5 >a
	seq 3 >b
	run_fairpar -j1 --batch A=a --batch B=b --log log --summary=always true
	assert_contains "$stderr" '  waited'
	assert_eq "$(grep -c '"ev":"batch_end".*"longest_wait":[0-9.]*[1-9]' log)" 2
	run_fairpar -j1 --summary=always true ::: 1 2
	[[ $stderr != *waited* ]] || fail "a single batch waits for nobody: $stderr"
}

@test "batches that share a row have the slot-time of those with slots, beside what the long-running ones took" {
	local batches=(b{01..20} short served) i
	{
		write_log | head -n 1
		printf '{"v":1,"ev":"batch_start","t":0,"batch":"%s","weight":1,"priority":0,"max_parallel":null,"jobs":1}\n' "${batches[@]}" |
			sed '/"served"/s/"jobs"/"long_running":true,&/'
		for i in "${!batches[@]}"; do
			printf '{"v":1,"ev":"job_end","t":9,"job":"%s#1","batch":"%s","seq":%d,"attempt":1,"slot":1,"status":"ok","exit":0,"signal":null,"queued":0,"start":0,"wall":%s}\n' \
				"${batches[i]}" "${batches[i]}" "$((i + 1))" "$(case ${batches[i]} in short) echo 0.5;; served) echo 3;; *) echo 1;; esac)"
		done
		end_log
	} >log
	run_fairpar --from-log log --summary
	assert_contains "$output" "$(printf '%s\n' '  b20          1   1       0        0  1.00s      1.00s       -     5%  1.00s  1.00s' \
		'  (2 more)     2   2       0        0  3.00s      0.50s   3.00s     2%      -  3.00s')"
	run_fairpar --from-log log --report -.html
	assert_contains "$output" '<th scope="row">all</th><td class="n">22</td><td class="n">22</td><td class="n">0</td><td class="n">0</td><td class="n">3.00s</td><td class="n">20.5s</td><td class="n">3.00s</td>'
}

@test "--from-log shows what ran when the log was cut off, and names what is no log" {
	{ write_log | head -n 6; echo -n '{"v":1,"ev":"job_e'; } >log
	run_fairpar --from-log log
	assert_eq "$stderr" 'log:7: warning: the log was cut off here'
	assert_contains "$output" '1 ok, 1 running when the log ends; '
	{ echo '{"level":"info","msg":"started"}'; echo '{"level":"info","msg":"stopped"}'; } >log
	run_fairpar 255 --from-log log
	assert_eq "$stderr" 'log:1: error: this is not an event of a fairpar log'
	assert_eq "$output" ''
	run_fairpar 255 --from-log nosuch
	assert_eq "$stderr" "fairpar: error: cannot read 'nosuch': No such file or directory"
	run_fairpar 255 --from-log .
	assert_eq "$stderr" ".: error: Is a directory"
}

@test "--from-log leaves damaged lines out, and says how many there are" {
	{ write_log; end_log; } >log
	run_fairpar --from-log log
	local whole=$output
	{ write_log; head -c 70000 /dev/zero; echo hello; end_log; } >log
	run_fairpar --from-log log
	assert_eq "$stderr" 'log:11: warning: 1 line is damaged, and what cannot be read is left out: the line has NUL bytes, or more than 64 MiB'
	assert_eq "$output" "$whole"
	run_fairpar --from-log log --report r.html --trace t.json
	assert_eq "$stderr" 'log:11: warning: 1 line is damaged, and what cannot be read is left out: the line has NUL bytes, or more than 64 MiB'
	{ write_log | sed '1s/.*/{"v":1,"ev":"run_start","t":0.0,"tim/; 3s/"ev"/ev/'; end_log; } >log
	run_fairpar --from-log log --summary --report r.html --report r.svg --trace t.json
	assert_contains "$stderr" 'log:1: warning: 2 lines are damaged, and what cannot be read is left out; here the first one: '
	assert_contains "$output" 'fairpar: 5 jobs in 5.00s'
	[[ $output != *busy* ]] || fail "nobody knows how many slots there were"
	[[ $(cat r.html r.svg) != *busy* ]] || fail "nor here"
}

@test "of several runs in a log the last one is told" {
	{ write_log | head -n 5; write_log; end_log; } >log
	run_fairpar --from-log log
	assert_contains "$output" 'fairpar: 5 jobs in 5.00s'
	run -255 bash -c 'cat log | "$FAIRPAR" --from-log -'
	assert_contains "$output" 'standard input:6: error: a second run begins here'
}

@test "--from-log runs nothing, so it takes neither commands nor what is for them" {
	{ write_log; end_log; } >log
	run_fairpar 255 --from-log log echo
	assert_eq "$stderr" 'fairpar: error: --from-log takes neither a command nor names of batches: it runs nothing'
	run_fairpar 255 --from-log log -j2
	assert_eq "$stderr" 'fairpar: error: --jobs cannot be combined with --from-log'
	run_fairpar 255 -f x.yaml --from-log log
	assert_contains "$stderr" '--from-log cannot be combined with -f'
}

@test "--explain tells what the jobs of each batch have waited for, and why others never started" {
	{
		write_log
		echo '{"v":1,"ev":"slots","t":4.6,"slots":4,"from":2,"why":"-j"}'
		echo '{"v":1,"ev":"job_start","t":4.6,"job":"tests#2","batch":"tests","seq":4,"attempt":1,"slot":2,"nslots":1,"pid":14,"source":"queue","lag":1,"queued":3,"why":"turn","cmd":"check y","args":["y"]}'
		end_log
	} >log
	run_fairpar --from-log log --explain
	assert_lines '  slots: 4 from 4.60s on: -j' \
		'  tests: waited for its turn: 2 times, 4.99s in all, 3.00s at most' \
		'  tests: waited before it was tried again: 1.00s' \
		"  SKIPPED docs: 3 jobs: 'tests' failed"
}

@test "--explain lets SIGUSR1 tell why the next job of each batch has not started" {
	make_fifo go
	manifest <<'END'
  full: {args: [1, 2, 3, 4], run: ": >full.{}; read x <go"}
  limited: {args: [1, 2], max_parallel: 1, run: ": >limited.{}; read x <go"}
  later: {needs: [full], run: "true"}
END
	exec 5<>go
	start_fairpar -j3 --explain --summary=never -f m.yaml 5>&-
	timeout "$patience" bash -c 'until [[ -e full.1 && -e full.2 && -e limited.1 ]]; do :; done'
	kill -USR1 "$fairpar_pid"
	timeout "$patience" bash -c 'until grep -q "batch .limited" "$1"; do :; done' bash "$BATS_TEST_TMPDIR/stderr"
	printf '\n\n\n\n\n\n' >&5
	end_fairpar
	assert_contains "$stderr" "fairpar: batch 'later': waits for full, for "
	assert_contains "$stderr" "fairpar: batch 'full': 2 queued, 2 running; the next job waits for its turn: all 3 slots are taken"
	assert_contains "$stderr" "fairpar: batch 'limited': 1 queued, 1 running; the next job waits: its batch may run at most 1 at once"
}

@test "--explain of a run with one slot says so" {
	make_fifo runs go
	start_fairpar -j1 --explain --summary=never 'echo >runs; read -r _ <go #' ::: a b
	await runs
	kill -USR1 "$fairpar_pid"
	timeout "$patience" bash -c 'until grep -q "batch" "$1"; do :; done' bash "$BATS_TEST_TMPDIR/stderr"
	release go
	await runs
	release go
	end_fairpar
	assert_contains "$stderr" "1 queued, 1 running; the next job waits for its turn: the only slot is taken"
}

# ---- a run and its log ----

# same_story ARGUMENT …: runs it with a log, and compares its summary with that of the log
same_story() {
	local expected taken
	take_expected "$@"
	shift "$taken"
	run_fairpar "$expected" --log run.jsonl --summary=always "$@"
	sed -n '/^fairpar: \([a-z]*: \)\{0,1\}[0-9]* [a-z]* in /,$p' "$BATS_TEST_TMPDIR/stderr" >live
	run_fairpar --from-log run.jsonl
	assert_eq "$output" "$(cat live)"
	assert_contains "$output" 'fairpar: '
}

@test "the summary of a run and that of its log are the same text" {
	same_story 1 -j2 --joblog log --batch-by '{}' --retries 2 'echo {}; test {} != b' ::: a b c
	manifest <<'END'
  steps: {args: [a, b], run: "echo {}", then: ["test {} = a"], on_failure: "echo failed {}", finally: "echo end", retries: 1}
  wide: {args: [a, b], run: "echo {}", slots_per_job: 2}
  long: {run: "echo long", long_running: true}
  allowed: {run: "printf 'a\\377b'; false", allow_failure: true}
  made: {args: [m.yaml], run: "echo {}", creates: "{}"}
  slow: {run: "exec sleep 100", timeout: 50ms}
  late: {needs: [steps], args: [x, y], run: "echo {}"}
END
	same_story 2 -f m.yaml
	assert_contains "$output" '    | a\xFFb'
	assert_contains "$output" ', 2 skipped; '
	assert_contains "$(tail -n 1 live)" 'fairpar: 3 of 10 jobs failed: '
	assert_contains "$(tail -n 1 live)" '; 1 allowed to; 2 skipped; 1 up to date'
	same_story 1 -j1 --halt soon,fail=1 --summary=always 'test {} = 1' ::: 1 2 3 4
	assert_contains "$output" '  CANCELLED default: 2 jobs: --halt soon,fail=1'
}

@test "the log knows what could not start or was skipped, and why, as the summary and the page tell it" {
	need jq
	cat >m.yaml <<-'END'
		version: 1
		name: nightly
		batches:
		  build: {run: 'exit 3'}
		  docs: {needs: build, args: [1, 2, 3], run: 'echo {}'}
		  public: {needs: docs, run: echo public}
		  nowhere: {working_dir: no/such, run: echo}
		  unlisted: {args_from: {file: no-such.txt}, run: 'echo {}'}
		  unfound: {args_from: {command: exit 4}, run: 'echo {}'}
	END
	same_story 4 -j1 -f m.yaml --report r.html
	local why="cannot start in './no/such': No such file or directory" file="cannot open 'no-such.txt': No such file or directory"
	assert_contains "$output" 'fairpar: nightly: 8 jobs in '
	assert_contains "$output" "  FAILED nowhere#1: $why: echo"
	assert_contains "$output" "  FAILED unlisted: $file"
	assert_contains "$output" "  SKIPPED docs: 3 jobs: it needs 'build', which failed"
	assert_contains "$output" "  SKIPPED public: 1 job: it needs 'docs', which is skipped"
	assert_contains "$(tail -n 1 live)" 'fairpar: 4 of 8 jobs failed: '
	assert_contains "$(tail -n 1 live)" '; 4 skipped'
	assert_eq "$(jq -r 'select(.ev == "run_start").name, select(.status == "spawn_error").why' run.jsonl | sort)" \
		"$(printf '%s\n' nightly "$why" "$file" | sort)"
	local page
	page=$(sed "s/&#39;/'/g" r.html)
	assert_contains "$page" '<title>nightly, fairpar run 2'
	assert_contains "$page" '<h1>nightly, fairpar run 2'
	assert_contains "$page" "<span class=\"bad\">$why</span>"
	assert_contains "$page" "<strong>docs</strong> 3 jobs skipped: it needs 'build', which failed"
	run_fairpar 2 --log run.jsonl -j1 ./no-such ::: 1 2
	assert_eq "$(jq -r 'select(.status == "spawn_error").why' run.jsonl)" $'\'./no-such\': command not found\n\'./no-such\': command not found'
	printf '#!/bin/sh\n' >not-executable
	run_fairpar 1 --log run.jsonl -j1 --workdir {} ./not-executable ::: not-executable
	assert_contains "$(jq -r 'select(.status == "spawn_error").why' run.jsonl)" not-executable
}

@test "items that share a process are counted one by one" {
	seq 1000 >items
	same_story -j2 --pack=auto true <items
	assert_contains "$output" 'fairpar: 1000 items in '
	assert_contains "$output" ': 1000 ok; '
	assert_contains "$output" 'batch    items'
}

@test "a run that a signal has ended says so, and why its jobs did not start" {
	make_fifo ready hold
	manifest <<<'  a: {args: [a, b], run: "echo {} >ready; read x <hold"}'
	start_fairpar -j1 --log run.jsonl -f m.yaml
	await ready
	kill -TERM "$fairpar_pid"
	end_fairpar 143
	assert_contains "$stderr" ': 0 ok, 2 cancelled, ended by SIGTERM; '
	run_fairpar --from-log run.jsonl --explain
	assert_contains "$output" '  CANCELLED a: 1 job: cut off while running'
}
