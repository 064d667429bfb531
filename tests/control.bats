# A run is spoken to, from its jobs and by its name: --add, --wait, --wait-any, --cancel, --status, --run.
# shellcheck disable=SC2016 # the commands are for the shells of the jobs

load helper

setup() {
	helper_setup
	unset FAIRPAR_SOCK FAIRPAR_CONTROL FAIRPAR_POOL FAIRPAR_LEASE
	export FAIRPAR FAIRPAR_POOL_DIR=$BATS_TEST_TMPDIR/pools
}

teardown() {
	helper_teardown
}

# open_run ARGUMENT …: a run of the name `r`, whose only job runs until close_run is called
open_run() {
	make_fifo gate open
	start_fairpar --run r "$@" 'echo >open; read -r _ <gate #' ::: a
	await open
}

close_run() {
	release gate
	end_fairpar "$@"
}

r() { # STATUS ARGUMENT …: says something to the run `r`
	status=0
	"$FAIRPAR" --run r "${@:2}" >said 2>said_err || status=$?
	output=$(<said) stderr=$(<said_err)
	assert_eq "$status $stderr" "$1 ${stderr}"
}

# ---- adding ----

@test "a job adds a job, which runs with its directory, environment, umask and limits" {
	mkdir sub
	cat >adds <<-'EOF'
		cd sub; umask 027; ulimit -c 0; ulimit -n 100; X='a
		b'; export X
		"$FAIRPAR" --add sh -c 'pwd; echo "$X"; umask; ulimit -c; ulimit -n; cat; echo "$FAIRPAR_JOB $FAIRPAR_SEQ"' >../id
	EOF
	run_fairpar -j1 'sh adds #' ::: a
	assert_lines "$PWD/sub" a b 0027 0 100 "default#2 2"
	assert_eq "$(<id)" 2
}

@test "the words of an added job are its command as they stand" {
	# shellcheck disable=SC1003
	run_fairpar -j1 '"$FAIRPAR" --add printf "%s|" {} "a  b" "\$HOME; {}" "" "c
d" >/dev/null; : {} #' ::: x
	assert_eq "$output" 'x|a  b|$HOME; x||c
d|'
}

@test "a run does not end before what the last job has added" {
	run_fairpar -j1 '[ {} -gt 3 ] || "$FAIRPAR" --add sh -c "\"\$FAIRPAR\" --add echo {} >ids" >/dev/null' ::: 1 2 3 4
	assert_set 1 2 3
}

@test "an added job is next on the slot of the job that adds it, but with --prefer-fairness behind the queue" {
	local adds='[ {} != 1 ] || "$FAIRPAR" --add echo added >/dev/null; echo {}'
	run_fairpar -j1 "$adds" ::: 1 2 3
	assert_lines 1 added 2 3
	run_fairpar -j1 --prefer-fairness "$adds" ::: 1 2 3
	assert_lines 1 2 3 added
}

@test "--add --batch goes to the end of that batch, and opens it if it is not there" {
	printf '%s\n' 'echo a1' 'echo a2' >A
	printf '%s\n' '"$FAIRPAR" --add --batch A echo a3 >/dev/null' '"$FAIRPAR" --add --batch C sh -c "echo \$FAIRPAR_JOB" >/dev/null' >B
	run_fairpar -j1 --batch A=A --batch B=B --weight A=1
	assert_set a1 a2 a3 C#1
	assert_eq "$(grep a3 <<<"$output")" a3
}

@test "an added job is in the joblog, the log, the summary and the exit status" {
	run_fairpar 1 -j1 --joblog joblog --log log '"$FAIRPAR" --add sh -c "exit 3" >/dev/null; : {}' ::: a
	assert_eq "$(awk 'NR > 1 { print $1, $7 }' joblog)" "2 3
1 0"
	assert_contains "$(grep '"seq":2' log | head -n 1)" '"from":1'
	assert_contains "$stderr" '1 of 2 jobs failed'
}

@test "--resume knows an added job by its command" {
	local adds='"$FAIRPAR" --add sh -c "echo done >>ran; exit 1" >id; "$FAIRPAR" --add touch new >/dev/null; : {}'
	run_fairpar 1 -j1 --joblog joblog "$adds" ::: a
	# the job that adds is to run again
	grep -v FAIRPAR joblog >rest
	mv rest joblog
	run_fairpar -j1 --resume --joblog joblog "$adds" ::: a
	assert_eq "$(<ran)" "done"
	run_fairpar 1 -j1 --resume-failed --joblog joblog '"$FAIRPAR" --add sh -c "echo done >>ran; exit 1" >/dev/null; : again {}' ::: a
	assert_eq "$(wc -l <ran)" 2
}

@test "--resume runs a job again if what it has added was cut off, and only that" {
	make_fifo started
	cat >adds <<-'EOF'
		echo adds >>ran
		for i in 1 2 3; do "$FAIRPAR" --add sh -c "echo $i >>ran" >/dev/null; done
		"$FAIRPAR" --add sh -c '"$FAIRPAR" --add sh stops >/dev/null; echo middle >>ran' >/dev/null
	EOF
	echo 'echo stops >>ran; [ -e again ] || { echo >started; read -r _ <gate; }' >stops
	for signal in INT KILL; do
		make_fifo gate
		rm -f again ran
		start_fairpar -j1 --prefer-fairness --joblog joblog 'sh adds #' ::: a
		await started
		kill -"$signal" "$fairpar_pid"
		end_fairpar any
		assert_eq "$(awk 'NR > 1 { print $1 }' joblog)" "2
3
4"
		: >again
		run_fairpar -j1 --prefer-fairness --resume --joblog joblog 'sh adds #' ::: a
		assert_eq "$(paste -sd' ' ran)" "adds 1 2 3 middle stops adds middle stops"
		run_fairpar -j1 --resume --joblog joblog 'sh adds #' ::: a
		assert_eq "$(wc -l <ran) $(awk 'NR > 1 { print $1 }' joblog | paste -sd' ')" "9 2 3 4 6 5 1"
		rm -f gate joblog
	done
}

@test "a job that has cancelled what it has added is done for --resume" {
	make_fifo runs
	cat >adds <<-'EOF'
		echo adds >>ran
		a=$("$FAIRPAR" --add sh -c 'echo >runs; exec sleep 1000'); b=$("$FAIRPAR" --add true)
		read -r _ <runs
		"$FAIRPAR" --cancel $b $a; "$FAIRPAR" --wait
	EOF
	run_fairpar any -j2 --prefer-fairness --joblog joblog 'sh adds || : #' ::: a
	run_fairpar -j2 --prefer-fairness --joblog joblog --resume 'sh adds || : #' ::: a
	assert_eq "$(<ran)" adds
}

@test "-k writes what added jobs write at the end of their batch" {
	run_fairpar -j2 -k '[ {} != 1 ] || "$FAIRPAR" --add echo added >/dev/null; echo {}' ::: 1 2 3
	assert_set 1 2 3 added
	run_fairpar -j1 -k '[ {} != 1 ] || "$FAIRPAR" --add echo added >/dev/null; echo {}' ::: 1 2 3
	assert_lines 1 2 3 added
}

@test "--timeout and --retries of an added job are its own" {
	cat >adds <<-'EOF'
		"$FAIRPAR" --add --timeout 0.05 sh -c 'while :; do :; done' >/dev/null
		"$FAIRPAR" --add --retries 3 sh -c 'echo $FAIRPAR_ATTEMPT >>tries; exit 1' >/dev/null
	EOF
	run_fairpar 2 -j1 --joblog joblog 'sh adds #' ::: a
	assert_eq "$(<tries)" "1
2
3"
	assert_contains "$stderr" timeout
}

@test "an added job whose directory is gone fails, and so does one whose program is not in its own PATH" {
	mkdir gone
	cat >adds <<-'EOF'
		cd gone || exit
		"$FAIRPAR" --add true >/dev/null
		rmdir ../gone
		PATH=/nowhere "$FAIRPAR" --add true
	EOF
	run_fairpar 1 -j1 'sh adds >/dev/null 2>err; cat err >&2 #' ::: a
	assert_contains "$stderr" "cannot start in '$PWD/gone'"
	assert_contains "$stderr" "--add: cannot tell the current directory"
	run_fairpar 1 -j1 'PATH=/nowhere "$FAIRPAR" --add true >id #' ::: a
	assert_contains "$stderr" "'true': command not found"
}

@test "an added job whose command is one for a shell is told so" {
	run_fairpar 1 -j1 '"$FAIRPAR" --add "echo hi; echo ho" >/dev/null #' ::: a
	assert_contains "$stderr" "'echo hi; echo ho': command not found; --add uses no shell: for a shell, write --add sh -c 'COMMAND'"
	run_fairpar 1 -j1 'nosuchcommand #' ::: a
	[[ $stderr != *--add* ]] || fail "$stderr"
}

@test "--results files an added job under the words of its command" {
	run_fairpar -j1 --results res '"$FAIRPAR" --add printf "%s" a/b >/dev/null; : {}' ::: x
	assert_eq "$(<'res/1/printf/2/%s/3/a\_b/stdout')" a/b
	run_fairpar -j1 --results res.tsv '"$FAIRPAR" --add printf "%s" a/b >/dev/null; : {}' ::: x
	assert_contains "$(<res.tsv)" "$(printf "\t\"printf '%%s' a/b\"\ta/b")"
}

@test "a job of 4 MiB can be added, and no longer one" {
	cat >adds <<-'EOF'
		for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
			export "V$i=$(head -c 100000 /dev/zero | tr '\0' x)"
		done
		"$FAIRPAR" --add true >/dev/null
	EOF
	(
		ulimit -s unlimited
		run_fairpar any -j1 'sh adds #' ::: a
		assert_eq "$(grep -c '4 MiB' <<<"$stderr")" 0
	)
	cat >many <<-'EOF'
		for i in 31 32 33 34 35 36 37 38 39 40 41 42 43 44; do
			export "V$i=$V1"
		done
		"$FAIRPAR" --add true
	EOF
	cat adds many >adds_more
	(
		ulimit -s unlimited
		run_fairpar 1 -j1 'sh adds_more #' ::: a
		assert_contains "$stderr" "4 MiB can be added"
	)
}

@test "a run whose jobs are counted or numbered beforehand takes none" {
	run_fairpar --pipe --tee '"$FAIRPAR" --add true || echo $?; cat >/dev/null; : {}' ::: a <<<data
	assert_lines 255
	assert_contains "$stderr" "a run with --tee"
	run_fairpar 1 --joblog joblog -j1 '"$FAIRPAR" --add true || echo $?; exit 1 #' ::: a
	run_fairpar 1 --joblog joblog -j1 --retry-failed
	assert_lines 255
	assert_contains "$stderr" "a run with --retry-failed"
}

@test "after --halt nothing can be added" {
	make_fifo begun
	run_fairpar 1 -j2 --halt soon,fail=1 --joblog /dev/null 'if [ {} = 1 ]; then read -r _ <begun; exit 1; fi; echo >begun
		while "$FAIRPAR" --add true 2>err >/dev/null; do :; done; "$FAIRPAR" --add true; echo "$? $(cat err)"' ::: 1 2
	assert_contains "$output" "255 fairpar: error: --add: the run starts no more jobs"
}

@test "jobs of a manifest add to batches that wait, have ended or are not there, and so does finally" {
	cat >m.yaml <<-'EOF'
		version: 1
		batches:
		  one:
		    run: |
		      for batch in two zero other; do "$FAIRPAR" --add --batch $batch sh -c 'echo to $FAIRPAR_BATCH'; done >/dev/null; echo one
		    needs: zero
		    finally: |
		      "$FAIRPAR" --add sh -c 'echo by finally' >/dev/null; "$FAIRPAR" --add --batch last sh -c 'echo to $FAIRPAR_BATCH' >/dev/null
		  two:
		    run: echo two
		    needs: one
		  zero:
		    run: echo zero
	EOF
	run_fairpar -j1 --run r -f m.yaml
	assert_set zero one two "to two" "to zero" "to other" "by finally" "to last"
	assert_eq "${lines[0]}" zero
	local order=" ${lines[*]} "
	assert_eq "${order/* one */one first}" "one first"
	[[ ${order#* one } == *" to two "* && ${order#* one } == *" two "* ]] || fail "$order"
}

@test "a job that waits for its next attempt is cancelled at once" {
	cat >m.yaml <<-'EOF'
		version: 1
		batches:
		  one: {run: sh adds, retries: 3, retry_delay: 1000h}
		  two: {run: 'read -r _ <failed; while "$FAIRPAR" --status=json | grep -q "\"batch\":\"one\",\"n\""; do :; done; "$FAIRPAR" --cancel --batch one'}
	EOF
	make_fifo failed
	echo 'echo >failed; exit 1' >adds
	run_fairpar 1 -j2 -f m.yaml
	assert_contains "$stderr" "1 of 2 jobs failed"
}

# ---- waiting ----

@test "--wait exits with the status of one job, and counts those of several" {
	cat >waits <<-'EOF'
		a=$("$FAIRPAR" --add sh -c 'exit 7'); b=$("$FAIRPAR" --add sh -c 'kill -9 $$'); c=$("$FAIRPAR" --add true)
		d=$("$FAIRPAR" --add --timeout 0.05 sh -c 'while :; do :; done')
		for id in $a $b $c $d "$a $b" "$c $c" ""; do "$FAIRPAR" --wait $id; echo $?; done
	EOF
	run_fairpar 3 -j2 'sh waits #' ::: a
	assert_lines 7 137 0 124 2 0 3
}

@test "--wait-any prints the ID, and without IDs tells of each once" {
	cat >waits <<-'EOF'
		a=$("$FAIRPAR" --add sh -c 'exit 7')
		"$FAIRPAR" --wait-any $a; echo $?
		"$FAIRPAR" --add sh -c 'exit 3' >/dev/null
		"$FAIRPAR" --wait-any; echo $?
		"$FAIRPAR" --wait-any; echo $?
	EOF
	run_fairpar 2 -j2 'sh waits #' ::: a
	assert_lines 2 7 3 3 255
	assert_contains "$stderr" "--wait-any: the IDs of all added jobs have been printed already"
}

@test "--wait-any tells of jobs in the order in which they have ended" {
	cat >waits <<-'EOF'
		a=$("$FAIRPAR" --add true); b=$("$FAIRPAR" --add true); c=$("$FAIRPAR" --add true)
		"$FAIRPAR" --wait $b; "$FAIRPAR" --wait $c; "$FAIRPAR" --wait $a
		"$FAIRPAR" --wait-any $a $c; "$FAIRPAR" --wait-any; "$FAIRPAR" --wait-any
	EOF
	run_fairpar -j1 --prefer-fairness 'sh waits #' ::: a
	assert_lines 4 3 2
}

@test "a job that was not added can be neither waited for nor cancelled, and is named so" {
	run_fairpar -j2 '"$FAIRPAR" --wait {#}; echo $?; "$FAIRPAR" --cancel {#}; echo $?; "$FAIRPAR" --wait-any {#}; echo $?' ::: a
	assert_lines 255 255 255
	assert_eq "$(grep -c "job 1 was not added with --add: only added jobs can be waited for or cancelled" <<<"$stderr")" 3
}

@test "jobs that --resume leaves out are waited for and cancelled as others are" {
	cat >waits <<-'EOF'
		id=$("$FAIRPAR" --add sh -c 'echo ran >>ran')
		"$FAIRPAR" --wait $id; echo $?; "$FAIRPAR" --wait; echo $?; "$FAIRPAR" --wait-any; echo $?; "$FAIRPAR" --cancel $id; echo $?
		exit 1
	EOF
	run_fairpar 1 -j2 --joblog joblog 'sh waits #' ::: a
	assert_lines 0 0 2 0 0
	run_fairpar 1 -j2 --joblog joblog --resume-failed 'sh waits #' ::: a
	assert_lines 0 0 2 0 0
	assert_eq "$(<ran)" ran
}

@test "an ID that cannot be printed is in the message" {
	[[ -c /dev/full ]] || skip "there is no /dev/full"
	cat >adds <<-'EOF'
		"$FAIRPAR" --add true >/dev/full; echo $?
		"$FAIRPAR" --wait-any >/dev/full; echo $?
	EOF
	run_fairpar -j2 'sh adds #' ::: a
	assert_lines 255 255
	assert_contains "$stderr" "--add: job 2 was added, but its ID cannot be written to stdout: No space left on device"
	assert_contains "$stderr" "--wait-any: job 2 has ended, but its ID cannot be written to stdout: No space left on device"
}

@test "who asks a stopped run is told that it does not answer, and who has gone before it does has asked for nothing" {
	open_run -j2
	kill -STOP "$fairpar_pid"
	: >err
	env --default-signal=INT "$FAIRPAR" --run r --add touch added 2>err &
	local asker=$!
	until [[ $(<err) == *"--add: run r does not answer yet"* ]]; do :; done
	kill -INT "$asker"
	wait "$asker" || :
	kill -CONT "$fairpar_pid"
	r 0 --status
	close_run
	[[ ! -e added ]] || fail "the job was added"
}

@test "an unknown ID, and no run at all, are refused" {
	run_fairpar -j2 '"$FAIRPAR" --wait 99; echo $?; "$FAIRPAR" --cancel 99; echo $?; "$FAIRPAR" --wait 1; echo $? #' ::: a
	assert_lines 255 255 255
	assert_contains "$stderr" "there is no job 99"
	run_fairpar 255 --add true
	assert_contains "$stderr" "--add speaks to a run"
	FAIRPAR_REMOTE=$FAIRPAR run_fairpar 1 --launch 'env {}' '"$FAIRPAR" --add true #' ::: a </dev/null
	assert_contains "$stderr" "--add: the run is on another machine"
	run_fairpar 255 --wait 3
	assert_contains "$stderr" "name it with --id"
	r 255 --wait 3
	assert_contains "$stderr" "there is no run r"
}

@test "what is added in a pool and by a long-running job is waited for, too" {
	cat >waits <<-'EOF'
		id=$("$FAIRPAR" --add sh -c 'echo added; exit 3')
		"$FAIRPAR" --wait $id; echo $?
	EOF
	run_fairpar 1 --long-running -j1 'sh waits #' ::: a
	assert_set added 3
	run_fairpar 1 --pool --pool-slots 2 'sh waits #' ::: a
	assert_set added 3
	run_fairpar -j2 '"$FAIRPAR" "sh waits #" ::: a; : {}' ::: a
	assert_set added 3
}

# ---- from outside ----

@test "a run with a name is spoken to from outside" {
	open_run -j2
	r 0 --add sh -c 'echo from outside; exit 4'
	[[ $output =~ ^2@[0-9a-f]{8}$ ]] || fail "$output"
	r 4 --wait "$output"
	r 4 --wait 2
	r 1 --wait
	close_run 1
	assert_lines "from outside"
	r 255 --add true
	assert_contains "$stderr" "there is no run r"
}

@test "an ID that was printed outside is one of that run, and a number alone one of the run that has the name now" {
	local id old
	open_run -j2
	r 0 --add sh -c "exit 4"
	old=$output
	r 4 --wait-any
	assert_eq "$output" "$old"
	close_run 1
	rm gate open
	open_run -j3
	make_fifo hold
	r 0 --add sh -c "read -r _ <hold"
	id=$output
	for request in --cancel --wait --wait-any; do
		r 255 $request "$id" "$old"
		assert_contains "$stderr" "$request: $old is the ID of a job of another run: an earlier run of that name, or a run of another name"
	done
	release hold
	r 0 --wait "$id"
	r 0 --wait 2
	close_run
}

@test "a job that asks by the name is given IDs with the mark, one that asks its run numbers, and each is taken by both" {
	run_fairpar -j2 --run r '"$FAIRPAR" --run r --add true >id; grep -c @ id; "$FAIRPAR" --wait-any "$(cat id)"
		"$FAIRPAR" --run r --wait-any 2 | cmp - id; "$FAIRPAR" --wait "2@"; echo $? #' ::: a
	assert_lines 1 2 255
	assert_contains "$stderr" "2@ is the ID of a job of another run"
}

@test "one run at a time has a name" {
	open_run -j1
	r 255 true ::: a
	assert_contains "$stderr" "a run of that name is under way"
	close_run
	r 0 true ::: a
}

@test "a run with a name leaves no file behind, and one that was killed is followed by the next" {
	open_run -j1
	[[ -e $FAIRPAR_POOL_DIR/run+r.lock ]] || fail "the run has no lock"
	close_run
	assert_eq "$(ls "$FAIRPAR_POOL_DIR")" ''
	r 137 'kill -9 $PPID' ::: a
	r 0 true ::: a
	until [[ -z $(ls "$FAIRPAR_POOL_DIR") ]]; do :; done # the guardian of the killed one removes the other socket
}

@test "--wait from outside ends with a line when the run is killed" {
	open_run -j2
	make_fifo runs
	r 0 --add sh -c 'echo >runs; read -r _ <gate'
	await runs
	"$FAIRPAR" --run r --wait 2 2>err &
	local waiter=$!
	until r 0 --status && [[ $output == *"waits for 2"* ]]; do :; done
	kill -KILL "$fairpar_pid"
	status=0
	wait "$waiter" || status=$?
	assert_eq "$status" 255
	assert_contains "$(<err)" "--wait: the run has ended"
	end_fairpar 137
}

@test "a stopped run lets who asks it wait, and Ctrl-C ends that" {
	open_run -j2
	kill -STOP "$fairpar_pid"
	env --default-signal=INT "$FAIRPAR" --run r --add true 2>err &
	local asker=$!
	until grep -qs '^State:.S' "/proc/$asker/status" && grep -qs poll "/proc/$asker/wchan"; do :; done
	kill -INT "$asker"
	status=0
	wait "$asker" || status=$?
	assert_eq "$status" 130
	kill -CONT "$fairpar_pid"
	close_run
}

@test "200 ask at once" {
	open_run -j2
	local pids=() pid
	for ((i = 0; i < 200; i++)); do
		"$FAIRPAR" --run r --add echo "$i" >>ids &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid"
	done
	r 0 --wait
	close_run
	assert_eq "$(sort -n <<<"$output" | uniq | wc -l)" 200
	assert_eq "$(sort -un ids | wc -l)" 200
}

@test "Ctrl-C ends added jobs with the others" {
	open_run -j2
	make_fifo runs
	r 0 --add sh -c 'echo >runs; read -r _ <gate'
	await runs
	r 0 --add sleep 1000
	kill -INT "$fairpar_pid"
	end_fairpar 130
	assert_contains "$stderr" "3 cancelled"
}

@test "a wrong nonce is refused" {
	run_fairpar -j1 'FAIRPAR_SOCK=${FAIRPAR_SOCK%:*}:1 "$FAIRPAR" --add true; echo $? #' ::: a
	assert_lines 255
	assert_contains "$stderr" "the job that asks has ended"
}

@test "what is no request is refused or dropped, and the run goes on" {
	need python3
	cat >talk.py <<-'EOF'
		import os, socket, struct
		name, number, nonce = os.environ["FAIRPAR_SOCK"].rsplit(":", 2)
		who, version = (int(number, 16), int(nonce, 16)), 4 << 32
		def say(*parts):
		    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		    s.connect("\0" + name[1:])
		    said = b""
		    try:
		        for part in parts:
		            s.send(part)
		        s.shutdown(socket.SHUT_WR)
		        while more := s.recv(65536):
		            said += more
		    except OSError:
		        pass
		    print(said[32:].decode(), "type", struct.unpack("I", said[:4])[0] if said else 0)
		def frame(kind, text=b"", c=version, length=None, who=who):
		    return struct.pack("IIQQQ", kind, len(text) if length is None else length, *who, c) + text
		say(frame(51))
		say(frame(51, b"x" * 1000))
		say(frame(51, length=(4 << 20) + 1))
		say(frame(51, b"x", length=100))
		say(frame(54, c=1 << 32))
		say(frame(54, who=(0, 0)))
		say(frame(54) + b"more")
		say(frame(52, b"x" * 7))
		say(frame(53, b"99999999999999999999\0"))
		say(frame(53, b"\0"))
		say(struct.pack("I", 51))
		say(b"\377" * 100)
	EOF
	run_fairpar -j1 'python3 talk.py; "$FAIRPAR" --add echo added >/dev/null #' ::: a
	assert_lines "the request has no valid job type 155" "the request has no valid job type 155" " type 0" " type 0" \
		"the run was started by another version of fairpar type 155" "the job that asks has ended type 155" " type 0" "invalid job IDs type 155" \
		"there is no job 18446744073709551615 type 155" "there is no job 0 type 155" " type 0" " type 0" added
}

@test "who asks nothing is disconnected after some seconds, and who waits is not" {
	need perl
	perl -MIO::Socket::UNIX -e 1 2>/dev/null || skip "this takes perl's sockets"
	open_run -j2
	make_fifo runs heard go_on
	r 0 --add sh -c 'echo >runs; read -r _ <go_on'
	await runs
	"$FAIRPAR" --run r --wait 2 &
	local waits=$!
	until r 0 --status && [[ $output == *"waits for 2"* ]]; do :; done # it waits for longer than the other one is silent
	perl -MSocket -MIO::Socket::UNIX -e '
		my $silent = IO::Socket::UNIX->new(Type => Socket::SOCK_SEQPACKET, Peer => "$ENV{FAIRPAR_POOL_DIR}/run+r.sock") or die;
		sysread $silent, my $end, 1;
		open my $heard, ">", "heard"; print $heard "end\n"' 3>&- &
	await heard
	r 0 --status
	assert_contains "$output" 'waits for 2'
	release go_on
	wait "$waits"
	close_run
}

@test "another user is refused" {
	need setpriv
	[[ $(id -u) == 0 ]] || skip "needs root"
	cp "$FAIRPAR" "$BATS_TEST_TMPDIR/other" 2>/dev/null
	chmod 755 "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/other"
	setpriv --reuid=65534 --clear-groups "$BATS_TEST_TMPDIR/other" --version >/dev/null 2>&1 || skip "another user cannot run it"
	export OTHER=$BATS_TEST_TMPDIR/other
	run_fairpar -j1 'setpriv --reuid=65534 --clear-groups "$OTHER" --add true; echo $? #' ::: a
	assert_lines 255
}

# ---- cancelling ----

@test "--cancel ends what runs, and what is queued does not start" {
	make_fifo runs
	cat >cancels <<-'EOF'
		a=$("$FAIRPAR" --add sh -c 'echo >runs; exec sleep 1000'); read -r _ <runs
		b=$("$FAIRPAR" --add touch started)
		"$FAIRPAR" --cancel $a $b; echo $?
		"$FAIRPAR" --wait $a; echo $?
		"$FAIRPAR" --wait $b; echo $?
		"$FAIRPAR" --cancel $a; echo $?
	EOF
	run_fairpar 1 -j2 --joblog joblog 'sh cancels #' ::: a
	assert_lines 0 1 1 0
	assert_contains "$stderr" "2 cancelled"
	[[ ! -e started ]]
	assert_eq "$(wc -l <joblog)" 2
}

@test "--cancel --batch ends a batch, with what its input still has" {
	make_fifo runs
	seq 1000 >B
	printf '%s\n' 'read -r _ <runs; "$FAIRPAR" --cancel --batch B; echo $?' >A
	run_fairpar 1 -j2 --batch A=A --batch B=<(sed 's/.*/echo >runs; exec sleep 1000/' B)
	assert_lines 0
	assert_contains "$stderr" "1000 cancelled"
	run_fairpar -j2 '"$FAIRPAR" --cancel --batch nothing; echo $? #' ::: a
	assert_lines 255
}

# ---- the status ----

@test "--status tells batches, jobs that run and who waits" {
	make_fifo runs go_on
	cat >waits <<-'EOF'
		a=$("$FAIRPAR" --add --batch B sh -c 'echo >runs; read -r _ <go_on'); echo $a >id
		"$FAIRPAR" --wait $a
	EOF
	open_run -j4
	"$FAIRPAR" --run r --add sh waits >/dev/null
	await runs
	until r 0 --status=json && [[ $output == *'"for":[3]'* ]]; do :; done
	if command -v jq >/dev/null; then
		assert_eq "$(jq -r '.run, .slots, (.batches[] | "\(.batch) \(.queued) \(.running)"), (.jobs[] | "\(.id) \(.batch)#\(.n)"), .waits[].job' <<<"$output")" \
			"$(printf '%s\n' r 4 'default 0 2' 'B 0 1' '1 default#1' '2 default#2' '3 B#1' 'default#2')"
	fi
	r 0 --status
	assert_contains "$output" "run r of process $fairpar_pid"
	assert_contains "$output" "default#2 waits for 3"
	release go_on
	close_run
}

@test "each field of --status=json is in the manual" {
	need jq
	cat >waits <<-'EOF'
		"$FAIRPAR" --wait "$("$FAIRPAR" --add "$FAIRPAR" --status=json)"
	EOF
	run_fairpar -j1 --run r 'sh waits #' ::: a
	local field fields
	fields=$(jq -r '.. | objects | keys[]' <<<"$output" | sort -u | paste -sd' ')
	assert_eq "$fields" "attempt batch batches cancelled command failed for id job jobs n ok pid queued returns run running seconds skipped slot slots waits"
	sed -n '/^.Ql --status=json/,/^Other fields/p' "$BATS_TEST_DIRNAME/../man/fairpar-nested.7" >fields
	for field in $fields; do
		grep -qE "^\.(It )?(Li|Pq Li) (.* )?$field( |\$)" fields || fail "$field is not in the manual"
	done
}

@test "what belongs to a pool or to a run of its own is refused" {
	run_fairpar 255 --pool --add true
	assert_contains "$stderr" "--pool cannot be combined with --add"
	run_fairpar 255 --add
	assert_contains "$stderr" "--add needs a command"
	run_fairpar 255 --add -j2 true
	assert_contains "$stderr" "--jobs cannot be combined with --add"
	run_fairpar 255 --cancel
	assert_contains "$stderr" "--cancel needs the IDs of jobs, or --batch NAME"
	run_fairpar 255 --cancel x
	assert_contains "$stderr" "takes IDs of jobs"
	run_fairpar 255 --run a/b true ::: a
	assert_contains "$stderr" "a run cannot be called 'a/b'"
	run_fairpar 255 -f x --add
	assert_contains "$stderr" "cannot be combined with -f"
	run_fairpar 255 --add --wait true
	assert_contains "$stderr" "cannot be combined with"
}

@test "a dry run adds nothing, and has no name" {
	run_fairpar --dry-run --run r '"$FAIRPAR" --add true' ::: a
	r 255 --status
}
