# Ctrl-C and its kin: what is told, what is ended, and by what fairpar then dies.

load helper

# A job that says it runs, and would run for ever.
forever='echo $$ >started{}; while :; do sleep 1000; done #'

# has_taken SIGNAL: it is no longer pending, or fairpar has ended.
has_taken() {
	local pending
	pending=$(sed -n 's/^ShdPnd:[[:blank:]]*//p' "/proc/$fairpar_pid/status" 2>/dev/null) || :
	((!(0x${pending:-0} & 1 << ($(kill -l "$1") - 1))))
}

interrupted_by() {
	make_fifo started1 started2
	start_fairpar -j2 "$forever" ::: 1 2 3
	await started1; await started2
	kill -"$1" "$fairpar_pid"
	end_fairpar "$2"
}

@test "SIGINT ends the running jobs, starts nothing more, and is what fairpar dies by" {
	interrupted_by INT 130
}

@test "SIGTERM does so too" {
	interrupted_by TERM 143
}

@test "SIGHUP does so too" {
	interrupted_by HUP 129
}

@test "fairpar tells that it stops, and how to be quicker" {
	interrupted_by INT 130
	assert_contains "$stderr" "stopping"
}

@test "the summary names the jobs that a signal has cut off beside those that never started" {
	make_fifo started1 started2
	start_fairpar -j2 --summary=always "$forever" ::: 1 2 3
	await started1; await started2
	kill -INT "$fairpar_pid"
	end_fairpar 130
	assert_contains "$stderr" '  CANCELLED default: 2 jobs: cut off while running'
	assert_contains "$stderr" '  CANCELLED default: 1 job: SIGINT'
}

# stopped_by SIGNAL SENT …: two jobs run when fairpar is told SENT, each so often as it stands there; both end by themselves.
stopped_by() {
	rm -f started1 started2 go1 go2 log
	make_fifo started1 started2 go1 go2
	start_fairpar -k -j2 --stop-signal "$1" --summary=always --joblog log 'echo >started{}; read -r _ <go{}; echo ended {} #' ::: 1 2 3 4 5
	await started1; await started2
	for signal in "${@:2}"; do
		kill -"$signal" "$fairpar_pid"
	done
	wait_for grep -q 'stopping: no more jobs start' "$BATS_TEST_TMPDIR/stderr"
	release go1; release go2
	end_fairpar 1
	assert_lines "ended 1" "ended 2"
	assert_contains "$stderr" '  CANCELLED default: 3 jobs: SIG'
}

@test "--stop-signal: running jobs end by themselves, no more start, and --resume goes on" {
	stopped_by USR1 USR1
	assert_contains "$stderr" '3 jobs: SIGUSR1'
	rm started* go*
	touch go{3,4,5}
	run_fairpar --resume --joblog log -j1 'echo >started{}; read -r _ <go{}; echo ended {} #' ::: 1 2 3 4 5
	assert_lines "ended 3" "ended 4" "ended 5"
	for signal in HUP INT SIGTERM quit usr2 24; do # 24 is XCPU, but on a few machines
		stopped_by "$signal" "${signal#SIG}"
	done
}

@test "--stop-signal: the signal ends nothing, however often it comes; another one does" {
	stopped_by TERM TERM TERM TERM
	make_fifo begun
	start_fairpar -j1 --stop-signal HUP 'echo >begun; exec sleep 1000 #' ::: 1 2
	await begun
	kill -HUP "$fairpar_pid"
	wait_for grep -q 'stopping: no more jobs start' "$BATS_TEST_TMPDIR/stderr"
	kill -INT "$fairpar_pid"
	end_fairpar 130
}

@test "--stop-signal: a job that fails is not tried again, and its on-failure command runs" {
	make_fifo started go
	start_fairpar -j1 --retries 3 --on-failure 'echo failed {} $FAIRPAR_EXIT $FAIRPAR_ATTEMPT' --stop-signal USR1 'echo >started; read -r _ <go; exit 3 #' ::: 1 2
	await started
	kill -USR1 "$fairpar_pid"
	wait_for grep -q 'stopping: no more jobs start' "$BATS_TEST_TMPDIR/stderr"
	release go
	end_fairpar 1
	assert_lines "failed 1 3 1"
}

@test "--stop-signal: input that was not read to its end makes the run fail, and is told" {
	need jq
	make_fifo started go input
	exec 5<>input
	echo 1 >&5
	start_fairpar -j1 --stop-signal USR1 --log log 'echo >started; read -r _ <go; true #' <input 5>&-
	await started
	kill -USR1 "$fairpar_pid"
	wait_for grep -q 'stopping: no more jobs start' "$BATS_TEST_TMPDIR/stderr"
	release go
	end_fairpar 1
	exec 5>&-
	assert_contains "$stderr" 'fairpar: the rest of the input was not read'
	assert_eq "$(tail -n 1 log | jq -c '[.ok, .cancelled, .unread, .exit]')" '[1,0,true,1]'
	# what was read ahead is only a part of what is cancelled
	start_fairpar -j1 --stop-signal USR1 --summary=always 'echo >started; read -r _ <go; true #' < <(seq 100000)
	await started
	kill -USR1 "$fairpar_pid"
	wait_for grep -q 'stopping: no more jobs start' "$BATS_TEST_TMPDIR/stderr"
	release go
	end_fairpar 1
	assert_contains "$stderr" ' cancelled, the rest of the input not read; '
	assert_contains "$stderr" ' cancelled; the rest of the input was not read'
}

@test "--stop-signal: data of --pipe that no job got makes the run fail, and is told" {
	local how
	for how in '' --round-robin; do
		make_fifo started go input
		exec 5<>input
		echo 1 >&5
		start_fairpar -j1 --stop-signal USR1 --pipe $how --block 2 'echo >started; read -r _ <go; cat' <input 5>&-
		await started
		printf 'half a line' >&5
		kill -USR1 "$fairpar_pid"
		wait_for grep -q 'stopping: no more jobs start' "$BATS_TEST_TMPDIR/stderr"
		release go
		end_fairpar 1
		exec 5>&-
		rm started go input
		assert_lines 1
		assert_contains "$stderr" 'fairpar: the rest of the input was not read'
	done
}

@test "--stop-signal and --halt soon: the steps of a running job are done, too" {
	make_fifo started go
	cat >m.yaml <<-'EOF'
		version: 1
		batches:
		  a: {run: "echo >started; read -r _ <go; echo one", then: ["echo two", "test two = three", "echo four"], retries: 3}
	EOF
	start_fairpar --stop-signal USR1 -f m.yaml
	await started
	kill -USR1 "$fairpar_pid"
	wait_for grep -q 'stopping: no more jobs start' "$BATS_TEST_TMPDIR/stderr"
	release go
	end_fairpar 1
	assert_lines one two
	assert_contains "$stderr" '1 of 1 jobs failed: a#1 (exit 1)'
	sed -i 's/"test .*/"echo three"]}/' m.yaml
	echo '  b: {args: [1, 2], max_parallel: 1, run: "read -r _ <started; exit {}"}' >>m.yaml
	start_fairpar -j2 --halt soon,fail=1 --log log -f m.yaml
	wait_for grep -q '"ev":"lost"' log # the other job of b
	release go
	end_fairpar 1
	assert_lines one two three
	assert_contains "$stderr" '1 of 3 jobs failed: b#1 (exit 1); 1 cancelled'
}

@test "--stop-signal: when nothing is left to start, the status is that of the jobs" {
	make_fifo started go
	start_fairpar --quiet -j2 --stop-signal USR1 'echo >started; read -r _ <go; true {}' ::: 1
	await started
	kill -USR1 "$fairpar_pid"
	release go
	end_fairpar
	assert_eq "$stderr" ""
}

@test "--stop-signal is answered although nohup has made it ignored, and jobs have it as fairpar got it" {
	need awk
	make_fifo started go
	trap '' HUP
	env --default-signal=INT,QUIT "$FAIRPAR" -j1 --stop-signal HUP 'awk "/^Sig(Ign|Blk)/ { print substr(\$2, 10) }" /proc/self/status >as; echo >started; read -r _ <go; : {}' ::: 1 2 2>err 3>&- &
	fairpar_pid=$!
	env --default-signal=INT,QUIT awk '/^Sig(Ign|Blk)/ { print substr($2, 10) }' /proc/self/status >expected # without those that the C library keeps to itself
	trap - HUP
	await started
	kill -HUP "$fairpar_pid"
	wait_for grep -q 'stopping: no more jobs start' err
	release go
	wait "$fairpar_pid" || assert_eq "$?" 1
	assert_eq "$(cat as)" "$(cat expected)"
}

@test "--stop-signal: what waits for a slot of a pool, or for its next attempt, does not wait longer" {
	make_fifo held go
	"$FAIRPAR" --pool=one --pool-slots 1 --single sh -c 'echo >held; read -r _ <go' 3>&- &
	local holder=$!
	await held
	start_fairpar --pool=one --stop-signal USR1 --log log echo ::: 1 2
	wait_for grep -q '"ev":"batch_start"' log
	kill -USR1 "$fairpar_pid"
	end_fairpar 1
	release go
	wait "$holder"
	start_fairpar --stop-signal USR1 --retries 2 --retry-delay 1h --log log false ::: 1
	wait_for grep -q '"ev":"wait"' log
	kill -USR1 "$fairpar_pid"
	end_fairpar 1
}

@test "a signal that was ignored at the start stays ignored" {
	make_fifo started go
	trap '' HUP
	"$FAIRPAR" 'echo >started; read -r _ <go; echo ended #' ::: 1 >out &
	trap - HUP
	fairpar_pid=$!
	await started
	kill -HUP "$fairpar_pid"
	release go
	wait "$fairpar_pid"
	assert_eq "$(cat out)" ended
}

@test "jobs that trap TERM are killed in the end" {
	make_fifo started
	start_fairpar --term-seq TERM,50,KILL 'trap "" TERM; echo >started; while :; do sleep 1000; done #' ::: 1
	await started
	kill -TERM "$fairpar_pid"
	end_fairpar 143
}

@test "a second signal kills at once" {
	make_fifo started trapped
	start_fairpar --term-seq TERM,100000,KILL 'trap "echo >trapped" TERM; echo >started; while :; do sleep 1000 & wait; done #' ::: 1
	await started
	kill -INT "$fairpar_pid"
	await trapped
	kill -INT "$fairpar_pid"
	end_fairpar 130
}

@test "fairpar can be ended while its reader does not read" {
	mkfifo pipe
	exec 5<>pipe # a reader that never reads
	head -c 1000000 /dev/zero >big
	env --default-signal=INT "$FAIRPAR" -j1 'cat {}; : >done{#}' ::: big big >pipe 5>&- 3>&- &
	local pid=$! status=0
	until [[ -e done1 ]]; do :; done # and its output cannot have been written
	while kill -INT "$pid" 2>/dev/null; do sleep 0.01; done
	wait "$pid" || status=$?
	assert_eq "$status" 130
}

@test "two signals at once: what was cancelled is counted all the same" {
	make_fifo started1 started2
	for second in INT TERM HUP; do
		for _ in {1..5}; do
			start_fairpar -j2 "$forever" ::: 1 2 3
			await started1; await started2
			sh -c 'kill -INT "$1"; kill -"$2" "$1"' _ "$fairpar_pid" "$second" 2>/dev/null || : # the second may come too late
			end_fairpar any
			((status == 130 || status == 128 + $(kill -l "$second"))) || fail "status $status"
			assert_contains "$stderr" 'fairpar: jobs: 3 cancelled'
		done
	done
}

@test "a second signal that comes when all jobs have ended does not take the end of what is told" {
	local try
	make_fifo started r.svg
	for try in {1..20}; do # on a busy machine the reader may come too late: then another try
		start_fairpar --log "log$try" --report r.svg 'echo >started; while :; do sleep 1000; done #' ::: 1
		await started
		kill -INT "$fairpar_pid"
		wait_for grep -qs '"ev":"run_end"' "log$try" # now it waits for who reads the picture
		kill -TERM "$fairpar_pid" || :
		exec 5<>r.svg
		end_fairpar any
		[[ $stderr == *'nobody reads it'* ]] || break
		exec 5>&-
	done
	assert_eq "$status" 130
	timeout "$patience" grep -q '</svg>' <&5
	exec 5>&-
	assert_contains "$stderr" 'fairpar: jobs: 1 cancelled'
}

@test "a third signal takes the end of what is told from a reader who never comes" {
	[[ ${FAIRPAR_PROFILE-} != tsan ]] || skip "ThreadSanitizer runs no handler while open(2) waits"
	local try
	make_fifo started r.svg
	for try in {1..20}; do # on a busy machine the third one may come when the time for the reader is over: then another try
		start_fairpar --log "log$try" --report r.svg 'echo >started; while :; do sleep 1000; done #' ::: 1
		await started
		kill -INT "$fairpar_pid"
		wait_for grep -qs '"ev":"run_end"' "log$try"
		while kill -TERM "$fairpar_pid" 2>/dev/null; do :; done
		end_fairpar any
		[[ $stderr == *'nobody reads it'* ]] || break
	done
	assert_eq "$status" 143
}

@test "a job gets the time to clean up after TERM" {
	make_fifo started
	start_fairpar --term-seq TERM,200,TERM,60000,KILL 'trap "echo cleaned; exit 0" TERM; echo >started; while :; do sleep 1000 & wait; done #' ::: 1
	await started
	kill -TERM "$fairpar_pid"
	end_fairpar 143
	assert_eq "$output" cleaned
}

@test "grandchildren are ended with the group" {
	make_fifo started
	start_fairpar 'sh -c "echo >started; sleep 1000; :"; :' ::: 1
	await started
	kill -TERM "$fairpar_pid"
	end_fairpar 143
}

@test "what left the group by setsid is ended too" {
	need setsid
	make_fifo started
	start_fairpar 'setsid -w sh -c "echo >started; sleep 1000; :"; :' ::: 1
	await started
	kill -TERM "$fairpar_pid"
	end_fairpar 143
}

@test "kill -9 of fairpar leaves no job" {
	make_fifo started1 started2
	start_fairpar -j2 'sh -c "echo >started{}; sleep 1000; :"; :' ::: 1 2
	await started1; await started2
	kill -KILL "$fairpar_pid"
	end_fairpar 137 # the teardown looks for what is left
}

@test "SIGUSR1 lists the running jobs" {
	make_fifo started go
	start_fairpar -j1 'echo >started; read -r _ <go; : {}' ::: needle
	await started
	kill -USR1 "$fairpar_pid"
	wait_for grep -q needle "$BATS_TEST_TMPDIR/stderr"
	release go
	end_fairpar
	assert_contains "$stderr" "running for"
}

@test "SIGUSR1 lists a job that runs before fairpar knows" {
	need strace
	make_fifo started go
	traced -f -qq -o /dev/null -e trace=clone,clone3,vfork -e inject=clone,clone3,vfork:delay_exit=500000 "$FAIRPAR" -j1 \
		'echo $PPID >started; read -r _ <go; : {}' ::: needle >"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" 3>&- &
	fairpar_pid=$!
	await started
	kill -USR1 "$line"
	wait_for grep -q needle "$BATS_TEST_TMPDIR/stderr"
	release go
	end_fairpar
}

@test "SIGTSTP stops the jobs and fairpar, SIGCONT lets both go on" {
	make_fifo started
	mkfifo go
	start_fairpar -j1 'echo $$ >started; read -r _ <go; echo ended #' ::: 1
	await started
	kill -TSTP "$fairpar_pid"
	until [[ $(ps -o stat= -p "$fairpar_pid") == T* && $(ps -o stat= -p "$line") == T* ]]; do :; done
	kill -CONT "$fairpar_pid"
	release go
	end_fairpar
	assert_lines ended
}

@test "the time in which fairpar is stopped does not count for --timeout" {
	local seconds since
	for seconds in 3 9 27; do # on a busy machine the time in which it is not stopped may be too long: then another try
		make_fifo "go$seconds"
		exec 5<>"go$seconds"
		start_fairpar -j1 --log "log$seconds" --timeout "$seconds" 'read -r _ <go{}; echo ended' ::: "$seconds" 5>&-
		wait_for grep -qs '"ev":"job_start"' "log$seconds"
		since=$(date +%s%N)
		kill -TSTP "$fairpar_pid" || :
		until [[ $(ps -o stat= -p "$fairpar_pid") == T* ]] || ! kill -0 "$fairpar_pid"; do :; done
		until (($(date +%s%N) > since + seconds * 1000000000)); do :; done
		kill -CONT "$fairpar_pid" || :
		echo >&5
		end_fairpar any
		exec 5>&-
		[[ $output != ended ]] || break
	done
	assert_eq "$status $output" '0 ended'
}

@test "SIGTSTP stops no job where the kernel would not stop fairpar: in an orphaned process group" {
	need setsid
	make_fifo started go
	setsid "$FAIRPAR" -j1 'trap "echo continued" CONT; echo >started; read -r _ <go; echo ended #' ::: 1 >out 2>err 3>&- &
	fairpar_pid=$!
	await started
	kill -TSTP "$fairpar_pid"
	wait_for has_taken TSTP
	kill -USR1 "$fairpar_pid"
	wait_for grep -q 'running for' err
	release go
	wait "$fairpar_pid"
	assert_eq "$(cat out)" ended
}

@test "| head ends the run without a word" {
	yes 0123456789 | head -n 100000 >big
	run bash -c 'set -o pipefail; "$1" -j2 "cat big; :" ::: $(seq 50) 2>err | head -n 1' _ "$FAIRPAR"
	assert_eq "$status" 141
	assert_eq "$output" 0123456789
	assert_eq "$(cat err)" ""
}

@test "SIGUSR2 is harmless, as it is for GNU parallel" {
	run_fairpar 'kill -USR2 $PARALLEL_PID; echo {} #' ::: 1
	assert_lines 1
}

@test "SIGUSR1 and SIGUSR2 in the first moments end nothing" {
	need strace
	for signal in USR1 USR2; do
		# fcntl() is among the first calls of main(), and the C library's start has none
		traced -f -qq -o /dev/null -e trace=fcntl -e inject=fcntl:signal=SIG$signal:when=1 "$FAIRPAR" echo ::: 1 >out 2>err
		assert_eq "$(cat out)" 1
	done
	traced -f -qq -o /dev/null -e trace=fcntl -e inject=fcntl:signal=SIGUSR1:when=1 "$FAIRPAR" --xargs -a <(echo 1) echo >out 2>err
	assert_eq "$(cat out)" 1
}

# fill FIFO: so that it takes no byte more; somebody has it open for reading.
fill() {
	while head -c 4096 /dev/zero | dd of="$1" bs=4096 iflag=fullblock oflag=nonblock conv=notrunc 2>dd; do :; done
}

# unread SIGNALS ARGUMENT …: sends SIGTERM so often while nobody reads a full stdout, and waits for the end. The job names by
# `started` a process that sleeps once nothing takes what it writes, or 0.
unread() {
	mkfifo unread
	exec 5<>unread
	make_fifo started
	env "$FAIRPAR" --log log -j1 "${@:2}" >unread 2>err 5>&- 3>&- &
	fairpar_pid=$! status=0
	await started
	fill unread
	until [[ $line == 0 || $(ps -o stat= -p "$line") == S* ]]; do :; done
	kill -TERM "$fairpar_pid"
	for ((i = 1; i < $1; i++)); do
		until grep -q stopping err || ! kill -0 "$fairpar_pid"; do :; done # which is not said when all jobs have ended
		kill -TERM "$fairpar_pid" || :
	done
	wait "$fairpar_pid" || status=$?
	exec 5>&-
	cat err
	assert_eq "$status" 143
	[[ $(cat err) =~ 'output was not written: nobody reads standard output: '[1-9][0-9]*' bytes are lost' ]]
	assert_contains "$(cat err)" 'ended by SIGTERM'
	assert_contains "$(tail -n 1 log)" '"ev":"run_end"'
}

@test "SIGTERM ends a run whose output nobody reads" {
	unread 1 --summary=always 'head -c 1000000 /dev/zero; echo 0 >started; : {}' ::: 1 2
}

@test "SIGTERM twice does so too, while a job's output goes through at once" {
	unread 2 --summary=always --line-buffer 'yes & echo $! >started; wait; : {}' ::: 1
}

# stop_twice: SIGTERM, and once it is answered again, which leaves a reader a second.
stop_twice() {
	kill -TERM "$fairpar_pid"
	until grep -q stopping "$BATS_TEST_TMPDIR/stderr" || ! kill -0 "$fairpar_pid"; do :; done
	kill -TERM "$fairpar_pid" 2>/dev/null || : # it may have ended
	end_fairpar 143
}

@test "SIGTERM ends a run whose pictures nobody reads, and says so" {
	make_fifo started r.svg
	for option in --report --trace; do
		start_fairpar "$option" r.svg 'echo >started; sleep 1000 #' ::: 1
		await started
		stop_twice
		assert_contains "$stderr" "cannot write 'r.svg': nobody reads it"
		assert_contains "$stderr" 'fairpar: jobs: 1 cancelled'
	done
}

@test "SIGTERM ends a run whose picture somebody has opened and does not read" {
	make_fifo started r.html
	exec 5<>r.html
	fill r.html
	start_fairpar --report r.html 'echo >started; sleep 1000 #' ::: 1 5>&-
	await started
	stop_twice
	exec 5<&-
	assert_contains "$stderr" "cannot write 'r.html': nobody reads it"
}

@test "SIGTERM ends a run whose joblog nobody reads, and says how many rows are lost" {
	make_fifo started rows go
	exec 5<>rows
	start_fairpar --log log --joblog rows 'echo $$ >started; read -r _ <go #' ::: 1 5>&-
	await started
	fill rows
	release go
	while kill -0 "$line" 2>/dev/null; do :; done
	stop_twice
	exec 5<&-
	assert_contains "$stderr" "the joblog 'rows' was not written to its end: nobody reads it: 1 row is lost"
	assert_contains "$(tail -n 1 log)" '"ev":"run_end"'
}

@test "SIGTERM ends a run whose log nobody reads, and says how much of it is lost" {
	make_fifo started log
	exec 5<>log
	fill log
	start_fairpar --log log 'echo >started; sleep 1000 #' ::: 1 5>&-
	await started
	stop_twice
	exec 5<&-
	[[ $stderr =~ "the log 'log' ends before the run: its reader has stopped reading: "[1-9]' lines are lost, run_end among them' ]]
	assert_contains "$stderr" 'fairpar: jobs: 1 cancelled'
}

# full FD ARGUMENT …: starts fairpar with that descriptor on a pipe that takes nothing.
full() {
	[[ -p full ]] || mkfifo full
	exec 5<>full
	fill full
	local -a run=(env "$FAIRPAR" --log log "${@:2}")
	touch "$BATS_TEST_TMPDIR"/std{out,err}
	if (($1 == 1)); then
		"${run[@]}" >full 2>"$BATS_TEST_TMPDIR/stderr" 5>&- 3>&- &
	else
		"${run[@]}" >"$BATS_TEST_TMPDIR/stdout" 2>full 5>&- 3>&- &
	fi
	fairpar_pid=$!
}

@test "SIGTERM ends the jobs, and then the run, while nobody reads a full stderr" {
	make_fifo started
	full 2 'echo >started; sleep 1000 #' ::: 1
	await started
	kill -TERM "$fairpar_pid"
	end_fairpar 143
	assert_contains "$(tail -n 1 log)" '"ev":"run_end"'
}

@test "SIGTERM ends a run that has no job left, but output that nobody reads" {
	full 1 echo ::: 1
	wait_for grep -qs '"ev":"batch_end"' log
	kill -TERM "$fairpar_pid"
	end_fairpar 143
	assert_contains "$stderr" 'nobody reads standard output: 2 bytes are lost'
	[[ $(tail -n 1 log) == *'"ev":"run_end"'*'"signal":15'* ]] || fail "$(tail -n 1 log)"
}

@test "SIGTERM ends a run whose summary nobody reads" {
	full 2 --summary=always echo ::: 1
	wait_for grep -qs '"ev":"run_end"' log
	kill -TERM "$fairpar_pid"
	end_fairpar 0 # as the log has it, for all was done
	[[ $(tail -n 1 log) == *'"exit":0,'* ]] || fail "$(tail -n 1 log)"
}


@test "SIGTERM twice gives a reader who does not read a second, and says what was not written, when no job is left, too" {
	full 1 echo ::: 1
	wait_for grep -qs '"ev":"batch_end"' log
	kill -TERM "$fairpar_pid"
	wait_for has_taken TERM
	kill -TERM "$fairpar_pid" || : # it ends by itself after some seconds
	end_fairpar 143
	assert_contains "$stderr" 'nobody reads standard output: 2 bytes are lost'
	[[ $(tail -n 1 log) == *'"ev":"run_end"'*'"signal":15'* ]] || fail "$(tail -n 1 log)"
}

@test "SIGTERM ends a run whose terminal was stopped, as by Ctrl-S" {
	need python3
	need_terminal
	make_fifo started go
	status=0
	timeout "$patience" python3 - "$FAIRPAR" 3>&- <<'PY' || status=$?
import fcntl, os, pty, signal, sys, termios
master, terminal = pty.openpty()
pid = os.fork()
if pid == 0:
    os.setsid()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    os.dup2(terminal, 1)
    os.dup2(terminal, 2)
    os.execv(sys.argv[1], [sys.argv[1], 'echo >started; read -r _ <go; seq 10000 #', ':::', '1'])
open('started').read()
termios.tcflow(terminal, termios.TCOOFF)
open('go', 'w').write('\n')
os.kill(pid, signal.SIGTERM)
sys.exit(os.WTERMSIG(os.waitpid(pid, 0)[1]))
PY
	assert_eq "$status" 15
}

@test "SIGTERM ends xargs, whose -t nobody reads, as it ends GNU xargs" {
	mkfifo full
	exec 5<>full
	fill full
	env "$FAIRPAR" --xargs -n1 -t true <<<"1 2" 2>full 5>&- 3>&- &
	fairpar_pid=$!
	# a worker waits, and the thread that reads
	until [[ $(ps -L -o stat= -p "$fairpar_pid") =~ ^S[^R]*S[^R]*$ ]]; do :; done
	kill -TERM "$fairpar_pid"
	touch "$BATS_TEST_TMPDIR"/std{out,err}
	end_fairpar 143
}

@test "a signal to fairpar's process group does not kill a job that is just leaving it" {
	need strace
	for signal in INT TERM HUP QUIT; do
		# the child is in the group of fairpar until setpgid
		traced -f -qq -o /dev/null -e trace=setpgid -e inject=setpgid:signal=SIG$signal:when=1 "$FAIRPAR" --joblog rows 'echo {}; true' ::: 1 >out 2>err ||
			fail "$signal: $(cat err rows)"
		assert_eq "$(cat out)" 1
	done
}
