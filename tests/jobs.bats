# What a job finds when it starts, and how it is ended.

load helper

@test "a job has descriptors 0 to 2, what the caller passes on, and no others" {
	local show='ls /proc/self/fd #' # a pipeline would show its own ends now and then
	run_fairpar -j1 "$show" ::: x
	timeout "$patience" sh -c "$show" >expected 2>err 3>&-
	assert_eq "$output" "$(cat expected)"
}

@test "a job has the signals blocked and ignored that fairpar's caller had" {
	# grep's own: dash blocks all signals for a moment when it forks. Without 32 and 33, which are glibc's: its
	# posix_spawn() leaves them ignored in what make starts, its pthread_create() does not
	local show='grep -E "^Sig(Blk|Ign)" /proc/self/status; :'
	masks() {
		while read -r name mask; do
			printf '%s %x\n' "$name" $((16#$mask & ~(3 << 31)))
		done
	}
	run_fairpar "$show" ::: x
	assert_eq "$(masks <<<"$output")" "$(timeout "$patience" sh -c "$show" | masks)"
}

@test "a job leads a process group of its own" {
	run_fairpar 'ps -o pgid= -p $$ | tr -d " "; echo $$ #' ::: x
	assert_eq "${lines[0]}" "${lines[1]}"
}

@test "a job knows its batch, number, slot and attempt" {
	run_fairpar -j1 --batch B env ::: A=x
	for variable in FAIRPAR_BATCH=B FAIRPAR_JOB=B#1 FAIRPAR_SEQ=1 FAIRPAR_SLOT=1 FAIRPAR_ATTEMPT=1 PARALLEL_SEQ=1 \
		PARALLEL_JOBSLOT=1; do
		assert_contains "$output" "$variable"
	done
	assert_contains "$output" PARALLEL_PID=
}

@test "a command without shell syntax is executed directly" {
	need strace
	traced -f -e trace=execve -o calls "$FAIRPAR" /bin/true ::: 'a b' 2>/dev/null
	assert_contains "$(cat calls)" 'execve("/bin/true", ["/bin/true", "a b"]'
	assert_eq "$(grep -c "execve(\"$SHELL\"" calls)" 0
}

# Commands that bash alone reads as they are meant, and what they print; and those that sh reads so, too.
bashisms=(
	'sh -c "exit 7" &> log || echo $? {}' '7 a' 'ls {} &>>log || echo more' more 'cat <(echo {})' a 'echo {} > >(cat); wait $!' a 'ls /none/{} |& grep -c none' 1
	'[[ {} == [a-c] ]] && echo yes' yes '! [[ {} < a ]] && echo no' no 'cat <<<{}' a 'x=({} b); echo ${x[1]}' b 'x[1]={}; echo "${x[1]}"' a 'x+=({}); echo ${#x[@]}' 1
	"echo \$'\\x41' {}" 'A a' 'echo {1..3} {}' '1 2 3 a' 'echo {}{x..z}' 'ax ay az' 'echo "$(cat <<<{})"' a 'for i in {1..2}; do echo -n $i; done #{}' 12 'echo `cat <<<{}`' a
	'if [[ -n {} ]]; then echo then; fi' 'then' 'f() { [[ $1 ]] && echo f; }; f {}' f
)
plain=(
	"echo a | grep -c '[[:alpha:]]' #{}" 1 'echo a | grep -c [[:alpha:]] #{}' 1 'echo "&>" {}' '&> a' "echo '<(x)' '{1..3}' {}" '<(x) {1..3} a' 'true & wait; echo {}' a
	'echo \{1..3} {}' '{1..3} a' 'echo {1,3} {}' '{1,3} a' 'echo a # [[ &> {}' a $'cat <<E\n[[ &> {1..3} {}\nE' '[[ &> {1..3} a' 'echo x[1] {}' 'x[1] a' 'echo "${x:-{}}"' a
	'echo 1>&2 2>&1 {}' '' 'case {} in ([a-c]) echo in;; esac' in "echo \"\$'x'\" {}" "\$'x' a" 'echo [[ {} ]]' '[[ a ]]' 'echo {..} {}' '{..} a' 'echo a=(b) 2>/dev/null {}' none
)

@test "commands that only bash reads as they are meant are run by bash where nobody has named a shell" {
	need bash
	local i shell
	for shell in '' /bin/sh "$(command -v dash || echo /bin/sh)"; do
		[[ $shell ]] && export SHELL=$shell || unset SHELL
		for ((i = 0; i < ${#bashisms[@]}; i += 2)); do
			run_fairpar "${bashisms[i]}" ::: a </dev/null
			assert_eq "$output" "${bashisms[i + 1]}" || fail "${bashisms[i]}"
			[[ $shell ]] && continue
			run_fairpar <<<"${bashisms[i]//\{\}/a}" # a line is a command
			assert_eq "$output" "${bashisms[i + 1]}" || fail "line: ${bashisms[i]}"
			run_fairpar --then "${bashisms[i]}" true ::: a </dev/null
			assert_eq "$output" "${bashisms[i + 1]}" || fail "--then ${bashisms[i]}"
		done
	done
	run_fairpar {} ::: 'echo {1..3}' 'cat <<<x'
	assert_set '1 2 3' x
	run_fairpar --semaphore --fg 'cat <<<x'
	assert_lines x
	run_fairpar -q echo '{1..3}' '&>' {} ::: a
	assert_lines '{1..3} &> a'
}

@test "commands that sh reads as they are meant are run by it, and so are all where somebody has named it" {
	need dash
	need bash
	ln -s "$(command -v dash)" sh
	ln -s "$(command -v dash)" dash
	local i
	unset SHELL
	export ENV='' BASH_ENV=$PWD/told
	echo 'echo bash >>ran' >told # bash alone reads that file
	for ((i = 0; i < ${#plain[@]}; i += 2)); do
		run_fairpar any "${plain[i]}" ::: a </dev/null
		[[ ${plain[i + 1]} == none || $output == "${plain[i + 1]}" ]] || fail "${plain[i]}: $output"
		[[ ${plain[i]} == *$'\n'* ]] || run_fairpar any <<<"${plain[i]//\{\}/a}"
		[ ! -e ran ] || [[ $(readlink -f /bin/sh) == */bash ]] || fail "bash ran ${plain[i]}"
	done
	for i in ./sh ./dash; do
		run_fairpar --shell "$i" 'echo {1..3} {}' ::: a
		assert_lines '{1..3} a'
		PARALLEL_SHELL=$i run_fairpar 'echo {1..3} {}' ::: a
		assert_lines '{1..3} a'
	done
	printf 'version: 1\nbatches: {a: {args: [a], shell: ./dash, run: "echo {1..3} {}"}}\n' >m.yaml
	run_fairpar -f m.yaml
	assert_lines '{1..3} a'
}

@test "a command that needs bash is refused before anything runs where there is no bash, and in a manifest" {
	mkdir bin
	ln -s "$(command -v touch)" bin
	unset SHELL
	local key
	printf '#!/bin/sh\nPATH=%s exec %s "$@"\n' "$PWD/bin" "$FAIRPAR" >without_bash
	chmod +x without_bash
	FAIRPAR=./without_bash run_fairpar 255 --then 'touch ran' 'cat <<<{}' ::: a </dev/null
	assert_eq "$stderr" "fairpar: error: /bin/sh does not know '<<<', and there is no bash: name a shell that knows it by --shell"
	FAIRPAR=./without_bash run_fairpar 1 -k <<<$'cat <<<a\necho b;'
	assert_lines b
	assert_contains "$stderr" "job #1: /bin/sh does not know '<<<', and there is no bash: name a shell that knows it by --shell"
	for key in 'run: "make {} &> log"' 'args_from: {command: "ls &> log"}, run: "echo {}"' 'run: "echo {}", then: ["echo {}", "make {} &> log"]' \
		'run: "echo {}", on_failure: "make &> log"' 'run: "echo {}", finally: "make &> log"'; do
		[[ $key == *args_from* ]] || key="args: [a], $key"
		printf 'version: 1\nbatches:\n  b: {run: touch ran}\n  a: {%s}\n' "$key" >m.yaml
		run_fairpar 255 -f m.yaml
		assert_contains "$stderr" "m.yaml:4:"
		assert_contains "$stderr" "error: the shell that runs this is /bin/sh, which may not know '&>'"
		assert_contains "$stderr" 'use bash: shell: bash'
	done
	printf 'version: 1\nbatches:\n  a:\n    commands: ["true", "echo {1..2}", {run: "[[ x ]]"}, {run: "[[ x ]]", shell: bash}]\n' >m.yaml
	run_fairpar 255 --check -f m.yaml
	assert_eq "$(grep -c 'error: the shell' <<<"$stderr")" 2
	printf 'version: 1\ndefaults: {shell: bash}\nbatches: {a: {args: [a], run: "cat <<<{}"}}\n' >m.yaml
	run_fairpar -f m.yaml
	assert_lines a
	printf 'version: 1\nbatches: {a: {args: [a], run: "echo {} &>log"}}\n' >m.yaml
	SHELL=bash run_fairpar 255 -f m.yaml
	[ ! -e ran ]
}

@test "exported bash functions work" {
	need bash
	doit() { echo "did $1"; }
	export -f doit
	run_fairpar -k doit ::: 1 2
	assert_lines "did 1" "did 2"
}

@test "--delay keeps a pause between starts" {
	run_fairpar -j4 --delay 0.1 --trace-service trace true ::: 1 2 3 4
	run awk -F'"t":' '{ split($2, t, ","); if (NR > 1 && t[1] - last < 0.099) bad = 1; last = t[1] } END { exit bad }' trace
	assert_eq "$status" 0
}

@test "-j takes all forms of GNU parallel" {
	echo 2 >jobs
	for j in 1 +1 -1 100% 50% 0 jobs; do
		run_fairpar -k -j "$j" echo ::: 1 2 3
		assert_lines 1 2 3
	done
}

@test "-j N runs N jobs at once" {
	make_fifo started{1,2,3} go{1,2,3}
	start_fairpar -j3 'echo >started{}; read -r _ <go{}' ::: 1 2 3
	await started1; await started2; await started3
	release go1; release go2; release go3
	end_fairpar
}

@test "the slot is a number from 1 to -j" {
	run_fairpar -j2 'echo {%} $FAIRPAR_SLOT' ::: 1 2 3 4 5 6
	assert_eq "$(sort -u <<<"$output" | tr '\n' ,)" "$(sort -u <<<"$output" | grep -E '^(1 1|2 2)$' | tr '\n' ,)"
}

@test "a process that a job leaves behind on purpose does not hold the job up" {
	need setsid
	make_fifo go
	run_fairpar -j1 'setsid -f sh -c "read -r _ <go" >/dev/null 2>&1; echo {}' ::: 1
	assert_lines 1
	release go
}

@test "a grandchild that keeps stdout open does not hold the job for ever" {
	make_fifo go
	run_fairpar -j1 'sh -c "read -r _ <go" & echo {}' ::: 1
	assert_lines 1
	release go
}

@test "-v prints the command before the job's output, with its tag, as GNU parallel does" {
	run_fairpar -k -v echo ::: a 'b c'
	assert_lines 'echo a' a "echo 'b c'" 'b c'
	cp "$BATS_TEST_TMPDIR/stdout" ours
	if command -v parallel >/dev/null; then
		parallel --will-cite -k -v echo ::: a 'b c' >theirs
		cmp ours theirs
	fi
	run_fairpar --tag -v echo ::: a
	assert_lines $'a\techo a' $'a\ta'
	run_fairpar -u -vv -j1 echo ::: a b
	assert_lines 'echo a' a 'echo b' b
}

@test "--workdir makes the directory, also one for each item" {
	run_fairpar -k --wd 'a/b/{}' 'pwd; echo x >file #' ::: 1 2
	assert_lines "$PWD/a/b/1" "$PWD/a/b/2"
	[[ -s a/b/2/file ]]
	run_fairpar 1 --workdir /proc/nothing/here pwd ::: 1
	assert_contains "$stderr" "cannot make the directory '/proc/nothing/here'"
	export HOME=$PWD/S/home # no replacement string in there
	run_fairpar -k --workdir ... --seqreplace S 'touch x; ls #' ::: a b
	assert_lines x x
	assert_eq "$(find S/home/.parallel/tmp -name x | wc -l)" 2
	HOME='' run_fairpar 255 --workdir ... pwd ::: 1
	assert_contains "$stderr" "--workdir ... makes directories below \$HOME, which is ''"
}

@test "a job with --workdir finds its directory in PWD, and where it came from in OLDPWD" {
	mkdir sub
	ln -s sub link
	run_fairpar --wd sub 'pwd; echo "$PWD $OLDPWD" #' ::: a
	assert_lines "$PWD/sub" "$PWD/sub $PWD"
	run_fairpar --wd "$PWD/link" -n0 printenv PWD OLDPWD ::: a
	assert_lines "$PWD/link" "$PWD"
	run_fairpar --wd . -n0 printenv PWD ::: a
	assert_lines "$PWD"
	run_fairpar -k --wd 'd{}' 'pwd; printenv | grep -c PWD= #' ::: 1 2
	assert_lines "$PWD/d1" 2 "$PWD/d2" 2
	PWD=/wrong run_fairpar --wd sub -n0 printenv OLDPWD ::: a
	assert_lines "$PWD"
	OLDPWD=/before run_fairpar -n0 printenv OLDPWD ::: a # else both are left alone
	assert_lines /before
}
