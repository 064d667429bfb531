# Batches: whose turn it is, as people see it.

load helper

# The batches in order of dispatch, as one word.
order() {
	sed 's/.*"batch":"\([^"]*\)".*/\1/' "$1" | tr -d '\n'
}

# await_event PATTERN FD: reads the log from a FIFO that is open as FD up to the line that matches.
await_event() {
	local event=
	until [[ $event =~ $1 ]]; do
		read -rt "$patience" -u "$2" event || fail "no $1 came"
	done
}

@test "a batch that is named for the first time late in the stream gets its turn at once" {
	make_fifo input started go told
	exec 5<>input 6<>told
	start_fairpar -j1 --batch-by '{1}' --colsep ' ' --trace-service trace --log told 'echo {2} >started; read -r _ <go' <input 5>&- 6>&-
	echo "A 1" >&5
	await started
	assert_eq "$line" 1
	printf '%s\n' "A 2" "A 3" "A 4" "B late" >&5
	await_event '"batch_start".*"B"' 6
	echo "C last" >&5
	await_event '"batch_start".*"C"' 6 # so what was read before is queued
	exec 5>&-
	local started_jobs=()
	for _ in 1 2 3 4 5; do
		release go
		await started
		started_jobs+=("$line")
	done
	release go
	end_fairpar
	assert_eq "${started_jobs[*]}" "late last 2 3 4"
	assert_eq "$(order trace)" ABCAAA
}

# newcomers N OPTION …: an old batch beside a stream of new ones: each that starts sends the next one, so that exactly one
# always waits. Sets $starts to the batches of the first N starts. Batches of a lower priority show that what was sent
# before them is queued; they are not counted.
newcomers() {
	local n=1 from most=$1
	shift
	make_fifo input started go told
	exec 5<>input 6<>told
	start_fairpar -j1 --batch-by '{1}' --colsep ' ' --priority 'mark*=-1' --log told "$@" 'echo {1} >started; read -r _ <go' \
		<input 5>&- 6>&-
	seq -f 'old %g' 90 >&5
	await started
	from=$line starts=
	for ((picks = 0; picks < most; )); do
		if [[ $from != mark* ]]; then
			if [[ $starts == '' || $from == new* ]]; then
				printf '%s\n' "new$n x" "mark$n x" >&5
				await_event "batch_start.*\"mark$n\"" 6
				n=$((n + 1))
			fi
			starts+=${from:0:1}
			picks=$((picks + 1))
		fi
		release go
		await started
		from=$line
	done
	exec 5>&-
	kill "$fairpar_pid"
	end_fairpar any
}

@test "beside newcomers of which one always waits, every second start is the old batch's" {
	newcomers 24
	assert_eq "$starts" onononononononononononon
}

@test "beside newcomers of which one always waits, a weight of 3 has three starts of four" {
	newcomers 60 --weight old=3
	assert_eq "${starts:36}" ooonooonooonooonooonooon # once the first of them have gone
}

@test "--batch-by gives each directory its turns" {
	run_fairpar -j1 --batch-by '{//}' echo {} ::: x/1 x/2 x/3 y/1 z/1
	assert_lines x/1 y/1 z/1 x/2 x/3
}

@test "an empty --batch-by name is the batch default" {
	run_fairpar -j1 --batch-by '{2}' --colsep , 'echo $FAIRPAR_BATCH #' ::: a, b,c
	assert_set default c
}

@test "jobs are numbered within their batch, and over the run" {
	run_fairpar -j1 --batch-by '{}' 'echo $FAIRPAR_JOB $FAIRPAR_SEQ {#}' ::: a b a b a
	assert_lines "a#1 1 1" "b#1 2 2" "a#2 3 3" "b#2 4 4" "a#3 5 5"
}

@test "--max-parallel holds, and the slots go to the others" {
	make_fifo startedA{1,2} startedB{1,2} goA{1,2} goB{1,2}
	seq 2 >a
	start_fairpar -j3 --batch A=a --batch B=a --max-parallel A=1 --trace-service trace \
		'echo $FAIRPAR_BATCH >started${FAIRPAR_BATCH}{}; read -r _ <go${FAIRPAR_BATCH}{}'
	await startedA1; await startedB1; await startedB2 # three slots, but A has one job running
	release goA1
	await startedA2
	release goA2; release goB1; release goB2
	end_fairpar
}

@test "the higher priority goes first, and the lower one still moves" {
	seq 40 >a; seq 40 >b
	run_fairpar -j1 --batch A=a --batch B=b --priority B=1 --trace-service trace true
	assert_contains "$(order trace | cut -c 1-20)" A
	assert_eq "$(order trace | cut -c 1-10)" BBBBBBBBBB
}

@test "a long-running job takes no slot and delays nobody" {
	make_fifo go
	seq 3 >short
	start_fairpar -j1 --long-running=L --batch L=<(echo x) --batch S=short --trace-service trace \
		'if [ $FAIRPAR_BATCH = L ]; then read -r _ <go; else echo s{}; fi; [ {} != 3 ] || echo >go'
	end_fairpar
	assert_lines s1 s2 s3
	assert_contains "$(cat trace)" '"source":"long"'
}

@test "--max-long caps the dedicated threads" {
	make_fifo started{1,2,3} go{1,2,3}
	start_fairpar -j1 --long-running --max-long 2 --trace-service trace 'echo {} >started{}; read -r _ <go{}' ::: 1 2 3
	await started1; await started2
	release go2
	await started3
	release go1; release go3
	end_fairpar
	assert_eq "$(grep -c '"source":"long"' trace)" 3
}

@test "--fair=time charges the time on slots" {
	# one slot: B's long job holds it, so A is owed turns afterwards; the trace shows the lag
	make_fifo go
	seq 3 >a; seq 3 >b
	run_fairpar -j1 --fair=time --batch A=a --batch B=b --trace-service trace true
	assert_eq "$(grep -c '"ev":"dispatch"' trace)" 6
	assert_contains "$(cat trace)" '"lag":'
}

@test "the trace has one JSON line for each dispatch" {
	run_fairpar -j1 --trace-service trace true ::: a b
	assert_eq "$(wc -l <trace)" 2
	assert_contains "$(head -n 1 trace)" '"n":1,'
	assert_contains "$(head -n 1 trace)" '"batch":"default","job":1,"source":"queue","slot":1,'
}

@test "100,000 lines in one batch do not delay the small one behind them" {
	{ seq 100000 | sed 's/^/big /'; seq 3 | sed 's/^/small /'; } >list
	# the first two jobs end when all lines were read
	run_fairpar any -j2 --batch-by '{1}' --colsep ' ' --trace-service trace --halt soon,done=100 \
		'case {2} in 1 | 2) until "$FAIRPAR" --status=json | grep -q "\"batch\":\"small\""; do :; done ;; esac' <list
	# big and small in turns from then on; or one earlier, if the second slot took no job before
	[[ $(sed -n '/"batch":"small"/=' trace | paste -sd ' ') =~ ^("3 5 7"|"2 4 6")$ ]] || fail "$(head -n 9 trace)"
}
