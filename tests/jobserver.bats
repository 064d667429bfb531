# GNU make's jobserver: a run in a job of make shares the slots of make, and one with --jobserver gives idle ones to make.
# shellcheck disable=SC2016 # the commands are for the shells of the jobs
# shellcheck disable=SC2030,SC2031 # each test is a subshell, and its variables are its own

load helper

setup() {
	helper_setup
	unset FAIRPAR_SOCK FAIRPAR_POOL FAIRPAR_LEASE FAIRPAR_MAKELEVEL MAKELEVEL CARGO_MAKEFLAGS
	export FAIRPAR FAIRPAR_POOL_DIR=$BATS_TEST_TMPDIR/pools
	printf '%s\n' "$FAIRPAR_POOL_DIR" >"$BATS_TEST_TMPDIR/of_server"
	meeting=
}

# A server would end by itself after some seconds.
teardown() {
	local server
	[[ -z $meeting ]] || kill "$meeting" 2>/dev/null || :
	for server in $(servers); do
		kill "$server" 2>/dev/null || :
		while grep -qs '^State:[[:blank:]]*[^ZX[:blank:]]' "/proc/$server/status"; do :; done
	done
	helper_teardown
}

servers() {
	grep -lszxFf "$BATS_TEST_TMPDIR/of_server" /proc/[0-9]*/cmdline | tr -dc '0-9\n'
}

# meet N ROUNDS: whoever runs `sh meets` goes on when N do so at once; that many rounds. Each writes + and - to `runs`.
meet() {
	[[ -e in ]] || make_fifo in go
	exec 8<>in 9<>go
	echo 'echo + >>runs; printf . >in; read -r _ <go; echo - >>runs' >meets
	(
		exec 3>&- 5>&-
		for ((round = 0; round < $2; ++round)); do
			read -rt "$patience" -N "$1" _ <&8 && printf "%$1s" '' | tr ' ' '\n' >&9
		done
	) &
	meeting=$!
}

# has_met N: all rounds are over, and never were there more than N.
has_met() {
	wait "$meeting"
	meeting=
	assert_eq "$(most_at_once)" "$1"
}

# Of jobs that have written + at their start and - at their end to the file `runs`: how many ran at once at most.
most_at_once() {
	awk '/\+/ { if (++n > most) most = n } /-/ { --n } END { print most + 0 }' runs
}

# make_with FILE ARGUMENT …: make as the outermost, with the descriptors of a shell
make_with() {
	local makefile=$1
	shift
	status=0
	# shellcheck disable=SC2034 # check_outcome reads it
	expected=0
	env --default-signal=INT,QUIT timeout --foreground "$patience" make -s -f "$makefile" "$@" >"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" 3>&- \
		|| status=$?
	check_outcome
}

# A jobserver as make has it: the FIFO `tokens` with these bytes, open as descriptor 7 and named by $MAKEFLAGS.
tokens() {
	[[ -e tokens ]] || make_fifo tokens
	exec 7<>tokens
	printf %s "$1" >&7
	export MAKEFLAGS=" -j --jobserver-auth=fifo:$PWD/tokens"
}

# Those that are in it now, in any order; it is empty then.
tokens_left() {
	dd if=tokens iflag=nonblock bs=64 count=1 2>/dev/null | fold -w 1 | sort | tr -d '\n'
}

# A client of the FIFO form, by the GNU make manual alone: client N COMMAND runs it N times, the first in its own slot.
write_client() {
	cat >client <<-'END'
		path=${MAKEFLAGS##*--jobserver-auth=fifo:} path=${path%% *}
		exec 6<>"$path"
		for ((i = 1; i < $1; ++i)); do
			(read -rN 1 -u 6 token; "${@:2}"; printf %s "$token" >&6) &
		done
		"${@:2}"
		wait
	END
}

count='echo + >>runs; /bin/true; echo - >>runs'
export count

# ---- in a job of make ----

@test "in make -j3 a run has three jobs at once" {
	need make
	meet 3 2
	echo $'all: ; +@"$(FAIRPAR)" "sh meets; : {}" ::: 1 2 3 4 5 6' >Makefile
	make_with Makefile -j3
	has_met 3
	assert_eq "$stderr" ""
}

@test "two runs in make -j3 have three jobs at once together" {
	need make
	meet 3 4
	echo $'all: a b\na b: ; +@"$(FAIRPAR)" "sh meets; : {}" ::: 1 2 3 4 5 6' >Makefile
	make_with Makefile -j3
	has_met 3
	assert_eq "$stderr" ""
}

@test "in make -j4, -j2 is how many of its slots a run has" {
	need make
	meet 2 3
	echo $'all: ; +@"$(FAIRPAR)" -j2 "sh meets; : {}" ::: 1 2 3 4 5 6' >Makefile
	make_with Makefile -j4
	has_met 2
}

@test "in make -j4 a run with -j auto or a greater -j has the slots of make, and says so" {
	need make
	printf 'all:\n\t+@"$$FAIRPAR" $(J) --summary=always true ::: 1 2\n' >Makefile
	local jobs
	for jobs in '-j auto' '-j 9' '-j auto:2-8'; do
		make -j4 J="$jobs" 2>summary
		assert_contains "$(<summary)" '; 4 slots, '
	done
	make -j4 J='-j auto:1-3' 2>summary
	assert_contains "$(<summary)" '; 3 slots, '
}

@test "in make -j4 without '+' there is one job at a time, and a word of what to do" {
	need make
	echo $'all: ; @"$(FAIRPAR)" "$$count; : {}" ::: 1 2 3 4 5 6' >Makefile
	make_with Makefile -j4
	if make --help | grep -q -- --jobserver-style; then # GNU make 4.4: its FIFO can be opened in every recipe
		assert_eq "$stderr" ""
		return
	fi
	assert_eq "$(most_at_once)" 1
	assert_eq "$(wc -l <<<"$stderr")" 1
	assert_contains "$stderr" "add '+' in front of the recipe line"
}

@test "under make -n a run shows its commands" {
	need make
	echo $'all: ; +@"$(FAIRPAR)" "touch {}" ::: 1 2' >Makefile
	make_with Makefile -n -j2
	assert_eq "$(tail -n 2 <<<"$output")" $'touch 1\ntouch 2' # behind the line of make itself
	[[ ! -e 1 ]] || fail "it ran"
	echo $'all: ; +@"$(FAIRPAR)" --no-inherit "touch {}" ::: 1 2' >Makefile
	make_with Makefile -n
	[[ -e 1 && -e 2 ]] || fail "it did not run"
	MAKEFLAGS=" -- X=n" run_fairpar echo ::: 1
	assert_lines 1
	MAKEFLAGS="X=n" run_fairpar echo ::: 1
	assert_lines 1
	MAKEFLAGS="kns" run_fairpar echo {} ::: 1
	assert_lines "echo 1"
}

@test "make, a run, make: the inner make has slots of the outer one" {
	need make
	meet 3 2
	echo $'all: ; +@"$(FAIRPAR)" -j1 "\\$(MAKE) -s -f inner; : {}" ::: 1' | tr -d '\\' >Makefile
	printf 'all: 1 2 3 4 5 6\n1 2 3 4 5 6: ; @sh meets\n' >inner
	make_with Makefile -j3
	has_met 3
	assert_eq "$stderr" ""
}

@test "with --no-inherit a run in make has slots of its own" {
	tokens ''
	meet 2 1
	run_fairpar --no-inherit -j2 'sh meets; : {}' ::: 1 2
	has_met 2
	MAKEFLAGS="k$MAKEFLAGS -- A=1" run_fairpar --no-inherit 'echo "$MAKEFLAGS; "{}' ::: 1
	assert_lines 'k -- A=1; 1'
}

@test "xargs takes no notice of a jobserver" {
	tokens ''
	meet 2 1
	printf '1\n2\n' | run_fairpar --xargs -P2 -n1 sh meets
	has_met 2
}

# ---- tokens ----

@test "a run has one slot of its own and one for each token, and puts back the bytes that it has read" {
	tokens ab
	meet 3 2
	run_fairpar 'sh meets; : {}' ::: 1 2 3 4 5 6
	has_met 3
	assert_eq "$(tokens_left)" ab
}

@test "where the jobserver does not say how many slots there are, nobody does: in the log, the status, the summary and the pictures" {
	need jq
	tokens ab
	echo '"$FAIRPAR" --status=json >status; "$FAIRPAR" --log inner.jsonl --summary=always true ::: 1' >asks
	run_fairpar --log run.jsonl --report run.svg --trace trace.json --summary=always 'sh asks; : {}' ::: 1
	assert_eq "$(jq -s -c 'map(select(.ev == "run_start").slots)' run.jsonl inner.jsonl)" '[null,null]'
	assert_eq "$(jq .slots status)" null
	[[ $stderr$(<run.svg) != *busy* ]] || fail "$stderr"
	assert_eq "$(jq '.traceEvents[] | select(.name == "slots")' trace.json)" ''
	run_fairpar --from-log run.jsonl
	[[ $output$stderr != *busy* ]] || fail "$output$stderr"
	run_fairpar --log run.jsonl -j2 true ::: 1
	assert_eq "$(jq 'select(.ev == "run_start").slots' run.jsonl)" 2
}

@test "all forms of a jobserver are known, and the last one counts" {
	local flags
	tokens ab
	exec 5<tokens 6>tokens
	for flags in "k -j3 --jobserver-auth=5,6" "--jobserver-fds=7,7" "--jobserver-fds=3,4 -j --jobserver-auth=5,6" \
		"--jobserver-auth=-2,-2 --jobserver-auth=fifo:$PWD/tokens -- A=--jobserver-auth=1,2"; do
		meet 3 1
		MAKEFLAGS=$flags run_fairpar 'sh meets; : {}' ::: 1 2 3
		has_met 3
		assert_eq "$stderr$(tokens_left)" ab
		printf ab >&7
		rm runs
	done
	meet 3 1
	MAKEFLAGS='' CARGO_MAKEFLAGS=" -j --jobserver-fds=5,6 --jobserver-auth=5,6" run_fairpar 'sh meets; : {}' ::: 1 2 3
	has_met 3
}

@test "a jobserver that is switched off leaves a run its own slots" {
	meet 2 1
	MAKEFLAGS=' -j --jobserver-auth=-2,-2' run_fairpar -j2 'sh meets; : {}' ::: 1 2
	has_met 2
	assert_eq "$stderr" ""
}

@test "a jobserver that cannot be used leaves a run one slot, and it says why" {
	local auth
	: >no-pipe
	exec 5<no-pipe 6>no-pipe
	for auth in x 5 '5,' ,6 5,6 6,5 99,98 5,6,7 fifo: fifo:none other:x 99999999999,1; do
		rm -f runs
		MAKEFLAGS=" -j --jobserver-auth=$auth" run_fairpar "$count #" ::: 1 2 3 4
		assert_eq "$(most_at_once)" 1
		assert_contains "$stderr" "make's jobserver"
		assert_contains "$stderr" "one job runs at a time"
	done
}

@test "a file in the place of a jobserver is told from one that is closed, and is not written to" {
	printf ++ >file
	exec 5<>file
	MAKEFLAGS=" -j --jobserver-auth=fifo:$PWD/file" run_fairpar : {} ::: 1 2
	assert_contains "$stderr" "it is not a FIFO; one job runs at a time"
	MAKEFLAGS=" -j --jobserver-auth=5,5" run_fairpar : {} ::: 1 2
	assert_contains "$stderr" "descriptors 5 and 5 are not the pipe of make's jobserver"
	assert_eq "$(<file)" ++
	MAKEFLAGS=" -j --jobserver-auth=98,99" run_fairpar : {} ::: 1 2
	assert_contains "$stderr" "descriptors 98 and 99, is not open here"
}

@test "tokens for which there is no work are put back while other jobs run" {
	tokens ab
	make_fifo stay in
	start_fairpar 'if [ {} = 3 ]; then echo >in; read -r _ <stay; fi' ::: 3 1 2
	await in
	read -rt "$patience" -N 2 got <&7
	assert_eq "$(fold -w 1 <<<"$got" | sort | tr -d '\n')" ab
	release stay
	end_fairpar
	assert_eq "$(tokens_left)" ''
}

@test "who waits for a token gets one, however much work a run has" {
	tokens a
	start_fairpar -j2 --halt soon,fail=1 ': {}; test ! -e stop' < <(exec yes 3>&-)
	for _ in {1..5}; do
		read -rt "$patience" -N 1 got <&7
		assert_eq "$got" a
		printf a >&7
	done
	: >stop
	end_fairpar any
	assert_eq "$(tokens_left)" a
}

@test "all tokens are back after INT, TERM and KILL" {
	local signal
	tokens ab
	make_fifo in
	exec 8<>in
	for signal in INT TERM KILL; do
		start_fairpar 'printf . >in; sleep 1000; : {}' ::: 1 2 3 4
		read -rt "$patience" -N 3 _ <&8
		kill -"$signal" "$fairpar_pid"
		end_fairpar any
		[[ $signal != KILL ]] || { # what it has left is ended first
			read -rt "$patience" -N 2 got <&7
			printf %s "$got" >&7
		}
		assert_eq "$(tokens_left)" ab
		printf ab >&7
	done
}

@test "a wide run takes tokens only for the jobs that there are" {
	tokens abcdef
	make_fifo in go
	start_fairpar 'echo >in; read -r _ <go; : {}' ::: 1
	await in
	assert_eq "$(tokens_left)" abcdef
	release go
	end_fairpar
}

# ---- for the jobs of a run ----

@test "without --jobserver a make in a job has one slot" {
	need make
	printf 'all: 1 2 3 4\n1 2 3 4: ; @%s\n' "$count" >inner
	run_fairpar -j3 'make -s -f inner; : {}' ::: 1
	assert_eq "$(most_at_once)" 1
}

@test "with --jobserver a make in a job has the idle slots" {
	need make
	local form
	printf 'all: 1 2 3 4 5 6\n1 2 3 4 5 6: ; @sh meets\n' >inner
	for form in '' =auto =pipe; do
		rm -f runs
		meet 3 2
		run_fairpar -j3 --jobserver$form 'make -s -f inner; : {}' ::: 1
		has_met 3
		assert_eq "$stderr" ""
	done
}

@test "a client of the FIFO form in a job has the idle slots" {
	meet 3 1
	write_client
	run_fairpar -j3 --jobserver=fifo 'bash client 3 sh meets; : {}' ::: 1
	has_met 3
	assert_eq "$stderr" ""
}

@test "two makes in jobs and other jobs have all slots together, and never more" {
	need make
	meet 3 6
	printf 'all: 1 2 3 4 5 6\n1 2 3 4 5 6: ; @sh meets\n' >inner
	printf '%s\n' 'make -s -f inner' 'sh meets' 'sh meets' 'sh meets' 'make -s -f inner' 'sh meets' 'sh meets' 'sh meets' \
		| run_fairpar -j3 --jobserver=pipe
	has_met 3
	assert_eq "$stderr" ""
}

@test "a token that no job has taken is taken back for a job" {
	make_fifo in go next
	exec 8<>in 9<>go 5<>next
	start_fairpar -j2 --jobserver=fifo 'sh {}' <next 5>&-
	echo 'exec 6<>"${MAKEFLAGS##*=fifo:}"; dd bs=1 count=1 status=none <&6 >&6; printf . >in; read -r _ <go' >first
	echo 'printf . >in; read -r _ <go' >second
	echo first >&5
	read -rt "$patience" -N 1 _ <&8 # the second slot was a token, and is one again
	echo second >&5
	exec 5>&-
	read -rt "$patience" -N 1 _ <&8
	printf '\n\n' >&9
	end_fairpar
	assert_eq "$stderr" ""
}

@test "slots become tokens one after the other, as jobs end" {
	make_fifo b c
	echo 'exec 6<>"${MAKEFLAGS##*=fifo:}"; for next in b c; do echo >$next; dd bs=1 count=1 status=none <&6 >>token; done' >first
	echo 'read -r _ <b' >second
	echo 'read -r _ <c' >third
	run_fairpar -j3 --jobserver=fifo 'sh {}' ::: second third first
	assert_eq "$(<token)" ++
}

@test "slots that a killed make had come back" {
	need make
	make_fifo next
	mkdir made
	printf 'all: 1 2 3 4\n1 2 3 4: ; @printf . >in; read -r _ <go; kill -9 $$PPID 2>/dev/null\n' >made/inner
	echo 'cd made && make -s -f inner; exit 0' >first
	cd made
	meet 3 1
	cd ..
	exec 5<>next
	start_fairpar -j3 --jobserver=pipe 'sh {}' <next 5>&-
	echo first >&5
	# the slots come back only while no job runs; what make has started may still run, and read from its own FIFO
	wait_for grep -q 'have not given back' "$BATS_TEST_TMPDIR/stderr"
	wait "$meeting"
	meet 3 1
	printf 'meets\nmeets\nmeets\n' >&5
	exec 5>&-
	end_fairpar
	has_met 3
	assert_contains "$stderr" "have not given back 2 of the slots"
}

@test "tokens that a job has made up are not slots" {
	make_fifo next
	echo 'exec 6<>"${MAKEFLAGS##*=fifo:}"; printf ++++ >&6' >first
	exec 5<>next
	start_fairpar -j2 --jobserver=fifo --joblog log 'sh {}' <next 5>&-
	echo first >&5
	until [[ -s log && $(wc -l <log) == 2 ]]; do :; done
	meet 2 2
	printf 'meets\nmeets\nmeets\nmeets\n' >&5
	exec 5>&-
	end_fairpar
	has_met 2
	assert_contains "$stderr" "had not taken out"
	run_fairpar -j1 --jobserver=fifo 'sh first #' ::: 1 # no slot was ever spare
	assert_contains "$stderr" "put 4 slots into the jobserver that they had not taken out"
}

@test "a run that is killed takes its jobserver along" {
	make_fifo in
	start_fairpar -j2 --jobserver=fifo 'echo "$MAKEFLAGS" >in; sleep 1000; : {}' ::: 1
	await in
	kill -KILL "$fairpar_pid"
	end_fairpar any
	while [[ -e ${line##*=fifo:} ]]; do :; done
}

@test "what MAKEFLAGS says already stays, and a long-running job has no jobserver" {
	MAKEFLAGS='ks --no-print-directory -- A=1' run_fairpar -j2 --jobserver=pipe 'echo "$MAKEFLAGS; "{}' ::: 1
	[[ $output =~ ^"ks --no-print-directory -j --jobserver-fds="([0-9]+,[0-9]+)" --jobserver-auth="([0-9]+,[0-9]+)" -- A=1; 1"$ ]] || fail
	MAKEFLAGS='ks -- A=1' run_fairpar -j2 --jobserver=pipe --long-running 'echo "$MAKEFLAGS; "{}' ::: 1
	assert_lines 'ks -- A=1; 1'
	tokens ab
	run_fairpar 'echo "$MAKEFLAGS; "{}' ::: 1
	assert_lines "$MAKEFLAGS; 1"
	run_fairpar --long-running 'echo "$MAKEFLAGS; "{}' ::: 1
	assert_lines "; 1"
}

@test "a run under a jobserver makes no second one" {
	tokens ab
	run_fairpar --jobserver 'echo "$MAKEFLAGS; "{}' ::: 1
	assert_lines "$MAKEFLAGS; 1"
	unset MAKEFLAGS
	run_fairpar -j2 --jobserver=fifo 'echo "$MAKEFLAGS"; "$FAIRPAR" --jobserver "echo \"\$MAKEFLAGS\"; : {}" ::: 1; : {}' ::: 1
	assert_eq "${lines[0]}" "${lines[1]}"
}

# ---- chains ----

@test "a run, make -j2, a run: the slots are those of that make" {
	need make
	meet 2 3
	echo $'all: ; +@"$(FAIRPAR)" -j9 "sh meets; : {}" ::: 1 2 3 4 5 6' >inner
	run_fairpar -j4 'make -s -j2 -f inner; : {}' ::: 1
	has_met 2
	assert_eq "$stderr" ""
}

@test "a run, make without a jobserver, a run: the slots are those of the outer run" {
	need make
	meet 3 2
	echo $'all: ; @"$(FAIRPAR)" -j9 "sh meets; : {}" ::: 1 2 3 4 5 6' >inner
	run_fairpar -j3 'make -s -f inner; : {}' ::: 1
	has_met 3
	assert_eq "$stderr" ""
}

@test "a run with --jobserver, make, a run: idle slots are there for all of them" {
	need make
	meet 3 2
	echo $'all: ; +@"$(FAIRPAR)" -j9 "sh meets; : {}" ::: 1 2 3 4 5 6' >inner
	run_fairpar -j3 --jobserver=pipe 'make -s -f inner; : {}' ::: 1
	has_met 3
	assert_eq "$stderr" ""
}

@test "a run in a job of a run in make has the slots of make, too" {
	need make
	meet 3 2
	echo '"$FAIRPAR" -j9 "sh meets; : {}" ::: 1 2 3 4 5 6' >inner
	echo $'all: ; +@"$(FAIRPAR)" "sh inner; : {}" ::: 1' >Makefile
	make_with Makefile -j3
	has_met 3
	assert_eq "$stderr" ""
}

@test "cargo in a job has the idle slots, and no others" {
	need cargo
	need rustc
	local name
	export CARGO_HOME=$PWD/home RUSTC_WRAPPER=$PWD/wrapper CARGO_NET_OFFLINE=true CARGO_BUILD_JOBS=4
	for name in a b main; do
		mkdir -p $name/src
		echo >$name/src/lib.rs
		printf '[package]\nname = "%s"\nversion = "0.1.0"\n[workspace]\n' $name >$name/Cargo.toml
	done
	printf '[dependencies]\na = { path = "../a" }\nb = { path = "../b" }\n' >>main/Cargo.toml
	printf '#!/bin/sh\ncd %q; case "$*" in *"--crate-name "[ab]" "*) sh meets ;; esac; cd "$OLDPWD"; exec "$@"\n' "$PWD" >wrapper
	chmod +x wrapper
	meet 2 1
	run_fairpar -j2 --jobserver=pipe 'cd main && cargo build -q; : {}' ::: 1
	has_met 2
	rm -r main/target runs
	meet 1 2
	run_fairpar -j1 --jobserver=pipe 'cd main && cargo build -q; : {}' ::: 1
	has_met 1
}

@test "gcc -flto=jobserver in a job finds the jobserver" {
	need gcc
	need make
	local file
	for file in a b; do
		echo "int $file(void) { return 0; }" >$file.c
	done
	echo 'int main(void) { extern int a(void), b(void); return a() + b(); }' >main.c
	gcc -O2 -flto -c a.c b.c main.c || skip "gcc has no link-time optimization"
	run_fairpar -j2 --jobserver=pipe 'gcc -O2 -flto=jobserver -flto-partition=1to1 a.o b.o main.o -o main && ./main; : {}' ::: 1
	assert_eq "$stderr" ""
}

# ---- in a pool ----

@test "with --pool --jobserver a make has the idle slots of the pool" {
	need make
	printf 'all: 1 2 3 4 5 6\n1 2 3 4 5 6: ; @sh meets\n' >inner
	meet 3 2
	run_fairpar --pool --pool-slots 3 --jobserver=pipe --single make -s -f inner
	has_met 3
	rm runs
	meet 3 2
	run_fairpar --pool --pool-slots 3 --jobserver=pipe 'make -s -f inner; : {}' ::: 1
	has_met 3
	assert_eq "$stderr" ""
	"$FAIRPAR" --pool --status >state
	assert_contains "$(<state)" "pool default: 0 of "
}

@test "an idle slot of the pool that is offered to a job goes to whoever waits, and comes back" {
	make_fifo in go
	start_fairpar --pool --pool-slots 2 --jobserver=fifo --single sh -c 'exec 6<>"${MAKEFLAGS##*=fifo:}"
		dd bs=1 count=1 status=none <&6 >token; cat token >&6; echo >in; read -r _ <go; dd bs=1 count=1 status=none <&6 >token'
	await in
	timeout "$patience" "$FAIRPAR" --pool --single echo it ran >ran
	assert_eq "$(<ran)" "it ran"
	release go
	end_fairpar
}

@test "a slot of the pool that a job has taken as a token is not given to anybody else" {
	make_fifo in go end
	start_fairpar --pool --pool-slots 2 --jobserver=fifo --single sh -c 'exec 6<>"${MAKEFLAGS##*=fifo:}"
		dd bs=1 count=1 status=none <&6 >token; echo >in; read -r _ <go; echo first >>order; cat token >&6; read -r _ <end'
	await in
	"$FAIRPAR" --pool --single sh -c 'echo second >>order' 3>&- &
	local second=$!
	until "$FAIRPAR" --pool --status >state && [[ $(<state) == *", 1 waiting"* ]]; do :; done
	release go
	wait "$second"
	release end
	end_fairpar
	assert_eq "$(<order)" $'first\nsecond'
}

@test "the further slots of a wide command are tokens, also when others wait" {
	make_fifo in go
	start_fairpar --pool --pool-slots 3 --slots-per-job 3 --jobserver=fifo --single sh -c 'exec 6<>"${MAKEFLAGS##*=fifo:}"
		echo >in; read -r _ <go; dd bs=1 count=2 iflag=fullblock status=none <&6 >token; dd bs=1 iflag=nonblock count=1 status=none <&6 >more; echo >in'
	await in
	"$FAIRPAR" --pool --single true 3>&- &
	local second=$!
	until "$FAIRPAR" --pool --status >state && [[ $(<state) == "pool default: 3 of 3 slots taken, 1 waiting"* ]]; do :; done
	release go
	await in
	end_fairpar
	wait "$second"
	assert_eq "$(<token)$(<more)" ++
}

@test "two commands with --pool --jobserver have as many of the idle slots each" {
	make_fifo in go end
	local second
	start_fairpar --pool --pool-slots 4 --jobserver=fifo --single sh -c 'exec 6<>"${MAKEFLAGS##*=fifo:}"
		dd bs=1 count=2 iflag=fullblock status=none <&6 >token; echo >in; read -r _ <go; printf + >&6; read -r _ <end'
	await in
	"$FAIRPAR" --pool --jobserver=fifo --single sh -c 'exec 6<>"${MAKEFLAGS##*=fifo:}"; echo >in
		dd bs=1 count=1 status=none <&6 >other; echo >in' 3>&- &
	second=$!
	await in
	"$FAIRPAR" --pool --status >state
	assert_eq "$(grep -c "  (jobserver) sh -c exec 6" state)" 2
	assert_eq "$(grep -c "[0-9ms]  sh -c exec 6" state)" 2
	release go
	await in # it has what the first gave back
	assert_eq "$(<other)" +
	wait "$second"
	release end
	end_fairpar
}

@test "the FIFO that a killed --single has left is removed by the next, and those in use stay" {
	make_fifo in go never
	local left
	start_fairpar --pool --pool-slots 3 --jobserver=fifo --single sh -c 'echo "${MAKEFLAGS##*=fifo:}" >in; read -r _ <never'
	await in
	left=$line
	kill -9 "$fairpar_pid"
	end_fairpar any
	[[ -p $left ]] || fail "there is none"
	start_fairpar --pool --jobserver=fifo --single sh -c 'echo "${MAKEFLAGS##*=fifo:}" >in; read -r _ <go'
	await in
	[[ ! -e $left ]] || fail "it is still there"
	"$FAIRPAR" --pool --jobserver=fifo --single true
	[[ -p $line ]] || fail "one in use was removed"
	release go
	end_fairpar
}

@test "slots of the pool that a killed --single has offered stay taken until its command has ended" {
	need setsid
	make_fifo in go
	start_fairpar --pool --pool-slots 2 --jobserver=fifo --single setsid sh -c 'exec 6<>"${MAKEFLAGS##*=fifo:}"
		dd bs=1 count=1 status=none <&6 >token; echo "${MAKEFLAGS##*=fifo:}" >in; read -r _ <go; echo first >>order'
	await in
	kill -9 "$fairpar_pid"
	end_fairpar any
	"$FAIRPAR" --pool --single sh -c 'echo second >>order' 3>&- &
	local second=$!
	until "$FAIRPAR" --pool --status >state && [[ $(<state) == *", 1 waiting"* ]]; do :; done
	release go
	wait "$second"
	assert_eq "$(<order)" $'first\nsecond'
	rm "$line"
}
