# shellcheck shell=bash disable=SC2154 # what helper.bash sets
# The joblog, and what --resume, --resume-failed and --retry-failed make of it.

load helper

# The rows without their times.
rows() {
	sed -E '1d; s/\t[0-9]{10}\.[0-9]{3}\t *[0-9]+\.[0-9]{3}\t/\tTIME\tTAKEN\t/' "${1-log}" | tr '\0\t' '~|'
}

header=$'Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand'

# The same command line by fairpar and by GNU parallel gives the same output, the same log and the same status.
same_as_parallel() {
	local theirs
	rm -f log
	run_fairpar any "$@"
	cp log ours.log
	if command -v parallel >/dev/null; then
		rm -f log
		theirs=0
		parallel --will-cite "$@" >theirs.out 2>theirs.err || theirs=$?
		assert_eq "$output" "$(cat theirs.out)"
		assert_eq "$status" "$theirs"
		assert_eq "$(rows ours.log)" "$(rows log)"
		assert_eq "$(head -n 1 ours.log)" "$(head -n 1 log)"
	fi
	mv ours.log log
}

@test "the joblog has GNU parallel's header and columns" {
	same_as_parallel -j1 --joblog log 'echo {}; exit 3' ::: 'a b' "q'q" $'x\ty'
	assert_eq "$(head -n 1 log)" "$header"
	assert_eq "$(rows)" "$(printf '%s\n' "1|:|TIME|TAKEN|0|4|3|0|echo 'a b'; exit 3" \
		"2|:|TIME|TAKEN|0|4|3|0|echo 'q'\"'\"'q'; exit 3" "3|:|TIME|TAKEN|0|4|3|0|echo 'x|y'; exit 3")"
	[[ $(sed -n 2p log) =~ ^1$'\t':$'\t'[0-9]{10}\.[0-9]{3}$'\t'\ {5}[0-9]\.[0-9]{3}$'\t'0 ]]
}

@test "Starttime is the time of the day" {
	local before after start
	before=$(date +%s)
	run_fairpar --joblog log true ::: 1
	after=$(date +%s)
	start=$(sed -n 2p log | cut -f 3)
	((${start%.*} >= before && ${start%.*} <= after)) || fail "$before $start $after"
}

@test "a signal, a timeout and a command that is not there have their columns" {
	same_as_parallel -j1 --joblog log 'kill -{} $$' ::: 9 15
	assert_eq "$(rows)" "1|:|TIME|TAKEN|0|0|0|9|kill -9 \$\$
2|:|TIME|TAKEN|0|0|0|15|kill -15 \$\$"
	same_as_parallel -j1 --joblog log --timeout 1 sleep ::: 30
	assert_eq "$(rows)" "1|:|TIME|TAKEN|0|0|-1|15|sleep 30"
	same_as_parallel -j1 --joblog log no-such-program ::: 1
	assert_eq "$(rows)" "1|:|TIME|TAKEN|0|0|127|0|no-such-program 1"
	same_as_parallel -j1 --joblog log /etc/passwd ::: 1
	assert_eq "$(rows)" "1|:|TIME|TAKEN|0|0|126|0|/etc/passwd 1"
}

@test "a newline in a command is a NUL, and everything else is as it is" {
	printf 'a\nb\0\\n\0\xff' >items
	same_as_parallel -j1 -0 -a items --joblog log echo
	assert_eq "$(rows)" "$(printf '%s\n' "1|:|TIME|TAKEN|0|4|0|0|echo 'a~b'" "2|:|TIME|TAKEN|0|3|0|0|echo '\\n'" \
		$'3|:|TIME|TAKEN|0|2|0|0|echo \'\xff\'')"
}

@test "Receive counts stdout, by line both streams, and nothing with --ungroup" {
	same_as_parallel --joblog log --tag 'echo a; echo bb >&2' ::: 1
	assert_contains "$(rows)" "|0|2|0|0|"
	same_as_parallel --joblog log --lb 'echo a; echo bb >&2' ::: 1
	assert_contains "$(rows)" "|0|7|0|0|"
	same_as_parallel --joblog log -u 'echo a; echo bb >&2' ::: 1
	assert_contains "$(rows)" "|0|0|0|0|"
}

@test "a job with retries has one row, of its last attempt" {
	same_as_parallel -j1 --retries 3 --joblog log 'echo a; exit 4; : {}' ::: 1
	assert_eq "$(rows)" "1|:|TIME|TAKEN|0|2|4|0|echo a; exit 4; : 1"
}

@test "a job with steps has one row, with the command of the item and the code of the step that failed" {
	run_fairpar 1 -j1 --joblog log --then 'test {} = 1' --then 'echo {}' echo ::: 1 2
	assert_eq "$(rows)" "1|:|TIME|TAKEN|0|4|0|0|echo 1
2|:|TIME|TAKEN|0|2|1|0|echo 2"
}

@test "the log is made anew, +FILE appends, and the header is there once" {
	run_fairpar --joblog log echo ::: 1 2
	run_fairpar --joblog log echo ::: 3
	assert_eq "$(rows)" "1|:|TIME|TAKEN|0|2|0|0|echo 3"
	run_fairpar --joblog +log echo ::: 4
	run_fairpar --jl +fresh echo ::: 5
	assert_eq "$(rows)" "1|:|TIME|TAKEN|0|2|0|0|echo 3
1|:|TIME|TAKEN|0|2|0|0|echo 4"
	assert_eq "$(head -n 1 fresh)" "$header"
}

@test "--joblog - puts rows between the jobs' output" {
	run_fairpar -j1 -k --joblog - echo ::: 1 2
	assert_eq "$(cut -f 1,9 <<<"$output")" "Seq	Command
1
1	echo 1
2
2	echo 2"
}

@test "with -k the row of a job comes with its output, in their order, but at once if there is none" {
	make_fifo first third
	start_fairpar -j2 -k --joblog log '[ {} = 3 ] && echo >third; [ {} = 1 ] && read x <first; [ {} = 2 ] || echo {}' ::: 1 2 3 4 5
	await third
	assert_eq "$(cut -f 1 log)" "Seq
2"
	release first
	end_fairpar
	assert_lines 1 3 4 5
	assert_eq "$(cut -f 1 log | xargs)" "Seq 2 1 3 4 5"
}

@test "a dry run touches no log" {
	run_fairpar --joblog log --dry-run echo ::: 1
	[[ ! -e log ]]
}

@test "jobs that --halt cuts off or keeps from running have no row" {
	make_fifo never
	run_fairpar 3 -j2 --joblog log --halt now,fail=1 '[ {} = 1 ] && read x <never; exit {}' ::: 1 3 4 5
	assert_eq "$(cut -f 1 log)" "Seq
2"
}

@test "jobs that a signal cuts off have no row, and --resume runs them" {
	make_fifo started
	start_fairpar -j1 --joblog log '[ {} = 2 ] && [ ! -e again ] && echo >started && exec sleep 60; echo {}' ::: 1 2 3
	await started
	kill -TERM "$fairpar_pid"
	end_fairpar 143
	assert_eq "$(cut -f 1 log)" "Seq
1"
	touch again
	run_fairpar -j1 --joblog log --resume '[ {} = 2 ] && [ ! -e again ] && echo >started && exec sleep 60; echo {}' ::: 1 2 3
	assert_lines 2 3
}

@test "a job that loses its next attempt has a row, and is run again with --resume-failed" {
	make_fifo go
	start_fairpar --retries 2 -j2 --halt soon,fail=1 --joblog log --log run.jsonl --summary=always sh -c ::: \
		'read -r x <go; test -e ok && echo A' 'test -e ok && echo B' 'echo never'
	wait_for grep -q '"lost"' run.jsonl # job 3: from now on nothing starts any more
	echo >go
	end_fairpar 1
	assert_contains "$stderr" 'FAILED #2: exit 1 after 2 attempts'
	assert_contains "$stderr" 'FAILED #1: exit 1: '
	assert_eq "$(cut -f 1,7 log)" $'Seq\tExitval\n2\t1\n1\t1'
	touch ok
	exec 5<>go
	echo >go
	run_fairpar -j2 --resume-failed --joblog log sh -c ::: 'read -r x <go; test -e ok && echo A' 'test -e ok && echo B' 'echo never' 5>&-
	assert_set A B never
}

@test "a job of a manifest has a row with its number in the run, one that is up to date has none" {
	cat >m.yaml <<-'END'
		version: 1
		slots: 1
		batches:
		  a:
		    run: echo {}
		    args: [x, y]
		  b:
		    needs: a
		    run: touch {}
		    args: [p, q]
		    creates: '{}'
	END
	touch q
	run_fairpar --joblog log -f m.yaml
	assert_eq "$(rows)" "1|:|TIME|TAKEN|0|2|0|0|echo x
2|:|TIME|TAKEN|0|2|0|0|echo y
3|:|TIME|TAKEN|0|0|0|0|touch p"
	run_fairpar --joblog log --resume -f m.yaml
	assert_eq "$output" ""
	assert_contains "$stderr" "3 done before"
}

@test "what a batch emits comes again, and what was done of it is left out" {
	cat >m.yaml <<-'END'
		version: 1
		slots: 1
		batches:
		  list:
		    run: printf '%s\n' a b c
		    emits: work
		  work:
		    run: echo {} >>seen; [ {} != b ]
	END
	run_fairpar 1 --joblog log -f m.yaml
	run_fairpar 1 --joblog log --resume-failed -f m.yaml
	assert_eq "$(sort seen)" "$(printf '%s\n' a b b c)"
}

# ---- what cannot be written ----

@test "a log that cannot be opened is named with the cause, and nothing runs" {
	run_fairpar 255 --joblog no/log echo ::: 1
	assert_eq "$output" ""
	assert_contains "$stderr" "'no/log': No such file or directory"
}

@test "a log on a full disk is named with the cause, the jobs go on, and the status is 255" {
	run_fairpar 255 -k --joblog /dev/full echo ::: 1 2 3
	assert_lines 1 2 3
	assert_eq "$(grep -c "'/dev/full': No space left on device" <<<"$stderr")" 1
}

@test "a log whose reader has gone is reported" {
	make_fifo log
	head -n 1 log >first &
	run_fairpar 255 -j1 --joblog log 'while ! [ -s first ]; do :; done; echo {}' ::: 1 2
	assert_lines 1 2
	assert_contains "$stderr" "'log': Broken pipe"
}

@test "a job whose output cannot be written has no row" {
	"$FAIRPAR" -j1 --joblog log echo ::: 1 2 >/dev/full 2>err && fail "it ended with 0"
	assert_eq "$(cut -f 1 log)" Seq
}

# ---- resuming ----

@test "--resume runs what has no row, and 0 is the status if nothing is left" {
	same_as_parallel -j1 --joblog log 'exit {}' ::: 0 1 2
	run_fairpar 1 -j1 --joblog log --resume 'exit {}' ::: 0 1 2 5
	assert_eq "$(cut -f 1 log | xargs)" "Seq 1 2 3 4"
	run_fairpar -j1 --joblog log --resume 'exit {}' ::: 0 1 2 5
	assert_contains "$stderr" "4 done before"
	assert_eq "$(cut -f 1 log | xargs)" "Seq 1 2 3 4"
}

@test "--resume without a log runs everything and makes one" {
	run_fairpar --joblog log --resume echo ::: 1
	assert_eq "$(rows)" "1|:|TIME|TAKEN|0|2|0|0|echo 1"
}

@test "--resume needs a joblog" {
	run_fairpar 255 --resume echo ::: 1
	assert_contains "$stderr" "--resume needs the log of the run before: name it with --joblog FILE"
	run_fairpar 255 --joblog /dev/null --retry-failed
	assert_contains "$stderr" "not a regular file"
	echo hello >log
	run_fairpar 255 --joblog log --resume echo ::: 1
	assert_contains "$stderr" "'log': it is not a joblog"
	assert_eq "$(cat log)" hello
}

@test "--resume-failed runs failed jobs again, and the last row counts" {
	touch bad
	run_fairpar 2 -j1 --joblog log '[ {} = 1 ] || [ ! -e bad ] && echo {}' ::: 1 2 3
	rm bad
	run_fairpar -j1 --joblog log --resume-failed '[ {} = 1 ] || [ ! -e bad ] && echo {}' ::: 1 2 3
	assert_lines 2 3
	run_fairpar -j1 --joblog log --resume-failed '[ {} = 1 ] || [ ! -e bad ] && echo {}' ::: 1 2 3
	assert_eq "$output" ""
}

@test "--resume-failed runs the very job that failed, also where others have the same command" {
	run_fairpar --joblog log true ::: 1
	row() { printf '%s\t:\t1795218632.014\t     0.005\t0\t0\t%s\t0\t%s\n' "$@"; }
	{ head -n 1 log; row 1 1 'echo same'; row 2 0 'echo same'; } >duplicates
	run_fairpar -j1 --joblog duplicates --resume-failed echo ::: same same
	assert_eq "$output" same
	assert_eq "$(tail -n 1 duplicates | cut -f 1)" 1
	run_fairpar -j1 --joblog duplicates --resume-failed echo ::: same same
	assert_eq "$output" ""
}

@test "--resume-failed leaves out a job that failed in one slot and was done in another" {
	run_fairpar --joblog log true ::: 1
	row() { printf '%s\t:\t1795218632.014\t     0.005\t0\t0\t%s\t0\t%s\n' "$@"; }
	{ head -n 1 log; row 1 1 'echo 1 a'; row 1 0 'echo 2 a'; row 2 1 'echo 2 b'; } >slots
	run_fairpar -j2 --joblog slots --resume-failed echo {%} {} ::: a b
	assert_eq "$output" '1 b'
}

@test "--retry-failed runs the failed commands of the log under their numbers" {
	same_as_parallel -j1 --joblog log 'test {} = 1 || exit {}' ::: 1 2 3
	run_fairpar 2 -j1 --joblog log --retry-failed echo ignored ::: x
	assert_eq "$output" ""
	assert_eq "$(rows | tail -n 2)" "2|:|TIME|TAKEN|0|0|2|0|test 2 = 1 || exit 2
3|:|TIME|TAKEN|0|0|3|0|test 3 = 1 || exit 3"
	printf 'a\nb\0' | "$FAIRPAR" -0 --joblog log 'printf %s {} >got; false' || :
	rm got
	run_fairpar 1 --joblog log --retry-failed
	assert_eq "$(cat got)" $'a\nb'
}

@test "--retry-failed runs each command as it is, whatever options say of items" {
	run_fairpar 2 -j1 -n2 --joblog log 'echo {}; exit 3' ::: a b ' c,' d
	cp log first
	local options
	for options in -n2 -N0 -X -L1 '-s 5' '--colsep ,' --csv --skip-first-line '-E {}' -r --shuf '--header 0' '--pack auto'; do
		cp first log
		eval "run_fairpar 2 -k -j1 $options --joblog log --retry-failed"
		assert_lines 'a b' ' c, d'
		assert_eq "$(tail -n 2 log | cut -f1,9)" "$(tail -n 2 first | cut -f1,9)"
	done
}

@test "changed input never leaves a job out" {
	run_fairpar --joblog log echo ::: a b c
	run_fairpar -k --joblog log --resume echo ::: z y x w
	assert_lines z y x w
	run_fairpar -k --joblog log --resume echo ::: new a b z more c w
	assert_lines new more
}

@test "an item that the command gets by a variable tells the job from others, and is there when it is run again" {
	run_fairpar -k --joblog log 'echo "$FAIRPAR_ITEM"' ::: a b c
	assert_eq "$(rows | cut -d '|' -f 9)" "$(printf 'export FAIRPAR_ITEM=%s; echo "$FAIRPAR_ITEM"\n' a b c)"
	run_fairpar -k --joblog log --resume 'echo "$FAIRPAR_ITEM"' ::: x a y c new
	assert_lines x y new
	run_fairpar 3 -j1 --joblog log 'printf "item=<%s>\n" "$FAIRPAR_ITEM"; [ "$FAIRPAR_ITEM" = a ]' ::: a "b's" $'c  d\\n' '$(touch PWN)'
	run_fairpar 3 -j1 --joblog log --retry-failed
	assert_lines "item=<b's>" 'item=<c  d\n>' 'item=<$(touch PWN)>'
	[ ! -e PWN ]
	run_fairpar -k --joblog log --colsep , 'echo "$FAIRPAR_ITEM_2" $FAIRPAR_ITEM_1' ::: 'a,b c' 'a b,c' 1
	run_fairpar -k --joblog log --resume --colsep , 'echo "$FAIRPAR_ITEM_2" $FAIRPAR_ITEM_1' ::: 'a,b c' 'a b,c' 2 'a,b,c' 1
	assert_lines ' 2' 'b a'
}

@test "two lines of an item in a variable stay two when it is run again" {
	printf 'a\nb\0' | run_fairpar 1 -0 --joblog log 'echo "$FAIRPAR_ITEM"; false'
	run_fairpar 1 --joblog log --retry-failed
	assert_lines a b
}

@test "an item that only a later step names tells the job from others" {
	printf 'version: 1\nbatches:\n  c: {args: [a, b], run: ":", then: ["echo {}"]}\n' >m.yaml
	run_fairpar -k --joblog log -f m.yaml
	sed -i 's/a, b/p, q, r/' m.yaml
	run_fairpar -k --joblog log --resume -f m.yaml
	assert_set p q r
}

@test "a variable of a manifest that the item makes tells the job from others" {
	printf 'version: 1\nbatches:\n  c: {args: [a, b], run: "echo $V", env: {V: "{}"}}\n' >m.yaml
	run_fairpar -k --joblog log -f m.yaml
	assert_eq "$(rows | cut -d '|' -f 9 | sort)" "$(printf 'export V=%s; echo $V\n' a b)"
	sed -i 's/a, b/a, q, r/' m.yaml
	run_fairpar -k --joblog log --resume -f m.yaml
	assert_set q r
	printf 'version: 1\nbatches:\n  c: {args: [a], shell: none, run: "printenv V nothing", env: {V: "<{}>", W: "x"}}\n' >m.yaml
	rm log
	run_fairpar any --joblog log -f m.yaml
	run_fairpar 1 --joblog log --retry-failed
	assert_lines '<a>'
}

@test "an item that was refused is never read by a shell when the job is run again" {
	need bash
	for command in 'echo $(( {} + 1 ))' '[[ {} -eq 1 ]]' 'let "x = {}"'; do
		run_fairpar 1 --shell bash --joblog log "$command" ::: 'a[$(touch PWN)]'
		run_fairpar 1 --shell bash --joblog log --retry-failed
		assert_contains "$stderr" 'refused: '
		assert_eq "$(cut -f 7 log | xargs)" 'Exitval 126 126'
		run_fairpar 1 --shell bash --joblog log --resume-failed "$command" ::: 'a[$(touch PWN)]'
		run_fairpar --shell bash --joblog log --resume "$command" ::: 'a[$(touch PWN)]'
		[ ! -e PWN ] || fail "$command"
	done
	printf 'touch PWN #\0\n' | run_fairpar any --joblog log
	run_fairpar any --joblog log --retry-failed
	[ ! -e PWN ] || fail 'a line that is no item'
}

@test "input that begins later or was sorted is known by its commands" {
	run_fairpar --joblog log echo ::: a b c d
	run_fairpar --joblog log --resume echo ::: b c d
	assert_eq "$output" ""
	run_fairpar --joblog log --resume echo ::: d c b a e
	assert_lines e
}

@test "a command that was logged once is left out once" {
	run_fairpar --joblog log echo ::: a b
	run_fairpar -k --joblog log --resume echo ::: z a a b
	assert_lines z a
}

@test "equal commands are told apart by their numbers" {
	printf '%s\n' "$header" $'2\t:\t1.000\t     0.001\t0\t2\t0\t0\techo $PARALLEL_SEQ' >log
	printf 'echo $PARALLEL_SEQ\n%.0s' 1 2 3 | "$FAIRPAR" -k --joblog log --resume >out
	assert_eq "$(cat out)" "1
3"
}

@test "a command with its slot is known whatever the slot was" {
	run_fairpar -j3 --joblog log 'echo {%} {}' ::: a b c d
	run_fairpar -j1 --joblog log --resume 'echo {%} {}' ::: a b c d
	assert_eq "$output" ""
	run_fairpar -k -j1 --joblog log --resume 'echo {%} {}' ::: a c c d
	assert_eq "$output" '1 c' # it has moved
	run_fairpar -k -j1 --joblog log --resume 'echo {%}1 {}' ::: a
	assert_eq "$output" '11 a' # its slot is not all that has changed
}

@test "a slot with leading zeros is logged as the job had it, and known with more and with fewer slots" {
	run_fairpar -j10 --plus --joblog log 'echo {0%} {} #' ::: a b
	assert_eq "$(cut -f 9 log | grep -cx 'echo 0[0-9] [ab] #')" 2
	for jobs in 1 10 100; do
		run_fairpar -j$jobs --plus --joblog log --resume 'echo {0%} {} #' ::: a b
		assert_eq "$output" ""
	done
}

@test "the numbers of jobs that are left out hold nobody up with -k, in any batch" {
	run_fairpar -k --joblog log echo ::: 2 4 6
	seq 7 >a
	seq 6 8 >b
	run_fairpar -k --joblog log --resume --batch a=a --batch b=b echo
	assert_set 1 3 5 7 6 7 8
	run_fairpar -k --lb --joblog log --resume echo ::: 9 4 10
	assert_lines 9 10
}

@test "a dry run shows what is left" {
	run_fairpar --joblog log echo ::: 2
	run_fairpar --joblog log --resume --dry-run echo ::: 1 2 3
	assert_lines 'echo 1' 'echo 3'
}

@test "a row that was cut is no row, is ended, and stays none" {
	run_fairpar -j1 --joblog log echo ::: 12 1
	sed -n 1,2p log | head -c -2 >cut # ends in "echo 1", which is a command of the input
	cp cut log
	run_fairpar -j1 --joblog log --resume echo ::: 1 12
	assert_lines 1 12
	assert_eq "$(cut -f 9- log)" "Command
echo 1	(cut off)
echo 1
echo 12"
	run_fairpar -j1 --joblog log --resume echo ::: 1 12
	assert_eq "$output" ""
}

@test "a log cut at any byte: what has a whole row is not run, all else is" {
	run_fairpar -j1 --joblog whole echo ::: 1 12 123
	local size at rows expected step text
	size=$(wc -c <whole) text=$(<whole)$'\n'
	step=$(long_or 1 8)
	for ((at = 0; at <= size; at++)); do
		((at % step == 0)) || [[ ${text:at-1:3} == *$'\n'* ]] || continue # always around the ends of rows
		head -c "$at" whole >log
		rows=$(($(wc -l <log) - 1))
		expected=$(printf '%s\n' 1 12 123 | tail -n +$((rows < 0 ? 1 : rows + 1)))
		assert_eq "$at: $("$FAIRPAR" -j1 --joblog log --resume --quiet echo ::: 1 12 123)" "$at: $expected"
		assert_eq "$at: $("$FAIRPAR" -j1 --joblog log --resume --quiet echo ::: 1 12 123 2>&1 | grep -v 'cannot be read')" "$at: "
		assert_eq "$(head -n 1 log)" "$header"
	done
}

# ---- kill -9 ----

# Resumes until it ends; then every job has run, and none that had a row has run again.
check_resumed() {
	local n=$1
	cut -f 1 log | grep -E '^[0-9]+$' | sort >logged || :
	cp ran ran.before
	run_fairpar -j2 --joblog log --resume --quiet 'echo {} >>ran' ::: $(seq "$n")
	assert_eq "$(sort -u ran | wc -l)" "$n"
	tail -n +$(($(wc -l <ran.before) + 1)) ran | sort >again
	assert_eq "$(comm -12 logged again)" ""
}

@test "kill -9 at any write: what has no row is run, what has one is not" {
	need strace
	local at
	for ((at = 1; at <= 30; at += $(long_or 1 2))); do
		rm -f log
		: >ran
		traced -o /dev/null -qq -f -e trace=write -e inject=write:signal=KILL:when="$at" "$FAIRPAR" -j2 --joblog log --quiet \
			'echo {} >>ran' ::: 1 2 3 4 5 >/dev/null 2>&1 3>&- || :
		check_resumed 5
	done
}

@test "kill -9 at system calls of all kinds: the same" {
	need strace
	local call at
	for call in openat close read poll clone,clone3,vfork waitid,wait4 munmap,exit_group futex; do
		for at in $(long_or "1 3 5 8" "2 5"); do
			rm -f log
			: >ran
			traced -o /dev/null -qq -f -e trace="$call" -e inject="$call":signal=KILL:when="$at" "$FAIRPAR" -j2 --joblog log --quiet \
				'echo {} >>ran' ::: 1 2 3 >/dev/null 2>&1 3>&- || :
			check_resumed 3
		done
	done
}

@test "kill -9 again and again: every job runs, and a logged one only once" {
	local round
	: >ran
	for round in 1 2 3 4 5 6 7 8; do # any point will do: no time is waited for
		timeout --foreground -s KILL "0.0$round" "$FAIRPAR" -j2 --joblog log --resume --quiet 'echo {} >>ran' ::: $(seq 300) >/dev/null 2>&1 3>&- || :
	done
	check_resumed 300
}

@test "a joblog that is a FIFO without a reader does not keep fairpar from being ended" {
	mkfifo log manifest
	start_fairpar -f manifest --joblog log
	printf 'version: 1\nbatches:\n  a:\n    run: echo {}\n    args: [1]\n' >manifest
	kill -TERM "$fairpar_pid"
	end_fairpar 143
}

@test "who waits for a reader of a FIFO says so, and when a signal ends that" {
	local words
	mkfifo log
	for words in '--joblog log' '--joblog +log' '--log log' '--trace-service log'; do
		# shellcheck disable=SC2086 # words
		start_fairpar $words 'touch ran;' ::: a
		wait_for grep -q . "$BATS_TEST_TMPDIR/stderr" # after a second
		kill -TERM "$fairpar_pid"
		end_fairpar 143
		assert_eq "$stderr" "fairpar: waiting for a reader of 'log'
fairpar: ended by a signal while waiting for a reader of 'log': nothing was run"
		[[ ! -e ran ]]
	done
	start_fairpar --joblog log echo ::: a
	wait_for grep -q . "$BATS_TEST_TMPDIR/stderr"
	assert_eq "$(wc -l <log)" 2
	end_fairpar
	assert_lines a
}

# ---- what depends on what runs again ----

# chain COMMAND-OF-A: a, which b needs, which c needs; and e, which needs none of them. Each notes that it ran.
chain() {
	cat >m.yaml <<-END
		version: 1
		slots: 1
		batches:
		  a: {args: [x, y], run: "$1"}
		  b: {needs: [a], args: [p, q], run: "echo b{} >>ran"}
		  c: {needs: [b], run: "echo c >>ran"}
		  e: {run: "echo e >>ran"}
	END
	: >ran
}

@test "what needs a batch that ran again runs again, and what needs that" {
	chain 'echo a{} >>ran'
	run_fairpar --joblog log -f m.yaml
	: >ran
	run_fairpar --joblog log --resume -f m.yaml
	assert_eq "$(cat ran)" ''
	assert_contains "$stderr" '6 done before'
	chain 'echo A{} >>ran'
	run_fairpar --joblog log --resume -f m.yaml
	assert_eq "$(sort ran | xargs)" 'Ax Ay bp bq c'
	assert_contains "$stderr" '1 done before'
	: >ran
	run_fairpar --joblog log --resume -f m.yaml
	assert_eq "$(cat ran)" ''
}

@test "one job more in a batch is enough for what needs it, also if it may fail" {
	chain 'echo a{} >>ran; test -e ok || test {} = x'
	sed -i 's/  a: {/  a: {allow_failure: true, /' m.yaml
	run_fairpar --joblog log -f m.yaml
	touch ok
	: >ran
	run_fairpar --joblog log --resume-failed -f m.yaml
	assert_eq "$(sort ran | xargs)" 'ay bp bq c'
	sed -i 's/\[x, y\]/[x, y, z]/' m.yaml
	: >ran
	run_fairpar --joblog log --resume-failed -f m.yaml
	assert_eq "$(sort ran | xargs)" 'az bp bq c'
}

@test "what is up to date by creates has not run again, and is not run for what has" {
	chain 'echo a{} >>ran; touch {}'
	sed -i 's/  a: {/  a: {creates: "{}", /; s/  b: {/  b: {creates: "{}", /' m.yaml
	touch p q
	run_fairpar --joblog log -f m.yaml
	: >ran
	sed -i 's/echo a/echo A/' m.yaml
	run_fairpar --joblog log --resume -f m.yaml
	assert_eq "$(cat ran)" ''
	rm x
	run_fairpar --joblog log --resume -f m.yaml
	assert_eq "$(sort ran | xargs)" 'Ax c'
}

# feeder COMMAND: what it emits goes to work, which ends before `after`; an item of work may fail.
feeder() {
	cat >m.yaml <<-END
		version: 1
		slots: 1
		batches:
		  list: {run: "$1", emits: work}
		  gate: {run: "true"}
		  work: {needs: [gate], run: "echo {} >>ran; test -e ok || test {} != b"}
		  after: {needs: [work], run: "echo after >>ran"}
	END
	: >ran
}

@test "what a changed job emits runs again, also if it is the same; what an unchanged one emits does not" {
	touch ok
	feeder 'echo a; echo b'
	run_fairpar --joblog log -f m.yaml
	: >ran
	run_fairpar --joblog log --resume -f m.yaml
	assert_eq "$(cat ran)" ''
	feeder 'for i in a b; do echo $i; done'
	run_fairpar --joblog log --resume -f m.yaml
	assert_eq "$(sort ran | xargs)" 'a after b'
	: >ran
	sed -i 's/run: "true"/run: "true; true"/' m.yaml
	run_fairpar --joblog log --resume -f m.yaml
	assert_eq "$(sort ran | xargs)" 'a after b'
}

@test "what failed of what was emitted runs again alone, and what needs its batch" {
	feeder 'echo a; echo b; echo c'
	run_fairpar 1 --joblog log -f m.yaml
	touch ok
	: >ran
	run_fairpar --joblog log --resume-failed -f m.yaml
	assert_eq "$(sort ran | xargs)" 'after b'
}

@test "what an emitter that was cut off had emitted is not done again" {
	make_fifo ready
	touch ok
	feeder 'echo a; echo b; test -e go || { echo >ready; exec sleep 100; }; echo c'
	sed -i 's/slots: 1/slots: 2/' m.yaml
	start_fairpar --joblog log -f m.yaml
	await ready
	until (($(wc -l <log) == 4)); do kill -0 "$fairpar_pid"; done
	kill -TERM "$fairpar_pid"
	end_fairpar 143
	touch go
	: >ran
	run_fairpar --joblog log --resume -f m.yaml
	assert_eq "$(sort ran | xargs)" 'after c'
}

@test "the number of all jobs stands in the logged command, and is the same for --retry-failed" {
	run_fairpar 3 --plus --joblog log 'echo {##}; false #' ::: a b c
	assert_eq "$(cut -f 9 log | grep -c '^echo 3;')" 3
	run_fairpar 3 --retry-failed --joblog log
	assert_lines 3 3 3
	run_fairpar --plus --joblog other 'echo {##} {} #' ::: a b c
	run_fairpar --plus --joblog other --resume 'echo {##} {} #' ::: a b c
	assert_eq "$output" ""
	run_fairpar -k --plus --joblog other --resume 'echo {##} {} #' ::: a b c d e # {##} was 3
	assert_lines '5 d' '5 e'
	run_fairpar -k --plus --joblog other --resume 'echo {##} {} #' ::: a b c d e f
	assert_lines '6 f'
	run_fairpar any -j1 --plus --halt now,fail=1 --joblog cut 'echo {##} {}; test {} != c #' ::: a b c d
	run_fairpar -k --plus --joblog cut --resume 'echo {##} {}; test {} != c #' ::: a b c d e
	assert_lines '5 d' '5 e'
}
