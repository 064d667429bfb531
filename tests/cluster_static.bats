# `make static`: a fairpar that needs nothing of the machine it runs on.

load helper

setup() {
	helper_setup
	FAIRPAR=$BATS_TEST_DIRNAME/../obj/static/fairpar
	[[ -x $FAIRPAR ]] || skip "needs obj/static/fairpar (make static)"
	FAIRPAR=$(readlink -f "$FAIRPAR")
}

@test "it is static" {
	need readelf
	assert_eq "$(readelf -lW "$FAIRPAR" | grep -c INTERP)" 0
	assert_eq "$(readelf -dW "$FAIRPAR" | grep -c NEEDED)" 0
}

@test "it runs jobs, and a pipe of 1 MiB comes back as it was" {
	run_fairpar -k echo ::: 1 2 3
	assert_lines 1 2 3
	head -c 1048576 /dev/urandom >bytes
	run_fairpar cat ::: bytes
	cmp bytes "$BATS_TEST_TMPDIR/stdout"
}

@test "it runs where there is nothing else" {
	need unshare
	unshare -r true 2>/dev/null || skip "there are no user namespaces"
	mkdir -p empty/tmp empty/dev
	: >empty/dev/null
	cp "$FAIRPAR" empty/fairpar
	run unshare -r env -i FAIRPAR_TEST="$FAIRPAR_TEST" "$(command -v chroot)" empty /fairpar -k -j2 /fairpar --version ::: 1 2
	assert_eq "$status" 0
	assert_eq "$(grep -c '^fairpar ' <<<"$output")" 2
}

@test "--warm is taken" {
	run_fairpar -k --warm=sh 'echo {}; :' ::: a b
	assert_lines a b
}

@test "a manifest runs, or is refused where the program was built without libyaml" {
	printf 'version: 1\nbatches:\n  a:\n    run: echo {}\n    args: [x, y]\n' >m.yaml
	run_fairpar any -k -f m.yaml
	if ((status == 0)); then
		assert_set x y
	else
		assert_eq "$status" 255
		assert_contains "$stderr" libyaml
	fi
}
