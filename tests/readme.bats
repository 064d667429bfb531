# What the README shows works as it is written there.

load helper

# The files that its examples speak of.
setup() {
	helper_setup
	readme=$BATS_TEST_DIRNAME/../README.md
	mkdir -p bin texts
	ln -s "$FAIRPAR" bin/fairpar
	PATH=$PWD/bin:$PATH
	printf 'one\nword\n' >one.txt
	printf 'two\ntwo\n' >two.txt
	cp one.txt 'texts/a b.txt'
	printf '%s\n' one.txt two.txt one.txt >long.list
	echo two.txt >short.list
	printf 'x\tone\ny\ttwo\n' >builds.tsv
}

# block WORD [KIND]: the one block of commands in the README, or of that kind, that has WORD in it.
block() {
	awk -v word="$1" -v kind="^\`\`\`${2-sh}$" '
		$0 ~ kind { inside = 1; text = ""; next }
		/^```$/ { if (inside && index(text, word)) printf "%s", text; inside = 0 }
		inside { text = text $0 "\n" }' "$readme"
}

# run_block WORD: runs it; $output is what it prints.
run_block() {
	block "$1" >block
	cat block
	[[ $(cat block nightly.yaml 2>/dev/null) != *gzip* ]] || need gzip
	[[ -s block ]] || fail "the README has no block with '$1'"
	run bash -e block
	echo "$output"
	assert_eq "$status" 0
}

@test "every block of commands in the README has a test here" {
	words=$(sed -n 's/^\trun_block .\([^'\'']*\).$/\1/p' "$BATS_TEST_FILENAME")
	all=0
	for word in ${words// /_}; do
		all=$((all + $(block "${word//_/ }" | wc -l)))
	done
	assert_eq "$all" "$(awk '/^```/ { inside = /^```sh$/; next } inside' "$readme" | wc -l)"
}

@test "items go into a command, file names with blanks too" {
	run_block 'gzip -k {}'
	gzip -t one.txt.gz 'texts/a b.txt.gz'
	assert_eq "$(cat 'texts/a b.words')" 2
}

@test "items of the command line are combined" {
	run_block 'red green'
	assert_eq "$(head -n 6 <<<"$output" | sort | head -n 2)" $'green in L\ngreen in M'
	assert_eq "$(tail -n 2 <<<"$output")" $'red is stop\ngreen is go'
}

@test "whole commands come from a here-document" {
	run_block 'grep -c'
	assert_set 2 '      2 two'
}

@test "items are packed by time" {
	chmod 600 one.txt 'texts/a b.txt'
	run_block '--pack=auto'
	assert_eq "$(stat -c %a one.txt 'texts/a b.txt' | sort -u)" 644
}

@test "two batches are served in turns" {
	run_block 'nightly='
	assert_eq "$(wc -l <<<"$output")" 4
}

@test "batches are found in the items" {
	run_block '--colsep'
	gzip -t one.txt.gz 'texts/a b.txt.gz'
	assert_set 'x builds one' 'y builds two'
}

@test "batches have weights and limits" {
	run_block '--weight'
	assert_eq "$(wc -l <<<"$output")" 4
}

@test "a next step follows for the same item" {
	run_block '--then'
	gzip -t one.txt.gz two.txt.gz
}

@test "a run is drawn" {
	run_block '--report'
	assert_contains "$(cat run.html)" "</html>"
	assert_contains "$(cat run.svg)" "</svg>"
	assert_contains "$(cat run.json)" "traceEvents"
}

@test "a log tells later how a run went" {
	block 'batches:' yaml >nightly.yaml
	run_block '--from-log'
	[[ $(grep -c '^fairpar: 5 jobs in .*: 5 ok; ' <<<"$output") == 2 ]] || fail "the run and its log tell different stories"
	assert_contains "$output" '  checksum: waited for its turn: '
}

@test "a job gives its run more work, and waits for it" {
	need make
	printf 'test:\n\t@echo tested; false\n' >Makefile
	make_fifo begun over
	"$FAIRPAR" -j2 'export -p >job; echo >begun; read -r line <over #' ::: a >out 2>&1 3>&- &
	await begun
	# shellcheck source=/dev/null # what a job has in its environment
	. <(grep ' FAIRPAR_' job)
	run_block 'fairpar --add'
	assert_eq "$output" "the tests failed"
	release over
	wait $! || true
	assert_contains "$(cat out)" tested
}

@test "the manifest runs, and says what is wrong with it" {
	block 'batches:' yaml >nightly.yaml
	run_block '--list compress'
	gzip -t one.txt.gz two.txt.gz
	assert_contains "$output" "$(sha256sum one.txt)"
	assert_contains "$output" "$(sha256sum two.txt)"
	assert_eq "$(tail -n 1 <<<"$output")" 'compress  ? jobs: a .gz beside each file'
	sed -i 's/creates:/create:/' nightly.yaml
	run_fairpar 255 -f nightly.yaml
	assert_eq "$stderr" "$(block "'create'" text)"
}

@test "setup.sh, make check and .ci/run are what the README says they are" {
	grep -qx 'sh packaging/setup.sh  *#.*' "$readme"
	grep -qx 'make check  *#.*' "$readme"
	assert_eq "$(tail -n 6 "$BATS_TEST_DIRNAME/../.ci/run" | sed 's/ || .*//')" \
		$'sh packaging/setup.sh\nsh packaging/setup.sh --test-deps\nsh packaging/setup.sh --cluster-deps\nmake check-sanitized\nmake check-cluster\ntests/roots bookworm user'
	grep -q 'make check-sanitized' "$readme"
	grep -q 'make check-long' "$readme"
	grep -q 'make check-cluster' "$readme"
	tr '\n' ' ' <"$readme" | grep -q 'sh packaging/setup.sh --test-deps.*sh packaging/setup.sh --cluster-deps'
}

@test "CONTRIBUTING.md is linked from the README, and each file and make target that it names is there" {
	root=$BATS_TEST_DIRNAME/..
	guide=$root/CONTRIBUTING.md
	grep -qF '](CONTRIBUTING.md)' "$readme"
	mapfile -t files < <(grep -oE '`?(src|tests|man|completions|packaging|\.ci)/[A-Za-z0-9_./*-]*|\]\([^)]*' "$guide" | tr -d '`](' | sort -u)
	((${#files[@]} > 30)) || fail "it names few files: ${files[*]}"
	for file in "${files[@]}"; do
		compgen -G "$root/$file" >/dev/null || fail "there is no $file"
	done
	mapfile -t targets < <(grep -oE '`make [a-z-]+' "$guide" | sed 's/.* //' | sort -u)
	for target in "${targets[@]}"; do
		grep -qE "^([a-z -]+ )?$target( [a-z -]+)?:" "$root/Makefile" "$root"/tests/bench/bench.mk || fail "there is no target $target"
	done
	while read -r name; do
		grep -rqF "$name" "$root/src" || fail "the source has no $name"
	done < <(grep -oE '`(struct [a-z_]+|[a-z_]+\(\)|[a-z]+_kind)`' "$guide" | tr -d '`()' | sort -u)
}

@test "the map in main.c and the README name each room, and the map each file of hosts/, sharing/ and of the rooms from pipe/ to modes/ and none that is not there" {
	root=$BATS_TEST_DIRNAME/..
	map=$(sed -n '/^$/q; p' "$root/src/main.c")
	((${#map} > 3000)) || fail "the map is short: $map"
	for room in "$root"/src/*/; do
		room=$(basename "$room")
		grep -qE "^//   $room/ " <<<"$map" || fail "the map has no room $room"
		grep -qF "(src/$room)" "$readme" || fail "the README has no room $room"
	done
	for file in "$root"/src/{hosts,sharing,pipe,state,record,exec,feed,run,modes}/*.c; do
		grep -qE "(^|[^a-z_])$(basename "$file")" <<<"$map" || fail "the map has no file $(basename "$file")"
	done
	while read -r file; do
		compgen -G "$root/src/*/$file" >/dev/null || fail "the map has a file $file that is not there"
	done < <(grep -oE '[a-z_]+\.(c|h|def)' <<<"$map" | sort -u)
	while read -r function; do
		grep -rqE "\b$function\(" --include='*.h' "$root/src" || fail "the map has a function $function that is not there"
	done < <(grep -oE '[a-z_]+\(\)' <<<"$map" | tr -d '()' | sort -u)
	while read -r file; do
		[[ -e $root/src/$file ]] || fail "base/locks.def has a file $file that is not there"
	done < <(sed -n 's|^LOCK([A-Z_]*, "\([a-z_]*/[^"]*\.[ch]\)".*|\1|p' "$root/src/base/locks.def")
}
