# Jobs that wait for others (--wait) lend their slots: nobody waits for ever, and no more run at once than may.
# shellcheck disable=SC2016 # the commands are for the shells of the jobs

load helper

setup() {
	helper_setup
	unset FAIRPAR_SOCK FAIRPAR_CONTROL FAIRPAR_POOL FAIRPAR_LEASE
	export FAIRPAR FAIRPAR_POOL_DIR=$BATS_TEST_TMPDIR/pools
	printf '%s\n' "$FAIRPAR_POOL_DIR" >"$BATS_TEST_TMPDIR/of_server"
	# wait_for ID …: between the two the job counts for nothing
	cat >functions <<-'EOT'
		begin() { echo + >>runs; }
		end() { echo - >>runs; }
		add() { "$FAIRPAR" --add "$@"; }
		wait_for() { end; "$FAIRPAR" --wait "$@"; waited=$?; begin; return "$waited"; }
	EOT
	: >runs
}

teardown() {
	end_servers
	helper_teardown
}

# The servers of the test's pools: their directory is one of their arguments.
end_servers() {
	local cmdline
	env -u FAIRPAR_TEST grep -lszFf "$BATS_TEST_TMPDIR/of_server" /proc/[0-9]*/cmdline >"$BATS_TEST_TMPDIR/servers" || :
	while read -r cmdline; do
		kill -KILL "${cmdline//[!0-9]/}" || :
	done <"$BATS_TEST_TMPDIR/servers" 2>/dev/null
}

# script NAME: the program of a job, from stdin
script() {
	{ echo '. ./functions; begin; trap end EXIT'; cat; } >"$1"
}

# Of jobs that have written + where they run and - where they do not: how many ran at once at most.
most_at_once() {
	awk '/\+/ { if (++n > most) most = n } /-/ { --n } END { print most + 0 }' runs
}

# ---- one slot ----

@test "a job waits for what it has added, with one slot" {
	script one <<<'echo one'
	script waits <<<'id=$(add sh one); wait_for "$id"; echo "waited: $?"'
	run_fairpar -j1 'sh waits #' ::: a b
	assert_lines one "waited: 0" one "waited: 0"
	assert_eq "$(most_at_once)" 1
}

@test "jobs wait for each other three deep, with one slot" {
	script leaf <<<'echo leaf'
	script three <<<'wait_for "$(add sh leaf)" && echo three'
	script two <<<'wait_for "$(add sh three)" && echo two'
	script top <<<'wait_for "$(add sh two)" && echo top'
	run_fairpar -j1 -u 'sh top #' ::: a
	assert_lines leaf three two top
	assert_eq "$(most_at_once)" 1
}

@test "what is waited for goes first, and who waited goes on before what was queued" {
	script leaf <<<'echo leaf'
	script waits <<-'EOT'
		add echo other >/dev/null
		id=$(add sh leaf)
		add echo another >/dev/null
		wait_for "$id"
		echo top
	EOT
	run_fairpar -j1 -u --prefer-fairness 'case {} in a) sh waits ;; *) echo {} ;; esac #' ::: a b c
	assert_lines leaf top b c other another
}

@test "many jobs that add and wait at random never run beside another with one slot" {
	script node <<-'EOT'
		depth=$1
		[ "$depth" -gt 0 ] || exit 0
		a=$(add sh node $((depth - 1)))
		b=$(add --batch "b$((depth % 3))" sh node $((depth - 1)))
		case $depth in
		2) wait_for "$b" ;;
		*) wait_for "$a" "$b" ;;
		esac
	EOT
	run_fairpar -j1 'sh node 4 #' ::: a b
	assert_eq "$(most_at_once)" 1
	assert_eq "$(sort runs | uniq -c | tr -d ' \n')" "$(grep -c + runs)+$(grep -c + runs)-"
	run_fairpar -j3 'sh node 4 #' ::: a b c d
	(($(most_at_once) <= 3)) || fail "$(most_at_once)"
}

@test "two waits at once of one job end, with one slot" {
	script one <<<':'
	script waits <<-'EOT'
		a=$(add sh one) b=$(add sh one)
		"$FAIRPAR" --wait "$a" &
		"$FAIRPAR" --wait "$b" &
		wait
		echo both
	EOT
	run_fairpar -j1 'sh waits #' ::: a
	assert_lines both
}

@test "two jobs that wait for one are both told, and one that waits for two is told when both have ended" {
	make_fifo began hold
	script one <<<'read -r _ <hold; echo one'
	script two <<<'echo two'
	script waits <<<'add sh one >id; echo >began; wait_for "$(add sh two)" "$(cat id)"; echo both'
	script other <<<'wait_for "$(cat id)"; echo other'
	start_fairpar --run r -j3 -u 'sh waits #' ::: a
	await began
	"$FAIRPAR" --run r --add sh other >other_id
	until "$FAIRPAR" --run r --status >state && [ "$(grep -c 'waits for' state)" = 2 ]; do :; done
	wait_for grep -q two "$BATS_TEST_TMPDIR/stdout"
	release hold
	end_fairpar
	assert_set one two both other
	assert_eq "${lines[0]} ${lines[1]}" "two one"
}

@test "a wait for what has ended is over at once, and a second one works as the first" {
	script one <<<'exit 3'
	script waits <<<'id=$(add sh one); wait_for "$id"; echo $?; wait_for "$id"; echo $?; wait_for "$(add sh one)"; echo $?'
	run_fairpar 2 -j1 'sh waits #' ::: a
	assert_lines 3 3 3
	assert_eq "$(most_at_once)" 1
}

@test "a job that was awaited goes first again when it is tried again" {
	script fails <<<'echo try; [ -e tried ] || { : >tried; exit 1; }'
	script waits <<<'wait_for "$(add --retries 2 sh fails)"; echo "top $?"'
	run_fairpar -j1 -u 'case {} in a) sh waits ;; *) echo {} ;; esac #' ::: a b
	assert_lines try try "top 0" b
}

# ---- what could keep back ----

@test "a job waits for one of its own batch, which runs one at a time" {
	script one <<<':'
	script waits <<<'wait_for "$(add sh one)"; echo "waited: $?"'
	run_fairpar -j4 --max-parallel default=1 'sh waits #' ::: a b
	assert_lines "waited: 0" "waited: 0"
	assert_eq "$(most_at_once)" 1
}

@test "a job waits for one that takes all slots, and one that takes all slots waits" {
	script one <<<':'
	script waits <<<'wait_for "$(add --slots-per-job 2 sh one)"; echo "waited: $?"'
	script wide <<<'wait_for "$(add sh waits)"; echo "wide: $?"'
	script top <<<'wait_for "$(add --slots-per-job 2 sh wide)"; echo "top: $?"'
	run_fairpar -j2 -u 'sh top #' ::: a b
	assert_eq "$(sort <<<"$output" | uniq -c | tr -s ' ' | tr '\n' ,)" " 2 top: 0, 2 waited: 0, 2 wide: 0,"
}

@test "a long-running job waits for one like it, one at a time" {
	script one <<<':'
	script waits <<<'wait_for "$(add sh one)"; echo "waited: $?"'
	run_fairpar -j1 --long-running --max-long 1 'sh waits #' ::: a b
	assert_lines "waited: 0" "waited: 0"
	assert_eq "$(most_at_once)" 1
}

@test "a job with --tty that waits lends the terminal, and has it again" {
	script waits <<-'EOT'
		echo ready; read -r line </dev/tty; echo "first $line"
		wait_for "$(add --batch b true)"
		echo 'now the third'; read -r line </dev/tty; echo "third $line"
	EOT
	cat >m.yaml <<-'EOT'
		version: 1
		batches:
		  w: {run: sh waits}
		  n: {run: 'echo "n reads"; read -r line </dev/tty; echo "second $line"'}
		  b: {needs: [n], run: 'true'}
	EOT
	printf 'ready\tone\\n\nn reads\ttwo\\n\nthe third\tthree\\n\n' >talk
	on_terminal "$FAIRPAR" --tty -f m.yaml
	assert_eq "$status" 0
	assert_contains "$output" "second two"
	assert_contains "$output" "third three"
}

@test "the memory that a waiting job has declared is for others" {
	use_faults
	mkdir -p root/proc
	export FAIRPAR_ROOT=$PWD/root
	printf 'MemTotal: 1000000 kB\nMemAvailable: 900000 kB\n' >root/proc/meminfo
	script one <<<'echo one'
	script waits <<<'wait_for "$(add --batch b sh one)"; echo "waited: $?"'
	cat >m.yaml <<-'EOT'
		version: 1
		batches:
		  a: {run: sh waits, memory: 800M}
		  b: {run: ":", memory: 800M}
	EOT
	run_fairpar -j2 -f m.yaml
	assert_contains "$output" "waited: 0"
}

@test "a job waits for one of a batch that needs another batch" {
	script one <<<'echo one'
	script waits <<<'wait_for "$(add --batch b sh one)"; echo "waited: $?"'
	cat >m.yaml <<-'EOT'
		version: 1
		batches:
		  w: {run: sh waits}
		  n: {args: [1, 2, 3], run: 'echo n {}'}
		  b: {needs: [n], run: 'echo b'}
	EOT
	run_fairpar -j1 -f m.yaml
	assert_contains "$output" "waited: 0"
}

# ---- circles ----

@test "a circle of waits is refused, with its names" {
	script second <<<'wait_for "$(cat first_id)"; echo "second: $?"'
	script first <<<'until [ -s first_id ]; do :; done; wait_for "$(add sh second)"; echo "first: $?"'
	script top <<<'add sh first >id; mv id first_id; wait_for "$(cat first_id)"; echo "top: $?"'
	run_fairpar any -j1 -u 'sh top #' ::: a
	assert_lines "second: 255" "first: 0" "top: 0"
	assert_contains "$stderr" "default#3 waits for default#2, which waits for default#3"
}

@test "a job that waits for itself is refused" {
	script self <<<'"$FAIRPAR" --wait "$(cat own_id)"; echo "self: $?"'
	script top <<<'add sh self >id; mv id own_id; wait_for "$(cat own_id)"'
	run_fairpar any -j1 -u 'sh top #' ::: a
	assert_lines "self: 255"
	assert_contains "$stderr" "default#2 waits for default#2"
}

@test "a circle is told with its names, whatever else is waited for" {
	script self <<<'"$FAIRPAR" --wait "$(cat own_id)" "$(cat leaf_id)"; echo "self: $?"'
	script leaf <<<':'
	script top <<<'add sh self >id; add sh leaf >leaf_id; mv id own_id; wait_for "$(cat own_id)"'
	run_fairpar any -j1 -u 'sh top #' ::: a
	assert_lines "self: 255"
	assert_contains "$stderr" "a circle: default#2 waits for default#2"
}

@test "a wait for a batch that needs the waiter's own is refused, with the names" {
	script waits <<<'"$FAIRPAR" --wait "$(add --batch last echo added)"; echo "waited: $?"'
	cat >m.yaml <<-'EOT'
		version: 1
		batches:
		  first: {run: sh waits}
		  middle: {needs: [first], run: echo middle}
		  last: {needs: [middle], run: echo last}
	EOT
	run_fairpar any -j1 -f m.yaml
	assert_contains "$output" "waited: 255"
	assert_contains "$stderr" "first#1 waits for last#1, which waits for batch middle, which waits for batch first, which waits for first#1"
	assert_contains "$output" "added"
}

# ---- slots of others ----

@test "in a pool of one slot a waiting job's lease carries the next one" {
	script leaf <<<':'
	script two <<<'wait_for "$(add sh leaf)" && echo two'
	script top <<<'wait_for "$(add sh two)" && echo top; "$FAIRPAR" "echo below {} #" ::: a'
	run_fairpar --pool --pool-slots 1 -u 'sh top #' ::: a b
	assert_lines two top "below a" two top "below a"
	assert_eq "$(most_at_once)" 1
}

@test "two runs in a pool of one slot wait, and what runs below a job that has waited finds its slot" {
	script leaf <<<':'
	script top <<<'wait_for "$(add sh leaf)"; "$FAIRPAR" "echo below {} #" ::: a >/dev/null; echo top'
	start_fairpar --pool --pool-slots 1 -u 'sh top #' ::: {1..5}
	"$FAIRPAR" --pool --pool-slots 1 -u 'sh top #' ::: {1..5} >other 2>other_err || fail "$(<other_err)"
	end_fairpar
	assert_eq "$(grep -c top other) $(grep -c top <<<"$output")" "5 5"
	assert_eq "$(most_at_once)" 1
}

@test "a job of a run in a job waits, with one slot" {
	script leaf <<<':'
	script inner <<<'wait_for "$(add sh leaf)" && echo inner; "$FAIRPAR" "echo below {} #" ::: a'
	echo '"$FAIRPAR" -u "sh inner #" ::: 1 2' >outer
	run_fairpar -j1 -u 'sh outer #' ::: a b
	assert_lines inner "below a" inner "below a" inner "below a" inner "below a"
	assert_eq "$(most_at_once)" 1
}

@test "a slot that is lent to a run in the job is not lent by a wait at the same time" {
	make_fifo go
	script leaf <<<':'
	script below <<<'read -r _ <go'
	cat >top <<-'EOT'
		. ./functions
		id=$(add sh -c '. ./functions; begin; end; echo leaf >>order')
		"$FAIRPAR" 'echo below >>order; begin() { echo + >>runs; }; begin; echo >started; read -r _ <go; echo - >>runs; echo below ends >>order #' ::: 1 &
		read -r _ <started
		"$FAIRPAR" --wait "$id" &
		read -r _ <looked
		echo >go
		wait
	EOT
	make_fifo started looked
	start_fairpar --run r -j1 'sh top #' ::: a
	until "$FAIRPAR" --run r --status >state 2>/dev/null && grep -q waits state; do :; done
	release looked
	end_fairpar
	assert_eq "$(<order)" $'below\nbelow ends\nleaf'
	assert_eq "$(most_at_once)" 1
}

# ---- bad days ----

@test "a job whose --wait is killed goes on, and nothing starts beside it for that" {
	make_fifo hold began at_end
	script one <<<'echo >began; read -r _ <hold'
	script waits <<-'EOT'
		id=$(add sh one)
		end
		sh -c 'echo $$ >pid; exec "$FAIRPAR" --wait "$1"' sh "$id" &
		wait $!
		begin
		echo "waited: $?"
		echo >at_end
	EOT
	start_fairpar -j1 -u 'case {} in a) sh waits ;; *) echo {} ;; esac #' ::: a b
	await began
	kill -KILL "$(<pid)"
	await at_end
	release hold
	end_fairpar
	assert_lines "waited: 0" b
}

@test "a job that waits is ended at its timeout, and what it waited for is not" {
	make_fifo go hold began
	start_fairpar --run r -j1 -u --log log 'echo >began; read -r _ <go #' ::: first
	await began
	"$FAIRPAR" --run r --add --timeout 3 sh -c 'exec "$FAIRPAR" --wait "$(cat id)"' >waits_id
	"$FAIRPAR" --run r --add sh -c 'echo >began; read -r _ <hold; echo one' >id
	"$FAIRPAR" --run r --add echo b >b_id
	release go
	await began
	wait_for grep -q '"status":"timeout"' log
	release hold
	end_fairpar any
	assert_lines one b
}

@test "Ctrl-C ends jobs that wait" {
	make_fifo began
	script one <<<'echo >began; exec sleep 1000'
	script waits <<<'wait_for "$(add sh one)"'
	start_fairpar -j1 'sh waits #' ::: a b
	await began
	kill -INT "$fairpar_pid"
	end_fairpar 130
}

@test "a job that waits for one that is cancelled goes on" {
	make_fifo began
	script one <<<'echo >began; exec sleep 1000'
	script waits <<<'add sh one >id.new; mv id.new id; wait_for "$(cat id)"; echo "waited: $?"'
	start_fairpar --run r -j1 -u 'sh waits #' ::: a
	await began
	"$FAIRPAR" --run r --cancel "$(<id)"
	end_fairpar any
	assert_lines "waited: 1"
}
