# Workers that do not do what fairpar-worker(7) asks of them: of another machine a run believes what it says of its own jobs, and
# nothing else. tests/tools/hostile-worker is the machine.

load helper

setup() {
	helper_setup
	export FAIRPAR_REMOTE=$FAIRPAR # not asked for, but by default it is a path that may have a blank
	evil=$(plain_path "$BATS_TEST_DIRNAME/tools/hostile-worker")
}

# hostile [STATUS] MODE ARGUMENT …: a run on such a machine.
hostile() {
	run_fairpar "$1" --launch "$evil $2 {}" "${@:3}" </dev/null
}

@test "an end of a job whose numbers deny each other breaks the connection" {
	for how in 0,1,0 0,0,9 1,0,0 1,1,9 2,0,0 2,1,9 4,0,0 4,126,9 4,126,0; do
		hostile any "done=$how" --at-most-once --joblog log true ::: 1
		assert_contains "$stderr" 'the connection is lost: the worker has sent an invalid end of a job'
		assert_eq "$(tail -n 1 log | cut -f 7,8)" $'0\t9'
	done
	hostile 1 done=1,3,0 --joblog log true ::: 1
	assert_eq "$(tail -n 1 log | cut -f 7,8)" $'3\t0'
}

@test "a job that does not end when it is told to holds up neither --timeout nor Ctrl-C" {
	env --default-signal=INT "$FAIRPAR" --launch "$evil deaf {}" --log run.jsonl --joblog cut true ::: 1 </dev/null 2>cut.err 3>&- &
	local cut=$! status=0
	until grep -qs job_start run.jsonl; do kill -0 "$cut"; done
	kill -INT "$cut"
	hostile 1 deaf-first --timeout 0.2 --joblog log true ::: 1 2
	assert_eq "$(tail -n +2 log | cut -f 1,7)" $'1\t-1\n2\t0'
	assert_contains "$stderr" 'the connection is lost: a job there was told to end, but has not ended; the machine is tried again'
	wait "$cut" || status=$?
	assert_eq "$status" 130
	assert_eq "$(wc -l <cut)" 1
}

@test "a job that does not end keeps its slot until it has" {
	make_fifo go
	cat >all.yaml <<-'END'
		version: 1
		batches:
		  a: {run: "echo {}", args: [late], timeout: 0.2s}
		  b: {run: "echo {}", args: [a, b]}
	END
	start_fairpar --launch "$evil deaf-once {}" --term-seq KILL --joblog log -f all.yaml </dev/null
	wait_for grep -qs $'\t-1\t' log
	release go
	end_fairpar 1
	assert_eq "$(<frames)" $'late ends\nthird'
}

@test "a worker that takes no more jobs, and stays, is replaced after a minute" {
	use_faults
	export FAIRPAR_FAULT=minute:1+:EIO # it is over at once; tests/unit/remote.c waits for it
	hostile 0 bye true ::: 1
	hostile 0 refuse true ::: 1
	assert_contains "$stderr" 'takes no more jobs: no'
}

@test "whatever a worker says does no harm, and each job has one end" {
	cat >one <<-'END'
		"$FAIRPAR" --launch "$1 mutated=$2 {}" --at-most-once --timeout 0.3 --term-seq KILL -j2 --joblog "log.$2" echo {} ::: 1 2 3 4 >"out.$2" 2>&1 </dev/null
		status=$?
		rows=$(sed 1d "log.$2" | cut -f 1 | sort | xargs)
		[ "$status" -le 4 ] && [ "$rows" = "1 2 3 4" ] && ! grep -E 'Sanitizer|runtime error|bug:' "out.$2" && exit
		echo "status $status, rows $rows"
		cat "out.$2"
		exit 1
	END
	run_fairpar -j16 sh one "$evil" < <(seq "${CONVERSATIONS:-60}")
}

@test "a machine that sends other files than it was asked for writes nowhere else, and breaks the connection" {
	mkdir dir
	cd dir
	# sends STATUS CASE: a return from such a machine
	sends() {
		printf '#!/bin/sh\nexec %s sends=%s\n' "$evil" "$2" >../ssh
		chmod +x ../ssh
		run_fairpar "$1" -S 1/h --ssh "$PWD/../ssh" --at-most-once --return it 'true {}' ::: 1 </dev/null
	}
	for case in device link longer out over root self split; do
		sends any "$case"
		assert_contains "$stderr" 'the connection is lost: the '
	done
	rm -rf it
	sends 1 nothing
	assert_contains "$stderr" 'the worker has ended the transfer'
	sends 1 step
	assert_contains "$stderr" "cannot return 'it': 'it/l': a link that leads out of the directory is not copied; 'it/m': a link"
	assert_eq "$(find .. -name evil)" ../dir/it/l/evil
	assert_eq "$(find .. -name '.fairpar.*')" ''
}
