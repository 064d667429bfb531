# Files of jobs on other machines: --transferfile, --return, --cleanup, --trc, --basefile and --workdir ..., with a command in the place of
# ssh whose login directory is another one than here. Which path lies where is in tests/unit/file_route.c.
# shellcheck disable=SC2016,SC2154 # the commands are for the shells of the jobs; helper.bash sets what is not set here

load helper

setup() {
	helper_setup
	export FAIRPAR_REMOTE=$FAIRPAR away=$BATS_TEST_TMPDIR/away
	# As ssh: [-p PORT] [-l USER] HOST -- COMMAND; the login directory of a machine is $away/HOST, and $HOME there.
	cat >"$BATS_TEST_TMPDIR/ssh" <<'SSH'
#!/bin/sh
while [ $# -gt 0 ]; do case $1 in -p | -l | -o) shift 2 ;; -*) shift ;; *) break ;; esac; done
host=$1
shift
[ "$1" != -- ] || shift
mkdir -p "$away/$host"
cd "$away/$host" || exit
HOME=$PWD
export HOME
exec sh -c "$*"
SSH
	chmod +x "$BATS_TEST_TMPDIR/ssh"
	export HOME=$PWD PARALLEL_SSH=$BATS_TEST_TMPDIR/ssh
}

teardown() { helper_teardown; }

# What is left at the machine.
left() { (cd "$away/$1" && find . ! -path . | sort); }

@test "--transferfile takes a file below the login directory, and it stays there" {
	mkdir -p sub
	echo text >sub/file
	run_fairpar -S 1/one --transferfile {} 'cat {}; pwd' ::: sub/file </dev/null
	assert_lines text "$away/one"
	assert_eq "$(left one)" "./sub
./sub/file"
}

@test "--tf with /./ leaves out what is in front of it" {
	mkdir -p "$BATS_TEST_TMPDIR/data/in"
	echo text >"$BATS_TEST_TMPDIR/data/in/file"
	run_fairpar -S 1/one --tf "$BATS_TEST_TMPDIR/data/./{}" 'cat {}' ::: in/file </dev/null
	assert_eq "$output" text
}

@test "an absolute path is the same there" {
	mkdir data
	echo text >data/file
	run_fairpar -S 1/one --transfer 'cat {}; [ ! -e data ]' ::: "$PWD/data/file" </dev/null
	assert_eq "$output" text
}

@test "--workdir is where relative files go" {
	echo text >file
	run_fairpar -S 1/one --workdir 'w/{#}' --transfer 'pwd; cat {}' ::: file </dev/null
	assert_lines "$away/one/w/1" text
}

@test "directories, modes and times come along" {
	mkdir -p dir/sub
	echo text >dir/sub/file
	chmod 751 dir/sub/file
	touch -d '2001-02-03 04:05:06 UTC' dir/sub/file
	ln -s file dir/sub/link
	run_fairpar -S 1/one --transfer 'stat -c "%a %Y" dir/sub/file; readlink {}/sub/link' ::: dir </dev/null
	assert_lines "751 981173106" file
	echo more >dir/more
	run_fairpar -S 1/one --transfer 'cat {}/more {}/sub/file' ::: dir </dev/null
	assert_lines more text
}

@test "file names may hold anything" {
	local names=('a  b' $'new\nline' '-rf' '*' '[ab' "it's" '"' 'back\nslash' '$HOME;x' '~' $'\xff')
	mkdir d
	for name in "${names[@]}"; do echo "is $name" >"d/./$name"; done
	cd d
	printf '%s\0' "${names[@]}" | run_fairpar -0 -S 1/one -k --trc {}.out 'cat -- ./{} >./{}.out'
	for name in "${names[@]}"; do assert_eq "$(cat "./$name.out")" "is $name"; done
	assert_eq "$(left one)" ''
}

@test "a file that is not there fails its job before it runs, and no other" {
	echo >there
	run_fairpar 1 -S 1/one -k --transfer --joblog log 'echo {}' ::: none there </dev/null
	assert_eq "$output" there
	assert_contains "$stderr" "job #1: one: cannot transfer 'none': No such file or directory"
	assert_eq "$(cut -f7,9 log | sort)" "$(printf '0\techo there\n126\techo none\nExitval\tCommand')"
}

@test "a path that leads out of the work dir is refused" {
	mkdir in
	echo >file
	cd in
	run_fairpar 1 -S 1/one --transfer 'echo {}' ::: ../file </dev/null
	assert_contains "$stderr" "cannot transfer '../file': '..' in the name would lead out"
}

@test "a file that cannot be put there says what and where" {
	echo >file
	mkdir -p "$away/one/file/sub"
	run_fairpar 1 -S 1/one --transfer 'echo {}' ::: file </dev/null
	assert_eq "$output" ''
	assert_contains "$stderr" "one: cannot transfer 'file': Is a directory"
	assert_eq "$(left one)" "./file
./file/sub"
}

@test "what a job has written before its files are fetched is acknowledged to the job alone" {
	run_fairpar -S 2/one,2/two --return '{}' 'seq 40000; : >{}' ::: {1..20} </dev/null
	assert_eq "$(wc -l <"$BATS_TEST_TMPDIR/stdout")" 800000
	[[ -e 1 && -e 20 ]]
}

@test "--return fetches what the job has made" {
	run_fairpar -S 1/one --return out/{}.txt --return {}.log 'mkdir -p out; echo {} >out/{}.txt; echo log >{}.log' ::: 1 2 </dev/null
	assert_eq "$(cat out/1.txt out/2.txt 1.log)" "1
2
log"
	assert_contains "$(left one)" ./out/1.txt
}

@test "there are descriptors for the files of all jobs on the machines that are used" {
	need prlimit
	head -c 1000000 /dev/zero | tee file{1..64} >/dev/null
	prlimit --nofile=140:140 "$FAIRPAR" -S 32/one,32/two --transferfile 'file{}' --return 'back{}' 'cat file{} >back{}' ::: {1..64} </dev/null 2>stderr
	assert_eq "$(<stderr)" 'fairpar: warning: 1 of 2 machines are used: 140 descriptors allow no more (ulimit -n)'
}

@test "--return comes after much output" {
	run_fairpar -S 4/one,4/two --return {}.out 'head -c 200000 /dev/zero; echo {} >{}.out' ::: {1..40} </dev/null
	assert_eq "$(cat {1..40}.out)" "$(seq 40)"
	assert_eq "$(stat -c %s "$BATS_TEST_TMPDIR/stdout")" 8000000
}

@test "--return puts below what is in front of /./" {
	run_fairpar -S 1/one --return to/./{}.out 'mkdir -p in; echo text >{}.out' ::: in/file </dev/null
	assert_eq "$(cat to/in/file.out)" text
}

@test "--trc brings, fetches and leaves nothing" {
	mkdir -p deep/er
	for i in 1 2 3 4 5 6; do echo "$i" >"deep/er/$i"; done
	run_fairpar -S 2/one,2/two --trc {}.out 'sed s/./out\&/ {} >{}.out' ::: deep/er/? </dev/null
	assert_eq "$(cat deep/er/*.out | tr '\n' ' ')" "out1 out2 out3 out4 out5 out6 "
	assert_eq "$(left one)$(left two)" ''
}

@test "a job whose file cannot be fetched has failed, and what it had stays" {
	echo >in
	run_fairpar 1 -S 1/one --trc {}.out --joblog log 'echo {}' ::: in </dev/null
	assert_eq "$output" in
	assert_contains "$stderr" "job #1: one: cannot return 'in.out'"
	assert_contains "$stderr" "No such file"
	assert_eq "$(tail -n1 log | cut -f7)" 1
	[[ ! -e in.out ]]
}

@test "a job that has failed still gives back what it made, and is cleaned up after" {
	echo >in
	run_fairpar 1 -S 1/one --trc {}.out --joblog log 'echo half >{}.out; exit 7' ::: in </dev/null
	assert_eq "$(cat in.out)" half
	assert_eq "$(tail -n1 log | cut -f7)" 7
	assert_eq "$(left one)" ''
	run_fairpar 1 -S 1/one --trc {}.none --joblog log2 'exit 7' ::: in </dev/null
	assert_eq "$(tail -n1 log2 | cut -f7)" 7
	[[ $stderr != *"cannot return"* ]] || fail "$stderr"
}

# What other places than the working directory have, which no machine changes.
outside() { (cd "$BATS_TEST_TMPDIR/home" && find . -exec stat -c '%n %a %F %s %Y' {} + | sort && cat .bashrc); }

@test "what comes back goes nowhere but where it was asked for" {
	mkdir "$BATS_TEST_TMPDIR/home"
	echo mine >"$BATS_TEST_TMPDIR/home/.bashrc"
	local before
	before=$(outside)
	# a link there, that comes first, and then a directory
	run_fairpar any -S 1/one -j1 --return res 'rm -rf res; if [ {} = 1 ]; then ln -s "$BATS_TEST_TMPDIR/home" res; else mkdir res; echo EVIL >res/.bashrc; fi' ::: 1 2 </dev/null
	assert_eq "$(outside)" "$before"
	[[ -d res && ! -L res ]]
	rm -r res
	# the same with one job that is run again, and with two --return
	run_fairpar -S 1/one --retries 2 --return res 'rm -rf res; if mkdir "$away/once" 2>/dev/null; then ln -s "$BATS_TEST_TMPDIR/home" res; false; else mkdir res; echo EVIL >res/.bashrc; fi; : {}' ::: 1 </dev/null
	assert_eq "$(outside)" "$before"
	rm -r res
	run_fairpar any -S 1/one --return res --return res/.bashrc 'rm -rf res; mkdir d; echo EVIL >d/.bashrc; ln -s "$BATS_TEST_TMPDIR/home" res; : {}' ::: 1 </dev/null
	assert_eq "$(outside)" "$before"
	rm -rf res
	# a link in a directory
	run_fairpar any -S 1/one -j1 --return res 'rm -rf res; mkdir res; if [ {} = 1 ]; then ln -s "$BATS_TEST_TMPDIR/home" res/l; else mkdir res/l; echo EVIL >res/l/.bashrc; fi' ::: 1 2 </dev/null
	assert_eq "$(outside)" "$before"
	assert_eq "$(cat res/l/.bashrc)" EVIL
	# a link in a directory to the link of the user's in it
	ln -s "$BATS_TEST_TMPDIR/home" res/x
	run_fairpar -S 1/one --return res 'rm -rf res; mkdir -p res/d; ln -s x res/m; ln -s ../x res/d/m; : {}' ::: 1 </dev/null
	for name in res/m res/d/m; do
		run_fairpar 1 -S 1/one --return "$name/.bashrc" 'rm -rf res; mkdir -p {//}; echo EVIL >{}' ::: "$name/.bashrc" </dev/null
		assert_contains "$stderr" "cannot return '$name/.bashrc': a link in the path leads through another link to a place outside"
	done
	run_fairpar 1 -S 1/one --transferfile {} 'cat {}' ::: "$PWD/res/m" </dev/null
	assert_contains "$stderr" "cannot transfer '$PWD/res/m': a link in the path"
	assert_eq "$(outside)" "$before"
	rm -r res
	# one from yesterday
	ln -s "$BATS_TEST_TMPDIR/home" res
	run_fairpar 1 -S 1/one --return res 'rm -rf res; mkdir res; echo EVIL >res/.bashrc; : {}' ::: 1 </dev/null
	assert_eq "$(outside)" "$before"
	assert_contains "$stderr" "cannot return 'res': a directory does not replace a file or a link"
	rm res
	ln -s "$BATS_TEST_TMPDIR/home/.bashrc" out
	run_fairpar -S 1/one --return out 'echo EVIL >out; : {}' ::: 1 </dev/null
	assert_eq "$(outside)" "$before"
	assert_eq "$(cat out)" EVIL
}

# tree SEED: makes a random tree `res` of few names, which meet those of other jobs: directories, files, and links to anywhere.
tree() {
	local name=(d e f x .bashrc) to=("$BATS_TEST_TMPDIR/home" "$BATS_TEST_TMPDIR/home/.bashrc" .. ../.. ../../home ../d ../../res/e d e x . f ./d/../../..)
	local at made n depth
	RANDOM=$1
	[[ $((RANDOM % 12)) != 0 ]] || { ln -s "${to[RANDOM % ${#to[@]}]}" res && return; }
	mkdir res
	for ((n = 0; n < 12; ++n)); do
		at=res
		for ((depth = RANDOM % 4; depth > 0; --depth)); do
			at=$at/${name[RANDOM % ${#name[@]}]}
			[[ -e $at || -L $at ]] || mkdir "$at"
			[[ -d $at && ! -L $at ]] || break
		done
		made=$at/${name[RANDOM % ${#name[@]}]}
		[[ -d $at && ! -L $at && ! -e $made && ! -L $made ]] || continue
		case $((RANDOM % 4)) in
		0) mkdir "$made" ;;
		1 | 2) ln -s "${to[RANDOM % ${#to[@]}]}" "$made" ;;
		3) echo EVIL >"$made" ;;
		esac
	done
}

@test "whatever trees machines send, many at once, nothing changes outside of what was asked for" {
	mkdir "$BATS_TEST_TMPDIR/home"
	echo mine >"$BATS_TEST_TMPDIR/home/.bashrc"
	local before beside
	before=$(outside)
	mkdir mine && echo mine >mine/file
	beside=$(find . -maxdepth 1 ! -name res | sort; stat -c %Y mine mine/file)
	{ declare -f tree && echo 'tree $1'; } >"$BATS_TEST_TMPDIR/tree"
	run_fairpar any -S 8/one --workdir 'w/{}' --return res --return res/d --return res/x/.bashrc 'bash "$BATS_TEST_TMPDIR/tree" {#}' ::: $(seq "$(long_or 500 40)") </dev/null
	assert_eq "$(outside)" "$before"
	assert_eq "$(find . -maxdepth 1 ! -name res | sort; stat -c %Y mine mine/file)" "$beside"
	[[ -d res && ! -L res ]]
	assert_eq "$(find . -lname '/*'; find . -name '.fairpar.*')" ''
	# what came leads nowhere, whatever it met: each path that ends is in res
	(($(find res -type f | wc -l) > 4 && $(find res -type l | wc -l) > 4)) || fail "nothing came: $stderr"
	find res -type l -exec readlink -e {} + | grep -v "^$(readlink -f res)" && fail "a link leads out of res"
	true
}

@test "a FIFO, a device and a link out of the directory are named and do not come; the rest does" {
	run_fairpar 1 -S 1/one --return it 'mkfifo it; : {}' ::: 1 </dev/null
	assert_contains "$stderr" "cannot return 'it': this is neither a regular file nor a directory"
	[[ ! -e it ]]
	run_fairpar 1 -S 1/one --return d 'mkdir -p d/sub; echo text >d/a; mkfifo d/sub/fifo; ln -s /etc d/out; ln -s ../a d/sub/in; ln -s sub/../../x d/up; : {}' ::: 1 </dev/null
	for name in sub/fifo out up; do assert_contains "$stderr" "'d/$name': "; done
	assert_eq "$(cd d && find . | sort | tr '\n' ' ')" ". ./a ./sub ./sub/in "
	assert_eq "$(cat d/sub/in)" text
	run_fairpar -S 1/one --return l 'echo real >real; ln -sf real l; : {}' ::: 1 </dev/null
	[[ -f l && ! -L l ]]
	if mknod "$BATS_TEST_TMPDIR/null" c 1 3 2>/dev/null; then
		run_fairpar 1 -S 1/one --return null 'mknod null c 1 3; : {}' ::: 1 </dev/null
		[[ ! -e null ]]
	fi
}

@test "in a directory that both machines see nothing is brought, fetched or removed, which is said once" {
	mkdir -p "$away/one/lib"
	cd "$away/one"
	export HOME=$PWD
	echo abc >x.in
	echo def >y.in
	echo base >lib/base
	run_fairpar -S 2/one --basefile lib/base --trc "{.}.out" 'cat lib/base; tr a-z A-Z <{} >{.}.out' ::: x.in y.in </dev/null
	assert_lines base base
	assert_eq "$(cat x.in x.out y.in y.out lib/base | tr '\n' ' ')" "abc ABC def DEF base "
	assert_eq "$(grep -c 'with this machine: files in such a directory' <<<"$stderr")" 1
	# a link to a file there, from a directory that the machine does not see
	mkdir proj
	ln -s ../x.in proj/x.in
	(cd proj && run_fairpar -S 1/one --trc "{.}.out" 'tr a-z A-Z <{} >{.}.out' ::: x.in </dev/null)
	assert_eq "$(cat x.in)" abc
	(cd proj && run_fairpar -S 1/one --basefile x.in --cleanup 'cat x.in #' ::: 1 </dev/null)
	assert_eq "$(cat x.in)" abc
	# only where the file itself lies
	mkdir "$BATS_TEST_TMPDIR/far"
	echo abc >"$BATS_TEST_TMPDIR/far/z.in"
	ln -s "$BATS_TEST_TMPDIR/far" way
	cd "$BATS_TEST_TMPDIR"
	mkdir here
	cd here
	ln -s "$BATS_TEST_TMPDIR/far" way
	run_fairpar -S 1/one --trc "{.}.out" 'tr a-z A-Z <{} >{.}.out' ::: way/z.in </dev/null
	assert_eq "$(cat way/z.in way/z.out)" "abc
ABC"
}

# Passes on some bytes, each at once, and ends.
some="dd bs=65536 count=12 status=none"

# ssh_with NAME INPUT OUTPUT: as ssh, but what goes there passes by the filter INPUT, and what comes by OUTPUT.
ssh_with() {
	printf '#!/bin/sh\n%s | %s/ssh "$@" | %s\n' "$2" "$BATS_TEST_TMPDIR" "$3" >"$BATS_TEST_TMPDIR/$1"
	chmod +x "$BATS_TEST_TMPDIR/$1"
}

@test "a transfer that is cut off leaves nothing at either end, and is done again" {
	local once="mkdir $BATS_TEST_TMPDIR/once 2>/dev/null"
	ssh_with ssh.back cat "{ if $once; then $some; else cat; fi; }"
	ssh_with ssh.there "{ if $once; then $some; else cat; fi; }" cat
	run_fairpar -S 1/one --ssh "$BATS_TEST_TMPDIR/ssh.back" --return d 'mkdir -p d; head -c 3000000 /dev/zero >d/big; : {}' ::: 1 </dev/null
	assert_eq "$(find . -type f -size 3000000c)$(find . -name '.fairpar.*')" ./d/big
	rmdir "$BATS_TEST_TMPDIR/once"
	run_fairpar -S 1/one --ssh "$BATS_TEST_TMPDIR/ssh.there" --workdir w --transfer 'find {} -type f' ::: d </dev/null
	assert_lines d/big
	assert_eq "$(find "$away" -name '.fairpar.*')" ''
}

@test "the temporary files of other transfers are no files of a directory that is copied" {
	mkdir d
	echo a >d/a
	echo part >d/.fairpar.0123456789abcdef
	run_fairpar -S 1/one --transferfile d 'ls -A d #' ::: 1 </dev/null
	assert_eq "$output" a
}

@test "a directory that may not be written comes back, and again" {
	for i in 1 2; do
		run_fairpar -S 1/one --return d "chmod -R u+w d 2>/dev/null; mkdir -p d/e; echo $i >d/e/$i; chmod 555 d/e; chmod 500 d; : {}" ::: 1 </dev/null
		assert_eq "$(stat -c %a d d/e | tr '\n' ' ')" "500 555 "
	done
	assert_eq "$(cat d/e/1 d/e/2 | tr '\n' ' ')" "1 2 "
	chmod -R u+w d "$away"
}

@test "--nonall and -N0 bring and fetch files, too" {
	echo text >file
	run_fairpar -S one --nonall --transferfile file --return out 'cat file; echo out >out' </dev/null
	assert_lines text
	assert_eq "$(cat out)" out
	rm out "$away/one/file"
	run_fairpar -S one -N0 --transferfile file --return out 'cat file; echo out >out' ::: 1 </dev/null
	assert_lines text
	assert_eq "$(cat out)" out
	run_fairpar 1 -S one --nonall --transferfile {} 'echo no' </dev/null
	assert_contains "$stderr" "cannot transfer '': the name of the file is empty"
}

@test "a path may be as long as the system takes one, and a longer one is refused by name" {
	local part path=d
	part=$(printf 'p%.0s' {1..99})
	for _ in {1..40}; do path+=/$part; done
	mkdir -p "$path"
	for n in 91 92 93; do
		echo "$n" >"$path/$(printf "%0${n}d" 0)"
		run_fairpar -S 1/one --transferfile {} --cleanup 'cat {}' ::: "$path/$(printf "%0${n}d" 0)" </dev/null
		assert_eq "$output" "$n"
		[[ ! -e $away/one/d ]]
	done
	run_fairpar 1 -S 1/one --trc {}.o 'cat {}' ::: "$path/$(printf %094d 0)" </dev/null
	assert_contains "$stderr" ': File name too long'
}

@test "several items of one command each bring their file" {
	echo 1 >a
	echo 2 >b
	run_fairpar -S 1/one -N2 --trc {}.out 'for f in {}; do cp $f $f.out; done; cat {}' ::: a b </dev/null
	assert_lines 1 2
	assert_eq "$(cat a.out b.out | tr '\n' ' ')" "1 2 "
}

@test "a large file comes whole both ways" {
	head -c 5000000 /dev/urandom >big
	run_fairpar -S 1/one --trc {}.out 'cp {} {}.out' ::: big </dev/null
	cmp big big.out
}

@test "on this machine nothing is brought, fetched or removed" {
	echo text >file
	run_fairpar -S : --trc {}.out --basefile file 'cat {}' ::: file </dev/null
	assert_eq "$output" text
	[[ -e file && ! -e file.out ]]
}

@test "--basefile is there before the first job, comes once, and goes at the end with --cleanup" {
	mkdir -p lib
	echo 'echo "script $1"' >lib/script
	run_fairpar -S 2/one,2/two --basefile lib/script --cleanup 'sh lib/script {}; stat -c %i lib/script >>$HOME/inodes' ::: 1 2 3 4 5 6 7 8 </dev/null
	assert_set "script "{1,2,3,4,5,6,7,8}
	for host in one two; do
		[[ ! -e $away/$host/inodes || $(sort -u "$away/$host/inodes" | wc -l) = 1 ]]
		[[ ! -e $away/$host/lib ]]
	done
}

@test "a base file that is not there is an error before anything runs" {
	run_fairpar 255 -S 1/one --bf none 'echo {}' ::: 1 </dev/null
	assert_eq "$output" ''
	assert_eq "$stderr" "fairpar: error: --basefile 'none': No such file or directory"
}

@test "--workdir ... is a directory of each job, which --cleanup removes" {
	echo text >file
	run_fairpar -S 1/one -k --workdir ... --trc {}.out --basefile "$PWD/file" 'pwd; cp file file.out; echo >rest' ::: file </dev/null
	[[ $output = "$away/one/.parallel/tmp/"*-1 ]] || fail "$output"
	assert_eq "$(cat file.out)" text
	assert_eq "$(left one)" "./.parallel
./.parallel/tmp"
	[[ -e file ]] # its name is the same there, and so is the file
	assert_contains "$stderr" "shares the directory of '$PWD/file' with this machine"
	run_fairpar 255 -S 1/one --workdir ... --basefile file 'echo {}' ::: 1 </dev/null
	assert_contains "$stderr" "give an absolute path"
}

@test "--retries and a lost machine bring the files again" {
	echo text >file
	cat >job <<'JOB'
cat file
mkdir "$away/once" 2>/dev/null || exit 0
kill -KILL "$PPID"
sleep 1000
JOB
	run_fairpar -S 1/one,1/two --transferfile {} --transferfile job --cleanup 'sh job' ::: file </dev/null
	assert_eq "$output" text
}

@test "Ctrl-C ends a transfer, and nothing is left of it" {
	make_fifo begun
	make_fifo gate
	local stops="{ $some; echo >$PWD/begun; cat $PWD/gate; cat; }"
	mkdir here
	head -c 50000000 /dev/zero >here/big
	cd here
	ssh_with ssh.there "$stops" cat
	start_fairpar -S 1/one --ssh "$BATS_TEST_TMPDIR/ssh.there" --transfer --joblog ../log 'echo {}' ::: big </dev/null
	await ../begun
	kill -INT "$fairpar_pid"
	release ../gate
	end_fairpar 130
	assert_eq "$(wc -l <../log)" 1
	assert_eq "$(left one)" ''
	ssh_with ssh.back cat "$stops"
	start_fairpar -S 1/one --ssh "$BATS_TEST_TMPDIR/ssh.back" --return out --joblog ../log 'head -c 50000000 /dev/zero >out; : {}' ::: 1 </dev/null
	await ../begun
	kill -INT "$fairpar_pid"
	release ../gate
	end_fairpar 130
	assert_eq "$(ls -A)" big
}

@test "--dry-run brings nothing" {
	run_fairpar -S 1/one --trc {}.out --basefile . --dry-run 'cat {}' ::: none </dev/null
	assert_eq "$output" "cat none"
	[[ ! -e $away ]]
}

@test "what failed with files is run again by its items with --resume-failed, and not by its commands" {
	echo a >a.txt; echo b >b.txt
	run_fairpar 2 -S 1/one --joblog log --trc '{.}.out' 'test -e "$BATS_TEST_TMPDIR/ok" && cp {} {.}.out' ::: a.txt b.txt </dev/null
	: >"$BATS_TEST_TMPDIR/ok"
	run_fairpar -S 1/one --resume-failed --joblog log --trc '{.}.out' 'test -e "$BATS_TEST_TMPDIR/ok" && cp {} {.}.out' ::: a.txt b.txt </dev/null
	assert_eq "$(cat a.out b.out | tr '\n' ' ')" 'a b '
	run_fairpar 255 -S 1/one --joblog log --retry-failed --return '{.}.out' </dev/null
	assert_contains "$stderr" "--return cannot be combined with --retry-failed: the joblog has the commands"
}
