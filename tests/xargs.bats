# The xargs personality: `fairpar --xargs`, or a link named xargs. Expected texts, and the same beside the real GNU xargs.

load helper

setup() {
	helper_setup
	mkdir -p "$BATS_TEST_TMPDIR/bin"
	ln -s "$FAIRPAR" "$BATS_TEST_TMPDIR/bin/xargs"
	cat >"$BATS_TEST_TMPDIR/bin/args" <<-'END'
		#!/bin/sh
		printf '%d:' $#
		for a; do printf '[%s]' "$a"; done
		echo
	END
	chmod +x "$BATS_TEST_TMPDIR/bin/args"
	PATH=$BATS_TEST_TMPDIR/bin:$PATH
}

# given STATUS INPUT OPTION …: ours on that input (a printf format), in $output, $stderr and $lines.
given() {
	local want=$1 input=$2
	shift 2
	# shellcheck disable=SC2059 # the input is a format
	printf -- "$input" >in
	status=0
	timeout "$patience" xargs "$@" <in >"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" || status=$?
	output=$(<"$BATS_TEST_TMPDIR/stdout")
	stderr=$(<"$BATS_TEST_TMPDIR/stderr")
	mapfile -t lines <"$BATS_TEST_TMPDIR/stdout"
	[[ $status == "$want" ]] || fail "status $status, not $want, of xargs $*" "$output" "$stderr"
}

# The real one, which must be GNU's.
need_gnu_xargs() {
	real=$(PATH=/usr/bin:/bin command -v xargs) || skip "xargs is not installed"
	[[ $("$real" --version) == "xargs (GNU findutils) 4."* ]] || skip "xargs is not GNU's"
}

@test "fairpar --xargs is xargs as the first argument only" {
	run_fairpar --xargs -n2 echo <<<"a b c"
	assert_lines "a b" "c"
	status=0
	output=$("$FAIRPAR" --xargs --nonsense 2>&1 </dev/null) || status=$?
	assert_eq "$status" 1
	assert_eq "$output" $'xargs: unrecognized option \'--nonsense\'\nTry \'xargs --help\' for more information.'
}

@test "--xargs as the first word says how GNU parallel's is written where that was meant" {
	local hint="xargs: --xargs as the first word means xargs, where {} needs -I {}; GNU parallel's --xargs stands behind another option: fairpar -j+0 --xargs ..."
	run_fairpar --xargs echo rm {} <<<"a b.txt"
	assert_lines "rm {} a b.txt"
	assert_eq "$stderr" "$hint"
	run_fairpar -j+0 --xargs 'printf "%s\n" rm {}' <<<"a b.txt"
	assert_lines rm "a b.txt"
	run_fairpar --xargs -I{} echo rm {} <<<"a b.txt"
	assert_eq "$stderr" ""
	run_fairpar --xargs echo ::: a <<<b
	assert_eq "$stderr" "$hint"
	run_fairpar 1 --xargs -j4 echo <<<a
	assert_contains "$stderr" "$hint"
	run_fairpar 1 --xargs --joblog=x echo <<<a
	assert_contains "$stderr" "$hint"
	ln -s "$FAIRPAR" xargs
	assert_eq "$(./xargs echo {} <<<a 2>&1)" "{} a"
}

@test "items are cut at blanks and newlines, quotes and backslashes protect them" {
	given 0 "a  b\\t'c d' \"e 'f\"\\n\\n  g\\\\ h i\\\\\\nj\\n" args
	assert_eq "$output" "6:[a][b][c d][e 'f][g h][i
j]"
	given 0 "a ''\\n" args
	assert_eq "$output" "2:[a][]"
	given 0 'a\vb \r\f c' args # only blanks end an item, all white space is skipped before one
	assert_eq "$output" "2:[a"$'\v'"b][c]"
}

@test "an open quote is an error, after what was before it has run" {
	given 1 "a b\\nc 'd\\n" args
	assert_eq "$output" "3:[a][b][c]"
	assert_eq "$stderr" "xargs: unmatched single quote; by default quotes are special to xargs unless you use the -0 option"
	given 1 'a "b' -x args
	assert_eq "$output" ""
	assert_eq "$stderr" "xargs: unmatched double quote; by default quotes are special to xargs unless you use the -0 option"
	# a command that cannot be run has ended the run before that
	given 127 "a b\\nc 'd\\n" nonesuch
	assert_eq "$stderr" "xargs: nonesuch: No such file or directory"
	given 126 "a b\\nc 'd\\n" ./in
	assert_eq "$stderr" "xargs: ./in: Permission denied"
}

@test "-0 and -d take everything literally, empty items too" {
	given 0 "a b'\\0\\0c\\\\\\n" -0 args
	assert_eq "$output" "3:[a b'][][c\\
]"
	given 0 'a,b,,c,' -d, args
	assert_eq "$output" "4:[a][b][][c]"
	given 0 'a b1c' -d '\x31' args
	assert_eq "$output" "2:[a b][c]"
	given 1 '' -d ab args
	assert_contains "$stderr" "Invalid input delimiter specification ab: the delimiter must be either a single character"
}

@test "a NUL in the input is warned of once" {
	given 0 'a\0b c\0d\n' args
	assert_eq "$output" "2:[a][c]"
	assert_eq "$stderr" "xargs: WARNING: a NUL character occurred in the input.  It cannot be passed through in the argument list.  Did you mean to use the --null option?"
	given 0 'a\0b\n' -I{} args 'x{}y{}' z
	assert_eq "$output" "2:[xa][z]"
}

@test "-E ends the input, and leaves a file behind it" {
	given 0 'a b\nX c\nd\n' -E X args
	assert_eq "$output" "2:[a][b]"
	printf 'a b\nX\nc d\n' >in
	output=$( (xargs -E X echo; cat) <in)
	assert_eq "$output" $'a b\nc d'
}

@test "-L counts lines, one that ends in a blank goes on in the next" {
	given 0 'a b \nc\n\nd\ne\n' -L2 args
	assert_lines "4:[a][b][c][d]" "1:[e]"
	given 0 'a\nb\n' -l args
	assert_lines "1:[a]" "1:[b]"
}

@test "-I puts each line into all its places, but not into the command's name" {
	given 0 '  a b \n\n c\n' -I% args % x%y% -
	assert_lines "3:[a b ][xa b ya b ][-]" "3:[c][xcyc][-]"
	given 127 'true\n' -I{} {}
	assert_eq "$stderr" "xargs: {}: No such file or directory"
}

@test "options that exclude each other are warned of, and the last one counts" {
	given 0 'a b\n' -L2 -I{} args {}
	assert_eq "$output" "1:[a b]"
	assert_eq "$stderr" "xargs: warning: options --max-lines and --replace/-I/-i are mutually exclusive, ignoring previous --max-lines value"
	given 0 'a b\n' -I{} -n1 args {}
	assert_eq "$output$stderr" "1:[a b]"
}

@test "command lines keep to -s, and what cannot is an error" {
	given 0 'a b c\n' -s8 echo
	assert_lines a b c
	given 1 'a b c defgh\n' -s8 echo
	assert_lines a b c
	assert_eq "$stderr" "xargs: argument line too long"
	given 1 'a b c\n' -s8 -n2 -x echo
	assert_eq "$output$stderr" "xargs: argument list too long"
	given 1 '' -s3 echo
	assert_eq "$stderr" "xargs: cannot fit single argument within argument list size limit"
}

@test "a command line has 128 KiB unless -s says otherwise, and every item is run" {
	seq 200000 | xargs args | wc -c >count
	((24 > $(seq 200000 | xargs sh -c 'echo $#' x | wc -l)))
	output=$(seq 200000 | xargs -P2 sh -c 'echo $#' x | awk '{ n += $1 } END { print n }')
	assert_eq "$output" 200000
	# the system counts the pointers too: lines that it does not take are run in pieces
	output=$(yes a | head -n 600000 | xargs -s 2000000 sh -c 'echo $#' x | awk '{ n += $1 } END { print n }')
	assert_eq "$output" 600000
	status=0
	stderr=$(head -c 200000 /dev/zero | tr '\0' x | xargs -s 1000000 true 2>&1) || status=$?
	assert_eq "$status $stderr" "1 xargs: can't call exec() due to argument size restrictions"
}

@test "input without items runs the command once, with -r not at all" {
	given 0 ' \n' echo x
	assert_eq "$output" x
	given 0 ' \n' -r echo x
	assert_eq "$output" ""
	given 0 ''
	assert_eq "${#lines[@]}" 1
}

@test "exit status: 123 for failures, 124 stops at 255, 125 at a signal, 126 and 127 at what cannot be run" {
	given 123 '127\n126\n1\n0\n' -n1 sh -c 'echo $0; exit $0'
	assert_lines 127 126 1 0
	given 124 '1\n255\n3\n' -n1 sh -c 'echo $0; exit $0'
	assert_lines 1 255
	assert_eq "$stderr" "xargs: sh: exited with status 255; aborting"
	given 125 'a\nb\n' -n1 sh -c 'kill -9 $$'
	assert_eq "$stderr" "xargs: sh: terminated by signal 9"
	given 126 'a\nb\n' -n1 /etc/passwd
	assert_eq "$stderr" "xargs: /etc/passwd: Permission denied"
	given 127 'a\nb\n' -n1 /nowhere/x
	assert_eq "$stderr" "xargs: /nowhere/x: No such file or directory"
}

@test "a run that stops leaves the input behind the next line" {
	printf 'a\nb\nc\nd\n' >in
	output=$( (xargs -n1 sh -c 'exit 255' 2>/dev/null; cat) <in)
	assert_eq "$output" $'c\nd'
}

@test "no shell is in between, and nothing is added to the environment" {
	given 0 '$(id);x *\n' echo ';'
	assert_eq "$output" '; $(id);x *'
	env -i PATH="$PATH" A=1 xargs env <in | sort >got
	# shellcheck disable=SC2094
	output=$(printf '' | env -i A=1 "$BATS_TEST_TMPDIR/bin/xargs" /usr/bin/env)
	assert_eq "$output" A=1
}

@test "jobs read /dev/null, with -a what xargs would read" {
	echo item >file
	output=$(echo data | xargs -a file sh -c 'cat; echo $0')
	assert_eq "$output" $'data\nitem'
	output=$(echo item | xargs sh -c 'cat; echo $0')
	assert_eq "$output" item
	given 1 '' -a nowhere echo
	assert_eq "$stderr" "xargs: Cannot open input file 'nowhere': No such file or directory"
}

@test "jobs stay in the group of whoever called" {
	given 0 'a\n' sh -c 'ps -o pgid= -p $$; ps -o pgid= -p $PPID'
	assert_eq "${lines[0]}" "${lines[1]}"
}

@test "-t shows each command as a shell would read it" {
	given 0 'x\n' -t true 'a b' "it's" '' $'a\nb' '~' 'a~' '{}' '*' 'a$b"' "it's \$1"
	assert_eq "$stderr" "true 'a b' \"it's\" '' 'a'\$'\\n''b' '~' a~ {} '*' 'a\$b\"' 'it'\\''s \$1' x"
}

@test "-p without a terminal is an error" {
	given 1 'x\n' -p echo
	assert_eq "$stderr" "echo xxargs: failed to open /dev/tty for reading: No such device or address"
}

@test "-p asks on the terminal, and runs what is answered with y" {
	need python3
	local expected=$'echo a?...yes\na\necho b?...n\necho c?...Yo\nc\necho d?...\necho e?... y'
	printf 'echo a?...\tyes\\n\necho b?...\tn\\n\necho c?...\tYo\\n\necho d?...\t\\n\necho e?...\t y\\n\n' >talk
	printf 'a\nb\nc\nd\ne\n' >in
	on_terminal xargs -a in -p -n1 echo
	assert_eq "$status $output" "0 $expected"
	need_gnu_xargs
	on_terminal "$real" -a in -p -n1 echo
	assert_eq "$status $output" "0 $expected"
}

@test "-p asks one question at a time with -P too" {
	need python3
	printf 'true\t\n?...\ty\\n\n?...\tn\\n\n?...\ty\\n\n' >talk
	printf 'a\nb\nc\n' >in
	on_terminal xargs -a in -p -P3 -n1 true
	assert_eq "$status $(grep -o '?\.\.\.[yn]' <<<"$output" | xargs)" "0 ?...y ?...n ?...y"
}

@test "Ctrl-C at a question of -p ends xargs" {
	need python3
	printf 'true a?...\t\\x03\n' >talk
	echo a >in
	on_terminal xargs -a in -p true
	assert_eq "$status" 130
}

@test "-o gives jobs the terminal to read from" {
	need python3
	local expected=$'ask 1\none\n1 got one\nask 2\ntwo\n2 got two'
	printf 'ask 1\tone\\n\nask 2\ttwo\\n\n' >talk
	printf '1\n2\n' >in
	on_terminal xargs -a in -o -n1 sh -c 'echo ask $0; read -r x; echo $0 got $x'
	assert_eq "$status $output" "0 $expected"
	need_gnu_xargs
	on_terminal "$real" -a in -o -n1 sh -c 'echo ask $0; read -r x; echo $0 got $x'
	assert_eq "$status $output" "0 $expected"
}

@test "-o without a terminal is told, and the job reads nothing" {
	need setsid
	echo a >in
	status=0
	output=$(setsid -w xargs -o sh -c 'cat; echo $0' <in 2>err) || status=$?
	assert_eq "$status $output" "0 a"
	assert_contains "$(cat err)" "/dev/tty"
}

@test "-o -P without a terminal: each job that has none says so, whole" {
	need setsid
	seq 200 >in
	LC_ALL=C setsid -w xargs -o -P4 -n1 true <in 2>err
	assert_eq "$(sort err | uniq -c | sed 's/^ *//')" "200 xargs: '/dev/tty': No such device or address"
}

@test "-P runs that many at once, --process-slot-var numbers them from 0" {
	make_fifo a b go_a go_b
	printf 'a\nb\n' | timeout "$patience" xargs -P2 -n1 --process-slot-var=SLOT \
		sh -c 'echo "$SLOT" >"$0"; read -r x <"go_$0"' 3>&- &
	local slots
	await a
	slots=$line
	await b
	assert_eq "$(printf '%s\n' "$slots" "$line" | sort | xargs)" "0 1"
	release go_a
	release go_b
	wait
}

@test "without -P one job runs at a time, in order" {
	seq 200 >in
	xargs -n1 sh -c 'mkdir lock && echo $0 && rmdir lock' <in >out
	cmp in out
}

@test "SIGUSR1 and SIGUSR2 mean one process more and fewer" {
	make_fifo one two three one.go two.go three.go
	# shellcheck disable=SC2016
	printf 'one\ntwo\nthree\n' |
		timeout "$patience" xargs -n1 sh -c 'echo "$0" >>log; echo "$PPID" >"$0"; read x <"$0.go"; echo "$0 ends" >>log' &
	await one
	kill -USR1 "$line"
	await two # beside the first
	kill -USR2 "$line"
	until [[ $(awk '/^State|^ShdPnd/ { printf "%s", $2 }' "/proc/$line/status") == S0000000000000000 ]]; do :; done # it has been heeded
	release one.go
	release two.go
	await three
	release three.go
	wait
	assert_eq "$(tail -n 4 log | sort | head -n 2; tail -n 2 log)" $'one ends\nthree\nthree\nthree ends'
}

@test "SIGTERM ends the jobs, and xargs by the same signal" {
	make_fifo started
	echo a | timeout "$patience" xargs sh -c 'echo $PPID >started; exec sleep 1000' &
	local job=$!
	await started
	kill -TERM "$line"
	status=0
	wait "$job" || status=$?
	assert_eq "$status" 143
}

@test "an error of reading is told, and is no success" {
	given 1 '' -a . true
	assert_contains "$stderr" "xargs: cannot read .: Is a directory"
}

@test "long options may be abbreviated where they are unambiguous" {
	given 0 'a b c\n' --max-a 2 --verb echo
	assert_lines "a b" "c"
	given 1 '' --max
	assert_contains "$stderr" "xargs: option '--max' is ambiguous; possibilities: '--max-lines' '--max-args' '--max-chars' '--max-procs'"
	given 1 '' -n
	assert_contains "$stderr" "xargs: option requires an argument -- 'n'"
	given 1 '' -n0
	assert_contains "$stderr" "xargs: value 0 for -n option should be >= 1"
}

@test "options end at the command" {
	given 0 'a\n' -n1 echo -n2 -I{}
	assert_eq "$output" "-n2 -I{} a"
	given 0 'a\n' -- echo -n
	assert_eq "$output" "a"
}

@test "--help and the manual have the same options" {
	given 0 '' --help
	assert_contains "${lines[0]}" "Usage: xargs [OPTION]... COMMAND [INITIAL-ARGS]..."
	assert_eq "$(awk 'length > 80' "$BATS_TEST_TMPDIR/stdout")" ''
	grep -oE -e '--[a-z-]+' <<<"$output" | grep -v -e '--replace=R$' | sort -u >help
	sed -n 's/ , -\([a-z]\)/ Fl -\1/; /^\.It Fl/s/Fl -/\n--/gp' "$BATS_TEST_DIRNAME/../man/fairpar-xargs.1" |
		grep -oE -e '^--[a-z-]+' | sort -u >manual
	diff help manual
	given 0 '' --version
	assert_contains "${lines[0]}" "xargs (fairpar)"
}

@test "make install makes a link named xargs only when it is asked to" {
	need make
	local top=$BATS_TEST_DIRNAME/.. plan
	plan=$(make -C "$top" -n install DESTDIR="$PWD/root" PREFIX=/usr)
	assert_contains "$plan" "man1/fairpar-xargs.1"
	[[ $plan != *"for link in xargs"* ]] || fail "$plan"
	plan=$(make -C "$top" -n install DESTDIR="$PWD/root" PREFIX=/usr LINKS=xargs)
	assert_contains "$plan" "for link in xargs"
}

# What the real one does on each input with each set of options, ours does: words separated by blanks, \s is a blank.
inputs=(
	'' '\n' ' \t\n\n' 'a' 'a\n' 'a b c d e f g h\n' 'a\nb\nc\nd\ne\n' 'a b \nc\t\nd\n\n\ne f\n' "'a b' \"c d\" e\\\\\\\\ f\\n"
	"''\\n" "a ''" "'' ''\\n" "a 'b\\n" 'a "b' "'" 'X\na\n' 'a X b\n' 'a b X' 'a\nX\nb\n' 'X' 'aaaaaaa bb ccccccccccccc d\n'
	'a\\\\\nb\n' 'a\\\\' '\\\\' 'a,b,,c,' ',,' 'a\0b\0\0c' ' a  b \n  c\n' 'a\vb\f\rc\r\n' '\v a\n' 'it\\\\\047s {} {}\n'
	'0\n255\n3\n' '1\n0\n7\n' '\303\251 x\n' 'a\\\\ \nb\nc\n' '\\\\\n' '"" x\n' "x'y'z\"w\"\\n" '-n -e\n' 'X X\nX\n' '{}\n'
)
options=(
	'args' '-n1 args' '-n2 args x' '-n3 -x args' '-L1 args' '-L2 args' '-l args' '-l2 -x args' '-I{} args {} x{}y{} z'
	'-i args {}' '-iX args X' '-0 args' '-d, args' '-d\n args' '-0n2 args' '-d, -I% args [%]' '-d, -L2 args' '-E X args'
	'-E X -n2 args' '-E X -L1 args' '-E X -I{} args {}' '-eX args' '-e args' '-r args' '-rn1 args' '-s 20 args' '-s 14 args'
	'-s 20 -n3 args' '-s 20 -n3 -x args' '-s 20 -L1 args' '-s 22 -I{} args {} {}' '-s 10 -I{} args {}' '-s 16 -0 args'
	'-t args' '-t -n1 args' '-t -I{} args {}' '-n1 sh -c exit\s$0' '-n1 false' '-I{} {} x' '-n2 nowhere' '-n1 -L2 args'
	'-L2 -n1 args' '-n2 -I{} args {}' '-I{} -n2 args {}' '-I{} -n1 args {}' '-l2 -i args {}' '-0 -E X args' '-xr args'
)

compare_all() {
	local input option words n=0 compared=0 differ=0 status
	for input in "${inputs[@]}"; do
		# shellcheck disable=SC2059 # it is a format
		printf -- "$input" >in
		for option in "${options[@]}"; do
			n=$((n + 1))
			((n % ${XARGS_EVERY:-5} == 0)) || continue
			read -ra words <<<"$option"
			words=("${words[@]//\\s/ }")
			status=0
			PATH=${real%/*}:$PATH timeout "$patience" xargs "${words[@]}" <in >real.out 2>real.err || status=$?
			echo "status $status" >>real.out
			status=0
			timeout "$patience" xargs "${words[@]}" <in >ours.out 2>ours.err || status=$?
			echo "status $status" >>ours.out
			compared=$((compared + 1))
			if ! cmp -s real.out ours.out || ! cmp -s real.err ours.err; then
				differ=$((differ + 1))
				echo "printf '$input' | xargs $option"
				diff -a real.out ours.out || :
				diff -a real.err ours.err || :
			fi
		done
	done
	echo "$compared command lines, $differ differ"
	((compared > 300 && differ == 0))
}

# XARGS_EVERY=1: all of them, which takes some minutes
@test "some hundred command lines do what GNU xargs does" {
	need_gnu_xargs
	compare_all
}

# ---- real life ----

# same_as_real COMMAND …: a command line that calls xargs prints what is in the file `expected`, and so it does with the
# real one. SORTED=1: in any order.
same_as_real() {
	local sorted=cat
	[[ ! ${SORTED-} ]] || sorted='sort'
	timeout "$patience" sh -c "$1" 2>&1 | $sorted >ours
	assert_eq "$(<ours)" "$(<expected)"
	if real=$(PATH=/usr/bin:/bin command -v xargs) && [[ $("$real" --version) == "xargs (GNU findutils) 4."* ]]; then
		PATH=${real%/*}:$PATH timeout "$patience" sh -c "$1" 2>&1 | $sorted >theirs
		assert_eq "$(<theirs)" "$(<expected)"
	fi
}

# A tree with names that want care.
make_tree() {
	mkdir -p tree/a 'tree/b c' "tree/d'e" tree/empty
	echo one >tree/a/x.c
	echo two >'tree/b c/y z.c'
	echo three >"tree/d'e/it's.h"
	echo four >$'tree/a/new\nline.c'
	echo five >'tree/a/-n'
	echo six >'tree/b c/$(touch pwned).o'
}

@test "words of any white space become one line, as echo | xargs is used for" {
	printf '%s\n' 'a b c d' >expected
	# shellcheck disable=SC2016 # sh expands it
	same_as_real 'v=$(printf "  a \t b\n\n c  \nd " | xargs); echo "$v"'
	echo 'Mem: 5 kB' >expected
	same_as_real 'printf "Mem:      5   kB\n" | xargs echo'
	printf '%s\n' 1,2,3 >expected
	same_as_real 'seq 3 | xargs | tr " " ,'
	printf '%s\n' '<x>' '<y z>' >expected
	same_as_real $'printf "x \'y z\'" | xargs printf "<%s>\\n"'
	echo trimmed >expected
	same_as_real 'echo "   trimmed   " | xargs'
}

@test "find -print0 | xargs -0: sums, sizes and removing, whatever the names" {
	make_tree
	(cd tree && find . -type f -print0 | sort -z | while IFS= read -rd '' f; do cksum "$f"; done) >expected
	same_as_real 'cd tree && find . -type f -print0 | sort -z | xargs -0 cksum'
	same_as_real 'cd tree && find . -type f -print0 | sort -z | xargs -0 -n 2 cksum'
	same_as_real 'cd tree && find . -type f -print0 | sort -z | xargs -0 -I{} cksum {}'
	sort -o expected expected
	SORTED=1 same_as_real 'cd tree && find . -type f -print0 | xargs -0 -n 1 -P 4 cksum'
	(cd tree && find . -type d | sort) >expected
	SORTED=1 same_as_real 'cd tree && find . -type d -print0 | xargs -0 ls -d'
	find tree ! -name '*.c' | sort >expected
	SORTED=1 same_as_real 'rm -rf t && cp -r tree t && find t -name "*.c" -print0 | xargs -r0 rm -f && find t | sed "s/^t/tree/"; rm -rf t'
	: >expected
	same_as_real 'find tree -name "*.none" -print0 | xargs -r0 rm -f'
	[[ ! -e pwned ]]
}

@test "a kernel's makefile: loops of sh -c over a few items at once, on all CPUs" {
	make_tree
	printf '%s\n' 1 10 10 10 >expected
	# shellcheck disable=SC2016 # sh expands it
	SORTED=1 same_as_real 'seq 31 | tr "\n" "\0" | xargs -0r -P$(nproc) -n10 sh -c '\''echo $#'\'' sh'
	find tree -type f -name '*.c' -exec wc -c {} + | sed '/ total$/d' | awk '{ print $1 }' | sort >expected
	# shellcheck disable=SC2016
	SORTED=1 same_as_real 'find tree -name "*.c" -print0 | xargs -0 -n1 -P3 sh -c '\''wc -c <"$1"'\'' sh'
	printf '%s\n' 'CC tree/a/x.o' 'CC tree/b c/y z.o' >expected
	# shellcheck disable=SC2016
	SORTED=1 same_as_real 'find tree -name "[xy]*.c" | xargs -d "\n" -n1 -P2 sh -c '\''for f; do echo "CC ${f%.c}.o"; done'\'' sh'
	printf '%s\n' 'foo.o' 'bar.o' >modules.order
	printf '%s\n' 'cmd_foo.o := foo' 'cmd_bar.o := bar' >expected
	# shellcheck disable=SC2016
	same_as_real 'xargs -a modules.order -n1 sh -c '\''echo "cmd_$1 := ${1%.o}"'\'' sh'
	printf '%s\n' 123 >expected
	# shellcheck disable=SC2016
	same_as_real 'printf "ok\nbad\nok\n" | xargs -n1 -P2 sh -c '\''[ "$1" = ok ] || exit 1'\'' sh; echo $?'
}

@test "xargs -a FILE -d '\\n' -I{} takes lines as they are, with blanks, quotes and backslashes" {
	printf '%s\n' "it's" 'a  b ' '\n' '"q' '{}' '' >lines
	printf '[%s]\n' "it's" 'a  b ' '\n' '"q' '{}' '' >expected
	same_as_real "xargs -a lines -d '\\n' -I{} printf '[%s]\\n' {}"
	printf '%s\n' 'cp a  b  x/a  b ' >expected
	same_as_real "xargs -a lines -d '\\n' -I@ echo cp @ x/@ | sed -n 2p"
	same_as_real "sed -n 2p lines | xargs -d '\\n' -I@ echo cp @ x/@"
	printf '%s\n' 'stdin is kept' >expected
	same_as_real "echo 'stdin is kept' | xargs -a lines -d '\\n' -n 99 sh -c 'cat' sh"
}

@test "git ls-files -z | xargs -0 and git grep -lz | xargs -0 sed" {
	need git
	make_tree
	git -c init.defaultBranch=main init -q tree
	git -C tree add .
	# shellcheck disable=SC2016 # names that want care
	printf '<%s>\n' a/-n $'a/new\nline.c' a/x.c 'b c/$(touch pwned).o' 'b c/y z.c' "d'e/it's.h" >expected
	same_as_real 'cd tree && git ls-files -z | xargs -0 printf "<%s>\n"'
	same_as_real 'cd tree && git ls-files -z | xargs -0 -n 1 printf "<%s>\n"'
	printf '%s\n' ./a/x.c:ONE >expected
	same_as_real 'rm -rf t; cp -r tree t; cd t && git grep -lz one | xargs -0 sed -i s/one/ONE/ && git diff --name-only -z | xargs -0 -I{} grep -H ONE ./{}; cd ..; rm -rf t'
}

# The lines of debhelper's dh_installdocs, dh_fixperms, dh_compress, dh_strip and dh_md5sums that call xargs, or a shell
# script's like them.
write_packer() {
	cat >pack <<-'END'
		set -e
		rm -rf pkg; mkdir -p pkg/usr/share/doc/x pkg/usr/bin pkg/DEBIAN
		(cd src && find . -name '*.txt' -print0 | LC_ALL=C sort -z | xargs -0 -I {} cp --parents -dp {} ../pkg/usr/share/doc/x)
		find src -name 'tool*' -print0 | xargs -0r cp -t pkg/usr/bin
		find pkg ! -type l -print0 2>/dev/null | xargs -0r chmod go=rX,u+rw,a-s
		find pkg/usr/share/doc -type f -print0 2>/dev/null | xargs -0r chmod 0644
		find pkg/usr/bin -type f -print0 | xargs -0r chmod a+x
		find pkg -type f -size +3k -print0 | xargs -0 -n 3 -P 2 gzip -9n
		find pkg -name 'none*' | xargs rm -rf
		cd pkg; find . -type f ! -regex './DEBIAN/.*' -printf '%P\0' | LC_ALL=C sort -z | xargs -r0 md5sum >DEBIAN/md5sums
		find usr -printf '%p %m %y\n' | LC_ALL=C sort
		cat DEBIAN/md5sums
	END
	local n
	mkdir -p src/sub "src/with blank"
	for ((n = 1; n <= 40; n++)); do
		seq "$n" $((n * n + n)) >"src/$([[ $((n % 3)) == 0 ]] && echo 'with blank/' || echo sub/)file $n.txt"
		((n % 10)) || echo "tool $n" >"src/tool$n"
	done
	chmod 0777 src/tool10
	chmod 0600 "src/sub/file 1.txt"
}

@test "a package that is built by find | xargs is the same, byte for byte" {
	need md5sum
	need gzip
	write_packer
	mkdir wrapped
	printf '#!/bin/sh\necho >>%q\nexec %q "$@"\n' "$PWD/calls" "$BATS_TEST_TMPDIR/bin/xargs" >wrapped/xargs
	chmod +x wrapped/xargs
	PATH=$PWD/wrapped:$PATH sh pack >ours
	assert_eq "$(wc -l <calls)" 8
	assert_eq "$(head -n 9 ours)" "usr 755 d
usr/bin 755 d
usr/bin/tool10 755 f
usr/bin/tool20 755 f
usr/bin/tool30 755 f
usr/bin/tool40 755 f
usr/share 755 d
usr/share/doc 755 d
usr/share/doc/x 755 d"
	(cd pkg && md5sum --quiet -c DEBIAN/md5sums && gzip -t usr/share/doc/x/sub/*.gz 'usr/share/doc/x/with blank/'*.gz)
	assert_eq "$(wc -l <pkg/DEBIAN/md5sums) $(find pkg -name '*.gz' | wc -l) $(find pkg -name '*.txt' -size +3k | wc -l)" "44 12 0"
	need_gnu_xargs
	mv pkg pkg.ours
	PATH=${real%/*}:$PATH sh pack >theirs
	assert_eq "$(<ours)" "$(<theirs)"
	diff -r pkg.ours pkg
}
