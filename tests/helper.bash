# shellcheck shell=bash disable=SC2034 # what it sets, tests read
# What all .bats files share: `load helper`.
#
#	run_fairpar [STATUS | any] ARGUMENT …    runs $FAIRPAR to its end and demands STATUS (0); sets $status, $output (stdout),
#	                                         $stderr and $lines (of stdout); the bytes are in the files stdout and stderr
#	                                         of $BATS_TEST_TMPDIR. Feed it by < or <<<; behind a | its variables are lost
#	start_fairpar ARGUMENT …                 starts $FAIRPAR in the background, as $fairpar_pid; `end_fairpar [STATUS | any]` waits
#	wait_for COMMAND …                       waits until COMMAND is true; fails if that fairpar ends before
#	assert_eq GOT EXPECTED, assert_contains TEXT PART, assert_lines LINE … (of stdout, in order), assert_set LINE … (in any)
#	most_at_once FILE                        how many of the jobs that have written + and - to it ran at once
#	make_fifo NAME …, await FIFO (sets $line), release FIFO [LINE]               tests wait for events by fifos, never for time
#	long_or LONG SHORT                       prints LONG in make check-long, else SHORT: for the size of a test
#	parallel_too                             true if the test is to check GNU parallel, which is slow, as well as fairpar
#	on_terminal COMMAND …                    runs COMMAND on a terminal of its own, with the dialogue of the file `talk` (needs python3)
#	traced …                                 strace …, also with a sanitizer; limit_memory KIB: ulimit -v, but not with a sanitizer
#	need TOOL, need_terminal, use_faults (a build that takes FAIRPAR_FAULT)     skip the test, by name, if this is missing
#
# Each test starts in an empty directory. When it ends, nothing that it started may still run (guardian and
# grandchildren too), and nothing may be left in its TMPDIR. A file with a setup or teardown of its own calls
# helper_setup and helper_teardown in it. Write assert_eq, not `[ x = y ]`, which prints nothing when it fails.

bats_require_minimum_version 1.5.0

# How many seconds a test waits for an event before it fails. This is long enough that no test fails only because the
# machine is busy.
patience=1200

setup() { helper_setup; }
teardown() { helper_teardown; }

# plain_path PROGRAM: prints its path; if the path has a blank, which FAIRPAR_REMOTE must not have, the path of a link to it.
plain_path() {
	local path
	path=$(readlink -f "$1")
	if [[ $path == *[[:blank:]]* ]]; then
		mkdir -p "$BATS_RUN_TMPDIR/plain"
		ln -sf "$path" "$BATS_RUN_TMPDIR/plain/"
		path=$BATS_RUN_TMPDIR/plain/${path##*/}
	fi
	echo "$path"
}

helper_setup() {
	unset FAIRPAR_RUN FAIRPAR_BATCH FAIRPAR_JOB FAIRPAR_SEQ FAIRPAR_SLOT FAIRPAR_ATTEMPT FAIRPAR_SHELL FAIRPAR_PROGRESS FAIRPAR_FAULT FAIRPAR_COOKIE \
		FAIRPAR_SOCK FAIRPAR_CONTROL FAIRPAR_LEASE FAIRPAR_POOL FAIRPAR_MAKELEVEL CARGO_MAKEFLAGS \
		PARALLEL PARALLEL_SHELL PARALLEL_SEQ PARALLEL_JOBSLOT PARALLEL_PID MAKEFLAGS NO_COLOR
	FAIRPAR=${FAIRPAR:-$BATS_TEST_DIRNAME/../fairpar}
	[[ $FAIRPAR == /* && $FAIRPAR != *[[:blank:]]* && ! -L $FAIRPAR ]] || FAIRPAR=$(plain_path "$FAIRPAR")
	export FAIRPAR LC_ALL=C SHELL=/bin/sh TMPDIR=$BATS_TEST_TMPDIR/tmp PARALLEL_HOME=$BATS_TEST_TMPDIR/parallel FAIRPAR_POOL_DIR=$BATS_TEST_TMPDIR/pools
	export FAIRPAR_TEST=$BATS_TEST_TMPDIR # the mark by which leftover processes are found
	mkdir -p "$TMPDIR" "$BATS_TEST_TMPDIR/work"
	cd "$BATS_TEST_TMPDIR/work" || return
}

# bats looks only at the status of the last command here: set -e is off.
helper_teardown() {
	local leaks files
	leaks=$(leaked_processes)
	files=$(shopt -s nullglob dotglob; echo "$TMPDIR"/*)
	# ThreadSanitizer makes and removes these files as it starts
	[[ -z $files ]] || files=$(find "$TMPDIR" -mindepth 1 ! -name 'tsan.rodata.*')
	if [[ -n $leaks$files ]]; then
		fail "left behind:" "$leaks" "$files"
	fi
}

# Names and ends the processes with this test's mark. A process that has been sent a signal needs a moment to end, and is
# runnable meanwhile: so on a busy machine only a look at which all of the processes sleep counts.
leaked_processes() {
	local pids pid looks=0 tries mark=FAIRPAR_TEST=$FAIRPAR_TEST
	for ((tries = 0; looks < 50 && tries < 2000; tries++)); do
		pids=$(FAIRPAR_TEST='' grep -lszFx "$mark" /proc/[0-9]*/environ) || : # 2: a process has ended
		[[ -n $pids ]] || return 0
		# shellcheck disable=SC2086 # one word for each process
		grep -qs '^State:[[:blank:]]*[RDZX]' ${pids//environ/status} || looks=$((looks + 1))
		env -u FAIRPAR_TEST sleep 0.04
	done
	pids=${pids//[!0-9 $'\n']/}
	for pid in $pids; do # name all of them before ending any: others may end with it
		echo "$pid: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
		grep -hE '^(PPid|State):' "/proc/$pid/task/"*/status
	done 2>/dev/null
	# shellcheck disable=SC2086 # one word for each process
	kill -KILL $pids 2>/dev/null || :
}

fail() {
	printf '%s\n' "$@"
	return 1
}

# take_expected [STATUS | any] …: sets $expected to the status, and $taken to how many words named it (0 or 1).
take_expected() {
	expected=0 taken=0
	if [[ ${1-} =~ ^([0-9]+|any)$ ]]; then
		expected=$1 taken=1
	fi
}

run_fairpar() {
	local expected taken
	take_expected "$@"
	shift "$taken"
	echo "\$ fairpar $*"
	status=0
	timeout --foreground -k 5 "$patience" "$FAIRPAR" "$@" >"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" 3>&- || status=$?
	check_outcome
}

# A shell lets background processes ignore INT and QUIT, and fairpar would go on ignoring them.
start_fairpar() {
	echo "\$ fairpar $* &"
	: >"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" # so that a test that waits for words there finds none of an earlier run
	env --default-signal=INT,QUIT "$FAIRPAR" "$@" >"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" <&0 3>&- &
	fairpar_pid=$!
}

wait_for() {
	until "$@"; do
		kill -0 "$fairpar_pid" 2>/dev/null || "$@" || fail "fairpar has ended, and never: $*" || return
	done
}

end_fairpar() {
	local expected taken limit
	take_expected "$@"
	# Kills a fairpar that hangs. The watcher ends when its pipe is closed; a signal might reach it while bats' traps are still set.
	exec {limit}> >(
		exec >/dev/null 2>&1 3>&-
		read -rt "$patience"
		(($? <= 128)) || kill -KILL "$fairpar_pid"
	)
	status=0
	wait "$fairpar_pid" || status=$?
	exec {limit}>&-
	check_outcome
}

check_outcome() {
	{ output=$(<"$BATS_TEST_TMPDIR/stdout") stderr=$(<"$BATS_TEST_TMPDIR/stderr"); } 2>/dev/null # bash warns that it leaves NULs out
	mapfile -t lines <"$BATS_TEST_TMPDIR/stdout"
	printf '%s\n' "${output:0:20000}" "${stderr:0:20000}" # shown if the test fails
	if [[ $expected != any && $status != "$expected" ]]; then
		fail "the exit status is $status, not $expected"
	fi
}

assert_eq() {
	if [[ $1 != "$2" ]]; then
		fail "got (-), expected (+):" "$(diff -u <(printf '%s\n' "$1") <(printf '%s\n' "$2") | tail -n +4)"
	fi
}

assert_contains() {
	if [[ $1 != *"$2"* ]]; then
		fail "there is no '$2' in:" "$1"
	fi
}

assert_lines() {
	assert_eq "$output" "$(printf '%s\n' "$@")"
}

assert_set() {
	assert_eq "$(sort <<<"$output")" "$(printf '%s\n' "$@" | sort)"
}

# most_at_once FILE: the jobs write + at their start and - at their end to the file; prints how many of them ran at once at most.
most_at_once() {
	awk '/\+/ { if (++n > most) most = n } /-/ { --n } END { print most + 0 }' "$1"
}

make_fifo() {
	mkfifo "$@"
}

# The limits here only end a test that has failed.
await() {
	# read again at an end of file without a line: the writer of the line before may not have closed the fifo yet
	line=$(timeout "$patience" sh -c 'until IFS= read -r line <"$1"; do :; done; printf "%s\n" "$line"' sh "$1") || fail "nothing came from $1"
}

release() {
	timeout "$patience" tee "$1" <<<"${2-}" >/dev/null || fail "nobody read from $1"
}

# Prints the number of a user who has no process on this machine, not even one of a test that runs beside this one in another root.
lone_user() {
	echo $((100000 + (RANDOM << 15 | RANDOM)))
}

long_or() {
	if [[ ${LONG_TESTS-} ]]; then echo "$1"; else echo "$2"; fi
}

# The tests have the expected output themselves, so GNU parallel need not be run each time.
parallel_too() {
	[[ ${LONG_TESTS-} ]] && command -v parallel >/dev/null
}

need() {
	command -v "$1" >/dev/null || skip "$1 is not installed"
	case $1 in script | tmux) need_terminal ;; esac
}

# A container may be without /dev/pts.
need_terminal() {
	{ : <>/dev/ptmx; } 2>/dev/null || skip "there are no pseudo-terminals"
}

# LeakSanitizer does not work under ptrace.
traced() {
	ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 strace "$@"
}

# limit_memory KIB: limits the address space; not with a sanitizer, which reserves terabytes.
limit_memory() {
	case ${FAIRPAR_PROFILE-release} in release | debug) ulimit -v "$1" ;; esac
}

use_faults() {
	case ${FAIRPAR_PROFILE-release} in
	release)
		FAIRPAR=$(plain_path "${FAIRPAR_FAULTY:-$BATS_TEST_DIRNAME/../obj/debug/fairpar}")
		[[ -x $FAIRPAR ]] || skip "needs obj/debug/fairpar (make debug)"
		;;
	esac
}

# on_terminal COMMAND …: runs COMMAND on a terminal of its own, with the dialogue in the file `talk`: a line is a pattern to wait
# for, a tab, and the text to type then (\n, \x03). The output goes to $output, the exit status to $status.
on_terminal() {
	need python3
	need_terminal
	cat >"$BATS_TEST_TMPDIR/terminal.py" <<'PY'
import codecs, os, pty, select, sys, time
patience = float(sys.argv.pop(1))
steps = [line.rstrip('\n').split('\t') for line in open('talk')]
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
seen, mark, deadline = b'', 0, time.monotonic() + patience
while time.monotonic() < deadline:
    while steps and steps[0][0].encode() in seen[mark:]:
        mark = seen.index(steps[0][0].encode(), mark) + len(steps[0][0])
        os.write(fd, codecs.decode(steps.pop(0)[1], 'unicode_escape').encode())
    if not select.select([fd], [], [], 1)[0]:
        continue
    try:
        data = os.read(fd, 4096)
    except OSError:
        break
    if not data:
        break
    seen += data
else:
    os.kill(pid, 9)
sys.stdout.write(seen.decode().replace('\r\n', '\n'))
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.exit(status if status >= 0 else 128 - status)
PY
	status=0
	output=$(timeout "$patience" python3 "$BATS_TEST_TMPDIR/terminal.py" "$patience" "$@" </dev/null 3>&-) || status=$?
	echo "$output"
}
