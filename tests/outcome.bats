# What a run comes to: exit status, --halt, the last line.

load helper

@test "exit 0 when every job succeeded" {
	run_fairpar true ::: 1 2 3
	assert_eq "$stderr" ""
}

@test "exit status is the number of failed jobs" {
	run_fairpar 2 'exit {}' ::: 0 1 5 0
}

@test "100 failures are 100, more are 101" {
	seq 100 | run_in_pipe 100 false
	seq 101 | run_in_pipe 101 false
}

run_in_pipe() {
	local want=$1; shift
	cat >items
	run_fairpar "$want" "$@" <items
}

@test "no input is no job, and success" {
	run_fairpar false </dev/null
	run_fairpar -r false </dev/null
}

@test "the last line names every failed job" {
	run_fairpar 2 -j1 --batch-by '{2}' --colsep , 'exit {1}' ::: 0,A 2,A 3,B 0,B
	assert_eq "${stderr##*$'\n'}" "fairpar: 2 of 4 jobs failed: B#1 (exit 3), A#2 (exit 2)"
	run_fairpar 1 -j1 'exit {}' ::: 0 4 # their lines are above it
	assert_eq "${stderr##*$'\n'}" "fairpar: 1 of 2 jobs failed"
	run_fairpar 1 -j1 --summary=never 'exit {}' ::: 0 4
	assert_eq "$stderr" "fairpar: 1 of 2 jobs failed: #2 (exit 4)"
}

@test "the last line is cut after 20 jobs, with the count" {
	seq 25 >items
	run_fairpar 25 -j1 --summary=never 'exit 1' <items
	assert_contains "$stderr" "25 of 25 jobs failed: #1 (exit 1), "
	assert_contains "$stderr" "#20 (exit 1) and 5 more"
	assert_eq "$(grep -c . "$BATS_TEST_TMPDIR/stderr")" 1
}

@test "--quiet leaves the last line out" {
	run_fairpar 1 --quiet false ::: x
	assert_eq "$stderr" ""
}

@test "a job killed by a signal has failed, and says which" {
	run_fairpar 1 'kill -9 $$' ::: x
	assert_contains "$stderr" "#1 (signal 9"
}

@test "--halt now,fail=1 passes the job's code on" {
	run_fairpar 7 -j1 --halt now,fail=1 'exit {}' ::: 0 7 0
	assert_contains "$stderr" "1 of 3 jobs failed; 1 cancelled"
}

@test "--halt now,fail=1 gives 128+n for a signal and 124 for a timeout" {
	run_fairpar 137 --halt now,fail=1 'kill -9 $$' ::: x
	run_fairpar 124 --halt now,fail=1 --timeout 0.05 'read -r _ </dev/zero' ::: x
}

@test "--halt now ends the running jobs, --halt soon lets them end" {
	make_fifo started
	run_fairpar 1 -j2 --halt now,fail=1 'if [ {} = 1 ]; then echo >started; sleep 100; echo late; else read -r _ <started; exit 1; fi' ::: 1 2
	assert_lines ""
	make_fifo go
	run_fairpar 1 -j2 --halt soon,fail=1 'if [ {} = 1 ]; then echo >started; read -r _ <go; echo ended; else read -r _ <started; echo >go; exit 1; fi' ::: 1 2
	assert_lines ended
}

@test "--halt now,success=1 is success" {
	run_fairpar -j1 --halt now,success=1 'exit {}' ::: 1 0 1
}

@test "--exit-status has four other schemes" {
	run_fairpar 123 --exit-status xargs -j1 'exit {}' ::: 0 3 5
	run_fairpar 3 --exit-status first -j1 'exit {}' ::: 0 3 5
	run_fairpar 5 --exit-status max -j1 'exit {}' ::: 0 5 3
	run_fairpar 1 --exit-status any -j1 'exit {}' ::: 0 3 5
}

@test "a command that is not there is 127, one that cannot run 126" {
	run_fairpar 127 --halt now,fail=1 nosuchcommand ::: x
	assert_contains "$stderr" "nosuchcommand"
	echo >plain
	run_fairpar 126 --halt now,fail=1 ./plain ::: x
	assert_contains "$stderr" "Permission denied"
}

@test "a script without #! is run by the shell" {
	echo 'echo script $1' >script; chmod +x script
	run_fairpar ./script ::: x
	assert_lines "script x"
}
