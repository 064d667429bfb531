# The machines of -S and --sshloginfile: which there are, and what is said of them. An ssh that stays here brings the others.

load helper

setup() {
	helper_setup
	export HOME=$BATS_TEST_TMPDIR/home
	mkdir -p "$HOME/.parallel"
	unset PARALLEL_SSH PARALLEL_HOME XDG_CONFIG_HOME
	export FAIRPAR_REMOTE=$FAIRPAR
	ssh=$BATS_TEST_TMPDIR/ssh
	cat >"$ssh" <<-'END'
		#!/bin/sh
		while [ "$1" != -- ]; do shift; done
		shift
		cd && exec env -u B "${LOGIN_SHELL:-sh}" -c "$*"
	END
	chmod +x "$ssh"
}

@test "this machine alone runs as many jobs as -S and -j say" {
	make_fifo both # two jobs run at once
	run_fairpar -k -S 2/: 'case {} in a) read -r _ <both ;; b) echo >both ;; esac; echo {%}' ::: a b c d e f
	assert_eq "$(sort -u <<<"$output" | xargs)" '1 2'
	run_fairpar -k -S 4/: -j25% echo {%} ::: a b c
	assert_lines 1 1 1
	run_fairpar -k -S : -j1 echo {%} ::: a b
	assert_lines 1 1
	run_fairpar -k -S 2/:,1/: echo {%} ::: a b # the last N
	assert_lines 1 1
}

@test "0/HOST has no slots but those that --jobs says by a number, as in GNU parallel" {
	run_fairpar --ssh "$ssh" -S 0/a,1/b --plus echo {sshlogin} ::: 1 2
	assert_lines b b
	for jobs in 50% auto; do
		run_fairpar 255 --ssh "$ssh" -S 0/a "-j$jobs" touch ran ::: a
		assert_contains "$stderr" "no machine of --sshlogin has a slot"
	done
	for jobs in 2 +2 0; do
		run_fairpar --ssh "$ssh" -S 0/a "-j$jobs" --plus echo {sshlogin} ::: 1 2
		assert_lines a a
	done
	run_fairpar --ssh "$ssh" -S 0/a --nonall --tag echo x
	assert_eq "$output" $'a\tx'
	[[ ! -e ran ]]
}

@test "a job knows its machine, by replacement strings, its environment and its tag" {
	run_fairpar -k -S : --plus --tagstring '{host}|{sshlogin}' echo {host} {sshlogin} '$PARALLEL_SSHLOGIN' '$PARALLEL_SSHHOST' {} ::: a
	assert_eq "$output" $':|:\t: : : : a'
	run_fairpar --plus "echo '{host}' \"{sshlogin}\" {host}" ::: a
	assert_eq "$output" ': : :'
}

@test "a machine is a replacement string, so that no item is added behind it, as in GNU parallel" {
	need parallel
	run_fairpar --plus echo {host} ::: a
	assert_eq "$output" "$(parallel --plus echo {host} ::: a 2>/dev/null)"
	assert_eq "$output" :
}

@test "where it is not known yet which machine it will be, a command is shown as GNU parallel shows it" {
	run_fairpar --dry-run --plus -S a,b echo {host} {sshlogin} {} ::: x
	# shellcheck disable=SC2016 # a job's shell expands it
	assert_eq "$output" 'echo ${PARALLEL_SSHHOST} ${PARALLEL_SSHLOGIN} x'
}

@test "the column Host is a colon here" {
	run_fairpar -S 1/: --joblog log true ::: a b
	assert_eq "$(cut -f 2 log | xargs)" 'Host : :'
	run_fairpar -S 1/: --results out.json true ::: a
	assert_contains "$(<out.json)" '"Host": ":"'
	run_fairpar -S : --log run.jsonl true ::: a
	assert_eq "$(grep -c '"ev":"job_.*"host"' run.jsonl)" 0
}

@test "files of machines are found where GNU parallel looks for them" {
	printf '# none\n\n  1/:  \n' >"$HOME/.parallel/sshloginfile"
	cp "$HOME/.parallel/sshloginfile" mine
	cp mine "$HOME/.parallel/theirs"
	for file in .. mine theirs ./mine "$HOME/.parallel/theirs"; do
		run_fairpar -k --slf "$file" echo {%} ::: a b
		assert_lines 1 1
	done
	run_fairpar -k -S .. echo {%} ::: a b
	assert_lines 1 1
	run_fairpar -k --slf - echo {%} ::: a b <mine
	assert_lines 1 1
	run_fairpar -k -S - echo {%} ::: a b <mine
	assert_lines 1 1
	run_fairpar 255 --slf none echo ::: a
	assert_contains "$stderr" "--sshloginfile cannot read 'none': No such file or directory"
}

@test "a file of machines has comments behind a machine, too" {
	printf "1/b # the fast one\n1/b#22\t# another\n" >mine
	run_fairpar --ssh "$ssh" --slf mine --nonall -k --tag echo x
	assert_lines $'b\tx' $'b:22\tx'
}

@test "an IPv6 address with a port is named in brackets" {
	run_fairpar --ssh "$ssh" -S "1/[::1]:22" --plus echo {sshlogin} {host} ::: x
	assert_eq "$output" "[::1]:22 ::1"
}

@test "what is no list of machines is refused before anything runs" {
	run_fairpar 255 -S -oProxyCommand=x touch ran ::: a
	assert_contains "$stderr" "'-oProxyCommand=x': a host that begins with '-' would be an option of ssh"
	run_fairpar 255 -S u:p@a touch ran ::: a
	assert_contains "$stderr" 'a password cannot be given here'
	run_fairpar 255 -S a,@b touch ran ::: a
	assert_contains "$stderr" "no machine is in the group 'b'"
	run_fairpar 255 -S a --env 'B C' touch ran ::: a
	assert_contains "$stderr" "--env takes names of variables, separated by commas, not 'B C'"
	run_fairpar 255 -S a --pool touch ran ::: a
	assert_contains "$stderr" '--pool cannot be combined with --sshlogin'
	run_fairpar 255 --at-most-once touch ran ::: a
	assert_contains "$stderr" '--at-most-once needs --sshlogin'
	assert_eq "$(ls)" ''
}

@test "joblog, tables, events, tag and replacement strings name the machine of a job" {
	run_fairpar --ssh "$ssh" -S 1/u@b:22 --plus --joblog log --log run.jsonl --tagstring '{host}' echo {sshlogin} {} ::: x
	assert_eq "$output" $'b\tu@b:22 x'
	assert_eq "$(cut -f 2 log | xargs)" 'Host u@b:22'
	assert_eq "$(grep -c '"ev":"job_.*"host":"u@b:22"' run.jsonl)" 2
	run_fairpar -S "1/$ssh -o A,,B b" --plus --results out.csv 'echo {sshlogin} {}' ::: x
	assert_contains "$(<out.csv)" "1,\"$ssh -o A,B b\","
	assert_contains "$(<out.csv)" "$ssh -o A,B b x"
}

@test "--resume knows a command that names its machine, wherever it has run" {
	run_fairpar 1 --ssh "$ssh" -S 1/b --plus --joblog log 'echo {host} {}; test {} = x' ::: x y
	run_fairpar --ssh "$ssh" -S 1/c --plus --joblog log --resume-failed 'echo {host} {}; test {} = x || touch "$HOME/done"' ::: x
	assert_eq "$output" 'c x' # another command
	run_fairpar 1 --ssh "$ssh" -S 1/c --plus --joblog log --resume-failed 'echo {host} {}; test {} = x' ::: x y
	assert_contains "$output" 'c y'
	run_fairpar 1 --ssh "$ssh" -S 1/d --plus --joblog log --retry-failed
	assert_eq "$output" 'd y'
}

@test "the worker is started by whatever shell the login has" {
	for shell in dash bash ksh zsh fish tcsh; do
		[[ ! $(command -v "$shell") ]] && continue
		LOGIN_SHELL=$shell run_fairpar --ssh "$ssh" -S 1/b echo "$shell" ::: "it's \$x"
		assert_eq "$output" "$shell it's \$x"
	done
}

@test "--env says what a job elsewhere finds, and --launch takes all" {
	export A=1 B=2
	run_fairpar --ssh "$ssh" -S 1/b --env A 'echo $A$B; pwd' ::: x
	assert_lines 1 "$HOME"
	run_fairpar --launch 'env {}' -j1 'echo $A$B; pwd' ::: x
	assert_lines 12 "$PWD"
}
