# --pipe and --pipe-part: which bytes each job gets, and that nothing is left of them.

load helper

# What each job gets, one line for each: [bytes], newlines as /, NUL as 0.
show='printf "["; tr "\n\0" "/0"; echo "]"'

# blocks EXPECTED DATA OPTION …: runs --pipe with the options over the data (printf's format), here and in GNU parallel.
blocks() {
	local expected=$1 data=$2
	shift 2
	# shellcheck disable=SC2059
	printf "$data" >data
	run_fairpar -k -j2 --pipe "$@" "$show" <data
	assert_eq "$output" "$(tr ' ' '\n' <<<"$expected")"
	if parallel_too; then
		assert_eq "$output" "$(parallel --will-cite -k -j2 --pipe "$@" "$show" <data 2>/dev/null)"
	fi
}

parts() {
	local expected=$1 data=$2
	shift 2
	# shellcheck disable=SC2059
	printf "$data" >data
	run_fairpar -k -j2 --pipe-part -a data "$@" "$show"
	assert_eq "$output" "$(tr ' ' '\n' <<<"$expected")"
	if parallel_too; then
		assert_eq "$output" "$(parallel --will-cite -k -j2 --pipe-part -a data "$@" "$show" 2>/dev/null)"
	fi
}

@test "--pipe cuts stdin where a line ends" {
	blocks '[a/b/c/]' 'a\nb\nc\n'
	blocks '[a/] [b/] [c/]' 'a\nb\nc\n' --block 2
	blocks '[a/b/] [c/d]' 'a\nb\nc\nd' --block 5
	blocks '[//] [//]' '\n\n\n\n' --block 2
	blocks '' '' --block 2
}

@test "a block is a pipe for its job, and not a file" {
	run_fairpar -k --pipe -N2 'wc; test -p /dev/stdin && echo pipe' < <(seq 3)
	assert_eq "$(tr -s ' ' <<<"$output")" $' 2 2 4\npipe\n 1 1 2\npipe'
	run_fairpar --pipe 'head -n 1; cat' < <(seq 3) # a file would be read on from line 2
	assert_lines 1
	run_fairpar -k --pipe -N2 --joblog log --header : cat < <(seq 3)
	assert_eq "$(cut -f 1,5,6 log)" $'Seq\tSend\tReceive\n1\t6\t6'
}

@test "blocks of --pipe-part are as large as they should be, however many there are" {
	seq 1000 >data
	run_fairpar -k -j1 --pipe-part --cat -a data --block 100 'wc -c {}'
	assert_eq "$(cut -d ' ' -f 1 <<<"$output" | sort -n | tail -n 1)" 104
	assert_eq "${#lines[@]}" 38
	run_fairpar -k -j1 --pipe-part -a data --block 20 'wc -c'
	assert_eq "$(sort -n <<<"$output" | tail -n 1)" 24
}

@test "--pipe gives a record that is longer than a block to one job" {
	blocks '[a/] [bbbbbbbbbb/] [c/]' 'a\nbbbbbbbbbb\nc\n' --block 2
	assert_contains "$stderr" "a record is longer than --block"
	blocks '[bbbbbbbbbbb]' 'bbbbbbbbbbb' --block 2
}

@test "--recend and --recstart say where a record ends, and where one begins" {
	blocks '[1END2END] [3END4]' '1END2END3END4' --recend END --block 9
	blocks '[>a/] [>b/] [>c/]' '>a\n>b\n>c\n' --recstart '>' --block 4
	blocks '[a/b/] [>c/d/] [>e/]' 'a\nb\n>c\nd\n>e\n' --recstart '>' --recend '\n' --block 6
	blocks '[abc] [def] [g]' 'abcdefg' --recend '' --block 3
	blocks '[a/b/0] [c0d]' 'a\nb\n\0c\0d' --recend '\0' --block 6
}

@test "-N counts the records of a block, -L the lines of a record" {
	blocks '[a/b/] [c/d/] [e]' 'a\nb\nc\nd\ne' -N 2
	blocks '[a/] [bbbbbbb/] [c/]' 'a\nbbbbbbb\nc\n' -N1 --block 2
	blocks '[>a] [>b] [>c]' '>a>b>c' -N1 --recstart '>'
	blocks '[x] [>a] [>b]' 'x>a>b' -N1 --regexp --recstart '>'
	blocks '[a/b/c/d/] [e/]' 'a\nb\nc\nd\ne\n' -L 2
	blocks '[a/b/c/d/] [e/]' 'a\nb\nc\nd\ne\n' -L 2 -N 2
	run_fairpar 255 --pipe-part -a /dev/null -L 2 cat
	assert_contains "$stderr" "--lines cannot be combined with --pipe-part"
}

@test "-r leaves blank lines out of the data" {
	blocks '[a/b/]' '\n \na\n\t\n\n  \nb\n\n' -r
	blocks '[a/] [b/]' '\n \na\n\t\n\n  \nb\n\n' -r -N1
	blocks '' '\n  \n\r\n' -r
	blocks '[a/] [_]' 'a\n  \n_' -r --block 2
	blocks '[_]' '_' -r # blanks at the end are no line
	blocks '[h/a/] [h/b]' 'h\n\na\n\nb' -r --header : -N1
	run_fairpar 255 --pipe-part -r -a /dev/null cat
	assert_contains "$stderr" "--no-run-if-empty cannot be combined with --pipe-part"
}

@test "--skip-first-line leaves the first line out of the data" {
	blocks '[a/b/]' 'x\na\nb\n' --skip-first-line
	blocks '[a/] [b/]' 'x\na\nb\n' --skip-first-line --block 2
	blocks '[a/] [b/]' '\na\nb\n' --skip-first-line -N1
	blocks '[h/a/] [h/b/]' 'x\nh\na\nb\n' --skip-first-line --header : --block 2
	blocks '' 'x\n' --skip-first-line
	parts '[a/b/] [c/]' 'x\na\nb\nc\n' --skip-first-line --block 3
	parts '[h/a/] [h/b/]' 'x\nh\na\nb\n' --skip-first-line --header : --block 1
	printf x >data # where GNU parallel does not end
	run_fairpar --pipe --skip-first-line cat <data
	assert_eq "$output" ''
	run_fairpar --pipe-part -a data --skip-first-line cat
	assert_eq "$output" ''
	printf 'x\n1\n2\n' >data
	run_fairpar --pipe --skip-first-line cat <data
	assert_lines 1 2
	printf 'x\n1\n' >data
	run_fairpar -k --pipe-part --skip-first-line -a data -a data --block 10 cat
	assert_lines 1 1
}

@test "-n is -N with --pipe, and -l is -L, but never 0" {
	local text='a\nb\nc\nd\ne\n'
	blocks '[a/] [b/] [c/] [d/] [e/]' "$text" -n1
	blocks '[a/b/] [c/d/] [e/]' "$text" -n 2
	blocks '[a/b/] [c/d/] [e/]' "$text" --max-args 2 --block 3
	blocks '[a/b/c/d/e/]' "$text" -n0
	blocks '[a/b/] [c/d/] [e/]' "$text" -n1 -N2
	blocks '[a/] [b/] [c/] [d/] [e/]' "$text" -N1 -n2 # in any order
	blocks '[a/b/c/d/e/]' "$text" -n1 -N0
	blocks '[a/b/c/d/e/]' "$text" -l
	blocks '[a/b/c/d/e/]' "$text" -l1
	blocks '[a/b/c/d/e/]' "$text" -l0
	blocks '[a/b/] [c/d/] [e/]' "$text" -l0 -n2
	blocks '[a/b/c/d/] [e/]' "$text" -l2
	blocks '[a/b/c/d/] [e/]' "$text" -l2 -n2
	blocks '[a/b/c/d/] [e/]' "$text" -L2 -n2
	blocks '[a/b/c/] [d/e/]' "$text" -l2 -L3
	blocks '[a/b/c/] [d/e/]' "$text" -L3 -l2
	blocks '[>a] [>b] [>c]' '>a>b>c' -n1 --recstart '>'
	run_fairpar 255 --pipe-part -a /dev/null -n 2 cat
	assert_contains "$stderr" "--max-args cannot be combined with --pipe-part"
	run_fairpar 255 --pipe -X cat </dev/null
	assert_contains "$stderr" "--context cannot be combined with --pipe: --block says how much data a job gets"
	run_fairpar 255 --pipe -N1 --plus 'echo {#} of {##}' </dev/null
	assert_contains "$stderr" '{##} and {0#} cannot be used with --pipe: '
	run_fairpar 255 --pipe-part -a /dev/null --plus --tagstring {0#} cat
	assert_contains "$stderr" '--pipe-part: '
	run_fairpar -k --pipe --plus 'cat; echo {#} {0%}' <<<a
	assert_lines a '1 1'
}

@test "--regexp makes them expressions" {
	blocks '[a1b22] [c333d]' 'a1b22c333d' --regexp --recend '[0-9]+' --block 6
	blocks '[x/] [>a/] [>b/]' 'x\n>a\n>b\n' --regexp --recstart '^>' --recend '' --block 4
	run_fairpar 255 --pipe --regexp --recend '(' cat </dev/null
	assert_contains "$stderr" "--recstart or --recend: "
}

@test "--rrs takes the separators away" {
	blocks '[ab] [cd]' 'a\nb\nc\nd\n' --rrs --block 4
	blocks '[ab] [c]' '>a;>b;>c;' --rrs --recstart '>' --recend ';' --block 7
}

@test "--header repeats what is at the front to each block" {
	blocks '[h/a/] [h/b/]' 'h\na\nb\n' --header : --block 2
	blocks '[h/i/a/b/] [h/i/c/]' 'h\ni\na\nb\nc\n' --header 2 --block 4
	blocks '[#h/#i/a/b/]' '#h\n#i\na\nb\n' --header '(#.*\n)*' --block 8
	blocks '' 'h\n' --header :
	# GNU parallel gives it twice with --retries
	run_fairpar -k --pipe --header : --block 2 --retries 2 "$show" < <(printf 'h\na\nb\n')
	assert_lines '[h/a/]' '[h/b/]'
}

@test "--pipe-part cuts a file" {
	parts '[a/b/] [c/d/]' 'a\nb\nc\nd\n' --block 3
	parts '[a/b/c/] [d/]' 'a\nb\nc\nd\n' --block -1
	parts '[h/a/b/] [h/c/d]' 'h\na\nb\nc\nd' --block 3 --header :
	parts '[1END2] [END3]' '1END2END3' --recend 2 --block 4
	parts '[abc] [def] [g]' 'abcdefg' --recend '' --block 3
	parts '' ''
	parts '[abcdefg]' 'abcdefg' --block 1
	printf 'e\nf\n' >more
	parts '[a/b/] [c/d/] [e/f/]' 'a\nb\nc\nd\n' -a more --block 3
}

@test "every byte of a large file comes through, once and in order" {
	seq 300000 >numbers
	run_fairpar -k -j3 --pipe-part -a numbers cat
	cmp numbers "$BATS_TEST_TMPDIR/stdout"
	run_fairpar -k -j3 --pipe-part -a numbers --block 10k cat
	cmp numbers "$BATS_TEST_TMPDIR/stdout"
	run_fairpar -k -j3 --pipe --block 33k cat <numbers
	cmp numbers "$BATS_TEST_TMPDIR/stdout"
	run_fairpar -k -j3 --pipe --block 33k cat < <(cat numbers)
	cmp numbers "$BATS_TEST_TMPDIR/stdout"
	run_fairpar -k -j3 --pipe-part -a numbers --block 100k --cat cat
	cmp numbers "$BATS_TEST_TMPDIR/stdout"
}

@test "a large file as stdin is cut as a pipe is, and read to its end" {
	local options expected
	# lines, one of them longer than a block and more; what ends at a block's end; what is no line
	{
		seq -f 'line %g' 40000
		head -c 150k /dev/zero | tr '\0' x
		seq 1000
		head -c 65530 /dev/zero | tr '\0' y
		printf '\n=-=\nthe end'
	} >large
	head -c 512k large >whole
	for options in '--block 100k' '--block 64k' '--block 4096' '--block 10m' '--block 7k --recend 00\n' '--block 9k --recstart line' \
		'--block 100k --recend ne --recstart \s' '--block 50k --recend \n=-=\n' "--block 33k --recend ''"; do
		for file in large whole; do
			eval "run_fairpar -k -j3 --quiet --pipe $options cksum" < <(cat $file)
			expected=$output
			eval "run_fairpar -k -j3 --quiet --pipe $options cksum" <$file
			assert_eq "$output" "$expected"
		done
	done
	if command -v parallel >/dev/null; then
		run_fairpar -k -j3 --quiet --pipe --block 20k cksum <large
		assert_eq "$output" "$(parallel --will-cite -k -j3 --pipe --block 20k cksum 2>/dev/null <large)"
	fi
	# who has read before us, and who reads behind us
	{
		head -c 10 >/dev/null
		run_fairpar -k -j3 --pipe --block 50k --quiet cat
		assert_eq "$(cat)" ""
	} <large
	cmp <(tail -c +11 large) "$BATS_TEST_TMPDIR/stdout"
	# a file that grows meanwhile is read as far as it is then
	run_fairpar -j1 -k --pipe --block 200k --quiet "[ {#} != 1 ] || { echo more >>large; }; cat" <large
	cmp large "$BATS_TEST_TMPDIR/stdout"
}

@test "{#} and {%} have their meaning with --pipe, and {} is empty" {
	run_fairpar -k -j1 --pipe --block 2 'echo x{}y {#} {%} "$PARALLEL_SEQ"; cat' < <(printf 'a\nb\n')
	assert_lines 'xy 1 1 1' a 'xy 2 1 2' b
	run_fairpar -k --pipe --block 2 --tag cat < <(printf 'a\nb\n')
	assert_lines $'\ta' $'\tb'
	run_fairpar --pipe --batch data --block 2 'echo "$FAIRPAR_BATCH"' < <(printf 'a\n')
	assert_lines data
}

@test "--cat and --fifo give the block a name, and nothing of it is left" {
	local option
	for option in --cat --fifo; do
		run_fairpar -k "$option" --block 2 'cat {}; cat {}; cat' < <(printf 'a\nb\n')
		assert_lines a a b b
		printf 'a\nb\nc\nd\n' >data
		run_fairpar -k --pipe-part -a data "$option" --header : --block 2 cat
		assert_lines a b c a d
	done
}

@test "each attempt gets its block from the beginning" {
	run_fairpar -k --pipe --block 4 --retries 3 'head -n 1; [ $FAIRPAR_ATTEMPT = 3 ]' < <(printf 'a\nb\nc\nd\n')
	assert_lines a c
	printf 'a\nb\nc\nd\n' >data
	run_fairpar -k --pipe-part -a data --block 3 --retries 3 'cat; [ $FAIRPAR_ATTEMPT = 3 ]'
	assert_lines a b c d
	run_fairpar -k --pipe-part -a data --cat --block 3 --retries 3 'cat {}; [ $FAIRPAR_ATTEMPT = 3 ]'
	assert_lines a b c d
}

@test "a job need not read its block" {
	seq 300000 >numbers
	run_fairpar --pipe --block 500k --halt now,fail=1 true <numbers
	run_fairpar --pipe-part -a numbers --block 500k --halt now,fail=1 'head -n 1 #'
	assert_eq "$(wc -l <"$BATS_TEST_TMPDIR/stdout")" 4
	run_fairpar --pipe-part -a numbers --block 500k --halt now,fail=1 'exec <&-; true'
}

@test "a block is run as soon as it is there, while stdin is idle" {
	make_fifo input
	exec 5<>input
	start_fairpar -j2 --pipe --block 2 cat <input 5>&-
	echo a >&5
	wait_for grep -q a "$BATS_TEST_TMPDIR/stdout"
	exec 5>&-
	end_fairpar
	assert_lines a
}

@test "no more is read than there are slots, and one" {
	make_fifo started go input
	yes 1234567 | head -n 100000 >data
	start_fairpar -j1 --pipe --block 1000 'echo >started; cat go' <data
	exec 6<data
	await started
	# three blocks and a bit: the one that runs, the one that waits, and what was read beyond their ends
	local fd position=0
	for ((i = 0; i < 2; i++)); do
		position=$(awk '/^pos:/ { print $2 }' "/proc/$fairpar_pid/fdinfo/0")
	done
	((position <= 4000)) || fail "$position bytes were read"
	fd=$(find "/proc/$fairpar_pid/fd" -lname '*fairpar-block*' | wc -l)
	((fd <= 2)) || fail "$fd blocks are there"
	exec 6<&-
	kill -TERM "$fairpar_pid"
	end_fairpar 143
}

@test "an interrupt ends jobs that do not read what they are given" {
	make_fifo started never
	seq 1000000 >numbers
	start_fairpar -j2 --pipe-part -a numbers 'echo >started; read -r line <never'
	await started
	kill -INT "$fairpar_pid"
	end_fairpar 130
	start_fairpar -j2 --cat 'echo >started; read -r line <never #{}' <numbers
	await started
	kill -INT "$fairpar_pid"
	end_fairpar 130
}

@test "nothing is left of the blocks when fairpar is killed" {
	make_fifo started never
	start_fairpar -j2 --cat --block 10 'echo >started; read -r line <never #{}' < <(seq 100)
	await started
	kill -KILL "$fairpar_pid"
	end_fairpar 137
	# the teardown looks for files and processes
}

@test "a file that becomes shorter is an error" {
	make_fifo started go
	seq 1000000 >numbers # more than a pipe holds
	start_fairpar -j1 --pipe-part -a numbers --block -1 'echo >started; cat go; wc -c'
	await started
	: >numbers
	release go
	end_fairpar any
	# what the pipe took before is still there; the rest is missed
	assert_contains "$stderr" "cannot read 'numbers': it has become shorter"
	assert_eq "$status" 255
	seq 1000000 >numbers
	start_fairpar -j1 --pipe --block 10m 'echo >started; cat go; wc -c' <numbers
	await started
	: >numbers
	release go
	end_fairpar 255
	assert_contains "$stderr" "cannot read 'the standard input': it has become shorter"
}

@test "--round-robin deals all blocks out to as many jobs as slots" {
	seq 300000 >numbers
	run_fairpar --pipe --round-robin -j2 --block 10k cat <numbers
	sort -n "$BATS_TEST_TMPDIR/stdout" | cmp - numbers
	run_fairpar -k --tag --pipe --round -j3 --block 33k 'wc -l | tr -d " "' < <(cat numbers)
	assert_eq "$(wc -l <"$BATS_TEST_TMPDIR/stdout")" 3
	assert_eq "$(awk '{ n += $1 } END { print n }' "$BATS_TEST_TMPDIR/stdout")" 300000
	run_fairpar --pipe --round-robin -j2 --block 100k cat < <(cat numbers)
	sort -n "$BATS_TEST_TMPDIR/stdout" | cmp - numbers
	run_fairpar --pipe --round-robin cat </dev/null
	assert_eq "$output" ""
}

# deals EXPECTED DATA OPTION …: what each job gets by turns, here and in GNU parallel.
deals() {
	local expected=$1 data=$2
	shift 2
	# shellcheck disable=SC2059
	printf "$data" >data
	run_fairpar -k -j3 --pipe --round-robin "$@" "$show" <data
	assert_eq "$output" "$(tr ' ' '\n' <<<"$expected")"
	if parallel_too; then
		assert_eq "$output" "$(parallel --will-cite -k -j3 --pipe --round-robin "$@" "$show" <data 2>/dev/null)"
	fi
}

@test "--round-robin deals in the order of the jobs, and cuts as --pipe does" {
	deals '[a/d/g/] [b/e/] [c/f/]' 'a\nb\nc\nd\ne\nf\ng\n' -N1
	deals '[a/b/g/] [c/d/] [e/f/]' 'a\nb\nc\nd\ne\nf\ng\n' -N2
	deals '[a/b/c/d/] [e/f/g/h/]' 'a\nb\nc\nd\ne\nf\ng\nh\n' -L 2 --block 9
	deals '[h/a/d/] [h/b/] [h/c/]' 'h\na\nb\nc\nd\n' --header : -N1
	deals '[>a/>d/] [>b/] [>c/]' '>a\n>b\n>c\n>d\n' --recstart '>' -N1
	deals '[1END4] [2END] [3END]' '1END2END3END4' --recend END --block 4
	deals '[a1d4] [b22] [c3]' 'a1b22c3d4' --regexp --recend '[0-9]+' -N1
	deals '[ad] [b] [c]' 'a\nb\nc\nd\n' --rrs -N1
}

@test "small blocks are dealt evenly, however late a job starts" {
	run_fairpar -k --pipe --round-robin -j4 -N1 --delay 0.05 'wc -l | tr -d " "' < <(seq 40000)
	assert_lines 10000 10000 10000 10000
}

@test "--round-robin gives a job more as it comes, and who waits longest first" {
	make_fifo input
	exec 5<>input
	start_fairpar -u -j2 --pipe --round-robin --block 2 'while read -r line; do echo "{#}$line"; done' <input 5>&-
	local line
	for line in a b c d; do
		echo $line >&5
		wait_for grep -q $line "$BATS_TEST_TMPDIR/stdout"
	done
	exec 5>&-
	end_fairpar
	assert_lines 1a 2b 1c 2d
}

@test "a slow job of --round-robin does not hold up the others, and memory is bounded" {
	make_fifo go
	# job 1 reads nothing until job 2 has had a hundred times what is kept for a job
	start_fairpar -u -j2 --pipe --round-robin --block 100k \
		'if [ {#} = 1 ]; then cat go; wc -c; else head -c 20000000 | tail -c 1; echo go >&2; cat >/dev/null; fi' \
		< <(yes 1234567 | head -c 24000000)
	wait_for grep -q go "$BATS_TEST_TMPDIR/stderr"
	local blocks
	blocks=$(find "/proc/$fairpar_pid/fd" -lname '*fairpar-block*' | wc -l)
	((blocks <= 7)) || fail "$blocks blocks are there"
	release go
	end_fairpar
}

@test "a job of --round-robin that stops reading does not hold up the others" {
	seq 300000 >numbers
	run_fairpar -k --pipe --round-robin -j2 --block 10k 'if [ {#} = 1 ]; then exec <&-; else tail -n 1; fi' <numbers
	assert_lines 300000
	run_fairpar 1 -k --pipe --round-robin -j2 --block 300k 'if [ {#} = 1 ]; then kill -KILL $$; else tail -n 1; fi' <numbers
	assert_eq "$status" 1
	assert_lines 300000
}

@test "data that no job of --round-robin gets makes the run fail" {
	run_fairpar 1 --pipe --round-robin -j2 'head -n 1' < <(yes)
	assert_lines y y
	assert_contains "$stderr" "no job reads any more: the rest of the data is not read"
	# what was given to a job is the job's affair: the first ends when the other one has seen the end of all data
	make_fifo dealt
	run_fairpar 0 --pipe --round-robin -k -j2 -N1 'if [ {#} = 1 ]; then cat dealt; head -n 1; else tail -n 1; echo all >dealt; fi' < <(seq 10)
	assert_lines all 1 10
}

@test "what a job of --round-robin was dealt and has not seen goes to another" {
	make_fifo started go left
	seq 300000 >numbers
	# two blocks are for job 1, of which it sees what the pipe holds; job 2 waits for the other one
	start_fairpar -u -j2 --pipe --round-robin --block 300k \
		'if [ {#} = 1 ]; then echo >started; cat go; else head -c 1400000 | tail -c 1; echo >left; cat >left.rest; fi' \
		< <(cat numbers; exec cat left)
	await started
	release go
	end_fairpar
}

@test "what ends a run of --round-robin ends jobs that wait for more, or read nothing" {
	make_fifo started input never
	exec 5<>input
	start_fairpar -j2 --pipe --round-robin --block 2 'read -r line; echo >started; cat' <input 5>&-
	echo a >&5
	await started
	kill -INT "$fairpar_pid"
	end_fairpar 130
	exec 5>&-
	start_fairpar -j2 --pipe --round-robin --block 2 'echo >started; read -r line <never' < <(yes)
	await started
	kill -INT "$fairpar_pid"
	end_fairpar 130
	local when
	for when in soon now; do
		run_fairpar any -k -j2 --pipe --round-robin --block 2 --halt $when,fail=1 \
			'if [ {#} = 1 ]; then trap "" TERM; cat >/dev/null; echo end; else exit 3; fi' < <(yes)
		assert_eq "$status" 3
		[ $when = now ] || assert_lines end
	done
	# stdin stays open, and is idle
	exec 5<>input 6<input
	run_fairpar 3 -j2 --pipe --round-robin --block 2 --halt soon,fail=1 \
		'if [ {#} = 1 ]; then cat; else exit 3; fi' < <(exec 5>&-; printf 'a\nb\n'; exec cat <&6)
	exec 5>&- 6<&-
	# a job that is out of time is passed over; the other one begins later, so it has time left then (more in a second try, on a busy machine)
	local timeout
	for timeout in 3 20; do
		run_fairpar any -j2 --pipe --round-robin --block 10k --delay $((timeout - 1)) --timeout $timeout \
			'if [ {#} = 1 ]; then read -r line <never; else tail -n 1; fi' < <(seq 100000)
		[[ $status == 2 ]] || break
	done
	assert_eq "$status $output" "1 100000"
}

@test "--round-robin --fifo names the data of a job" {
	run_fairpar -k -j2 --fifo --round-robin -N1 'cat {}; echo end' < <(printf 'a\nb\nc\n')
	assert_lines a c end b end
}

@test "--round-robin is refused where a job would have to read again" {
	run_fairpar 255 --pipe --round-robin --retries 2 cat </dev/null
	assert_contains "$stderr" "--retries cannot be combined with --round-robin"
	run_fairpar 255 --pipe-part -a /dev/null --round-robin cat
	assert_contains "$stderr" "--round-robin cannot be combined with --pipe-part"
	run_fairpar 255 --cat --round-robin cat </dev/null
	assert_contains "$stderr" "--round-robin cannot be combined with --cat"
}

# tees EXPECTED OPTION …: each job of --tee gets 1, 2, 3; here and in GNU parallel, which is given items as fairpar is.
tees() {
	local expected=$1
	shift
	run_fairpar -k "$@" < <(seq 3)
	assert_eq "$output" "$(tr ' ' '\n' <<<"$expected")"
	if parallel_too; then
		assert_eq "$output" "$(seq 3 | timeout "$patience" parallel --will-cite -k "$@" 2>/dev/null)"
	fi
}

@test "--tee gives all data to every job" {
	tees '1a 1 2 3 2b 1 2 3' --pipe --tee 'echo {#}{}; cat' ::: a b
	tees 'ac 1 2 3 ad 1 2 3 bc 1 2 3 bd 1 2 3' --pipe --tee 'echo {1}{2}; cat' ::: a b ::: c d
	tees '1 2 3 1 2 3' --pipe --tee cat ::: a b
	tees '3 1' --pipe --tee ::: 'wc -l' 'head -n1'
	printf 'x\ny\n' >items
	tees 'x 1 2 3 y 1 2 3' --pipe --tee -a items 'echo {}; cat'
	seq 3 >data
	tees 'x 1 2 3 y 1 2 3' --pipe-part --tee -a data 'echo {}; cat' ::: x y
	run_fairpar -k -j1 --pipe-part --tee -a data --retries 2 'cat; [ $FAIRPAR_ATTEMPT = 2 ]' ::: x y
	assert_lines 1 2 3 1 2 3
	run_fairpar -k --pipe --tee 'cat; echo {}' ::: a b </dev/null
	assert_lines a b
	seq 300000 >numbers
	run_fairpar --pipe --tee 'cmp - numbers #{}' ::: a b c d < <(cat numbers)
	run_fairpar --pipe --tee 'cmp - numbers #{}' ::: a b c d <numbers
}

@test "the jobs of --tee need not read to the end, or at all" {
	seq 300000 >numbers
	run_fairpar -k --pipe --tee '{}' ::: 'head -n 1' 'tail -n 1' true 'wc -l' <numbers
	assert_lines 1 300000 300000
	# it ends when nobody reads, where GNU parallel reads on
	run_fairpar -k --pipe --tee '{}' ::: 'head -n 1' 'head -n 2' < <(yes)
	assert_lines y y y
	run_fairpar 2 -k --pipe --tee '{}; exit 3' ::: true false < <(yes)
}

@test "--tee passes on data as it comes" {
	make_fifo input
	exec 5<>input
	start_fairpar -u --pipe --tee 'while read -r line; do echo "{}$line"; done' ::: a b <input 5>&-
	local line
	for line in 1 2; do
		echo $line >&5
		until grep -q a$line "$BATS_TEST_TMPDIR/stdout" && grep -q b$line "$BATS_TEST_TMPDIR/stdout"; do :; done
	done
	exec 5>&-
	end_fairpar
}

@test "what ends a run of --tee ends jobs that wait for more, or read nothing" {
	make_fifo started never
	start_fairpar --pipe --tee 'echo >started; read -r line <never #{}' ::: a b < <(yes)
	await started
	kill -INT "$fairpar_pid"
	end_fairpar 130
	# stdin stays open, and is idle
	make_fifo input
	exec 5<>input
	run_fairpar 3 --pipe --tee --halt soon,fail=1 'if [ {} = a ]; then exit 3; fi; cat' ::: a b <input 5>&-
	exec 5>&-
	# who is slow holds up the others until it is out of time; a busy machine needs more time to begin the other one
	local timeout
	for timeout in 2 20; do
		run_fairpar any -k --pipe --tee --timeout $timeout 'if [ {} = a ]; then read -r line <never; else exec tail -n 1; fi' ::: a b \
			< <(seq 5000)
		[[ $status == 2 ]] || break
	done
	assert_eq "$status $output" "1 5000"
}

@test "--tee is refused where its jobs cannot run at once, or would have to read again" {
	run_fairpar 255 --pipe --tee -j1 cat ::: a b </dev/null
	assert_contains "$stderr" "--tee runs all 2 jobs at once, but --jobs 1 allows 1: take --jobs 0"
	run_fairpar 255 --pipe --tee cat </dev/null
	assert_contains "$stderr" "--tee needs items, one for each job"
	run_fairpar 255 --tee cat ::: a </dev/null
	assert_contains "$stderr" "--tee needs --pipe"
	run_fairpar 255 --pipe --tee --retries 2 cat ::: a </dev/null
	assert_contains "$stderr" "--retries cannot be combined with --tee"
	run_fairpar 255 --pipe --tee --cat cat ::: a </dev/null
	assert_contains "$stderr" "--cat cannot be combined with --tee"
	run_fairpar 255 --pipe --tee -N2 cat ::: a </dev/null
	assert_contains "$stderr" "--max-replace-args cannot be combined with --tee"
	run_fairpar 255 --pipe-part --tee -a none cat ::: a </dev/null
	assert_contains "$stderr" "cannot open 'none'"
}

@test "the joblog counts what a job was given" {
	printf 'a\nbb\nccc\n' >data
	local fields='NR > 1 { print $1, $5, $6, $7, $8 }'
	run_fairpar 2 -j1 --pipe -N1 --joblog log 'cat; [ {#} = 1 ]' <data
	assert_eq "$(awk "$fields" log)" $'1 2 2 0 0\n2 3 3 1 0\n3 4 4 1 0'
	run_fairpar -j2 --pipe --round-robin -N1 --joblog log cat <data
	assert_eq "$(awk "$fields" log | sort)" $'1 6 6 0 0\n2 3 3 0 0'
	run_fairpar --pipe --tee --joblog log cat ::: a b <data
	assert_eq "$(awk "$fields" log | sort)" $'1 9 9 0 0\n2 9 9 0 0'
	# blocks that are done are not run again
	run_fairpar 1 -j1 --pipe -N1 --joblog log2 --halt now,fail=1 'cat; [ {#} = 1 ] || [ -e ok ]' <data
	touch ok
	run_fairpar -j1 --pipe -N1 --joblog log2 --resume-failed 'cat; [ {#} = 1 ] || [ -e ok ]' <data
	assert_lines bb ccc
}

@test "every record comes through once, whatever happens to attempts" {
	seq 200000 >numbers
	local sum
	sum=$(sort numbers | sha256sum)
	# attempts are killed, and close their stdin, before the last one
	local odd='case $(({#} % 4 + $FAIRPAR_ATTEMPT)) in 1) kill -KILL $$;; 2) head -n 10; kill -TERM $$;; 3) exec <&-; exit 1;; esac; cat'
	run_fairpar -j3 --pipe --block 50k --retries 6 "$odd" <numbers
	assert_eq "$(sort "$BATS_TEST_TMPDIR/stdout" | sha256sum)" "$sum"
	run_fairpar -j3 --pipe -N 3000 --retries 6 "$odd" < <(cat numbers)
	assert_eq "$(sort "$BATS_TEST_TMPDIR/stdout" | sha256sum)" "$sum"
	run_fairpar -j3 --pipe-part -a numbers --block 50k --retries 6 "$odd"
	assert_eq "$(sort "$BATS_TEST_TMPDIR/stdout" | sha256sum)" "$sum"
	local option
	for option in --cat --fifo; do
		run_fairpar -j3 $option --block 50k --retries 6 "${odd% cat} cat {}" <numbers
		assert_eq "$(sort "$BATS_TEST_TMPDIR/stdout" | sha256sum)" "$sum"
	done
	for option in '-N 10' '--block 100' '--block 50k' '--block 300k' '-k --block 50k'; do
		# shellcheck disable=SC2086
		run_fairpar -j3 --pipe --round-robin $option cat < <(cat numbers)
		assert_eq "$(sort "$BATS_TEST_TMPDIR/stdout" | sha256sum)" "$sum"
	done
}

@test "what cannot be combined with --pipe is refused in one line" {
	run_fairpar 255 --pipe cat ::: a
	assert_eq "$stderr" "fairpar: error: --pipe cannot be combined with items: it reads its data from stdin, as in --pipe < FILE"
	run_fairpar 255 --pipe-part -a /dev/null cat
	assert_contains "$stderr" "--pipe-part: '/dev/null' is not a regular file; read it by --pipe < FILE"
	run_fairpar 255 --pipe-part -a none cat
	assert_contains "$stderr" "cannot open 'none': No such file or directory"
	run_fairpar 255 --pipe </dev/null
	assert_contains "$stderr" "--pipe needs a command to pipe into"
}

@test "-0 with --pipe ends records with NUL" {
	printf 'a\nb\0c\0d' >data
	run_fairpar -k -0 --pipe -N1 'cat -A; echo' <data
	assert_lines 'a$' 'b^@' 'c^@' d
	printf 'a,b,' >data
	run_fairpar -k -0 --pipe --recend , -N1 'cat; echo' <data
	assert_lines a, b,
}
