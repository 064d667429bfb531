# Replacement strings: GNU parallel's own, those of --plus, renamed ones, and quoting. The expected text is in the table;
# where GNU parallel is installed it has to say the same.

load helper

# same LINE …: for each pair of an argument list (shell words) and its expected output (\n between lines): fairpar prints
# it, and so does GNU parallel.
same() {
	local -a arguments
	local expected
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

@test "the seven, of any path" {
	for item in a/b.c/d.tar.gz x /abs .hidden a/.hid dir/ / // a//b /a/b . .. ../x.y a. .a.b 'a b.c d' "it's.x"; do
		run_fairpar --dry-run echo {} {.} {/} {//} {/.} {#} ::: "$item"
		if command -v parallel >/dev/null; then
			assert_eq "$output" "$(parallel --will-cite --dry-run echo {} {.} {/} {//} {/.} {#} ::: "$item")"
		fi
	done
	same '--dry-run echo {} {.} {/} {//} {/.} ::: a/b.c/d.tar.gz dir/ .hidden' \
		"echo a/b.c/d.tar.gz a/b.c/d.tar d.tar.gz a/b.c d.tar\necho dir/ dir/ '' . ''\necho .hidden '' .hidden . ''"
}

@test "by number, from both ends, with every suffix" {
	same '--dry-run echo {1} {-1} {2} {-2} {3} {1.}{2/}{-1//}{2/.} ::: a.b ::: c/d.e' 'echo a.b c/d.e c/d.e a.b  ad.ecd' \
		'--dry-run echo {0} "{ 1}" {+1} {foo} ::: a' 'echo a { 1} {+1} {foo}'
	same '--header : echo {b}{c.} ::: b 1 2 ::: c 3.x 4.y' '13\n14\n23\n24'
}

@test "--plus: extensions and directories" {
	same '--plus --dry-run echo {..} {...} {/..} {/...} ::: a/b.c/d.tar.gz.x x a.b.c' \
		'echo a/b.c/d.tar a/b.c/d d.tar d\necho x x x x\necho a a.b.c a a.b.c' \
		'--plus --dry-run echo {+/} {+.} {+..} {+...} ::: a/b.c/d.tar.gz x /abs a.b.c.d /a.b/c.d a.b/c' \
		"echo a/b.c gz tar.gz ''\necho '' '' '' ''\necho '' '' '' ''\necho '' d c.d b.c.d\necho /a.b d '' ''\necho a.b b/c '' ''"
}

@test "--plus: defaults and parts" {
	same '--plus --dry-run echo {:-foo} {:2} {:1:2} {:9:1} {:0} {:0:0} ::: "" abcdef 0 a "a b c"' \
		"echo foo '' '' '' '' ''\necho abcdef cdef bc '' abcdef ''\necho foo '' '' '' 0 ''\necho a '' '' '' a ''\necho 'a b c' 'b c' ' b' '' 'a b c' ''"
}

@test "--plus: beginnings and ends by expression" {
	same '--plus --dry-run echo {#z.*z.} {##z.*z.} {%.z.*z} {%%.z.*z} ::: z.z.z.foo foo.z.z.z abc' \
		'echo z.foo foo z.z.z.foo z.z.z.foo\necho foo.z.z.z foo.z.z.z foo.z foo\necho abc abc abc abc' \
		'--plus --dry-run echo {%a+} {%%a+} {#a+} {##a+} ::: aaabaaa' 'echo aaabaa aaab aabaaa baaa' \
		'--plus --dry-run echo "{%\.gz}" "{%\.tar\.gz}" ::: a.tar.gz b.gz' 'echo a.tar a\necho b b.gz' \
		'--plus --dry-run echo "{%\d+}" "{##\w+}" ::: foo22 "a b"' "echo foo2 ''\necho 'a b' ' b'"
}

@test "--plus: replacing, capitals" {
	same '--plus --dry-run echo {/a/b} {//a/b} {/#a/b} {/%a/b} {/a/} {//[a-c]/-} ::: abcabca aaa xyz a' \
		"echo bbcabca bbcbbcb bbcabca abcabcb bcabca -------\necho baa bbb baa aab aa ---\necho xyz xyz xyz xyz xyz xyz\necho b b b b '' -" \
		'--plus --dry-run echo {//a*/x} {/b*/y} {//$/E} {/^/S} ::: aab bbb' 'echo xxbx yaab aabE Saab\necho xbxbxbx y bbbE Sbbb' \
		'--plus --dry-run echo {^a} {^^a} "{,A}" "{,,A}" {^^[a-m]} "{,,[A-M]}" ::: abcaABCA AaAa xyz' \
		'echo AbcaABCA AbcAABCA abcaABCA abcaaBCa ABCAABCA abcaabca\necho AaAa AAAA aaAa aaaa AAAA aaaa\necho xyz xyz xyz xyz xyz xyz'
}

@test "--plus: with a number in front, and among several sources" {
	same '--plus --dry-run echo {2..} {2/..} {1:-x} {-1+.} {2:1:2} {1%%b.*} {2/e/E} ::: a.b.c ::: d/e.f.g' \
		'echo d/e e a.b.c g /e a. d/E.f.g' \
		'--plus --dry-run echo {..} {:1} ::: a.b.c ::: d.e.f' 'echo a d .b.c .e.f'
}

@test "--plus: {##} counts all jobs, {0#} has zeros in front" {
	same '--plus echo {##} {0#} ::: 1 2 3 4 5 6 7 8 9 10' '10 01\n10 02\n10 03\n10 04\n10 05\n10 06\n10 07\n10 08\n10 09\n10 10' \
		'--plus echo {##} ::: a b ::: c d' '4\n4\n4\n4' \
		'-N2 --plus echo {##} {#} ::: 1 2 3 4 5' '3 1\n3 2\n3 3' '-n 3 --plus echo {##} ::: 1 2 3 4 5 6' '2\n2' \
		'-L4 --plus echo {##} ::: 1 2 3' '1' '-l2 --plus echo {##} ::: 1 2 3' '2\n2' \
		'-N0 --plus echo {##} ::: 1 2' '2\n2' '-n0 --plus echo {##} ::: 1 2' '2\n2' \
		'--tagstring {#}/{##} --plus echo ::: a b' '1/2\ta\n2/2\tb'
	make_fifo slow
	(
		exec >slow
		echo a
		echo b
	) &
	run_fairpar -k --plus -a slow echo {##}
	assert_lines 2 2
	run_fairpar -k --plus --batch A=<(seq 3) --batch B=<(seq 4) echo {##} 3>&-
	assert_eq "$(sort -u <<<"$output")" 7
	run_fairpar -k --plus -N2 --batch A=<(seq 3) --batch B=<(seq 4) echo {##} 3>&-
	assert_lines 4 4 4 4
}

@test "--plus: {choose_k} and {uniq} leave items out, whose numbers nobody has" {
	run_fairpar -k --plus echo {#} {choose_k} ::: A B C ::: A B C
	assert_lines "2 A B" "3 A C" "6 B C"
	run_fairpar -k --plus echo {uniq} ::: A B ::: A B
	assert_lines "A B" "B A"
	if parallel_too; then
		assert_eq "$(parallel --will-cite -k --plus echo {#} {choose_k} ::: A B C ::: A B C)" $'2 A B\n3 A C\n6 B C'
	fi
}

@test "--plus: {slot} and hosts" {
	same '-j1 --plus echo {slot} {host} {sshlogin} {hgrp}{agrp} ::: a b' '1 : :\n1 : :'
}

@test "what --plus does not know stays, and without it nothing of it means anything" {
	same '--plus --dry-run echo "{^}" "{,}" "{:x}" "{:-}" "{foo}" "{/x}" ::: a' "echo {^} {,} {:x} {:-} {foo} {/x} a" \
		'--dry-run echo {..} {##} {:1} {%x} ::: a' 'echo {..} {##} {:1} {%x} a'
}

@test "an expression that is none is refused, and nothing runs" {
	run_fairpar 255 --plus touch '{%(}' ::: a
	assert_eq "$stderr" "fairpar: error: cannot use '(' as a regular expression: $(sed 's/.*expression: //' <<<"$stderr")"
	assert_eq "$(ls)" ''
}

@test "what comes out of an expression is quoted for the shell" {
	same '--plus "echo {/x/;} {//y/\$(touch pwned)} | cat" ::: x y' '; x\ny $(touch pwned)'
	assert_eq "$(ls)" ''
}

@test "-I, -i and --replace rename {}" {
	same '-I ,, echo "{1}" ,, {1.} {.} ::: a.b' '{1} a.b a a' \
		"-I '{x}' echo {1x} {x} {} ::: a" 'a a {}' \
		'-I XX echo XXXX aXXb ::: q' 'qq aqb' \
		'-iX echo X ::: a' a '-i X echo X ::: a' a '--replace=X echo X ::: a' a '--replace X echo X ::: a' a \
		'-i -k echo {} ::: a' a '-I ,, echo ::: a' a
}

@test "each of the seven has another name" {
	same '-j1 --er ,. --bnr ,/ --dnr ,// --bner ,/. --seqreplace ,# --slotreplace ,% -I , echo , ,. ,/ ,// ,/. ,# ,% ::: d/a.b e/f.g' \
		'd/a.b d/a a.b d a 1 1\ne/f.g e/f f.g e f 2 1' \
		'--extensionreplace E --basenamereplace B --dirnamereplace D --basenameextensionreplace X --dry-run echo E B D X ::: d/a.b' \
		'echo d/a a.b d a' \
		'--er E echo {} "{1.}" {.} E ::: a.b' 'a.b {1.} {.} a'
}

@test "-q: quote the words of the command for the shell" {
	same "-q echo {} '\$x' 'a  b' '\"' ::: 'a b' \"'\"" 'a b $x a  b "\n'"'"' $x a  b "' \
		"--quote --dry-run perl -e 's/a b/\$x/' {} ::: 1 '2 3'" "perl -e 's/a b/\$x/' 1\nperl -e 's/a b/\$x/' '2 3'" \
		"-q --dry-run echo '{}{}' {#} {1.} ::: 'a b.c'" "echo 'a b.ca b.c' 1 'a b'"
}

@test "--shell-quote prints what a shell reads as the command" {
	same "--shellquote ::: 'a b' \"c'd\" x '' '\$x'" "'a b'\n'c'\"'\"'d'\nx\n''\n'\$x'" \
		"--shell-quote --shell_quote ::: 'a b'" "\"'\"'a b'\"'\"" \
		"--shellquote echo {} x ::: 'a b' c" "'echo '\"'\"'a b'\"'\"' x'\n'echo c x'"
}

@test "what is left out is refused with one line that says what to do" {
	for option in --rpl=x --parens=x --tmpl=a=b --filter=x --tmux --sql=x --embed; do
		run_fairpar 255 "$option" touch ran ::: a
		assert_eq "$(wc -l <"$BATS_TEST_TMPDIR/stderr")" 1
		assert_contains "$stderr" 'is not in fairpar; '
	done
	run_fairpar 255 echo '{= s/a/b/ =}' ::: a
	assert_contains "$stderr" 'use --plus'
	assert_eq "$(ls)" ''
}
