# Rates: --rate and the manifest's rate, how often jobs of a batch start; and --retry-delay, when a failed job is tried again.
#
# An hour's rate stands for "not in this test": what has to wait for its token never starts, and what need not is there.

load helper

# manifest: the batches on stdin, below "batches:", as m.yaml.
manifest() {
	{ printf 'version: 1\n' && echo 'batches:' && cat; } >m.yaml
}

# await_text FILE TEXT: waits until it is in that file.
await_text() {
	timeout "$patience" bash -c 'until grep -qsF -e "$2" "$1"; do :; done' bash "$1" "$2" || fail "never in $1: $2"
}

# explained TEXT: asks fairpar why jobs have not started until it says so.
explained() {
	timeout "$patience" bash -c 'until grep -qF -e "$2" "$1"; do kill -USR1 "$3" && env -u FAIRPAR_TEST sleep 0.05; done' \
		bash "$BATS_TEST_TMPDIR/stderr" "$1" "$fairpar_pid" || fail "never said: $1"
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
	make_fifo started
	exec 5<>started
	start_fairpar -j6 --rate 1/h --batch-by '{1}' --colsep / 'echo {2} >>ran; echo >started' \
		::: a/a1 a/a2 b/b1 b/b2 c/c1 c/c2 5>&-
	for _ in 1 2 3; do read -r -u 5 _; done
	stop_fairpar
	assert_eq "$(sort ran | tr '\n' ' ')" 'a1 b1 c1 '
}

@test "who waits for a token holds no slot, and --explain says for how long" {
	seq 3 >slow; seq 20 >fast
	start_fairpar -j1 --explain --rate '*=1000/s' --rate 'sl*=2/h' --batch slow=slow --batch fast=fast 'echo {} >>$FAIRPAR_BATCH.ran'
	explained "batch 'slow': 2 queued, 0 running; the next waits for its rate of 2/h: next start in 1"
	await_text fast.ran 20
	stop_fairpar
	assert_eq "$(cat slow.ran)" 1
	assert_eq "$(wc -l <fast.ran)" 20
}

@test "the last --rate that fits a batch counts, and one without a batch is for all" {
	run_fairpar --rate 1/h --rate 1000000/s echo ::: 1 2 3
	assert_set 1 2 3
	run_fairpar --rate 1/h --rate 'def*=1000/s' echo ::: 1 2 3
	assert_set 1 2 3
}

@test "an attempt is a start: it waits for a token" {
	start_fairpar -j2 --retries 3 --rate 1/h --log log --explain 'echo >>ran; false' ::: 1
	await_text log '"next":"retry"'
	explained "batch 'default': 1 queued, 0 running; the next waits for its rate of 1/h: next start in 3"
	stop_fairpar
	assert_eq "$(wc -l <ran)" 1
}

@test "so is a step" {
	start_fairpar -j2 --rate 1/h --explain --then 'echo step >>ran' 'echo first {} >>ran' ::: 1
	explained "the next waits for its rate of 1/h"
	stop_fairpar
	assert_eq "$(cat ran)" 'first 1'
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
	manifest <<'END'
  slow: {args: [1, 2], rate: 1/h, run: "echo {} >>slow"}
  fast: {args: [1, 2, 3], run: "echo {} >>fast"}
END
	start_fairpar -f m.yaml --explain
	explained "batch 'slow': 1 queued, 0 running; the next waits for its rate of 1/h"
	await_text fast 3
	stop_fairpar
	assert_eq "$(cat slow)" 1
	rm slow fast
	run_fairpar -f m.yaml --rate slow=1000/s
	assert_eq "$(sort slow | tr '\n' ' ')" '1 2 '
}

@test "finally and a halt wait for no token" {
	manifest <<'END'
  a: {args: [1, 2], rate: 1/h, run: "exit {}", finally: "echo clean"}
END
	run_fairpar any --halt now,fail=1 -f m.yaml
	assert_lines clean
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
	assert_contains "$stderr" "--rate: there was no batch 'nosuch'"
}

@test "the log says what had to wait for its rate" {
	need jq
	run_fairpar -j4 --rate 50/s --log log true ::: 1 2 3 4
	assert_eq "$(jq -rs '[.[] | select(.ev == "job_start") | .why // "none"] | .[1:] | unique | join(" ")' log)" rate
	run_fairpar --from-log log --explain=2
	assert_contains "$output" ' for the rate of its batch, then ran in slot '
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
	start_fairpar -j1 --retries 2 --retry-delay 1h 'echo {} >>ran; test {} -gt 1' ::: 1 2 3
	await_text ran 3
	stop_fairpar
	assert_eq "$(tr '\n' ' ' <ran)" '1 2 3 '
}
