# Input: where items come from, and what becomes of them.

load helper

@test "each line of stdin is an item" {
	run_fairpar -k echo < <(printf 'a b\n"c\n\n d')
	assert_lines "a b" '"c' "" " d"
}

@test "without a command each line is a command" {
	run_fairpar -k <<'COMMANDS'
echo one | tr a-z A-Z
/bin/echo "two  words"
exit 0
COMMANDS
	assert_lines ONE "two  words"
}

@test "-0 and -d split at other bytes" {
	run_fairpar -k -0 echo < <(printf 'a\nb\0c\0')
	assert_lines a b c
	run_fairpar -k -d , echo < <(printf 'a,b')
	assert_lines a b
}

@test "-a reads a file, and many of them multiply" {
	printf '%s\n' 1 2 >a; printf '%s\n' x y >b
	run_fairpar -k -a a echo
	assert_lines 1 2
	run_fairpar -k -a a -a b echo
	assert_lines "1 x" "1 y" "2 x" "2 y"
}

@test "::: multiplies, :::+ links" {
	run_fairpar -k echo {1}-{2} ::: a b ::: 1 2
	assert_lines a-1 a-2 b-1 b-2
	run_fairpar -k echo {1}-{2} ::: a b :::+ 1 2
	assert_lines a-1 b-2
}

@test ":::: reads files, ::::+ links them" {
	seq 2 >n; printf '%s\n' x y >l
	run_fairpar -k echo :::: n l
	assert_lines "1 x" "1 y" "2 x" "2 y"
	run_fairpar -k echo :::: n ::::+ l
	assert_lines "1 x" "2 y"
}

@test "--colsep splits into columns, --header names them" {
	run_fairpar -k --colsep '\t' --header : echo {Name}={City} < <(printf 'Name\tCity\nAda\tLondon\n')
	assert_lines Ada=London
	run_fairpar -k --header : echo {n}{l} ::: n 1 2 ::: l a b
	assert_lines 1a 1b 2a 2b
}

@test "the seven replacement strings" {
	run_fairpar -j1 --shell /bin/sh echo {} {.} {/} {//} {/.} {#} {%} ::: a/b.c.d
	assert_lines "a/b.c.d a/b.c b.c.d a b.c 1 1"
}

@test "positional replacement strings, with suffixes" {
	run_fairpar echo {2} {1/} {-1} {1.} {3}. ::: x/y.z ::: w
	assert_lines "w y.z w x/y ."
}

@test "{} is appended where there is none" {
	run_fairpar echo x ::: y
	assert_lines "x y"
}

@test "no item can inject a command, an option or a replacement" {
	run_fairpar -k 'printf "%s\n" {} | cat' ::: '$(touch pwned)' '`touch pwned`' '; touch pwned' "a'b" 'a"b' '{} {#}' '*' '-n' $'new\nline' '\'
	assert_lines '$(touch pwned)' '`touch pwned`' '; touch pwned' "a'b" 'a"b' '{} {#}' '*' '-n' $'new\nline' '\'
	assert_eq "$(ls)" ""
}

@test "a line with a NUL fails as a job, and the rest runs" {
	run_fairpar 1 -k echo < <(printf 'a\nb\0c\nd\n')
	assert_lines a d
	assert_contains "$stderr" "NUL"
}

@test "a line beyond the system's limit fails as a job, and the rest runs" {
	run_fairpar 1 -k 'echo {} | wc -c' < <(echo a; head -c 300000 /dev/zero | tr '\0' x; echo; echo b)
	assert_lines 2 2
	assert_contains "$stderr" "job #2"
	assert_contains "$stderr" "Argument list too long"
}

@test "a file that cannot be read is named, and nothing runs" {
	run_fairpar 255 -a nosuch touch ran
	assert_contains "$stderr" "nosuch"
	assert_contains "$stderr" "No such file or directory"
	run_fairpar 255 touch ran :::: .
	assert_contains "$stderr" "Is a directory"
	run_fairpar 255 --batch A=nosuch touch ran
	assert_eq "$(ls)" ""
}

@test "an input that fails in the middle is an error; what was read runs" {
	# reading the memory of process 1's address 0 fails with EIO
	run_fairpar 255 -a /proc/self/mem echo
	assert_contains "$stderr" "/proc/self/mem"
}

@test "Perl expressions are refused with one line" {
	run_fairpar 255 echo '{= s/a/b/ =}' ::: a
	assert_eq "$(wc -l <"$BATS_TEST_TMPDIR/stderr")" 1
}

@test "lines that arrive slowly start at once" {
	make_fifo input started
	exec 5<>input
	start_fairpar -j1 'echo {} >started' <input 5>&-
	echo one >&5
	await started
	assert_eq "$line" one
	echo two >&5
	await started
	assert_eq "$line" two
	exec 5>&-
	end_fairpar
}

@test "a fifo named as a file is waited for, and Ctrl-C is answered meanwhile" {
	make_fifo input
	start_fairpar -a input echo
	until [[ $(ls -l "/proc/$fairpar_pid/fd") == *input* ]]; do :; done
	kill -INT "$fairpar_pid"
	end_fairpar 130
}

@test "100,000 lines all run, each once" {
	seq 100000 >list
	run_fairpar --dry-run -j2 : {} <list
	assert_eq "$(wc -l <"$BATS_TEST_TMPDIR/stdout")" 100000
	assert_eq "$(sort -u "$BATS_TEST_TMPDIR/stdout" | wc -l)" 100000
}

@test "the example of the manual: a turn for each directory, output by number" {
	mkdir -p out in/a in/b
	for f in in/a/1.h in/a/2.h in/b/3.h; do echo "$f" >"$f"; done
	run_fairpar --batch-by '{//}' -j2 gzip -kc {} ">" out/{#}-{/}.gz < <(find in -name '*.h' | sort)
	assert_eq "$(ls out | tr '\n' ' ')" "1-1.h.gz 2-2.h.gz 3-3.h.gz "
	assert_eq "$(zcat out/*)" "in/a/1.h
in/a/2.h
in/b/3.h"
}
