# The log of events, --log: each event and each of its keys in real runs, and a log that cannot be written.

load helper

# events FILTER: what jq makes of the log run.jsonl, as a list
events() { jq -cs "$@" run.jsonl; }

# Each line is whole, and times do not go back.
check_log() {
	jq -es 'length > 0 and all(.[]; .v == 1 and (.ev | type) == "string") and ([.[].t] | . == sort)' run.jsonl >/dev/null ||
		fail "it is no good log:" "$(head -c 3000 run.jsonl)"
}

# What the end says is what the lines before it add up to.
check_sums() {
	assert_eq "$(events '.[-1] | [.ev, .ok, .failed, .cancelled, .skipped]')" "$(events '
		[.[] | select(.ev == "job_end" and .next == null and (.role == null or
			(.role == "listing" and (.status | IN("ok", "cancelled") | not))))] as $ends |
		[.[] | select(.ev == "lost")] as $lost |
		["run_end", ([$ends[] | select(.status == "ok")] | length),
			([$ends[] | select(.status | IN("failed", "signal", "timeout", "spawn_error"))] | length),
			([$ends[] | select(.status == "cancelled")] | length) + ([$lost[] | select(.status == "cancelled").jobs] | add // 0),
			([$lost[] | select(.status == "skipped").jobs] | add // 0)]')"
	assert_eq "$(events '[.[] | select(.ev == "batch_end")] | [(map(.ok) | add), (map(.failed) | add), (map(.cancelled) | add)]')" \
		"$(events '.[-1] | [.ok, .failed, .cancelled]')"
}

@test "a run has its events in order, with all they have to say" {
	need jq
	run_fairpar 1 --log run.jsonl --joblog rows -j1 sh -c ::: 'echo out; echo err >&2' 'echo gone; exit 3'
	check_log
	assert_eq "$(events '[.[].ev]')" \
		'["run_start","batch_start","job_start","job_end","job_start","job_end","batch_end","run_end"]'
	assert_eq "$(events '.[0] | keys_unsorted')" \
		'["v","ev","t","time","run","version","host","pid","slots","fair","argv","cwd","manifest","name","joblog","parent"]'
	assert_eq "$(events '.[0] | [.t + 0, .slots, .fair, .argv[1:3], .joblog, .manifest, .parent, (.run | length)]')" \
		'[0,1,"turns",["--log","run.jsonl"],"rows",null,null,26]'
	assert_eq "$(events '.[0].cwd')" "\"$PWD\""
	assert_eq "$(events '.[1] | del(.t)')" \
		'{"v":1,"ev":"batch_start","batch":"default","weight":1,"priority":0,"max_parallel":null,"jobs":null}'
	assert_eq "$(events '.[2] | keys_unsorted - ["why"]')" \
		'["v","ev","t","job","batch","seq","attempt","slot","nslots","pid","source","lag","queued","cmd","args"]'
	assert_eq "$(events '.[2] | [.job, .batch, .seq, .attempt, .slot, .nslots, .source, .lag, .cmd, .args]')" \
		'["default#1","default",1,1,1,1,"queue",0,"sh -c '"'echo out; echo err >&2'"'",["echo out; echo err >&2"]]'
	assert_eq "$(events '.[3] | keys_unsorted')" '["v","ev","t","job","batch","seq","attempt","slot","status","exit",'"$(
	)"'"signal","queued","start","wall","user","sys","maxrss","nvcsw","nivcsw","out_bytes","err_bytes"]'
	assert_eq "$(events '.[3] | [.job, .status, .exit, .signal, .out_bytes, .err_bytes, .maxrss > 100000, .wall > 0]')" \
		'["default#1","ok",0,null,4,4,true,true]'
	assert_eq "$(events '.[5] | [.job, .status, .exit, .tail]')" '["default#2","failed",3,"gone\n"]'
	assert_eq "$(events '.[6] | del(.t, .longest_wait)')" \
		'{"v":1,"ev":"batch_end","batch":"default","ok":1,"failed":1,"cancelled":0,"skipped":0}'
	assert_eq "$(events '.[6].longest_wait > 0')" true
	assert_eq "$(events '.[7] | keys_unsorted')" '["v","ev","t","ok","failed","cancelled","skipped","allowed","current",'"$(
	)"'"resumed","wall","slot_time","exit","signal"]'
	assert_eq "$(events '.[7].exit')" 1
	# a job ends after it has started, and lasts as long as the joblog says
	assert_eq "$(events '[.[3], .[5] | .start + .wall <= .t and .t - .start >= .wall] | all')" true
	paste <(tail -n +2 rows | awk '{ print $4 }') <(jq -r 'select(.ev == "job_end").wall' run.jsonl) |
		awk '{ d = $1 - $2; if (d < -0.0011 || d > 0.0011) exit 1 }'
	check_sums
}

@test "the slots' time is the sum of the jobs', and the numbers of jobs and processes are their own" {
	need jq
	run_fairpar --log run.jsonl -j4 'echo $FAIRPAR_RUN $FAIRPAR_JOB $$; : {}' ::: 1 2 3 4 5 6
	check_log
	check_sums
	assert_eq "$(sort <<<"$output")" "$(jq -rs '.[0].run as $run | .[] | select(.ev == "job_start") |
		"\($run) \(.job) \(.pid)"' run.jsonl | sort)"
	assert_eq "$(events '([.[] | select(.ev == "job_end").wall] | add) - .[-1].slot_time | fabs < 0.0000001')" true
	assert_eq "$(events '[.[] | select(.ev == "job_start").slot] | all(. >= 1 and . <= 4)')" true
}

@test "a manifest's run: needs, then, emits, retries, on_failure, finally, creates, listings, skipped batches" {
	need jq
	touch there
	cat >m.yaml <<-'EOF'
		version: 1
		batches:
		  gen:
		    run: printf '%s\n' a b
		    emits: use
		  use:
		    weight: 2
		    run: "echo use {}; test {} != b"
		    retries: 1
		    retry_delay: 5ms
		    then: echo then {}
		    on_failure: echo sorry {}
		    finally: echo finally
		    allow_failure: true
		  next:
		    needs: [use]
		    run: exit 3
		  skipped:
		    needs: [next]
		    run: echo {}
		    args: [1, 2]
		  made:
		    run: touch {}
		    args: [there, new]
		    creates: "{}"
		  listed:
		    args_from: {command: "printf '%s\\n' x y"}
		    run: echo {}
		    max_parallel: 1
		  unlisted:
		    args_from: {command: "exit 4"}
		    run: echo {}
		  wide:
		    run: "true {}"
		    args: [1, 2]
		    slots_per_job: 2
		  beside:
		    run: "true {}"
		    args: [1]
		    long_running: true
	EOF
	run_fairpar 2 --log run.jsonl -j2 -f m.yaml
	check_log
	check_sums
	assert_eq "$(events '[.[] | select(.ev == "batch_start") | [.batch, .weight, .max_parallel, .long_running, .jobs]]')" \
		'[["gen",1,null,null,1],["use",2,null,null,null],["next",1,null,null,1],["skipped",1,null,null,2],'"$(
		)"'["made",1,null,null,2],["listed",1,1,null,null],["unlisted",1,null,null,null],["wide",1,null,null,2],["beside",1,null,true,1]]'
	assert_eq "$(events '.[0].manifest')" '"m.yaml"'
	# what happened to b: two attempts, and what follows a failure
	assert_eq "$(events 'first(.[] | select(.ev == "job_start" and .batch == "use" and .args == ["b"]).seq) as $b |
		[.[] | select(.seq == $b) | [.ev, .role, .attempt, .status, .next, .allowed, .tail]] | unique_by(tostring) | length')" 6
	assert_eq "$(events '[.[] | select(.ev == "job_end" and .batch == "use" and .next == "retry")] | map([.status, .attempt])')" \
		'[["failed",1]]'
	assert_eq "$(events '[.[] | select(.ev == "job_end" and .allowed)] | map([.batch, .attempt, .tail])')" '[["use",2,"use b\n"]]'
	assert_eq "$(events '[.[] | select(.role == "on_failure") | [.ev, .status, .cmd]]')" \
		'[["job_start",null,"echo sorry b"],["job_end","ok",null]]'
	assert_eq "$(events '[.[] | select(.role == "finally") | [.ev, .job, .seq]]')" \
		'[["job_start","use#0",0],["job_end","use#0",0]]'
	assert_eq "$(events '[.[] | select(.step == 1) | [.ev, .batch, .cmd]]')" '[["job_start","use","echo then a"],["job_end","use",null]]'
	assert_eq "$(events '[.[] | select(.ev == "job_end" and .next == "then").batch]')" '["use"]'
	# where they came from
	assert_eq "$(events '(.[] | select(.ev == "job_start" and .batch == "gen").seq) as $gen |
		[.[] | select(.ev == "job_start" and .batch == "use" and .role == null and .attempt == 1 and .step == null).from == $gen]')" \
		'[true,true]'
	assert_eq "$(events '[.[] | select(.ev == "job_end" and .current) | [.job, .start, .slot, .status]]')" '[["made#1",null,0,"ok"]]'
	assert_eq "$(events '[.[] | select(.role == "listing" and .ev == "job_end") | [.batch, .status, .exit]] | sort')" \
		'[["listed","ok",0],["unlisted","failed",4]]'
	assert_eq "$(events '[.[] | select(.ev == "lost") | [.batch, .status, .jobs, .why]]')" \
		'[["skipped","skipped",2,"it needs '"'next'"', which failed"]]'
	assert_eq "$(events '[.[] | select(.batch == "wide" and .ev == "job_start").nslots]')" '[2,2]'
	assert_eq "$(events '[.[] | select(.batch == "beside" and .ev == "job_start") | [.source, .slot > 2]]')" '[["long",true]]'
	# what waited
	assert_eq "$(events '[.[] | select(.ev == "wait" and .why == "needs") | [.batch, .job, .for]]')" \
		'[["next",null,"use"],["skipped",null,"next"]]'
	assert_eq "$(events '[.[] | select(.ev == "wait_end" and .why == "needs") | [.batch, .wall >= 0, .since < .t]]')" \
		'[["next",true,true],["skipped",true,true]]'
	# … and behind the pause the attempt may wait for its turn too, so its job_start may say that
	assert_eq "$(events '[.[] | select(.why == "retry" and .batch == "use" and .ev != "job_start") | .ev]')" '["wait","wait_end"]'
	assert_eq "$(events '.[-1] | [.failed, .allowed, .skipped, .current]')" '[3,1,2,1]'
	# a batch ends after all of it
	assert_eq "$(events '. as $all | [range(length) | select($all[.].ev == "batch_end")] | all(. as $i |
		$all[$i + 1:] | all(.batch != $all[$i].batch))')" true
}

@test "jobs that fail in every way, with the end of what they wrote" {
	need jq
	run_fairpar 1 --log run.jsonl --timeout 0.1 sh -c ::: 'sleep 60'
	check_sums
	assert_eq "$(events '[.[] | select(.ev == "job_end") | [.status, .exit, .signal]]')" '[["timeout",null,15]]'
	run_fairpar 3 --log run.jsonl -j1 sh -c ::: 'seq 30' 'seq 30; seq 20 25 >&2; printf x; exit 7' 'kill -9 $$' \
		'yes 0123456789 | head -c 100000; exit 1' true
	check_sums
	assert_eq "$(events '[.[] | select(.ev == "job_end") | [.status, .exit, .signal]]')" \
		'[["ok",0,null],["failed",7,null],["signal",null,9],["failed",1,null],["ok",0,null]]'
	assert_eq "$(events '[.[] | select(.ev == "job_end").tail][0]')" null
	assert_eq "$(events '[.[] | select(.ev == "job_end").tail][1]')" '"28\n29\n30\nx\n20\n21\n22\n23\n24\n25\n"'
	assert_eq "$(events '[.[] | select(.ev == "job_end").tail][3]')" \
		"\"$(yes 0123456789 | head -c 100000 | tail -n 10 | sed 's/$/\\n/' | tr -d '\n')\""
	run_fairpar 127 --halt now,fail=1 --log run.jsonl ./no-such-command ::: 1
	assert_eq "$(events '[.[] | select(.ev | startswith("job")) | [.ev, .pid, .status, .exit]]')" \
		'[["job_start",null,null,null],["job_end",null,"spawn_error",127]]'
	check_sums
	run_fairpar 1 --log run.jsonl --line-buffer -j1 sh -c ::: 'echo one; echo two >&2; exit 1'
	assert_eq "$(events '[.[] | select(.ev == "job_end").tail]')" '["one\ntwo\n"]'
	run_fairpar 1 --log run.jsonl --results out sh -c ::: 'seq 30; exit 1'
	assert_eq "$(events '.[] | select(.ev == "job_end").tail')" "\"$(seq 21 30 | sed 's/$/\\n/' | tr -d '\n')\""
}

@test "a halt: what was cut off and what never started" {
	need jq
	make_fifo go
	run_fairpar 1 --log run.jsonl -j2 --halt now,fail=1 sh -c ::: 'echo >go; exec sleep 60' 'read -r x <go; exit 1' 3 4 5 6
	check_log
	check_sums
	assert_eq "$(events '.[-1] | [.ok, .failed, .cancelled, .exit]')" '[0,1,5,1]'
	# one event, or two: a free slot may have taken a job at this moment
	assert_eq "$(events '[.[] | select(.ev == "lost")] | [(map(.jobs) | add), (map([.status, .why]) | unique)]')" '[4,[["cancelled","--halt now,fail=1"]]]'
}

@test "what was cut off before it began has the reason" {
	need jq
	lost() { events '[.[] | select(.ev == "lost") | [.batch, .status, .why]] | unique'; }
	cat >m.yaml <<-'EOF'
		version: 1
		slots: 1
		fail_fast: true
		batches:
		  one: {args: [1, 2, 3], run: 'exit {}'}
		  two: {needs: [one], args: [4], run: 'true {}'}
	EOF
	run_fairpar 1 --log run.jsonl -f m.yaml
	assert_contains "$(lost)" '["one","cancelled","fail_fast"]'
	run_fairpar 1 --log run.jsonl -f m.yaml --halt soon,done=1
	assert_contains "$(lost)" '["one","cancelled","--halt soon,done=1"]'
	make_fifo started
	# a job that ends at once could make room for the next before the queue is dropped
	start_fairpar --log run.jsonl -j1 --term-seq TERM,1500,KILL,25 'trap "" TERM; echo >started; sleep 60 #' ::: 1 2 3
	await started
	kill -TERM "$fairpar_pid"
	end_fairpar 143
	assert_eq "$(lost)" '[["default","cancelled","SIGTERM"]]'
	run_fairpar --from-log run.jsonl --explain
	assert_contains "$output" 'CANCELLED default: 2 jobs: SIGTERM'
	status=0
	"$FAIRPAR" --log run.jsonl -j1 -n1 echo ::: {1..200} >/dev/full 2>err || status=$?
	assert_eq "$status" 255
	assert_contains "$(lost)" '["default","cancelled","output cannot be written: No space left on device"]'
}

@test "a signal: the log has its end" {
	need jq
	make_fifo started
	start_fairpar --log run.jsonl -j1 sh -c ::: 'echo >started; exec sleep 60' 2 3
	await started
	kill -INT "$fairpar_pid"
	end_fairpar 130
	check_log
	check_sums
	assert_eq "$(events '.[-1] | [.cancelled, .exit, .signal]')" '[3,130,2]'
}

@test "killed, it has lost the last line of each slot at most" {
	need jq
	make_fifo started
	start_fairpar --log run.jsonl -j1 sh -c ::: true 'echo >started; exec sleep 60'
	await started
	until [[ $(tail -n 1 run.jsonl) == *'"job_start"'*'"seq":2'* ]]; do :; done
	kill -KILL "$fairpar_pid"
	end_fairpar 137
	check_log
	assert_eq "$(events '[.[].ev]')" '["run_start","batch_start","job_start","job_end","job_start"]'
}

@test "nothing is held back when the run is idle" {
	make_fifo items
	start_fairpar --log run.jsonl -j2 -a items true
	exec {items}>items
	for n in 1 2 3; do
		echo $n >&"$items"
		wait_for grep -q "\"job_end\".*\"seq\":$n," run.jsonl
	done
	exec {items}>&-
	end_fairpar
}

@test "why jobs have waited: their turn, the batch's limit, the delay" {
	need jq
	run_fairpar --log run.jsonl -j1 sleep ::: 0.03 0.02
	assert_eq "$(events '[.[] | select(.ev == "job_start")][1] | [.why, .queued > 0.02]')" '["turn",true]'
	# the reason is what has taken longest: for one job it could be its thread, not for all of them
	run_fairpar --log run.jsonl -j3 --max-parallel default=1 sleep ::: 0.1 0.1 0.1 0.1 0.01
	assert_eq "$(events 'map(select(.why == "limit") | .queued > 0.02) | [any, all]')" '[true,true]'
	run_fairpar --log run.jsonl -j3 --delay 0.1 true ::: 1 2 3 4 5 6
	assert_eq "$(events 'map(select(.why == "delay") | .queued > 0.05) | [any, all]')" '[true,true]'
}

@test "waits for memory, of one job and of all, are told when they begin" {
	need jq
	cat >m.yaml <<-EOF
		version: 1
		batches:
		  a:
		    run: "until grep -q '\"why\":\"memory\"' run.jsonl; do :; done; : {}"
		    args: [1, 2]
		    memory: $(awk '/MemAvailable/ { print int($2 * 0.6 / 1024) }' /proc/meminfo)M
	EOF
	FAIRPAR_CGROUP_ROOT=$PWD/nosuch run_fairpar --log run.jsonl -j2 -f m.yaml # in a cgroup there are limits, and no waits
	assert_eq "$(events '[.[] | select(.why == "memory" and .ev != "job_start") | [.ev, .batch]]')" \
		'[["wait","a"],["wait_end","a"]]'
	start_fairpar --log run.jsonl --memfree 1000000G true ::: 1
	wait_for grep -q '"wait".*"batch":null,"job":null,"why":"memory","for":"[^"]* --memfree' run.jsonl
	kill -TERM "$fairpar_pid"
	end_fairpar 143
	assert_eq "$(events '[.[] | select(.ev == "job_end" or .ev == "lost") | [.ev, .status, .jobs]]')" '[["lost","cancelled",1]]'
	check_sums
}

@test "a retry that the end of the run cuts off ends its job" {
	need jq
	make_fifo go
	start_fairpar --log run.jsonl -j2 --retries 2 --halt soon,fail=1 sh -c ::: 'read -r x <go; exit 1' 'exit 1' never
	wait_for grep -q '"lost"' run.jsonl
	echo >go
	end_fairpar any
	check_log
	check_sums
	assert_eq "$(events '.[-1] | [.failed, .cancelled]')" '[2,1]'
	assert_eq "$(events '[.[] | select(.ev == "job_end" and .seq == 1)] | [(.[0] | [.next, .attempt]), (.[1] | [.next, .attempt])]')" \
		'[["retry",1],[null,1]]'
	assert_eq "$(events '[.[] | select(.ev == "job_end" and .seq == 1) | [.status, .exit, .start != null]]')" \
		'[["failed",1,true],["failed",1,false]]'
	assert_contains "$stderr" 'FAILED #1: exit 1: '
	cp "$BATS_TEST_TMPDIR/stderr" said
	run_fairpar --from-log run.jsonl
	assert_eq "$(sed -n '/FAILED/p' <<<"$output")" "$(sed -n '/FAILED/p' said)"
}

@test "a retry that is queued when the run is cut short ends its job as failed" {
	need jq
	cat >m.yaml <<-'EOF'
		version: 1
		fail_fast: true
		slots: 1
		batches:
		  a: {run: "exit 3", retries: 1, then: "echo never"}
		  c: {run: "true", then: "echo never"}
		  b: {run: "exit 1"}
	EOF
	run_fairpar 1 --log run.jsonl --joblog rows -f m.yaml
	check_log
	check_sums
	assert_eq "$(events '[.[] | select(.ev == "job_end" and .batch == "a") | [.status, .exit, .attempt, .next]]')" \
		'[["failed",3,1,"retry"],["failed",3,1,null]]'
	assert_eq "$(events '[.[] | select(.ev == "lost")]')" '[]'
	assert_eq "$(events '[.[] | select(.ev == "job_end" and .batch == "c") | [.status, .step, .next]]')" \
		'[["ok",null,"then"],["cancelled",1,null]]'
	assert_contains "$stderr" '2 of 3 jobs failed: b#1 (exit 1), a#1 (exit 3)'
	assert_eq "$(cut -f 7,9 rows | sort -u)" $'1\texit 1\n3\texit 3\nExitval\tCommand'
}

@test "a changed number of slots is told" {
	need jq
	echo 1 >slots
	run_fairpar --log run.jsonl -j slots sh -c ::: 'echo 3 >slots' true true
	assert_eq "$(events '[.[] | select(.ev == "slots") | [.slots, .why]]')" '[[3,"-j"]]'
}

@test "--log-output has what jobs write, with its stream, also when it is emitted or kept in files" {
	need jq
	run_fairpar --log run.jsonl --log-output -j1 sh -c ::: 'printf "a\377\0"; echo b >&2'
	assert_eq "$(events '[.[] | select(.ev == "output") | [.job, .stream, .data, .data_b64]] | sort')" \
		'[["default#1","stderr","b\n",null],["default#1","stdout","a�\u0000","Yf8A"]]'
	assert_eq "$(od -An -c "$BATS_TEST_TMPDIR/stdout" | tr -d ' ')" 'a377\0'
	for how in --line-buffer --keep-order '--results out' --tag; do
		# shellcheck disable=SC2086 # two words
		run_fairpar --log run.jsonl --log-output $how seq ::: 3
		assert_eq "$(events '[.[] | select(.ev == "output").data] | add')" '"1\n2\n3\n"'
	done
	cat >m.yaml <<-'EOF'
		version: 1
		batches:
		  a: {run: seq 3, emits: b}
		  b: {run: "echo got {}"}
	EOF
	run_fairpar --log run.jsonl --log-output -f m.yaml
	assert_set 'got 1' 'got 2' 'got 3'
	assert_eq "$(events '[.[] | select(.ev == "output" and .batch == "a").data] | add')" '"1\n2\n3\n"'
	assert_eq "$(events '.[] | select(.ev == "job_end" and .batch == "a").out_bytes')" 6
	run_fairpar 255 --log-output true ::: 1
	assert_contains "$stderr" '--log-output needs a log'
}

@test "hostile names and items come through" {
	need jq
	name=$'a"\\\n\t\x01b\xff'
	run_fairpar --log run.jsonl --batch "$name" printf '%s' ::: $'x\ny' $'\xfe"'
	check_log
	check_sums
	assert_eq "$(events '[.[] | select(.batch).batch_b64] | unique')" "[\"$(printf %s "$name" | base64 -w0)\"]"
	assert_eq "$(events '[.[] | select(.ev == "job_start") | [.args, .args_b64, .job_b64]] | sort')" "$(
		jq -nc --arg one "$(printf '%s#1' "$name" | base64 -w0)" --arg two "$(printf '%s#2' "$name" | base64 -w0)" \
			--arg item "$(printf '\xfe"' | base64 -w0)" '[[["x\ny"], null, $one], [["�\""], [$item], $two]]')"
}

@test "fifty jobs at once, long lines: none is torn, none is lost" {
	need jq
	long=$(head -c 60000 /dev/zero | tr '\0' x)
	run_fairpar --log run.jsonl -j50 --log-output 'echo {} >&2; :' "$long" ::: {1..300}
	check_log
	check_sums
	assert_eq "$(events '[.[] | select(.ev == "job_end")] | length')" 300
	assert_eq "$(events '[.[] | select(.ev == "job_start").cmd | length > 60000] | all')" true
	# the same through a pipe, which does not take such a line at once
	"$FAIRPAR" --log fd:5 -j50 'echo {} >&2; :' "$long" ::: {1..100} 5>&1 >/dev/null 2>&1 3>&- | cat >run.jsonl
	check_log
	check_sums
	assert_eq "$(events '[.[] | select(.ev == "job_end")] | length')" 100
}

@test "--log - stands between the output of jobs, in whole lines" {
	need jq
	run_fairpar --log - -j4 'printf "%s\n" {} {}; printf {}' ::: {1..50}
	grep '^{"v":1,' "$BATS_TEST_TMPDIR/stdout" >run.jsonl
	check_log
	check_sums
	assert_eq "$(grep -cv '^{"v":1,' "$BATS_TEST_TMPDIR/stdout")" 150
	assert_eq "$(grep -cvE '^([0-9]+|\{"v":1,.*\})$' "$BATS_TEST_TMPDIR/stdout")" 0
	# a job's output is not cut
	assert_eq "$(grep -v '^{' "$BATS_TEST_TMPDIR/stdout" | uniq | sort -n)" "$(seq 50)"
	run_fairpar --log - -k echo ::: 1 2 3
	assert_eq "$(grep -v '^{' "$BATS_TEST_TMPDIR/stdout")" $'1\n2\n3'
	run_fairpar --log - -u echo ::: 1
	assert_eq "$(grep -c '^{"v":1,' "$BATS_TEST_TMPDIR/stdout")" 6
	run_fairpar 255 --log - --results x.csv echo ::: 1
	assert_contains "$stderr" '--log -'
}

@test "fd:N is a descriptor, which jobs do not get" {
	need jq
	"$FAIRPAR" --log fd:7 'ls /proc/self/fd; : {}' ::: 1 7>run.jsonl >out 3>&-
	check_log
	assert_eq "$(grep -cx 7 out)" 0
	for bad in fd:8 fd:0 /nowhere/at/all .; do
		run_fairpar 255 --log $bad touch ran ::: 1 </dev/null
		assert_contains "$stderr" "cannot write the log '$bad'"
		[[ ! -e ran ]]
	done
	run_fairpar 255 --log '' true ::: 1
}

@test "fd:N that is no descriptor, or not one to write to, is refused in every mode, and makes no file" {
	local word
	for word in fd: fd:x fd:3x fd:-1 fd:+3 'fd: 3' fd:12345678901; do
		run_fairpar 255 --log "$word" touch ran ::: 1
		assert_contains "$stderr" "--log $word: 'fd:' must be followed by the number of a descriptor (for a file of that name, write './$word')"
	done
	run_fairpar 255 --log fd:8 touch ran ::: 1
	assert_contains "$stderr" "cannot write the log 'fd:8': descriptor 8 is not open"
	run_fairpar 255 --log fd:0 touch ran ::: 1 </dev/null
	assert_contains "$stderr" "cannot write the log 'fd:0': descriptor 0 is open for reading only"
	run_fairpar 255 --log fd:8 --dry-run touch ran ::: 1
	run_fairpar 255 --semaphore --id "$BATS_TEST_TMPDIR" --log fd:8 touch ran
	assert_eq "$(ls)" ""
	run_fairpar --log ./fd:3x true ::: 1
	assert_eq "$(ls)" fd:3x
}

@test "the last --log wins" {
	run_fairpar --log one --log two true ::: 1
	assert_eq "$(ls)" two
}

@test "a log that cannot be written fails the run, once, and no job" {
	run_fairpar 255 --log /dev/full echo ::: 1 2 3
	assert_set 1 2 3
	assert_eq "$(grep -c "cannot write the log '/dev/full': No space left on device" <<<"$stderr")" 1
	status=0
	"$FAIRPAR" --log fd:5 -j1 'cat wait {}' ::: a b 5> >(exec 5<&- <&-; touch wait a b) >out 2>err 3>&- || status=$?
	until [[ -e b ]]; do :; done
	rm -f wait a b
	make_fifo gone go
	start_fairpar --log gone -j1 'test {} != 1 || timeout 1200 cat go >/dev/null; echo {}' ::: 1 2 3
	: <gone # opened, and closed
	release go
	end_fairpar 255
	assert_set 1 2 3
	assert_eq "$(grep -c "cannot write the log 'gone': Broken pipe" <<<"$stderr")" 1
}

@test "a reader that is slow holds up no job" {
	make_fifo log all go
	start_fairpar --log log -j1 'echo {}; [ {} != 500 ] || { echo >all; read -r _ <go; }' ::: {1..500}
	exec {reader}<log # which does not read
	await all
	cat <&"$reader" >read &
	local reading=$!
	wait_for grep -q '"job_end".*"seq":499,' read # if these jobs took more than half a minute, the end of the run would else give up the log at once
	release go
	end_fairpar
	wait "$reading"
	exec {reader}<&-
	assert_eq "$(grep -c '"ev":"job_end"' read)" 500
}

@test "--dry-run has no log" {
	run_fairpar --dry-run --log run.jsonl echo ::: 1
	assert_eq "$stderr" "fairpar: warning: --log has no effect with --dry-run"
	[[ ! -e run.jsonl ]]
}

@test "a run that a job started knows its parent" {
	need jq
	run_fairpar --log run.jsonl "$FAIRPAR" --log inner.jsonl echo ::: 1
	assert_eq "$(jq -rs '.[0].parent' inner.jsonl)" "$(events -r '.[0].run + "/default#1"')"
}

@test "the manual has every event and every key" {
	man=$(sed 's/\\-/-/g' "$BATS_TEST_DIRNAME/../man/fairpar-events.5")
	table=$BATS_TEST_DIRNAME/../src/log/events.def
	# shellcheck disable=SC2013 # words
	for key in $(sed -nE 's/^\tFIELD\("([a-z0-9_]+)",.*/\1/p' "$table" | sort -u); do
		grep -qE "^\.(It )?Li .*\b$key\b" <<<"$man" || fail "fairpar-events(5) has no $key"
	done
	for ev in $(sed -nE 's/^EVENT\([A-Z_]+, "([a-z_]+)",.*/\1/p' "$table"); do
		grep -qE "^\.Ss .*\b$ev\b" <<<"$man" || fail "fairpar-events(5) has no event $ev"
	done
}

