# What takes minutes on several machines: the long form of tests/cluster.bats (make check-cluster-long).
# shellcheck disable=SC2016,SC2154 # the commands are for the shells of the jobs; helper.bash sets what is not set here

load helper
load cluster

setup_file() {
	bed_start ssh
	bed_start slurm SlurmdTimeout=10 KillWait=5
}
teardown_file() { bed_end; }

setup() {
	helper_setup
	export FAIRPAR_REMOTE=$FAIRPAR
}

teardown() { helper_teardown; }

allocated() { salloc -Q -N3 -n12 -t 10 "$@"; }

# peak PID: the most memory that it had, KiB
peak() { awk '/^VmHWM/ { print $2 }' "/proc/$1/status"; }

# worker_at ADDRESS: the pid of the worker that this test has there
worker_at() {
	local process
	for process in $(grep -lszFx "FAIRPAR_TEST=$FAIRPAR_TEST" /proc/[0-9]*/environ); do
		process=${process%/environ}
		grep -qszx -- --worker "$process/cmdline" 2>/dev/null && grep -qsz "^SSH_CONNECTION=.* $1 " "$process/environ" && echo "${process#/proc/}"
	done
	return 0
}

# ---- much ----

@test "1 GB of one job comes whole, while others run" {
	need_ssh
	run_fairpar -S 2/127.0.0.1 --workdir . 'if [ {} = big ]; then head -c 1000000000 /dev/zero | tr "\\0" x; else echo; fi' ::: big small small small
	assert_eq "$(wc -c <"$BATS_TEST_TMPDIR/stdout")" 1000000003
	assert_eq "$(tr -d 'x\n' <"$BATS_TEST_TMPDIR/stdout" | wc -c)" 0
}

@test "a reader that reads nothing stops the job, and neither end grows" {
	need_ssh
	make_fifo begun out
	local reader
	"$FAIRPAR" -S 1/127.0.0.1 --workdir . -u 'echo >begun; head -c 300000000 /dev/zero #' ::: 1 >out 2>err 3>&- &
	fairpar_pid=$!
	exec {reader}<out
	await begun
	sleep 5 # it would have been read by then
	local worker
	worker=$(worker_at 127.0.0.1)
	(($(peak "$fairpar_pid") < 65536)) || fail "the dispatcher has grown to $(peak "$fairpar_pid") KiB"
	(($(peak "$worker") < 65536)) || fail "the worker has grown to $(peak "$worker") KiB"
	assert_eq "$(wc -c <&"$reader")" 300000000
	exec {reader}<&-
	wait "$fairpar_pid"
}

@test "a hundred thousand jobs over three machines: each has its row, and nothing grows" {
	need_ssh
	seq 100000 >items
	start_fairpar -S 4/127.0.0.1,4/127.0.0.2,4/127.0.0.3 --joblog joblog true <items
	wait_for has_rows 20000
	local early fds
	early=$(peak "$fairpar_pid") fds=$(find "/proc/$fairpar_pid/fd" | wc -l)
	wait_for has_rows 90000
	(($(peak "$fairpar_pid") < early + 8192)) || fail "it has grown from $early to $(peak "$fairpar_pid") KiB"
	(($(find "/proc/$fairpar_pid/fd" | wc -l) <= fds + 24)) || fail "descriptors: $fds, then $(find "/proc/$fairpar_pid/fd" | wc -l)"
	end_fairpar
	assert_eq "$(sed 1d joblog | cut -f 1 | sort -nu | wc -l)" 100000
	assert_eq "$(sed 1d joblog | wc -l)" 100000
}

has_rows() { (($(wc -l <joblog 2>/dev/null || echo 0) > $1)); }

# ---- lines that fall silent ----

@test "a line that is silent for a minute is given up, and its jobs are made again elsewhere" {
	need_ssh
	make_fifo begun
	start_fairpar -S 1/127.0.0.1,1/127.0.0.2 --workdir . 'mkdir once 2>/dev/null && { echo $PARALLEL_SSHLOGIN >at; echo >begun; sleep infinity; }; echo {} #' ::: 1
	await begun
	local client
	client=$(ssh_clients "$(<at)")
	kill -STOP "$client"
	end_fairpar
	assert_lines 1
	assert_contains "$stderr" "has been silent for a minute"
}

@test "a line that is silent for half a minute is none the worse" {
	need_ssh
	make_fifo begun go
	start_fairpar -S 1/127.0.0.1 --workdir . --at-most-once 'echo >begun; read -r x <go; echo {}' ::: 1
	await begun
	local client
	client=$(ssh_clients 127.0.0.1)
	kill -STOP "$client"
	sleep 30
	kill -CONT "$client"
	release go
	end_fairpar
	assert_lines 1
	assert_eq "$stderr" ''
}

# ---- Slurm ----

@test "the jobs of a node that dies are made again on the others" {
	need_slurm
	make_fifo begun
	exec {begun}<>begun
	salloc -Q --no-kill -N3 -n3 -t 10 "$FAIRPAR" --slurm -j1 'mkdir once{} 2>/dev/null && { echo >begun; sleep 20; }; echo {}' ::: 1 2 3 >out 2>err 3>&- </dev/null &
	local allocation=$!
	for _ in 1 2 3; do read -r -u "$begun" _; done
	slurm_up crash n2
	wait "$allocation"
	exec {begun}<&-
	assert_eq "$(sort out | xargs)" "1 2 3"
	slurm_up start
}

@test "near the end of an allocation's time no job begins, and --resume does the others" {
	need_slurm
	local status=0
	salloc -Q -N1 -n2 -t 1 "$FAIRPAR" --slurm --joblog joblog 'sleep 4; echo {}' ::: {1..60} >out 2>err 3>&- </dev/null || status=$?
	assert_eq "$status" 255
	grep -q "the worker's time is nearly over" err || fail "$(<err)"
	grep -q "the allocation has ended" err || fail "$(<err)"
	salloc -Q -N3 -n12 -t 10 "$FAIRPAR" --slurm --joblog joblog --resume-failed 'sleep 0.1; echo {}' ::: {1..60} >>out 2>>err 3>&- </dev/null
	assert_eq "$(sort -nu out | wc -l)" 60
	assert_eq "$(sed 1d joblog | cut -f 1,7 | sort -u | grep -c '	0$')" 60
}

@test "jobs of an allocation go on while the controller is stopped" {
	need_slurm
	make_fifo begun go
	exec {hold}<>go {begun}<>begun
	allocated "$FAIRPAR" --slurm -j1 'echo >begun; read -r x <go; echo {}' ::: 1 2 3 >out 2>err 3>&- </dev/null &
	local allocation=$!
	for _ in 1 2 3; do read -r -u "$begun" _; done
	slurm_up end slurmctld
	printf '\n\n\n' >go
	until (($(grep -c '' out) == 3)); do sleep 0.1; done
	slurm_up start
	wait "$allocation"
	exec {hold}<&- {begun}<&-
	assert_eq "$(sort out | xargs)" "1 2 3"
}
