# --pool: what is said of those that wait, and how long they do.

load helper
load pools

# say_waits NAME COMMAND …: in the background; what it says on stderr is $line, and what comes later goes to NAME.rest
say_waits() {
	make_fifo "$1.said"
	"${@:2}" >"$1.out" 2>"$1.said" </dev/null 3>&- &
	exec 7<"$1.said"
	IFS= read -r line <&7
	cat <&7 >"$1.rest" 3>&- 7<&- &
	exec 7<&-
}

@test "a command that waits for a slot for 3 s says so once, with its place and who holds the slots" {
	hold h --pool-slots 1
	line_up before
	single quiet --quiet true
	await_pool ', 2 waiting'
	say_waits w "$FAIRPAR" --pool --single true
	local holder=${line##*(pid } text=${line% (pid*}
	assert_eq "$text" "fairpar: 3rd of 3 waiting for pool default, held by 'sh -c echo >h.in; read -r _ <h.go'"
	assert_eq "${holder#*)}" '; see fairpar --pool=default --status'
	assert_contains "$(tr '\0' ' ' <"/proc/${holder%%)*}/cmdline")" 'read -r _ <h.go'
	release h.go
	wait
	assert_eq "$(cat w.rest quiet.err)" ''
}

@test "a run that waits for its first slot for 3 s says so once, on one line whatever the holder is called" {
	make_fifo in go
	"$FAIRPAR" --pool --pool-slots 1 --single sh -c $'echo >in\nread -r _ <go' 3>&- &
	await in
	say_waits run "$FAIRPAR" --pool 'echo {}' ::: 1 2 3
	assert_contains "$line" "fairpar: 1st of 1 waiting for pool default, held by 'sh -c echo >in\\nread -r _ <go' (pid "
	release go
	wait
	assert_eq "$(cat run.out)" $'1\n2\n3'
	assert_eq "$(cat run.rest)" ''
}

@test "the status line of a run that waits for its first slot says so" {
	need python3
	hold h --pool-slots 1
	wait_on_terminal h 80 'waits for pool default' "TERM=xterm '$FAIRPAR' --pool --progress=tty 'echo ran' ::: 1 2"
	assert_eq "$status" 0
	assert_contains "$output" '[0/2  0%] waits for pool default'
	[[ $output != *' waiting for pool'* ]]
	wait
}

@test "a waiting command shows its place on the terminal, and the line disappears" {
	need python3
	hold h --pool-slots 1
	wait_on_terminal h 80 '1st of 1'
	assert_eq "$status" 0
	assert_contains "$output" "1st of 1 waiting for pool default, held by '"
	assert_contains "$(tr '\r' '\n' <<<"$output" | grep -A5 'waiting for')" $'\e[K'
	[[ ${output##*$'\e[K'} != *'waiting for'* ]]
	wait
}

@test "with --quiet a waiting command shows nothing on the terminal" {
	need python3
	hold h --pool-slots 1
	wait_on_terminal h 80 'lined up' "'$FAIRPAR' --pool --quiet --single echo ran &
		until '$FAIRPAR' --pool --status | grep -q ', 1 waiting'; do :; done
		echo lined up; wait"
	assert_contains "$output" 'ran'
	[[ $output != *'waiting for'* ]]
	wait
}

@test "after Ctrl-Z and fg a waiting command shows its place again" {
	need python3
	hold h --pool-slots 1
	cat >session <<-EOF
		set -m
		"$FAIRPAR" --pool --single touch ran
		echo back
		read -r line && \$line
	EOF
	printf '1st of 1\t\\x1a\nback\tfg\\n\n1st of 1\t\\x03\n' >talk
	on_terminal bash session
	assert_eq "$status" 130
	release h.go
	wait
	[[ ! -e ran ]]
}

# ---- --pool-wait ----

@test "--pool-wait: without a slot in time the command is not run, and who holds the slots is said; with one it is" {
	run_fairpar --pool --pool-slots 1 --single true # the time of the next one is not for the start of a server, too
	run_fairpar --pool --pool-slots 1 --pool-wait 0 --single echo free
	assert_lines free
	hold h --pool-slots 1
	for time in 0 0.01; do
		run_fairpar 75 --pool --pool-wait "$time" --single touch ran
		assert_contains "$stderr" "fairpar: error: --pool-wait: the command got no slot in time: 1st of 1 waiting for pool default, held by 'sh -c echo >h.in; read -r _ <h.go' (pid "
	done
	await_pool '1 of 1 slots taken, 0 waiting'
	run_fairpar 75 --pool --pool-wait 0 --slots-per-job 9 --single touch ran
	[[ ! -e ran ]]
	single late --pool-wait 1h echo late
	await_pool ', 1 waiting'
	release h.go
	wait
	assert_eq "$(cat late.out)" late
}

@test "--pool-wait 0: the command that asks is lent the slot that it runs in" {
	run_fairpar --pool --pool-slots 1 --single "$FAIRPAR" --pool --pool-wait 0 --single echo lent
	assert_lines lent
}

@test "--pool-wait: a server that does not answer has two seconds" {
	hold h --pool-slots 1
	server=$(servers)
	kill -STOP "$server"
	run_fairpar 75 --pool --pool-wait 0 --single touch ran
	assert_contains "$stderr" 'its server does not answer'
	kill -CONT "$server"
	single w --pool-wait 5 touch ran
	await_pool ', 1 waiting'
	kill -STOP "$server"
	status=0
	wait "$single_pid" || status=$?
	assert_eq "$status" 75
	assert_contains "$(cat w.err)" '--pool-wait: the server of pool default does not answer'
	kill -CONT "$server"
	release h.go
	wait
	[[ ! -e ran ]]
}

@test "--pool-wait is of --single, and a time" {
	run_fairpar 255 --pool --pool-wait 3 echo ::: 1
	assert_contains "$stderr" '--pool-wait needs --single'
	run_fairpar 255 --pool --pool-wait -1 --single true
	assert_contains "$stderr" "--pool-wait must be seconds, or a time such as 1h30m or 2.5s, not '-1'"
	run_fairpar 255 --semaphore --pool-wait 3 true
	assert_contains "$stderr" '--pool-wait needs --single'
}

# ---- --timeout ----

@test "--timeout with --single counts from the start of the command, and ends all that descends from it" {
	hold h --pool-slots 1
	make_fifo held
	cat held >rest & # until the last of them has gone
	local reader=$!
	# in 3 s this says that it waits
	say_waits w "$FAIRPAR" --pool --timeout 3 --single sh -c 'exec 8>held
		trap "echo TERM >>order" TERM
		(trap "" TERM; setsid sleep 1000; sleep 1000) &
		echo began >>order
		until ! wait; do :; done; sleep 1000'
	release h.go
	wait "$reader"
	await_pool 'default: 0 of '
	assert_eq "$(sort -u order)" $'TERM\nbegan'
	assert_contains "$(cat w.rest)" "fairpar: warning: 'sh' has run for 3.00s, and is ended (--timeout)"
}

@test "--timeout with --single: the exit status is 124, however the command ends then, and else its own" {
	run_fairpar 124 --pool --timeout 0.01 --single sleep 1000
	run_fairpar 124 --pool --timeout 0.2 --term-seq TERM,1000000,KILL --quiet --single sh -c 'trap "exit 3" TERM; while :; do :; done'
	assert_eq "$stderr" ''
	run_fairpar 3 --pool --timeout 1h --single sh -c 'exit 3'
	run_fairpar 143 --pool --timeout 1h --single sh -c 'kill $$'
	FAIRPAR_POOL_DIR=$PWD/none/none run_fairpar 124 --pool --timeout 0.01 --single sleep 1000
	run_fairpar 255 --pool --timeout 50% --single true
	assert_contains "$stderr" '--timeout with --single must be a time, not a percentage'
	run_fairpar 255 --pool --timeout 5 --status
	assert_contains "$stderr" '--timeout cannot be combined with --status'
}
