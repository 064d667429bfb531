# -j auto: the number of jobs at once that fairpar finds by itself; and how a number that changes is told.

load helper
load cgroup

teardown() {
	group_remove || fail "$group is still there"
	helper_teardown
}

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
	run_fairpar -j auto --memory=none --log run.jsonl "$command" ::: {1..20}
	assert_contains "$(reasons)" "jobs sleep" # others may keep the disk busy for a moment
	(($(jq -s 'map(select(.ev == "slots").slots) | max' run.jsonl) >= 20)) || fail "$(cat run.jsonl)"
}

@test "-j auto:LEAST-MOST keeps to its bounds" {
	need jq
	meet 5
	run_fairpar -j auto:5-5 --memory=none --log run.jsonl "$command" ::: {1..5}
	assert_eq "$(jq 'select(.ev == "run_start").slots' run.jsonl)" 5
	assert_eq "$(reasons)" ''
	meet 7
	run_fairpar -j auto:1-7 --memory=none --log run.jsonl "$command" ::: {1..7} {8..20}
	assert_eq "$(jq -s 'map(select(.ev == "slots").slots) | max' run.jsonl)" 7
}

@test "-j auto: when all wait for memory there are fewer, and SIGUSR1 says why" {
	use_faults
	mkdir -p root/proc/pressure root/proc/self
	make_fifo begun1 begun2 log err door
	exec {door}<>door
	pressure 0
	FAIRPAR_ROOT=$PWD/root "$FAIRPAR" -j auto:1-2 --memory=none --log log '[ {} = 3 ] || echo >begun{}; read -r _ <door' ::: 1 2 3 2>err &
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

@test "-j auto: whatever the signals say, one job runs, and so all is done in the end" {
	use_faults
	mkdir -p root/proc/pressure root/proc/self root/group
	printf 'Cpus_allowed_list:\t0\n' >root/proc/self/status
	echo 0::/ >root/proc/self/cgroup
	echo '25 18 0:22 / /group rw - cgroup2 cgroup2 rw' >root/proc/self/mountinfo
	echo 1000000 >root/group/memory.max # and more than that is taken
	echo 9000000 >root/group/memory.current
	cp /proc/meminfo root/proc
	# with each job all have waited for ten minutes more for memory and for a disk, and others have used all of the processors
	# shellcheck disable=SC2016 # for the job
	export job='now=$((600000000 * $1)); echo "full avg10=99.00 avg60=99.00 avg300=99.00 total=$now" >root/new$1
		cp root/new$1 root/proc/pressure/memory; cp root/new$1 root/proc/pressure/io; echo "cpu0 $now 0 0 0 0 0 0 0" >root/proc/stat; echo "$1"'
	FAIRPAR_ROOT=$PWD/root run_fairpar -j auto:1-8 'sh -c "$job" - {}; sleep 0.0{}' ::: {1..30}
	assert_set {1..30}
}

# jobs that compute: the first one until the second one has begun, which needs a second processor
two_that_compute='[ {} = 1 ] || : >two; echo >begun; until [ -e two ]; do :; done'

@test "-j auto: a quota of the cgroup that changes is followed" {
	use_faults
	need jq
	make_fifo begun
	mkdir -p root/proc/self root/cpu/x
	echo 3:cpu,cpuacct:/x >root/proc/self/cgroup
	echo '25 18 0:22 / /cpu rw - cgroup cgroup rw,cpu,cpuacct' >root/proc/self/mountinfo
	echo 100000 >root/cpu/x/cpu.cfs_period_us
	echo 100000 >root/cpu/x/cpu.cfs_quota_us
	exec 5<>begun
	FAIRPAR_ROOT=$PWD/root start_fairpar -j auto --memory=none --log run.jsonl "$two_that_compute" ::: 1 2
	read -rt "$patience" <&5
	echo 200000 >root/new
	mv root/new root/cpu/x/cpu.cfs_quota_us
	end_fairpar
	exec 5>&-
	assert_eq "$(jq -r 'select(.ev == "run_start").slots' run.jsonl)" 1
	assert_eq "$(reasons)" 'processors are idle'
}

@test "-j auto: a real quota that changes is followed" {
	need jq
	(($(nproc) > 1)) || skip 'there is one processor'
	group_make cpu || skip 'no cgroup with a quota can be made here'
	group_cpu 50000
	make_fifo begun
	exec 5<>begun
	group_run "$FAIRPAR" -j auto --memory=none --log run.jsonl "$two_that_compute" ::: 1 2 3>&- &
	read -rt "$patience" <&5
	group_cpu 200000
	wait $!
	exec 5>&-
	assert_eq "$(jq -r 'select(.ev == "run_start").slots' run.jsonl)" 1
	assert_eq "$(reasons)" 'processors are idle'
}

@test "a number of slots that changes is told: in the summary, by --explain, and as a line in the drawing" {
	need jq
	echo 1 >slots
	run_fairpar --log run.jsonl --summary=always -j slots sh -c ::: 'echo 3 >slots' true true
	assert_contains "$stderr" '; 1 to 3 slots, '
	# a second between two lines of the log: so the drawing has room for the change, however long fairpar took to start the jobs
	jq -cs 'to_entries[] | .value + {t: .key} + if .value.start then {start: (.key - 0.5), wall: 0.4} else {} end' run.jsonl >even.jsonl
	run_fairpar --from-log even.jsonl --report run.svg
	grep -q '<title>1 to 3 slots</title><path class="o" d="M70 ' run.svg
	grep -q '<title>3 slots: -j</title><path class="o" d="M' run.svg
	run_fairpar --from-log run.jsonl --explain
	[[ $output == *'slots: 3 from '*' on: -j'* ]] || fail "$output"
}

@test "-j auto: what cannot be right is refused" {
	run_fairpar 255 -j auto:8 true ::: a
	assert_contains "$stderr" "--jobs auto takes bounds as in auto:2-64"
	run_fairpar 255 -j auto:4-2 true ::: a
	assert_contains "$stderr" "the least is greater than the most"
	echo auto >slots
	run_fairpar 255 -j ./slots true ::: a
	assert_contains "$stderr" "'./slots', named by --jobs, must hold N, +N, -N or N%, and nothing else: auto can only be given on the command line"
	run_fairpar 255 --jobserver -j auto true ::: a
	assert_contains "$stderr" '--jobserver: a jobserver has a fixed number of slots'
	run_fairpar 255 --tee --pipe -j auto cat ::: a </dev/null
	assert_contains "$stderr" '--tee: with auto not all jobs run from the beginning'
	run_fairpar 255 --semaphore --id "$BATS_TEST_NAME" -j auto true
	assert_contains "$stderr" 'a semaphore needs a number, not auto'
}

@test "-j auto in a job of another fairpar has the slots of that one" {
	need jq
	meet 3
	export FAIRPAR command
	# shellcheck disable=SC2016 # for the job
	run_fairpar -j 3 '"$FAIRPAR" -j auto --memory=none --log run.jsonl "$command" ::: 1 2 3 4 5 6 7 8 9 # {}' ::: a
	assert_eq "$(jq -s 'map(select(.ev == "run_start").slots) | max' run.jsonl)" 3
	assert_eq "$(reasons)" ''
}

# numbers LOG: of slots that the run had
numbers() {
	jq 'select(.ev == "run_start" or .ev == "slots").slots' "$1" | sort -u
}

@test "below -j auto a fairpar has as many slots as the outer one has just then, and says so" {
	need jq
	meet 20
	export FAIRPAR command
	# shellcheck disable=SC2016 # for the job
	run_fairpar -j auto --log outer.jsonl '"$FAIRPAR" -t --memory=none --log run.jsonl --summary=always "$command" ::: $(seq 20) # {}' ::: a
	assert_eq "$(comm -23 <(numbers run.jsonl) <(numbers outer.jsonl))" ''
	assert_contains "$(reasons)" 'jobs sleep' # others may keep the disk busy for a moment
	(($(numbers run.jsonl | sort -n | tail -n 1) >= 20)) || fail "$(cat run.jsonl)"
	grep -Eq '; [0-9]+ to [0-9]+ slots, [0-9]+% busy$' "$BATS_TEST_TMPDIR/stderr"
}

@test "below -j auto a fairpar with fewer slots of its own has these, and of a fixed number that" {
	need jq
	export FAIRPAR
	# shellcheck disable=SC2016 # for the job
	run_fairpar -j auto:2-2 '"$FAIRPAR" -j1 --log run1.jsonl true ::: 1; "$FAIRPAR" --log run2.jsonl true ::: {}' ::: a
	assert_eq "$(numbers run1.jsonl)" 1
	assert_eq "$(numbers run2.jsonl)" 2
}

@test "-j auto: a machine finds its number of slots itself, and so does this one beside it" {
	need jq
	export FAIRPAR_REMOTE=$FAIRPAR
	meet 12
	run_fairpar --launch 'env {}' -j auto:1-12 --memory=none --log run.jsonl "$command" ::: {1..12}
	assert_contains "$(reasons)" "env: jobs sleep"
	assert_eq "$(jq -s 'map(select(.ev == "slots").slots) | max' run.jsonl)" 12
	meet 14
	run_fairpar -S : --launch 'env {}' -j auto:1-7 --memory=none --log run.jsonl "$command" ::: {1..14}
	assert_contains "$(reasons)" "this machine: jobs sleep"
	assert_eq "$(jq -s 'map(select(.ev == "slots").slots) | max' run.jsonl)" 14
}

@test "-j auto: the runs in jobs on a machine make its slots grow" {
	export FAIRPAR_REMOTE=$FAIRPAR
	meet 6
	export command
	run_fairpar --launch 'env {}' -j auto:1-6 --memory=none '"$FAIRPAR" -j6 --memory=none "$command" ::: 1 2 3 4 5 6; : {}' ::: 1
	assert_eq "$(wc -l <came)" 6
}

@test "-j auto: a machine whose number of slots is given has that number" {
	need jq
	export FAIRPAR_REMOTE=$FAIRPAR
	export PARALLEL_SSH=$PWD/ssh
	printf '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nexec sh -c "$2"\n' >ssh
	chmod +x ssh
	meet 3
	run_fairpar -S 3/one -j auto --memory=none --log run.jsonl "$command" ::: {1..3}
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

@test "-j auto: slots_per_job is cut to what there may be, and not to what there is at the beginning" {
	printf 'version: 1\nbatches:\n  wide: {args: [1], run: ": {}", slots_per_job: 5}\n' >m.yaml
	run_fairpar -j auto:2-6 -f m.yaml
	[[ $stderr != *'is cut'* ]] || fail "$stderr"
	run_fairpar -j auto:2-4 -f m.yaml
	assert_contains "$stderr" "slots_per_job: 5 is cut to the 4 slots there are"
}
