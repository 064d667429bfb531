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
	assert_eq "$text" "fairpar: waits for a slot of pool default: 3rd of 3, held by 'sh -c echo >h.in; read -r _ <h.go'"
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
	assert_contains "$line" "fairpar: waits for a slot of pool default: 1st of 1, held by 'sh -c echo >in\\nread -r _ <go' (pid "
	release go
	wait
	assert_eq "$(cat run.out)" $'1\n2\n3'
	assert_eq "$(cat run.rest)" ''
}
