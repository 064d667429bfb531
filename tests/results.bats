# shellcheck shell=bash disable=SC2154 # what helper.bash sets
# Output that goes into files and tables: --results and --files.

load helper

# All files below here with what is in them, without times and chosen names.
dump() {
	local file
	find . -type f ! -name 'their.*' | LC_ALL=C sort | while read -r file; do
		echo "== $file"
		cat -A "$file"
		echo
	done | mask
}

mask() {
	sed -E 's/1[0-9]{9}\.[0-9]{3}/TIME/g; s/(: |[,]|\^I)[0-9]\.[0-9]{3}([,]|\^I)/\1TAKEN\2/g; s/par.....\.par/PAR/g'
}

# fairpar and GNU parallel make the same files, and the same output.
same_as_parallel() {
	local ours theirs their_output
	rm -rf ./*
	run_fairpar any "$@"
	ours=$(dump)
	if command -v parallel >/dev/null; then
		mkdir "$BATS_TEST_TMPDIR/theirs"
		pushd "$BATS_TEST_TMPDIR/theirs" >/dev/null || return
		theirs=0
		their_output=$(parallel --will-cite "$@" 2>/dev/null) || theirs=$?
		assert_eq "$ours" "$(dump)"
		assert_eq "$(mask <<<"$output")" "$(mask <<<"$their_output")"
		assert_eq "$status" "$theirs"
		popd >/dev/null || return
		rm -r "$BATS_TEST_TMPDIR/theirs"
	fi
}

files() {
	find . -type f | LC_ALL=C sort | xargs -d '\n'
}

@test "--results DIR keeps stdout, stderr and the number of each job" {
	same_as_parallel --results out 'echo {}; echo err >&2; exit 3' ::: a b
	assert_eq "$status" 2
	assert_eq "$output" ""
	assert_eq "$(files)" \
		"./out/1/a/seq ./out/1/a/stderr ./out/1/a/stdout ./out/1/b/seq ./out/1/b/stderr ./out/1/b/stdout"
	assert_eq "$(cat out/1/b/stdout out/1/b/stderr out/1/b/seq)" "b
err
2"
}

@test "arguments become names of directories as in GNU parallel" {
	same_as_parallel -j1 --results out echo ::: a/b $'x\ty' 'c\d' 'a b' '*' .
	assert_eq "$(cd out/1 && printf '%s ' */stdout)" '*/stdout a b/stdout a\_b/stdout c\\d/stdout x\ty/stdout '
}

@test "several columns make several levels, sorted by their names" {
	same_as_parallel --results out echo {1} {2} ::: I II ::: III
	[[ -f out/1/II/2/III/stdout ]]
	same_as_parallel --header : --results named echo {y} {x} ::: y 1 ::: x 2
	[[ -f named/x/2/y/1/stdout ]]
}

@test "an argument longer than a file name may be is cut" {
	local long
	long=$(printf 'x%.0s' {1..300})
	same_as_parallel --results out echo ::: "$long"
	[[ -f out/1/${long:0:255}/stdout ]]
}

@test "--results with replacement strings is the file, or the directory with a slash at its end" {
	same_as_parallel -j1 --results 'o/{#}-{/}.txt' 'echo {}; echo e >&2' ::: a b/c
	assert_eq "$(files)" "./o/1-a.txt ./o/1-a.txt.err ./o/1-a.txt.seq ./o/2-c.txt ./o/2-c.txt.err ./o/2-c.txt.seq"
	same_as_parallel -j1 --results 'd/{}/' echo ::: a
	assert_eq "$(cat d/a/stdout)" a
}

@test "--files with --results prints the names, in order, with their tags" {
	same_as_parallel -k --results out --files --tag echo ::: 1 2
	assert_lines "1	out/1/1/stdout" "2	out/1/2/stdout"
	same_as_parallel -j1 --results out --lb echo ::: 1 2
	assert_lines out/1/1/stdout out/1/2/stdout
}

@test "--files keeps stdout in files of its own, and loses no stderr" {
	run_fairpar 2 -k --files 'echo {}; echo err >&2; exit 1' ::: 1 2
	assert_eq "${#lines[@]}" 2
	assert_eq "$(cat "${lines[@]}")" "1
2"
	[[ ${lines[0]} =~ ^"$TMPDIR"/par.....\.par$ ]]
	assert_contains "$stderr" "err
err"
	rm "${lines[@]}"
	run_fairpar -k --files0 --tmpdir . echo ::: 1 2
	assert_eq "$(tr '\0' '\n' <"$BATS_TEST_TMPDIR/stdout" | xargs cat)" "1
2"
}

@test "only the last attempt is kept, and all steps" {
	run_fairpar 1 --results out --retries 3 'echo x >>n; wc -l <n; exit 1' ::: a
	assert_eq "$(cat out/1/*/stdout)" 3
	run_fairpar --results steps --then 'echo then {}' echo ::: a
	assert_eq "$(cat steps/1/a/stdout)" "a
then a"
}

@test "--results FILE.csv has a row for each job, in order with -k" {
	same_as_parallel -k --results x.csv 'printf "%s\n" {}; echo err >&2; exit 2' ::: 'c,d' $'x\ty' 'back\sl' '' 'a b'
	assert_eq "$output" ""
	assert_eq "$(mask <x.csv | head -n 4)" 'Seq,Host,Starttime,JobRuntime,Send,Receive,Exitval,Signal,Command,V1,Stdout,Stderr
1,:,TIME,TAKEN,0,4,2,0,"printf ""%s\n"" '"'c,d'"'; echo err >&2; exit 2","c,d","c,d
","err
"'
}

@test "--results DIR of packed items has the columns of each" {
	same_as_parallel -j1 --results out -N2 echo ::: a b c
	assert_eq "$(find out -name stdout | sort | paste -sd ' ')" 'out/1/a/1/b/stdout out/1/c/stdout'
	same_as_parallel -j1 --results out -X echo ::: a b ::: c
	assert_eq "$(find out -name stdout)" 'out/1/a/2/c/1/b/2/c/stdout'
	same_as_parallel -j1 --results out --header : -n2 echo ::: h a b
}

@test "--results FILE.tsv and .json have the same, and -.json is stdout" {
	same_as_parallel -k --results x.tsv --tag 'echo {}; printf "b\rc\nd"' ::: 1 2
	same_as_parallel -k --results x.json 'echo {}; kill -9 $$' ::: $'a"\tb'
	assert_eq "$(mask <x.json)" '{ "Seq": 1, "Host": ":", "Starttime": TIME, "JobRuntime": TAKEN, "Send": 0, "Receive": 5, "Exitval": 0, "Signal": 9, "Command": "echo '"'a\\\"\\u0009b'"'; kill -9 $$", "V": [ "a\"\u0009b" ], "Stdout": "a\"\u0009b\u000a", "Stderr": "" }'
	run_fairpar -k --results -.json echo ::: 1 2
	assert_eq "${#lines[@]}" 2
	assert_contains "${lines[1]}" '"V": [ "2" ], "Stdout": "2\u000a"'
}

@test "names of columns are the header of a table" {
	same_as_parallel -k --header : --results x.csv echo {b} {a} ::: b 1 2 ::: a 3
	assert_contains "$(head -n 1 x.csv)" ",Command,b,a,Stdout,Stderr"
}

@test "large output comes whole into files and tables" {
	run_fairpar -j2 --results out 'seq {}' ::: 300000 200000
	seq 300000 | cmp - out/1/300000/stdout
	run_fairpar -j2 --results x.tsv 'seq {}' ::: 100000
	seq 100000 | cmp - <(sed '1d; 2s/.*"//; $d' x.tsv)
}

@test "a full disk is an error that names file and cause, and the job has no row" {
	mkdir -p out/1/a out/1/b
	ln -s /dev/full out/1/a/stdout
	run_fairpar 255 -j1 --joblog log --results out echo ::: a b
	assert_contains "$stderr" "cannot write 'out/1/a/stdout': No space left on device"
	assert_eq "$(cut -f 1 log)" Seq
	ln -s /dev/full x.csv
	run_fairpar 255 -j1 --results x.csv echo ::: a b
	assert_contains "$stderr" "cannot write to x.csv: No space left on device"
}

@test "what cannot be made is named with the cause, and nothing runs" {
	touch file
	run_fairpar 255 --results file/x 'touch ran;' ::: a
	assert_contains "$stderr" "cannot write 'file/x/1/a/': Not a directory"
	run_fairpar 255 --results no/x.csv 'touch ran;' ::: a
	assert_contains "$stderr" "cannot write 'no/x.csv': No such file or directory"
	[[ ! -e ran ]]
}

@test "a dry run makes no files" {
	run_fairpar --results out --dry-run echo ::: a
	assert_lines "echo a"
	assert_eq "$(files)" ""
}

@test "a table does not go with output that comes before the job's end" {
	run_fairpar 255 --results x.csv -u echo ::: a
	assert_contains "$stderr" "--results x.csv cannot be combined with --ungroup: each row holds the whole output of a job"
}
