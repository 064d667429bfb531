# Whoever waits for a slot, or for others, sleeps: it uses no CPU and does not wake.
# shellcheck disable=SC2016 # the commands are for the shells of the jobs

load helper
load pools

# What a job says when it has begun, and what ends it.
meet='echo >in.{}; read -r _ <go.{}'
export meet

# used PID: clock ticks of CPU time, and how often its threads have gone to sleep
used() {
	awk '/^voluntary_ctxt_switches/ { n += $2 } /^[0-9]/ { sub(/.*\) /, ""); ticks += $12 + $13 } END { print ticks " ticks, " n " sleeps" }' \
		"/proc/$1/task/"*/status "/proc/$1/stat"
}

# A quarter of a second of CPU time, of another process.
burn() {
	(
		while read -ra stat <"/proc/$BASHPID/stat" && ((stat[13] + stat[14] < 25)); do :; done
	)
}

# assert_sleeps PID …: each of them is still, if not at once then soon
assert_sleeps() {
	local pid before after=()
	[[ ${FAIRPAR_PROFILE-} != tsan ]] || return 0 # ThreadSanitizer has a thread of its own, which wakes
	for _ in {1..6}; do
		before=("${after[@]}") after=()
		for pid; do
			after+=("$(used "$pid")")
		done
		if [[ ${before[*]} == "${after[*]}" ]]; then
			return
		fi
		burn
	done
	fail "$* did not sleep: ${before[*]}, and then ${after[*]}"
}

# start NAME COMMAND …: in the background; $started is its PID
start() {
	"${@:2}" >"$1.out" 2>"$1.err" </dev/null 3>&- &
	started=$!
}

@test "a run that has lost its slots to others, a command that waits, and their server" {
	local run others=() waiting
	make_fifo {in,go}.{1,2,a,b}
	mkfifo items
	exec 5<>items
	start run "$FAIRPAR" --pool --pool-slots 2 -a items "$meet" 5>&-
	run=$started
	printf '1\n2\n' >&5
	await in.1
	await in.2
	for name in a b; do
		start "$name" "$FAIRPAR" --pool --single sh -c "${meet//'{}'/$name}" 5>&-
		others+=("$started")
	done
	await_pool ', 2 waiting'
	release go.1
	release go.2
	await in.a
	await in.b
	echo true >&5 # only now: before, the run might not know yet that others wait
	exec 5>&-
	start waiting "$FAIRPAR" --pool --single true
	waiting=$started
	await_pool ', 2 waiting'
	assert_sleeps "$run" "$waiting" "$(servers)"
	mkfifo {in,go}.true
	release go.a
	await in.true
	release go.true
	release go.b
	wait "$run" "$waiting" "${others[@]}"
}

@test "a run in a job that has lost a slot to another run, and the run above them" {
	local run
	make_fifo in.{b,1,2,3,more} go.{b,1,2,3} go.{x,y}{1,2,3,4}
	export FAIRPAR more='case {} in [xy]*) echo {} >in.more ;; *) echo >in.{} ;; esac; read -r _ <go.{}'
	# a waits for b, as the run in a could take all three slots before b begins
	start run "$FAIRPAR" -j3 'case {} in a) read -r _ <in.b; set 1 2 x1 x2 x3 x4 ;; b) echo >in.b; read -r _ <go.b; set 3 y1 y2 ;; esac
		echo $$ >{}.pid; exec "$FAIRPAR" -j6 "$more" ::: "$@"' ::: a b
	run=$started
	await in.1
	await in.2
	release go.b
	await in.3
	release go.2
	await in.more
	while [[ $line == x* ]]; do # until it is the turn of the other one
		release "go.$line"
		await in.more
	done
	assert_sleeps "$(<a.pid)" "$(<b.pid)" "$run"
	kill -TERM "$run"
	wait "$run" || :
}

@test "a run that waits for a token of make's jobserver" {
	need make
	unset MAKEFLAGS MAKELEVEL
	make_fifo {in,go}.{1,2,a}
	printf 'all: a b\na: ; @%s\nb: ; +@echo $$$$ >b.pid; exec "$(FAIRPAR)" "$$meet" ::: 1 2\n' "${meet//'{}'/a}" >Makefile
	start make env FAIRPAR="$FAIRPAR" make -j2
	await in.a
	await in.1
	assert_sleeps "$(<b.pid)" "$started"
	release go.a
	await in.2
	assert_sleeps "$(<b.pid)"
	release go.1
	release go.2
	wait "$started"
}

@test "a run with a jobserver, whose tools have its slots" {
	make_fifo {in,go}.{1,2}
	start run "$FAIRPAR" -j2 --jobserver "$meet" ::: 1 2
	await in.1
	await in.2
	release go.2
	assert_sleeps "$started"
	release go.1
	wait "$started"
}

@test "who waits for a job of a run, and the run" {
	local run
	make_fifo {in,go}.1
	start run "$FAIRPAR" --run waited -j1 "$meet" ::: 1
	run=$started
	await in.1
	run_fairpar --run waited --add true
	start wait "$FAIRPAR" --run waited --wait "$output"
	assert_sleeps "$started" "$run"
	release go.1
	wait "$started" "$run"
}

@test "who waits for a semaphore, and who waits for its commands" {
	local holder waiting=()
	make_fifo {in,go}.1
	export HOME=$BATS_TEST_TMPDIR
	start holder "$FAIRPAR" --semaphore --id s --fg "${meet//'{}'/1}"
	holder=$started
	await in.1
	start next "$FAIRPAR" --semaphore --id s --fg true
	waiting+=("$started")
	start all "$FAIRPAR" --semaphore --id s --wait
	waiting+=("$started")
	assert_sleeps "$holder" "${waiting[@]}"
	release go.1
	wait "$holder" "${waiting[@]}"
}
