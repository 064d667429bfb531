#!/usr/bin/env bats
# Packing: -n, -N, -L, -l, -X, -m, --xargs, -s, -x. Many items for one command, as GNU parallel does it.

load helper

TABLE=$BATS_TEST_DIRNAME/packing/table

# each_case FUNCTION: calls it with the expected text and the words of each command line of the table.
# shellcheck disable=SC2120 # the words come from the table
each_case() {
	local line words='' expected='' n=0
	while IFS= read -r line; do
		case $line in
		'#'*) ;;
		'$ '* | END)
			if [[ -n $words ]]; then
				echo "# $words"
				eval "set -- $words"
				case_of "$expected" "$@" || return
				n=$((n + 1))
			fi
			words=${line#??} expected=''
			;;
		*) expected+=${line//␣/ }$'\n' ;;
		esac
	done < <(cat "$TABLE" && echo END)
	((n > 100))
}

same() {
	[[ $1 == "$2" ]] || fail "got (-), expected (+):" "$(diff -u <(printf %s "$1") <(printf %s "$2") | tail -n +4)"
}

@test "a hundred command lines pack as in GNU parallel" {
	case_of() {
		local expected=$1 got
		shift
		got=$(timeout "$patience" "$FAIRPAR" --dry-run -k "$@" </dev/null && echo .) || return
		same "${got%.}" "$expected"
	}
	each_case
}

# In the long form each line of the table, else each sixteenth.
@test "the table of expected command lines is what GNU parallel prints" {
	need parallel
	local number=0 step
	step=$(long_or 1 16)
	case_of() {
		local expected=$1 got
		shift
		((number++ % step == 0)) || return 0
		got=$(HOME=$BATS_TEST_TMPDIR timeout "$patience" parallel --will-cite --dry-run -k "$@" </dev/null && echo .) || return
		same "${got%.}" "$expected"
	}
	each_case
}

@test "what is run is what is shown" {
	case_of() {
		local expected=$1 got
		shift
		case " $* " in *' --dry-run '* | *' --tag'* | *' -n -e '*) return 0 ;; esac
		got=$(timeout "$patience" "$FAIRPAR" -k "$@" </dev/null && echo .) || return
		same "$got" "$(sh -c "$expected" && echo .)"
	}
	each_case
}

@test "a command is filled up to the 128 KiB that the kernel takes as one string" {
	seq 100000 >items
	run_fairpar -k --xargs echo <items
	tr ' ' '\n' <"$BATS_TEST_TMPDIR/stdout" | sort -n | cmp - items
	assert_eq "$(awk 'length > n { n = length } END { print NR, n }' "$BATS_TEST_TMPDIR/stdout")" "5 131063"
	run_fairpar -k --xargs 'echo {};' <items
	tr ' ' '\n' <"$BATS_TEST_TMPDIR/stdout" | sort -n | cmp - items
}

@test "a command is no longer than -s says, whatever quotes, columns and numbers are in it" {
	local words
	for words in 'echo {}' 'echo x{}y {}' 'echo "{}" {.}' 'echo {1} {} {2}' 'echo {#}{} {-1}' "echo 'a{}'; true {}"; do
		for how in -X -m -N3; do
			run_fairpar --dry-run -k "$how" -s 60 "$words" ::: 'a b' "it's" c.d eeeee '' f g.h.i 'j k' l m n o
			awk 'length >= 60 { exit 1 }' "$BATS_TEST_TMPDIR/stdout"
			((${#lines[@]} > 1))
		done
	done
}

@test "the last items are spread evenly over the slots, with -X and -m" {
	seq 30000 >items
	run_fairpar -k -j3 -X 'echo {} | wc -w' <items
	assert_lines 23694 2102 2102 2102
	run_fairpar -k -j3 --xargs 'echo {} | wc -w' <items
	assert_lines 23694 6306
	printf '1,2\n3\n4,5\n6,7,8\n' >items
	run_fairpar -k -j2 -X --colsep , echo <items
	assert_lines '1 2 3' '4 5 6 7 8'
}

@test "lines that end with a blank go on, with -L and -l" {
	run_fairpar -k -L1 echo 'x{}y' < <(printf 'a\n\nb \n c\nd')
	assert_lines xay xy 'xb  cy' xdy
	run_fairpar -k -l echo 'x{}y' < <(printf 'a\n\nb \n')
	assert_lines xay xy 'xb y'
	run_fairpar -k -L2 --dry-run echo ::: 'a ' b c
	assert_lines "echo 'a b' c"
	# a number in the next word is that of the lines, as for GNU parallel
	for how in '-l 2' -l2 '--max-lines 2' --max-lines=2; do
		# shellcheck disable=SC2086 # two words
		run_fairpar -k $how echo < <(printf 'a\nb\nc\n')
		assert_lines 'a b' c
	done
	run_fairpar -k --max-lines echo < <(printf 'a\nb\n')
	assert_lines a b
}

@test "no item of a pack becomes a command or a part of one" {
	# shellcheck disable=SC2016
	items=(';touch pwned' '$(touch pwned)' '`touch pwned`' "';touch pwned;'" '";touch pwned;"' '|touch pwned'
		$'\ntouch pwned\n' '&touch pwned' '>pwned' '-n' "it's" 'a b' '*' '')
	printf '%s\0' "${items[@]}" >items
	# shellcheck disable=SC2016
	for words in 'printf "%s\0" {}' 'printf "%s\0" "{}"' "printf '%s\\0' '{}'" 'printf "%s\0" {};true' \
		'printf "%s\0" {}|cat' 'x=$(true {}); printf "%s\0" {}' 'true `true {}`; printf "%s\0" {}' \
		'printf "%s\0" {}&wait' '(printf "%s\0" {})'; do
		for how in -X -m --xargs -n20 -N20 --pack=auto; do
			run_fairpar -0 -j1 "$how" "$words" <items
			[[ ! -e pwned ]]
			case $words in *[\"\']{}[\"\']*) [[ $how != -X && $how != -N20 ]] && continue ;; esac
			cmp items "$BATS_TEST_TMPDIR/stdout"
		done
	done
}

@test "-X repeats a word of the shell, not what an operator follows" {
	run_fairpar -j1 --dry-run -X 'ls {}; echo' ::: a b
	assert_lines 'ls a b; echo'
	run_fairpar -j1 --dry-run -X 'cat x{}y|wc' ::: a b
	assert_lines 'cat xay xby|wc'
	run_fairpar -j1 --dry-run -X 'echo "see {} here" "x{}y" $(basename {})' ::: a b
	assert_lines 'echo "see a b here" "xay" "xby" $(basename a b)'
}

@test "an item that is too long fails alone; the others run" {
	{ seq 3 && head -c 200000 /dev/zero | tr '\0' x && printf '\n4\n5\n'; } >items
	run_fairpar 1 -k -j1 -X echo <items
	assert_lines '1 2 3' '4 5'
	assert_contains "$stderr" 'command line too long (200005 >= 131071)'
	assert_contains "$stderr" '1 of 3 jobs failed'
	run_fairpar 1 -k -j1 -m -s 12 echo ::: a bbbbbbbbbbbb c
	assert_lines a c
	assert_contains "$stderr" 'command line too long (17 >= 12)'
}

@test "an item of 100 KB fits into a command, and two are two commands" {
	head -c 100000 /dev/zero | tr '\0' x >big
	{ seq 3 && cat big && printf '\n4\n5\n'; } >items
	run_fairpar -k -j1 -X 'echo {} | wc -c' <items
	assert_lines 100011
	run_fairpar -k -j1 -X 'echo {} | wc -c' < <(cat items big)
	assert_lines 100011 100001
}

@test "with --exit nothing is read behind an item that is too long, and the status is 255" {
	run_fairpar 255 -k -j1 -x -m -s 12 echo ::: a b bbbbbbbbbbbb c
	assert_lines 'a b'
	assert_contains "$stderr" "command line too long (17 >= 12): 'bbbbbbbbbbbb'"
	run_fairpar 255 -k -j1 -x -n3 -s 12 echo ::: a b c d bbbbbbbbbbbb e
	assert_lines 'a b c' d
	assert_contains "$stderr" "command line too long (17 >= 12): 'bbbbbbbbbbbb'"
}

@test "with -N an item that cannot be one takes its place: the others do not move" {
	run_fairpar 1 -k -N2 echo '{1}={2}' < <(printf 'a\nb\nx\0y\nc\nd\ne\n')
	assert_lines a=b d=e
	assert_contains "$stderr" 'FAILED #2:'
	run_fairpar 1 -k -N2 -s 20 echo '{1}={2}' ::: a b c "$(printf '%50s' x)" d e
	assert_lines a=b d=e
}

@test "items of different batches are never packed together" {
	run_fairpar -k -j1 --batch-by '{//}' --xargs echo ::: a/1 b/1 a/2 b/2 a/3
	assert_set 'a/1 a/2 a/3' 'b/1 b/2'
	run_fairpar -k -j1 --batch-by '{//}' -N2 echo ::: a/1 b/1 a/2 b/2 a/3
	assert_set 'a/1 a/2' 'b/1 b/2' 'a/3'
	seq 3 >one
	seq 4 6 >two
	run_fairpar -k -j1 --batch one=one --batch two=two -X echo
	assert_set '1 2 3' '4 5 6'
}

@test "with more batches than packs are kept open, packs go early and no item is lost" {
	seq 3000 | awk '{ print $1 % 1200 "/" $1 }' >items
	run_fairpar -j2 --batch-by '{//}' --xargs echo <items
	tr ' ' '\n' <"$BATS_TEST_TMPDIR/stdout" | sort | cmp - <(sort items)
	awk '{ split($1, a, "/"); for (i = 2; i <= NF; i++) { split($i, b, "/"); if (a[1] != b[1]) exit 1 } }' \
		"$BATS_TEST_TMPDIR/stdout"
}

@test "without a command the lines of a pack are one command" {
	run_fairpar -k -n2 < <(printf 'echo\na\necho\n')
	assert_lines a ''
	run_fairpar -k -j1 -X < <(printf 'echo a;\necho b;\n')
	assert_lines a b
}

@test "halt and exit status count commands, not items" {
	run_fairpar 2 -n5 'false {}' < <(seq 10)
	run_fairpar 1 -j1 --halt now,fail=1 -n5 'echo {}; false' < <(seq 10)
	assert_lines '1 2 3 4 5'
}

@test "a number of items starts a command at once, also when more input is awaited" {
	make_fifo in out
	start_fairpar -a in -n2 'echo {} >out'
	exec {fd}>in
	printf 'a\nb\nc\n' >&"$fd"
	await out
	assert_eq "$line" 'a b'
	exec {fd}>&-
	await out
	assert_eq "$line" c
	end_fairpar
}

@test "the limits are shown in the words of GNU parallel" {
	run_fairpar --max-line-length-allowed
	assert_lines 131071
	run_fairpar --show-limits echo ::: a
	assert_eq "${lines[0]}" 'Maximal size of command: 131071'
	assert_eq "${lines[1]}" 'Maximal usable size of command: 131071'
	assert_eq "${lines[*]: -1}" a
	run_fairpar -X --show-limits -s 100 echo ::: a
	assert_eq "${lines[1]}" 'Maximal usable size of command: 100'
	run_fairpar --pipe --show-limits cat <<<x
	assert_eq "${lines[1]}" 'Maximal usable size of command: 131071'
}

@test "mistakes in the packing options are told" {
	run_fairpar 255 --pipe -s2 cat </dev/null
	assert_contains "$stderr" '--max-chars cannot be combined with --pipe: --block says how much data a job gets'
	run_fairpar 255 -n x echo ::: a
	assert_contains "$stderr" "--max-args must be a number such as 10 or 2k, not 'x'"
	run_fairpar 255 -s 0 -X echo ::: a
	assert_contains "$stderr" '--max-chars must be at least 1'
	run_fairpar -s 200000 -X echo ::: a
	assert_contains "$stderr" '131071'
}

# ---- --pack=auto: none of these tests depends on how long anything takes

# packs TRACE: the batch and the number of items of each process, in order, as "A1 A4 B2".
packs() {
	awk -F '[":,]+' '{ n = 1; for (i = 1; i < NF; i++) { if ($i == "batch") batch = $(i + 1); if ($i == "items") n = $(i + 1) }
		printf "%s%d ", batch, n }' "$1"
}

@test "by time, each item is given once, in fewer processes than items" {
	seq 5000 >items
	run_fairpar -j2 --pack=auto --joblog log echo <items
	tr ' ' '\n' <"$BATS_TEST_TMPDIR/stdout" | sort -n | cmp - items
	(($(wc -l <log) < 5000))
	awk -F '\t' 'NR > 1 { split($9, words, " "); if (words[2] != $1) exit 1 }' log # Seq is that of the first item
}

@test "by time, -k keeps the order of the input" {
	seq 5000 >items
	run_fairpar -j3 -k --pack=auto -n 64 echo <items
	tr ' ' '\n' <"$BATS_TEST_TMPDIR/stdout" | cmp - items
}

@test "nothing is allocated or formatted while the pool's lock is held: the trace, -t" {
	use_faults # stops at what is
	seq 3000 >items
	run_fairpar -j4 -k --pack=auto --trace-service trace echo <items
	tr ' ' '\n' <"$BATS_TEST_TMPDIR/stdout" | cmp - items
	packs trace | tr ' ' '\n' | awk '{ n += substr($1, 8) } END { exit n != 3000 }'
	run_fairpar -j3 -t --trace-service trace true ::: {1..100}
	(($(grep -c '^true' "$BATS_TEST_TMPDIR/stderr") == 100))
	(($(wc -l <trace) == 100))
}

@test "by time, -n and -s are upper bounds" {
	seq 2000 >items
	run_fairpar -j2 -k --pack=auto -n7 echo <items
	tr ' ' '\n' <"$BATS_TEST_TMPDIR/stdout" | cmp - items
	awk 'NF > 7 { exit 1 }' "$BATS_TEST_TMPDIR/stdout"
	run_fairpar -j2 -k --pack=auto -s40 echo <items
	tr ' ' '\n' <"$BATS_TEST_TMPDIR/stdout" | cmp - items
	awk 'length + 5 >= 40 { exit 1 } length > 25 { n++ } END { exit !n }' "$BATS_TEST_TMPDIR/stdout"
}

@test "by time, a command that a shell runs is never longer than with -m" {
	seq 100000 >items
	run_fairpar -j2 -k --pack=auto 'echo {};' <items
	tr ' ' '\n' <"$BATS_TEST_TMPDIR/stdout" | cmp - items
	awk 'length > 131071 - 7 { exit 1 }' "$BATS_TEST_TMPDIR/stdout"
}

@test "by time, a program takes as many items as execve() does, whatever the limit of the stack" {
	local kib
	seq 500000 >items
	for kib in 256 8192 unlimited; do
		(ulimit -S -s "$kib") 2>/dev/null || continue
		(ulimit -S -s "$kib" && exec "$FAIRPAR" -j2 -k --pack=auto /bin/echo <items >out)
		tr ' ' '\n' <out | cmp - items
	done
	{ head -n 3000 items; printf '%0131060d\n' 1 2; tail -n 3000 items; } >long
	run_fairpar -j2 -k --pack=auto /bin/echo <long
	tr ' ' '\n' <"$BATS_TEST_TMPDIR/stdout" | cmp - long
}

@test "by time, items have their numbers, wherever the commands are divided" {
	seq 3000 >items
	run_fairpar -j3 -k --pack=auto -n 7 'echo {#} {}' <items
	awk '$1 != $2 { exit 1 } { for (i = 2; i <= NF; i++) if ($i != ++n) exit 1 } END { exit n != 3000 }' "$BATS_TEST_TMPDIR/stdout"
	run_fairpar -j2 -k --pack=auto -n 5 'echo $FAIRPAR_JOB {}' <items
	awk '$1 != "default#" $2 { exit 1 }' "$BATS_TEST_TMPDIR/stdout"
}

@test "by time, an item that comes alone begins at once" {
	make_fifo input one two three
	exec 5<>input
	start_fairpar -j1 --pack=auto 'for item in {}; do echo "$item" >"$item"; done' <input 5>&-
	for item in one two three; do
		echo "$item" >&5
		await "$item"
	done
	exec 5>&-
	end_fairpar 0
}

@test "by time, batches take turns, whatever sizes their packs have" {
	seq 60 >a; seq 60 >b
	# each job waits until the run has the next pack of its batch: it is answered by the thread that makes them
	run_fairpar -j1 --pack=auto -n4 --batch A=a --batch B=b --trace-service trace \
		'"$FAIRPAR" --status >status && "$FAIRPAR" --status >status; : {}'
	packs trace | tr ' ' '\n' | awk '
		{ batch = substr($1, 1, 1); n = substr($1, 2) }
		had["A"] < 60 && had["B"] < 60 && batch == before || n > 4 { exit 1 }
		{ had[batch] += n; before = batch }
		END { exit had["A"] != 60 || had["B"] != 60 }'
}

@test "by time, each batch has its own size of packs" {
	seq 200 >cheap; seq 4 >dear
	# what takes more than 100 ms goes alone, however slow the machine is
	run_fairpar -j1 --pack=auto --batch C=cheap --batch D=dear --trace-service trace \
		'[ $FAIRPAR_BATCH = C ] || sleep 0.11; : '
	assert_eq "$(packs trace | tr ' ' '\n' | grep D | tr '\n' ' ')" "D1 D1 D1 D1 "
	packs trace | tr ' ' '\n' | grep -vx 'C1' | grep -q C
}

@test "by time, items of different batches are never put together" {
	seq 5000 | awk '{ print $1 % 300 "/" $1 }' >items
	run_fairpar -j2 --pack=auto --batch-by '{//}' echo <items
	tr ' ' '\n' <"$BATS_TEST_TMPDIR/stdout" | sort | cmp - <(sort items)
	awk '{ split($1, a, "/"); for (i = 2; i <= NF; i++) { split($i, b, "/"); if (a[1] != b[1]) exit 1 } }' \
		"$BATS_TEST_TMPDIR/stdout"
}

@test "by time, items that were on disk come once, and in order" {
	seq 4000 | awk '{ print $1 % 3 "/" $1 }' >items
	run_fairpar -j1 --pack=auto --queue-mem 300K --batch-by '{//}' echo <items
	tr ' ' '\n' <"$BATS_TEST_TMPDIR/stdout" | sort -t / -k 1,1 -s | cmp - <(sort -t / -k 1,1 -s items)
}

@test "by time, exit status and halt count processes, and the summary counts items" {
	run_fairpar any -j1 --pack=auto -n5 --joblog log false <<<"$(seq 50)"
	assert_eq "$status" "$(($(wc -l <log) - 1))"
	assert_contains "$stderr" '50 of 50 items failed'
	[[ $stderr =~ FAILED\ #[0-9]+:\ exit\ 1,\ [2-5]\ items,\  ]] || fail "$stderr" # by the time that the first took
	run_fairpar 1 -j1 --pack=auto --halt soon,fail=1 'echo {}; false' <<<"$(seq 50)"
	assert_lines 1
	assert_contains "$stderr" '1 of 50 items failed; 49 cancelled'
}

@test "by time, summary and log count items" {
	run_fairpar any -j1 --pack=auto -n5 --summary=always --log log 'exit 1; : {}' <<<"$(seq 50)"
	assert_contains "$stderr" '50 items in '
	assert_contains "$stderr" ', 50 failed'
	assert_contains "$(tail -n 1 log)" '"ok":0,"failed":50,"cancelled":0'
	assert_eq "$(grep '"ev":"job_end"' log | sed 's/.*"items":\([0-9]*\).*/\1/; s/^{.*/1/' | awk '{ n += $1 } END { print n }')" 50
	cp "$BATS_TEST_TMPDIR/stderr" live
	run_fairpar any --from-log log
	assert_contains "$output$stderr" '50 items in '
	assert_contains "$output$stderr" ', 50 failed'
}

@test "by time, retries, steps and on-failure have all items of the process" {
	seq 40 >items
	run_fairpar -j1 --pack=auto -n6 --retries 2 --then 'echo {} >>steps' \
		'echo {} >>tries; mkdir d{#} 2>/dev/null && exit 1; :' <items
	awk 'NR % 2 && ($0 != last || NR == 1) { last = $0; next } $0 != last { exit 1 }' tries
	assert_eq "$(tr ' ' '\n' <tries | sort -n)" "$(sort -n items items)"
	assert_eq "$(tr ' ' '\n' <steps | sort -n)" "$(cat items)"
	run_fairpar any -j1 --pack=auto -n6 --on-failure 'echo {} >>failed' 'exit 1; : {}' <items
	assert_eq "$(tr ' ' '\n' <failed | sort -n)" "$(cat items)"
}

@test "by time, an item that cannot be one fails alone" {
	run_fairpar 1 -j1 -k --pack=auto echo < <(printf 'a\nx\0y\nb\n')
	assert_lines a b
	run_fairpar 1 -j1 -k --pack=auto -s12 echo ::: a bbbbbbbbbbbb c
	assert_lines a c
	assert_contains "$stderr" 'command line too long (17 >= 12)'
	assert_contains "$stderr" 'FAILED #2: cannot run'
	run_fairpar 255 -j1 -k --pack=auto -x -s12 echo ::: a bbbbbbbbbbbb c
	assert_lines a
}

@test "by time, an interrupted run counts the items that did not run" {
	make_fifo started go
	start_fairpar -j1 --pack=auto 'echo {} >started; read -r _ <go' ::: 1 2 3 4 5
	await started
	kill -INT "$fairpar_pid"
	end_fairpar 130
	assert_contains "$stderr" 'items: 5 cancelled'
}

@test "by time, -t shows each process once" {
	run_fairpar -j3 -t --pack=auto -n9 true <<<"$(seq 300)"
	assert_eq "$(tr ' ' '\n' <<<"$stderr" | grep '[0-9]' | sort -n)" "$(seq 300)"
}

@test "by time, a dry run shows a command for each item" {
	run_fairpar --pack=auto --dry-run echo ::: a b c
	assert_lines 'echo a' 'echo b' 'echo c'
}

@test "by time, what says otherwise how many items go together is refused" {
	local words
	for words in '-N2 echo' '-L2 echo' '-l echo' '-X echo' '-m echo' '--xargs echo' '-n0 echo' '--tag echo' \
		'--results r echo' '--joblog l --resume echo' '--joblog l --resume-failed echo' \
		'--halt soon,fail=10% echo' '--timeout 200% echo' '--pipe cat' 'echo {1}' '--then echo\ {2} echo' '' \
		'-f manifest' '--pack=5 echo'; do
		eval "run_fairpar 255 --pack=auto $words" <<<a
		assert_contains "$stderr" '--pack'
		assert_eq "$(wc -l <"$BATS_TEST_TMPDIR/stderr")" 1
		assert_eq "$output" ''
	done
	run_fairpar any --pack=auto --joblog l -j1 false ::: a b c
	run_fairpar any --pack=auto --joblog l --retry-failed # the commands of the log are complete
	assert_eq "$(tail -n +2 l | wc -l)" $((2 * status))
	run_fairpar 255 --pack=auto --header : echo '{a}' < <(printf 'a\nb\n')
	assert_contains "$stderr" '--pack'
}
