# The memory of jobs, where the kernel limits it: a real cgroup, so nothing is made up. What needs none is in admission.bats.

load helper
load pools
load cgroup

setup() {
	helper_setup
	printf '%s\n' "$FAIRPAR_POOL_DIR" >"$BATS_TEST_TMPDIR/of_server"
	group_make memory || skip "no cgroup with a memory limit can be made here"
	group_memory 300M
	in_group "$FAIRPAR"
}

teardown() {
	end_servers
	helper_teardown
	local status=$?
	group_remove || fail "$group is still there"
	return "$status"
}

# in_group PROGRAM: what run_fairpar runs is this one, in the group.
in_group() {
	FAIRPAR=$BATS_TEST_TMPDIR/in_group
	printf '#!/bin/sh\necho 0 >%s/cgroup.procs && exec %s "$@"\n' "$group" "$1" >"$FAIRPAR"
	chmod +x "$FAIRPAR"
}

# pairs: $command is a job that has a third of the limit. Behind the first one, which is alone, the first one of two keeps it until the
# second one has it, too.
pairs() {
	mkfifo door
	exec 5<>door # what is written stays
	cat >keep <<-'END'
		{
			head -c 100000000 /dev/zero
			if mkdir first 2>/dev/null; then
				echo alone
			elif mkdir waits 2>/dev/null; then
				echo first; read -r _ <door
			else
				rmdir waits; echo >door; echo second
			fi
		} | tail -c 100000000 | tail -c 7 | tr -d '\0'
	END
	command='sh keep'
}

# check_pairs: all has gone well, and some were there at once
check_pairs() {
	assert_eq "$(sort <<<"$output" | uniq -c | tr -s ' ')" $' 1 alone\n 3 first\n 3 second'
	assert_eq "$(group_kills)" 0
	(($(cat "$group"/memory.{max_usage_in_bytes,peak} 2>/dev/null) > 200000000))
}

@test "--memory=auto: jobs of a third of the limit are all done, and the kernel kills none" {
	pairs
	run_fairpar --memory=auto -j8 "$command" ::: {1..7}
	check_pairs
}

@test "-j auto: jobs of a third of the limit are all done, and the kernel kills none" {
	pairs
	run_fairpar -j auto:8-64 "$command" ::: {1..7}
	check_pairs
}

@test "-j auto on a machine: jobs of a third of the limit are all done, and the kernel kills none" {
	pairs
	export FAIRPAR_REMOTE=$FAIRPAR
	run_fairpar --launch 'env {}' -j auto:8-64 "$command" ::: {1..7}
	check_pairs
}

@test "-j auto: a job that needs more than the limit is said to be out of memory" {
	need jq
	run_fairpar 2 -j auto:4-4 --log run.jsonl 'head -c 400000000 /dev/zero | tail -c 400000000 >/dev/null #' ::: 1 2
	(($(group_kills) >= 2))
	assert_eq "$(jq 'select(.ev == "job_end").oom' run.jsonl)" $'true\ntrue'
	assert_contains "$stderr" 'FAILED #1: exit 137, out of memory'
}

@test "--memory=auto: a job that waits has its memory still, and what it waits for goes before others" {
	make_fifo began
	cat >waits <<-'END'
		echo "$1 begins" >>order
		[ "$1" != 0 ] || echo >began
		{
			head -c 180000000 /dev/zero
			[ "$1" = 0 ] || id=$("$FAIRPAR" --add --batch small sh small "$1")
			[ "$1" = 0 ] || "$FAIRPAR" --wait "$id" || echo "$1 waited: $?" >>order
		} | tail -c 180000000 | tail -c 5 | tr -d '\0'
		echo "$1 ends" >>order
	END
	echo 'head -c 60000000 /dev/zero | tail -c 60000000 | tail -c 5 | tr -d "\0"; echo "$1 has waited" >>order' >small
	export FAIRPAR
	run_fairpar --memory=auto -j2 sh waits < <(echo 0; read -r _ <began; printf "1\n2\n")
	assert_eq "$(cut -d ' ' -f 2- order | tr '\n' ,)" "begins,ends,begins,has waited,ends,begins,has waited,ends,"
	assert_eq "$(group_kills)" 0
}

# several_runs ARGUMENT …: four runs of a pool, each with five jobs of 120 MB, of which four have room.
several_runs() {
	local run own=0
	[[ ${FAIRPAR_PROFILE-} != asan ]] || own=100 # AddressSanitizer gives each fairpar some 25 MB
	group_memory $((600 + own))M
	for run in a b c d; do
		"$FAIRPAR" --pool --pool-slots 16 "$@" "head -c 120000000 /dev/zero | tail -c 120000000 | tail -c 3 | tr -d '\\0'; echo $run{}" ::: {1..5} >>ended &
	done
	wait
	assert_eq "$(sort ended)" "$(printf '%s\n' {a..d}{1..5})"
	assert_eq "$(group_kills)" 0
}

@test "the jobs of several runs of a pool have room beside each other, and the kernel kills none" {
	several_runs -j auto
}

@test "--single --memory waits until what its command needs has room beside what others need, and Ctrl-C ends that" {
	local name pids=()
	hold first --pool-slots 4 --memory 200M
	for name in second third; do
		single $name --memory 200M echo $name
		pids+=("$single_pid")
		until grep -q "memory: 'echo' waits for 200M" $name.err; do kill -0 "$single_pid" || fail "$name has ended" || return; done
	done
	single little --memory 50M echo little # behind those that wait
	pids+=("$single_pid")
	until grep -q 'waits for 50M' little.err; do kill -0 "$single_pid" || fail "little has ended" || return; done
	kill -INT "${pids[0]}"
	status=0
	wait "${pids[0]}" || status=$?
	assert_eq "$status" 130
	release first.go
	wait
	assert_eq "$(cat second.out third.out little.out)" $'third\nlittle'
}

@test "--single --memory: the time of --pool-wait begins when there is memory" {
	hold first --pool-slots 1 --memory 200M
	make_fifo second.in second.go
	single second sh -c 'echo >second.in; read -r _ <second.go'
	await_pool ', 1 waiting'
	single third --memory 200M --pool-wait 6 echo third
	until grep -q "memory: 'echo' waits for 200M" third.err; do kill -0 "$single_pid" || fail 'third has ended' || return; done
	sleep 6.1 # longer than the time of --pool-wait, which is long enough for a slow machine to come to the end of this test
	release first.go
	await second.in
	until "$FAIRPAR" --pool --status | grep -q ', 1 waiting'; do kill -0 "$single_pid" || fail 'third was given up' || return; done
	release second.go
	wait
	assert_eq "$(cat third.out)" third
}
