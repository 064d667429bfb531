# The terminal: -p asks on it, -o gives it to jobs, and one that it has stopped is reported.

load helper

setup() {
	helper_setup
	need python3
}

# undrawn COMMAND …: as on_terminal, but the line that a run of more than a second draws and erases is not in $output
undrawn() {
	on_terminal "$@"
	output=$(sed 's/^.*\r\x1b\[K//' <<<"$output")
}

@test "-p runs what is answered with y, and cancels the rest" {
	printf 'rana # ?...\ty\\n\nranb # ?...\tn\\n\nranc # ?...\t Yes\\n\n' >talk
	on_terminal "$FAIRPAR" -j1 -k -p 'echo {} ; : >ran{} #' ::: a b c
	assert_eq "$status" 1
	assert_eq "$(echo ran*)" 'rana ranc'
	assert_contains "$output" 'jobs: 1 cancelled'
}

@test "-p asks as GNU parallel does" {
	need parallel
	printf 'echo a ?...\ty\\n\necho b ?...\tn\\n\n' >talk
	on_terminal parallel --will-cite -j1 -p echo ::: a b
	assert_eq "$status" 1
	local theirs=$output
	on_terminal "$FAIRPAR" --quiet -j1 -p echo ::: a b
	assert_eq "$status" 1
	assert_eq "$(grep -c '?\.\.\.' <<<"$output")" "$(grep -c '?\.\.\.' <<<"$theirs")"
}

@test "-p asks in the order of the input, however many slots there are" {
	for item in {1..30}; do
		printf ': %d ?...\ty\\n\n' "$item"
	done >talk
	on_terminal "$FAIRPAR" -j8 -p : ::: {1..30} # what is asked too early waits for its answer in vain
	assert_eq "$status" 0
	assert_eq "$(grep -o ': [0-9]* ?' <<<"$output" | tr -d ' :?')" "$(seq 30)"
}

@test "-p without a terminal is an error" {
	run_setsid() { setsid -w "$FAIRPAR" -p echo ::: 1 </dev/null 2>&1; }
	status=0
	output=$(run_setsid) || status=$?
	assert_eq "$status" 255
	assert_contains "$output" 'no terminal to ask on'
}

@test "Ctrl-C ends a run that waits for an answer" {
	printf 'echo a ?...\t\\x03\n' >talk
	on_terminal "$FAIRPAR" -j4 -p echo ::: a b
	assert_eq "$status" 130
}

@test "-o gives each job the terminal, one at a time" {
	printf 'ask 1\tone\\n\nask 2\ttwo\\n\n' >talk
	on_terminal "$FAIRPAR" -j4 -o 'echo ask {}; read -r x; echo got {} $x #' ::: 1 2
	assert_eq "$status" 0
	assert_contains "$output" 'got 1 one'
	assert_contains "$output" 'got 2 two'
}

@test "-o: Ctrl-C ends the job and the run" {
	printf 'ask 1\t\\x03\n' >talk
	on_terminal "$FAIRPAR" -o 'echo ask {}; read -r x; echo got {} $x #' ::: 1 2
	assert_eq "$status" 130
	[[ $output != *'ask 2'* ]]
}

@test "-o: Ctrl-Z stops job and fairpar, and they go on together" {
	need bash
	printf 'ask 1\t\\x1a\nback\tfg\\n\nask again\tone\\n\n' >talk
	cat >session <<-EOF
		set -m
		"$FAIRPAR" -o 'trap "echo ask again" CONT; echo ask 1; until read -r x; do :; done; echo got \$x #' ::: 1
		echo back
		read -r line && \$line
		echo over \$?
	EOF
	on_terminal bash session
	assert_contains "$output" 'stopped: job #1'
	assert_contains "$output" 'got one'
	assert_contains "$output" 'over 0'
}

@test "--tty without a terminal runs with an empty input" {
	output=$(setsid -w "$FAIRPAR" --tty 'read -r x || echo none #' ::: 1 </dev/null 2>err)
	assert_eq "$output" none
	assert_contains "$(cat err)" 'there is no terminal'
}

@test "a job that the terminal stops is reported, once" {
	printf 'it uses the terminal\t\\x03\n' >talk
	on_terminal "$FAIRPAR" -j2 'read -r x </dev/tty; echo $x #' ::: 1 2
	assert_eq "$status" 130
	assert_eq "$(grep -c 'stopped:' <<<"$output")" 1
	assert_contains "$output" '--tty (SIGTTIN)'
}

@test "output without an end of line: what fairpar says begins on a line of its own" {
	: >talk
	for stream in 1 2; do
		NO_COLOR=1 undrawn "$FAIRPAR" -j1 "printf {} >&$stream; exit 1" ::: a b
		assert_contains "$output" $'ab\n  FAILED #1' # the summary
		undrawn "$FAIRPAR" --summary=never -j1 "printf {} >&$stream; exit 1" ::: a b
		assert_eq "$output" $'ab\nfairpar: 2 of 2 jobs failed: #1 (exit 1), #2 (exit 1)'
	done
	undrawn "$FAIRPAR" --summary=never -j1 'printf "{}\n"; exit 1' ::: a b # no empty line where there is an end
	assert_eq "$output" $'a\nb\nfairpar: 2 of 2 jobs failed: #1 (exit 1), #2 (exit 1)'
	undrawn "$FAIRPAR" --summary=never -j1 ': {}; exit 1' ::: a b # nor where there was no output
	assert_eq "$output" 'fairpar: 2 of 2 jobs failed: #1 (exit 1), #2 (exit 1)'
	undrawn "$FAIRPAR" -t -j1 'printf %s' ::: a b
	assert_eq "$output" $'printf %s a\na\nprintf %s b\nb'
	printf '%%s a ?...\ty\\n\n%%s b ?...\ty\\n\n' >talk
	undrawn "$FAIRPAR" -p -j1 'printf %s' ::: a b
	assert_eq "$(tr -d ' ' <<<"$output")" $'printf%sa?...y\na\nprintf%sb?...y\nb'
}

@test "that end of line is the terminal's alone, in no file" {
	: >talk
	undrawn sh -c '"$FAIRPAR" --summary=never -j1 "printf {}; exit 1" ::: a b >out'
	assert_eq "$output" 'fairpar: 2 of 2 jobs failed: #1 (exit 1), #2 (exit 1)'
	assert_eq "$(<out)" ab
	undrawn sh -c '"$FAIRPAR" --summary=never -j1 "printf {}; exit 1" ::: a b 2>err'
	assert_eq "$output" ab
	assert_eq "$(<err)" 'fairpar: 2 of 2 jobs failed: #1 (exit 1), #2 (exit 1)'
	run_fairpar 2 --summary=never -j1 'printf {} >&2; exit 1' ::: a b
	assert_eq "$stderr" 'abfairpar: 2 of 2 jobs failed: #1 (exit 1), #2 (exit 1)'
}

@test "what is said while the run goes begins on a line of its own, too" {
	printf 'first\t\\x03\n' >talk
	for progress in tty none; do
		on_terminal env FAIRPAR_PROGRESS=$progress TERM=xterm "$FAIRPAR" -j2 '[ {} = a ] || exec sleep 50; printf first #' ::: a b
		assert_eq "$status" 130
		[[ $output == *'first^C'$'\n''fairpar: stopping:'*'kills them'$'\n'*'fairpar: jobs: 1 cancelled'* ]] || fail "$(cat -v <<<"$output")"
	done
}

@test "the summary comes behind all output, and the last line behind the summary" {
	: >talk
	for how in --group --line-buffer --ungroup -k '-k --line-buffer' --tag; do
		# shellcheck disable=SC2086 # two of them
		on_terminal "$FAIRPAR" -j4 --summary $how 'echo out {}; echo err {} >&2; [ $(({} % 10)) != 0 ] || exit 3; printf "end {}\n" >&2' ::: {1..40}
		assert_eq "$status" 4
		assert_eq "$(grep -cE '(out|err|end) [0-9]+$' <<<"${output%%fairpar: 40 jobs*}")" 116
		assert_eq "$(grep -n '^fairpar: 4 ' <<<"$output" | cut -d: -f1)" "$(wc -l <<<"$output")"
		[[ $output == *'fairpar: 40 jobs in '*'FAILED '*'FAILED '*'fairpar: 4 of'* ]]
	done
}

# shows ARGUMENT …: on a terminal, the item is shown as $shown, and does not drive it.
shows() {
	echo "\$ fairpar $*"
	on_terminal "$FAIRPAR" "$@" </dev/null
	if [[ $output == *$'\e]0;'* ]]; then
		fail "the item's control bytes came to the terminal"
	fi
	assert_contains "$output" "$shown"
}

@test "control bytes of items do not reach a terminal" {
	local item=$'\e]0;x\a' shown='\x1B]0;x\x07' how
	: >talk
	for how in --dry-run -v '-v --line-buffer' '-v --ungroup' -t '--joblog -' '--results -.csv' '--header : --results -.tsv' --summary=always; do
		# shellcheck disable=SC2086 # words
		shows $how false ::: "$item" "$item"
	done
	shows --shellquote ::: "$item"
	shows --files --results R true ::: "$item"
	shows --tag 'echo y #' ::: "$item"
	shows --batch-by '{}' 'false #' ::: "$item"
	shown='\x1B]0;x' shows --list -f <(printf 'version: 1\nbatches: {a: {run: "true", description: "\\e]0;x"}}\n')
	shows -f "$item"
	shows -a "$item" true
	shows --results "$item/{}/.." true ::: a
	printf ' ?...\ty\\n\n' >talk
	shows -p true ::: "$item"
	printf '%s\n' "$item" >items
	: >talk
	shown='' shows --xargs -t -a items -I{} true {}
}

@test "lines of fairpar's own keep their newlines and tabs on a terminal" {
	: >talk
	on_terminal "$FAIRPAR" --dry-run $'a {}\n\tb;' ::: x
	assert_eq "$output" $'a x\n\tb;'
}

@test "control bytes of a tag do not reach a terminal that is standard error alone" {
	: >talk
	undrawn sh -c 'exec "$@" >out' sh "$FAIRPAR" --tag 'echo a; echo b >&2 #' ::: $'\e]0;x\a'
	assert_eq "$output" '\x1B]0;x\x07	b'
	assert_eq "$(cat out)" $'\e]0;x\a\ta'
}

@test "a pipe gets the bytes of items as they are" {
	run_fairpar --dry-run echo ::: $'\e'
	assert_lines $'echo \'\e\''
	run_fairpar -v true ::: $'\e'
	assert_lines $'true \'\e\''
	run_fairpar --shellquote ::: $'\e'
	assert_lines $'\'\e\''
}
