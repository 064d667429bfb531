# The pools of a test: a directory of their own, and no server that outlives the test.

setup() {
	helper_setup
	unset FAIRPAR_POOL FAIRPAR_LEASE
	export FAIRPAR_POOL_DIR=$BATS_TEST_TMPDIR/pools
	printf '%s\n' "$FAIRPAR_POOL_DIR" >"$BATS_TEST_TMPDIR/of_server"
}

# A server would end by itself after some seconds.
teardown() {
	local server
	for server in $(servers); do
		kill "$server" 2>/dev/null || :
		await_end "$server"
	done
	helper_teardown
}

# The servers of the test's pools: their directory is one of their arguments.
servers() {
	grep -lszxFf "$BATS_TEST_TMPDIR/of_server" /proc/[0-9]*/cmdline | tr -dc '0-9\n'
}

# Until it has ended; whoever has to reap it may take its time.
await_end() {
	while grep -qs '^State:[[:blank:]]*[^ZX[:blank:]]' "/proc/$1/status"; do :; done
}
