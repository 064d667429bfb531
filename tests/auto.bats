# -j auto: the number of jobs at once that fairpar finds by itself; and how a number that changes is told.

load helper

# reasons: why the slots changed, each once
reasons() {
	jq -r 'select(.ev == "slots").why' run.jsonl | sort -u
}

pressure() {
	printf 'some avg10=0.00 avg60=0.00 avg300=0.00 total=9\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=%d\n' "$1" >root/new
	mv root/new root/proc/pressure/memory
}

# next_with FD TEXT: sets $line to the next one that has the text
next_with() {
	while IFS= read -rt "$patience" line <&"$1"; do
		[[ $line != *"$2"* ]] || return 0
	done
	fail "no line has $2"
}

# meet N: $command ends when N jobs are there at once, and uses no CPU until then: the last one opens the door to all
meet() {
	local door
	rm -f came door
	mkfifo door
	exec {door}<>door # as long as the test lasts: what is written stays
	command="echo >>came; if [ \$(wc -l <came) -eq $1 ]; then yes | head -n 100 >door; fi; read -r _ <door; : {}"
}

@test "-j auto: while jobs sleep there are more of them at once" {
	need jq
	meet 20
	run_fairpar -j auto --log run.jsonl "$command" ::: {1..20}
	assert_eq "$(reasons)" 'jobs sleep'
	(($(jq -s 'map(select(.ev == "slots").slots) | max' run.jsonl) >= 20)) || fail "$(cat run.jsonl)"
}

@test "-j auto:LEAST-MOST keeps to its bounds" {
	need jq
	meet 5
	run_fairpar -j auto:5-5 --log run.jsonl "$command" ::: {1..5}
	assert_eq "$(jq 'select(.ev == "run_start").slots' run.jsonl)" 5
	assert_eq "$(reasons)" ''
	meet 7
	run_fairpar -j auto:1-7 --log run.jsonl "$command" ::: {1..7} {8..20}
	assert_eq "$(jq -s 'map(select(.ev == "slots").slots) | max' run.jsonl)" 7
}

@test "-j auto: when all wait for memory there are fewer, and SIGUSR1 says why" {
	use_faults
	mkdir -p root/proc/pressure root/proc/self
	make_fifo begun1 begun2 log err door
	exec {door}<>door
	pressure 0
	FAIRPAR_ROOT=$PWD/root "$FAIRPAR" -j auto:1-2 --log log '[ {} = 3 ] || echo >begun{}; read -r _ <door' ::: 1 2 3 2>err &
	pid=$!
	exec {err}<err {log}<log
	await begun1
	await begun2
	pressure 60000000 # a minute, of the second that passes at most between two looks
	next_with "$log" '"slots":1'
	assert_contains "$line" '"why":"memory is short"'
	kill -USR1 "$pid"
	next_with "$err" slots:
	assert_contains "$line" 'fairpar: slots: 1 for '
	assert_contains "$line" 's: memory is short'
	printf '\n\n\n' >&"$door"
	cat <&"$log" >/dev/null
	wait "$pid"
	exec {log}<&- {err}<&- {door}>&-
}

@test "a number of slots that changes is told: in the summary, by --explain, and as a line in the drawing" {
	echo 1 >slots
	run_fairpar --log run.jsonl --report run.svg --summary=always -j slots sh -c ::: 'echo 3 >slots' true true
	assert_contains "$stderr" '; 1 to 3 slots, '
	grep -q '<title>1 to 3 slots</title><path class="o" d="M70 ' run.svg
	grep -q '<title>3 slots: -j</title><path class="o" d="M' run.svg
	run_fairpar --from-log run.jsonl --explain
	assert_contains "$output" 'slots: 3 from now on: -j'
	run_fairpar --from-log run.jsonl --explain=2
	[[ $output != *slots:* ]] || fail "$output"
}

@test "-j auto: what cannot be right is refused" {
	run_fairpar 255 -j auto:8 true ::: a
	assert_contains "$stderr" "--jobs auto takes bounds as in auto:2-64"
	run_fairpar 255 -j auto:4-2 true ::: a
	run_fairpar 255 --pool -j auto true ::: a
	assert_contains "$stderr" '--pool-slots'
	run_fairpar 255 --jobserver -j auto true ::: a
	assert_contains "$stderr" '--jobserver lends slots of a fixed number'
	run_fairpar 255 --tee --pipe -j auto cat ::: a </dev/null
	assert_contains "$stderr" '--tee needs all jobs at once'
	run_fairpar 255 --semaphore --id "$BATS_TEST_NAME" -j auto true
	assert_contains "$stderr" 'a semaphore has a number of its own'
}

@test "-j auto in a job of another fairpar has the slots of that one" {
	need jq
	meet 3
	export FAIRPAR command
	# shellcheck disable=SC2016 # for the job
	run_fairpar -j 3 '"$FAIRPAR" -j auto --log run.jsonl "$command" ::: 1 2 3 4 5 6 7 8 9 # {}' ::: a
	assert_eq "$(jq -s 'map(select(.ev == "run_start").slots) | max' run.jsonl)" 3
	assert_eq "$(reasons)" ''
}

@test "-j auto does all that a fixed number does: order, failures, a manifest, blocks" {
	run_fairpar -j auto -k echo ::: {1..50}
	assert_eq "$output" "$(seq 50)"
	run_fairpar 3 -j auto 'exit $(({} % 17 == 0))' ::: {1..52}
	printf 'version: 1\nbatches:\n  a:\n    run: echo {}\n    args: [1, 2, 3]\n' >m.yaml
	run_fairpar -j auto:1-8 -k -f m.yaml
	assert_lines 1 2 3
	seq 100000 >numbers
	run_fairpar -j auto -k --pipe --block 10k cat <numbers
	cmp "$BATS_TEST_TMPDIR/stdout" numbers
}
