# What is shown while a run goes, looked at on the screen of a terminal of its own (tmux), and what is written without one.

load helper

setup() {
	helper_setup
	unset FAIRPAR_PROGRESS TMUX STY TERM_PROGRAM TERM_FEATURES WT_SESSION ConEmuANSI PTYXIS_VERSION
}

teardown() {
	if [[ -e $BATS_TEST_TMPDIR/tmux ]]; then
		terminal send-keys C-c # for what a failed test leaves
		wait_for_shell
		terminal kill-server || :
	fi
	helper_teardown
}

# A terminal that goes sends SIGCONT to what is in its foreground. A program of LeakSanitizer that is just ending can miss the
# SIGSTOP with which its threads are looked at, and then waits for ever: so the shell has to have the terminal again.
wait_for_shell() {
	local tries=0
	while [[ $(terminal display-message -p '#{pane_current_command}') == fairpar ]] && ((tries++ < 20 * patience)); do
		sleep 0.05
	done
}

terminal() { tmux -S "$BATS_TEST_TMPDIR/tmux" "$@" 3>&- 4>&-; }

# on_screen [NAME=VALUE …] LINE: runs the shell's command line with a terminal of 60 columns and 12 rows; then `keys`.
on_screen() {
	need tmux
	printf 'PS1="\\$ "\nset -m\n' >rc
	terminal -f /dev/null new-session -d -x "${columns:-60}" -y 12 \
		env LC_ALL=C.UTF-8 "${@:1:$#-1}" ENV="$PWD/rc" FAIRPAR="$FAIRPAR" sh -i
	sees '$'
	keys "${*: -1}" Enter
}

# list_until PATTERN: asks for the running jobs until the list has it, for what a job has written may still have to be read
list_until() {
	until grep -q "$1" "$BATS_TEST_TMPDIR/stderr"; do
		kill -USR1 "$fairpar_pid"
		sleep 0.05
	done
}

keys() { terminal send-keys "$@"; }

# The screen without empty lines.
screen() { terminal capture-pane -p "$@" | grep . || :; }

# sees PATTERN …: waits until the screen has all of these (globs). lacks PATTERN: until it has that no more.
sees() {
	local tries=0 text pattern found
	for ((; tries < 20 * patience; tries++)); do
		text=$(screen) found=1
		for pattern; do
			# shellcheck disable=SC2254 # patterns
			case $text in *$pattern*) ;; *) found=0 ;; esac
		done
		((found)) && return
		sleep 0.05
	done
	fail "the screen is not '$*' but:" "$text"
}

lacks() {
	local tries
	for ((tries = 0; tries < 20 * patience; tries++)); do
		# shellcheck disable=SC2254 # a pattern
		case $(screen) in *$1*) sleep 0.05 ;; *) return ;; esac
	done
	fail "the screen still has '$1':" "$(screen)"
}

# last_is LINE: waits until that is the line at the bottom.
last_is() {
	local tries last
	for ((tries = 0; tries < 20 * patience; tries++)); do
		last=$(screen | tail -n 1)
		[[ $last != "$1" ]] || return 0
		sleep 0.05
	done
	assert_eq "$last" "$1"
}

@test "the line counts jobs, batches and failures, and is gone at the end" {
	make_fifo f1 f2 f3 f4
	cat >m.yaml <<-'EOF'
		version: 1
		slots: 2
		batches:
		  one: {args: [1, 2], run: 'read -r x <f{}; echo done {}'}
		  two: {args: [3, 4], run: 'read -r x <f{}; exit 1'}
	EOF
	on_screen '"$FAIRPAR" --summary=never -f m.yaml'
	sees '[[]0/4  0%] 2 running'
	release f1
	sees 'done 1' '[[]1/4 25%] 2 running · one 1/2 · two 0/2'
	release f3
	sees '[[]2/4 50%] 2 running · one 1/2 · two 1/2 · 1 failed'
	release f2
	release f4
	sees 'done 1' 'done 2' 'fairpar: 2 of 4 jobs failed: *'
	lacks '%]'
	[[ $(screen) != *'running'* ]]
}

@test "the line comes back behind output, and waits where that has no end of line" {
	make_fifo f1 f2 f3
	on_screen '"$FAIRPAR" -j3 --progress "read -r x <f{}; printf \"%b\" \"\$x\" #" ::: 1 2 3'
	sees '[[]0/3  0%] 3 running'
	release f1 'one\n'
	sees 'one' '[[]1/3 33%]'
	release f2 'two'
	sees 'one'$'\n''two'
	lacks '%]'
	release f3 '-three\n'
	sees 'two-three'
	lacks '%]'
}

@test "behind output the line comes once, with the job that wrote it counted" {
	need script
	local try n stale=
	for try in {1..20}; do # on a busy machine a job may be counted late: then another try. The job's 50 ms make the line old
		make_fifo "go$try"
		exec 5<>"go$try"
		: >"ty$try"
		TERM=xterm script -qfc "'$FAIRPAR' -j1 --progress 'read -r x <go$try; sleep 0.05; echo out {}' ::: 1 2 3 4" "ty$try" >/dev/null </dev/null 5<&- &
		for n in 0 1 2 3; do
			timeout "$patience" bash -c "until grep -q '$n/4 .*1 running' ty$try; do :; done"
			echo >&5
		done
		wait "$!"
		exec 5>&-
		# what was drawn behind the end of a line of output, and was there before
		stale=$(tr '\r' '\n' <"ty$try" | sed 's/\x1b\[[0-9]*[A-Z]//g' | awk '/^out/ {behind = 1} /^\[/ {if (behind && $0 == last) print; behind = 0; last = $0}')
		[[ $stale ]] || return 0
	done
	fail "drawn again as it was before the output:" "$stale"
}

@test "as long as the end of the input is not known, the total is ?" {
	make_fifo f1 f2 items
	on_screen '"$FAIRPAR" -j2 --progress "read -r x <f{} #" <items'
	exec {input}>items
	echo 1 >&"$input"
	echo 2 >&"$input"
	sees '[[]0/?] 2 running'
	release f1
	sees '[[]1/?] 1 running'
	exec {input}>&-
	sees '[[]1/2 50%] 1 running'
	release f2
	lacks 'running'
}

@test "--total-jobs says how many there will be" {
	make_fifo f1 items
	on_screen '"$FAIRPAR" --total-jobs 5 --eta "read -r x <f{} #" <items'
	exec {input}>items
	echo 1 >&"$input"
	sees '[[]0/5  0%] 1 running · ETA ? · 5 left'
	release f1
	exec {input}>&-
	lacks 'left'
}

@test "a run of one batch shows nothing within its first second, a long one does" {
	need script
	local try start
	make_fifo f1
	on_screen '"$FAIRPAR" "read -r x <f{} #" ::: 1'
	sees '[[]0/1  0%] 1 running'
	release f1
	lacks '%]'
	for try in {1..20}; do # on a busy machine a run of three jobs may take more than a second: then another try
		start=${EPOCHREALTIME/./}
		TERM=xterm script -qec "'$FAIRPAR' echo it is over ::: 1 2 3" ty >/dev/null </dev/null
		if ((${EPOCHREALTIME/./} - start < 1000000)); then
			[[ $(<ty) != *running* ]] || fail "$(cat -v ty)"
			break
		fi
	done
	assert_contains "$(<ty)" 'it is over 3'
}

@test "--bar shows a bar with the item that started last" {
	make_fifo f1 f2 f3 f4
	on_screen '"$FAIRPAR" -j1 --bar "read -r x <f{} #" ::: 1 2 3 4'
	sees '0% 0:4=? 1'
	release f1
	sees '25% 1:3=? 2'
	assert_contains "$(screen -e | tail -n 1)" $'\e[7m25% 1:3=? 2'
	release f2; release f3; release f4
	lacks '%'
}

@test "NO_COLOR: neither colours nor reverse video" {
	make_fifo f1 f2
	on_screen NO_COLOR=1 '"$FAIRPAR" -j1 --bar "read -r x <f{}; exit 1 #" ::: 1 2'
	release f1
	sees '[[]#########          ] 50% 1:1=? 2'
	[[ $(screen -e) != *$'\e['[1-9]* ]] || fail "$(screen -e)"
	keys C-c
	lacks '50%'
}

@test "failures are red" {
	make_fifo f1 f2
	on_screen '"$FAIRPAR" -j1 --progress "read -r x <f{}; exit 1 #" ::: 1 2'
	release f1
	sees '1 failed'
	assert_contains "$(screen -e)" $'\e[31m1 failed'
	release f2
	lacks running
}

@test "TERM=dumb, --quiet, FAIRPAR_PROGRESS=none and --ungroup: no line" {
	make_fifo f1
	for with in TERM=dumb FAIRPAR_PROGRESS=none quiet=--quiet quiet=--ungroup; do
		on_screen "$with" '"$FAIRPAR" $quiet -j2 "echo begun 1>&2; read -r x <f{}; exec sleep 1.2 #" ::: 1; echo over'
		release f1
		sees 'over'$'\n''$'
		[[ $(screen) != *running* ]] || fail "$with:" "$(screen)"
		terminal kill-server
		rm -f "$BATS_TEST_TMPDIR/tmux"
	done
}

@test "without UTF-8 the line is ASCII" {
	printf '1\n3\n' >l1
	printf '2\n4\n' >l2
	make_fifo f1 f2 f3 f4
	on_screen LC_ALL=C '"$FAIRPAR" --batch a=l1 --batch bé=l2 -j2 --progress "read -r x <f{}; exit 1 #"'
	sees '[[]0/4  0%] 2 running, a 0/2, b?? 0/2'
	keys C-c
	lacks '%]'
}

@test "a narrow terminal: the line leaves out whole parts, and follows each change of the size" {
	make_fifo f1 f2 f3
	printf '#!/bin/sh\nread -r x <f$1; echo out $1\n' >job
	chmod +x job
	columns=20 on_screen '"$FAIRPAR" -j3 --eta ./job ::: 1 2 3'
	last_is '[0/3  0%] ETA ?'
	terminal resize-window -x 60
	sees '[[]0/3  0%] 3 running · ETA ? · 3 left'
	release f1
	sees 'out 1'$'\n''[[]1/3' '2 left'
	terminal resize-window -x 30
	last_is '[1/3 33%] 2 running · ETA ?'
	release f2
	sees 'out 1'$'\n''out 2'$'\n''[[]2/3'
	assert_eq "$(screen | grep -c '/3')" 1
	release f3
	sees $'out 1\nout 2\nout 3\n$'
}

@test "120 to 10 columns: each width has a line of whole parts, with wide characters" {
	make_fifo f1 f2 f3 f4
	cat >m.yaml <<-'EOF'
		version: 1
		slots: 4
		batches:
		  日本語: {args: [1, 2], run: 'read -r x <f{}'}
		  été: {args: [3, 4], run: 'read -r x <f{}; exit 1'}
	EOF
	columns=120 on_screen '"$FAIRPAR" --progress --summary=never -f m.yaml'
	sees '4 running'
	release f3
	release f1
	sees '[[]2/4 50%]' '1 failed'
	while IFS='|' read -r width line; do
		terminal resize-window -x "$width"
		last_is "$line"
	done <<-'EOF'
		120|[2/4 50%] 2 running · 日本語 1/2 · été 1/2 · 1 failed
		80|[2/4 50%] 2 running · 日本語 1/2 · été 1/2 · 1 failed
		54|[2/4 50%] 2 running · 日本語 1/2 · été 1/2 · 1 failed
		53|[2/4 50%] 2 running · +2 more · 1 failed
		40|[2/4 50%] 2 running · 1 failed
		30|[2/4 50%] 1 failed
		20|[2/4 50%] 1 failed
		10|[2/4 50%]
		5|...
		80|[2/4 50%] 2 running · 日本語 1/2 · été 1/2 · 1 failed
	EOF
	release f2
	release f4
	lacks '/4 '
}

@test "Ctrl-Z takes the line away, fg brings it back" {
	make_fifo f1 f2
	on_screen '"$FAIRPAR" -j1 --progress "read -r x <f{} #" ::: 1 2'
	sees '[[]0/2  0%]'
	keys C-z
	sees 'Stopped*'$'\n''$'
	lacks '%]'
	keys 'echo he''re' Enter
	sees 'here'$'\n''$'
	[[ $(screen) != *'%]'* ]]
	keys fg Enter
	sees '[[]0/2  0%] 1 running'
	release f1
	sees '[[]1/2 50%]'
	release f2
	lacks '%]'
}

@test "in the background nothing is drawn" {
	make_fifo f1 f2
	on_screen '"$FAIRPAR" -j1 --progress "read -r x <f{}; echo out {} #" ::: 1 2 &'
	release f1
	sees 'out 1'
	[[ $(screen) != *'%]'* ]]
	keys fg Enter
	sees '[[]1/2 50%]'
	release f2
	sees 'out 2'
	lacks '%]'
}

@test "Ctrl-C leaves a clean screen" {
	make_fifo f1
	on_screen '"$FAIRPAR" --progress "read -r x <f{} #" ::: 1'
	sees '[[]0/1  0%]'
	keys C-c
	sees 'fairpar: stopping' 'cancelled'$'\n''$'
	lacks '%]'
}

@test "after kill -9 the cursor is there, and the prompt where the line was" {
	make_fifo f1 pid
	on_screen '"$FAIRPAR" --progress "echo \$PARALLEL_PID >pid; read -r x <f{} #" ::: 1'
	await pid
	sees '[[]0/1  0%]'
	kill -9 "$line"
	sees 'Killed'
	assert_eq "$(terminal display-message -p '#{cursor_flag}')" 1
}

@test "messages, and jobs that get the terminal, take the line away" {
	make_fifo f1 f2 pid
	on_screen '"$FAIRPAR" -j2 --progress "[ {} = 2 ] || echo \$PARALLEL_PID >pid; read -r x <f{} #" ::: 1 2; "$FAIRPAR" --progress -o "echo \"name?\"; read -r x; echo \"hello \$x\" #" ::: 1'
	await pid
	sees '[[]0/2  0%] 2 running'
	kill -USR1 "$line"
	sees 'fairpar: running for*fairpar: running for*[[]0/2  0%] 2 running'
	release f1
	release f2
	sees 'name[?]'
	keys me Enter
	sees 'hello me'
	lacks '1 running'
}

@test "--latest-line lists running jobs, and leaves one line of each" {
	make_fifo f1 f2 f3
	on_screen '"$FAIRPAR" -j2 --ll --tag "while read -r x && [ \"\$x\" != end ]; do echo \"\$x\"; done <f{} #" ::: 1 2 3; echo over'
	exec {one}>f1 {two}>f2
	printf 'a1\nb1\n' >&"$one"
	sees '1 b1'
	printf 'a2 日本語\n' >&"$two"
	sees '1 b1' '2 a2 日本語'
	printf 'c1\n' >&"$one"
	sees '1 c1' '2 a2 日本語'
	echo end >&"$one"
	sees $'1       c1\n2 a2 日本語'
	exec {one}>&- {two}>&-
	exec {three}>f3
	sees '#3 while*<f3 #'
	echo end >&"$three"
	exec {three}>&-
	sees '1       c1'$'\n''2       a2 日本語'$'\n''over'
}

@test "--latest-line without a terminal writes the last line of each job" {
	run_fairpar --latest-line -j1 'printf "a{}\nb{}\n\n"; [ {} = 2 ] || printf "c{}"; [ {} != 3 ] || { sleep 0.1; echo "err" >&2; }' ::: 1 2 3 4
	assert_lines c1 b2 err c4
	run_fairpar --ll -k --tag 'echo x; echo {}' ::: 1 2 3
	assert_lines $'1\t1' $'2\t2' $'3\t3'
	run_fairpar --ll true ::: 1
	assert_eq "$output" ''
	run_fairpar 2 --ll --retries 2 'echo try; echo $FAIRPAR_ATTEMPT; exit 1' ::: 1 2
	assert_lines 2 2
}

@test "--latest-line keeps little of a long output, and cuts a line without end" {
	run_fairpar --ll 'seq 300000; printf last' ::: 1
	assert_lines last
	run_fairpar --ll 'head -c 3000000 /dev/zero | tr "\0" x #' ::: 1
	assert_eq "${output//x/}" ''
	((${#output} > 4096 && ${#output} < 65536))
}

@test "--latest-line and GNU parallel leave the same on the screen" {
	need parallel
	on_screen 'export PARALLEL_HOME=.; parallel --will-cite -k -j2 --ll "echo a{}; sleep 0.1; echo b{}" ::: 1 2 3; echo over'
	sees $'\nover'
	local theirs
	theirs=$(screen | grep '^[ab]')
	terminal kill-server
	rm "$BATS_TEST_TMPDIR/tmux"
	on_screen '"$FAIRPAR" -k -j2 --ll "echo a{}; sleep 0.1; echo b{}" ::: 1 2 3; echo over'
	sees $'\nover'
	assert_eq "$(screen | grep '^[ab]')" "${theirs%% }"
}

@test "the terminal's own progress is told only to who understands it, and taken back" {
	need script
	statuses='0 1'
	# shown NAME=VALUE …: each of two jobs ends once the line was drawn
	shown() {
		local n
		rm -f go ty
		make_fifo go
		exec 5<>go
		: >ty
		TERM=xterm env "$@" script -qfc "$FAIRPAR -j1 --progress 'read -r x <go; exit {}' ::: $statuses" ty >/dev/null </dev/null 5<&- &
		for n in 0 1; do
			timeout "$patience" bash -c "until grep -q '$n/2 .*1 running' ty; do :; done"
			echo >&5
		done
		wait "$!"
		exec 5>&-
		cat ty
	}
	assert_eq "$(shown | grep -c $'\e]')" 0
	output=$(shown TERM_PROGRAM=ghostty) || :
	[[ $output == *$'\e]9;4;1;0\e\\'*$'\e]9;4;1;50\e\\'*$'\e]9;4;0;\e\\'* ]] || fail "$(cat -v <<<"$output")"
	for with in TERM_FEATURES=LrP WT_SESSION=1 ConEmuANSI=ON PTYXIS_VERSION=48; do
		[[ $(shown "$with") == *$'\e]9;4;0;\e\\'* ]] || fail "$with"
	done
	for with in TERM_FEATURES=LrPo PTYXIS_VERSION=47 'WT_SESSION=1 TMUX=x'; do
		# shellcheck disable=SC2086 # two of them
		[[ $(shown $with) != *$'\e]'* ]] || fail "$with"
	done
	statuses='1 0'
	output=$(shown TERM_PROGRAM=ghostty) || :
	[[ $output == *$'\e]9;4;2;50\e\\'* ]] || fail "$(cat -v <<<"$output")"
}

@test "without a terminal --bar is what zenity reads, and nothing is read ahead for it" {
	yes | head -n 100000 | run_fairpar --halt now,done=3 -j1 --bar echo >/dev/null || :
	tr '\r' '\n' <"$BATS_TEST_TMPDIR/stderr" >lines
	assert_eq "$(grep -cvE '^(#   .*|[0-9]+|fairpar: .*|)$' lines)" 0
	run_fairpar --bar echo ::: 1 2 3
	assert_eq "$(tr '\r' '\n' <"$BATS_TEST_TMPDIR/stderr" | grep -E '^[0-9]+$' | tail -n 1)" 100
}

@test "SIGUSR2 switches the line off and on" {
	make_fifo f1 pid
	on_screen '"$FAIRPAR" --progress "echo \$PARALLEL_PID >pid; read -r x <f{} #" ::: 1'
	await pid
	sees '1 running'
	kill -USR2 "$line"
	lacks running
	kill -USR2 "$line"
	sees '1 running'
	release f1
	lacks running
}

@test "SIGUSR1 lists running jobs with their last line" {
	make_fifo go1 go2 f1 f2
	for how in --group --line-buffer '--line-buffer -k'; do
		# shellcheck disable=SC2086 # two of them
		start_fairpar -j2 $how 'printf "first\nlast of %s\n" {}; echo >go{}; read -r x <f{} #' ::: 1 2
		await go1
		await go2
		list_until '#1.*last of 1'
		list_until '#2.*last of 2'
		release f1
		release f2
		end_fairpar
		assert_eq "$(grep -oE ': last of .*' "$BATS_TEST_TMPDIR/stderr" | sort -u)" $': last of 1\n: last of 2'
	done
}

@test "what is shown of a job's output is without its colours, and drives no terminal" {
	make_fifo go f1
	start_fairpar -j1 'printf "\033[1;31mred\033[m\033[K\ttab\007\n"; echo >go; read -r x <f{} #' ::: 1
	await go
	list_until ': red '
	release f1
	end_fairpar
	[[ $stderr == *': red     tab\x07' ]] || fail "$stderr"
	assert_eq "$output" $'\e[1;31mred\e[m\e[K\ttab\a' # it itself is as it was
	on_screen '"$FAIRPAR" -j2 --ll "printf \"\033[31mred\033[m\ttab\007\n\"; read -r x <f{} #" ::: 1'
	sees $'\nred tab'?x07
	release f1
}

@test "SIGUSR1 says where the batches of a manifest are" {
	make_fifo go f1
	cat >m.yaml <<-'EOF'
		version: 1
		slots: 2
		batches:
		  one: {run: 'true'}
		  two: {needs: [one], run: 'echo >go; read -r x <f1'}
		  three: {needs: [two], run: 'true'}
	EOF
	start_fairpar -f m.yaml
	await go
	kill -USR1 "$fairpar_pid"
	wait_for grep -q batches: "$BATS_TEST_TMPDIR/stderr"
	release f1
	end_fairpar
	assert_contains "$stderr" 'fairpar: batches: one done; two running; three waits'
}

@test "with -j auto the line has the number of slots, and why it has changed" {
	make_fifo door
	exec {door}<>door # what is written stays
	on_screen '"$FAIRPAR" --summary=never -j auto --memory=none "read -r x <door #" ::: $(seq $(($(nproc) + 1)))'
	sees ' running (jobs sleep)'
	yes | head -n "$(($(nproc) + 1))" >&"$door"
	lacks ' running'
	exec {door}>&-
}

@test "the end of each batch is foretold, also of one that has not begun" {
	make_fifo f1 f2 f3 f4 f5 f6
	cat >m.yaml <<-'EOF'
		version: 1
		slots: 2
		batches:
		  one: {args: [1, 2, 3, 4], run: '[ {} != 1 ] || echo $PARALLEL_PID >pid; read -r x <f{}'}
		  two: {needs: [one], args: [5, 6], run: 'read -r x <f{}'}
	EOF
	columns=100 on_screen '"$FAIRPAR" --summary=never -f m.yaml'
	release f1
	release f2
	sees '[[]2/6 33%] 2 running'
	release f3
	sees '[[]3/6 50%] 1 running · one 3/4*· ETA *s' # when two seconds have passed
	kill -USR1 "$(<pid)"
	sees 'fairpar: batches: one running, ETA *s; two waits, ETA *s'
	release f4
	release f5
	release f6
	lacks '/6'
}

@test "--eta=LOG knows from a former run how long it takes" {
	make_fifo f1 f2 f3
	run_fairpar --log log -j1 'sleep 0.{} #' ::: 1 9 9 9
	on_screen '"$FAIRPAR" -j1 --eta=log "read -r x <f{} #" ::: 1 2; "$FAIRPAR" -j1 --eta "read -r x <f{} #" ::: 3'
	sees 'ETA [0-9]'
	release f1
	release f2
	sees 'ETA [?]'
	release f3
	lacks 'ETA [?]'
	run_fairpar 255 --eta=none echo ::: 1
	assert_contains "$stderr" "cannot read 'none': No such file or directory"
	echo text >none
	run_fairpar 255 --eta=none echo ::: 1
	assert_contains "$stderr" 'none:1: error'
}

@test "--eta and --log may name one file, run after run" {
	make_fifo f1 f2 f3
	run_fairpar --eta=log --log log -j1 'sleep 0.{} #' ::: 1 9 9 9 # there is none before the first run
	assert_eq "$(grep -c job_end log)" 4
	on_screen '"$FAIRPAR" -j1 --eta=log --log ./log "read -r x <f{} #" ::: 1 3; read -r x <f2'
	sees 'ETA [0-9]' # as long as a job has not begun, there is an end to foretell
	release f1
	release f3
	release f2
	cp log kept
	run_fairpar 255 --eta=log --log log --joblog nowhere/joblog true ::: 1
	cmp log kept
	: >log # a run that was ended before it told anything
	run_fairpar --eta=log --log log true ::: 1
	assert_eq "$(grep -c job_end log)" 1
	echo text >log
	run_fairpar 255 --eta=log --log log true ::: 1
	assert_contains "$stderr" 'log:1: error'
	assert_eq "$(cat log)" text
}
