# The tutorial shows manifests as they are in tests/manifests/good, and what fairpar says to them.

load helper

setup() {
	helper_setup
	page=$BATS_TEST_DIRNAME/../man/fairpar-tutorial.7
}

# block WORD: the first literal block of the page that has WORD in it, as a reader sees it.
block() {
	sed "s/\\\\(aq/'/g; s/\\\\(dq/\"/g; s/\\\\(ga/\`/g; s/\\\\(ha/^/g; s/\\\\(ti/~/g; s/\\\\-/-/g; s/^\\\\&//; s/\\\\e/\\\\/g" "$page" |
		awk -v word="$1" '
			/^\.Bd -literal/ { inside = 1; text = ""; next }
			/^\.Ed/ { if (inside && index(text, word)) { printf "%s", text; exit } inside = 0 }
			inside { text = text $0 "\n" }'
}

@test "the manifests of the tutorial are those that the tests run" {
	local name
	for name in compress build crawl pipeline; do
		block "$(head -n 1 "$BATS_TEST_DIRNAME/manifests/good/$name.yaml")" >shown
		diff -u "$BATS_TEST_DIRNAME/manifests/good/$name.yaml" shown || fail "$name.yaml"
	done
	assert_eq "$(grep -c '^version: 1' "$page")" 5 # and the one of the first steps
}

@test "the first manifest of the tutorial is listed and checked, and its mistake is shown as it is there" {
	block 'some words' >first.yaml
	run_fairpar -f first.yaml --check
	assert_eq "$output$stderr" ''
	run_fairpar -f first.yaml --list
	assert_lines 'write  2 jobs' 'words  2 jobs, needs write'
	sed -i 's/needs/need/' first.yaml
	run_fairpar 255 -f first.yaml --check
	assert_eq "$stderr" "$(block 'did you mean')"
}

@test "the examples of the manual are manifests that fairpar takes" {
	local man=$BATS_TEST_DIRNAME/../man n=0
	awk '/^\.Bd/ { if (++n) file = sprintf("example%02d.yaml", n); next } /^\.Ed/ { file = ""; next }
		file != "" { print > file }' "$man/fairpar-manifest.5" "$man/fairpar.1"
	for file in $(grep -l '^version: 1' example*.yaml); do
		run_fairpar -f "$file" --check
		assert_eq "$stderr" ''
		n=$((n + 1))
	done
	assert_eq "$n" 5
}
