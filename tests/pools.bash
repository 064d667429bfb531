# shellcheck shell=bash disable=SC2034 # what it sets, tests read
# The pools of a test: a directory of their own, and no server that outlives the test.
# It gives single, hold, await_pool, line_up and complaints to the tests, too.

setup() {
	helper_setup
	unset FAIRPAR_POOL FAIRPAR_LEASE
	export FAIRPAR_POOL_DIR=$BATS_TEST_TMPDIR/pools
	printf '%s\n' "$FAIRPAR_POOL_DIR" >"$BATS_TEST_TMPDIR/of_server"
}

# A server would end by itself after some seconds.
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

# Until it has ended; whoever has to reap it may take its time.
await_end() {
	while grep -qs '^State:[[:blank:]]*[^ZX[:blank:]]' "/proc/$1/status"; do :; done
}

# single NAME ARGUMENT …: in the background; $single_pid, and what it writes in NAME.out and NAME.err
single() {
	env --default-signal=INT,QUIT "$FAIRPAR" --pool --single "${@:2}" >"$1.out" 2>"$1.err" </dev/null 3>&- &
	single_pid=$!
}

# hold NAME OPTION …: a command that has a slot, until `release NAME.go`
hold() {
	make_fifo "$1.in" "$1.go"
	single "$1" "${@:2}" sh -c "echo >$1.in; read -r _ <$1.go"
	await "$1.in"
}

# await_pool TEXT: until the first line of --status has it
await_pool() {
	until "$FAIRPAR" --pool --status >state && [[ $(head -n 1 state) == *"$1"* ]]; do :; done
}

# line_up NAME ARGUMENT …: a command that appends NAME to `order`, and waits for its slot when this returns
line_up() {
	single "$1" "${@:2}" sh -c "echo $1 >>order"
	waiting=$((${waiting-0} + 1))
	await_pool ", $waiting waiting"
}

# complaints FILE …: what was said there, but for how a command waits, which it says after 3 s
complaints() {
	grep -hv '^fairpar: waits for ' "$@" || :
}

# wait_on_terminal NAME COLUMNS TEXT [COMMAND]: runs COMMAND, or one of --single, on a terminal so wide, where it waits until it shows TEXT;
# then NAME, which holds the slot, ends
wait_on_terminal() {
	printf '%s\tgo\\n\n' "$3" >talk
	cat >session <<-EOF
		stty cols $2
		{ read -r _ </dev/tty; echo >$1.go; } &
		${4:-"'$FAIRPAR' --pool --single echo ran"}
	EOF
	on_terminal bash session
}
