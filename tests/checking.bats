# A manifest is checked and listed without running anything: --check, --list and --schema.

load helper

setup() {
	helper_setup
	manifests=$BATS_TEST_DIRNAME/manifests
}

@test "--check says nothing about a manifest that is in order" {
	for file in "$manifests"/good/*.yaml; do
		run_fairpar -f "$file" --check
		assert_eq "$output$stderr" ''
	done
}

@test "--check shows exactly the text stored beside each bad manifest, and ends with 255" {
	cd "$manifests/bad"
	local file n=0
	for file in *.yaml; do
		status=0
		"$FAIRPAR" --check -f "$file" >"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" || status=$?
		[[ $status == 255 && ! -s $BATS_TEST_TMPDIR/stdout ]] || fail "$file: the exit status is $status"
		diff -u "${file%.yaml}.err" "$BATS_TEST_TMPDIR/stderr" || fail "$file"
		n=$((n + 1))
	done
	((n > 80))
}

@test "a manifest from a pipe has its directories seen from the current one" {
	mkdir gl
	text='{version: 1, batches: {a: {run: pwd, working_dir: gl}}}'
	run_fairpar -f <(printf '%s\n' "$text")
	assert_eq "$output" "$PWD/gl"
	run_fairpar -f - <<<"$text"
	assert_eq "$output" "$PWD/gl"
	run_fairpar -f /dev/stdin <<<"$text"
	assert_eq "$output" "$PWD/gl"
}

@test "a list of a bad manifest is empty" {
	run_fairpar 255 -f "$manifests/bad/needs-circle.yaml" --list=names
	assert_eq "$output" ''
}

@test "a hundred thousand batches are listed" {
	{ printf 'version: 1\nbatches:\n'; seq -f '  b%.0f: {run: "true"}' 100000; } >many.yaml
	run_fairpar -f many.yaml --list=names
	assert_eq "${#lines[@]} ${lines[99999]}" '100000 b100000'
}

@test "--schema prints a JSON Schema that has every key of the table" {
	need jq
	run_fairpar --schema
	assert_eq "$(jq -r '.. | .properties? // empty | keys[]' "$BATS_TEST_TMPDIR/stdout" | sort -u | grep -vx -e exclude -e include)" \
		"$(awk -F '"' '/^KEY\(/ { print $2 }' "$BATS_TEST_DIRNAME/../src/manifest/keys.def" | sort -u)"
}
