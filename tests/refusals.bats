# System calls that a sandbox, an old kernel or a file system refuses: fairpar does without, or says what it cannot do without.

load helper

setup() {
	helper_setup
	case ${FAIRPAR_PROFILE-release} in asan | tsan) skip "the sanitizer itself cannot do without these calls" ;; esac
}

# Those that fairpar has another way for.
optional=(splice sendfile memfd_create pwritev2 pidfd_open pidfd_send_signal close_range prctl linkat getrandom fallocate
	fadvise64 sched_getaffinity sysinfo fstatfs openat2)

# Of this machine's strace: others have no such call.
known_calls() {
	local call
	for call; do
		if strace -qq -o /dev/null -e trace="$call" true 2>/dev/null; then
			echo "$call"
		fi
	done
}

# refusing CALL[,CALL …] ERROR PROGRAM: makes the program `refused`, a fairpar whose calls fail.
refusing() {
	cat >refused <<SH
#!/bin/sh
ASAN_OPTIONS=detect_leaks=0 exec strace --seccomp-bpf -f -qq -o /dev/null -e trace=$1 -e inject=$1:error=$2 '$3' "\$@"
SH
	chmod +x refused
}

# all_ways PROGRAM: what it does in each of the ways that need such calls, on stdout.
all_ways() {
	local work
	work=$(mktemp -d way.XXXXXX)
	(
		program=$(realpath "$1") && cd "$work" || exit
		seq 9999 >in
		head -c 300000 /dev/zero >big
		"$program" -k -j2 'echo {}; echo {} >&2 #' ::: 1 2 3 2>&1 | sort
		"$program" -k --pipe --block 10k cat < <(cat in) | cksum
		"$program" -k --pipe --block 10k cat <big | cksum
		"$program" --pipe --round-robin -j2 --block 10k cat < <(cat in) | sort -n | cksum
		"$program" -k --pipe-part -a in --block 10k cat | cksum
		"$program" -k --pipe --cat --block 10k cat '{}' < <(cat in) | cksum
		"$program" -k --pipe-part --cat -a in --block 10k cat '{}' | cksum
		"$program" -j2 cat ::: big big | cksum
		"$program" --tmpdir . --files echo ::: a b | xargs cat | sort
		"$program" --results R echo ::: a b | sort
		"$program" --log log --joblog rows -k echo ::: a b && "$program" --from-log log --report r.svg && tail -n 1 r.svg
		"$program" --quiet --timeout 0.3 --term-seq TERM,50,KILL 'setsid -w sleep 100; : #' ::: 1 || echo "timeout $?"
		seq 10 | "$program" --xargs -P2 -n3 true && echo xargs
	) 2>&1
	rm -rf "$work"
}

ways_are_the_same() {
	local calls call error=$1
	shift
	need strace
	strace --seccomp-bpf -f -qq -o /dev/null -e trace=splice true 2>/dev/null || skip "this strace has no --seccomp-bpf"
	all_ways "$FAIRPAR" >expected
	assert_contains "$(cat expected)" xargs
	for call; do
		refusing "$call" "$error" "$FAIRPAR"
		all_ways ./refused | sed '/^strace: ptrace(/d' >got # a process may be killed while strace looks at it
		diff expected got || fail "$call: $error"
	done
}

@test "each optional system call may be unknown (ENOSYS)" {
	need strace
	mapfile -t calls < <(known_calls "${optional[@]}")
	ways_are_the_same ENOSYS "${calls[@]}"
}

@test "each optional system call may be forbidden (EPERM)" {
	need strace
	mapfile -t calls < <(known_calls "${optional[@]}")
	ways_are_the_same EPERM "${calls[@]}"
}

@test "all optional system calls may be refused together" {
	need strace
	mapfile -t calls < <(known_calls "${optional[@]}")
	all=$(IFS=,; echo "${calls[*]}")
	ways_are_the_same ENOSYS "$all"
	ways_are_the_same EPERM "$all"
}

@test "what fairpar cannot do without is named when it is refused" {
	need strace
	for call in signalfd4 eventfd2; do
		refusing "$call" ENOSYS "$FAIRPAR"
		status=0
		./refused true ::: 1 2>err || status=$?
		assert_eq "$status" 255
		assert_eq "$(cat err)" "fairpar: error: cannot set up signals: ${call%[24]}: Function not implemented"
	done
	refusing prlimit64 EPERM "$FAIRPAR"
	status=0
	./refused true ::: 1 2>err || status=$?
	assert_eq "$status" 0
	refusing setpgid EPERM "$FAIRPAR"
	status=0
	./refused --quiet true ::: 1 2>err || status=$?
	assert_eq "$status" 1
	assert_contains "$(cat err)" "cannot start 'true': process group: Operation not permitted"
}
