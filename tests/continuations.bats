# What follows a job: --then, --on-failure, --retries.

load helper

@test "--then runs the next step for the same item, after the one before" {
	run_fairpar -j1 --then 'echo then {}' 'echo first {}' ::: a b
	assert_lines "first a" "then a" "first b" "then b"
}

@test "--then steps are taken from the worker's own list" {
	run_fairpar -j1 --trace-service trace --then true --then true true ::: a
	assert_eq "$(sed 's/.*"source":"\([a-z]*\)".*/\1/' trace | tr '\n' ' ')" "queue own own "
}

@test "with --prefer-fairness a step goes to the tail of its batch" {
	run_fairpar -j1 --prefer-fairness --trace-service trace --then 'echo then {} >>order' 'echo first {} >>order' ::: a b
	assert_eq "$(tr '\n' ' ' <order)" "first a first b then a then b "
	assert_eq "$(grep -c '"source":"queue"' trace)" 4
}

@test "a step is a turn of its batch" {
	seq 2 >a; seq 3 >b
	run_fairpar -j1 --batch A=a --batch B=b --trace-service trace --then true true
	assert_eq "$(sed 's/.*"batch":"\([^"]*\)".*/\1/' trace | tr -d '\n')" ABABABABBB
}

@test "a failed step ends the chain, and the job fails once" {
	run_fairpar 1 -j1 --then false --then 'echo never' true ::: a
	assert_lines ""
	assert_contains "$stderr" "1 of 1 jobs failed: #1 (exit 1)"
}

@test "a chain has one number, and its output is one group" {
	run_fairpar -j2 -k --then 'echo {#} $FAIRPAR_SEQ' 'echo {#} $FAIRPAR_SEQ' ::: a b
	assert_lines "1 1" "1 1" "2 2" "2 2"
}

@test "--retries N tries N times in all, and shows the last try alone" {
	run_fairpar 1 --retries 3 'echo try $FAIRPAR_ATTEMPT; exit 1' ::: a
	assert_lines "try 3"
	assert_contains "$stderr" "1 of 1 jobs failed"
}

@test "a job that succeeds at a later try is ok" {
	run_fairpar --retries 3 'test $FAIRPAR_ATTEMPT = 2 && echo ok #' ::: a
	assert_lines ok
	}

@test "retries are for each step, and keep the output of the steps before" {
	run_fairpar --retries 2 --then 'echo second $FAIRPAR_ATTEMPT; [ $FAIRPAR_ATTEMPT = 2 ] #' 'echo first #' ::: a
	assert_lines first "second 2"
}

@test "--retries 0 goes on until it succeeds" {
	run_fairpar --retries 0 'test $FAIRPAR_ATTEMPT = 7 #' ::: a
}

@test "--on-failure runs once for a job that failed, after its last try" {
	run_fairpar 1 -j1 --retries 2 --on-failure 'echo {} $FAIRPAR_JOB $FAIRPAR_EXIT $FAIRPAR_OUTCOME >>log' 'exit {}' ::: 0 3
	assert_eq "$(cat log)" "3 default#2 3 failed"
}

@test "--on-failure runs also for a job whose failure ends the run, and for none that was cancelled" {
	make_fifo begun
	run_fairpar 3 -j2 --halt now,fail=1 --on-failure 'echo failed {} $FAIRPAR_EXIT' 'if test {} = 1; then read -r _ <begun; exit 3; fi; echo >begun; exec sleep 1000' ::: 1 2 3
	assert_lines "failed 1 3"
	run_fairpar 1 -j1 --halt soon,fail=1 --on-failure 'echo failed {}' false ::: 1 2
	assert_lines "failed 1"
}

@test "--on-failure sees a signal and a command that is not there" {
	run_fairpar 1 --on-failure 'echo $FAIRPAR_EXIT $FAIRPAR_OUTCOME' 'kill -9 $$' ::: x
	assert_lines "137 signal"
	run_fairpar 1 --on-failure 'echo $FAIRPAR_EXIT $FAIRPAR_OUTCOME' ./nosuch ::: x
	assert_lines "127 spawn_error"
}

@test "the failure of an --on-failure command is reported, and counts for nothing" {
	run_fairpar 1 --on-failure 'exit 4' false ::: x
	assert_contains "$stderr" "its on-failure command failed too: exit 4"
	assert_contains "$stderr" "1 of 1 jobs failed"
}

@test "--on-failure has all variables at once: of a machine, a directory, a slot, a log and the failure" {
	run_fairpar 1 -S 2/: --process-slot-var=MY_SLOT --log log --workdir . --on-failure 'env >env' 'false #' ::: a
	local name
	for name in FAIRPAR_BATCH FAIRPAR_JOB FAIRPAR_SEQ FAIRPAR_SLOT FAIRPAR_ATTEMPT FAIRPAR_RUN FAIRPAR_SOCK FAIRPAR_EXIT \
			FAIRPAR_OUTCOME PARALLEL_SEQ PARALLEL_JOBSLOT PARALLEL_PID PARALLEL_SSHLOGIN PARALLEL_SSHHOST MY_SLOT PWD; do
		grep -q "^$name=" env || fail "$name is not there"
	done
}

@test "the pool goes on after a failure" {
	run_fairpar 1 -k 'test {} != 2 && echo {}' ::: 1 2 3
	assert_lines 1 3
}
