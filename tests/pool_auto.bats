# --pool-slots auto: a pool that finds the number of its slots, by what the jobs of all its clients do.

load helper
load pools

# open_door: a command that says in `came` that it has begun, and sleeps until close_door
open_door() {
	mkfifo came door
	exec {came}<>came {door}<>door
	command="echo >came; read -r _ <door; : {}"
}

# await_came N: until so many have begun
await_came() {
	local i
	for ((i = 0; i < $1; i++)); do
		read -rt "$patience" _ <&"$came" || fail "only $i of $1 have begun"
	done
}

# let_go N: so many of them end
let_go() {
	yes '' | head -n "$1" >&"$door"
}

# quiet_machine: nothing waits on the one that fairpar sees
quiet_machine() {
	use_faults
	mkdir -p root/proc/pressure root/proc/self
	cp /proc/meminfo root/proc
	pressure memory 0
	pressure io 0
	export FAIRPAR_ROOT=$PWD/root
}

pressure() {
	printf 'some avg10=0.00 avg60=0.00 avg300=0.00 total=9\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=%d\n' "$2" >root/new
	mv root/new "root/proc/pressure/$1"
}

# next_with FD TEXT: sets $line to the next one that has the text
next_with() {
	while IFS= read -rt "$patience" line <&"$1"; do
		[[ $line != *"$2"* ]] || return 0
	done
	fail "no line has $2"
}

@test "two runs whose jobs sleep get more slots together than there are CPUs, and say why" {
	need jq
	quiet_machine
	open_door
	"$FAIRPAR" --pool -j auto --memory=none --log a.jsonl "$command" ::: {1..20} 3>&- &
	a=$!
	"$FAIRPAR" --pool --pool-slots auto --memory=none --log b.jsonl "$command" ::: {1..20} 3>&- &
	b=$!
	await_came 40
	run_fairpar --pool --status
	assert_contains "${lines[0]}" 'pool default: 40 of '
	assert_contains "${lines[0]}" ' (auto: jobs sleep)'
	run_fairpar --pool --status=json
	assert_eq "$(jq -r '[.taken, .why] | @tsv' <<<"$output")" $'40\tjobs sleep'
	let_go 40
	wait "$a"
	wait "$b"
	for log in a b; do
		# the last time: before that a run may have come late, or not have answered in time how busy its jobs are
		assert_eq "$(jq -rs '[.[] | select(.ev == "slots")] | last | [.why, .slots >= 40] | @tsv' $log.jsonl)" $'jobs sleep\ttrue'
	done
	run_fairpar --from-log a.jsonl --explain
	assert_contains "$output" ' on: jobs sleep'
	exec {came}<&- {door}<&-
}

@test "jobs that compute get as many slots as there are CPUs, and not one more" {
	need jq
	quiet_machine
	# Long ones, started as ever: between two jobs, and while one is cloned, a slot does leave its processor idle.
	# shellcheck disable=SC2016 # for the jobs
	run_fairpar --pool -j auto --warm=off --log run.jsonl 'echo + >>log; i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done; echo - >>log; : {}' \
		::: $(seq $(($(nproc) * 2)))
	assert_eq "$(jq -s 'map(select(.ev == "run_start" or .ev == "slots").slots) | max' run.jsonl)" "$(nproc)"
	(($(most_at_once log) <= $(nproc))) || fail "$(cat log)"
}

@test "when all wait for memory there are fewer slots, of which those that run keep theirs, and SIGUSR1 says why" {
	quiet_machine
	open_door
	make_fifo log err
	"$FAIRPAR" --pool --pool-slots auto:1-2 -j 5 --memory=none --log log "$command" ::: 1 2 3 2>err 3>&- &
	pid=$!
	exec {err}<err {log}<log
	await_came 2
	pressure memory 60000000 # a minute, of the second that passes at most between two looks
	next_with "$log" '"slots":1'
	assert_contains "$line" '"why":"memory is short"'
	run_fairpar --pool --status
	assert_eq "${lines[0]}" 'pool default: 2 of 1 slots taken, 1 waiting (auto: memory is short)'
	kill -USR1 "$pid"
	next_with "$err" slots:
	assert_contains "$line" 'fairpar: slots: 1 for '
	assert_contains "$line" 's: memory is short'
	let_go 3
	cat <&"$log" >/dev/null
	wait "$pid"
	exec {log}<&- {err}<&- {came}<&- {door}<&-
}

@test "bounds hold, -j is how many of the slots one run takes, and who finds other slots than he wanted is told" {
	quiet_machine
	open_door
	"$FAIRPAR" --pool --pool-slots auto:1-7 -j 3 --memory=none "$command" ::: {1..12} 3>&- &
	a=$!
	await_came 3
	"$FAIRPAR" --pool -j auto:1-64 --memory=none "$command" ::: {1..12} 3>&- &
	b=$!
	await_came 4
	await_pool 'pool default: 7 of 7 slots taken, 1 waiting (auto: jobs sleep)'
	let_go 24
	hold h # so that the server does not end
	wait "$a"
	wait "$b"
	run_fairpar --pool --pool-slots 5 true ::: a
	assert_eq "$stderr" 'fairpar: warning: pool default runs already, with auto:1-7 slots, not with 5'
	run_fairpar --pool --pool-slots auto:2-9 true ::: a
	assert_eq "$stderr" 'fairpar: warning: pool default runs already, with auto:1-7 slots, not with auto:2-9'
	run_fairpar --pool -j auto:2-9 true ::: a
	assert_eq "$stderr" ''
	release h.go
	wait
	exec {came}<&- {door}<&-
}

@test "a command of --single that sleeps makes room, and is left alone" {
	quiet_machine
	open_door
	mkfifo in go
	exec {go}<>go
	"$FAIRPAR" --pool --pool-slots auto --single sh -c 'echo >in; read -r _ <go' 3>&- &
	pid=$!
	await in
	"$FAIRPAR" --pool --memory=none "$command" ::: {1..15} 3>&- &
	run=$!
	await_came 15
	let_go 15
	wait "$run"
	echo >&"$go"
	wait "$pid"
	exec {came}<&- {door}<&- {go}<&-
}

@test "a server that is killed has a successor that finds the number, too, and begins with what is held" {
	quiet_machine
	open_door
	"$FAIRPAR" --pool --pool-slots auto:1-16 --memory=none "$command" ::: {1..20} 3>&- &
	pid=$!
	await_came 16
	server=$(servers)
	kill -KILL "$server"
	await_end "$server"
	await_pool '16 of 16 slots taken' # of a new one that answers; the run keeps its slots without one
	server=$(servers)
	assert_contains "$(tr '\0' ' ' <"/proc/$server/cmdline")" ' 1-16 '
	let_go 20
	await_came 4
	wait "$pid"
	exec {came}<&- {door}<&-
}

@test "--status finds its answer behind what the server has said before it" {
	need strace
	quiet_machine
	open_door
	single held --pool-slots auto:1-16 sh -c "$command"
	await_came 1
	# its question goes out when the number of slots has grown, of which it hears first, and it looks when both have come
	traced -qq -o trace -e trace=sendto,poll -e inject=sendto:delay_enter=2000000:when=2 -e inject=poll:delay_enter=500000:when=2 \
		"$FAIRPAR" --pool --status >state 3>&- &
	pid=$!
	"$FAIRPAR" --pool --memory=none "$command" ::: {1..15} 3>&- &
	await_came 15
	wait "$pid"
	assert_contains "$(<state)" ' slots taken'
	let_go 16
	wait
	exec {came}<&- {door}<&-
}

@test "what runs one at a time does so in a pool, too, however many slots that has" {
	for slots in 4 auto; do
		rm -f log
		run_fairpar --pool=$slots --pool-slots $slots --tty 'echo + >>log; cat /proc/stat >/dev/null; echo - >>log; : {}' ::: {1..6}
		assert_eq "$(most_at_once log)" 1
	done
}

@test "--pool-slots: what cannot be right is refused" {
	run_fairpar 255 --pool --pool-slots automatic true ::: a
	assert_contains "$stderr" '--pool-slots must be a number from 1 to 4096, or auto'
	run_fairpar 255 --pool --pool-slots auto:9-3 true ::: a
	assert_contains "$stderr" '--pool-slots auto takes bounds as in auto:2-64'
	run_fairpar 255 --pool --pool-slots 5000 true ::: a
	run_fairpar --pool --pool-slots auto:3-3 '"$FAIRPAR" --pool --status #' ::: a
	assert_eq "${lines[0]}" 'pool default: 1 of 3 slots taken, 0 waiting'
}
