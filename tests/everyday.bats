# Everyday command lines of GNU parallel: each does what tests/everyday.txt says, and what the real program does.

load helper

setup() {
	helper_setup
	table=$BATS_TEST_DIRNAME/everyday.txt
	export HOME=$BATS_TEST_TMPDIR/home X=x
	unset XDG_RUNTIME_DIR
	mkdir -p "$HOME/.parallel" bin
	: >"$HOME/.parallel/will-cite"
	ln -s "$FAIRPAR" bin/parallel
	ln -s "$FAIRPAR" bin/sem
}

# The files that the command lines are about.
make_files() {
	mkdir h
	printf 'a b\nabc\n' >a.txt
	printf 'b\n' >b.txt
	printf one >one.jpg
	printf two >two.jpg
	echo h1 >h/p.html
	echo h2 >q.html
	seq 1000 >nums
	printf '%s\n' n1 n2 n3 >names
	printf 'x1\nx2\n' >xlist
	printf 'y1\ny2\n' >ylist
	printf 'o1\ta\tb\no2\tc\td\n' >table.tsv
	printf 'Name\tE-mail address\nAnn\tann@x.org\n' >addressbook.tsv
	printf 'a,b,c' >commas
	printf 'a,b\nc,d\n' >csv
	printf 'name,age\nAnn,7\n' >csvh
}

# run_table PATH SKIP: runs the command lines with that PATH, but for those under a heading that begins with SKIP, and
# prints what differs.
run_table() {
	local line command='' skip='' path=$1 pattern=$2
	while IFS= read -r line; do
		case $line in
		"# $pattern"*) skip=1 ;;
		'$ '*)
			check_line
			command=${line#'$ '} expected=''
			;;
		'| '*) expected+=${line#'| '}$'\n' ;;
		'|') expected+=$'\n' ;;
		'') check_line; skip='' ;;
		esac
	done <"$table"
	check_line
}

check_line() {
	[[ -n $command && -z $skip ]] || { command=''; return 0; }
	local got dir=$BATS_TEST_TMPDIR/work/each
	rm -rf "$dir"
	mkdir "$dir"
	got=$(
		cd "$dir" || exit
		make_files
		PATH=$path:$PATH timeout -k 5 60 bash -c "$command" </dev/null 2>/dev/null 3>&-
		echo .
	)
	if [[ $got != "$expected." ]]; then
		printf '$ %s\n' "$command"
		diff <(printf '%s' "$expected") <(printf '%s' "${got%.}")
	fi
	command=''
}

@test "everyday command lines of GNU parallel do what people expect" {
	[[ $(grep -c '^\$ ' "$table") -ge 100 ]]
	assert_eq "$(run_table "$PWD/bin" 'nothing')" ''
}

@test "everyday command lines do the same with the real program" {
	need parallel
	need sem
	[[ $(parallel --version) == 'GNU parallel 20221122'* ]] || skip 'parallel is not GNU parallel 20221122'
	assert_eq "$(run_table "$(dirname "$(command -v parallel)")" differs)" ''
}

# bats runs `parallel --keep-order --jobs N bats-exec-file FLAGS {} LIST ::: FILE …` (bats-exec-suite).
@test "bats -j 2 runs fairpar's own tests with fairpar as its parallel" {
	local tests=$BATS_TEST_DIRNAME status=0 inner=:$PATH:
	inner=${inner//":$(dirname "$(command -v bats-exec-suite)"):"/:} # where `bats` is only a part of bats
	env -i PATH="$PWD/bin$inner/bin" HOME="$HOME" TMPDIR="$TMPDIR" FAIRPAR="$FAIRPAR" FAIRPAR_TEST="$FAIRPAR_TEST" \
		timeout -k 5 300 bats -j 2 "$tests/outcome.bats" "$tests/house.bats" >log 2>&1 </dev/null 3>&- || status=$?
	cat log
	assert_eq "$status" 0
	assert_eq "$(grep -c '^ok ' log)" "$(cat "$tests/outcome.bats" "$tests/house.bats" | grep -c '^@test')"
}
