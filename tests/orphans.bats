# What jobs leave behind, and what is left of them when fairpar itself is killed. The teardown of each test demands that
# nothing of it runs any more.

load helper

# Sets $guardian to the guardian of the running fairpar, another one than $1.
await_guardian() {
	guardian=
	until [[ -n $guardian && $guardian != "${1-}" ]]; do
		kill -0 "$fairpar_pid" || fail "fairpar has ended"
		guardian=$(pgrep -P "$fairpar_pid" -f internal-guardian) || :
	done
}

# killed_with JOB: kills fairpar by KILL when the job has written into the FIFO `started`.
killed_with() {
	make_fifo started
	start_fairpar "$@"
	await started
	await_guardian
	kill -KILL "$fairpar_pid"
	end_fairpar 137
}

@test "kill -9 leaves nothing that made a process group of its own: timeout" {
	need timeout
	killed_with 'timeout 500 sh -c "echo >started; sleep 1000"; : {}' ::: 1
}

@test "kill -9 leaves nothing that made a process group of its own: set -m" {
	need bash
	killed_with --shell bash 'set -m; sh -c "echo >started; sleep 1000" & wait; : {}' ::: 1
}

@test "kill -9 leaves nothing that made a session of its own, and lost its parents" {
	need setsid
	killed_with 'setsid sh -c "(echo >started; exec sleep 1000) &"; sleep 1000; : {}' ::: 1
}

@test "kill -9 leaves no job that is stopped, and none that ignores TERM" {
	need setsid
	killed_with 'trap "" TERM; sh -c "kill -STOP \$\$" & setsid sh -c "echo >started; kill -STOP \$\$" & sleep 1000; : {}' ::: 1
}

@test "kill -9 leaves no job that writes without end" {
	need timeout
	killed_with 'trap "" PIPE; timeout 500 sh -c "echo >started; while :; do cat /dev/zero 2>/dev/null; done" & while :; do cat /dev/zero 2>/dev/null; done; : {}' ::: 1
}

@test "a guardian that was killed is started again, and does its work" {
	need timeout
	make_fifo started
	start_fairpar -j1 'timeout 500 sh -c "echo >started; sleep 1000"; : {}' ::: 1
	await started
	for _ in 1 2 3; do
		await_guardian "$guardian"
		kill -KILL "$guardian"
	done
	await_guardian "$guardian"
	kill -KILL "$fairpar_pid"
	end_fairpar 137
}

@test "so it is in the xargs personality" {
	make_fifo started
	start_fairpar --xargs -a <(echo 1) sh -c 'echo >started; exec sleep 1000'
	await started
	await_guardian
	kill -KILL "$guardian"
	await_guardian "$guardian"
	kill -KILL "$fairpar_pid"
	end_fairpar 137
}

@test "a third signal leaves nothing, though jobs ignore TERM and made sessions of their own" {
	need setsid
	make_fifo started
	start_fairpar --term-seq TERM,100000,KILL \
		'trap "" TERM; setsid sh -c "echo >started; while :; do sleep 1000; done" & while :; do sleep 1000; done #' ::: 1
	await started
	kill -TERM "$fairpar_pid"
	until grep -q stopping "$BATS_TEST_TMPDIR/stderr" || ! kill -0 "$fairpar_pid"; do :; done # signals that come before one of them is answered are one
	for _ in 2 3; do
		kill -TERM "$fairpar_pid" 2>/dev/null || : # it may have ended
	done
	end_fairpar 143
}

@test "what a job leaves behind lives on when the run ends as it should" {
	make_fifo go said
	run_fairpar 'nohup sh -c "read -r _ <go; echo \$FAIRPAR_COOKIE >said" >/dev/null 2>&1 & : {}' ::: 1
	release go
	await said
	[[ $line =~ ^[0-9a-f]{32}$ ]] || fail "a cookie '$line'"
}

# How many zombies the running fairpar has.
count_zombies() {
	ps -o stat= --ppid "$fairpar_pid" | grep -c Z || :
}

# Until all that the running fairpar has are $1 children, and no zombie.
# Its children, but not the servers of --warm, which clone its jobs.
count_children() {
	local pid n=0
	for pid in $(pgrep -P "$fairpar_pid"); do
		grep -qsz ^FAIRPAR_WARM= "/proc/$pid/environ" || n=$((n + 1))
	done
	echo "$n"
}

await_children() {
	until [[ $(count_children) -le $1 && $(count_zombies) == 0 ]]; do
		kill -0 "$fairpar_pid" || fail "fairpar has ended"
	done
}

@test "what a job leaves behind is reaped when it ends, while the job still runs" {
	for personality in '' --xargs; do
		make_fifo ready go
		# shellcheck disable=SC2086 # a word or none
		start_fairpar $personality -a <(echo 1) sh -c \
			'echo >ready; read -r _ <go; for i in 1 2 3 4 5 6 7 8 9; do (sleep 0 &); done; echo >ready; exec sleep 1000'
		await ready
		await_guardian # whose start wakes the event loop
		release go
		await ready
		await_children 2 # the job and the guardian
		kill -TERM "$fairpar_pid"
		end_fairpar 143
		rm ready go
	done
}

@test "what short jobs leave behind is reaped while others run" {
	make_fifo ready go
	start_fairpar -j1 '(sleep 0.{} >/dev/null 2>&1 &); test {} -lt 60 || { echo >ready; read -r _ <go; }' ::: {1..60}
	await ready
	await_children 2
	release go
	end_fairpar
}

@test "short jobs do not wake the event loop when they end" {
	need strace
	traced -f -qq -o calls -e trace=poll,ppoll "$FAIRPAR" -j1 --joblog rows true ::: {1..1000}
	# the first process that is named is the main thread
	main=$(head -n 1 calls) main=${main%% *}
	((n = $(grep -c "^$main .*poll(" calls))) || :
	slow=$(awk '$4 >= 0.05' rows | wc -l) # on a busy machine: these are no short ones
	((n < 500 + 2 * slow)) || fail "$n of 1000 ends were waited for by the main thread, $slow of long jobs"
}

@test "a job that leaves more helpers behind than processes are allowed runs to its end" {
	need setpriv
	[[ $(id -u) == 0 ]] || skip "needs root, to become a user without processes"
	[[ ${FAIRPAR_PROFILE-} != tsan ]] || skip "ThreadSanitizer has a thread of its own"
	local dir status=0
	dir=$(mktemp -d /tmp/fairpar-limit.XXXXXX) # where another user may look
	chmod 755 "$dir"
	cp "$FAIRPAR" "$dir/fairpar"
	cd "$dir"
	# bash tries again where there is no process to be had; the number is a user's who has none
	timeout "$patience" setpriv --reuid "$(lone_user)" --clear-groups env TMPDIR=/tmp bash -c 'ulimit -u 150; exec "$@"' _ \
		./fairpar --quiet --shell bash -j1 'for i in {1..600}; do (sleep 0 &); done; echo {}' ::: ended >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" || status=$?
	cat "$BATS_TEST_TMPDIR/err"
	cd / && rm -r "$dir"
	assert_eq "$status $(<"$BATS_TEST_TMPDIR/out")" '0 ended'
}
