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

@test "a single ::: or :::: with nothing behind it is as good as none: standard input is read, as by GNU parallel" {
	local words
	printf '1\n2\n' >n
	for words in 'echo :::' 'echo :::+' 'echo ::::' 'echo ::::+' ::: '--arg-sep ,, echo ,,' '--batch b echo :::'; do
		# shellcheck disable=SC2086 # words
		run_fairpar -k $words <<<$'echo a\necho b'
		assert_lines "$([[ $words == ::: ]] || echo 'echo ')"{a,b}
		if command -v parallel >/dev/null && [[ $words != --batch* ]]; then
			# shellcheck disable=SC2086 # words
			assert_eq "$(parallel --will-cite -k $words <<<$'echo a\necho b')" "$output"
		fi
	done
	for words in '-a n echo :::' '-a n echo :::+' '-a n echo ::::' '-a n echo ::::+'; do
		# shellcheck disable=SC2086 # words
		run_fairpar -k $words <<<a
		assert_lines 1 2
		# shellcheck disable=SC2086 # words
		! parallel_too || assert_eq "$(parallel --will-cite -k $words <<<a)" "$output"
	done
	for words in 'echo ::: :::' 'echo :::: n :::' '--batch b=n echo :::'; do # others give items, or none
		# shellcheck disable=SC2086 # words
		run_fairpar -k $words <<<$'echo a\necho b'
		[[ $output != *a* ]] || fail "$words: $output"
	done
	run_fairpar 255 echo ::: a :::: <<<b
	assert_contains "$stderr" ':::: needs the name of a file'
}

@test ":::: reads files, ::::+ links them" {
	seq 2 >n; printf '%s\n' x y >l
	run_fairpar -k echo :::: n l
	assert_lines "1 x" "1 y" "2 x" "2 y"
	run_fairpar -k echo :::: n ::::+ l
	assert_lines "1 x" "2 y"
	run_fairpar -k echo ::::+ n l n # to each other, where nothing is before them
	assert_lines "1 x 1" "2 y 2"
	run_fairpar -k echo :::+ a b ::::+ n ::: z
	assert_lines "a 1 z" "b 2 z"
}

@test "--colsep splits into columns, --header names them" {
	run_fairpar -k --colsep '\t' --header : echo {Name}={City} < <(printf 'Name\tCity\nAda\tLondon\n')
	assert_lines Ada=London
	run_fairpar -k --header : echo {n}{l} ::: n 1 2 ::: l a b
	assert_lines 1a 1b 2a 2b
}

@test "no item can inject a command, an option or a replacement" {
	run_fairpar -k 'printf "%s\n" {} | cat' ::: '$(touch pwned)' '`touch pwned`' '; touch pwned' "a'b" 'a"b' '{} {#}' '*' '-n' $'new\nline' '\'
	assert_lines '$(touch pwned)' '`touch pwned`' '; touch pwned' "a'b" 'a"b' '{} {#}' '*' '-n' $'new\nline' '\'
	assert_eq "$(ls)" ""
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

@test "Perl expressions are refused with one line" {
	run_fairpar 255 echo '{= s/a/b/ =}' ::: a
	assert_eq "$(wc -l <"$BATS_TEST_TMPDIR/stderr")" 1
}

@test "lines that arrive slowly start at once" {
	make_fifo input started
	exec 5<>input 6<>started # which no job that has written a line can leave without a writer
	start_fairpar -j1 'echo {} >started' <input 5>&- 6>&-
	echo one >&5
	await started
	assert_eq "$line" one
	echo two >&5
	await started
	assert_eq "$line" two
	exec 5>&- 6>&-
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
	need gzip
	mkdir -p out in/a in/b
	for f in in/a/1.h in/a/2.h in/b/3.h; do echo "$f" >"$f"; done
	run_fairpar --batch-by '{//}' -j2 gzip -kc {} ">" out/{#}-{/}.gz < <(find in -name '*.h' | sort)
	assert_eq "$(ls out | tr '\n' ' ')" "1-1.h.gz 2-2.h.gz 3-3.h.gz "
	assert_eq "$(zcat out/*)" "in/a/1.h
in/a/2.h
in/b/3.h"
}

# same LINE …: for each pair of an argument list (shell words) and its expected output (\n between lines): fairpar prints
# it, and so does GNU parallel, where it is installed. The files a, b and f3 are there, and stdin is empty.
same() {
	local -a arguments
	local expected
	printf 'a\nb\n' >a; printf '1\n2\n' >b; printf 'A,B\nx,y/z\nv,w\n' >f3
	while (($# > 1)); do
		eval "arguments=($1)"
		expected=$(printf '%b' "$2")
		run_fairpar --shell /bin/sh -k "${arguments[@]}" </dev/null
		assert_eq "$output" "$expected" || fail "of fairpar $1"
		if parallel_too; then
			assert_eq "$(PARALLEL_SHELL=/bin/sh parallel --will-cite -k "${arguments[@]}" </dev/null)" "$expected" || fail "of parallel $1"
		fi
		shift 2
	done
}

@test "-E, -e and --eof: an item ends its source" {
	same '-E b echo ::: a b c' a '-eb echo ::: a b c' a '--eof=b echo ::: a b c' a '--eof b echo ::: a b c' a \
		'-E b echo ::: a b c ::: b d' 'a ' '-E c echo ::: a b c ::: x c y' 'a x\nb x' '-E b -a a echo' a '-e -k echo ::: a b' 'a\nb'
	run_fairpar -k -E '' echo < <(printf 'a\n\nb\n')
	assert_lines a '' b
}

@test "-r leaves out items of nothing but blanks" {
	same "-r echo ::: a '' b ' ' '	'" 'a\nb' "--dry-run -r echo ::: a '' b ::: '' c" 'echo a c\necho b c' '-r echo' ''
	run_fairpar -k -r echo < <(printf '\na\n  \n\tb\n\n')
	assert_lines a $'\tb'
}

@test "--trim, and what --colsep trims" {
	for how in n l r lr rl; do
		case $how in
		n) expected="' a '";; l) expected="'a '";; r) expected="' a'";; *) expected=a;;
		esac
		same "--trim $how --dry-run echo ::: ' a ' b" "echo $expected\necho b"
	done
	same "--colsep , --dry-run echo {1} {2} ::: ' a , b '" 'echo a b' \
		"--colsep , --trim n --dry-run echo {1} {2} ::: ' a , b '" "echo ' a ' ' b '" \
		"--trim l --colsep , --dry-run echo {1} {2} ::: ' a , b '" "echo 'a ' 'b '"
	run_fairpar 255 --trim x echo ::: a
	assert_contains "$stderr" "--trim must be n, l, r, lr or rl, not 'x'"
}

@test "--skip-first-line, also before a header" {
	same '--skip-first-line echo ::: a b ::: c d' 'b c\nb d' '--skip-first-line --header : echo {b} ::: a b c' c \
		'--skip-first-line -a a echo' b
}

@test "--header: names, whatever the expression, and names of files" {
	same '--header 2 echo {b} ::: b 1 2' '1\n2' '--header : --colsep , echo {A} {2} {B/} :::: f3' 'x y/z z\nv w w' \
		"--header '.*\\n' --colsep , echo {A} {B//} :::: f3" 'x y\nv .' \
		'--header 0 echo {a}{b} {a.} :::: a b' 'a1 a\na2 a\nb1 b\nb2 b' '--header 0 echo {1}{2} ::: a b ::: c' 'ac\nbc'
}

@test "--link goes in step, and shorter sources begin again" {
	same '--link echo ::: a b c ::: 1 2' 'a 1\nb 2\nc 1' '--link echo {1}-{2}-{3} ::: a b c ::: 1 2 ::: x' 'a-1-x\nb-2-x\nc-1-x' \
		'--xapply echo :::: a b' 'a 1\nb 2' '--link echo :::: a ::: 1 2 3 4' 'a 1\nb 2\na 3\nb 4'
}

@test ":::+ and ::::+ end with the shorter one, and are multiplied with others" {
	same 'echo ::: a b c :::+ 1 2 3 ::: x y' 'a 1 x\na 1 y\nb 2 x\nb 2 y\nc 3 x\nc 3 y' 'echo ::: a b c :::+ 1 2' 'a 1\nb 2' \
		'echo :::: a ::::+ b' 'a 1\nb 2' 'echo :::: a ::::+ b ::: z' 'a 1 z\nb 2 z' \
		'echo ::: X Y ::: a b :::+ 1 2' 'X a 1\nX b 2\nY a 1\nY b 2' '-a a echo {2}{1} :::: b' '1a\n2a\n1b\n2b'
}

@test "--arg-sep and --arg-file-sep rename ::: and ::::" {
	same '--arg-sep ,, echo ,, a b ::: c' 'a\nb\n:::\nc' '--arg-sep ,, echo ,, a b ,,+ c d' 'a c\nb d' \
		'--argsep ,, echo ,, a b ,, c' 'a c\nb c' '--arg-file-sep ,,, echo ,,, a ::: 1' 'a 1\nb 1' \
		'--argfilesep ,,, echo ,,, a ,,,+ b' 'a 1\nb 2' '--arg-sep , --arg-file-sep ,, echo , x y ,, b' 'x 1\nx 2\ny 1\ny 2'
}

@test "--shuf gives every item once, and not always in one order" {
	seq 200 >list
	run_fairpar -k --shuf echo <list
	assert_eq "$(sort -n <<<"$output")" "$(cat list)"
	[[ $output != "$(cat list)" ]] || fail "200 items came in order"
	run_fairpar -k --shuf echo ::: a b ::: c d
	assert_set "a c" "a d" "b c" "b d"
}

# GNU parallel needs a module for it that is often missing, so what it would do is RFC 4180's text.
@test "--csv: quotes, doubled quotes, separators and line ends inside them, CRLF" {
	run_fairpar -k -q --csv echo '{1}|{2}|{3}' < <(printf 'a,b,c\n"x,y","say ""hi""",\n"two\nlines",2,"3"\r\n,,\n')
	assert_eq "$output" $'a|b|c\nx,y|say "hi"|\ntwo\nlines|2|3\n||'
	run_fairpar -k -q --csv echo '{1}|{2}' ::: 'a,b' '"c,d",e'
	assert_lines 'a|b' 'c,d|e'
	run_fairpar -k -q --csv --colsep ';' echo '{1}|{2}' ::: ' a ;b' 'c;"d;e"'
	assert_lines 'a|b' 'c|d;e'
	run_fairpar -k -q --csv --colsep '\t' echo '{1}|{2}' ::: $'a\t"b\tc"'
	assert_lines $'a|b\tc'
	run_fairpar -k -q --csv --header : echo '{a}-{b c}' < <(printf 'a,"b c"\n1,"2\n3"\n')
	assert_eq "$output" $'1-2\n3'
}

@test "abbreviated names as GNU parallel takes them" {
	same '--keep echo ::: a b' 'a\nb' '--k --j 2 echo ::: a' a '--tagst {/} echo ::: a/b' 'b\ta/b' '--dry echo ::: a' 'echo a' '--will echo ::: a' a '--nn echo ::: a' a \
		'--nonotice echo ::: a' a '--gnu echo ::: a' a '--plain echo ::: a' a
	run_fairpar 255 --jo 2 echo ::: a
	assert_contains "$stderr" '--jo may be --jobs, --joblog'
}
