# Jobs on other machines: what `-S` promises, with a command in the place of ssh that runs the worker on this machine. What is said of
# the protocol itself stands in tests/unit (wire, remote).
# shellcheck disable=SC2016,SC2154 # the commands are for the shells of the jobs; helper.bash sets what is not set here

load helper

setup() {
	helper_setup
	export FAIRPAR_REMOTE=$FAIRPAR
	# As ssh: [-p PORT] [-l USER] HOST -- COMMAND; its own directory is the login directory. A machine "gone…" cannot be reached.
	cat >"$BATS_TEST_TMPDIR/ssh" <<'SSH'
#!/bin/sh
while [ $# -gt 0 ]; do case $1 in -p | -l | -o) shift 2 ;; -*) shift ;; *) break ;; esac; done
host=$1
shift
[ "$1" != -- ] || shift
case $host in gone*) echo "ssh: connect to host $host port 22: Connection refused" >&2 && exit 255 ;; esac
exec sh -c "$*"
SSH
	chmod +x "$BATS_TEST_TMPDIR/ssh"
	export HOME=$PWD PARALLEL_SSH=$BATS_TEST_TMPDIR/ssh
}

teardown() { helper_teardown; }

@test "jobs run elsewhere, with their output, status and exit code" {
	run_fairpar 2 -S 2/one,2/two -k 'echo out {}; echo err {} >&2; exit $(({} % 2))' ::: 1 2 3 </dev/null
	assert_lines "out 1" "out 2" "out 3"
	assert_contains "$stderr" "err 2"
	assert_contains "$stderr" "2 of 3 jobs failed"
}

@test "an ssh may ask on the terminal, and Ctrl-C is fairpar's to answer" {
	sed -i 's|^exec sh|if [ "$host" = asks ]; then stty -echo; echo "password:"; read -r answer; stty echo; [ "$answer" = yes ] \|\| exit 255; fi </dev/tty >/dev/tty\n&|' "$PARALLEL_SSH"
	printf '%s\t%s\n' password: 'yes\n' 'begun' '\x03' >'talk'
	on_terminal "$FAIRPAR" --line-buffer --term-seq TERM,60000 -S 1/asks 'trap "echo ended; exit 1" TERM; echo begun; while :; do sleep 0.01; done #' ::: 1
	assert_eq "$status" 130
	assert_contains "$output" ended
}

@test "machines whose keys ssh does not know are connected one after another, for it asks on the terminal" {
	mkdir bin # each waits a moment for the other, which is not to come
	printf '#!/bin/sh\ncase $2 in new* | "[new"*) exit 1 ;; esac\n' >bin/ssh-keygen
	chmod +x bin/ssh-keygen
	sed -i 's|^exec sh|case $host in new*) i=0; mkdir asked \|\| : >both; until [ -e both -o $i = 10000 ]; do i=$((i + 1)); done; echo "$host?" >/dev/tty; read -r _ </dev/tty; rmdir asked ;; esac\n&|' "$PARALLEL_SSH"
	printf '%s\t%s\n' '?' 'yes\n' '?' 'yes\n' >'talk'
	PATH=$PWD/bin:$PATH on_terminal "$FAIRPAR" --nonall -S new1,old,new2:22 'echo done'
	[[ ! -e both ]]
	assert_eq "$status" 0
}

@test "a job elsewhere is ended by the signals of --term-seq" {
	local seconds
	for ((seconds = 1; seconds < patience; seconds *= 2)); do # until each job is ready for its signal before its time is over
		rm -f ready
		run_fairpar 2 -S 1/one --term-seq USR1,60000 --timeout "$seconds" \
			'trap "echo asked; exit 1" USR1; trap "" TERM; echo >>ready; while :; do sleep 0.01; done #' ::: 1 2 </dev/null
		[[ ! -e ready || $(wc -l <ready) -lt 2 ]] || break
	done
	assert_lines asked asked
}

@test "a job elsewhere has no pipe here" {
	make_fifo ready hold.{1..7}
	run_fairpar -S 8/one 'if [ {} -lt 8 ]; then echo >ready; read x <hold.{}; else exec 3<>ready; for i in 1 2 3 4 5 6 7; do read x <&3; done
		ls -l /proc/$PARALLEL_PID/fd | grep -c pipe: >pipes; for i in 1 2 3 4 5 6 7; do echo >hold.$i; done; fi' ::: 1 2 3 4 5 6 7 8 </dev/null
	(($(<pipes) < 8 + 2)) || fail "$(<pipes) pipes for 8 jobs"
}

@test "an item is one word elsewhere, too" {
	run_fairpar -S one -k echo ::: "a  b" "it's" '$HOME;*' </dev/null
	assert_lines "a  b" "it's" '$HOME;*'
}

@test "a job elsewhere is told where it is" {
	run_fairpar --plus -S 1/user@one:2222 'echo {sshlogin} {host} $PARALLEL_SSHLOGIN {}' ::: 1 </dev/null
	assert_eq "$output" "user@one:2222 one user@one:2222 1"
}

@test "the joblog has the machine of a job" {
	run_fairpar 1 -S 1/one --joblog log 'exit {}' ::: 0 7 </dev/null
	assert_eq "$(cut -f2,7 log | sort | tr '\t\n' '  ')" "Host Exitval one 0 one 7 "
}

@test "jobs run on all machines, this one among them" {
	make_fifo both
	run_fairpar -S 1/one,1/: 'if [ {} = 1 ]; then echo >both; else read x <both; fi; echo $PARALLEL_SSHLOGIN' ::: 1 2 </dev/null
	assert_set one :
}

@test "as many jobs run at once as the machines have slots" {
	# the first four end when four have begun
	run_fairpar -S one,two -j2 'echo + >>at; until [ $(grep -c + at) -ge 4 ]; do sleep 0.01; done; echo - >>at' ::: 1 2 3 4 5 6 7 8 </dev/null
	assert_eq "$(most_at_once at)" 4
}

@test "binary output and what has no newline at its end come as they are" {
	head -c 1048576 /dev/urandom >bytes
	run_fairpar -S 1/one,1/two -k 'cat bytes; printf {}' ::: 1 2 </dev/null
	{ cat bytes; printf 1; cat bytes; printf 2; } | cmp - "$BATS_TEST_TMPDIR/stdout"
}

@test "ungrouped output comes through" {
	run_fairpar -S 1/one -u 'echo {}; echo error >&2' ::: 1 </dev/null
	assert_eq "$output" 1
	assert_contains "$stderr" error
}

@test "output that nobody reads yet does not keep other jobs from running" {
	# the reader of stdout waits for the last job
	make_fifo out last
	{ exec 3<out && timeout "$patience" cat last >/dev/null && cat <&3 >/dev/null; } &
	FAIRPAR_REMOTE=$FAIRPAR timeout "$patience" "$FAIRPAR" -u -S 7/one \
		'case {} in [1-6]) head -c 1000000 /dev/zero ;; 60) echo >last ;; esac' ::: {1..60} </dev/null >out
	wait
}

@test "blocks of --pipe are the input of jobs elsewhere" {
	seq 100000 >numbers
	run_fairpar -S 2/one,1/: --pipe -k --block 50k cat <numbers
	cmp numbers "$BATS_TEST_TMPDIR/stdout"
}

@test "a job that does not read its input does not hold the run up" {
	seq 100000 >numbers
	run_fairpar -S 1/one --pipe -k --block 300k head -n1 <numbers
	assert_eq "${lines[0]}" 1
}

@test "the environment elsewhere is that of the login, but for --env" {
	export MINE=1 OTHER=2
	cat >>"$BATS_TEST_TMPDIR/ssh.clean" <<'SSH'
#!/bin/sh
unset MINE OTHER
exec "${0%.clean}" "$@"
SSH
	chmod +x "$BATS_TEST_TMPDIR/ssh.clean"
	run_fairpar -S 1/one --ssh "$BATS_TEST_TMPDIR/ssh.clean" --env MINE 'echo $MINE-$OTHER-$FAIRPAR_SEQ-{}' ::: x </dev/null
	assert_eq "$output" "1--1-x"
}

@test "--workdir is made elsewhere" {
	run_fairpar -S 1/one --workdir sub/{} 'basename "$PWD"' ::: x </dev/null
	assert_eq "$output" x
}

@test "--timeout ends a job elsewhere" {
	run_fairpar any -S 1/one --timeout 0.2 --joblog log 'sleep {}' ::: "$patience" </dev/null
	assert_eq "$(tail -n1 log | cut -f7)" -1
}

@test "--halt now ends jobs elsewhere" {
	make_fifo begun
	run_fairpar any -S 2/one --halt now,fail=1 "if [ {} = 1 ]; then read x <begun; exit 3; else echo >begun; sleep $patience; fi" ::: 1 2 </dev/null
	assert_contains "$stderr" "1 cancelled"
}

@test "Ctrl-C ends jobs elsewhere, and they have no row" {
	make_fifo begun
	start_fairpar -S 1/one --joblog log "echo >begun; sleep $patience" ::: 1 </dev/null
	await begun
	kill -INT "$fairpar_pid"
	end_fairpar 130
	assert_eq "$(wc -l <log)" 1
}

@test "SIGTSTP stops jobs elsewhere and fairpar, SIGCONT lets both go on" {
	make_fifo started1 started2 go1 go2
	start_fairpar -S 1/one,1/two 'echo $$ >started{}; read -r _ <go{}; echo ended #' ::: 1 2 </dev/null
	await started1
	local first=$line
	await started2
	kill -TSTP "$fairpar_pid"
	until [[ $(ps -o stat= -p "$fairpar_pid") == T* && $(ps -o stat= -p "$first") == T* && $(ps -o stat= -p "$line") == T* ]]; do :; done
	kill -CONT "$fairpar_pid"
	release go1
	release go2
	end_fairpar
	assert_lines ended ended
}

@test "a worker that is frozen is given up when its jobs are to end" {
	make_fifo begun
	start_fairpar -S 1/one "echo \$PPID >begun; sleep $patience #" ::: 1 </dev/null
	await begun
	kill -STOP "$line"
	kill -INT "$fairpar_pid"
	end_fairpar 130
	assert_contains "$stderr" "1 cancelled"
}

@test "a job whose worker is killed runs again, once, and others go on" {
	cat >job <<'JOB'
echo "$1" >>begun
if [ "$1" = 2 ] && mkdir once; then
	echo half
	kill -KILL "$PPID"
	sleep 1000
fi
echo "$1"
JOB
	run_fairpar -S 1/one,1/two -k --joblog log sh job ::: 1 2 3 4 </dev/null
	assert_lines 1 2 3 4
	assert_contains "$stderr" "the connection is lost"
	assert_eq "$(cut -f1 log | sort | tr '\n' ' ')" "1 2 3 4 Seq "
	assert_eq "$(grep -c 2 begun)" 2
}

@test "a job whose worker is ended by a signal runs again" {
	run_fairpar -S 1/one,1/two -k --joblog log 'if [ {} = 1 ] && mkdir once; then kill -TERM $PPID; sleep '"$patience"'; fi; echo {} #' ::: 1 2 3 </dev/null
	assert_lines 1 2 3
	assert_eq "$(cut -f1 log | sort | tr '\n' ' ')" "1 2 3 Seq "
}

@test "that a worker was ended by a signal, that its jobs run again, and that it is back, is said" {
	run_fairpar -S 1/one 'if mkdir once; then kill -TERM $PPID; sleep '"$patience"'; fi; echo {} #' ::: 1 </dev/null
	assert_eq "$output" 1
	assert_eq "$(grep one: <<<"${stderr/one takes/one: takes}")" "fairpar: one: takes no more jobs: a signal has ended the worker
fairpar: warning: one: the connection is lost: the worker has ended its jobs; its jobs run again when the machine is back
fairpar: one: connected"
	# its other jobs go on where it has none
	make_fifo pid go
	start_fairpar -S 1/one,1/two 'case {} in 1) echo $PPID >pid; read -r _ <go ;; esac; echo {} #' ::: 1 2 </dev/null
	await pid
	kill -TERM "$line"
	await pid
	release go
	end_fairpar
	assert_set 1 2
	assert_contains "$stderr" 'the connection is lost: the worker has ended its jobs; its jobs run again elsewhere, and the machine is tried again'
}

@test "a job that is out of time where nobody answers has timed out, once" {
	: >begun # a busy machine may not have begun it in time
	# once the dispatcher knows that it has started
	run_fairpar any -S 1/one,1/two --timeout 1 --joblog log --log run.jsonl \
		'echo x >>begun; until grep -qF "ev\":\"job_start" run.jsonl; do :; done; kill -STOP $PPID #' ::: 1 </dev/null
	(($(wc -l <begun) <= 1))
	assert_eq "$(sed 1d log | cut -f7)" -1
}

@test "the other machines go on while nobody reads what is said of one, and a signal ends the run" {
	make_fifo messages began
	exec 5<>messages 6<>began
	dd if=/dev/zero of=messages bs=4096 oflag=nonblock 2>dd_err || : # until it is full
	"$FAIRPAR" -S 1/one,1/two 'echo >began; mkdir killed 2>/dev/null && kill -KILL $PPID; : {}' ::: 1 2 3 4 5 6 </dev/null 2>messages 5>&- 6>&- &
	local run=$!
	for _ in 1 2 3 4 5 6 7; do read -r _ <&6; done
	kill -TERM "$run" 2>kill_err || :
	wait "$run" || :
}

@test "after a signal nobody waits for long for the reader of what a job elsewhere writes with --ungroup" {
	make_fifo unread began
	exec 5<>unread 6<>began
	dd if=/dev/zero of=unread bs=4096 oflag=nonblock 2>dd_err || : # until it is full
	"$FAIRPAR" --ungroup -S 1/one 'head -c 320000 /dev/zero; echo >began; exec sleep 1000; : {}' ::: 1 2 </dev/null >unread 2>messages 5>&- 6>&- &
	local run=$! status=0
	read -r _ <&6
	kill -TERM "$run"
	wait "$run" || status=$?
	assert_eq "$status" 143
	assert_contains "$(<messages)" 'was not written'
}

@test "--stop-signal may go to the whole process group, and the machines stay" {
	make_fifo began go
	cat >ssh <<'SSH' # as ssh, whose connection a signal ends if it is not ignored
#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift
cat | setsid bash -c "$*" | cat
SSH
	chmod +x ssh
	exec 5<>go
	PARALLEL_SSH=$PWD/ssh setsid "$FAIRPAR" --stop-signal USR1 -j1 -S one 'echo $$ >began; read -r _ <go; echo {}' ::: 1 2 </dev/null >out 2>messages 5>&- &
	local run=$!
	read -r _ <began
	kill -USR1 -"$run"
	until grep -qs 'go on to their end' messages; do kill -0 "$run"; done
	echo >&5
	wait "$run" || :
	assert_eq "$(<out)" 1
}

@test "a job that brings its machines down has failed at last" {
	run_fairpar any -S 1/one,1/two,1/three,1/four --joblog log 'echo x >>begun; kill -KILL $PPID; sleep 1000' ::: 1 </dev/null
	assert_eq "$(wc -l <begun)" 4
	assert_eq "$(tail -n1 log | cut -f8)" 9
	assert_contains "$stderr" "lost with its machine"
}

@test "--at-most-once: a job whose worker is killed has failed" {
	run_fairpar any -S 1/one,1/two --at-most-once 'echo x >>begun; kill -KILL $PPID; sleep 1000' ::: 1 </dev/null
	assert_eq "$(wc -l <begun)" 1
}

@test "a machine that cannot be reached is said once, and jobs go elsewhere" {
	export tries=$PWD/tries
	sed -i 's|^case|[ "$host" != gone ] \|\| echo >>"$tries"\n&|' "$PARALLEL_SSH"
	# when it is tried for the third time, the second failure, too, could have been said
	run_fairpar -S gone,2/one 'until [ -e "$tries" ] && [ $(wc -l <"$tries") -ge 3 ]; do sleep 0.01; done; echo {}' ::: {1..40} </dev/null
	assert_eq "${#lines[@]}" 40
	assert_eq "$(grep -c 'gone: cannot connect: exit 255: ssh: connect to host gone port 22: Connection refused' <<<"$stderr")" 1
}

@test "with no machine to be reached nothing runs, and --resume runs it" {
	run_fairpar 255 -S gone1,gone2 --joblog log touch ::: a b </dev/null
	assert_contains "$stderr" "no machine can be reached"
	assert_eq "$(wc -l <log)" 1
	run_fairpar -S gone1,1/one --resume --joblog log touch ::: a b </dev/null
	[[ -e a && -e b ]]
}

@test "a program that is no worker is said" {
	printf '#!/bin/sh\necho welcome\nexit 3\n' >none
	chmod +x none
	run_fairpar 255 -S one --ssh "$PWD/none" echo ::: a </dev/null
	assert_contains "$stderr" "one: cannot connect: exit 3: welcome"
	printf '#!/bin/sh\nprintf "one\\r\\n\\ntwo\\nthree\\n"\nexit 3\n' >none
	run_fairpar 255 -S one --ssh "$PWD/none" echo ::: a </dev/null
	grep -q "exit 3: one; two; three\$" <<<"$stderr"
	printf '#!/bin/sh\nseq 100000\n' >none
	run_fairpar 255 -S one --ssh "$PWD/none" echo ::: a </dev/null
	assert_contains "$stderr" "the machine prints much, but no fairpar worker answers: 1; 2; 3;"
	[[ $(grep 'says much' <<<"$stderr" | wc -c) -lt 350 ]]
}

@test "a slow reader holds jobs elsewhere up, and gets all" {
	make_fifo out
	"$FAIRPAR" -S 1/one,1/two -u 'head -c 20000000 /dev/zero #' ::: 1 2 >out </dev/null 3>&- &
	local pid=$!
	assert_eq "$({ head -c 1000000 >/dev/null; sleep 0.2; wc -c; } <out)" 39000000
	wait "$pid"
}

@test "a job elsewhere whose reader has gone ends as it would here" {
	make_fifo out
	for output in --line-buffer -u; do
		local ends=()
		for host in : one; do
			"$FAIRPAR" -S "1/$host" "$output" "yes | head -c 200000000 && sleep $patience #" ::: 1 >out </dev/null 3>&- &
			local pid=$!
			head -n1 <out >/dev/null
			wait "$pid" && ends+=(0) || ends+=($?)
		done
		assert_eq "$output ${ends[1]}" "$output ${ends[0]}"
	done
}

@test "--retries tries on another machine" {
	# The first job fails once the second one has told that both machines are there, and is over: its output comes after that.
	export seen=$BATS_TEST_TMPDIR/stdout
	run_fairpar --env seen -S 1/one,1/two --retries 2 \
		'[ {} = 1 ] || exec echo up; until grep -q up "$seen"; do :; done; echo $PARALLEL_SSHLOGIN >>where; [ $(wc -l <where) = 2 ]' ::: 1 2 </dev/null
	assert_eq "$(sort where | tr '\n' ' ')" "one two "
}

@test "--onall runs all items on each machine, which -k and --tag name in order" {
	run_fairpar --onall -k --tag -S two,2/one,: 'echo {}' ::: a b </dev/null
	assert_lines $':\ta' $':\tb' $'one\ta' $'one\tb' $'two\ta' $'two\tb'
}

@test "--onall runs one job at a time on a machine, and on --jobs machines at once" {
	run_fairpar --onall -j2 -S one,two,three 'echo "+$PARALLEL_SSHLOGIN" >>at; echo + >>all; sleep 0.02; echo - >>all; echo "-$PARALLEL_SSHLOGIN" >>at' ::: 1 2 3 4 5 </dev/null
	[[ $(most_at_once all) -le 2 ]]
	for host in one two three; do
		grep "$host" at | cut -c1 >one_host
		assert_eq "$(most_at_once one_host) $(wc -l <one_host)" "1 10"
	done
}

@test "--onall counts machines in its exit status, and one that cannot be reached has failed" {
	run_fairpar 3 --onall --joblog log -S one,two,gone 'exit {}' ::: 1 2 </dev/null
	assert_eq "$(cut -f2,7 log | sort | tr '\t\n' '  ')" "Host Exitval gone 255 gone 255 one 1 one 2 two 1 two 2 "
	assert_eq "$(grep -c 'gone: cannot connect' <<<"$stderr")" 1
	[[ $stderr != *--retry-failed* ]] # which does not know where they belong
}

@test "--onall --resume-failed runs what a machine has not done" {
	line='[ $PARALLEL_SSHLOGIN-{} != two-b ] || [ -e now ] || exit 1; echo $PARALLEL_SSHLOGIN-{}'
	run_fairpar 1 --onall --joblog log -S one,two "$line" ::: a b </dev/null
	touch now
	run_fairpar --onall --joblog log --resume-failed -S one,two "$line" ::: a b </dev/null
	assert_eq "$output" two-b
}

@test "--onall goes on elsewhere while a machine takes its time" {
	make_fifo others
	run_fairpar --onall -S one,two '[ $PARALLEL_SSHLOGIN = one ] || exec echo {} >others; [ {} != 1 ] || head -n3 <>others' ::: 1 2 3 </dev/null 3>&-
	assert_eq "${#lines[@]}" 3
}

@test "--nonall runs the command once on each machine" {
	run_fairpar 1 --nonall -k --tag -S b,a,c 'echo hi; [ $PARALLEL_SSHLOGIN != b ]' </dev/null
	assert_lines $'a\thi' $'b\thi' $'c\thi'
	run_fairpar 255 --nonall -S a </dev/null
	assert_contains "$stderr" "needs a command"
}

@test "runs in jobs elsewhere have no more slots than their machine" {
	# inner LOG N: a run of eight jobs, which note their starts and ends in that file; the first ends when N have begun
	echo '"$FAIRPAR" -j8 "echo + >>$1; until [ \$(grep -c + $1) -ge $2 ]; do sleep 0.01; done; sleep 0.02; echo - >>$1 #" ::: {1..8}' >inner
	run_fairpar -S 2/one,1/two --env FAIRPAR "cd '$PWD'; echo >>begun; until [ \$(wc -l <begun) = 3 ]; do sleep 0.01; done
		case \$PARALLEL_SSHHOST in one) bash inner one 2 ;; *) bash inner two 1 ;; esac #" ::: 1 2 3 </dev/null
	assert_eq "$(most_at_once one) $(most_at_once two)" "2 1"
	assert_eq "$(cat one two | wc -l)" 48
}

# make_meeting N: the script `inner LOG` as of make_inner, where no job ends before N jobs were there at once.
make_meeting() {
	rm -f log door
	mkfifo door
	exec 5<>door # as long as the test lasts: what is written stays
	echo '"$FAIRPAR" -j8 "echo + >>$1; if [ \$(wc -l <$1) -eq '"$1"' ]; then yes | head -n 100 >door; fi; read -r _ <door; echo - >>$1 #" ::: {1..8}' >inner
}

@test "runs in jobs elsewhere use all slots of their machine, and so do those on this machine beside others" {
	make_meeting 4
	run_fairpar --launch 'env {}' -j4 'bash inner log #' ::: 1 </dev/null
	assert_eq "$(wc -l <log) $(most_at_once log)" "16 4"
	make_meeting 3
	printf '%s\n' 'version: 1' 'batches:' '  here:' "    hosts: [':']" '    run: bash inner log' >m.yaml
	run_fairpar -S 3/:,1/one -f m.yaml </dev/null
	assert_eq "$(wc -l <log) $(most_at_once log)" "16 3"
}

@test "with --load, a job that waits on a machine for memory lets other jobs start there" {
	mkfifo door
	printf '%s\n' 'read -r _ <door' true >a # of a batch of which nothing is known, one job runs at a time
	printf '%s\n' true 'echo >door' >b
	run_fairpar --launch 'env {}' -j4 --memory=auto --load 1000 --batch a=a --batch b=b sh -c {} </dev/null
}

@test "a job that a machine has refused, and not lost, needs no machine for itself" {
	cat >refuses <<-'END'
		read -r _ _ mark
		printf '\n%s\nhello 2 2 0 0 1\nn\n' "$mark"
		runs=0 started=''
		while read -r name number size; do
			case $name in
			env) head -c $((size + 1)) >/dev/null ;;
			run)
				head -c $((size + 1)) >/dev/null
				if ((runs++ < 4)); then
					printf 'brake 1 0 1\nx\nrefuse %d 1\nx\nbrake 0 0 1\nx\n' "$number"
				else
					printf 'started %d 1 0\n' "$number"
					if [[ -n $started ]]; then # both run now
						printf 'done %d 0 0 0 0 1 0 0 0 2\n\1\1\n' "$started" "$number"
					fi
					started=$number
				fi
				;;
			esac
		done
	END
	run_fairpar --launch 'bash refuses {}' true ::: 1 2 </dev/null
}

@test "a job that a machine refuses because its slots have become fewer runs there when one is free, and costs nothing" {
	cat >fewer <<-'END'
		read -r _ _ mark
		printf '\n%s\nhello 2 2 0 0 1\nn\n' "$mark"
		runs=0
		while read -r name number size; do
			case $name in
			env) head -c $((size + 1)) >/dev/null ;;
			run)
				head -c $((size + 1)) >/dev/null
				case $((++runs)) in
				1) printf 'started %d 1 0\n' "$number" ;;
				2) printf 'slots 1 5\nrefuse %d 1\nx\ndone 1 0 0 0 0 1 0 0 0 2\n\1\1\n' "$number" ;;
				*) printf 'started %d 1 0\ndone %d 0 0 0 0 1 0 0 0 2\n\1\1\n' "$number" "$number" ;;
				esac
				;;
			esac
		done
	END
	run_fairpar --launch 'bash fewer {}' -j auto:1-2 --joblog joblog --tag true ::: 1 2 3 </dev/null
	assert_eq "$stderr" ''
	assert_eq "$(sed 1d joblog | wc -l)" 3
}

@test "a refusal gives no later step of the job a further attempt" {
	cat >steps <<-'END'
		read -r _ _ mark
		printf '\n%s\nhello 2 1 0 0 1\nn\n' "$mark"
		while read -r name number size; do
			case $name in
			env) head -c $((size + 1)) >/dev/null ;;
			run)
				head -c $((size + 1)) >/dev/null
				echo run >>runs
				case $(wc -l <runs) in
				1 | 2) printf 'brake 1 0 1\nx\nrefuse %d 1\nx\nbrake 0 0 1\nx\n' "$number" ;;
				3) printf 'started %d 1 0\ndone %d 0 0 0 0 1 0 0 0 2\n\1\1\n' "$number" "$number" ;;
				*) printf 'started %d 1 0\ndone %d 1 7 0 0 1 0 0 0 2\n\1\1\n' "$number" "$number" ;;
				esac
				;;
			esac
		done
	END
	printf '%s\n' 'version: 1' 'batches: {a: {args: [1], run: "true {}", then: ["false"]}}' >m.yaml
	run_fairpar 1 --launch 'bash steps {}' -f m.yaml </dev/null
	assert_eq "$(wc -l <runs)" 4
}

@test "a slot that is lent elsewhere is a turn of the job's batch, and other batches have theirs" {
	echo 1 >a; seq 9 >b
	make_fifo both # the first job there ends when the second one runs, too
	run_fairpar --launch 'env {}' -j2 --batch a=a --batch b=b --trace-service trace 'if [ $FAIRPAR_BATCH = a ]; then
		"$FAIRPAR" -j2 "case \$FAIRPAR_SEQ in 1) read -r _ <both ;; 2) echo >both ;; esac #" ::: 1 2 3 4 5 6; fi #' </dev/null
	grep -q '"batch":"a",.*"source":"lent"' trace
	assert_eq "$(grep -c '"batch":"b"' trace)" 9
}

@test "a job on this machine, one of several, waits for an added job that needs its slot" {
	echo '"$FAIRPAR" --wait $("$FAIRPAR" --add sh -c "echo added; exit 3") || echo $?' >waiter
	printf '%s\n' 'version: 1' 'batches:' '  here:' "    hosts: [':']" '    run: sh waiter' >m.yaml
	run_fairpar 1 -S 1/:,1/one -k -f m.yaml </dev/null
	assert_set 3 added
}

@test "a lost machine takes with it what was lent there" {
	run_fairpar any --launch 'env {}' --at-most-once -j3 'echo $PPID >worker; "$FAIRPAR" -j3 "echo >>begun; until [ \$(wc -l <begun) = 3 ]; do :; done; [ {} != 1 ] || kill -KILL \$(cat worker); sleep 1000 #" ::: 1 2 3 #' ::: 1 </dev/null
	assert_contains "$stderr" "1 of 1 jobs"
}

@test "--launch starts a worker by any command" {
	run_fairpar --launch 'env X=1 {}' -j2 'echo {} $MINE; pwd' ::: 1 </dev/null
	assert_lines "1" "$PWD"
}

@test "a killed worker of --launch leaves no process, not even one in a session of its own" {
	make_fifo held begun
	timeout "$patience" cat held &
	run_fairpar any --launch 'env {}' --at-most-once \
		'exec 3>held; setsid sh -c "echo >begun; exec sleep 1000" & read -r _ <begun; kill -KILL $PPID; sleep 1000' ::: 1 </dev/null
	wait $! # nobody holds it any more
}

@test "of more machines than there are descriptors for, those are used for which there are enough" {
	need prlimit
	hosts=$(printf '1/h%d,' {1..60})
	output=$(prlimit --nofile=160:160 "$FAIRPAR" -S "${hosts%,}" 'echo {}' ::: {1..200} </dev/null 2>stderr | sort -n | xargs)
	assert_eq "$output" "$(seq 200 | xargs)"
	assert_eq "$(<stderr)" 'fairpar: warning: 24 of 60 machines are used: 160 descriptors allow no more (ulimit -n)'
}

@test "a worker that offers more slots than -j gets no more jobs at once" {
	make_fifo begun go
	cat >launch <<-'END'
		#!/bin/sh
		for word; do
			shift
			[ "$word" != 2 ] || word=4096
			set -- "$@" "$word"
		done
		exec "$@"
	END
	chmod +x launch
	start_fairpar --launch './launch {}' -j2 'echo >begun; read -r _ <go #' ::: 1 </dev/null
	await begun
	wait_for lists ': 1 of 2 slots used$'
	release go
	end_fairpar
}

@test "a job that waits for a machine when none can come any more ends with the run" {
	cat >launch <<-'END'
		#!/bin/sh
		mkdir used 2>/dev/null || { echo 'srun: error: Slurm job 2 has expired' >&2; exit 1; }
		echo $$ >worker
		exec "$@"
	END
	chmod +x launch
	start_fairpar -j1 --memfree 1000T --launch './launch {}' --log log 'echo {}' ::: 1 2
	wait_for grep -q '"why":"host"' log # the worker holds it back
	kill -KILL "$(<worker)"
	end_fairpar 255
	assert_lines
	assert_contains "$stderr" 'no machine can be reached: the jobs are not run'
	assert_contains "$stderr" 'jobs: 2 cancelled'
}

@test "the first jobs are spread over machines that have not answered yet" {
	# each of these waits until the first has its first job; where that takes a second there is no spreading: so again
	sed -i 's|^exec sh|[ "$host" = one ] \|\| until [ -e where ]; do sleep 0.01; done\n&|' "$PARALLEL_SSH"
	for _ in {1..20}; do
		rm -f where
		run_fairpar -S 4/one,4/two,4/three 'echo $PARALLEL_SSHLOGIN >>where; until [ $(wc -l <where) = 4 ]; do sleep 0.01; done #' ::: 1 2 3 4 </dev/null
		spread=$(sort where | uniq -c | sort -rn | awk '{ print $1 }' | xargs)
		[[ $spread != '2 1 1' ]] || break
	done
	assert_eq "$spread" '2 1 1'
}

@test "at most eight connections begin at a time, those aside that have not answered for two seconds" {
	# the first eight go on when eight have begun
	sed -i 's|^exec sh|echo + >>at; until [ $(grep -c + at) -ge 8 ]; do sleep 0.01; done; echo - >>at\n&|' "$PARALLEL_SSH"
	hosts=$(printf '1/h%d,' {1..24})
	for _ in 1 2 3 4 5; do # a machine so busy that they take two seconds proves nothing
		rm -f at
		run_fairpar --nonall -k -S "${hosts%,}" echo x </dev/null
		assert_eq "${#lines[@]} $stderr" '24 '
		(($(most_at_once at) > 8)) || break
	done
	assert_eq "$(most_at_once at)" 8
	sed -i "s|^echo + |case \$host in h*) exec sleep $patience ;; esac; &|" "$PARALLEL_SSH"
	hosts=$(printf '1/h%d,' {1..9})
	run_fairpar -S "${hosts}1/one" echo ::: x </dev/null
	assert_eq "$output" x
}

@test "--sshdelay lets time pass between connections, and --filter-hosts is taken" {
	sed -i 's|^exec sh|date +%s%N >>at\n&|' "$PARALLEL_SSH"
	run_fairpar --nonall --sshdelay 0.2 --filter-hosts -S h1,h2,h3,h4,h5,h6 echo x </dev/null
	assert_eq "${#lines[@]}" 6
	mapfile -t at < <(sort -n at)
	((at[5] - at[0] >= 200000000)) || fail "${at[*]}"
	run_fairpar 255 --sshdelay x -S h1 echo ::: 1
	assert_contains "$stderr" "--sshdelay must be seconds, or a time such as 1h30m or 2.5s, not 'x'"
}

@test "--nice is for jobs, not for what starts a worker" {
	run_fairpar --nice 7 --launch 'env {}' 'nice #' ::: 1 </dev/null
	assert_eq "$output" "$(nice -n 7 nice)"
	sed -i 's|^exec sh|nice >nice.ssh\n&|' "$PARALLEL_SSH"
	run_fairpar --nice 7 -S 1/one 'nice #' ::: 1 </dev/null
	assert_eq "$(<nice.ssh)" "$(nice)"
	assert_eq "$output" "$(nice -n 7 nice)"
}

@test "the niceness and the umask of a batch are those of its jobs on other machines, too" {
	printf 'version: 1\nbatches:\n  a: {run: "nice; umask", nice: 3, umask: 0017}\n  b: {run: "nice; umask", needs: a}\n' >jobs.yaml
	run_fairpar -S 1/one -f jobs.yaml </dev/null
	assert_lines "$(nice -n 3 nice)" 0017 "$(nice)" "$(umask)"
}

@test "--launch runs jobs also where the working directory was deleted" {
	mkdir gone
	cd gone
	rmdir ../gone
	run_fairpar --launch 'env X=1 {}' /bin/echo ::: x </dev/null
	assert_lines x
}

# A launcher that outlives its worker, says so in the file `ends`, and so it does when it gets TERM.
make_lingering() {
	cat >linger <<LINGER
exec <&- >&- 2>&-
trap 'read -r up _ </proc/uptime; echo "term \$up" >>"$PWD/ends"; kill \$!; exit' TERM
echo closed >>"$PWD/ends"
sleep $patience &
wait
LINGER
	sed -i "s|^exec sh -c \"\$\*\"|case \$host in $1) sh -c \"\$*\"; mkdir \"$PWD/\$host\" \&\& exec sh \"$PWD/linger\" ;; esac\n&|" "$PARALLEL_SSH"
}

@test "what does not end by itself is ended on all machines at once" {
	make_lingering 'h*'
	hosts=$(printf '1/h%d,' {1..12})
	for _ in 1 2 3 4 5; do # on a busy machine many are killed before they write
		rm -rf h* ends
		run_fairpar --nonall -k -S "${hosts%,}" echo x </dev/null
		assert_eq "${#lines[@]}" 12
		mapfile -t at < <(sed -n 's/^term \([0-9]*\)\./\1/p' ends | sort -n) # hundredths of a second
		((${#at[@]} < 6)) || break
	done
	((${#at[@]} >= 6)) || fail "$(<ends)"
	((at[-1] - at[0] < 800)) || fail "${at[*]}" # one after the other, each with its two seconds, it would be at least ten
}

@test "a launcher that does not end does not hold up the jobs of another machine" {
	make_lingering one
	for _ in 1 2 3 4 5; do # on a busy machine the launcher may be killed before it writes, or the other machine stand still
		rm -rf one killed ends
		run_fairpar -S 1/one,1/two 'if [ "$PARALLEL_SSHHOST" = one ] && mkdir killed; then kill -KILL $PPID; sleep '"$patience"'; fi; sleep 0.05; echo {} >>ends #' ::: {1..60} </dev/null
		assert_eq "$(grep -c '^[0-9]*$' ends)" 60
		between=$(sed -n '/closed/,/term/p' ends | grep -c '^[0-9]*$') || :
		((between <= 2)) || break
	done
	((between > 2)) || fail "$(<ends)"
}

@test "waiting for machines costs nothing" {
	[[ ${FAIRPAR_PROFILE-release} != tsan ]] || skip "the sanitizer has a thread that does not sleep long"
	sed -i "s|^exec sh|case \$host in h*) exec sleep $patience ;; esac\n&|" "$PARALLEL_SSH"
	switches() { cat /proc/"$fairpar_pid"/task/*/status | awk '/^voluntary/ { n += $2 } END { print n }'; }
	hosts=$(printf '1/h%d,' {1..12}) # some have to wait until others are taken not to answer
	make_fifo up go
	start_fairpar -S "1/one,${hosts%,}" 'echo >up; read -r _ <go #' ::: 1 </dev/null
	await up
	sleep 3
	before=$(switches)
	sleep 8
	after=$(switches)
	release go
	end_fairpar
	((after - before < 16)) || fail "$before $after" # two looks a second would be as many
}

@test "if the connections get no thread, that is an error before anything runs" {
	use_faults
	FAIRPAR_FAULT=thread:1:EAGAIN run_fairpar 255 -S 1/one,1/two touch ::: ran </dev/null
	assert_contains "$stderr" "cannot start a thread for connections"
	[[ ! -e ran ]]
}

@test "an ssh that is not there is an error before anything runs" {
	run_fairpar 255 --ssh /proc/no/ssh -S one,: echo ::: 1 </dev/null
	assert_eq "$output" ''
	assert_eq "$stderr" "fairpar: error: cannot start '/proc/no/ssh' for one: No such file or directory"
}

# ---- what is seen of them ----

@test "a job that has failed elsewhere is named with its machine, one here is not" {
	run_fairpar 1 -S 1/one 'exit {}' ::: 1 </dev/null
	assert_contains "$stderr" "#1 (exit 1 on one)"
	run_fairpar 1 --summary=always -S 1/one 'exit {}' ::: 1 </dev/null
	assert_contains "$stderr" "FAILED #1 on one: exit 1"
	run_fairpar any -S 1/: -S 1/one --joblog log 'exit {}' ::: 1 2 </dev/null
	assert_eq "$(grep -c ' on :' <<<"$stderr")" 0
}

# lists LINE …: the list of SIGUSR1 has each of these extended regular expressions by now.
lists() {
	local line
	kill -USR1 "$fairpar_pid" 2>/dev/null
	for line; do
		grep -qE "$line" "$BATS_TEST_TMPDIR/stderr" || return
	done
}

# The list has named two jobs on the machine `one`: a list may come before fairpar knows of the second one.
lists_two() {
	lists 'on one: #' && (($(grep -oE 'on one: #[123] ' "$BATS_TEST_TMPDIR/stderr" | sort -u | grep -c '') >= 2))
}

@test "SIGUSR1 lists the jobs elsewhere with their last line, and how each machine stands" {
	make_fifo f1 f2 f3 go1 go2 go3
	start_fairpar -S 2/one,1/gone,1/: 'echo begun {}; echo >go{}; read -r x <f{} #' ::: 1 2 3
	for job in 1 2 3; do await go$job; done
	wait_for lists 'pid [0-9]+ on one: #[123] .*: begun [123]$' 'pid [0-9]+: #[123] .*: begun [123]$' 'one: 2 of 2 slots used' \
		'this machine: 1 of 1 slots used' 'gone: the machine cannot be reached, and is tried again'
	wait_for lists_two
	for job in 1 2 3; do release f$job; done
	end_fairpar
	assert_eq "$(grep -oE 'on one: #[123] ' <<<"$stderr" | sort -u | grep -c '')" 2
}

@test "--explain tells which machines a job waits for, and the log for how long it did" {
	make_fifo go begun items
	cat >m.yaml <<-'YAML'
		version: 1
		batches:
		  holds: {run: 'echo >begun; read -r x <go', hosts: one}
		  waits: {args_from: {command: 'cat items'}, run: 'echo {}', hosts: one}
		  wide: {run: 'echo 3', hosts: two, slots_per_job: 2}
	YAML
	start_fairpar -S 1/one,3/two --explain --log log -f m.yaml </dev/null
	await begun
	wait_for grep -q '"job_end".*"wide#1"' log
	release items $'1\n2' # which wait for nothing else from here on
	wait_for lists "job waits#1: waits for a slot on one, for [0-9.]+s so far" "batch 'waits': 1 queued, 1 running; the next job waits for a slot on one$"
	release go
	end_fairpar
	assert_set 1 2 3
	assert_contains "$(grep '"ev":"wait",' log)" '"batch":"waits","job":"waits#1","why":"host","for":"a slot on one"'
	assert_contains "$(grep '"ev":"wait_end",' log)" '"batch":"waits","job":"waits#1","why":"host"'
	run_fairpar --from-log log --explain
	assert_contains "$output" '  waits: waited for a machine: '
}

@test "--explain tells that no machine is connected, and the log that jobs waited for one" {
	make_fifo asked connected
	sed -i 's|^exec sh|echo >asked; read -r x <connected\n&|' "$PARALLEL_SSH"
	start_fairpar -S 1/one --explain --log log 'echo {}' ::: 1 </dev/null
	await asked
	wait_for lists "batch 'default': 1 queued, 0 running; the next job waits for a machine: none is connected$"
	awk 'BEGIN { for (i = 0; i < 20000000; ++i) sum += i }' # CPU time: it waits longer for the machine than for its thread, however slow that is
	release connected
	end_fairpar
	assert_eq "$output" 1
	run_fairpar --from-log log --explain
	assert_contains "$output" '  default: waited for a machine: '
}

@test "--status tells how each machine stands, and where each job runs" {
	need jq
	export FAIRPAR_POOL_DIR=$BATS_TEST_TMPDIR/pools
	make_fifo begun1 begun2 go1 go2
	start_fairpar --run r -S 2/one,1/gone,1/: 'echo >begun{}; read -r x <go{} #' ::: 1 2 </dev/null
	await begun1
	await begun2
	until "$FAIRPAR" --run r --status=json >said 2>&1 && grep -q unreachable said; do :; done
	assert_eq "$(jq -rc '.hosts[] | [.host, .state, .slots, .why]' said)" \
		'["one","up",2,null]'$'\n''["gone","unreachable",0,"the machine cannot be reached, and is tried again"]'$'\n''[":","up",1,null]'
	assert_eq "$(jq -rc '[.hosts[].used] | add' said) $(jq -rc '[.jobs[] | select(.host == "one")] | length' said)" "2 $(jq '.hosts[0].used' said)"
	assert_eq "$(jq .slots said)" 3
	sed -n '/^.Ql --status=json/,/^Other fields/p' "$BATS_TEST_DIRNAME/../man/fairpar-nested.7" >fields
	for field in host hosts node state used why; do
		grep -qE "^\.(It )?Li $field( |\$)" fields || fail "$field is not in the manual"
	done
	"$FAIRPAR" --run r --status >said
	grep -qE '^ +2 +[12]  one$' said
	grep -qE '^ +0 +0  gone: the machine cannot be reached, and is tried again$' said
	grep -qE '^ +1 +[01]  this machine$' said
	grep -qE '#[12] on one  ' said
	release go1
	release go2
	end_fairpar
}

# ---- the program, where it is not there ----

# A machine with a home of its own, and no fairpar but the one that it is given.
make_bare_machine() {
	unset FAIRPAR_REMOTE
	export bare=$BATS_TEST_TMPDIR/bare
	mkdir -p "$bare/home" "$bare/bin" "$bare/run"
	sed -i "s|^exec sh|HOME=$bare/home; PATH=$bare/bin:/usr/bin:/bin; cd; unset XDG_CACHE_HOME; export XDG_RUNTIME_DIR=$bare/run; &|" "$PARALLEL_SSH"
	copies=$bare/home/.cache/fairpar
}

# How many copies were made: each begins in a directory of its own.
watch_copies() {
	printf '#!/bin/sh\necho >>"$bare/made"\nexec /usr/bin/mktemp "$@"\n' >"$bare/bin/mktemp"
	chmod +x "$bare/bin/mktemp"
}

# Outside its home only its XDG_RUNTIME_DIR takes a copy.
watch_places() {
	printf '#!/bin/sh\necho "$2" >>"$bare/tried"\ncase $2 in $bare/[hr]*) [ -e "$bare/full" ] || exec /usr/bin/mktemp "$@" ;; esac\nexit 1\n' >"$bare/bin/mktemp"
	chmod +x "$bare/bin/mktemp"
}

@test "a machine without fairpar gets this one, once, and jobs have the login's umask" {
	make_bare_machine
	watch_copies
	mkdir -p "$copies"
	: >"$copies/123-1a" # as copies lay there once
	umask 027
	for _ in 1 2; do
		run_fairpar -S 2/one -k 'echo {} $(umask)' ::: a b </dev/null
		assert_lines "a 0027" "b 0027"
		assert_eq "$stderr" ""
	done
	assert_eq "$(grep -c '' "$bare/made")" 1
	[[ ! -e $copies/123-1a ]]
	assert_eq "$(find "$copies" -type f | grep -c '')" 1
	assert_eq "$(stat -c %a "$copies" "$copies"/* "$copies"/*/* | xargs)" "700 700 700"
	cmp "$FAIRPAR" "$copies"/*/fairpar
}

@test "a job on a machine to which fairpar was sent finds it in its PATH" {
	make_bare_machine
	for _ in sent kept; do
		run_fairpar -S 1/one 'command -v fairpar; fairpar -k echo ::: a b #' ::: 1 </dev/null
		assert_lines "$(echo "$copies"/*/fairpar)" a b
	done
}

@test "a copy that was cut short, or damaged, or that others may write, is not executed, and is replaced" {
	make_bare_machine
	watch_copies
	run_fairpar -S 1/one echo ::: 1 </dev/null
	empty() { : >"$1"; }
	change() { printf x | dd of="$1" bs=1 seek=4096 conv=notrunc status=none; }
	give() { chmod 777 "$copies"; }
	show() { chmod 755 "${1%/*}"; }
	local n=1
	for damage in empty change 'chmod -x' 'chmod g+w' give show; do
		$damage "$copies"/*/fairpar
		run_fairpar -S 1/one echo ::: 2 </dev/null
		assert_eq "$output" 2
		cmp "$FAIRPAR" "$copies"/*/fairpar
		assert_eq "$(stat -c %a "$copies" "$copies"/* "$copies"/*/* | xargs)" "700 700 700"
		assert_eq "$(grep -c '' "$bare/made")" $((++n))
	done
}

@test "what another user has put where the copies lie is never executed" {
	[[ $UID = 0 ]] || skip "only root gives files away"
	make_bare_machine
	run_fairpar -S 1/one echo ::: 1 </dev/null
	for theirs in "$copies"/*/fairpar "$copies"/* "$copies"; do
		chown 65534 "$theirs"
		run_fairpar -S 1/one 'readlink /proc/$PPID/exe #' ::: 2 </dev/null
		[[ $output != "$theirs"* || $(stat -c %u "$theirs") = 0 ]] || fail "executed $output"
		assert_eq "$stderr" ""
		[[ ! -e $theirs ]] || chown 0 "$theirs"
	done
	assert_eq "$(ls -A "$bare/run")" ''
}

@test "a machine whose home has no place for the program has it elsewhere, while it is needed" {
	make_bare_machine
	watch_places
	line='readlink /proc/$PPID/exe; command -v fairpar; fairpar echo ::: inner; exit {} #'
	elsewhere() {
		run_fairpar any -S 1/one "$line" ::: 0 </dev/null
		assert_eq "$status $stderr" '0 '
		assert_contains "${lines[0]}" "$bare/run/"
		assert_eq "${lines[1]} ${lines[2]}" "${lines[0]} inner"
		assert_eq "$(ls -A "$bare/run")" ''
	}
	: >"$bare/home/.cache" # no directory
	elsewhere
	rm "$bare/home/.cache"
	unshare -rm true 2>/dev/null || skip "unshare -rm is not permitted"
	mkdir "$bare/home/.cache"
	cp "$PARALLEL_SSH" ssh
	for how in noexec size=64k ro; do
		sed "s|exec sh -c|exec unshare -rm sh -c 'mount -t tmpfs -o \"\$0\" none \"\$HOME/.cache\" \&\& exec sh -c \"\$1\"' $how|" ssh >"$PARALLEL_SSH"
		elsewhere
	done
}

@test "the copy elsewhere goes when the worker was killed, too" {
	make_bare_machine
	watch_places
	: >"$bare/home/.cache"
	run_fairpar -S 1/one 'if mkdir once; then kill -KILL $PPID; sleep 60; fi; echo {} #' ::: 1 </dev/null
	assert_eq "$output" 1
	assert_eq "$(ls -A "$bare/run")" ''
}

@test "a machine that has no place for the program says so" {
	make_bare_machine
	watch_places
	: >"$bare/home/.cache"
	: >"$bare/full"
	run_fairpar 255 -S 1/one echo ::: 1 </dev/null
	assert_contains "$stderr" "one: cannot connect"
	assert_contains "$stderr" "no copy can be put into $copies, $bare/run, /tmp, /var/tmp or /dev/shm: these are full, or a copy cannot be written or executed there"
	assert_eq "$(sed 's|/fairpar\.X*$||' "$bare/tried" | xargs)" "$bare/run /tmp /var/tmp /dev/shm"
}

@test "a disk that is full when the program comes is said to be" {
	make_bare_machine
	printf '#!/bin/sh\n[ "$3" ] || exec /usr/bin/head "$@" >/dev/full\nexec /usr/bin/head "$@"\n' >"$bare/bin/head"
	chmod +x "$bare/bin/head"
	run_fairpar 255 -S 1/one echo ::: 1 </dev/null
	assert_contains "$stderr" "the copy that was sent cannot be written into $copies"
	assert_eq "$(ls -A "$copies")" ""
}

@test "a batch for one machine waits for it when it is lost, and others go on" {
	cat >m.yaml <<-'YAML'
		version: 1
		batches:
		  bound: {run: 'if mkdir once; then kill -KILL $PPID; sleep 60; fi; echo again', hosts: one}
		  free: {args: [1, 2], run: 'echo {}'}
	YAML
	run_fairpar -S 1/one,1/two -f m.yaml </dev/null
	assert_set again 1 2
	assert_contains "$stderr" "jobs that need this machine wait, other jobs run elsewhere, and the machine is tried again"
}

@test "what has not come as it was sent is neither kept nor executed" {
	make_bare_machine
	printf '#!/bin/sh\n[ "$3" ] && exec /usr/bin/head "$@"\n/usr/bin/head "$@" | tr e E\n' >"$bare/bin/head"
	chmod +x "$bare/bin/head"
	run_fairpar 255 -S 1/one echo ::: 1 </dev/null
	assert_contains "$stderr" "the copy that was sent has not come whole"
	assert_eq "$(ls -A "$copies")" ""
}

@test "a machine of another kind is told from this one" {
	make_bare_machine
	printf '#!/bin/sh\necho Linux pdp11\n' >"$bare/bin/uname"
	chmod +x "$bare/bin/uname"
	run_fairpar 255 -S 1/one echo ::: 1 </dev/null
	assert_contains "$stderr" "there is no fairpar on the machine, and this fairpar is for $(uname -sm), not for Linux pdp11"
	[[ $stderr != *want\ * ]] || fail "$stderr"
	assert_eq "$(ls -A "$copies")" ""
}

@test "a program that does not run there is not kept, and what would run is named" {
	make_bare_machine
	printf '#!/bin/sh\necho "no such library" >&2\nexit 1\n' >broken
	chmod +x broken
	cp "$FAIRPAR" own
	sed -i "s#^HOME=#[ ! -e $PWD/broken ] || mv $PWD/broken $PWD/own; &#" "$PARALLEL_SSH" # while it runs
	FAIRPAR=$PWD/own run_fairpar 255 -S 1/one echo ::: 1 </dev/null
	assert_contains "$stderr" "no such library; fairpar: the copy that was sent does not run there; a fairpar-static (make static) beside the fairpar here would be sent instead, and needs no libraries there"
	cp own own-static
	cp "$FAIRPAR" own.new
	mv own.new own
	FAIRPAR=$PWD/own run_fairpar 255 -S 1/one echo ::: 1 </dev/null
	assert_contains "$stderr" "no such library; fairpar: the copy that was sent does not run there"
	[[ $stderr != *make* ]]
	assert_eq "$(ls -A "$copies")" ""
}

# ---- hosts: of a manifest ----

@test "a batch of a manifest runs on its machines alone, and others anywhere" {
	cat >m.yaml <<-'YAML'
		version: 1
		batches:
		  far: {args: [1, 2, 3, 4, 5, 6], run: 'echo {} $PARALLEL_SSHLOGIN', hosts: [one, "@fast"]}
		  near: {args: [7, 8, 9], run: 'echo {} $PARALLEL_SSHLOGIN', hosts: ":"}
		  alone: {run: 'echo 0 $PARALLEL_SSHLOGIN', hosts: user@three:22}
	YAML
	run_fairpar -S 1/one,@fast/1/two,1/user@three:22,1/: -f m.yaml </dev/null
	assert_eq "$(grep -c ' \(one\|two\)$' <<<"$output")" 6
	assert_eq "$(grep -c '^[789] :$' <<<"$output")" 3
	assert_contains "$output" "0 user@three:22"
}

@test "where no machine of a batch has a slot free, others go on" {
	make_fifo go begun
	cat >m.yaml <<-'YAML'
		version: 1
		batches:
		  holds: {run: 'echo >begun; read x <go', hosts: one}
		  waits: {args: [1, 2, 3, 4], run: 'echo waited {}', hosts: one, priority: 5}
		  others: {args: [1, 2, 3, 4, 5, 6], run: '[ {} -gt 1 ] || read x <begun; echo {} >>done; [ {} -lt 6 ] || echo >go'}
	YAML
	run_fairpar -S 1/one,1/two --joblog log -f m.yaml </dev/null
	assert_eq "$(grep -c waited <<<"$output")" 4
	assert_eq "$(sort -n "done" | tail -n 1)" 6
	assert_eq "$(grep -c $'\tone\t.*waited' log)" 4
}

@test "a job of several slots gets them on a machine of its batch" {
	printf '%s\n' 'version: 1' batches: '  wide: {args: [1, 2], run: "echo $PARALLEL_SSHLOGIN {}", hosts: two, slots_per_job: 2}' \
		'  small: {args: [1, 2, 3, 4, 5, 6, 7, 8], run: ": {}"}' >m.yaml
	run_fairpar -S 2/one,2/two -f m.yaml </dev/null
	assert_set "two 1" "two 2"
}

@test "the jobs of a batch whose machine cannot be reached fail, and others go on" {
	printf '%s\n' 'version: 1' batches: '  lost: {args: [1, 2], run: ": {}", hosts: gone}' '  fine: {args: [1, 2], run: "echo {}"}' >m.yaml
	run_fairpar any -S 1/gone,1/two --joblog log -f m.yaml </dev/null
	assert_set 1 2
	assert_contains "$stderr" "gone: cannot connect"
	assert_contains "$stderr" "2 of 4 jobs failed"
	assert_eq "$(grep -c $'\tgone\t.*\t255\t0\t' log)" 2
}

@test "a batch is told apart whose machines are none of the run's" {
	printf '%s\n' 'version: 1' batches: '  fine: {run: ":"}' '  a: {run: ":", hosts: [one, nowhere]}' '  b: {run: ":", hosts: "@none"}' >m.yaml
	for check in '' --check; do
		run_fairpar 255 $check -S 1/one -f m.yaml </dev/null
		assert_contains "$stderr" "m.yaml:4: batch 'a': hosts: 'nowhere' is none of the machines of the run"
		assert_contains "$stderr" "m.yaml:5: batch 'b': hosts: '@none' is none of the machines of the run"
	done
	run_fairpar 255 -f m.yaml </dev/null
	assert_contains "$stderr" "m.yaml:4: batch 'a': hosts: the run has no other machines: they are named by -S, --sshloginfile or --slurm"
	printf '%s\n' 'version: 1' batches: '  a: {run: ":", hosts: one, long_running: true}' >m.yaml
	run_fairpar 255 -S 1/one -f m.yaml </dev/null
	assert_contains "$stderr" "hosts: jobs of long_running run on this machine"
}

# ---- --load, --memfree ----

# machine HOST LOAD FREE: what /proc tells there.
machine() {
	local proc=$BATS_TEST_TMPDIR/root/$1/proc
	mkdir -p "$proc"
	printf 'procs_running %d\nprocs_blocked 0\n' "$(($2 + 1))" >"$proc/new"
	mv "$proc/new" "$proc/stat"
	printf 'MemTotal: 1000 kB\nMemAvailable: %d kB\n' "$3" >"$proc/new"
	mv "$proc/new" "$proc/meminfo"
}

have_machines() {
	use_faults
	export FAIRPAR_REMOTE=$FAIRPAR
	sed -i "s|^exec sh|export FAIRPAR_ROOT=$BATS_TEST_TMPDIR/root/\$host\n&|" "$PARALLEL_SSH"
}

tells() { grep -qF "$1" "$BATS_TEST_TMPDIR/stderr"; }

@test "jobs go to the machines whose load and memory allow it" {
	have_machines
	machine one 9 1000
	machine two 0 1000
	machine three 0 10
	run_fairpar -S 1/one,1/two,1/three --load 3 --memfree 100K --joblog log 'echo {}' ::: 1 2 3 4 </dev/null
	assert_set 1 2 3 4
	assert_eq "$(sed 1d log | cut -f 2 | sort -u)" two
}

@test "a machine whose load was too high takes jobs when it is not any more, and SIGUSR1 tells why it takes none" {
	have_machines
	machine one 9 1000
	start_fairpar -S 2/one --load 3 'echo {} >>ran; echo {}' ::: 1 2 3
	wait_for tells 'one: waiting: the load is 9, and --load lets jobs start below 3'
	wait_for lists 'one: 0 of 2 slots used; no job starts: the load is 9' # once they have come back
	[[ ! -e ran ]]
	machine one 0 1000
	end_fairpar
	assert_set 1 2 3
	assert_eq "$(grep -c waiting <<<"$stderr")" 1
}

@test "jobs here look at the load here, and Ctrl-C ends a run that waits for a machine" {
	have_machines
	machine one 9 1000
	machine here 0 1000
	FAIRPAR_ROOT=$BATS_TEST_TMPDIR/root/here start_fairpar -S 1/one,1/: --load 3 --memfree 1k 'echo {} $PARALLEL_SSHLOGIN' ::: 1 2 3
	end_fairpar
	assert_set '1 :' '2 :' '3 :'
	start_fairpar -S 1/one --load 3 echo ::: 1
	wait_for tells 'one: waiting'
	kill -INT "$fairpar_pid"
	end_fairpar 130
}

@test "--load is no file where machines are to look at it" {
	echo 3 >most
	run_fairpar 255 -S one --load most echo ::: 1
	assert_contains "$stderr" "--load must be a number with --sshlogin, not a file, which other machines cannot read: 'most'"
}

@test "a job that has failed on a machine is tried on another one, though that is busy" {
	run_fairpar -S 1/one,1/two --retries 2 --joblog log '[ $PARALLEL_SSHHOST = two ] && sleep 0.1 && echo {} #' ::: 1 2 3 4 5 6 </dev/null
	assert_eq "$(sort <<<"$output" | tr '\n' ' ')" "1 2 3 4 5 6 "
	assert_eq "$(cut -f2,7 log | sort -u | tr '\t\n' '  ')" "Host Exitval two 0 "
}

@test "a job that fails everywhere is tried on each machine before one has it again" {
	# the first three see to it that all machines are there
	run_fairpar 1 -S 1/one,1/two,1/three --retries 6 \
		'if [ {} != last ]; then : >up.{}; until [ -e up.1 ] && [ -e up.2 ] && [ -e up.3 ]; do sleep 0.01; done; exit; fi; echo $PARALLEL_SSHHOST >>begun; exit 1 #' \
		::: 1 2 3 last </dev/null
	assert_eq "$(head -n3 begun | sort | tr '\n' ' ')" "one three two "
	assert_eq "$(sort begun | uniq -c | tr -s ' \n' ' ')" " 2 one 2 three 2 two "
}

@test "--workdir is made where --launch has started the worker, too" {
	run_fairpar --launch 'env {}' --workdir deep/{} 'pwd #' ::: one </dev/null
	assert_eq "$output" "$PWD/deep/one"
	run_fairpar --launch 'env {}' --workdir ... 'pwd >it; ls #' ::: 1 </dev/null
	assert_eq "$output" it
}

@test "a bash of a job does not take itself for one that sshd has started" {
	echo 'echo loud' >.bashrc
	sed -i 's|^exec sh|export SSH_CLIENT="127.0.0.1 1 22" SHELL; unset SHLVL; exec env -u SHLVL sh|' "$PARALLEL_SSH"
	run_fairpar -S 1/one --shell bash -k 'echo {} | cat' ::: 1 2 </dev/null
	assert_lines 1 2
}

@test "with -t, jobs that wait for a machine keep no others from it" {
	run_fairpar any -t -S 1/one,1/two --retries 2 '[ $PARALLEL_SSHHOST = two ] || exit 1; sleep 0.05 #' ::: $(seq 20) </dev/null
	assert_eq "$status" 0
}

@test "why there is no connection is told with the line before the last, too" {
	run_fairpar 255 --launch 'sh -c "echo unrecognized option >&2; echo Try help >&2; exit 1" {}' echo ::: 1 </dev/null
	assert_contains "$stderr" "cannot connect: exit 1: unrecognized option; Try help"
}

@test "a job that brings its machines down takes no other job with it for good" {
	run_fairpar 1 -S 3/one --joblog log 'if [ {} = bad ]; then kill -KILL $PPID; fi; sleep 0.2; echo {}' ::: bad 1 2 3 4 5 </dev/null
	assert_set 1 2 3 4 5
	assert_contains "$stderr" "lost with its machine"
}

@test "a job that has failed, and waits for another machine when the run is cut short, has failed" {
	need jq
	make_fifo begun go
	start_fairpar -S 1/one,1/two --retries 2 --joblog joblog --log log \
		'if [ {} = holds ]; then echo >begun; read -r x <go; else read -r x <begun; fi; echo {}; exit 3 #' ::: holds fails </dev/null
	wait_for grep -q '"ev":"job_start".*"job":"default#1"' log
	wait_for grep -q '"ev":"wait".*"job":"default#2","why":"host","for":"a slot on another machine"' log
	kill -INT "$fairpar_pid"
	end_fairpar 130
	assert_contains "$stderr" "1 of 2 jobs failed"
	assert_eq "$(cut -f1,7 joblog)" $'Seq\tExitval\n2\t3'
	assert_eq "$(jq -r 'select(.ev == "job_end") | "\(.job) \(.attempt) \(.status)"' log | tail -n 2 | sort)" $'default#1 1 cancelled\ndefault#2 1 failed'
}

@test "what a remote job's times say is possible, and each that has begun is told to have begun" {
	need jq
	run_fairpar any -S 2/one,2/two --log log 'if [ {} = 7 ] && mkdir once; then kill -KILL $PPID; fi; exit 0 #' ::: {1..300} </dev/null
	run jq -s '[.[] | select(.ev == "job_end" and .start != null and .start + .wall > .t + 0.000001)] | length' log
	assert_eq "$output" 0
	run jq -s '([.[] | select(.ev == "job_start") | "\(.job) \(.attempt)"] | unique) as $begun
		| [.[] | select(.ev == "job_end" and .start != null) | "\(.job) \(.attempt)"] | unique - $begun' log
	assert_eq "$output" "[]"
}
