# shellcheck shell=bash disable=SC2034 # what it sets, tests read
# The pools of a test: a directory of their own, and no server that outlives the test.
# It also has single, hold, await_pool, line_up and complaints for the tests.

setup() {
	helper_setup
	unset FAIRPAR_POOL FAIRPAR_LEASE
	export FAIRPAR_POOL_DIR=$BATS_TEST_TMPDIR/pools
	printf '%s\n' "$FAIRPAR_POOL_DIR" >"$BATS_TEST_TMPDIR/of_server"
}

# Ends the servers, which would end by themselves only after some seconds.
teardown() {
	end_servers
	helper_teardown
}

end_servers() {
	local server
	for server in $(servers); do
		kill "$server" 2>/dev/null && kill -CONT "$server" 2>/dev/null || : # a test that has failed may have stopped it
		await_end "$server"
	done
}

# The servers of the test's pools: their directory is one of their arguments.
servers() {
	grep -lszxFf "$BATS_TEST_TMPDIR/of_server" /proc/[0-9]*/cmdline | tr -dc '0-9\n'
}

# Waits until the process has ended; its parent may take some time to reap it.
await_end() {
	while grep -qs '^State:[[:blank:]]*[^ZX[:blank:]]' "/proc/$1/status"; do :; done
}

# single NAME ARGUMENT …: runs fairpar --single in the background; sets $single_pid; the output goes to NAME.out and NAME.err
single() {
	env --default-signal=INT,QUIT "$FAIRPAR" --pool --single "${@:2}" >"$1.out" 2>"$1.err" </dev/null 3>&- &
	single_pid=$!
}

# hold NAME OPTION …: runs a command that holds a slot until `release NAME.go`
hold() {
	make_fifo "$1.in" "$1.go"
	single "$1" "${@:2}" sh -c "echo >$1.in; read -r _ <$1.go"
	await "$1.in"
}

# await_pool TEXT: waits until the first line of --status has TEXT
await_pool() {
	until "$FAIRPAR" --pool --status >state && [[ $(head -n 1 state) == *"$1"* ]]; do :; done
}

# line_up NAME ARGUMENT …: starts a command that appends NAME to `order`; returns when it waits for its slot
line_up() {
	single "$1" "${@:2}" sh -c "echo $1 >>order"
	waiting=$((${waiting-0} + 1))
	await_pool ", $waiting waiting"
}

# complaints FILE …: prints the messages in the files, without those of a command that has waited for 3 s
complaints() {
	grep -hvE '^fairpar: (waits for |[0-9]+(st|nd|rd|th) of [0-9]+ waiting for )' "$@" || :
}

# wait_on_terminal NAME COLUMNS TEXT [COMMAND]: runs COMMAND, or a command of --single, on a terminal of that width, waits until it shows
# TEXT, and then ends NAME, which holds the slot
wait_on_terminal() {
	printf '%s\tgo\\n\n' "$3" >talk
	cat >session <<-EOF
		stty cols $2
		{ read -r _ </dev/tty; echo >$1.go; } &
		${4:-"'$FAIRPAR' --pool --single echo ran"}
	EOF
	on_terminal bash session
}
