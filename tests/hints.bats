# What is said to who comes with the habits of another shell or program: once, at the end, where it would have helped.

load helper

# login_shell NAME: $SHELL is a program of that name, which nobody runs
login_shell() {
	mkdir -p bin
	printf '#!/bin/sh\nexit 9\n' >"bin/$1"
	chmod +x "bin/$1"
	export SHELL=$PWD/bin/$1
}

# hints: the lines of stderr that are hints
hints() {
	grep '^fairpar: hint: ' "$BATS_TEST_TMPDIR/stderr" || true
}

# warnings: those of stderr
warnings() {
	grep '^fairpar: warning: ' "$BATS_TEST_TMPDIR/stderr" || true
}

@test "a command that a shell other than \$SHELL could not run is told, with --shell" {
	login_shell zsh
	run_fairpar any -j1 'nosuchprogram {};' ::: a b
	assert_eq "$(hints)" "fairpar: hint: /bin/sh ran the commands, and not \$SHELL, '$SHELL': for that shell, use --shell $SHELL"
	run_fairpar any -j1 'print -l ${(f)x} {}' ::: a
	assert_eq "$(hints | wc -l)" 1
	for mode in --line-buffer -k --tag; do
		run_fairpar any -j1 $mode 'echo {}; )' ::: a b
		assert_contains "$(hints)" 'fairpar: hint: /bin/sh ran the commands'
	done
}

@test "a \$SHELL that cannot run commands with items is not proposed" {
	login_shell fish
	run_fairpar any 'nosuchprogram {};' ::: a
	assert_eq "$(hints)" "fairpar: hint: /bin/sh ran the commands, and not \$SHELL, '$SHELL', which cannot read the quotes around items: write the commands for sh, or name another shell with --shell"
}

@test "which shell it was is not told where it does not matter" {
	login_shell zsh
	run_fairpar any 'exit 3; {}' ::: a # it was understood
	assert_eq "$(hints)" ''
	run_fairpar any --shell sh 'nosuchprogram {};' ::: a
	assert_eq "$(hints)" ''
	FAIRPAR_SHELL='sh' run_fairpar any 'nosuchprogram {};' ::: a
	assert_eq "$(hints)" ''
	for option in --quiet --summary=never; do
		run_fairpar any "$option" 'nosuchprogram {};' ::: a
		assert_eq "$(hints)" ''
	done
	printf 'version: 1\nbatches: {a: {run: "nosuchprogram;"}}\n' >m.yaml
	run_fairpar any -f m.yaml # which has /bin/sh on every machine
	assert_eq "$(hints)" ''
	export SHELL=/bin/sh
	run_fairpar any 'nosuchprogram {};' ::: a
	assert_eq "$(hints)" ''
}

@test "a command that /bin/sh could not run because \$SHELL is not set is told, with --shell bash" {
	need bash
	[[ $(readlink -f /bin/sh) != */bash ]] || skip 'sh is bash'
	for state in unset empty; do
		[[ $state == empty ]] && export SHELL= || unset SHELL
		run_fairpar any 'echo ${HOME^^} {}' ::: a
		assert_eq "$(hints)" 'fairpar: hint: /bin/sh ran the commands, because $SHELL is not set: to have bash run them, use --shell bash'
		run_fairpar any '[[ {} = a ]]; nosuchprogram' ::: a # by bash
		assert_eq "$(hints)" ''
		run_fairpar any --shell sh 'echo ${HOME^^} {}' ::: a
		assert_eq "$(hints)" ''
		run_fairpar any 'exit 3; {}' ::: a
		assert_eq "$(hints)" ''
	done
}

@test "a function of bash that is not exported is answered with export -f" {
	need bash
	SHELL=$(command -v bash)
	my_function() { echo "got $1"; }
	run_fairpar any my_function ::: a b
	assert_eq "$(hints)" "fairpar: hint: 'my_function' was not found: if it is a function of bash, jobs know it only after export -f my_function"
	run_fairpar any ./my_function ';' ::: a # no name of a function
	assert_eq "$(hints)" ''
	run_fairpar any true 'a|my_function' ::: a # what was not found is not known
	assert_eq "$(hints)" ''
	export -f my_function
	run_fairpar my_function ::: a
	assert_lines 'got a'
}

@test "options that GNU parallel would have taken from its variable or file are told of, once" {
	export PARALLEL='--will-cite -j4'
	run_fairpar -k echo ::: a b
	assert_eq "$(warnings)" "fairpar: warning: GNU parallel's options in \$PARALLEL are not read: give them here, or give --plain"
	assert_lines a b
	PARALLEL='--will-cite # -j4' run_fairpar echo ::: a # there a comment is a whole line
	assert_eq "$(warnings)" "fairpar: warning: GNU parallel's options in \$PARALLEL are not read: give them here, or give --plain"
	mkdir -p "$PARALLEL_HOME"
	printf '# mine\n\n--will-cite\n--bar --eta\n' >"$PARALLEL_HOME/config"
	run_fairpar echo ::: a
	assert_eq "$(warnings)" "fairpar: warning: GNU parallel's options in \$PARALLEL and '$PARALLEL_HOME/config' are not read: give them here, or give --plain"
	PARALLEL=' --will-cite' run_fairpar 'echo {};' ::: a
	assert_eq "$(warnings)" "fairpar: warning: GNU parallel's options in '$PARALLEL_HOME/config' are not read: give them here, or give --plain"
	unset PARALLEL_HOME PARALLEL
	mkdir .parallel
	echo --bar >.parallel/config
	HOME=$PWD run_fairpar echo ::: a
	assert_contains "$(warnings)" "'$PWD/.parallel/config'"
}

@test "what GNU parallel would have taken is not told of where it would have changed nothing" {
	export PARALLEL=--bar
	for option in --plain --quiet; do
		run_fairpar "$option" echo ::: a
		assert_eq "$stderr" ''
	done
	printf 'version: 1\nbatches: {a: {run: "true"}}\n' >m.yaml
	run_fairpar --summary=never -f m.yaml
	assert_eq "$stderr" ''
	PARALLEL='' run_fairpar '"$FAIRPAR" echo' ::: a
	run_fairpar --plain "$FAIRPAR" echo ::: a # a nested one
	assert_eq "$stderr" ''
	PARALLEL='  --will-cite --gnu ' run_fairpar echo ::: a
	assert_eq "$stderr" ''
	mkdir -p "$PARALLEL_HOME"
	printf '#--bar\n \n' >"$PARALLEL_HOME/config"
	PARALLEL='' run_fairpar echo ::: a
	assert_eq "$stderr" ''
	rm "$PARALLEL_HOME/config"
	mkfifo "$PARALLEL_HOME/config" # nobody waits for it
	PARALLEL='' run_fairpar echo ::: a
	assert_eq "$stderr" ''
	run_fairpar --xargs echo <<<a
	assert_eq "$stderr" ''
}

@test "a topic of --help, and a batch, that is not known: all that there are are named" {
	run_fairpar 255 --help=zzzzz
	assert_contains "$stderr" "--help has no topic and no option 'zzzzz'; the topics are input replacement"
	printf '%s\n' 'version: 1' 'batches:' '  alpha: {run: "true {}", args: [1]}' '  beta: {run: "true {}", args: [1]}' >m.yaml
	run_fairpar 255 -f m.yaml nosuch
	assert_contains "$stderr" "no batch is called 'nosuch' in m.yaml; it has alpha, beta"
}

@test "--help=OPTION says what --help says of that option, by any of its names" {
	local name
	run_fairpar --help
	local all=$output
	for name in timeout --timeout tag -j j --jobs max-args f --manifest; do
		run_fairpar "--help=$name"
		assert_contains "$all" "$output"
		assert_eq "$(grep -c '^  -' <<<"$output")" 1
		[[ "$(head -n 1 <<<"$output") " == *"-${name##*-}"[\ ,]* ]] || fail "$output"
	done
	run_fairpar --help=pipe # a topic, too
	assert_contains "$output" '--pipe-part'
	run_fairpar --help=--pipe
	assert_eq "$(grep -c '^  *--' <<<"$output")" 1
	run_fairpar 255 --help=timeuot
	assert_eq "$stderr" "fairpar: error: --help has no topic and no option 'timeuot'; did you mean 'timeout'?"
	run_fairpar 255 --help=workers
	assert_contains "$stderr" "did you mean 'jobs'?"
	for name in bash zsh fish; do
		run_fairpar --completions "$name"
		assert_contains "$(grep -e 'topics\|batches.*timeout' <<<"$output")" timeout
	done
}

@test "a manifest in the place of the command is answered with -f" {
	printf 'version: 1\nbatches: {a: {run: "true"}}\n' >nightly.yaml
	cp nightly.yaml nightly.yml
	local word
	for word in nightly.yaml ./nightly.yml "$PWD/nightly.yaml"; do
		run_fairpar 255 "$word" </dev/null
		assert_eq "$stderr" "fairpar: error: '$word' is no program; if it is a manifest, run it by: fairpar -f $word"
		run_fairpar 255 "$word" a b <<<x
		assert_contains "$stderr" "fairpar -f $word"
	done
	printf '#!/bin/sh\necho "ran $1"\n' >tool.yaml
	chmod +x tool.yaml
	run_fairpar ./tool.yaml ::: a
	assert_lines 'ran a'
	run_fairpar cat nightly.yaml '#' ::: a
	assert_contains "$output" version
}

@test "a size for --memory of a run is answered with --memfree and the manifest's memory" {
	run_fairpar 255 --memory 2G echo ::: a
	assert_eq "$stderr" "fairpar: error: --memory must be auto or none, not '2G': --memfree 2G starts jobs only while that much is available, and 'memory: 2G' in a manifest is what each job needs"
	run_fairpar 255 --memory much echo ::: a
	assert_eq "$stderr" "fairpar: error: --memory must be auto or none, or a size with --single, not 'much'"
	run_fairpar 255 --pool --single --memory=auto true
	assert_eq "$stderr" "fairpar: error: --memory must be a size with --single (the memory that its command needs), not 'auto'"
}

again='fairpar: hint: a shell reads these words again: quote them once more, or use -q'

# again_is_told COMMAND …: the command lines (shell words) get that line, once. again_is_not_told: or none.
again_is_told() {
	local line
	for line; do
		eval "run_fairpar any $line"
		assert_eq "$(hints)" "$again" || fail "of fairpar $line"
	done
}

again_is_not_told() {
	local line
	for line; do
		eval "run_fairpar any $line"
		assert_eq "$(hints)" '' || fail "of fairpar $line"
	done
}

@test "lost quotes are told of where a shell could not read the words, or they stand behind an option" {
	echo a >x
	export SHELL=/bin/sh
	again_is_told "sh -c 'cd {}; pwd' ::: ." "python3 -c 'print({})' ::: 1" "grep -c '1|2' {} ::: x" "awk -F: '{print \$1}' {} ::: x" "sed -e 's/a b/c/' {} ::: x" \
		"perl -e 'print\"x\"' ::: 1" "git log -m 'a b' {} ::: x" "sh -c 'it'\"'\"'s {}' ::: x" "echo --name '{} a' ::: x" "-j1 grep -c 'a|b' {} ::: x x x"
	again_is_told "echo '( {}' ::: a" "awk 'BEGIN { exit(1) }' {} ::: a b" "-X awk 'BEGIN { exit(1) }' ::: a b" # errors of syntax
	again_is_told "--semaphore --fg sh -c 'true; true'"
	if [[ $(command -v bash) ]]; then
		SHELL=$(command -v bash) again_is_told "echo \"it's\" {} ::: a" "echo \"'tis\" '\"' {} ::: a" "echo '( {}' ::: a"
	fi
	again_is_not_told "-q sh -c 'cd {}; pwd' ::: ." "sh -c \"'cd {}; pwd'\" ::: ." "'sh -c \"cd {}; pwd\"' ::: ." "--quiet sh -c 'cd {}; pwd' ::: ." "'( {}' ::: a" "sh -c '\"echo {}\"' ::: x"
}

@test "words that are meant for the shell get no line about lost quotes" {
	echo a >x
	export SHELL=/bin/sh
	again_is_not_told "echo {} '| tr a b | cat' ::: a" "cat {} '|' sort -n '|' uniq -c ::: x" "grep -c a '< {}' ::: x" "sort -u '<{}' '>' {}.out ::: x" \
		"cat -n '{} >{}.out' ::: x" "cat -n '{}|cat' ::: x" "ls -l '2>/dev/null' {} ::: x" "echo -n '\$(basename {})' ::: x" "echo -n '\"a b\"' {} ::: x" "test -n '&&' echo {} ::: x" \
		"head -n1 '*' ::: x" "echo 'a  b' {} ::: x" "echo {} ';' echo b ::: x" "ls -l \"'a b'\" {} ::: x" "cp -r '{}'{,.b} ::: x" "test -e '\"{}\"' '&&' echo {} ::: x"
}

@test "a list in one word: that its lines are one item is told where it is the only one" {
	run_fairpar echo ::: $'a\nb\n'
	assert_lines a b ''
	assert_eq "$(hints)" "fairpar: hint: this word behind ::: is one item with 2 lines: printf '%s\n' \"\$list\" | fairpar … makes an item of each line"
	run_fairpar echo ::: $'a\nb' c
	assert_eq "$(hints)" ''
	run_fairpar echo ::: $'a\nb' ::: x
	assert_eq "$(hints)" ''
	run_fairpar echo ::: $'a\n'
	assert_eq "$(hints)" ''
	run_fairpar ::: $'echo a\necho b' # a command
	assert_eq "$(hints)" ''
	run_fairpar --quiet echo ::: $'a\nb'
	assert_eq "$(hints)" ''
	printf 'a\nb\0' | run_fairpar -0 echo
	assert_eq "$(hints)" ''
}

@test "a shell that is many programs in one: how to name it" {
	need busybox
	run_fairpar 255 --shell busybox 'echo {} | cat' ::: 1
	assert_contains "$stderr" '--shell ./ash'
	ln -s "$(command -v busybox)" ash
	run_fairpar --shell ./ash 'echo {} | cat' ::: 1
	assert_lines 1
	printf '%s\n' 'version: 1' 'batches:' '  b: {run: "true {} | cat", args: [1], shell: busybox}' >m.yaml
	run_fairpar 255 -f m.yaml
	assert_contains "$stderr" 'called ash'
}

@test "a value that stands behind its option without =, and an option behind the first word that is no program" {
	local line
	while read -r line said; do
		# shellcheck disable=SC2086 # words
		run_fairpar 255 ${line//_/ } </dev/null
		assert_eq "$stderr" "fairpar: error: $said"
		assert_eq "$output" ''
	done <<-'END'
		--pool_gpu_--single_make_test 'gpu' is no program: if it is the value of --pool, write --pool=gpu
		--pool_gpu_make_{}_:::_a 'gpu' is no program: if it is the value of --pool, write --pool=gpu
		--pool=gpu_--summary_tables_true 'tables' is no program: if it is the value of --summary, write --summary=tables
		--jobserver_fifos_true 'fifos' is no program: if it is the value of --jobserver, write --jobserver=fifos
		-j2_nosuch_--pool=gpu_true_:::_a 'nosuch' is no program: options of fairpar such as '--pool=gpu' belong in front of the command
		-k_nosuch_--single 'nosuch' is no program: options of fairpar such as '--single' belong in front of the command
	END
}

@test "a command with options of its own is none of fairpar's business" {
	run_fairpar --summary echo --quiet {} ::: a
	assert_lines '--quiet a'
	run_fairpar --dry-run nosuch --quiet {} ::: a
	assert_lines 'nosuch --quiet a'
	run_fairpar --pool . ./nosuch --quiet </dev/null # a builtin
	run_fairpar --dry-run -S other nosuch --quiet {} ::: a
	run_fairpar 1 ./nosuch --quiet {} ::: a # another directory may have it
	run_fairpar 1 'nosuch --quiet' {} ::: a
}
