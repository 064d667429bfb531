# The table of everyday command lines is what the real program does, and bats itself is an everyday program.

load helper

@test "everyday command lines do the same with the real program" {
	need parallel
	need sem
	[[ $(parallel --version) == 'GNU parallel 20221122'* ]] || skip 'parallel is not GNU parallel 20221122'
	# it takes its time, and what it prints is what the table says already: some are enough to know that it still does
	run "$BATS_TEST_DIRNAME/table" --real "$(long_or 1 16)" "$BATS_TEST_DIRNAME/everyday.table"
	echo "$output"
	assert_eq "$status" 0
}

# bats runs `parallel --keep-order --jobs N bats-exec-file FLAGS {} LIST ::: FILE …` (bats-exec-suite).
@test "bats -j 2 runs fairpar's own tests with fairpar as its parallel" {
	local tests=$BATS_TEST_DIRNAME status=0 inner=:$PATH:
	export HOME=$BATS_TEST_TMPDIR/home
	mkdir -p "$HOME/.parallel" bin
	: >"$HOME/.parallel/will-cite"
	ln -s "$FAIRPAR" bin/parallel
	inner=${inner//":$(dirname "$(command -v bats-exec-suite)"):"/:} # where `bats` is only a part of bats
	env -i PATH="$PWD/bin$inner/bin" HOME="$HOME" TMPDIR="$TMPDIR" FAIRPAR="$FAIRPAR" FAIRPAR_TEST="$FAIRPAR_TEST" \
		timeout -k 5 "$patience" bats -j 2 "$tests/schema.bats" "$tests/rates.bats" >log 2>&1 </dev/null 3>&- || status=$?
	cat log
	assert_eq "$status" 0
	assert_eq "$(grep -c '^ok ' log)" "$(cat "$tests/schema.bats" "$tests/rates.bats" | grep -c '^@test')"
}
