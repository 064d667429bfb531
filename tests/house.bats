# The suite's own tools keep their promises: the runner counts, the helper finds what is left, installing leaves nothing.

load helper

top() { cd "$BATS_TEST_DIRNAME/.." && pwd; }

# producer NAME: a program with the lines of stdin as its script.
producer() {
	{ echo '#!/bin/sh'; cat; } >"$1"
	chmod +x "$1"
}

@test "the runner counts what passed and failed, and that is its last line" {
	producer good <<<'echo 1..2; echo ok 1 - a; echo ok 2 - b'
	run "$BATS_TEST_DIRNAME/run" ./good ./good
	assert_eq "$status" 0
	assert_eq "${lines[-1]}" "4 passed, 0 failed"
}

@test "the runner shows what a failed test said before and after its line, and of the others nothing" {
	producer bad <<<'echo 1..3; echo quiet; echo ok 1; echo early; echo not ok 2 - two; echo late; echo ok 3; exit 1'
	run "$BATS_TEST_DIRNAME/run" ./bad
	assert_eq "$status" 1
	assert_contains "$output" early
	assert_contains "$output" 'not ok 2 - two'
	assert_contains "$output" late
	[[ $output != *quiet* ]] || fail "$output"
	assert_eq "${lines[-1]}" "2 passed, 1 failed"
}

@test "the runner fails a producer that dies, loses tests, says nothing, hangs or is not there" {
	producer dies <<<'echo 1..1; echo ok 1; exit 3'
	producer loses <<<'echo 1..2; echo ok 1'
	producer silent <<<':'
	producer hangs <<<'echo 1..1; exec sleep 60'
	run "$BATS_TEST_DIRNAME/run" -t 1 ./dies ./loses ./silent ./hangs ./missing
	assert_eq "$status" 1
	assert_eq "${lines[-1]}" "2 passed, 5 failed"
}

@test "the runner names what was skipped, and counts it neither way" {
	producer skips <<<'echo "1..1"; echo "ok 1 - x # SKIP no foo"'
	producer skips_all <<<'echo "1..0 # SKIP no bar"'
	run "$BATS_TEST_DIRNAME/run" ./skips ./skips_all
	assert_eq "$status" 0
	assert_contains "$output" 'skipped: x # SKIP no foo'
	assert_contains "$output" 'skipped: SKIP no bar'
	assert_eq "${lines[-1]}" "0 passed, 0 failed"
}

@test "the runner notes what has failed or was skipped, and runs that again" {
	producer good <<<'echo 1..1; echo ok 1'
	producer half <<<'echo 1..2; echo ok 1 - a; echo "ok 2 - b # SKIP no foo"'
	producer none <<<'echo "1..0 # SKIP no bar"'
	printf '@test "%s" {\n %s\n}\n' passes : 'it is (not) [there]*: \$x' 'skip why' fails '[ -e mended ]' >one.bats
	run env -u FAIRPAR_TEST "$BATS_TEST_DIRNAME/run" -l left ./good ./half ./none one.bats
	assert_eq "${lines[-1]}" "3 passed, 1 failed"
	: >mended
	run env -u FAIRPAR_TEST "$BATS_TEST_DIRNAME/run" -l left -a ./good ./half ./none one.bats ./good
	assert_contains "$output" 'skipped: it is (not) [there]*: $x'
	assert_eq "${lines[-1]}" "2 passed, 0 failed" # one of half, and of one.bats what failed
	producer none <<<'echo 1..1; echo ok 1'
	run env -u FAIRPAR_TEST "$BATS_TEST_DIRNAME/run" -l left -a ./good ./half ./none one.bats
	assert_eq "${lines[-1]}" "2 passed, 0 failed"
}

@test "the runner counts the findings of a sanitizer in a process nobody looks at" {
	# shellcheck disable=SC2016 # for the producer
	producer finding <<<'echo 1..1; echo race >"${TSAN_OPTIONS##*log_path=}.7"; echo ok 1'
	FAIRPAR_PROFILE=tsan run "$BATS_TEST_DIRNAME/run" ./finding
	assert_eq "$status" 1
	assert_contains "$output" race
	assert_eq "${lines[-1]}" "1 passed, 1 failed"
}

# leaky BODY …: runs a bats file whose one test is BODY, and which is to fail.
leaky() {
	mkdir -p inner
	printf '%s\n' "load '$BATS_TEST_DIRNAME/helper'" '@test "leaves something" {' "$@" '}' >inner/leaky.bats
	run env -u FAIRPAR_TEST bats inner/leaky.bats
	assert_eq "$status" 1
}

@test "the helper finds a process left behind, also in another session, and ends it" {
	need setsid
	leaky 'make_fifo up' 'setsid sh -c "echo >up; exec sleep 987" 3>&- &' 'await up'
	assert_contains "$output" 'left behind'
	[[ $output =~ ([0-9]+):\ sleep\ 987 ]] || fail "$output"
	until [[ ! -e /proc/${BASH_REMATCH[1]} ]] || grep -qs '^State:.Z' "/proc/${BASH_REMATCH[1]}/status"; do :; done # it was killed, and ends soon
}

@test "the helper finds a file left in TMPDIR" {
	# shellcheck disable=SC2016 # for the inner test
	leaky 'touch "$TMPDIR/spool"'
	assert_contains "$output" /tmp/spool
}

@test "install puts every file below DESTDIR, and uninstall removes every one of them" {
	need make
	[[ -x $(top)/fairpar ]] || skip "needs ./fairpar (make)"
	make -s -o all -o fairpar -C "$(top)" install DESTDIR="$PWD/root" PREFIX=/usr
	[[ -x root/usr/bin/fairpar ]]
	cmp root/usr/bin/fairpar "$(top)/fairpar"
	[[ -s root/usr/share/man/man5/fairpar-manifest.5 ]]
	"$(top)/fairpar" --schema | cmp - root/usr/share/fairpar/manifest.schema.json
	"$(top)/fairpar" --completions=bash | cmp - root/usr/share/bash-completion/completions/fairpar
	"$(top)/fairpar" --completions=zsh | cmp - root/usr/share/zsh/site-functions/_fairpar
	"$(top)/fairpar" --completions=fish | cmp - root/usr/share/fish/vendor_completions.d/fairpar.fish
	make -s -C "$(top)" uninstall DESTDIR="$PWD/root" PREFIX=/usr
	run find root -type f
	assert_eq "$output" ""
}

@test "make install takes a PREFIX with a tilde as the home directory" {
	need make
	[[ -x $(top)/fairpar ]] || skip "needs ./fairpar (make)"
	HOME=$PWD/home make -s -o all -C "$(top)" install PREFIX='~/.local'
	[[ -x home/.local/bin/fairpar ]]
}

# stand_ins TOOL …: a directory `bin` with these tools of the machine, for a PATH that has no others.
stand_ins() {
	local tool
	mkdir -p bin
	for tool; do
		ln -s "$(command -v "$tool")" "bin/$tool"
	done
}

@test "where one of the tests' tools is no package, setup.sh installs the others and names it" {
	stand_ins sh bash dirname cat rm tee chmod env
	producer bin/id <<<'echo 1000'
	producer bin/sudo <<<'case $1 in env) exec "$@" ;; tee) cat >/dev/null ;; esac'
	# shellcheck disable=SC2016 # for the producer
	producer bin/apt-get <<<'case " $* " in *" ksh "*) exit 100 ;; esac; echo "$*" >>installed'
	cd bin && sed "s|^cd .*|cd '$PWD/..'|" "$(top)/packaging/setup.sh" >../setup.sh && cd ..
	PATH=$PWD/bin run -0 sh setup.sh --test-deps
	assert_contains "$output" 'are skipped by name: ksh'
	grep -q '^install .* jq$' installed
	run ! grep -qw ksh installed
}

# Objects that are programs, by a compiler that compiles nothing.
@test "in a path with a space make builds and tests, and with an O elsewhere it leaves the source as it is" {
	need make
	local files build
	mkdir 'a tree'
	cp -r "$(top)"/{Makefile,src,tests,man,completions} 'a tree'
	# shellcheck disable=SC2016 # for the producers
	producer cc <<<'for word; do [ "$last" != -o ] || object=$word; last=$word; done
		[ -z "$object" ] || { printf "#!/bin/sh\necho 1..1; echo ok 1\n" >"$object" && chmod +x "$object"; }'
	# shellcheck disable=SC2016
	producer ar <<<': >"$2"'
	files=$(find 'a tree')
	build=(make -s -j2 -C 'a tree' CC="'$PWD/cc'" AR="'$PWD/ar'" UNIT_SRC=tests/unit/csv.c)
	run -0 "${build[@]}" O=../elsewhere DESTDIR="$PWD/a root" install check-unit
	assert_eq "$(find 'a tree')" "$files"
	assert_contains "$output" "1 passed, 0 failed"
	cmp elsewhere/fairpar 'a root/usr/local/bin/fairpar'
	run -0 "${build[@]}" all
	run -0 "${build[@]}" check-unit # not at once: each makes what both need
	assert_contains "$output" "1 passed, 0 failed"
	[[ -x 'a tree/fairpar' ]]
}

@test "a machine that cannot be built for or emulated here, packaging/cross names and skips" {
	run -0 "$BATS_TEST_DIRNAME/../packaging/cross" pdp11 vax
	assert_eq "$output" "== pdp11: skipped, not installed: pdp11-linux-gnu-gcc qemu-pdp11
== vax: skipped, not installed: vax-linux-gnu-gcc qemu-vax"
}

@test "where no fresh machine can be made, tests/roots says why and ends with 77" {
	mkdir bin
	producer bin/id <<<'echo 1000'
	PATH=$PWD/bin:$PATH run -77 "$BATS_TEST_DIRNAME/roots" bookworm user
	assert_eq "${lines[-1]}" "tests/roots: no fresh machine can be made here: that takes root"
	producer bin/id <<<'echo 0'
	producer bin/debootstrap <<<'echo "E: no mirror"; exit 1'
	PATH=$PWD/bin:$PATH run -77 "$BATS_TEST_DIRNAME/roots" bookworm user
	assert_eq "${lines[-1]}" "tests/roots: no fresh machine can be made here: debootstrap: E: no mirror"
}
