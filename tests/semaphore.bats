# --semaphore, and a link named sem: one command, when there is room for it.

load helper

setup() {
	helper_setup
	export HOME=$BATS_TEST_TMPDIR/home
	unset XDG_RUNTIME_DIR
	mkdir -p "$HOME"
	sems=$HOME/.cache/fairpar/sem/on-$(uname -n | sed 's/\./%2E/g')
}

# start_sem NAME ARGUMENT …: a semaphore's command in the foreground, in the background; $fairpar_pid, output in NAME.out
start_sem() {
	timeout -k 5 "$patience" "$FAIRPAR" --quiet --id test --fg "${@:2}" >"$1.out" 2>&1 </dev/null 3>&- &
	fairpar_pid=$!
}

# hold GO OPTION …: a holder says so on `in`, and ends when GO is written to.
hold() {
	"$FAIRPAR" --id test "${@:2}" "echo held >in; read x <$1" </dev/null >/dev/null 3>&-
	await in
}

@test "a command behind a semaphore has its words, stdin and exit status" {
	run_fairpar --fg --id test echo a '{}' '$((1+1))' <<<''
	assert_lines 'a {} 2'
	run_fairpar -q --fg --id test echo 'a  $b' </dev/null
	assert_lines 'a  $b'
	run_fairpar --fg --id test cat <<<hello
	assert_lines hello
	echo file >input
	run_fairpar --fg --id test -a input cat <<<hello
	assert_lines file
	run_fairpar 3 --fg --id test 'exit 3' </dev/null
	assert_eq "$stderr" ''
	run_fairpar 137 --fg --id test 'kill -9 $$' </dev/null
}

@test "a semaphore runs its command whatever is said of items, for it has none" {
	for option in '--header :' --skip-first-line '-E echo' '--pipe --tee' --csv '-C c' -r; do
		# shellcheck disable=SC2086 # options and their words
		run_fairpar --semaphore --fg --id items $option echo
		[[ $(wc -c <"$BATS_TEST_TMPDIR/stdout") == 1 ]] || fail "$option: the command was not run"
	done
}

@test "a link named sem is --semaphore, and runs in the background" {
	ln -s "$FAIRPAR" sem
	make_fifo in go
	FAIRPAR=$PWD/sem run_fairpar 'echo here >in; read x <go; echo done >out' </dev/null
	await in
	assert_eq "$line" here
	release go
	FAIRPAR=$PWD/sem run_fairpar --wait </dev/null
	assert_eq "$(cat out)" 'done'
	assert_eq "$(ls "$sems")" ''
}

@test "one at a time: the next one starts when the holder has ended" {
	make_fifo in go next
	hold go
	start_sem b 'echo started >next'
	run_fairpar 1 --id test --st -0.2 --fg echo never </dev/null
	assert_contains "$stderr" 'giving up'
	assert_eq "$output" ''
	[[ -d /proc/$fairpar_pid ]]
	release go
	await next
	wait "$fairpar_pid"
	run_fairpar --id test --wait </dev/null
	assert_eq "$(ls "$sems")" ''
}

@test "-j2 lets two run, and not a third" {
	make_fifo in go go2
	hold go -j2
	hold go2 -j2
	run_fairpar 1 --id test -j2 --st -0.2 --fg echo never </dev/null
	run_fairpar --id test -j3 --fg echo third </dev/null
	assert_lines third
	run_fairpar --id another --fg echo free </dev/null
	assert_lines free
	release go
	release go2
	run_fairpar --id test --wait </dev/null
}

@test "the first that waits is the first that runs" {
	make_fifo in go
	hold go
	for i in 1 2 3 4; do
		start_sem "$i" "echo $i >>order"
		wait_for test -p "$sems/id-test/w$((i + 1))"
	done
	release go
	wait
	assert_eq "$(cat order)" $'1\n2\n3\n4'
}

@test "a killed holder's command ends, and then the next one runs" {
	make_fifo in go
	start_sem a 'echo "$$ $PPID" >in; trap "" TERM; read x <go'
	await in
	read -r job holder <<<"$line"
	start_sem b "test -e /proc/$job/fd/0 && echo both; echo next"
	wait_for test -p "$sems/id-test/w2"
	kill -KILL "$holder"
	wait "$fairpar_pid"
	assert_eq "$(cat b.out)" next
	assert_eq "$(ls "$sems")" ''
}

@test "one that is killed while it waits holds up nobody" {
	make_fifo in go
	hold go
	start_sem a 'echo never'
	wait_for test -p "$sems/id-test/w2"
	pid=$(pgrep -P "$fairpar_pid")
	start_sem b 'echo next'
	wait_for test -p "$sems/id-test/w3"
	kill -KILL "$pid"
	release go
	wait "$fairpar_pid"
	assert_eq "$(cat b.out)" next
}

@test "one that waits for 3 s says so once, and stays in its place" {
	make_fifo in go said
	hold go
	start_sem a 'echo a >>order'
	local a=$fairpar_pid
	wait_for test -p "$sems/id-test/w2"
	"$FAIRPAR" --id test --fg 'echo b >>order' </dev/null >/dev/null 2>said 3>&- &
	local b=$!
	exec 7<said
	IFS= read -r line <&7
	assert_eq "$line" "fairpar: waits for semaphore 'test': 1 running, 1 waiting before this command"
	start_sem c 'echo c >>order'
	wait_for test -p "$sems/id-test/w4"
	release go
	wait "$a" "$b" "$fairpar_pid"
	assert_eq "$(cat order)" $'a\nb\nc'
	assert_eq "$(cat <&7)" ''
	exec 7<&-
}

@test "--st takes the semaphore by force, and --wait waits for that command too" {
	make_fifo in go go2
	hold go
	"$FAIRPAR" --id test --st 0.1 'echo forced >in; read x <go2; echo end >>ended' 2>err </dev/null >/dev/null 3>&-
	await in
	assert_eq "$line" forced
	assert_contains "$(cat err)" 'taking it by force'
	run_fairpar 1 --id test --wait --st -0.1 </dev/null
	release go
	release go2
	run_fairpar --id test --wait </dev/null
	assert_eq "$(cat ended)" end
}

@test "many at once exclude each other" {
	for i in {1..20}; do
		start_sem "$i" 'mkdir alone && rmdir alone || echo two >>wrong'
	done
	wait
	[[ ! -e wrong ]]
	assert_eq "$(ls "$sems")" ''
}

@test "its directory is private: of this user, and no link" {
	run_fairpar --id test --fg true </dev/null
	assert_eq "$(stat -c %a "$sems")" 700
	chmod 777 "$sems"
	run_fairpar 255 --id test --fg true </dev/null
	assert_contains "$stderr" 'is open to other users'
	rm -r "$sems"
	mkdir elsewhere
	ln -s "$PWD/elsewhere" "$sems"
	run_fairpar 255 --id test --fg true </dev/null
	assert_contains "$stderr" "cannot open"
	assert_eq "$(ls elsewhere)" ''
}

@test "what a semaphore cannot do is refused" {
	run_fairpar 255 --id test --fg </dev/null
	assert_contains "$stderr" 'needs a command'
	run_fairpar 255 --id test echo ::: a </dev/null
	assert_contains "$stderr" 'without items'
	run_fairpar 255 --wait </dev/null
	assert_contains "$stderr" 'name it with --id'
	run_fairpar 255 --id test --fg --bg true </dev/null
	assert_contains "$stderr" 'cannot be combined with --bg'
	HOME='' FAIRPAR_POOL_DIR=relative run_fairpar 255 --id test true </dev/null
	assert_contains "$stderr" 'absolute path'
}

@test "a semaphore of whoever has no home that can be written is in the directory of the pools" {
	mkdir read-only
	chmod 500 read-only
	local homes=('' /nonexistent/home /dev/null)
	[[ -w read-only ]] || homes+=("$PWD/read-only") # root writes it
	for HOME in "${homes[@]}"; do
		run_fairpar --id test --fg 'ls "$FAIRPAR_POOL_DIR"/sem/on-*' </dev/null
		assert_eq "$output" id-test
	done
}

@test "the semaphores of two hosts with one home are independent" {
	need unshare
	unshare -ru sh -c 'echo other >/proc/sys/kernel/hostname' 2>/dev/null || skip "a host of another name cannot be made"
	make_fifo in go
	hold go
	run unshare -ru sh -c 'echo other >/proc/sys/kernel/hostname; exec "$FAIRPAR" --id test --st -0.2 --fg echo there' </dev/null
	assert_eq "$output" there
	release go
	run_fairpar --id test --wait </dev/null
}

@test "a command in the background outlives the terminal of its caller" {
	need setsid
	make_fifo in go
	status=0
	setsid --wait sh -c '"$FAIRPAR" --id test "echo >in; read -r x <go; echo done >out"; kill -HUP 0' </dev/null 3>&- || status=$?
	assert_eq "$status" 129
	await in
	release go
	run_fairpar --id test --wait </dev/null
	assert_eq "$(cat out)" 'done'
}

@test "sem does what GNU parallel's does" {
	need sem
	ln -s "$FAIRPAR" ours
	for words in 'echo a' 'exit 3' 'kill -9 $$' 'cat'; do
		expected=0
		theirs=$(echo x | HOME=$BATS_TEST_TMPDIR timeout "$patience" sem --id t --fg "$words" 2>/dev/null) || expected=$?
		run_fairpar "$expected" --id t --fg "$words" <<<x
		assert_eq "$output" "$theirs"
	done
}
