# --pool: where its server is, and how it comes and goes.

load helper
load pools

# ---- where it is ----

@test "a directory of the pools that is not the user's alone is refused, and nothing is run" {
	mkdir -m 0700 real
	ln -s real link
	FAIRPAR_POOL_DIR=$PWD/link run_fairpar 255 --pool --single touch ran
	assert_contains "$stderr" 'it is a symbolic link'
	mkdir -m 0755 open
	FAIRPAR_POOL_DIR=$PWD/open run_fairpar 255 --pool --single touch ran
	assert_contains "$stderr" 'other users may use it'
	: >file
	FAIRPAR_POOL_DIR=$PWD/file run_fairpar 255 --pool --single touch ran
	assert_contains "$stderr" 'it is not a directory'
	FAIRPAR_POOL_DIR=$PWD/link run_fairpar 255 --pool --status
	[[ ! -e ran ]]
}

@test "where another user's directory is in the way, the message names the variable that helps" {
	need unshare
	unshare -rm true 2>/dev/null || skip "there are no user namespaces"
	unset FAIRPAR_POOL_DIR
	run -255 unshare -rm sh -c ' # the program may have been built in /tmp
		mount -t tmpfs tmpfs /run && cp "$FAIRPAR" /run/program && mount -t tmpfs tmpfs /tmp && mkdir -m 755 /tmp/fairpar-0 &&
			/run/program --pool --single true'
	assert_contains "$output" "cannot use '/tmp/fairpar-0', the directory of the pools: other users may use it"
	assert_contains "$output" '; FAIRPAR_POOL_DIR can name another one'
}

@test "a relative directory of the pools is refused by name, and nothing is made or run" {
	FAIRPAR_POOL_DIR=relative run_fairpar 255 --pool --single touch ran
	assert_contains "$stderr" "cannot use 'relative', the directory of the pools: FAIRPAR_POOL_DIR has to be an absolute path"
	FAIRPAR_POOL_DIR=relative run_fairpar 255 --run name --status
	assert_contains "$stderr" 'FAIRPAR_POOL_DIR has to be an absolute path'
	[[ ! -e ran && ! -e relative ]]
}

@test "another user is neither client nor server of a pool" {
	need python3
	python3 -c 'import os; os.setuid(65533)' 2>/dev/null || skip "this takes the right to be another user"
	mkdir -m 0700 own foreign
	chown 65533 foreign
	FAIRPAR_POOL_DIR=$PWD/foreign run_fairpar 255 --pool --single touch ran
	assert_contains "$stderr" 'it belongs to another user'
	cat >server.py <<-'PY'
		import os, socket
		s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		s.bind('own/default.sock')
		os.setuid(65533)
		s.listen()
		print('listens', file=open('ready', 'w'))
		s.accept()[0].recv(1)
	PY
	make_fifo ready
	chmod 0666 ready
	chmod 0755 .
	python3 server.py 3>&- &
	await ready
	FAIRPAR_POOL_DIR=$PWD/own run_fairpar 255 --pool --single touch ran
	assert_contains "$stderr" 'its server belongs to another user'
	wait
	rm own/default.sock
	FAIRPAR_POOL_DIR=$PWD/own run_fairpar --pool --single true
	chmod 0777 own own/default.sock
	run python3 -c '
import os, socket
os.setuid(65533)
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect("own/default.sock")
print(s.recv(100)[32:].decode())'
	assert_eq "$output" 'it belongs to another user'
	[[ ! -e ran ]]
}

@test "a directory of the pools that cannot be written is warned of, and the command runs" {
	need unshare
	unshare -rm true 2>/dev/null || skip "there are no user namespaces"
	mkdir -m 0700 mounted
	for options in nr_inodes=1 nr_inodes=2 ro; do
		FAIRPAR_POOL_DIR=$PWD/mounted run unshare -rm sh -c '
			mount -t tmpfs -o mode=0700,"$1" tmpfs mounted && "$FAIRPAR" --pool --single echo ran 2>stderr' sh "$options"
		assert_eq "$output" ran
		assert_contains "$(cat stderr)" 'the command runs without a slot'
		assert_eq "$(wc -l <stderr)" 1
	done
}

@test "where the directory of the pools cannot be made, the command runs with a warning" {
	FAIRPAR_POOL_DIR=$PWD/none/such run_fairpar --pool --single echo ran
	assert_lines ran
	assert_contains "$stderr" 'the command runs without a slot'
}

@test "--status says why a directory of the pools cannot be made" {
	FAIRPAR_POOL_DIR=$PWD/none/such run_fairpar 255 --pool --status
	assert_contains "$stderr" "$PWD/none/such"
	assert_contains "$stderr" 'No such file or directory'
	assert_lines
}

@test "a server that cannot start is warned of once, and the command runs" {
	mkdir -m 0700 "$FAIRPAR_POOL_DIR"
	for file in default.lock default.sock.new/x; do
		mkdir -p "$FAIRPAR_POOL_DIR/$file"
		run_fairpar --pool --single echo ran
		assert_lines ran
		assert_eq "$(grep -c 'the command runs without a slot' <<<"$stderr")" 1
		rm -r "${FAIRPAR_POOL_DIR:?}/${file%/x}"
	done
	run_fairpar --pool --single echo ran
	assert_eq "$stderr" ''
}

@test "a command waits while the server is stopped, and a signal ends it" {
	run_fairpar --pool --single true
	server=$(servers)
	kill -STOP "$server"
	single ended touch ran
	local ended=$single_pid
	single waits echo waited
	local waits=$single_pid
	until [[ -s waits.err ]]; do :; done # after 3 s
	run_fairpar 255 --pool --status # after as long as it gives the server
	assert_contains "$stderr" 'its server does not answer'
	kill -TERM "$ended"
	wait "$ended" || assert_eq "$?" 143
	kill -CONT "$server"
	wait "$waits"
	assert_eq "$(cat waits.out)" waited
	assert_eq "$(cat waits.err)" 'fairpar: waits for the server of pool default: it does not answer'
	[[ ! -e ran ]]
}

# await_clients N: until the server has so many connections, its own two sockets not counted
await_clients() {
	until [[ $(readlink "/proc/$(servers)/fd"/* | grep -c '^socket:') == "$(($1 + 2))" ]]; do :; done
}

@test "connections that never say who they are give their places back after some seconds" {
	need python3
	(ulimit -Sn "$(ulimit -Hn)" && (($(ulimit -n) > 4200))) || skip "this takes 4,200 open files"
	run_fairpar --pool --single true
	cat >silent.py <<-'PY'
		import os, resource, socket
		soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
		resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
		s = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for i in range(4096)]
		for i in s:
		    i.connect(os.environ['FAIRPAR_POOL_DIR'] + '/default.sock')
		one_more = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		one_more.connect(os.environ['FAIRPAR_POOL_DIR'] + '/default.sock')
		print(one_more.recv(100)[32:].decode(), file=open('full', 'w'))
		for i in s:
		    assert i.recv(1) == b''
		open('over', 'w').write('x\n')
	PY
	make_fifo full over
	python3 silent.py 3>&- &
	await full
	assert_eq "$line" 'it has too many clients'
	await over
	run_fairpar --pool --single echo ran
	assert_lines ran
	assert_eq "$stderr" ''
	wait
}

@test "a command that is stopped before it has said who it is connects again when it goes on" {
	need strace
	hold h --pool-slots 1
	traced -f -qq -o trace -e trace=connect -e inject=connect:signal=STOP:when=1 \
		"$FAIRPAR" --pool --single sh -c 'echo ran' >w.out 2>w.err </dev/null 3>&- &
	until [[ -s trace ]] && grep -q 'stopped by SIGSTOP' trace; do :; done
	await_clients 2
	await_clients 1 # after some seconds
	kill -CONT "$(sed -n 's/^\([0-9]*\) .*stopped by SIGSTOP.*/\1/p' trace)"
	await_pool ', 1 waiting'
	assert_eq "$(cat w.out)" ''
	release h.go
	wait
	assert_eq "$(cat w.out)" ran
	assert_eq "$(grep -c 'runs without a slot' w.err)" 0
}

# lock_server: somebody holds the lock of who is or starts the server, until `release unlock`
lock_server() {
	need flock
	make_fifo locked unlock
	(umask 077 && mkdir -p "$FAIRPAR_POOL_DIR")
	(umask 077 && exec flock "$FAIRPAR_POOL_DIR/default.lock" sh -c 'echo >locked; read -r _ <unlock') 3>&- &
	await locked
}

@test "who finds no server waits while somebody holds the lock of starting one, as long as it takes" {
	local i
	lock_server
	for i in {1..5}; do
		single "$i" --pool-slots 1 sh -c 'echo + >>log; cat /proc/self/stat /proc/stat >/dev/null; echo - >>log'
	done
	until (($(cat ./*.err | wc -l) == 5)); do :; done # after 3 s; they once ran without a slot after two
	[[ ! -e log ]]
	release unlock
	wait
	assert_eq "$(grep -c + log)" 5
	assert_eq "$(most_at_once log)" 1
	assert_eq "$(grep -hv ' waiting for pool default' ./*.err | sort -u)" 'fairpar: waits for the server of pool default: another process starts or ends it'
}

@test "who waits for the lock of starting a server is ended by a signal at once" {
	lock_server
	single w --pool-slots 1 touch ran
	until [[ -s w.err ]]; do :; done # after 3 s it says that it waits
	kill -INT "$single_pid"
	wait "$single_pid" || assert_eq "$?" 130
	start_fairpar --pool touch ::: ran
	until grep -q 'another process starts or ends it' "$BATS_TEST_TMPDIR/stderr"; do :; done
	kill -TERM "$fairpar_pid"
	end_fairpar 143
	release unlock
	wait
	[[ ! -e ran ]]
}

# lock_next: kills the server, and has its lock before the run can take it
lock_next() {
	kill -STOP "$fairpar_pid"
	servers | xargs kill -9
	lock_server
	kill -CONT "$fairpar_pid"
}

@test "a run goes on, and answers signals, while it waits to start another server" {
	make_fifo in go
	start_fairpar --pool --pool-slots 1 'echo >in; read -r _ <go; echo {} >>order' ::: 1 2 3
	await in
	lock_next
	release go
	until [[ -e order ]]; do :; done # the end of its job is noticed
	release unlock
	await in
	rm locked unlock
	lock_next
	kill -TERM "$fairpar_pid"
	end_fairpar 143
	assert_eq "$(cat order)" 1
	assert_eq "$(grep -c 'one job runs at a time' "$BATS_TEST_TMPDIR/stderr")" 0
	release unlock
	wait
}

@test "the next server has the size of the one that was killed, whoever starts it" {
	hold h --pool-slots 1
	kill -STOP "$single_pid" # it would start it
	old=$(servers)
	kill -9 "$old"
	await_end "$old"
	run_fairpar --pool --pool-slots 2 --single true
	assert_contains "$stderr" 'pool default runs already, with 1 slot, not with 2'
	kill -CONT "$single_pid"
	release h.go
	wait
}

@test "it is one pool, whether the directory of the session is there or not" {
	need unshare
	unshare -rmpf true 2>/dev/null || skip "there are no user namespaces"
	unset FAIRPAR_POOL_DIR
	cat >session <<-'EOF'
		set -eu
		mount -t proc proc /proc && mount -t tmpfs tmpfs /run && cp "$FAIRPAR" /run/program && mount -t tmpfs -o mode=1777 tmpfs /tmp
		FAIRPAR=/run/program # wherever it was built, in /tmp too
		mkfifo /tmp/in /tmp/go
		hold() { "$FAIRPAR" --pool --pool-slots 1 --single sh -c 'echo >/tmp/in; read -r _ </tmp/go' & read -r _ </tmp/in; }
		state() { "$FAIRPAR" --pool --status | head -n 1; }
		end() { echo >/tmp/go; wait $!; until state | grep -q ' 0 of '; do :; done; }
		echo '# before the login, and after it'
		hold
		mkdir -p -m 0700 /run/user/0
		state
		ls /tmp/fairpar-0 /run/user/0
		echo '# the server is killed'
		kill -9 "$(pgrep -f internal-slot-server)"
		until [ "$(pgrep -f internal-slot-server | wc -l)" = 1 ] && [ -S /tmp/fairpar-0/default.sock ] && state | grep '1 of 1'; do :; done
		end
		kill "$(pgrep -f internal-slot-server)"
		rm -r /tmp/fairpar-0
		echo '# in the session, and after the logout'
		hold
		ls -d /run/user/0/fairpar
		until rm -rf /run/user/0 2>/dev/null; do :; done # the server may make its files anew just then
		state
		end
		echo '# a run by name'
		"$FAIRPAR" --run name -j1 'echo >/tmp/in; read -r _ </tmp/go; : {}' ::: 1 &
		read -r _ </tmp/in
		mkdir -p -m 0700 /run/user/0
		"$FAIRPAR" --run name --status | grep -c running
		! "$FAIRPAR" --run name echo ::: 1 2>/tmp/error
		grep -o 'a run of that name is under way' /tmp/error
		echo >/tmp/go
		wait $!
	EOF
	need pgrep
	run -0 env -u TMPDIR unshare -rmpf --kill-child sh session
	assert_eq "$output" "$(cat <<-'EOF'
		# before the login, and after it
		pool default: 1 of 1 slots taken, 0 waiting
		/run/user/0:
		fairpar

		/tmp/fairpar-0:
		default.lock
		default.sock
		# the server is killed
		pool default: 1 of 1 slots taken, 0 waiting
		# in the session, and after the logout
		/run/user/0/fairpar
		pool default: 1 of 1 slots taken, 0 waiting
		# a run by name
		1
		a run of that name is under way
	EOF
	)"
}

# elsewhere NAME ARGUMENT …: as `single`, but where no abstract socket of here is seen
elsewhere() {
	unshare -rn "$FAIRPAR" --pool --single "${@:2}" >"$1.out" 2>"$1.err" </dev/null 3>&- &
}

@test "when its socket or directory is removed, a server with clients makes it anew, and the pool stays one" {
	need unshare
	unshare -rn true 2>/dev/null || skip "there are no user namespaces"
	local removed
	for removed in default.sock ''; do
		rm -f h.*
		hold h --pool-slots 1
		server=$(servers)
		until rm -rf "${FAIRPAR_POOL_DIR:?}/$removed"; do :; done # the server may make its files anew just then
		until [[ -S $FAIRPAR_POOL_DIR/default.sock ]]; do :; done
		elsewhere e echo ran
		await_pool ', 1 waiting'
		assert_eq "$(servers)" "$server"
		assert_eq "$(cat e.out)" ''
		release h.go
		wait
		assert_eq "$(cat e.out h.err)" ran
		assert_eq "$(grep -c 'without a slot' e.err)" 0
	done
}

@test "who waits for the end of a server whose socket is removed finds it when it has made that anew" {
	need unshare
	unshare -rn true 2>/dev/null || skip "there are no user namespaces"
	hold h --pool-slots 1
	server=$(servers)
	kill -STOP "$server"
	rm "$FAIRPAR_POOL_DIR/default.sock"
	elsewhere e echo ran
	until grep -q 'another process starts or ends it' e.err; do :; done # after 3 s
	kill -CONT "$server"
	await_pool ', 1 waiting'
	assert_eq "$(servers)" "$server"
	release h.go
	wait
	assert_eq "$(cat e.out h.err)" ran
}

@test "a server whose directory was removed ends" {
	run_fairpar --pool --single true
	server=$(servers)
	rm -r "$FAIRPAR_POOL_DIR"
	await_end "$server"
	[[ ! -e $FAIRPAR_POOL_DIR ]]
}

@test "two versions that do not fit together say so" {
	need python3
	mkdir -m 0700 "$FAIRPAR_POOL_DIR"
	cat >server.py <<-'PY'
		import os, socket, struct
		s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		s.bind(os.environ['FAIRPAR_POOL_DIR'] + '/default.sock')
		s.listen()
		open('ready', 'w').write('x\n')
		c, _ = s.accept()
		c.recv(65536)
		why = b'it was started by another version of fairpar'
		c.sendall(struct.pack('=IIQQQ', 102, len(why), 0, 0, 0) + why)
	PY
	make_fifo ready
	python3 server.py 3>&- &
	await ready
	run_fairpar --pool --single echo ran
	assert_lines ran
	assert_contains "$stderr" 'it was started by another version of fairpar: the command runs without a slot'
	wait
	rm "$FAIRPAR_POOL_DIR/default.sock"
	# the server of one that spoke by a stream
	sed -e 's/, socket.SOCK_SEQPACKET//' -e '/accept/,$d' server.py >old.py
	echo "open('ready').read()" >>old.py
	python3 old.py 3>&- &
	await ready
	run_fairpar --pool --single echo ran
	assert_lines ran
	assert_contains "$stderr" 'it was started by another version of fairpar: the command runs without a slot'
	echo >ready
	wait
	rm "$FAIRPAR_POOL_DIR/default.sock"
	run_fairpar --pool --single true
	cat >client.py <<-'PY'
		import os, socket, struct
		s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		s.connect(os.environ['FAIRPAR_POOL_DIR'] + '/default.sock')
		s.sendall(struct.pack('=IIQQQI', 1, 4, 0, 0, 0, 99))
		got = s.recv(65536)
		print(struct.unpack('=I', got[:4])[0], got[32:].decode())
	PY
	run -0 python3 client.py
	assert_eq "$output" '102 it was started by another version of fairpar'
}
