# A fairpar in a job of another one shares its slots.
# shellcheck disable=SC2016 # the commands are for the shells of the jobs

load helper

setup() {
	helper_setup
	unset FAIRPAR_SOCK FAIRPAR_POOL FAIRPAR_LEASE
	export FAIRPAR
}

teardown() {
	helper_teardown
}

count='echo + >>runs; /bin/true; echo - >>runs'
# Two jobs that go on only when both run: TOGETHER in the environment names their FIFOs.
together='if [ {} = 1 ]; then echo >$TOGETHER.1; read -r _ <$TOGETHER.2; else read -r _ <$TOGETHER.1; echo >$TOGETHER.2; fi'
export count together

@test "-j2 in -j2 never runs more than two jobs at once" {
	run_fairpar -j2 '"$FAIRPAR" -j2 "$count #" ::: 1 2 3 4; : {}' ::: a b c d e
	(($(most_at_once runs) <= 2)) || fail "$(<runs)"
	assert_eq "$(grep -c - runs)" 20
}

@test "runs below each other with one slot each start and write their jobs in order" {
	cat >leaf <<-'END'
	"$FAIRPAR" -j1 echo ::: 1 2 3 4 5 6 | tr '\n' ' '
	echo
	END
	run_fairpar -j1 '"$FAIRPAR" -j1 "sh leaf; : {}" ::: 1 2; : {}' ::: {1..15}
	run sort -u <<<"$output"
	assert_lines "1 2 3 4 5 6 "
}

@test "runs below each other go on with one slot, three deep" {
	echo '"$FAIRPAR" -j4 "$count #" ::: 1 2' >two
	echo '"$FAIRPAR" -j4 "sh two; : {}" ::: 1 2' >four
	run_fairpar -j1 'sh four; : {}' ::: a b
	assert_eq "$(most_at_once runs)" 1
	assert_eq "$(grep -c - runs)" 8
}

# What the second run takes of the first one's output before it has a slot is less than this: its blocks, and what a pipe holds.
@test "runs in a pipeline of a job go on with the slots that there are, however they write" {
	cat >pipeline <<-'END'
	"$FAIRPAR" $mode 'seq 300000; : {}' ::: 1 | "$FAIRPAR" $mode --pipe --block 100k cat | "$FAIRPAR" --pipe --block 100k cat | wc -l
	END
	export mode
	for mode in --group --ungroup --line-buffer --keep-order '--keep-order --line-buffer' --tag; do
		run_fairpar -j1 'sh pipeline; : {}' ::: a
		assert_lines 300000
		run_fairpar -j2 'sh pipeline; : {}' ::: a b
		assert_lines 300000 300000
	done
}

@test "what a run wants beyond the slot of its job it gets from idle slots" {
	make_fifo t.1 t.2
	TOGETHER=t run_fairpar -j2 '"$FAIRPAR" "$together" ::: 1 2; : {}' ::: a
	assert_eq "$stderr" ""
}

@test "what a run wants below a slot that was lent it gets from idle slots, too" {
	make_fifo 1.1 1.2 2.1 2.2
	echo '"$FAIRPAR" "$together" ::: 1 2' >two
	echo '"$FAIRPAR" "TOGETHER={} sh two" ::: 1 2' >four
	run_fairpar -j4 'sh four; : {}' ::: a
	assert_eq "$stderr" ""
}

@test "log, report and traces tell which slots runs in jobs were lent, and for how long" {
	need jq
	make_fifo t.1 t.2
	echo '"$FAIRPAR" "$together" ::: 1 2' >two
	TOGETHER=t run_fairpar -j2 --log log --report r.html --trace t.json --trace-service service 'sh two; : {}' ::: a
	assert_eq "$(jq -r 'select(.ev == "lent") | [.job, .to, .depth // 1, .own // false, .wall > 0] | @tsv' log | sort)" \
		"$(printf '%s\t%s\t1\t%s\ttrue\n' default#1 "$together ::: 1 2" false default#1 "$together ::: 1 2" true)"
	assert_eq "$(jq 'select(.ev == "lent").slot' log | sort | tr '\n' ' ')" '1 2 '
	assert_eq "$(jq -r 'select(.source == "lent") | "\(.batch) \(.job)"' service)" 'default 1'
	assert_eq "$(jq -r '.traceEvents[] | select(.cat == "lent") | .name' t.json | sort -u)" "$together ::: 1 2"
	assert_contains "$(<r.html)" '<h2>Runs in jobs</h2>'
	assert_eq "$(grep -c '^in .*#1 · pid [0-9]* · had' r.html)" 2
	echo '"$FAIRPAR" true ::: 1' >one
	run_fairpar --log log -j1 '"$FAIRPAR" "sh one; : {}" ::: 1; : {}' ::: a
	assert_eq "$(jq -r 'select(.ev == "lent") | "\(.slot) \(.depth // 1) \(.own)"' log)" $'1 2 true\n1 1 true'
}

@test "an inner run may have fewer slots than the outer one, and never has more" {
	run_fairpar -j3 '"$FAIRPAR" -j1 "$count #" ::: 1 2 3 4; : {}' ::: a
	assert_eq "$(most_at_once runs)" 1
	run_fairpar -j3 '"$FAIRPAR" -j9 "$count #" ::: 1 2 3 4 5 6 7 8 9; : {}' ::: a
	(($(most_at_once runs) <= 3)) || fail "$(<runs)"
}

@test "a dry run in a job shows its commands" {
	echo '"$FAIRPAR" --dry-run echo {} ::: 1' >shows
	run_fairpar -j1 'sh shows; : {}' ::: a
	assert_lines "echo 1"
}

@test "a batch of the outer run does not wait for the jobs that another batch starts" {
	seq 40 >inner
	mkfifo ended
	exec 5<>ended # as long as the test lasts: what is written stays
	# the last of the inner jobs waits for all jobs of the other batch
	echo '"$FAIRPAR" "if [ {} = 40 ]; then { read x; read x; read x; } <ended; fi; echo i >>order" <inner' >many
	printf 'echo p >>order; echo >ended\n' | tee one two >three
	run_fairpar -j2 --batch I=<(echo many) --batch P=<(printf '%s\n' one two three) sh {}
	assert_eq "$(sort order | uniq -c | tr -s ' ' | tr '\n' ,)" " 40 i, 3 p,"
	assert_eq "$(tail -n 1 order)" i
}

@test "--explain tells what place a run has among those that wait in the run it is started in" {
	make_fifo in go explained
	cat >two <<-'END'
		"$FAIRPAR" "echo >in; read -r _ <go; : {}" ::: 1 &
		read -r _ <in
		"$FAIRPAR" --explain --quiet "echo {}" ::: 2 2>explained &
		echo $! >pid
		wait
	END
	start_fairpar -j1 'sh two; : {}' ::: a
	exec 5<>explained
	until grep -qs . pid && grep -q '^SigBlk:.*[2367abef]..$' "/proc/$(<pid)/status"; do :; done # USR1 is answered
	kill -USR1 "$(<pid)"
	local line
	until read -r -u 5 line && [[ $line == *'in whose job'* ]]; do :; done
	assert_eq "$line" 'fairpar: 1st of 1 waiting for a slot of the run in whose job this run was started'
	exec 5<&-
	release go
	end_fairpar
}

@test "--no-inherit has slots of its own" {
	make_fifo t.1 t.2
	TOGETHER=t run_fairpar -j1 '"$FAIRPAR" --no-inherit -j2 "$together" ::: 1 2; : {}' ::: a
}

@test "a fairpar in a job of a long-running batch has slots of its own" {
	make_fifo t.1 t.2
	TOGETHER=t run_fairpar -j1 --long-running '"$FAIRPAR" -j2 "$together" ::: 1 2; : {}' ::: a
}

@test "without the run that FAIRPAR_SOCK names, or with a wrong nonce, slots are the run's own" {
	make_fifo t.1 t.2
	local sock
	for sock in @nobody:1:2 @:1:2 :: x @nobody:1 "$(printf 'a%.0s' {1..300}):1:2"; do
		TOGETHER=t FAIRPAR_SOCK=$sock run_fairpar -j2 "$together" ::: 1 2
		assert_eq "$stderr" ""
	done
	TOGETHER=t run_fairpar -j1 'FAIRPAR_SOCK=${FAIRPAR_SOCK%?}x; "$FAIRPAR" -j2 "$together" ::: 1 2; : {}' ::: a
}

need_unshare() {
	need unshare
	unshare -r"$1" true 2>/dev/null || skip "unshare -r$1 is not permitted"
}

@test "a run in another network namespace is lent the slots of the run above, and speaks to it" {
	need_unshare n
	run_fairpar -j2 'unshare -rn "$FAIRPAR" -j4 --log log "$count #" ::: 1 2 3 4; unshare -rn "$FAIRPAR" --add echo added >id; : {}' ::: a
	assert_lines added
	assert_contains "$(head -1 log)" '"slots":2'
	(($(most_at_once runs) <= 2))
}

@test "a run that does not see the files of the run above is lent its slots, and speaks to it" {
	need_unshare m
	run_fairpar -j2 'unshare -rm sh -c "mount -t tmpfs none \"\$FAIRPAR_POOL_DIR\" && \"\$FAIRPAR\" -j4 --log log \"\$count #\" ::: 1 2 3 4 &&
		\"\$FAIRPAR\" --add echo added" >id; : {}' ::: a
	assert_lines added
	assert_contains "$(head -1 log)" '"slots":2'
}

@test "where the directory of the pools cannot be used, runs in jobs are lent slots all the same" {
	local dir
	for dir in relative /dev/null "$PWD/$(printf 'a%.0s' {1..100})"; do
		FAIRPAR_POOL_DIR=$dir run_fairpar -j2 '"$FAIRPAR" -j4 --log log true ::: 1 2; : {}' ::: a
		assert_contains "$(head -1 log)" '"slots":2'
		assert_eq "$stderr" ""
	done
}

@test "a run leaves no socket behind, and a killed one none that its guardian does not remove" {
	run_fairpar -j1 'ls "$FAIRPAR_POOL_DIR"; : {}' ::: a
	assert_eq "${lines[0]%%+*}" jobs
	assert_eq "$(ls "$FAIRPAR_POOL_DIR")" ''
	run_fairpar 137 -j1 'kill -9 $PPID; : {}' ::: a
	until [[ -z $(ls "$FAIRPAR_POOL_DIR") ]]; do :; done
}

@test "the socket of a run that was killed together with its guardian is removed by a later one" {
	make_fifo begun go
	start_fairpar -j1 'ls "$FAIRPAR_POOL_DIR" >begun; exec sleep 1000 #' ::: a
	read -r left <begun
	kill -STOP "$fairpar_pid" # so that it starts no other guardian
	! pkill -KILL -P "$fairpar_pid" -f internal-guardian || :
	kill -KILL "$fairpar_pid"
	end_fairpar 137
	[[ -e $FAIRPAR_POOL_DIR/$left ]] || fail "it is removed already"
	start_fairpar -j1 'read -r _ <go #' ::: a
	wait_for [ ! -e "$FAIRPAR_POOL_DIR/$left" ]
	[[ $(ls "$FAIRPAR_POOL_DIR") = "jobs+$fairpar_pid-"* ]]
	release go
	end_fairpar
}

@test "slots that a killed inner run was lent come back" {
	make_fifo t.1 t.2
	TOGETHER=t run_fairpar 1 -j2 'if [ {} = a ]; then "$FAIRPAR" -j2 "kill -9 \$PARALLEL_PID; sleep 1000; : {}" ::: 1 2; else
		"$FAIRPAR" "$together" ::: 1 2; fi' ::: a b
	TOGETHER=t run_fairpar 1 -j2 --halt never '"$FAIRPAR" -j2 "kill -9 \$PARALLEL_PID; sleep 1000; : {}" ::: 1 2 >/dev/null 2>&1; : {}
		[ {} = a ] && exit 1; "$FAIRPAR" "$together" ::: 1 2' ::: a b
}

@test "when the outer run is killed, the runs in its jobs end, and leave nothing" {
	make_fifo in
	exec 5<>in
	start_fairpar -j2 '"$FAIRPAR" "echo \$PPID >in; exec sleep 1000; : {}" ::: 1 2; : {}' ::: a b 5>&-
	read -rt "$patience" <&5; read -rt "$patience" <&5 # they may write both at once
	kill -KILL "$fairpar_pid"
	end_fairpar 137
}

@test "what a job leaves running keeps its slot as long as a job of it runs" {
	make_fifo go in
	start_fairpar -j1 'if [ {} = a ]; then "$FAIRPAR" "echo >in; read -r _ <go; echo inner >>order; : {}" ::: 1 & read -r _ <in
		else echo next >>order; fi' ::: a b
	release go
	end_fairpar
	assert_eq "$(<order)" $'inner\nnext'
}

@test "an interrupted run ends the runs in its jobs, and leaves nothing" {
	make_fifo in
	start_fairpar -j2 '"$FAIRPAR" "echo >in; sleep 1000; : {}" ::: 1 2; : {}' ::: a b
	await in
	kill -TERM "$fairpar_pid"
	end_fairpar 143
}

@test "more runs below each other than 32 are refused" {
	cat >deeper <<-'END'
	if [ "$1" -gt 0 ]; then "$FAIRPAR" sh deeper ::: $(($1 - 1)); else echo deep; fi
	END
	run_fairpar -j1 'sh deeper {}' ::: 30
	assert_lines deep
	run_fairpar 1 -j1 'sh deeper {}' ::: 40
	assert_contains "$stderr" "too many fairpars run nested, each in a job of another"
}

@test "a job finds one FAIRPAR_SOCK, its own" {
	run_fairpar -j1 '"$FAIRPAR" "env; : {}" ::: 1; : {}' ::: a
	assert_eq "$(grep -c '^FAIRPAR_SOCK=' <<<"$output")" 1
	FAIRPAR_SOCK=@nobody:1:2 run_fairpar -j1 'env; : {}' ::: a
	assert_eq "$(grep -c "^FAIRPAR_SOCK=$FAIRPAR_POOL_DIR/jobs+" <<<"$output")" 1
}
