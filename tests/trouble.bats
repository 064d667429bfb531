# Bad days: limits, faults, things that vanish. Nothing is lost, and the user is told.

load helper

@test "EAGAIN from spawn is waited out while other jobs run, and drops no job" {
	use_faults
	seq 20 >items
	FAIRPAR_FAULT=spawn:3:EAGAIN,spawn:7:ENOMEM,spawn:11:EAGAIN run_fairpar -k -j2 echo <items
	assert_eq "$output" "$(seq 20)"
	assert_eq "$stderr" ""
}

@test "when no process can be started and none runs, it is said after a second what is waited for" {
	use_faults
	local faults
	faults=$(printf 'spawn:1:EAGAIN,%.0s' {1..8}) # each from where the one before has ended; with pauses of 10 ms, then twice as long each time, up to 640 ms: 1.27 s
	FAIRPAR_FAULT=${faults%,} run_fairpar -j1 echo ::: a b
	assert_lines a b
	assert_eq "$stderr" "fairpar: cannot start a process yet: Resource temporarily unavailable (ulimit -u)"
}

@test "no processes left: every item runs or is named" {
	need prlimit && need setpriv
	[[ $EUID == 0 ]] || skip "needs root, to become a user without processes"
	seq 30 >items
	chmod 711 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/.." 2>/dev/null || :
	local status=0
	prlimit --nproc=6 setpriv --reuid "$(lone_user)" --clear-groups "$FAIRPAR" -k -j20 /bin/echo <items >out 2>err || status=$?
	if ((status == 0)); then
		cmp out items
	else
		assert_contains "$(cat err)" "fairpar: "
	fi
}

@test "few descriptors mean fewer jobs at once, with a warning" {
	seq 30 >items
	bash -c 'ulimit -n 24; "$1" -k -j20 echo <items >out 2>err 3>&- 4>&-' _ "$FAIRPAR"
	cmp out items
	assert_contains "$(cat err)" "24 descriptors (ulimit -n) are enough for only"
}

@test "descriptors are enough for a job, or nothing runs and it is said what to do" {
	need prlimit
	seq 30 >items
	printf 'version: 1\nbatches:\n  one:\n    run: echo {}\n    args: [1, 2, 3]\n' >m.yaml
	local n words status expected
	for n in {4..12} {13..40..3}; do
		for words in '-j1 echo' '-j4 echo' '-j4 --joblog jl --report r.svg echo' '-j4 --log lg echo' '-j4 --pipe -N1 cat' \
			'-j4 -f m.yaml' '-j4 --batch A=items --batch B=/dev/null echo'; do
			rm -f jl lg
			status=0
			# shellcheck disable=SC2086 # words
			timeout "$patience" prlimit --nofile=$n:$n "$FAIRPAR" -k $words <items >out 2>err 3>&- 4>&- || status=$?
			if ((status == 255)); then
				assert_eq "$(wc -l <err) $(cat out)$(ls jl lg 2>/dev/null)" "1 "
				assert_contains "$(cat err)" "ulimit -n"
			else
				expected=30
				[[ $words != *m.yaml ]] || expected=3
				assert_eq "$n $words: $status $(wc -l <out)" "$n $words: 0 $expected"
			fi
			((status == 0 || n < 30)) || fail "$n are enough"
			((status == 255 || n > 9)) || fail "$n are not enough"
		done
	done
	status=0
	prlimit --nofile=10:10 "$FAIRPAR" --semaphore --id "$BATS_TEST_TMPDIR" touch ran 2>err 3>&- || status=$?
	assert_eq "$status $(ls ran 2>/dev/null)" "255 "
	assert_contains "$(cat err)" "ulimit -n"
	status=0
	prlimit --nofile=30:30 "$FAIRPAR" --pipe --tee touch ::: ran 2 <items 2>err 3>&- 4>&- || status=$?
	assert_eq "$status $(ls ran 2>/dev/null)" "255 "
	assert_contains "$(cat err)" "30 descriptors are enough for 1: raise the limit, by ulimit -n"
}

@test "jobs beside the slots wait for descriptors, and none is lost" {
	need prlimit
	seq 300 >items
	timeout "$patience" prlimit --nofile=30:30 "$FAIRPAR" -j0 --long-running echo <items >out 2>err 3>&- 4>&- || cat err
	cmp <(sort -n out) items
}

@test "a job gets the limit back that fairpar raised" {
	bash -c 'ulimit -Sn 64; "$1" "ulimit -n #" ::: x >out' _ "$FAIRPAR"
	assert_eq "$(cat out)" 64
}

@test "a deleted working directory does no harm" {
	mkdir gone
	cd gone
	rmdir ../gone
	run_fairpar /bin/echo ::: x
	assert_lines x
}

@test "a file that vanishes before its turn is an error, and the rest runs" {
	seq 3 >there
	run_fairpar 255 --batch A=there --batch B=vanished echo
	assert_contains "$stderr" "vanished"
	assert_contains "$stderr" "No such file or directory"
	assert_lines ""
}

@test "a shell that vanishes before its batch begins fails that batch, and the rest runs" {
	cp "$(type -P dash || type -P sh)" own-shell
	cat >m.yaml <<-'EOF'
		version: 1
		batches:
		  first:
		    run: rm own-shell
		  second:
		    needs: first
		    shell: ./own-shell
		    run: echo second
		  third:
		    run: echo third
	EOF
	run_fairpar any -f m.yaml </dev/null
	assert_eq "$status" 1
	assert_lines third
	assert_contains "$stderr" "batch 'second': shell: './own-shell': No such file or directory"
	assert_contains "$stderr" "could not begin"
}

@test "a command line beyond the system's limit fails alone" {
	{ echo 1; head -c 200000 /dev/zero | tr '\0' 2; echo; echo 3; } >items
	run_fairpar 1 -k /bin/echo <items
	assert_lines 1 3
	assert_contains "$stderr" "Argument list too long"
}

@test "a full disk for spilled items makes the reader wait, and nothing fails" {
	use_faults
	seq 20000 | sed 's/^/key /' >items
	FAIRPAR_FAULT=tmpfile:1+:ENOSPC run_fairpar --queue-mem 64k --batch-by '{1}' --colsep ' ' --dry-run echo {2} <items
	assert_eq "$(wc -l <"$BATS_TEST_TMPDIR/stdout")" 20000
	assert_eq "$(grep -c 'No space left' "$BATS_TEST_TMPDIR/stderr")" 1
	assert_contains "$stderr" "items cannot be put into a temporary file in '$TMPDIR': No space left on device: they are read only as jobs take them, and none is lost"
}

# limited N: fairpar with a limit of N descriptors, of which it inherits six. A shell of its own opens them, after it has
# closed those of bats: a redirection keeps a copy of what it replaces from 10 on, and closes that in the end.
limited() {
	bash -c 'exec 3>&- 4>&- && exec 10</dev/null 12</dev/null 17</dev/null && exec prlimit --nofile="$1:$1" "$2" -j1 echo ::: 1' \
		- "$1" "$FAIRPAR"
}

@test "the limit of descriptors that is said to be enough is so, whatever was open before" {
	need prlimit
	local n enough
	for n in 10 12 16; do
		! limited "$n" 2>err || fail "$n are enough"
		enough=$(grep -o 'it must be [0-9]*' err | grep -o '[0-9]*')
		assert_eq "$n: $(limited "$enough")" "$n: 1"
		((--enough))
		! limited "$enough" 2>err || fail "so are $enough"
	done
}

@test "items beyond --queue-mem are spilled and come back whole, in order" {
	seq 20000 | sed 's/^/key /' >items
	run_fairpar -j1 --queue-mem 64k --batch-by '{1}' --colsep ' ' --dry-run echo {2} <items
	assert_eq "$output" "$(seq -f 'echo %g' 20000)"
	assert_eq "$stderr" ""
}

@test "a trace that cannot be written is reported, and the exit status says so" {
	run_fairpar 255 --trace-service /dev/full echo ::: 1
	assert_contains "$stderr" "/dev/full"
	assert_contains "$stderr" "No space left on device"
	assert_lines 1
	run_fairpar 255 --trace-service nosuchdir/trace touch ::: ran
	assert_eq "$(ls)" ""
}

@test "fewer threads than slots is a warning, and all jobs run" {
	use_faults
	seq 10 >items
	FAIRPAR_FAULT=thread:2+:EAGAIN run_fairpar -k -j4 /bin/echo <items
	assert_eq "$output" "$(seq 10)"
}

@test "a job that runs long costs no system call while it runs" {
	need strace
	local calls=()
	for seconds in 0.3 4.3; do
		traced -f -o "calls$seconds" "$FAIRPAR" -j1 sleep ::: "$seconds" 2>/dev/null
		calls+=("$(grep -cE ' (poll|ppoll|wait4|waitid|read|write|futex|clock_[a-z]*|kill)\(' "calls$seconds")")
	done
	# at the start and at the end threads meet in one way or another; four seconds of polling would be many more
	((calls[1] - calls[0] <= 16)) || fail "${calls[*]}"
}

@test "temporary files have no name" {
	need strace
	traced -f -e trace=openat,open,mkdir,unlink,unlinkat -o calls "$FAIRPAR" -j2 -k --queue-mem 64k --batch-by '{}' \
		'head -c 9000000 /dev/zero #' ::: 1 2 >/dev/null
	# a sanitizer has files of its own
	assert_eq "$(grep -E 'O_CREAT|mkdir|unlink' calls | grep -vE 'ENOENT|EEXIST|/tsan\.|/pools(/jobs\+|")')" ""
}

@test "kill -9 at any moment leaves no job" {
	local pid
	for _ in $(seq 20); do
		"$FAIRPAR" -j2 'sh -c "sleep 1000; :"; :' ::: 1 2 3 2>/dev/null 3>&- &
		pid=$!
		for ((spin = RANDOM % 400; spin > 0; spin--)); do :; done # some moment, not a certain one
		kill -KILL "$pid"
		wait "$pid" 2>/dev/null || :
	done # the teardown looks for what is left
}

@test "two stdins are an error" {
	run_fairpar 255 -a - -a - echo </dev/null
	assert_contains "$stderr" "stdin can be read only once"
}

@test "misspelt options name the nearest" {
	run_fairpar 255 --weigth a=1 true ::: 1
	assert_contains "$stderr" "--weight"
	run_fairpar 255 -j zero true ::: 1
	assert_contains "$stderr" "zero"
}

@test "under a tight limit of processes the threads leave room for the jobs" {
	need setpriv
	[[ $(id -u) == 0 ]] || skip "needs root, to become a user without processes"
	[[ ${FAIRPAR_PROFILE-} != tsan ]] || skip "ThreadSanitizer has a thread of its own"
	local dir limit
	dir=$(mktemp -d /tmp/fairpar-limit.XXXXXX) # where another user may look
	chmod 755 "$dir"
	cp "$FAIRPAR" "$dir/fairpar"
	cd "$dir"
	for limit in 3 5; do
		status=0
		timeout "$patience" setpriv --reuid "$(lone_user)" --clear-groups env TMPDIR=/tmp \
			bash -c "ulimit -u $limit; exec ./fairpar --quiet -k -j4 echo ::: 1 2 3 4 5 6" >"$BATS_TEST_TMPDIR/out" 2>&1 || status=$?
		assert_eq "$status $(paste -sd' ' "$BATS_TEST_TMPDIR/out")" '0 1 2 3 4 5 6'
	done
	# nobody has chosen how many there are at once: they have room for what they start themselves
	status=0
	timeout "$patience" setpriv --reuid "$(lone_user)" --clear-groups env TMPDIR=/tmp \
		bash -c 'ulimit -u 10; exec ./fairpar --quiet -k -j auto "sleep 0.2; echo {}" ::: {1..9}' >"$BATS_TEST_TMPDIR/out" 2>&1 || status=$?
	assert_eq "$status $(paste -sd' ' "$BATS_TEST_TMPDIR/out")" '0 1 2 3 4 5 6 7 8 9'
	cd / && rm -r "$dir"
}

@test "jobs start, and fail by name, where the system gives no descriptor with a new process (qemu-user)" {
	use_faults
	FAIRPAR_FAULT=spawn:1+:EINVAL run_fairpar 1 -j1 '{}' ::: 'echo a' 'exit 7'
	assert_eq "$output" a
	FAIRPAR_FAULT=spawn:1+:EINVAL run_fairpar any -j1 /none ::: 1
	assert_contains "$stderr" "'/none': command not found"
}

@test "a limit of processes that fairpar fills by itself fails each job at once" {
	need prlimit setpriv
	[[ $(id -u) == 0 ]] || skip "needs root, to become a user without processes"
	[[ ${FAIRPAR_PROFILE-} != tsan ]] || skip "ThreadSanitizer has a thread of its own"
	chmod 711 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/.." 2>/dev/null || :
	local status=0 before=$EPOCHSECONDS
	prlimit --nproc=2 setpriv --reuid "$(lone_user)" --clear-groups "$FAIRPAR" -j1 /bin/echo ::: {1..9} >out 2>err || status=$?
	assert_eq "$status" 9
	assert_contains "$(<err)" "job #9: cannot start '/bin/echo': new process: Resource temporarily unavailable"
	[[ $(<err) != *waiting* ]]
	((EPOCHSECONDS - before < 60)) # each waited for 10 s
}

@test "a stack too small is refused" {
	case ${FAIRPAR_PROFILE-} in asan | ubsan | tsan) skip "a sanitizer needs a larger one itself" ;; esac
	local status=0
	prlimit --stack=40960 "$FAIRPAR" echo ::: 1 >out 2>err || status=$?
	assert_eq "$status: $(<err)" '255: fairpar: error: a stack of 40960 bytes (ulimit -s) is too small'
}

@test "an expression that would need a large stack is refused" {
	run_fairpar 255 --colsep "$(printf '%020000d' 0 | tr 0 '(')$(printf '%020000d' 0 | tr 0 ')')" echo ::: 1
	assert_contains "$stderr" 'as a column separator: more than 1000 parentheses'
}
