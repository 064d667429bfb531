# When jobs start, and which make room: load, memory, swapping, --delay auto, --timeout N%, a number of jobs that changes.

load helper

# Files in place of those of /proc, each replaced at once: nobody reads half of one.
put() {
	cat >"$1.new"
	mv "$1.new" "$1"
}

set_load() {
	printf 'cpu 1 2 3\nprocs_running %d\nprocs_blocked %d\n' "$(($1 + 1))" "${2-0}" | put root/proc/stat
}

meminfo() { printf 'MemTotal: 1000 kB\nMemAvailable: %d kB\n' "$1"; }

set_free() {
	meminfo "$1" | put root/proc/meminfo
}

# free_once ONCE LATER: fairpar reads ONCE one time, and LATER from then on. Returns when fairpar reads it
free_once() {
	meminfo "$2" >later
	mkfifo once
	ln once root/proc/meminfo.new
	mv root/proc/meminfo.new root/proc/meminfo
	meminfo "$1" | timeout "$patience" sh -c 'exec >once; mv later root/proc/meminfo; cat' || fail 'nobody reads the free memory'
}

set_swapped() {
	printf 'pgpgin 1\npswpin %d\npswpout %d\n' "$1" "$2" | put root/proc/vmstat
}

fake_proc() {
	use_faults
	mkdir -p root/proc
	export FAIRPAR_ROOT=$PWD/root
	set_load 0
	set_free 1000
	set_swapped 0 0
}

# await_text FILE TEXT: until the file has it
await_text() {
	await_true grep -qF -e "$2" "$1"
}

stopped() {
	[[ $(awk '/^State:/ { print $2 }' "/proc/$1/status") == T ]]
}

# await_true COMMAND …: what nobody tells of; the limit only ends a test that has failed
await_true() {
	local tries
	for ((tries = 0; tries < 100 * patience; tries++)); do
		! "$@" || return 0
		env sleep 0.01
	done
	fail "it did not come true: $*"
}

running() { ! stopped "$1"; }

# one_by_one OPTION … COMMAND: jobs 1 and 2, each of which writes to its started{}, the second behind the first
one_by_one() {
	make_fifo started1 started2 next
	start_fairpar -j2 "$@" < <(echo 1; read -r _ <next; echo 2)
	await started1; old=$line
	release next
	await started2; young=$line
}

# ---- --load ----

@test "--load: nothing starts while the load is not below it, and a message says once what is waited for" {
	fake_proc
	set_load 3 2
	start_fairpar -j2 --load 5 'echo {} >>ran; echo {}' ::: 1 2
	await_text "$BATS_TEST_TMPDIR/stderr" 'waiting: the load is 5, and --load lets jobs start below 5'
	[[ ! -e ran ]]
	set_load 4
	end_fairpar
	assert_set 1 2
	assert_eq "$(grep -c waiting <<<"$stderr")" 1
}

@test "--load: a job that waits starts when another has ended, without a timer" {
	fake_proc
	make_fifo started1 go1 started2
	start_fairpar -j2 --load 1 'echo >started{}; [ {} = 2 ] || read -r _ <go{} #' ::: 1 2
	await started1
	set_load 1
	release go1
	set_load 0
	await started2
	end_fairpar # which has said that it waits, if the machine was slow
}

@test "--load takes percentages and files, and reads a file again that has changed" {
	fake_proc
	set_load 7
	echo 7 >max
	start_fairpar -j1 --load max 'echo {}' ::: 1
	await_text "$BATS_TEST_TMPDIR/stderr" 'lets jobs start below 7'
	echo 7.5 >max
	end_fairpar
	assert_lines 1
	set_load 0
	run_fairpar --load 100% echo ::: 1
	assert_lines 1
	run_fairpar 255 --load high echo ::: 1
	assert_contains "$stderr" '--load must be N, +N, -N, N% or the name of a file'
}

@test "Ctrl-C ends a run that waits" {
	fake_proc
	set_load 9
	start_fairpar -j2 --load 1 'echo ran' ::: 1 2 3
	await_text "$BATS_TEST_TMPDIR/stderr" waiting
	kill -INT "$fairpar_pid"
	end_fairpar 130
	assert_eq "$output" ''
}

@test "without figures jobs do not wait, and that is said once" {
	fake_proc
	echo nothing >root/proc/stat
	run_fairpar --load 1 echo ::: 1 2
	assert_set 1 2
	assert_eq "$(grep -c 'has no number for this check' <<<"$stderr")" 1
}

@test "the real figures will do" {
	run_fairpar --load 100000 --memfree 1k --memsuspend 1k --noswap -k echo ::: 1 2 3
	assert_lines 1 2 3
}

# ---- memory ----

@test "--memfree: nothing starts below it" {
	fake_proc
	set_free 99
	start_fairpar -j2 --memfree 100K 'echo {}' ::: 1
	await_text "$BATS_TEST_TMPDIR/stderr" 'waiting: 99K of memory are available, and --memfree asks for 100K'
	set_free 100
	end_fairpar
	assert_lines 1
}

@test "--memfree: below half of it the youngest is ended, and tried again with --retries" {
	fake_proc
	make_fifo go1 go2
	one_by_one --memfree 100K --retries 2 'echo >started{}; read -r _ <go{}; echo {} $FAIRPAR_ATTEMPT #'
	free_once 49 100 # of a second reading below half the job that is left would be the youngest
	await_text "$BATS_TEST_TMPDIR/stderr" 'ending the youngest job, #2'
	await started2
	release go1; release go2
	end_fairpar
	assert_set '1 1' '2 2'
}

@test "--memfree: without --retries the youngest has failed" {
	fake_proc
	make_fifo go1 go2
	one_by_one --memfree 100K 'echo >started{}; read -r _ <go{}; echo {} #'
	free_once 10 100
	await_text "$BATS_TEST_TMPDIR/stderr" 'ending the youngest job, #2'
	release go1
	end_fairpar 1
	assert_lines 1
	assert_contains "$stderr" 'FAILED #2: signal 15 (TERM), out of memory'
}

@test "--memfree: the youngest gets the whole of --term-seq" {
	fake_proc
	make_fifo started
	start_fairpar -j1 --memfree 100K --term-seq TERM,10,KILL 'trap "" TERM; echo >started; while :; do sleep 1000; done #' ::: 1
	await started
	set_free 10
	end_fairpar 1
	assert_contains "$stderr" 'signal 9 (KILL), out of memory'
}

@test "--memsuspend: the young stop while there is little, and go on when there is more" {
	fake_proc
	make_fifo go1 go2
	one_by_one --memsuspend 100K 'echo $$ >started{}; read -r _ <go{}; echo {} #'
	set_free 99
	await_true stopped "$young"
	running "$old"
	set_free 200
	await_true running "$young"
	release go1; release go2
	end_fairpar
	assert_set 1 2
}

@test "--memsuspend: a stopped job goes on when the running one has ended" {
	fake_proc
	make_fifo go1 go2
	one_by_one --memsuspend 100K 'echo $$ >started{}; read -r _ <go{}; echo {} #'
	set_free 99
	await_true stopped "$young"
	release go1
	await_true running "$young"
	release go2
	end_fairpar
	assert_set 1 2
}

@test "--memsuspend: a signal ends stopped jobs" {
	fake_proc
	one_by_one --memsuspend 100K 'echo $$ >started{}; while :; do sleep 1000; done #'
	set_free 1
	await_true stopped "$young"
	kill -TERM "$fairpar_pid"
	end_fairpar 143
}

# ---- swapping ----

@test "--noswap: nothing starts while pages go in and out" {
	fake_proc
	# the second job starts more than a second after the first reading: only then it knows
	make_fifo started1 go1 started2 go2
	start_fairpar -j1 --noswap 'echo >started{}; read -r _ <go{}; echo {} #' ::: 1 2
	await started1
	set_swapped 5 7
	env sleep 1.1
	release go1
	await_text "$BATS_TEST_TMPDIR/stderr" 'waiting: the machine is swapping (--noswap)'
	await started2
	release go2
	end_fairpar
	assert_lines 1 2
}

# ---- what jobs were seen to need ----

# fake_cgroup LIMIT: a cgroup in which jobs have what `eat` says
fake_cgroup() {
	need flock
	fake_proc
	printf "MemTotal: 16000000 kB\nMemAvailable: 8000000 kB\n" | put root/proc/meminfo
	mkdir -p root/proc/self root/group
	echo 0::/ >root/proc/self/cgroup
	echo "25 18 0:22 / /group rw - cgroup2 cgroup2 rw" >root/proc/self/mountinfo
	echo "$1" >root/group/memory.max
	echo 0 >root/group/memory.current
	cat >add <<-'END'
		read -r bytes <root/group/memory.current
		echo $((bytes + $1)) >>levels
		echo $((bytes + $1)) >new && mv new root/group/memory.current
		[ "$1" -lt 0 ] || echo >>came
		wc -l <came
	END
	# eat BYTES: has so much until the door opens, but the first one only for a moment
	cat >eat <<-'END'
		ulimit -v 100000
		number=$(flock lock sh add "$1")
		{ head -c "$1" /dev/zero; [ "$number" -eq 1 ] || read -r _ <door; } | tail -c "$1" >/dev/null
		flock lock sh add "-$1"
	END
	mkfifo door events
	exec 5<>door # what is written stays
	: >came
}

most() { sort -n levels | tail -n 1; }

# first_alone ITEM …: items for fairpar's stdin, those behind the first one when the FIFO `events` says that its job has ended, and what
# it needed is known. Opens the door when one of these waits for memory. The log is copied to run.jsonl
first_alone() {
	local line=''
	echo "$1"
	exec 6<events
	until [[ $line == *'"job_end"'* ]]; do
		IFS= read -r line <&6 || return
		echo "$line" >>run.jsonl
	done
	printf '%s\n' "${@:2}"
	exec >&-
	while IFS= read -r line <&6; do
		echo "$line" >>run.jsonl
		[[ $line != *'"wait"'*'"why":"memory"'* ]] || seq 99 >&5
	done
}

@test "--memory=auto: jobs of a third of the limit are never more at once than it holds" {
	need jq
	fake_cgroup 100000000
	run_fairpar --memory=auto -j8 --log events sh eat 30000000 '#' < <(first_alone {1..9})
	wait $!
	assert_eq "$(wc -l <came)" 9
	(($(most) >= 60000000 && $(most) <= 100000000)) || fail "$(cat levels)"
	assert_eq "$(jq -r 'select(.ev == "wait").why' run.jsonl | sort -u)" memory
	(($(jq 'select(.ev == "batch_end").memory' run.jsonl) > 30000000)) || fail "$(cat run.jsonl)"
}

@test "--memory=auto: a job that needs more than there is runs alone, and that is said" {
	fake_cgroup 20000000
	run_fairpar --memory=auto -j4 --log events sh eat 30000000 '#' < <(first_alone {1..3})
	wait $!
	assert_eq "$(wc -l <came)" 3
	assert_eq "$(most)" 30000000
	assert_contains "$stderr" 'such jobs run alone'
	[[ $stderr == *"needs "*", like other jobs of its batch, but all jobs together can have only 18.12M"* ]]
}

@test "--memory=auto: a job that the kernel has killed for want of memory is said to be out of memory, one that others killed is not" {
	fake_cgroup 100000000
	echo oom_kill 4 >root/group/memory.events
	run_fairpar 2 --memory=auto -j1 '[ {} = 2 ] || echo oom_kill 5 >root/group/memory.events; kill -KILL $$ #' ::: 1 2
	assert_contains "$stderr" 'FAILED #1: signal 9 (KILL), out of memory'
	assert_contains "$stderr" 'FAILED #2: signal 9 (KILL), '
	assert_eq "$(grep -c 'out of memory' <<<"$stderr")" 1
}

@test "SIGUSR1 tells how many jobs wait for the load, free memory or --delay" {
	local words
	fake_proc
	set_load 9
	set_free 10
	for words in '--load 1/the load is 9, and --load lets jobs start below 1' \
		'--memfree 1M/10K of memory are available, and --memfree asks for 1M'; do
		# shellcheck disable=SC2086 # the option and its value
		start_fairpar -j1 ${words%%/*} 'echo ran' ::: 1 2
		await_text "$BATS_TEST_TMPDIR/stderr" "waiting: ${words#*/}"
		kill -USR1 "$fairpar_pid"
		await_text "$BATS_TEST_TMPDIR/stderr" "fairpar: 2 jobs wait: ${words#*/}"
		kill -TERM "$fairpar_pid"
		end_fairpar 143
	done
	start_fairpar -j1 --load 1 'echo ran' < <(seq 100000)
	await_text "$BATS_TEST_TMPDIR/stderr" 'waiting: the load is 9'
	kill -USR1 "$fairpar_pid"
	await_text "$BATS_TEST_TMPDIR/stderr" 'fairpar: no job starts: the load is 9, and --load lets jobs start below 1'
	kill -TERM "$fairpar_pid"
	end_fairpar 143
	make_fifo added go
	export FAIRPAR
	start_fairpar -j2 --delay 1000 --log run.jsonl '"$FAIRPAR" --add true >added; read -r _ <go #' ::: 1
	await added
	await_text run.jsonl '"job_start"' # fairpar has seen its start
	kill -USR1 "$fairpar_pid"
	await_text "$BATS_TEST_TMPDIR/stderr" 'fairpar: 1 job waits: the last job started less than --delay ago'
	kill -TERM "$fairpar_pid"
	end_fairpar 143
}

@test "SIGUSR1 tells how many jobs wait for memory, and with --explain which" {
	fake_cgroup 100000000
	echo 100000000 >root/group/memory.current
	make_fifo log err go
	exec 6<>err 7<>log 8<>go
	"$FAIRPAR" --memory=auto -j3 --explain --log log 'read -r _ <go; :' ::: 1 2 2>err 3>&- 6>&- 7>&- 8>&- &
	pid=$!
	line=''
	until [[ $line == *'"why":"memory"'* ]]; do read -rt "$patience" line <&7; done
	kill -USR1 "$pid"
	until [[ $line == *'memory: 1 job waits for memory'* ]]; do read -rt "$patience" line <&6; done
	until [[ $line == *'job default#'[12]': waits for '* ]]; do read -rt "$patience" line <&6; done # either may be first in line
	printf '\n\n' >&8
	wait "$pid"
	exec 6>&- 7>&- 8>&-
}

@test "--memory=auto: a job whose memory the manifest says makes known what others of its batch need, by the peak of its cgroup" {
	need jq
	fake_cgroup 100000000
	echo 'cpu memory' >root/group/cgroup.controllers
	: >root/group/cgroup.procs
	# as the kernel has them for a job that had 300 MB, and has 7 KB of cache
	cat >figures <<-'END'
		group=$(echo root/group/fairpar-*-1)
		printf 'anon 1000\nfile 7000\nshmem 0\n' >"$group/memory.stat"
		echo 300007000 >"$group/memory.peak"
	END
	cat >m.yaml <<-'END'
		version: 1
		batches: {a: {commands: [{run: sh figures, memory: 1G}]}}
	END
	run_fairpar --memory=auto -j1 --log run.jsonl -f m.yaml
	assert_eq "$(jq 'select(.ev == "batch_end").memory' run.jsonl)" 300000000
}

@test "--memory=auto: a job whose memory nobody says is put into no cgroup" {
	fake_cgroup 100000000
	echo 'cpu memory' >root/group/cgroup.controllers
	: >root/group/cgroup.procs
	run_fairpar --memory=auto 'ls root/group >there{}' ::: 1 2
	assert_eq "$(sort -u there1 there2 | tr '\n' ' ')" 'cgroup.controllers cgroup.procs memory.current memory.max '
}

@test "--memory=auto: until three jobs of a batch have ended one, two, four run at once, and others pass by" {
	need jq
	local line='' pid
	fake_cgroup 100000000
	make_fifo log told go
	exec 6<>told 7<>log 9<>go
	cat >m.yaml <<-'END'
		version: 1
		batches:
		  a: {args: [1, 2, 3, 4, 5, 6, 7, 8, 9], run: "read -r _ <go; : {}"}
		  b: {args: [1], run: "read -r _ <told; seq 99 >go; : {}"}
	END
	"$FAIRPAR" --memory=auto -j8 --log log -f m.yaml 3>&- 6>&- 7>&- 9>&- &
	pid=$!
	until [[ $line == *'it is not known yet how much'* ]]; do
		read -rt "$patience" line <&7
		echo "$line" >>run.jsonl
	done
	echo >&6
	wait "$pid"
	exec 8<log 7>&- # from here on the log ends where fairpar wrote its last line
	cat <&8 >>run.jsonl
	exec 6>&- 8<&- 9>&-
	assert_eq "$(jq -s '[.[] | select(.ev == "job_end" and .batch == "a")] | . as $all | map(.start as $start
		| ([$all[] | select(.start + .wall <= $start)] | length) as $ended
		| ([$all[] | select(.start < $start)] | length) - $ended < [1, 2, 4, 8][[$ended, 3] | min]) | all' run.jsonl)" true
}

@test "a job that waits for memory holds no slot: at -j1 other batches go on, and one job waits for its whole batch" {
	fake_cgroup 100000000
	echo 90000000 >root/group/memory.current
	export FAIRPAR_CGROUP_ROOT=$PWD/nosuch
	cat >m.yaml <<-'END'
		version: 1
		batches:
		  big: {args: [1, 2, 3], run: "echo big{}", memory: 60M}
		  small: {args: [1, 2], run: "echo small{}"}
		  last: {args: [1], needs: small, run: "echo last{}; echo 0 >root/group/memory.current"}
	END
	run_fairpar -j1 -f m.yaml
	assert_lines small1 small2 last1 big1 big2 big3
}

@test "--memory=auto: that a memory of a manifest limits nothing is said, once" {
	fake_cgroup 100000000
	cat >m.yaml <<-'END'
		version: 1
		batches:
		  a: {args: [1, 2], run: ": {}"}
		  b: {args: [1, 2], run: ": {}", memory: 1M, needs: a}
	END
	run_fairpar --memory=auto -f m.yaml
	assert_eq "$(grep -c 'no cgroup v2 is delegated to fairpar; jobs wait until' <<<"$stderr")" 1
}

@test "--memory=auto: the memory of a manifest is taken as it is" {
	fake_cgroup 100000000
	export FAIRPAR_CGROUP_ROOT=$PWD/nosuch
	cat >m.yaml <<-'END'
		version: 1
		batches:
		  a: {args: [1, 2, 3, 4], run: "echo + >>log; : {}; echo - >>log", memory: 60M}
	END
	run_fairpar --memory=auto -j4 -f m.yaml
	assert_eq "$(tr -d '\n' <log)" +-+-+-+-
}

@test "-j auto: jobs wait for their memory as with --memory=auto" {
	fake_cgroup 100000000
	run_fairpar -j auto:6-6 --log events sh eat 30000000 '#' < <(first_alone {1..7})
	wait $!
	assert_eq "$(wc -l <came)" 7
	(($(most) >= 60000000 && $(most) <= 100000000)) || fail "$(cat levels)"
}

@test "-j auto --memory=none: jobs wait for no memory" {
	need jq
	fake_cgroup 1000000
	seq 99 >&5
	run_fairpar -j auto:4-4 --memory=none --log run.jsonl sh eat 3000000 '#' ::: {1..5}
	assert_eq "$(jq -r 'select(.ev == "wait").why' run.jsonl)" ''
}

# ---- pace ----

@test "--delay TIMEauto grows with failures and shrinks with successes" {
	for code in 0 1; do
		run_fairpar any -j1 --delay 0.1auto "date +%s%N; exit $code #" ::: 1 2 3 4 5 6 7 8
		eval "total$code=$((lines[7] - lines[0]))"
	done
	# 0.1 s each time would be 0.7 s; ideally 0.47 s and 1.9 s
	((total0 > 400000000 && total1 > 1400000000)) || fail "$total0 $total1"
}

@test "--delay auto has nothing to adapt" {
	run_fairpar -k --delay auto echo ::: 1 2 3
	assert_lines 1 2 3
	run_fairpar 255 --delay xauto echo ::: 1
	assert_contains "$stderr" "--delay must be seconds"
}

@test "--timeout N% is measured by the median of those that succeeded" {
	run_fairpar 1 -j1 --timeout 5000% 'sleep {}; echo {} #' ::: 0.1 0.2 0.1 1000
	assert_lines 0.1 0.2 0.1
	assert_contains "$stderr" 'FAILED #4: timeout'
}

@test "--timeout N% counts for a job that was there before the median" {
	run_fairpar 1 -j2 --timeout 1000% 'sleep {}; echo {} #' ::: 1000 0.1
	assert_lines 0.1
	assert_contains "$stderr" 'FAILED #1: timeout'
}

@test "--timeout N%: no limit while nothing has succeeded" {
	run_fairpar 2 -j1 --timeout 1% 'sleep 0.05; exit 1 #' ::: 1 2
	assert_contains "$stderr" 'FAILED #1: exit 1, '
}

# ---- -j FILE ----

@test "-j FILE is read again when a job ends and it has changed: more, which --status tells" {
	local name="file-$BASHPID"
	make_fifo started go
	echo 1 >jobs
	start_fairpar --run "$name" -j jobs 'echo {} >started; read -r _ <go #' ::: 1 2 3 4
	await started; assert_eq "$line" 1
	echo 3 >jobs
	release go
	exec 5<>started
	for _ in 2 3 4; do
		read -rt "$patience" <&5 # all at once: none of them has been let go
	done
	assert_contains "$("$FAIRPAR" --run "$name" --status 5>&-)" ' on 3 slots'
	exec 6<>go
	printf '\n\n\n' >&6
	end_fairpar
	exec 5>&- 6>&-
}

@test "-j FILE is read again: fewer" {
	make_fifo started go
	echo 2 >jobs
	exec 5<>started 6<>go
	start_fairpar -j jobs 'n=$(ls running* | wc -l); : >running{}; echo $n; echo >started; read -r _ <go; rm running{} #' ::: 1 2 3 4 5 6
	: >running0
	read -rt "$patience" <&5; read -rt "$patience" <&5
	echo 1 >jobs
	for _ in 1 2 3 4; do
		echo >&6
		sleep 0
	done
	printf '\n\n\n\n' >&6
	end_fairpar
	exec 5>&- 6>&-
	assert_eq "${#lines[@]}" 6
}

@test "-j FILE that has become nonsense changes nothing, with a warning" {
	make_fifo started go
	echo 1 >jobs
	start_fairpar -j jobs 'echo >started; read -r _ <go; echo {} #' ::: 1 2
	await started
	echo many >jobs
	release go
	await started
	release go
	end_fairpar
	assert_lines 1 2
	assert_contains "$stderr" "'jobs', named by --jobs, must hold N"
	assert_contains "$stderr" "stays as it is"
}

@test "--halt soon cancels what waits" {
	fake_proc
	make_fifo started1 go1 next
	start_fairpar -j2 --load 1 --halt soon,fail=1 'echo >started{}; read -r _ <go{}; exit 7 #' < <(echo 1; read -r _ <next; echo 2)
	await started1
	set_load 1
	release next
	release go1
	end_fairpar 7
	assert_contains "$stderr" '#1'
}
