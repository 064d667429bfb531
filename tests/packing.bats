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
		got=$(timeout 60 "$FAIRPAR" --dry-run -k "$@" </dev/null && echo .) || return
		same "${got%.}" "$expected"
	}
	each_case
}

@test "the table of expected command lines is what GNU parallel prints" {
	need parallel
	case_of() {
		local expected=$1 got
		shift
		got=$(HOME=$BATS_TEST_TMPDIR timeout 60 parallel --will-cite --dry-run -k "$@" </dev/null && echo .) || return
		same "${got%.}" "$expected"
	}
	each_case
}

@test "what is run is what is shown" {
	case_of() {
		local expected=$1 got
		shift
		case " $* " in *' --dry-run '* | *' --tag'* | *' -n -e '*) return 0 ;; esac
		got=$(timeout 60 "$FAIRPAR" -k "$@" </dev/null && echo .) || return
		same "$got" "$(sh -c "$expected" && echo .)"
	}
	each_case
}

@test "a command line is filled up to 63664 bytes, as GNU parallel counts them" {
	seq 100000 >items
	run_fairpar -k --xargs echo <items
	tr ' ' '\n' <"$BATS_TEST_TMPDIR/stdout" | sort -n | cmp - items
	assert_eq "$(awk 'length > n { n = length } END { print NR, n }' "$BATS_TEST_TMPDIR/stdout")" "10 63653"
	if command -v parallel; then
		HOME=$BATS_TEST_TMPDIR parallel --will-cite -k --xargs echo <items | cmp - "$BATS_TEST_TMPDIR/stdout"
	fi
}

@test "the last items are spread evenly over the slots, with -X and -m" {
	seq 30000 >items
	run_fairpar -k -j3 -X 'echo {} | wc -w' <items
	assert_lines 12459 10608 2311 2311 2311
	run_fairpar -k -j3 --xargs 'echo {} | wc -w' <items
	assert_lines 12459 10608 6933
}

@test "lines that end with a blank go on, with -L and -l" {
	run_fairpar -k -L1 echo 'x{}y' < <(printf 'a\n\nb \n c\nd')
	assert_lines xay xy 'xb  cy' xdy
	run_fairpar -k -l echo 'x{}y' < <(printf 'a\n\nb \n')
	assert_lines xay xy 'xb y'
	run_fairpar -k -L2 --dry-run echo ::: 'a ' b c
	assert_lines "echo 'a b' c"
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
		for how in -X -m --xargs -n20 -N20; do
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
	assert_contains "$stderr" 'command line too long (200005 >= 131070)'
	assert_contains "$stderr" '1 of 3 jobs failed'
	run_fairpar 1 -k -j1 -m -s 12 echo ::: a bbbbbbbbbbbb c
	assert_lines a c
	assert_contains "$stderr" 'command line too long (17 >= 12)'
}

@test "an item of 100 KB has a command of its own" {
	head -c 100000 /dev/zero | tr '\0' x >big
	{ seq 3 && cat big && printf '\n4\n5\n'; } >items
	run_fairpar -k -j1 -X 'echo {} | wc -c' <items
	assert_lines 6 100001 4
}

@test "with --exit nothing is read behind an item that is too long, and the status is 255" {
	run_fairpar 255 -k -j1 -x -m -s 12 echo ::: a b bbbbbbbbbbbb c
	assert_lines 'a b'
	assert_contains "$stderr" "command line too long (17 >= 12): 'bbbbbbbbbbbb'"
}

@test "with -N an item that cannot be one takes its place: the others do not move" {
	run_fairpar 1 -k -N2 echo '{1}={2}' < <(printf 'a\nb\nx\0y\nc\nd\ne\n')
	assert_lines a=b d=e
	assert_contains "$stderr" '1 of 3 jobs failed: #2'
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
	seq 10000 | awk '{ print $1 % 3000 "/" $1 }' >items
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

@test "the limits are shown as GNU parallel shows them" {
	run_fairpar --max-line-length-allowed
	assert_lines 130329
	run_fairpar --show-limits echo ::: a
	assert_eq "${lines[0]}" 'Maximal size of command: 130329'
	assert_eq "${lines[1]}" 'Maximal usable size of command: 63664'
	assert_eq "${lines[*]: -1}" a
}

@test "mistakes in the packing options are told" {
	run_fairpar 255 --pipe -n2 cat </dev/null
	assert_contains "$stderr" '--max-args packs items, and --pipe has blocks instead'
	run_fairpar 255 -n x echo ::: a
	assert_contains "$stderr" "--max-args must be a number such as 10 or 2k, not 'x'"
	run_fairpar 255 -s 0 -X echo ::: a
	assert_contains "$stderr" '--max-chars must be at least 1'
	run_fairpar -s 100000 -X echo ::: a
	assert_contains "$stderr" '63664'
}
