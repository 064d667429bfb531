# Everyday command lines of GNU parallel do what tests/everyday.txt and everyday-options.txt say, and what the real program does.

load helper

setup() {
	helper_setup
	cat "$BATS_TEST_DIRNAME"/everyday*.txt >"$BATS_TEST_TMPDIR/table"
	table=$BATS_TEST_TMPDIR/table
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
	printf '%s\n' A B C >abc-file
	printf '%s\n' D E F >def-file
	printf 'A\0B\0C\0' >abc0-file
	printf A_B_C_ >abc_-file
	printf 'f1\tf2\nA\tB\nC\tD\n' >tsv-file.tsv
	printf '%s\n' {1..8} >num8
	printf '%%head1\n%%head2\n1\n2\n3\n4\n5\n' >num_%header
	printf HHHHAAABBBCCC >fixedlen
	printf '>s1\nAA\nCC\n>s2\nGG\n>s3\nTT\nAA\n' >fasta
	printf 'a b\nc  d\n e \n\nf\n' >spaces
	printf 'x\ny' >nonl
	: >empty
}

# run_table PATH SKIP EVERY: runs every so-manieth of the command lines with that PATH, but for those under a heading that
# begins with SKIP, and prints what differs.
run_table() {
	local line command='' skip='' path=$1 pattern=$2 every=$3 count=0
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
	if [[ -z $command || -n $skip ]] || ((count++ % every != 0)); then
		command=''
		return 0
	fi
	local got tool dir=$BATS_TEST_TMPDIR/work/each
	for tool in bc gzip perl; do
		if [[ $command == *"$tool "* || $command == *"$tool" ]] && ! command -v "$tool" >/dev/null; then
			echo "# not run, for $tool is not installed: $command" >&3
			command=''
			return 0
		fi
	done
	rm -rf "$dir"
	mkdir "$dir"
	got=$(
		cd "$dir" || exit
		make_files
		PATH=$path:$PATH timeout -k 5 "$patience" bash -c "$command" </dev/null 2>/dev/null 3>&-
		echo .
	)
	if [[ $got != "$expected." ]]; then
		printf '$ %s\n' "$command"
		diff <(printf '%s' "$expected") <(printf '%s' "${got%.}")
	fi
	command=''
}

@test "everyday command lines of GNU parallel do what people expect" {
	[[ $(grep -c '^\$ ' "$table") -ge 299 ]]
	assert_eq "$(run_table "$PWD/bin" nothing 1)" ''
}

@test "everyday command lines do the same with the real program" {
	need parallel
	need sem
	[[ $(parallel --version) == 'GNU parallel 20221122'* ]] || skip 'parallel is not GNU parallel 20221122'
	# it takes its time, and what it prints is what the table says already: some are enough to know that it still does
	assert_eq "$(run_table "$(dirname "$(command -v parallel)")" differs "$(long_or 1 16)")" ''
}

# bats runs `parallel --keep-order --jobs N bats-exec-file FLAGS {} LIST ::: FILE …` (bats-exec-suite).
@test "bats -j 2 runs fairpar's own tests with fairpar as its parallel" {
	local tests=$BATS_TEST_DIRNAME status=0 inner=:$PATH:
	inner=${inner//":$(dirname "$(command -v bats-exec-suite)"):"/:} # where `bats` is only a part of bats
	env -i PATH="$PWD/bin$inner/bin" HOME="$HOME" TMPDIR="$TMPDIR" FAIRPAR="$FAIRPAR" FAIRPAR_TEST="$FAIRPAR_TEST" \
		timeout -k 5 "$patience" bats -j 2 "$tests/outcome.bats" "$tests/continuations.bats" >log 2>&1 </dev/null 3>&- || status=$?
	cat log
	assert_eq "$status" 0
	assert_eq "$(grep -c '^ok ' log)" "$(cat "$tests/outcome.bats" "$tests/continuations.bats" | grep -c '^@test')"
}
