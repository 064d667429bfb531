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
	run -255 unshare -rm sh -c '
		mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /tmp && mkdir -m 755 /tmp/fairpar-0 && "$FAIRPAR" --pool --single true'
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
		s = socket.socket(socket.AF_UNIX)
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
s = socket.socket(socket.AF_UNIX)
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

@test "a server that cannot start is warned of once, and the command runs" {
	mkdir -m 0700 "$FAIRPAR_POOL_DIR"
	for file in default.start default.lock default.sock.new/x; do
		mkdir -p "$FAIRPAR_POOL_DIR/$file"
		run_fairpar --pool --single echo ran
		assert_lines ran
		assert_eq "$(grep -c 'the command runs without a slot' <<<"$stderr")" 1
		rm -r "${FAIRPAR_POOL_DIR:?}/${file%/x}"
	done
	run_fairpar --pool --single echo ran
	assert_eq "$stderr" ''
}

@test "a server that does not answer is warned of, and the command runs" {
	run_fairpar --pool --single true
	server=$(servers)
	kill -STOP "$server"
	run_fairpar --pool --single echo ran
	assert_lines ran
	assert_contains "$stderr" 'its server does not answer'
	kill -CONT "$server"
}

@test "two versions that do not fit together say so" {
	need python3
	mkdir -m 0700 "$FAIRPAR_POOL_DIR"
	cat >server.py <<-'PY'
		import os, socket, struct
		s = socket.socket(socket.AF_UNIX)
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
	run_fairpar --pool --single true
	cat >client.py <<-'PY'
		import os, socket, struct
		s = socket.socket(socket.AF_UNIX)
		s.connect(os.environ['FAIRPAR_POOL_DIR'] + '/default.sock')
		s.sendall(struct.pack('=IIQQQI', 1, 4, 0, 0, 0, 99))
		got = s.recv(65536)
		print(struct.unpack('=I', got[:4])[0], got[32:].decode())
	PY
	run -0 python3 client.py
	assert_eq "$output" '102 it was started by another version of fairpar'
}
