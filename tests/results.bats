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
	sed -E 's/1[0-9]{9}\.[0-9]{3}/TIME/g; s/(: |[,]|\^I)[0-9]\.[0-9]{3}([,]|\^I)/\1TAKEN\2/g; s/par.{5,6}\.par/PAR/g'
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
	same_as_parallel -j1 --results out echo ::: a/b $'x\ty' 'c\d' 'a b' '*'
	assert_eq "$(cd out/1 && printf '%s ' */stdout)" '*/stdout a b/stdout a\_b/stdout c\\d/stdout x\ty/stdout '
}

@test "several columns make several levels, sorted by their names" {
	same_as_parallel --results out echo {1} {2} ::: I II ::: III
	[[ -f out/1/II/2/III/stdout ]]
	same_as_parallel --header : --results named echo {y} {x} ::: y 1 ::: x 2
	[[ -f named/x/2/y/1/stdout ]]
}

# names COUNT DIR: so many files called stdout are below DIR, and nothing has come to be outside of it.
names() {
	assert_eq "$(find "$2" -name stdout -printf x | wc -c)" "$1"
	assert_eq "$(ls)" "$2"
	assert_eq "$(ls "$BATS_TEST_TMPDIR")" "$(printf '%s\n' pools stderr stdout tmp work)"
	assert_eq "$(ls "$FAIRPAR_POOL_DIR")" ''
}

@test "whatever is in an item, it is one name below DIR, and two items have two" {
	local long item
	local -a items
	long=$(printf 'x%.0s' {1..255})
	items=(a a/b 'a\_b' ../../evil /evil ../evil . .. '\.' '' '\0' / // '\' $'\t' '\t' $'a\nb' $'\xff' "$long" "${long}y"
		"${long}z" "${long:1}/" "${long:1}"'\_')
	printf '%s\0' "${items[@]}" | run_fairpar -0 --results R 'printf %s {}'
	names ${#items[@]} R
	for item in "${items[@]}"; do
		printf '%s\0' "$item"
	done | sort -z | cmp - <(find R -name stdout -exec sh -c 'for f; do cat "$f"; printf "\\0"; done' sh {} + | sort -z)
	assert_eq "$(cat 'R/1/\./stdout' 'R/1/\../stdout' 'R/1/\0/stdout' 'R/1/..\_..\_evil/stdout')" "...../../evil"
}

@test "a name that is too long for a file is its beginning and its SHA-256" {
	local long sum
	long=$(printf 'x%.0s' {1..300})
	sum=$(printf %s "$long" | sha256sum)
	run_fairpar --results out echo ::: "$long"
	assert_eq "$(cat "out/1/${long:0:189}\\#${sum%% *}/stdout")" "$long"
	long=$(printf 'é%.0s' {1..150})
	run_fairpar --results uni echo ::: "$long" "$(printf '\\%.0s' {1..150})"
	sum=$(printf %s "$long" | sha256sum)
	assert_eq "$(cat "uni/1/$(printf 'é%.0s' {1..94})\\#${sum%% *}/stdout")" "$long"
	sum=$(printf '\\%.0s' {1..300} | sha256sum)
	[[ -f uni/1/$(printf '\\%.0s' {1..188})\\#${sum%% *}/stdout ]]
}

@test "the name of a column is one name below DIR, too" {
	printf '%s\n' ../../evil x | run_fairpar --header : --results R echo
	names 1 R
	assert_eq "$(cat 'R/..\_..\_evil/x/stdout')" x
	rm -r R
	printf '..\t\t.\na\tb\tc\n' | run_fairpar --header : --colsep '\t' --results R echo
	names 1 R
	[[ -f R/\\0/b/\\./c/\\../a/stdout ]]
}

@test "what a replacement string puts into the path of --results is part of one name" {
	local long item
	local -a items
	long=$(printf 'x%.0s' {1..260})
	items=(a a/b ../../evil /evil .. . '' x x.err x.seq 'x\.err' "$long" "${long}y")
	printf '%s\0' "${items[@]}" | run_fairpar -0 --results 'R/{}' 'printf %s {}'
	assert_eq "$(find R -type f | wc -l) $(find . -type f | wc -l)" "39 39"
	assert_eq "$(for item in "${items[@]}"; do printf '%s\n' "$item"; done | sort)" \
		"$(find R -type f ! -name '*[^\\].err' ! -name '*[^\\].seq' -exec sh -c 'for f; do cat "$f"; echo; done' sh {} + | sort)"
	assert_eq "$(cat 'R/x\.err' 'R/\..' 'R/a\_b')" "x.err..a/b"
	rm -r R
	printf '%s\n' ../../x .. | run_fairpar --results 'R/{}.txt' echo
	run_fairpar --results 'R/{2}/.{1}' --colsep , echo ::: . .,..
	assert_eq "$(find . -type f ! -name '*.seq' ! -name '*.err' | sort)" "$(printf '%s\n' './R/..\_..\_x.txt' './R/\...txt' './R/\../.\.' './R/\0/.\.' | sort)"
	run_fairpar --results '{}.txt' echo ::: /x
	[[ -f \\_x.txt ]]
}

# planted: links that stand in the way below DIR are not followed, and the run says so.
planted() {
	local way
	for way in out/1 out/1/a out/1/a/stdout out/1/a/stderr out/1/a/seq; do
		rm -rf out outside
		mkdir -p outside "${way%/*}"
		touch outside/file
		if [[ $way == */a/* ]]; then ln -s ../../../outside/file "$way"; else ln -s "$PWD/outside" "$way"; fi
		run_fairpar 255 --results out 'touch ran;' ::: a
		assert_contains "$stderr" "error: cannot write 'out/1/a/"
		assert_contains "$stderr" "a symbolic link below the directory of --results is not followed"
		assert_eq "$(ls outside) $(cat outside/file)" "file "
		[[ ! -e ran ]]
	done
	rm -rf out outside
	mkdir outside
	ln -s outside out
	run_fairpar --results out echo ::: a
	assert_eq "$(cat outside/1/a/stdout)" a
}

@test "nothing is opened through a link below DIR" {
	planted
}

@test "nothing is opened through a link below DIR where openat2 is refused" {
	use_faults
	export FAIRPAR_FAULT
	for FAIRPAR_FAULT in openat2:1+:ENOSYS openat2:1+:EPERM; do
		planted
	done
	run_fairpar --results 'R/{1}/x/{2}' echo ::: ../a b ::: c
	assert_eq "$(cat R/..*/x/c R/b/x/c)" "../a c
b c"
}

@test "each block of --pipe has a directory with its number" {
	seq 5 | run_fairpar -N2 --pipe --results out cat
	assert_eq "$(cat out/1/1/stdout out/1/2/stdout out/1/3/stdout)" "$(seq 5)"
}

@test "--resume with --results alone runs what has not ended there" {
	run_fairpar 1 --results out --resume 'echo {} >>ran; test {} != b' ::: a b
	assert_eq "$(sort ran | xargs)" "a b"
	rm ran
	: >out/1/a/seq # as when fairpar was killed
	run_fairpar --results out --resume --dry-run echo ::: a b c
	assert_lines "echo a" "echo c"
	run_fairpar --results out --resume --summary=always 'echo {} >>ran;' ::: a b c
	assert_eq "$(sort ran | xargs)" "a c"
	assert_contains "$stderr" "1 done before"
	run_fairpar --results 't/{}' 'echo {} >>ran2;' ::: a
	run_fairpar --results 't/{}' --resume 'echo {} >>ran2;' ::: a b
	assert_eq "$(xargs <ran2)" "a b"
	run_fairpar 255 --results out --resume-failed echo ::: a
	assert_contains "$stderr" "--resume-failed needs the log of the run before: name it with --joblog FILE; --results does not say which jobs failed"
	run_fairpar 255 --results x.csv --resume echo ::: a
	assert_contains "$stderr" "--resume needs the log of the run before: name it with --joblog FILE"
}

@test "--resume takes the directories that GNU parallel has made" {
	need parallel
	parallel --will-cite --results out 'echo {} >>ran;' ::: a b/c
	run_fairpar --results out --resume 'echo {} >>ran;' ::: a b/c d
	if [[ -e 'out/1/b+zc' ]]; then # as GNU parallel names it after 2022
		assert_eq "$(sort ran | xargs)" "a b/c b/c d"
	else
		assert_eq "$(sort ran | xargs)" "a b/c d"
	fi
}

@test "a job that was cut off is no result, and runs again with --resume" {
	run_fairpar 1 -j1 --results out --halt now,fail=1 'echo {} >>ran; test {} = a' ::: a b c
	mkfifo ready
	start_fairpar --results out --resume 'echo {}; : >ready; exec sleep 1000' ::: d
	: <ready
	kill -TERM "$fairpar_pid"
	end_fairpar 143
	run_fairpar --results out --resume 'echo {} >>ran2;' ::: a b c d
	assert_eq "$(sort ran2 | xargs)" "c d"
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
	[[ ${lines[0]} =~ ^"$TMPDIR"/par......\.par$ ]]
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

@test "a row of a table has the command as it ran, and its tag, with the number of all jobs" {
	run_fairpar -k --plus --tagstring '{0#}' --results x.csv 'echo {0#} of {##} #' ::: a b c d e f g h i j
	assert_contains "$(sed -n 2p x.csv)" ',"echo 01 of 10 #",a,"01	01 of 10'
	run_fairpar 1 -k --plus --results y.csv --then 'exit 3' 'echo {##} #' ::: a
	assert_contains "$(sed -n 2p y.csv)" ',3,0,"echo 1 #",a,"1'
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
	run_fairpar --results -.json 'printf "\377é"' ::: $'\376'
	assert_contains "$output" '"V": [ "�" ], "Stdout": "�é"' # RFC 8259 wants UTF-8
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
	use_faults
	FAIRPAR_FAULT=results:1:ENOSPC run_fairpar 255 -j1 --joblog log --results out echo ::: a b
	assert_contains "$stderr" "cannot write 'out/1/a/stdout': No space left on device"
	assert_eq "$(cut -f 1 log)" Seq
	ln -s /dev/full x.csv
	run_fairpar 255 -j1 --results x.csv echo ::: a b
	assert_contains "$stderr" "cannot write to x.csv: No space left on device"
}

@test "what cannot be made is named with the cause, and nothing runs" {
	touch file
	run_fairpar 255 --results file/x 'touch ran;' ::: a
	assert_eq "$stderr" "fairpar: error: cannot write 'file/x/': Not a directory"
	run_fairpar 255 --results 'file/{}/' 'touch ran;' ::: a
	assert_eq "$stderr" "fairpar: error: cannot write 'file/': Not a directory"
	run_fairpar 255 --results no/x.csv 'touch ran;' ::: a
	assert_contains "$stderr" "cannot write 'no/x.csv': No such file or directory"
	[[ ! -e ran ]]
}

@test "files that cannot be made while jobs run halt the run, and the row of the job says which and why" {
	local i
	mkdir -p out/1
	touch out/1/{7..30}
	for ((i = 0; i < 10; ++i)); do
		run_fairpar 255 -j2 --results out 'echo x >>ran; :' ::: {1..30}
		assert_eq "$(grep -cE "^  FAILED #([78]|9): cannot write 'out/1/[789]/seq': Not a directory: " <<<"$stderr")" "$(grep -c '^  FAILED ' <<<"$stderr")"
		[[ $stderr =~ ([12])\ of\ 30\ jobs\ failed\;\ ([0-9]+)\ cancelled ]] || fail "$stderr"
		((BASH_REMATCH[1] + BASH_REMATCH[2] + $(wc -l <ran) == 30)) || fail "$stderr"
		rm ran
	done
	run_fairpar 255 -j1 --retries 3 --log log --results out 'echo ran;' ::: 7 8
	assert_contains "$(cat log)" "cannot write 'out/1/7/seq': Not a directory"
	assert_contains "$stderr" '1 of 2 jobs failed; 1 cancelled'
	[[ $stderr != *'cannot run'* ]] || fail "$stderr"
}

@test "numbers in the path are those of the run: {##}, and {0#} and {0%} with leading zeros" {
	same_as_parallel --plus -j1 --results 'out/{##}-{0#}' echo ::: 1 2 3 4 5 6 7 8 9 10
	run_fairpar -j10 --plus --results 'slots/{0%}-{0#}' echo ::: 1 2 3 4 5 6 7 8 9 10
	assert_eq "$(compgen -G 'slots/??-??' | wc -l)" 10
	run_fairpar -j10 --plus --resume --results 'out/{##}-{0#}' echo ::: 1 2 3 4 5 6 7 8 9 10
	assert_eq "$output" ""
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
