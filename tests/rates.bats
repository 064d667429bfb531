# Rates: --rate and the manifest's rate, how often jobs of a batch start; and --retry-delay, when a failed job is tried again.
#
# An hour's rate stands for "not in this test": what has to wait for its token never starts, and what need not is there.
# Of short rates only the least time between two starts is looked at, which no other load of the machine makes shorter.

load helper

# manifest: the batches on stdin, below "batches:", as m.yaml.
manifest() {
	{ printf 'version: 1\n' && echo 'batches:' && cat; } >m.yaml
}

# start_heard ARGUMENT …: as start_fairpar, with its messages on descriptor 5.
start_heard() {
	make_fifo said
	exec 5<>said
	printf '#!/bin/sh\nexec "%s" "$@" 2>said 5>&-\n' "$FAIRPAR" >heard
	chmod +x heard
	FAIRPAR=$PWD/heard start_fairpar "$@"
}

# heard TEXT: reads its messages up to the one with that text, which is then $line.
heard() {
	while read -r -t "$patience" -u 5 line; do
		[[ $line != *"$1"* ]] || return 0
	done
	fail "never said: $1"
}

# started N: waits until that many jobs have written a line into the FIFO at descriptor 6.
started() {
	local i
	for ((i = 0; i < $1; ++i)); do
		read -r -t "$patience" -u 6 _ || fail "only $i have started"
	done
}

# stop_fairpar: by a signal, with what waits for its token.
stop_fairpar() {
	kill -TERM "$fairpar_pid"
	end_fairpar 143
}

# gaps: the least time between two dispatches of a batch in the file trace, in milliseconds.
gaps() {
	jq -s '[group_by(.batch)[] | map(.t) | sort | [.[1:], .[:-1]] | transpose[] | .[0] - .[1]] | min * 1000 | floor' trace
}

@test "--rate spaces the starts of each batch evenly" {
	need jq
	run_fairpar -j8 --rate 50/s --trace-service trace echo ::: 1 2 3 4 5 6
	assert_set 1 2 3 4 5 6
	[[ $(gaps) -ge 20 ]]
}

@test "each batch has a bucket of its own, and --batch-by makes one for each host" {
	make_fifo ran.fifo
	exec 6<>ran.fifo
	start_fairpar -j6 --rate 1/h --batch-by '{1}' --colsep / 'echo {2} >>ran; echo >ran.fifo' \
		::: a/a1 a/a2 b/b1 b/b2 c/c1 c/c2 6>&-
	started 3
	stop_fairpar
	assert_eq "$(sort ran | tr '\n' ' ')" 'a1 b1 c1 '
}

@test "who waits for a token holds no slot, and --explain says for how long" {
	manifest <<'END'
  slow: {args: [1, 2, 3], rate: 1/h, run: "echo {} >>slow.ran"}
  fast: {args: [1, 2, 3, 4, 5, 6, 7, 8, 9], rate: 1000/s, run: "echo {} >>fast.ran"}
  asks: {needs: fast, run: "kill -USR1 $PARALLEL_PID"}
END
	start_heard -j1 --explain --rate 'sl*=2/h' -f m.yaml
	heard "batch 'slow': "
	assert_contains "$line" "batch 'slow': 2 queued, 0 running; the next job waits for its rate of 2/h: next start in 1"
	stop_fairpar
	assert_eq "$(cat slow.ran)" 1
	assert_eq "$(wc -l <fast.ran)" 9
}

@test "the last --rate that fits a batch counts, and one without a batch is for all" {
	run_fairpar --rate 1/h --rate 1000000/s echo ::: 1 2 3
	assert_set 1 2 3
	run_fairpar --rate 1/h --rate 'def*=1000/s' echo ::: 1 2 3
	assert_set 1 2 3
}

@test "an attempt is a start, and so is a step: they wait for a token" {
	need jq
	run_fairpar 1 -j2 --retries 3 --rate 20/s --trace-service trace false ::: 1
	assert_eq "$(wc -l <trace)" 3
	[[ $(gaps) -ge 50 ]]
	run_fairpar -j2 --rate 20/s --trace-service trace --then 'true' --then 'true' true ::: 1
	assert_eq "$(wc -l <trace)" 3
	[[ $(gaps) -ge 50 ]]
}

@test "a job that needs no slot after all gives its token back" {
	touch 1.out 2.out 3.out
	manifest <<'END'
  a: {args: [1, 2, 3, 4], rate: 1/h, run: "echo {} >{}.out", creates: "{}.out"}
END
	run_fairpar -j2 -f m.yaml
	assert_eq "$(cat 4.out)" 4
}

@test "the rate of a manifest is that of its batch, unless the command line says otherwise" {
	make_fifo ran.fifo
	exec 6<>ran.fifo
	manifest <<'END'
  slow: {args: [1, 2], rate: 1/h, run: "echo {} >>slow; echo >ran.fifo"}
  fast: {args: [1, 2, 3], run: "echo {} >>fast; echo >ran.fifo"}
END
	start_fairpar -f m.yaml 6>&-
	started 4
	stop_fairpar
	assert_eq "$(cat slow)" 1
	assert_eq "$(sort fast | tr '\n' ' ')" '1 2 3 '
	rm slow
	run_fairpar -f m.yaml --rate slow=1000/s 6>&-
	assert_eq "$(sort slow | tr '\n' ' ')" '1 2 '
}

@test "what is no job of its batch takes no token: the listing of its items, on_failure, finally" {
	manifest <<'END'
  a: {args_from: {command: "echo 1"}, rate: 1/h, run: "exit {}", on_failure: "echo failed", finally: "echo clean"}
END
	run_fairpar 1 -f m.yaml
	assert_lines failed clean
}

@test "finally and a halt wait for no token" {
	manifest <<'END'
  a: {args: [1, 2], rate: 1/h, run: "exit {}", finally: "echo clean"}
END
	run_fairpar any --halt now,fail=1 -f m.yaml
	assert_lines clean
}

@test "slots that are lent to a fairpar in a job take no token, and those jobs have no rate of its batch" {
	make_fifo meet
	cat >inner <<-'END'
		if [ "$1" = 1 ]; then echo met >meet; else cat meet; fi
	END
	cat >outer <<-'END'
		exec "$FAIRPAR" 'sh inner' ::: 1 2
	END
	run_fairpar -j2 --rate 1/h 'sh outer; : {}' ::: a
	assert_lines met
}

@test "a run that waits for a token leaves its slot to others" {
	make_fifo began
	cat >two <<-'END'
		"$FAIRPAR" --quiet --rate 1/h 'echo >began; : {}' ::: 1 2 &
		read -r _ <began
		"$FAIRPAR" echo ::: other
		kill -TERM $!
		wait $!
		echo $?
	END
	run_fairpar -j1 'sh two; : {}' ::: a
	assert_lines other 143
}

@test "a job that was added waits for a token of its batch, also if it is waited for" {
	need jq
	cat >adds <<-'END'
		"$FAIRPAR" --wait $("$FAIRPAR" --add echo added)
		"$FAIRPAR" --add echo more >/dev/null
	END
	run_fairpar -j1 -u --rate 20/s --trace-service trace 'sh adds; echo {}' ::: 1
	assert_lines added 1 more
	assert_eq "$(wc -l <trace)" 3
	[[ $(gaps) -ge 50 ]]
	run_fairpar -j1 --rate default=1/h 'case {} in 1) "$FAIRPAR" --add --batch other echo added >/dev/null ;; esac' ::: 1
	assert_lines added
}

@test "what --resume skips takes no token" {
	run_fairpar --joblog joblog echo ::: 1 2 3
	run_fairpar --joblog joblog --resume --rate 1/h echo ::: 1 2 3 4
	assert_lines 4
}

@test "no time is spent on waiting for a token" {
	need strace
	traced -f -qq -o calls -e trace=futex,poll,ppoll,clock_nanosleep "$FAIRPAR" -j3 --rate 2/s true ::: 1 2 3
	[[ $(grep -c ETIMEDOUT calls) -le 2 ]] # one for each of the two tokens that are waited for
	[[ $(grep -c Timeout calls) -le 3 ]]   # of the event loop, when jobs end
}

@test "a pack takes one token" {
	run_fairpar -j1 --rate 1/h -n 10 echo ::: 1 2 3 4 5
	assert_lines '1 2 3 4 5'
}

@test "--rate is nothing to a run that only shows its commands" {
	run_fairpar --dry-run --rate 1/h echo ::: 1 2 3
	assert_lines 'echo 1' 'echo 2' 'echo 3'
	run_fairpar 255 --rate 5 echo ::: 1
	assert_eq "$stderr" "fairpar: error: --rate must be a rate such as 5/s, 30/m or 100/h, or BATCH=RATE, not '5'"
	run_fairpar --rate nosuch=5/s echo ::: 1
	assert_contains "$stderr" "--rate: there is no batch 'nosuch', unless a job adds it"
}

@test "a --rate for a batch that is not there is told of before anything runs" {
	export err=$BATS_TEST_TMPDIR/stderr
	run_fairpar --rate nosuch=5/s 'cat "$err" #' ::: 1
	assert_contains "$output" "--rate: there is no batch 'nosuch', unless a job adds it"
	assert_eq "$output" "$stderr" # once
	run_fairpar --batch-by '{}' --rate nosuch=5/s echo ::: 1
	assert_contains "$stderr" "--rate: there was no batch 'nosuch'"
}

@test "the log says what had to wait for its rate" {
	need jq
	run_fairpar -j4 --rate 4/s --log log true ::: 1 2 3 4 5 6
	# the reason is what has taken longest: for one job it could be its thread, not for all of them
	assert_contains "$(jq -r 'select(.ev == "job_start").why' log)" rate
	run_fairpar --from-log log --explain
	assert_contains "$output" '  default: waited for the rate of its batch: '
}

# ---- --retry-delay ----

@test "--retry-delay lets time pass before each attempt, more each time, up to the longest" {
	need jq
	run_fairpar 1 --retries 5 --retry-delay 0.02,3,0.1 --log log 'echo $FAIRPAR_ATTEMPT >>ran; false' ::: 1
	assert_eq "$(tr '\n' ' ' <ran)" '1 2 3 4 5 '
	local i gaps least=(20 60 100 100)
	mapfile -t gaps < <(jq -s '[.[] | select(.ev == "job_start").t] as $starts | [.[] | select(.ev == "job_end").t] as $ends |
		range(4) | ($starts[. + 1] - $ends[.]) * 1000 | floor' log)
	for i in 0 1 2 3; do
		[[ ${gaps[i]} -ge ${least[i]} ]] || fail "pause $i: ${gaps[i]} ms"
	done
}

@test "a job that waits for its attempt holds no slot" {
	make_fifo ran.fifo
	exec 6<>ran.fifo
	start_fairpar -j1 --retries 2 --retry-delay 1h 'echo {} >>ran; echo >ran.fifo; test {} -gt 1' ::: 1 2 3 6>&-
	started 3
	stop_fairpar
	assert_eq "$(tr '\n' ' ' <ran)" '1 2 3 '
}
