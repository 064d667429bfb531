# --pool: commands that were started independently of each other take turns on the slots of a pool.

load helper
load pools

# ---- the command is as it would be without fairpar ----

@test "--single exits with the status of the command" {
	run_fairpar --pool --single true
	run_fairpar 3 --pool --single sh -c 'exit 3'
	run_fairpar 255 --pool --single sh -c 'exit 255'
	run_fairpar 127 --pool --single no-such-command
	assert_contains "$stderr" "cannot start 'no-such-command': not found"
	: >no-program
	run_fairpar 126 --pool --single ./no-program
	run_fairpar 126 --pool --single /
	run_fairpar 143 --pool --single sh -c 'kill -TERM $$'
	run_fairpar 137 --pool --single sh -c 'kill -KILL $$'
	await_pool '0 of '
}

@test "--single leaves words, stdin, stdout, stderr and descriptors as they are" {
	run_fairpar --pool --single sh -c 'printf "<%s>\n" "$@"; cat; echo error >&2; cat <&7' sh 'a  b' '{}' '$x' ::: '' <<<input 7<<<seven
	assert_lines '<a  b>' '<{}>' '<$x>' '<:::>' '<>' input seven
	assert_eq "$stderr" error
}

@test "--single keeps the process group, the directory and the environment" {
	run_fairpar --pool --single sh -c 'cut -d " " -f 5 /proc/$$/stat /proc/$PPID/stat | uniq | wc -l; pwd; echo $FAIRPAR_POOL $FAIRPAR_TEST'
	assert_lines 1 "$PWD" "default $FAIRPAR_TEST"
	FAIRPAR_POOL=named run_fairpar --single sh -c 'echo $FAIRPAR_POOL'
	assert_lines named
}

@test "a command line that is longer than what is told of it waits and runs like any other" {
	run_fairpar --pool --single sh -c 'echo $#' sh $(seq 20000)
	assert_lines 20000
	assert_eq "$stderr" ''
}

@test "a script without #! is run by the shell" {
	echo 'echo script "$@"' >script
	chmod +x script
	run_fairpar --pool --single ./script a
	assert_lines 'script a'
}

@test "a signal that fairpar is sent is handed on to the command" {
	make_fifo started
	single a sh -c 'trap "echo caught; exit 5" TERM; echo >started; while :; do :; done'
	await started
	kill -TERM "$single_pid"
	wait "$single_pid" || status=$?
	assert_eq "$status" 5
	assert_eq "$(cat a.out)" caught
}

@test "USR1 and USR2 are handed on, too" {
	make_fifo started
	for signal in USR1 USR2; do
		single a sh -c "trap 'exit 5' $signal; echo >started; while :; do :; done"
		await started
		kill -"$signal" "$single_pid"
		status=0
		wait "$single_pid" || status=$?
		assert_eq "$status" 5
	done
}

@test "Ctrl-C goes to the command, which says what happens then" {
	need python3
	printf 'ready\t\\x03\n' >talk
	on_terminal "$FAIRPAR" --pool --single sh -c 'trap "echo caught; exit 5" INT; test -t 0 -a -t 1 && echo ready; read -r x'
	assert_eq "$status" 5
	assert_contains "$output" caught
	on_terminal "$FAIRPAR" --pool --single sh -c 'echo ready; read -r x'
	assert_eq "$status" 130
}

@test "a descriptor that is closed for fairpar is closed for the command of --single" {
	for fd in 0 1 2; do
		bash -c '"$0" --pool --single sh -c "test ! -e /proc/self/fd/$1"'" $fd>&-" "$FAIRPAR" "$fd"
		FAIRPAR_POOL_DIR=$PWD/none/such bash -c '"$0" --pool --single sh -c "test ! -e /proc/self/fd/$1" 2>/dev/null'" $fd>&-" "$FAIRPAR" "$fd"
	done
	run_fairpar --pool --single sh -c 'test -e /proc/self/fd/0 && test -e /proc/self/fd/1 && test -e /proc/self/fd/2'
}

@test "Ctrl-Z stops the command and fairpar, and fg goes on with both" {
	need python3
	printf 'ready\t\\x1a\nback\tfg\\n\nagain\tword\\n\n' >talk
	cat >session <<-EOF
		set -m
		"$FAIRPAR" --pool --single sh -c 'trap "echo again" CONT; echo ready; until read -r x; do :; done; echo got \$x'
		echo back
		read -r line && \$line
		echo over \$?
	EOF
	on_terminal bash session
	assert_contains "$output" 'got word'
	assert_contains "$output" 'over 0'
}

# ---- who is next ----

@test "never more commands run at once than the pool has slots" {
	for i in {1..30}; do
		single "$i" --pool-slots 3 sh -c 'echo + >>log; cat /proc/self/stat /proc/stat >/dev/null; echo - >>log'
	done
	wait
	assert_eq "$(grep -c + log)" 30
	[[ $(most_at_once log) -le 3 ]] || fail "$(most_at_once log) at once"
	assert_eq "$(complaints ./*.err)" ''
}

@test "100 commands at once all get their slot" {
	for i in {1..100}; do
		single "$i" --pool-slots 4 --batch "$((i % 7))" sh -c 'echo + >>log; echo - >>log'
	done
	wait
	assert_eq "$(grep -c + log)" 100
	[[ $(most_at_once log) -le 4 ]] || fail "$(most_at_once log) at once"
	assert_eq "$(complaints ./*.err)" ''
	await_pool 'default: 0 of '
}

@test "who waits is served in order, and batches take turns" {
	hold h --pool-slots 1
	for name in a1 a2 a3; do
		line_up "$name" --batch a
	done
	line_up b1 --batch b
	release h.go
	wait
	assert_eq "$(head -n 2 order)" $'a1\nb1'
	assert_eq "$(grep a order)" $'a1\na2\na3'
}

@test "a batch of a higher priority goes first" {
	hold h --pool-slots 1
	line_up a --batch a
	line_up b --batch b --priority b=1
	release h.go
	wait
	assert_eq "$(cat order)" $'b\na'
}

@test "a wide command is not overtaken by narrow ones, though a slot is free" {
	hold narrow --pool-slots 2
	line_up wide --slots-per-job 2
	line_up late
	await_pool '1 of 2 slots taken, 2 waiting'
	[[ ! -e order ]]
	release narrow.go
	wait
	assert_eq "$(cat order)" $'wide\nlate'
}

@test "a command that wants more slots than there are takes all" {
	hold wide --pool-slots 2 --slots-per-job 100
	await_pool '2 of 2 slots taken'
	release wide.go
	wait
}

@test "what runs in a slot is lent it: three deep in a pool with one slot" {
	need make
	cat >Makefile <<-'EOF2'
		outer:; @"$(FAIRPAR)" --pool --single $(MAKE) --no-print-directory middle
		middle: a b
		a b:; @"$(FAIRPAR)" --pool --single sh -c 'echo + >>log; "$(FAIRPAR)" --pool --single echo $@; echo - >>log'
	EOF2
	run_fairpar --pool --pool-slots 1 --single make --no-print-directory -j4 outer
	assert_set a b
	assert_eq "$(most_at_once log)" 1
	assert_eq "$(complaints "$BATS_TEST_TMPDIR/stderr")" ''
	await_pool 'default: 0 of ' # of a next server, too: this one ends when it has been idle for 5 s
}

@test "the status tells how many slots are lent, and an inner command gets no more than the outer one has" {
	need jq
	for slots in 4 3 5; do
		run_fairpar --pool --pool-slots 6 --single --slots-per-job 4 "$FAIRPAR" --pool --single --slots-per-job $slots "$FAIRPAR" --pool --status=json
		assert_eq "$(jq -r '.clients[1] | [.leases, .slots, .lent] | @csv' "$BATS_TEST_TMPDIR/stdout")" "1,0,$((slots < 4 ? slots : 4))"
	done
}

@test "pools with different names know nothing of each other" {
	hold h --pool-slots 1
	FAIRPAR_POOL=other run_fairpar --pool-slots 1 --single echo ran
	assert_lines ran
	run_fairpar --pool=third --single echo ran
	release h.go
	wait
}

@test "whoever comes first says how many slots there are, and another wish is answered" {
	hold h --pool-slots 3
	run_fairpar --pool --pool-slots 2 --single true
	assert_contains "$stderr" 'pool default runs already, with 3 slots, not with 2'
	run_fairpar --pool --pool-slots 2 --single --quiet true
	assert_eq "$stderr" ''
	run_fairpar --pool=one --pool-slots 1 -j1 '"$FAIRPAR" --no-inherit --pool=one --pool-slots 2 true ::: b #' ::: a
	assert_contains "$stderr" 'pool one runs already, with 1 slot, not with 2'
	release h.go
	wait
	FAIRPAR_POOL=small run_fairpar --single --pool-slots 1 "$FAIRPAR" --single --pool-slots 2 true
	assert_contains "$stderr" 'pool small runs already, with 1 slot, not with 2'
}

# ---- what is said ----

@test "--status without a pool starts none" {
	need pgrep
	need taskset
	run taskset -c "$(taskset -cp $$ | grep -o '[0-9]*' | tail -n 1)" "$FAIRPAR" --pool --status
	assert_eq "$output" 'pool default: 0 of 1 slots taken, 0 waiting' # as many as it would begin with
	assert_eq "$(servers)" ''
}

# command_of PID: the process that the fairpar with that number runs in a slot
command_of() {
	pgrep -P "$1" -f '^sh'
}

# await_holder PID: until the server knows that the process runs in a slot
await_holder() {
	until "$FAIRPAR" --pool --status >state && grep -q "^ *$1 " state; do :; done
}

@test "--status shows who holds slots and who waits, since when, and for how many" {
	need pgrep
	hold h --pool-slots 2 --slots-per-job 2
	holder=$(command_of "$single_pid")
	await_holder "$holder"
	line_up w --batch night --slots-per-job 2
	run_fairpar --pool --status
	assert_eq "$(sed -E 's/ +[^ ]+  sh -c/ TIME  sh -c/' "$BATS_TEST_TMPDIR/stdout")" \
		"pool default: 2 of 2 slots taken, 1 waiting
   PID  SLOTS  LENT  WANTS  PLACE     TIME  COMMAND
$(printf "%6d  %5d  %4d  %5d  %5s TIME  sh -c echo >h.in; read -r _ <h.go  (%s)" "$holder" 2 0 0 - "$PWD")
$(printf "%6d  %5d  %4d  %5d  %5s TIME  sh -c echo w >>order  (batch night)" "$single_pid" 0 0 2 1)"
	release h.go
	wait
}

@test "a wide command for which free slots are kept is named as what the others wait for" {
	need jq
	need python3
	hold narrow --pool-slots 2
	line_up wide --slots-per-job 2
	local wide=$single_pid
	line_up late
	run_fairpar --pool --status
	assert_contains "$output" "sh -c echo wide >>order  ($PWD)  waits for 2 slots at once"
	run_fairpar --pool --status=json
	assert_eq "$(jq -c '[.clients[].gathers]' "$BATS_TEST_TMPDIR/stdout")" '[0,2,0]'
	wait_on_terminal narrow 300 '3rd of 3'
	assert_contains "$output" "; 'sh -c echo wide >>order' (pid $wide) waits for 2 slots at once: free slots are kept for it"
	wait
}

@test "of a line that is too long for the terminal the pid of who holds the slots is shown" {
	need pgrep
	need python3
	hold h --pool-slots 1
	local holder
	holder=$(command_of "$single_pid")
	await_holder "$holder"
	wait_on_terminal h 80 '1st of 1'
	assert_contains "$output" "...' (pid $holder)"
	wait
}

@test "--status=json has the same for programs" {
	need jq
	make_fifo in go
	single h --pool-slots 1 --batch 'a "b"' sh -c 'echo >in; read -r _ <go' sh $'tab\there'
	await in
	line_up w
	run_fairpar --pool --status=json
	query() { jq -r "$1" "$BATS_TEST_TMPDIR/stdout"; }
	assert_eq "$(query '[.pool, .slots, .taken, .waiting] | @csv')" '"default",1,1,1'
	assert_eq "$(query '.clients[0] | [.leases, .slots, .lent, .wanted, .place] | @csv')" 1,1,0,0,0
	assert_eq "$(query '.clients[1] | [.leases, .slots, .lent, .wanted, .place] | @csv')" 0,0,0,1,1
	assert_eq "$(query '.clients[0].batch')" 'a "b"'
	assert_eq "$(query '.clients[1].pid')" "$single_pid"
	assert_eq "$(query '.clients[1].directory')" "$PWD"
	assert_eq "$(query '.clients[0].service | type')" number
	assert_eq "$(query '.clients[0].seconds > 0 and .clients[0].seconds >= .clients[1].seconds')" true
	release go
	wait
}

@test "Ctrl-C while it waits ends it, and gives its place up" {
	need python3
	hold h --pool-slots 1
	printf '1st of 1\t\\x03\n' >talk
	on_terminal "$FAIRPAR" --pool --single touch ran
	assert_eq "$status" 130
	await_pool '1 of 1 slots taken, 0 waiting'
	release h.go
	wait
	[[ ! -e ran ]]
}

@test "a signal while it waits is what it dies by" {
	hold h --pool-slots 1
	for signal in INT TERM HUP; do
		single w touch ran
		await_pool '1 waiting'
		kill -"$signal" "$single_pid"
		status=0
		wait "$single_pid" || status=$?
		assert_eq "$status" $((128 + $(kill -l "$signal")))
		await_pool '0 waiting'
	done
	release h.go
	wait
	[[ ! -e ran ]]
	assert_eq "$(complaints w.err)" ''
}

@test "--explain tells what place a run has among those that wait for a slot of the pool" {
	hold held --pool-slots 1
	line_up before
	start_fairpar --pool --explain 'echo {}' ::: 1
	await_pool ', 2 waiting'
	kill -USR1 "$fairpar_pid"
	timeout "$patience" bash -c 'until grep -q " waiting for pool default" "$1"; do :; done' bash "$BATS_TEST_TMPDIR/stderr"
	release held.go
	end_fairpar
	assert_contains "$stderr" "fairpar: batch 'default': 1 queued, 0 running; the next job waits until the run gets another slot"
	assert_contains "$stderr" "fairpar: 2nd of 2 waiting for pool default, held by 'sh"
	wait
}

# ---- what is killed ----

# killed NAME WORD …: kills the fairpar of a command by KILL when the command has written into NAME.in
killed() {
	make_fifo "$1.in" "$1.go"
	single "$1" --pool-slots 1 "${@:2}"
	await "$1.in"
	kill -KILL "$single_pid"
	wait "$single_pid" || :
}

@test "a command whose fairpar was killed is ended with all below it, and its slot comes back" {
	need timeout
	make_fifo held
	cat held & # until the last of them has gone: what has no environment, too
	reader=$!
	killed a sh -c 'exec 8>held; timeout 500 sh -c "env -i PATH=\"$PATH\" sleep 1000 & (sleep 1000 &); trap : TERM; echo >a.in; sleep 1000; sleep 1000"; sleep 1000'
	single next sh -c 'echo next >>order'
	wait "$single_pid"
	wait "$reader"
	make_fifo open # by a program without a shell
	single b cat open
	exec 5>open
	kill -KILL "$single_pid"
	wait "$single_pid" || :
	single next sh -c 'echo next >>order'
	wait "$single_pid"
	killed c sh -c 'trap "" TERM; echo >c.in; kill -STOP $$'
	single next sh -c 'echo next >>order'
	wait "$single_pid"
	assert_eq "$(cat order)" $'next\nnext\nnext'
}

@test "so is it without a slot, and so it is not with what is in the group of the caller, too" {
	make_fifo go
	(read -r _ <go && echo lives >>order) &
	FAIRPAR_POOL_DIR=$PWD/none/none killed a sh -c 'sleep 1000 & echo >a.in; wait'
	release go
	wait
	assert_eq "$(cat order)" lives
}

@test "a command in a session of its own lives on, and keeps its slot, when its fairpar is killed" {
	need setsid
	make_fifo h.in h.go
	single h --pool-slots 1 setsid sh -c 'echo $$ >h.in; read -r _ <h.go'
	await h.in
	await_holder "$line"
	kill -KILL "$single_pid"
	wait "$single_pid" || :
	await_pool '1 of 1 slots taken'
	line_up w
	release h.go
	wait
	assert_eq "$(cat order)" w
	await_pool 'default: 0 of '
}

@test "so does it in a container, where the number of the session outside is 0" {
	need setsid unshare
	unshare -rpf --mount-proc true 2>/dev/null || skip "there are no PID namespaces"
	run -0 unshare -rpf --mount-proc --kill-child sh -c '
		mkfifo in never
		"$FAIRPAR" --pool --single setsid sh -c "echo \$\$ >in; read -r _ <never" &
		read -r pid <in
		kill -KILL $!
		wait $!
		while pgrep -f "internal-[g]uardian" >guardian; do :; done
		kill -0 "$pid"' 3>&-
}

@test "what a command leaves behind lives on when it ends as it should" {
	make_fifo go said
	run_fairpar --pool --single sh -c '(read -r _ <go; echo lives >said) >/dev/null 2>&1 &'
	release go
	await said
	assert_eq "$line" lives
}

@test "a guardian of a command that was killed is started again" {
	hold h --pool-slots 1
	for _ in 1 2; do
		until guardian=$(pgrep -P "$single_pid" -f internal-guardian) && [[ $guardian != "${old-}" ]]; do :; done
		kill -KILL "$guardian"
		old=$guardian
	done
	until guardian=$(pgrep -P "$single_pid" -f internal-guardian) && [[ $guardian != "$old" ]]; do :; done
	kill -KILL "$single_pid"
	wait "$single_pid" || :
	await_pool 'default: 0 of '
}

@test "a waiting fairpar that is killed gives its place up" {
	hold h --pool-slots 1
	line_up a
	kill -KILL "$single_pid"
	wait "$single_pid" || :
	waiting=0
	line_up b
	release h.go
	wait
	assert_eq "$(cat order)" b
}

@test "TERM ends a server, and another one takes over" {
	hold h --pool-slots 1
	old=$(servers)
	kill -TERM "$old"
	await_end "$old"
	await_pool '1 of 1 slots taken'
	release h.go
	wait
	assert_eq "$(complaints h.err)" ''
}

@test "when the server is killed, another one takes over: nothing is lost, and never more run than slots" {
	command='echo + >>log; read -r _ <go.$0; echo - >>log'
	make_fifo go.{1..4}
	for i in 1 2 3 4; do
		single "$i" --pool-slots 2 sh -c "$command" "$i"
	done
	await_pool '2 of 2 slots taken, 2 waiting'
	for _ in 1 2; do
		old=$(servers)
		kill -KILL "$old"
		await_end "$old"
		await_pool '2 of 2 slots taken, 2 waiting'
		assert_eq "$(wc -w <<<"$(servers)")" 1
	done
	for i in 1 2 3 4; do
		release "go.$i" &
	done
	wait
	assert_eq "$(grep -c - log)" 4
	assert_eq "$(most_at_once log)" 2
	assert_eq "$(complaints ./*.err)" ''
}

@test "when a fairpar and the server are both killed, the pool goes on" {
	hold h --pool-slots 1
	client=$single_pid old=$(servers)
	kill -KILL "$client" "$old"
	wait "$client" || :
	await_end "$old"
	run_fairpar --pool --pool-slots 1 --single echo ran
	assert_lines ran
}

@test "who has kept the lease of a pool that is no more is not lent a stranger's slot" {
	local stale
	run_fairpar --pool --pool-slots 1 --single printenv FAIRPAR_LEASE
	stale=$output
	servers | xargs kill
	until [[ -z $(servers) ]]; do :; done
	rm -r "$FAIRPAR_POOL_DIR"
	hold h --pool-slots 1
	FAIRPAR_LEASE=$stale line_up late
	[[ ! -e order ]]
	release h.go
	wait
}

@test "a stopped fairpar that does not use its slot gives it to the next one, and waits again" {
	hold h --pool-slots 1
	line_up stopped
	stopped=$single_pid
	line_up other
	kill -STOP "$stopped"
	release h.go
	wait "$single_pid"
	assert_eq "$(cat order)" other
	kill -CONT "$stopped"
	wait "$stopped"
	assert_eq "$(cat order)" $'other\nstopped'
}

@test "when the socket or the directory of a server is removed, it is found nevertheless, and it stays one pool" {
	local change
	# the server may make its files anew while rm removes the directory
	for change in 'rm default.sock' 'rm default.*' 'mv default.sock other' 'until rm -rf "$PWD"; do :; done' 'mv "$PWD" "$PWD-2"'; do
		# shellcheck disable=SC2034 # of line_up
		waiting=0
		rm -f order go.* h.*
		hold h --pool-slots 1
		old=$(servers)
		(cd "$FAIRPAR_POOL_DIR" && eval "$change")
		line_up 1
		line_up 2
		assert_eq "$(servers)" "$old"
		assert_eq "$(cat order 2>/dev/null)" ''
		assert_contains "$(head -n 1 state)" '1 of 1 slots taken, 2 waiting'
		release h.go
		wait
		assert_eq "$(cat order)" $'1\n2'
		assert_eq "$(complaints ./*.err)" ''
		end_servers # one whose files are gone, and that nobody uses, may have ended by itself
	done
}

@test "a server whose socket was replaced hands over to the next one, and nothing is lost" {
	hold h --pool-slots 1
	old=$(servers)
	: >other
	mv other "$FAIRPAR_POOL_DIR/default.sock"
	line_up 1
	line_up 2
	release h.go
	wait
	assert_eq "$(sort order)" $'1\n2'
	assert_eq "$(complaints ./*.err)" ''
	await_end "$old"
}

@test "a run goes on when the socket is removed, and gives its slots back for those that wait" {
	make_fifo in go
	seq 3 | "$FAIRPAR" --pool --pool-slots 1 -q sh -c 'echo >in; read -r _ <go; echo run >>order' >/dev/null 2>run.err 3>&- &
	await in
	line_up single
	rm "$FAIRPAR_POOL_DIR/default.sock"
	release go
	for _ in 2 3; do
		await in
		release go
	done
	wait
	assert_eq "$(sort order | uniq -c | tr -s ' \n' ' ')" ' 3 run 1 single '
	assert_eq "$(complaints run.err single.err)" ''
}

@test "a server that has no descriptors left tells who comes, who then runs without a slot" {
	need python3
	cat >crowd.py <<-'PY'
		import os, socket, subprocess
		pool = ['/bin/sh', '-c', 'ulimit -n 20; exec "$FAIRPAR" --pool --single true']
		subprocess.run(pool, check=True)
		crowd = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(40)]
		for one in crowd:
		    one.connect(os.environ['FAIRPAR_POOL_DIR'] + '/default.sock')
		print(crowd[-1].recv(100)[32:].decode(), flush=True)
		subprocess.run([os.environ['FAIRPAR'], '--pool', '--single', 'echo', 'ran'], check=True)
	PY
	run -0 python3 crowd.py
	assert_contains "$output" 'it has too many clients'
	assert_contains "$output" 'it has too many clients: the command runs without a slot'
	assert_eq "$(tail -n 1 <<<"$output")" ran
	run_fairpar --pool --single echo ran
	assert_lines ran
}

@test "descriptors that a client sends and nobody asked for are closed" {
	need python3
	run_fairpar --pool --single true
	cat >flood.py <<-'PY'
		import array, os, socket, struct, sys
		s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		s.connect(os.environ['FAIRPAR_POOL_DIR'] + '/default.sock')
		hello = struct.pack('=IIQQIiII', 6, os.getpid(), 0, 0, 1, 0, 0, 0) + b'\0\0\0'
		s.sendall(struct.pack('=IIQQQ', 1, len(hello), 0, 0, 0) + hello)
		fds = array.array('i', [0] * 200)
		for _ in range(50):
		    s.sendmsg([struct.pack('=IIQQQ', 3, 0, 7, 0, 1)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
		s.sendall(struct.pack('=IIQQQ', 6, 0, 0, 0, 0))
		got = b''
		while struct.pack('=I', 107) not in got:
		    got += s.recv(65536)
		print(len(os.listdir('/proc/%s/fd' % sys.argv[1])))
	PY
	run -0 python3 flood.py "$(servers)"
	((output < 20)) || fail "the server has $output descriptors"
	run_fairpar --pool --single echo ran
	assert_eq "$stderr" ''
}

# ---- what is refused ----

@test "where a pool or the outer run has too few slots for --tee, the message says what helps" {
	run_fairpar 255 --pool --pool-slots 1 --pipe --tee cat ::: a b <<<data
	assert_contains "$stderr" 'runs all 2 jobs at once, but pool default gives slots for 1: take a pool of more slots, or --pipe-part with a file'
	run_fairpar 255 --pool=other --pool-slots 3 -j1 --pipe --tee cat ::: a b <<<data
	assert_contains "$stderr" 'runs all 2 jobs at once, but --jobs 1 allows 1: take --jobs 0, or --pipe-part with a file'
	run_fairpar 1 -j1 '"$FAIRPAR" --pipe --tee cat ::: a b #' ::: x
	assert_contains "$stderr" 'runs all 2 jobs at once, but the outer run gives slots for 1: take --no-inherit, or --pipe-part with a file'
}

@test "--pool is refused where it means nothing" {
	run_fairpar 255 --pool --single
	assert_contains "$stderr" 'needs a command'
	run_fairpar 255 --single true
	assert_contains "$stderr" 'needs a pool'
	run_fairpar 255 --pool-slots 3 echo ::: a
	assert_contains "$stderr" '--pool-slots needs a pool: add --pool'
	FAIRPAR_POOL=other run_fairpar 0 --pool-slots 3 echo ::: a
	run_fairpar 255 --pool --status --single true
	run_fairpar 255 --pool --status true
	run_fairpar 255 --pool=a/b --single true
	assert_contains "$stderr" "a pool cannot be called 'a/b'"
	run_fairpar 255 --pool --single -k true
	assert_contains "$stderr" 'cannot be combined with --single'
	run_fairpar 255 --pool --pool-slots 0 --single true
}

# ---- runs ----

count='echo + >>runs; /bin/true; echo - >>runs; :'

# start_run NAME ARGUMENT …: a run in the background; $run_pid, and what it writes in NAME.out and NAME.err
start_run() {
	env --default-signal=INT,QUIT "$FAIRPAR" --pool "${@:2}" >"$1.out" 2>"$1.err" </dev/null 3>&- &
	run_pid=$!
}

@test "runs in a pool share its slots, and all their jobs run" {
	local name pids=()
	for name in a b c; do
		start_run "$name" --pool-slots 2 -j9 "$count {}" ::: {1..20}
		pids+=("$run_pid")
	done
	wait "${pids[@]}"
	(($(most_at_once runs) <= 2)) || fail "$(<runs)"
	assert_eq "$(grep -c - runs)" 60
	await_pool 'default: 0 of '
}

@test "-j is how many slots of the pool a run takes at most, and --pool with a manifest is the same" {
	run_fairpar --pool --pool-slots 4 -j1 "$count {}" ::: {1..20}
	assert_eq "$(most_at_once runs)" 1
	echo '{version: 1, slots: 2, batches: {a: {args: ["1", "2", "3", "4", "5", "6"], run: "echo + >>more; /bin/true; echo - >>more; : {}"}}}' >m.yaml
	run_fairpar --pool -f m.yaml
	(($(most_at_once more) <= 2)) || fail "$(<more)"
	assert_eq "$(grep -c - more)" 6
	echo '{version: 1, batches: {wide: {run: "true", slots_per_job: 2}}}' >m.yaml
	run_fairpar 255 --pool -f m.yaml
	assert_contains "$stderr" "batch 'wide' has 'slots_per_job'"
}

# late_runs: lets jobs of the run `many` end until `late` has run: when one has ended, or one more for each second that passes, as a slot that
# is not used for a second (where a thread is slow to start) goes to the next who waits
late_runs() {
	local since=$SECONDS
	until grep -qx late order; do
		release go
		await in
		(($(grep -c m order) <= 2 + SECONDS - since)) || fail "$(<order)"
	done
}

# the run is asked so that it has read, before its job ends, what the server has said of who waits
asks='echo m{} >>order; echo >in; read -r _ <go; "$FAIRPAR" --status >status; "$FAIRPAR" --status >status'

@test "a late run with one job waits for the end of a job, not of the run before" {
	make_fifo in go
	start_run many --pool-slots 1 "$asks" ::: {1..9}
	local pids=("$run_pid")
	await in
	start_run one 'echo late >>order; : {}' ::: 1
	pids+=("$run_pid")
	await_pool ", 1 waiting"
	late_runs
	exec 8<>in 9<>go
	printf '\n%.0s' {1..9} >&9
	wait "${pids[@]}"
	assert_eq "$(grep m order)" "$(printf 'm%d\n' {1..9})"
}

@test "a late run with one job starts it in its turn, while another has 10,000 queued" {
	make_fifo in go
	start_run many --pool-slots 1 -a <(seq 10000) "$asks"
	local many=$run_pid
	await in
	start_run one 'echo late >>order; : {}' ::: 1
	local one=$run_pid
	await_pool ", 1 waiting"
	late_runs
	wait "$one"
	kill -TERM "$many"
	wait "$many" || :
}

@test "200 runs at once, each a batch of its own, all get their turn" {
	hold held --pool-slots 2 --slots-per-job 2
	local held=$single_pid i pids=()
	for i in {1..200}; do
		start_run all -j1 "$count {}" ::: "$i"
		pids+=("$run_pid")
	done
	await_pool ', 200 waiting'
	release held.go
	wait "$held" "${pids[@]}"
	(($(most_at_once runs) <= 2)) || fail "$(most_at_once runs) at once"
	assert_eq "$(grep -c - runs)" 200
	await_pool 'default: 0 of '
}

@test "--weight N and --priority N are those of a run, or a command, among all in the pool" {
	need jq
	hold held --pool-slots 1
	start_run low 'echo low >>order; : {}' ::: 1
	local pids=("$run_pid")
	await_pool ', 1 waiting'
	start_run high --priority 1 'echo high >>order; : {}' ::: 1
	pids+=("$run_pid")
	await_pool ', 2 waiting'
	single higher --priority 2 sh -c 'echo higher >>order'
	await_pool ', 3 waiting'
	release held.go
	wait "${pids[@]}" "$single_pid"
	assert_eq "$(<order)" $'higher\nhigh\nlow'
	run_fairpar --pool --weight 2 --weight a=3 --dry-run echo ::: a
	run_fairpar 255 --weight 2 echo ::: a
	assert_contains "$stderr" "--weight must be BATCH=N, not '2': a number alone is for a run in a pool (--pool)"
	run_fairpar 255 --pool --weight 0 --single true
	run_fairpar 255 --pool --max-parallel 2 echo ::: a
}

@test "a run and a command take turns, and a run in a job of a run is lent its slot" {
	hold held --pool-slots 1
	local held=$single_pid
	start_run outer -j4 '"$FAIRPAR" -j4 "echo + >>runs; /bin/true; echo - >>runs; : {}" ::: 1 2 3; : {}' ::: a b
	await_pool ", 1 waiting"
	[[ ! -e runs ]] || fail "it did not wait"
	release held.go
	wait "$held" "$run_pid"
	assert_eq "$(most_at_once runs)" 1
	assert_eq "$(grep -c - runs)" 6
}

# What the second run takes of the first one's output before it has a slot is less than this: its blocks, and what a pipe holds.
@test "runs in a pipeline in a pool with one slot go on, however they write and to which stream" {
	export mode
	for mode in --group --ungroup --line-buffer --keep-order '--keep-order --line-buffer' --tag; do
		timeout "$patience" sh -c '
			"$FAIRPAR" --pool --pool-slots 1 $mode "seq 300000; seq 300000 >&2; : {}" ::: 1 2>&1 |
				"$FAIRPAR" --pool --pool-slots 1 $mode --pipe --block 100k cat |
				"$FAIRPAR" --pool --pool-slots 1 --pipe --block 100k cat | wc -l' >count
		assert_eq "$(<count)" 600000
	done
}

@test "on a full disk a job that waits until its output is read gives its slot to the reader" {
	use_faults
	export mode
	for mode in --group '--group -k' --line-buffer '--line-buffer -k'; do
		for n in 1 2; do
			export n
			timeout "$patience" sh -c '
				FAIRPAR_FAULT=tmpfile:1+:ENOSPC "$FAIRPAR" --pool --pool-slots $n $mode "head -c 20000000 /dev/zero | tr \\\\0 \\\\n; : {}" ::: 1 2 3 |
					"$FAIRPAR" --pool --pool-slots $n --pipe cat | wc -l' >count
			assert_eq "$(<count)" 60000000
		done
	done
}

@test "runs in a pipeline below one command go on in the slot that it has" {
	cat >pipeline <<-'END'
	"$FAIRPAR" 'seq 300000; : {}' ::: 1 | "$FAIRPAR" --pipe --block 100k cat | wc -l
	END
	run_fairpar --pool --pool-slots 1 --single sh pipeline
	assert_lines 300000
}

@test "what a job has left behind is not lent the slot of the next job of its run" {
	make_fifo second go left
	cat >jobs <<-'EOF2'
		(read -r _ <second; "$FAIRPAR" --pool --single sh -c 'echo left >>order'; echo >left) >/dev/null 2>&1 3>&- &
		echo >second; read -r _ <go; echo second >>order
	EOF2
	start_run a --pool-slots 1 -a jobs
	await_pool ", 1 waiting" # who is left, while the second job runs on the lease of the first
	release go
	await left
	wait "$run_pid"
	assert_eq "$(cat order)" $'second\nleft'
	assert_eq "$(complaints a.err)" ""
}

@test "FAIRPAR_POOL puts a run into the pool, and --no-inherit does not" {
	hold held --pool-slots 1
	FAIRPAR_POOL=default run_fairpar --no-inherit -j2 'echo {}' ::: 1
	assert_lines 1
	FAIRPAR_POOL=default "$FAIRPAR" 'echo {} >>order' ::: 1 3>&- &
	await_pool ", 1 waiting"
	[[ ! -e order ]] || fail "it did not wait"
	release held.go
	wait
	assert_eq "$(<order)" 1
}

@test "when the server is killed, runs go on: no job is lost, and never more run than slots" {
	make_fifo in go
	start_run a --pool-slots 2 'if [ {} = 1 ]; then echo >in; read -r _ <go; fi; echo + >>runs; /bin/true; echo - >>runs' ::: {1..20}
	local a=$run_pid
	await in
	servers | xargs kill -9
	start_run b "$count {}" ::: {1..20}
	release go
	wait "$a" "$run_pid"
	(($(most_at_once runs) <= 2)) || fail "$(<runs)"
	assert_eq "$(grep -c - runs)" 40
	assert_eq "$(complaints a.err b.err)" ""
}

@test "a run in a pool that is killed keeps its slots until its jobs have ended" {
	make_fifo in
	start_run killed --pool-slots 1 'trap "" TERM; echo $PPID >in; read -r _ <go; : {}' ::: 1
	mkfifo go
	await in
	kill -9 "$run_pid"
	run_fairpar --pool 'echo {}' ::: next
	assert_lines next
	wait
}

@test "without a server a run has one job at a time, after one warning" {
	mkdir -m 700 pools
	export FAIRPAR_POOL_DIR=$PWD/pools
	exec 7<pools
	mkdir pools/default.sock
	: >pools/default.lock
	run_fairpar --pool -j4 "$count {}" ::: {1..9}
	assert_eq "$(most_at_once runs)" 1
	assert_eq "$(grep -c 'one job runs at a time' <<<"$stderr")" 1
	exec 7<&-
}

@test "what has lost its environment below a slot is lent that slot all the same" {
	local lost="env -i FAIRPAR_POOL_DIR=$FAIRPAR_POOL_DIR $FAIRPAR --pool"
	run_fairpar --pool --pool-slots 1 --single $lost --single echo single
	assert_lines single
	run_fairpar --pool --single sh -c "$lost 'echo {}; : run' ::: 1 2; :"
	assert_lines 1 2
	run_fairpar --pool $lost --single echo ::: a
	assert_lines a
	run_fairpar --pool "$lost '$lost --single echo {}; :' ::: b; :" ::: a
	assert_lines a
}

@test "of a run's slots the one of its own job is lent to what has lost its environment" {
	make_fifo in a b
	"$FAIRPAR" --pool --pool-slots 2 -j2 "if [ {} = a ]; then read -r _ <a; else
		env -i FAIRPAR_POOL_DIR=$FAIRPAR_POOL_DIR $FAIRPAR --pool --single sh -c 'echo >in; read -r _ <b'; fi" ::: a b &
	await in
	start_fairpar --pool --single echo next
	release a
	end_fairpar # while the other job runs, and what has its slot
	assert_lines next
	release b
	wait
}
