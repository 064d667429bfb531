# Output: whole, in the promised order, never lost in silence.

load helper

@test "the output of a job is in one piece: stdout, then stderr" {
	run_fairpar -j1 'echo a; echo b >&2; echo c #' ::: x
	assert_lines a c
	assert_eq "$stderr" b
	"$FAIRPAR" -j1 'echo a; echo b >&2; echo c #' ::: x >both 2>&1
	assert_eq "$(tr '\n' ' ' <both)" "a c b "
}

@test "jobs side by side do not mix" {
	run_fairpar -j2 'i=0; while [ $i -lt 2000 ]; do echo {}; i=$((i + 1)); done' ::: a b c d
	assert_eq "$(uniq "$BATS_TEST_TMPDIR/stdout" | wc -l)" 4
}

@test "the output of a job appears as soon as it ends, while stdin is idle" {
	make_fifo input
	exec 5<>input
	start_fairpar -j2 echo <input 5>&-
	echo one >&5
	wait_for grep -q one "$BATS_TEST_TMPDIR/stdout"
	exec 5>&-
	end_fairpar
	assert_lines one
}

@test "-k prints in the order of input" {
	make_fifo go
	run_fairpar -j2 -k 'if [ {} = 1 ]; then read -r _ <go; else echo >go; fi; echo {}' ::: 1 2
	assert_lines 1 2
}

@test "-k keeps the order within a batch; batches do not wait for each other" {
	make_fifo go
	start_fairpar -j2 -k --batch-by '{2}' --colsep , 'if [ {1} = 1 ]; then read -r _ <go; fi; echo {1}' ::: 1,A 2,B
	wait_for grep -q 2 "$BATS_TEST_TMPDIR/stdout"
	release go
	end_fairpar
	assert_lines 2 1
}

@test "--line-buffer passes whole lines on while the job runs" {
	make_fifo go
	start_fairpar --line-buffer 'echo first; printf half; read -r _ <go; echo " line" #' ::: x
	wait_for grep -q first "$BATS_TEST_TMPDIR/stdout"
	assert_eq "$(cat "$BATS_TEST_TMPDIR/stdout")" first
	release go
	end_fairpar
	assert_lines first "half line"
}

@test "--ungroup gives jobs fairpar's own stdout" {
	run_fairpar -u 'readlink /proc/$$/fd/1; :' ::: x
	assert_eq "$output" "$BATS_TEST_TMPDIR/stdout"
}

@test "--tag puts the item in front of every line of both streams" {
	run_fairpar -j1 --tag 'echo one; echo two; echo err >&2 #' ::: x
	assert_lines "x	one" "x	two"
	assert_eq "$stderr" "x	err"
}

@test "--tagstring is a template" {
	run_fairpar -j1 --tagstring '{#}:{/.}' echo ::: a/b.c
	assert_lines "1:b	a/b.c"
}

@test "all byte values pass" {
	for ((byte = 0; byte < 256; byte++)); do
		printf '%b' "\\0$(printf %o "$byte")"
	done >bytes
	assert_eq "$(wc -c <bytes)" 256
	run_fairpar cat ::: bytes bytes
	cmp <(cat bytes bytes) "$BATS_TEST_TMPDIR/stdout"
}

@test "200 MB of a job pass whole, in little memory" {
	limit_memory 600000
	"$FAIRPAR" -j2 'head -c 200000000 /dev/zero | tr "\0" {}' ::: a b >big
	assert_eq "$(wc -c <big)" 400000000
	assert_eq "$(tr -s ab <big | wc -c)" 2
}

@test "a full stdout is an error with a message and exit 255" {
	bash -c '"$1" echo ::: 1 2 >/dev/full 2>err; echo $? >code' _ "$FAIRPAR"
	assert_eq "$(cat code)" 255
	assert_contains "$(cat err)" "cannot write to standard output: No space left on device"
}

@test "a closed stdout is an error with a message and exit 255" {
	bash -c '"$1" echo ::: 1 2 >&- 2>err; echo $? >code' _ "$FAIRPAR"
	assert_eq "$(cat code)" 255
	assert_contains "$(cat err)" "cannot write to standard output"
}

@test "descriptors 0 to 2 that are closed, full or without the other end cost no job that is still of use, and output no status 0" {
	[[ -c /dev/full ]] || skip "there is no /dev/full"
	mkfifo pipe
	exec 8<>pipe 7<pipe 6>pipe
	exec 8<&-
	local fd how expected
	while read -r fd how expected; do
		: >ran
		: >out
		case $fd$how in
		0closed) redirection='<&- >out 2>err' ;;
		0full) redirection='</dev/full >out 2>err' ;;
		0pipe) redirection='<&7 >out 2>err 6>&-' ;;
		1closed) redirection='>&- 2>err' ;;
		1full) redirection='>/dev/full 2>err' ;;
		1pipe) redirection='>&6 2>err 7<&-' ;;
		2closed) redirection='>out 2>&-' ;;
		2full) redirection='>out 2>/dev/full' ;;
		2pipe) redirection='>out 2>&6 7<&-' ;;
		esac
		[[ $fd$how != 1pipe ]] || exec 7<&- # the one that reads
		status=0
		bash -c "\"\$1\" -j1 'echo >>ran; echo {}; ls /nonexistent' ::: 1 2 3 4 5 6 $redirection" _ "$FAIRPAR" || status=$?
		# shellcheck disable=SC2053 # a pattern
		[[ "$status $(wc -l <ran) $(wc -l <out)" == $expected ]] || fail "$fd $how: $status $(wc -l <ran) $(wc -l <out), not $expected"
	done <<'TABLE'
0 closed 6 6 6
0 full 6 6 6
0 pipe 6 6 6
1 closed 255 * 0
1 full 255 * 0
1 pipe 141 * 0
2 closed 6 6 6
2 full 255 6 6
2 pipe 141 * *
TABLE
}

@test "a stdout that fails behind a stderr that has failed ends the run" {
	[[ -c /dev/full ]] || skip "there is no /dev/full"
	status=0
	# job 3 may begin before fairpar has noticed what became of the output of job 2
	timeout "$patience" "$FAIRPAR" -j1 --log log 'case {} in 1) echo >&2 ;; 2) echo {} ;; 3) until grep -q "written[:] No" log; do :; done ;; esac' \
		::: {1..9} >/dev/full 2>/dev/full || status=$?
	assert_eq "$status" 255
	grep 'output cannot be written: No space left on device' log
}

@test "closed descriptors 0 to 2 at the start do no harm, in all eight combinations" {
	local in out err
	for in in "" "<&-"; do for out in "" ">&-"; do for err in "" "2>&-"; do
		bash -c "\"\$1\" 'echo {} >>ran' ::: x $in $out $err" _ "$FAIRPAR"
	done; done; done
	assert_eq "$(wc -l <ran)" 8
}

@test "a stdout that does not block loses nothing" {
	need perl
	mkfifo pipe
	perl -e 'use Fcntl; open(my $p, ">", "pipe"); fcntl($p, F_SETFL, O_NONBLOCK | O_WRONLY); open(STDOUT, ">&", $p); exec @ARGV' \
		"$FAIRPAR" -j2 'yes {} | head -c 300000' ::: a b &
	perl -e 'select(undef, undef, undef, 0.05) while read(STDIN, $_, 50000) and print' <pipe >out
	wait $!
	assert_eq "$(wc -c <out)" 600000
}

# Who shares an open file description shares O_NONBLOCK, and may lose what it writes into a full pipe.
@test "a job that leaves O_NONBLOCK behind leaves it to no other job, beside it or after it" {
	need perl
	cat >leave <<-'END'
	use Fcntl; fcntl $_, F_SETFL, O_NONBLOCK | fcntl $_, F_GETFL, 0 for STDOUT, STDERR;
	if (@ARGV) { open $there, ">", "there"; close $there; open $go, "<", "go"; readline $go }
	END
	echo 'use Fcntl; print O_NONBLOCK & fcntl($_, F_GETFL, 0) ? "loses\n" : "blocks\n" for STDOUT, STDERR' >tell
	cat >socket <<-'END' # COMMAND …, with a socket as its stdout
	use Socket; socketpair $in, $out, AF_UNIX, SOCK_STREAM, PF_UNSPEC;
	fork or do { open STDOUT, ">&", $out; exec @ARGV }; close $out; print while <$in>
	END
	make_fifo there go
	local mode
	for mode in --ungroup --group --line-buffer --xargs; do
		echo "$mode"
		if [[ $mode = --xargs ]]; then
			echo leave tell | "$FAIRPAR" --xargs -n1 perl 2>&1 | cat >got
		else
			"$FAIRPAR" $mode -j1 perl ::: leave tell 2>&1 | cat >got
			assert_eq "$(<got)" $'blocks\nblocks'
			perl socket "$FAIRPAR" $mode -j1 perl ::: leave tell 2>stderr >got
			assert_eq "$(<got)" $'blocks\nblocks'
			"$FAIRPAR" $mode -j2 ::: 'perl leave beside' 'read -r _ <there; perl tell; echo >go' 2>&1 | cat >got
		fi
		assert_eq "$(<got)" $'blocks\nblocks'
	done
}

@test "a spool that cannot be written to disk is an error" {
	use_faults
	FAIRPAR_FAULT=tmpfile:1+:ENOSPC run_fairpar any -j1 -k 'head -c 40000000 /dev/zero #' ::: 1 2
	[[ $status == 0 && $(wc -c <"$BATS_TEST_TMPDIR/stdout") == 80000000 || $status == 255 ]] || fail "lost in silence: $status"
}

@test "--color-failed shows failed jobs as GNU parallel does" {
	local on=$'\e[48;5;196;38;5;231m\e[K' off=$'\e[m'
	run_fairpar 1 -k --cf --tag 'printf "a\n\nb"; printf "x\ry\n" >&2; exit {} #' ::: 0 1
	assert_lines $'0\ta' $'0\t' "0"$'\t'"b${on}1"$'\t'"a$off" "${on}1"$'\t'"$off" "${on}1"$'\t'"b$off"
	assert_contains "$stderr" "${on}1"$'\t'"x$off"$'\r'"${on}1"$'\t'"y$off"
	run_fairpar 1 --cf 'echo {}; seq 100000; exit 3 #' ::: 1
	assert_eq "$(grep -c "^$(printf '\e')\[48.*K[0-9]*$(printf '\e')\[m\$" "$BATS_TEST_TMPDIR/stdout")" 100001
	if command -v parallel >/dev/null; then
		cp "$BATS_TEST_TMPDIR/stdout" ours
		parallel --will-cite --cf 'echo {}; seq 100000; exit 3 #' ::: 1 >theirs || :
		cmp ours theirs
	fi
}

@test "--no-keep-order takes --keep-order back, wherever it stands" {
	local order
	make_fifo go
	for order in '-k --no-keep-order' '--nok --keep-order'; do
		# shellcheck disable=SC2086 # words
		run_fairpar -j2 $order 'if test {} = 1; then cat go; else echo x >go; fi; echo {} #' ::: 1 2
		assert_set 1 2 x
	done
	run_fairpar -j2 -k --no-keep-order --joblog log 'test {} = 2 || { read x <go; echo $x; }; echo {}; test {} = 1 || echo y >go #' ::: 1 2
	assert_set 1 2 y
}
