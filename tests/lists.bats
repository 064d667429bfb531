# A list of machines that changes while the run goes on: which get jobs then. An ssh that stays here brings the machines.
# shellcheck disable=SC2016,SC2154 # the commands are for the shells of the jobs; helper.bash sets what is not set here

load helper

setup() {
	helper_setup
	export FAIRPAR_REMOTE=$FAIRPAR
	cat >"$BATS_TEST_TMPDIR/ssh" <<'SSH'
#!/bin/sh
while [ "$1" != -- ]; do host=$1; shift; done
shift
echo "$host" >>connected
! [ -e down ] || [ "$host" != one ] || { echo "no way to $host" >&2; exit 255; }
sh -c "$*"
echo "$host" >>disconnected
SSH
	chmod +x "$BATS_TEST_TMPDIR/ssh"
	export HOME=$PWD PARALLEL_SSH=$BATS_TEST_TMPDIR/ssh
	: >connected
	: >disconnected
}

teardown() { helper_teardown; }

# The first job puts `next` in the place of `list`, in one step.
change='[ {#} != 1 ] || mv next list; '

says() { grep -q "$@" "$BATS_TEST_TMPDIR/stderr"; }

# listed TEXT: the list of SIGUSR1 has it by now.
listed() {
	kill -USR1 "$fairpar_pid" 2>/dev/null
	says "$1"
}

# has_more N WORD: so many lines of the output are that word.
has_more() { (($(grep -cx "$2" "$BATS_TEST_TMPDIR/stdout") >= $1)); }

has_held() { (($(find . -name 'go*' | grep -c '') == $1)); }

replace() {
	printf '%s\n' "$@" >next
	mv next list
}

@test "a machine that comes into the list gets jobs, and nobody is connected to twice" {
	echo 1/one >list
	printf '%s\n' '# more' 1/one '' 1/two >next
	run_fairpar --slf list --halt now,success=1 "$change"'[ $PARALLEL_SSHLOGIN = two ] #' < <(yes)
	assert_eq "$(sort connected | xargs)" "one two"
}

@test "a list that -S names is looked at, and one of standard input is not" {
	mkdir .parallel
	ln -s ../list .parallel/sshloginfile
	echo 1/two >list
	printf '%s\n' 1/two 1/three >next
	run_fairpar -S .. --slf - -a <(yes) --halt now,success=1 "$change"'[ $PARALLEL_SSHLOGIN = three ] #' <<<1/one
	assert_eq "$(sort connected | xargs)" "one three two"
}

@test "a machine that has left the list gets no job, those that run there end, and others go on meanwhile" {
	replace 1/one 2/two
	start_fairpar --slf list --halt soon,fail=1 \
		'case $PARALLEL_SSHLOGIN in two) mkfifo go{#}; read -r x <go{#}; echo held;; *) echo one; [ ! -e stop ];; esac #' < <(yes)
	wait_for has_held 2
	replace 1/one
	wait_for says 'two: the machine is not in the list any more: no job starts there'
	wait_for has_more $(($(grep -cx one "$BATS_TEST_TMPDIR/stdout") + 20)) one
	wait_for listed 'two: the machine is not in the list any more; 2 of its slots are still used'
	assert_eq "$(<disconnected)" ""
	for job in go*; do release "$job"; done
	wait_for has_more 2 held
	wait_for grep -q two disconnected
	wait_for listed 'two: the machine is not in the list any more; 0 of its slots are still used'
	: >stop
	end_fairpar 1
	assert_eq "$(grep -c held <<<"$output")" 2
	assert_eq "$(sort connected | xargs)" "one two"
}

@test "a machine comes back, and this one comes and leaves" {
	replace 1/one
	start_fairpar --slf list --halt soon,fail=1 'echo $PARALLEL_SSHLOGIN; [ ! -e stop ] #' < <(yes)
	wait_for has_more 1 one
	replace 1/:
	wait_for says 'one: the machine is not in the list any more'
	wait_for has_more 1 :
	wait_for grep -q one disconnected
	replace 1/one
	wait_for says '^fairpar: this machine: the machine is not in the list any more'
	wait_for has_more $(($(grep -cx one "$BATS_TEST_TMPDIR/stdout") + 1)) one
	: >stop
	end_fairpar 1
	assert_eq "$(xargs <connected)" "one one"
}

@test "N/ is that of the list as it is now" {
	replace 1/one
	start_fairpar --slf list --halt soon,fail=1 'echo ran; [ ! -e stop ] #' < <(yes)
	wait_for has_more 1 ran
	wait_for listed 'one: [01] of 1 slots used'
	replace 3/one
	wait_for listed 'one: 3 of 3 slots used'
	replace 2/one
	wait_for listed 'one: 2 of 2 slots used'
	: >stop
	end_fairpar 1
	assert_eq "$(<connected)" one
}

@test "a list with a mistake is said once, and the machines stay until it is right again" {
	replace 1/one
	start_fairpar --slf list --halt now,success=1 'echo ran; [ $PARALLEL_SSHLOGIN = two ] #' < <(yes)
	wait_for has_more 1 ran
	replace 1/two '-x'
	wait_for says "warning: --sshloginfile list:2: '-x': a host that begins with '-' would be an option of ssh; the machines stay as they are"
	replace '# none'
	wait_for says "warning: --sshloginfile names no machine any more; the machines stay as they are"
	rm list
	echo 1/two >list
	end_fairpar
	assert_eq "$(grep -c 'the machines stay' <<<"$stderr")" 2
	assert_eq "$(sort connected | xargs)" "one two"
}

@test "where no machine can be reached any more, the list is looked at nevertheless" {
	replace 1/one
	run_fairpar --slf list '[ $PARALLEL_SSHLOGIN = two ] || { : >down; echo 1/two >list; kill -9 $PPID; } #' ::: 1 </dev/null
	assert_contains "$stderr" "one: the connection is lost"
	assert_contains "$stderr" "one: the machine is not in the list any more"
}

@test "a batch of a group has the machines that come into it" {
	replace @g/1/one 1/three
	printf '%s\n' @g/1/one 1/three @g/1/two >next
	printf '%s\n' 'version: 1' batches: '  a: {args_from: {file: /dev/stdin}, hosts: "@g", run: '"'$change"'echo $PARALLEL_SSHLOGIN; [ $PARALLEL_SSHLOGIN = two ] #'"'}" >m.yaml
	run_fairpar --slf list --halt now,success=1 -f m.yaml < <(yes)
	assert_eq "$(sort -u <<<"$output" | xargs)" "one two"
}

@test "a batch of a group has this machine when it comes into it" {
	replace @g/1/one 1/three
	printf '%s\n' @g/1/one 1/three @g/1/: >next
	printf '%s\n' 'version: 1' batches: '  a: {args_from: {file: /dev/stdin}, hosts: "@g", run: '"'$change"'echo $PARALLEL_SSHLOGIN; [ $PARALLEL_SSHLOGIN = : ] #'"'}" >m.yaml
	run_fairpar --slf list --halt now,success=1 -f m.yaml < <(yes)
	assert_eq "$(sort -u <<<"$output" | xargs)" ": one"
}

@test "the jobs of a batch fail whose machines have all left the list" {
	make_fifo feed
	replace 1/one 1/two
	printf '%s\n' 'version: 1' batches: '  a: {args_from: {file: feed}, hosts: one, run: ": {}"}' '  b: {args: [1, 2], hosts: two, run: ": {}", needs: a}' >m.yaml
	start_fairpar --slf list --joblog log -f m.yaml </dev/null
	exec {feed}>feed
	replace 1/one
	until says 'two: the machine is not in the list any more'; do echo x >&"$feed"; done
	exec {feed}>&-
	end_fairpar any
	assert_eq "$(grep -c $'\ttwo\t.*\t255\t0\t' log)" 2
	assert_contains "$stderr" "2 of "
}

@test "a list that has become a FIFO keeps nobody waiting" {
	replace 1/one
	run_fairpar --slf list '[ {} != 1 ] || { rm list; mkfifo list; sleep 1.1; }; echo {} #' ::: 1 2 3 </dev/null
	assert_set 1 2 3
	assert_contains "$stderr" "the machines stay as they are"
}

@test "a job that has failed does not wait for a machine that has left the list before it was there" {
	sed -i 's|^exec sh|[ "$host" != late ] \|\| exec sleep '"$patience"'\n&|' "$PARALLEL_SSH"
	replace 1/one 1/late
	run_fairpar 1 --slf list --retries 3 'echo {}; [ -e left ] || { printf "%s\n" 1/one >next; mv next list; : >left; }; exit 1 #' ::: 1 </dev/null
	assert_contains "$stderr" "1 of 1 jobs failed"
}

@test "a word of a list of machines that holds NUL is no name of another list" {
	printf -- '-\0junk\n' >list
	run_fairpar 255 --sshloginfile list echo ::: 1 <<<'n1'
	assert_contains "$stderr" "it is not text"
}
