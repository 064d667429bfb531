# Many machines: three sshd and a Slurm cluster of three nodes on this one, which the tests start and end themselves.

load helper
load cluster

setup_file() {
	bed_start ssh
	bed_start slurm
}
teardown_file() { bed_end; }

@test "the bed: commands run at each of the three addresses, and nothing else is known to its ssh" {
	need_ssh
	for host in 127.0.0.1 127.0.0.2 127.0.0.3; do
		assert_eq "$(ssh "$host" 'echo "$SSH_CONNECTION" | cut -d " " -f 3')" "$host"
	done
	run ssh 127.0.0.4 true
	assert_eq "$status" 255
}

@test "the bed: an sshd that ends breaks its connections, and is there again" {
	need_ssh
	make_fifo started
	ssh -n 127.0.0.2 "echo >$PWD/started; exec cat $PWD/started" >cat.out 3>&- &
	client=$!
	await started
	assert_eq "$(ssh_clients 127.0.0.2)" "$client"
	sshd_end 127.0.0.2
	status=0
	wait "$client" || status=$?
	assert_eq "$status" 255
	release started
	ssh 127.0.0.3 true
	sshd_start 127.0.0.2
	ssh 127.0.0.2 true
}

@test "the bed: one step runs on the three nodes of the cluster" {
	need_slurm
	assert_eq "$(srun -N3 sh -c 'echo "$SLURMD_NODENAME"' | sort | xargs)" "n1 n2 n3"
}

@test "the bed: a node that crashes takes its job along, and comes back" {
	need_slurm
	make_fifo started
	srun -Q -N1 -w n2 sh -c "echo >$PWD/started; exec sleep infinity" </dev/null >/dev/null 2>&1 3>&- &
	client=$!
	await started
	slurm_up crash n2
	kill -KILL "$client" # it would wait for half a minute
	wait "$client" || :
	slurm_up start
	assert_eq "$(timeout "$patience" srun -Q -N1 -w n2 echo back)" back
}

# ---- jobs over ssh ----

# The machines of these tests: fairpar is at the same path on each.
over_ssh() {
	need_ssh
	export FAIRPAR_REMOTE=$FAIRPAR
	two=(-S "127.0.0.1,127.0.0.2" -j2 --workdir .)
}

# same_as_here LINE …: the words of a command line give the same output, messages, exit status and joblog over ssh as here.
same_as_here() {
	local way
	for way in here there; do
		rm -rf "$way" && mkdir "$way" && cp in/* "$way" && cd "$way" || return
		local words=()
		[[ $way == here ]] || words=("${two[@]}")
		run_fairpar any --summary=never ${words[@]+"${words[@]}"} --joblog joblog "$@" <"$BATS_TEST_TMPDIR/work/in/items"
		: >>joblog # --dry-run writes none
		cut -f 1,7- joblog | sort >rows
		rm joblog
		{ echo "$status" && cat "$BATS_TEST_TMPDIR/stdout" rows && sed 's/ jobs\? failed: .*//' "$BATS_TEST_TMPDIR/stderr"; } >../"$way.all"
		cd ..
	done
	diff here.all there.all || fail "fairpar $* differs"
	diff -r here there || fail "fairpar $* leaves other files"
}

@test "machines without fairpar get this one over the connection, once" {
	need_ssh
	[[ $(ssh 127.0.0.1 command -v fairpar) == "" ]] || skip "fairpar is installed here"
	export XDG_CACHE_HOME=$PWD/cache
	unset FAIRPAR_REMOTE
	local copy
	for _ in 1 2; do
		run_fairpar -S 1/127.0.0.1 -k 'echo {} $(umask)' ::: {1..20}
		assert_eq "$output" "$(printf "%s $(umask)\n" {1..20})"
		copy=$(echo cache/fairpar/*/fairpar)
		cmp "$(readlink -f "$FAIRPAR")" "$copy"
		assert_eq "${inode:-$(stat -c %i "$copy")}" "$(stat -c %i "$copy")"
		inode=$(stat -c %i "$copy")
	done
}

@test "everyday lines give the same over ssh as here" {
	over_ssh
	mkdir in
	printf '%s\n' alpha 'two words' "it's" '$HOME' 'a;b' >in/items
	printf 'x,1\ny,2\n' >in/table
	same_as_here -k echo
	same_as_here -k 'echo {#} {} {.} {/}; exit $(({#} % 2))'
	same_as_here -k --tag 'printf "%s\n" {}; printf "no newline"'
	same_as_here -k -n2 echo
	same_as_here -k --colsep , -a table echo {2} {1}
	same_as_here -k 'cat items | wc -c; echo to stderr >&2' ::: 1 2
	same_as_here -k 'echo {} >{#}.out'
	same_as_here -k --retries 2 'test -e {#}.seen || { touch {#}.seen; exit 3; }'
	same_as_here -k --pipe -N2 'cat; echo --'
	same_as_here -k --timeout 1000 'kill -TERM $$'
	same_as_here -k --results results/ 'echo {}; exit 1' ::: a b
	same_as_here -k --dry-run echo
	same_as_here -k /no/such/program ::: 1
	same_as_here -k echo {1}-{2} ::: a b ::: x y
	same_as_here -k echo {1}{2} ::: a b :::+ x y
	same_as_here -k --plus echo '{/.} {//} {..} {:2:3}' ::: dir/one.txt two.tar.gz
	same_as_here -k -N3 echo
	same_as_here -k --xargs -s 30 echo ::: {1..30}
	same_as_here -k -q printf '%s|' '$x "y"'
	same_as_here -k --header : -a table --colsep , echo {x}-{1}
	same_as_here -k --tagstring '<{}>' 'seq {}' ::: 2 3
	same_as_here -k --pipe --recend '\n' --block 10 'wc -c'
	same_as_here -k --pipe-part --block 12 -a items 'sort'
	same_as_here -k --nice 3 'nice' ::: a
	same_as_here -k --joblog joblog --resume-failed 'exit {}' ::: 0 1
	same_as_here -k 'ulimit -c 0; umask 027; : >{}; stat -c %a {}' ::: m1 m2
	same_as_here -k --shell bash 'x=({} b); echo "${x[@]} ${#x[@]}"'
	same_as_here -k 'cat <&0 | wc -c; ls -d . ; exit 3' ::: 1
	same_as_here -k -I@ echo @ @@
	same_as_here -k -0 echo
	same_as_here -k --trim lr --colsep , echo '[{1}]' ::: ' a , b ' 'c'
	same_as_here -k -- sh -c 'echo "$0" "$@"'
	two=(-S 127.0.0.1 --workdir .) # one job at a time there, too
	same_as_here -j1 --halt now,fail=1 'echo {}; exit 2'
	same_as_here -j1 --halt soon,success=1 'echo {}; exit {}' ::: 1 0 1
}

@test "files go to machines over ssh, and come back" {
	over_ssh
	mkdir in
	for i in 1 2 3 4; do head -c 100000 /dev/urandom >"in/a $i"; done
	echo base >base
	run_fairpar -S 127.0.0.1,127.0.0.2 -j2 --workdir "$PWD/there" --bf base --trc {}.out 'cat base {} >{}.out' ::: in/*
	for i in 1 2 3 4; do cat base "in/a $i" | cmp - "in/a $i.out"; done
	assert_eq "$(ls -A there)" ''
}

@test "1 MiB of any bytes comes back as it was, over ssh" {
	over_ssh
	head -c 1048576 /dev/urandom >bytes
	run_fairpar "${two[@]}" -k cat ::: bytes bytes bytes
	cat bytes bytes bytes | cmp - "$BATS_TEST_TMPDIR/stdout"
	run_fairpar "${two[@]}" --pipe --block 100k cat <bytes
	assert_eq "$(wc -c <"$BATS_TEST_TMPDIR/stdout")" 1048576
}

@test "a directory that is not there fails the job, over ssh" {
	over_ssh
	run_fairpar 2 -S 127.0.0.1,127.0.0.2 -j1 --workdir /proc/no --joblog joblog echo ::: 1 2
	assert_eq "$output" ''
	assert_contains "$stderr" /proc/no
}

@test "a host that cannot be reached is said once, and its jobs go elsewhere" {
	over_ssh
	export said=$BATS_TEST_TMPDIR/stderr
	run_fairpar -S 127.0.0.1,127.0.0.4 -j1 -k --env said 'until grep -q "cannot connect" "$said"; do sleep 0.01; done; echo {}' ::: {1..20}
	assert_lines {1..20}
	assert_eq "$(grep -c '127.0.0.4: cannot connect' <<<"$stderr")" 1
}

@test "where no host can be reached, the run ends with a message" {
	over_ssh
	run_fairpar any -S 127.0.0.4 echo ::: 1 2 3
	((status != 0)) || fail "the exit status is 0"
	assert_eq "$output" ''
	assert_contains "$stderr" 127.0.0.4
}

@test "a job whose line breaks runs again elsewhere" {
	over_ssh
	make_fifo started
	# The first attempt is the one that makes the file, and waits; a second one anywhere ends at once.
	start_fairpar -S 127.0.0.2 -j1 --workdir . "mkdir first && echo >started && sleep infinity; echo {}" ::: job
	await started
	sshd_end 127.0.0.2
	sshd_start 127.0.0.2
	end_fairpar
	assert_lines job
	assert_contains "$stderr" 'the connection is lost'
}

@test "after kill -9 of fairpar nothing runs on any host, and --resume does what is left" {
	over_ssh
	make_fifo started.3 started.4 # one for each: who reads two lines from one might be given both, and keep one
	printf '%s\n' 1 2 3 4 >items
	start_fairpar "${two[@]}" -j1 --joblog joblog 'test {} -lt 3 || test -e go || { echo >started.{}; sleep infinity; }; echo {}' <items
	await started.3
	await started.4
	kill -KILL "$fairpar_pid"
	end_fairpar 137
	assert_eq "$(leaked_processes)" ''
	touch go
	run_fairpar "${two[@]}" -j1 --resume --joblog joblog 'test {} -lt 3 || test -e go || { echo >started.{}; sleep infinity; }; echo {}' <items
	assert_set 3 4
	assert_eq "$(sed 1d joblog | cut -f 1 | sort | xargs)" "1 2 3 4"
}

# ---- jobs in an allocation of Slurm ----

@test "the list of nodes is read as Slurm reads it" {
	need_slurm
	for list in 'n1' 'n[1-3]' 'n[08-11],m' 'r[1-2]n[01-03,7]' 'n[001,3],login[5]'; do
		count=$(scontrol show hostnames "$list" | wc -l)
		assert_eq "$(SLURM_JOB_ID=1 SLURM_JOB_NODELIST=$list SLURM_JOB_CPUS_PER_NODE="1(x$count)" "$FAIRPAR" --slurm --dry-run echo ::: 1)" "echo 1"
	done
}

# ---- jobs in an allocation of Slurm ----

allocated() { salloc -Q -N3 -n12 -t 10 "$@"; }

@test "--slurm runs as many jobs on each node of the allocation as it has CPUs there" {
	need_slurm
	# no job ends before all have begun
	allocated "$FAIRPAR" --slurm 'tr "\0" "\n" </proc/$PPID/environ | sed -n "s/^SLURMD_NODENAME=//p"
		echo >>begun; until [ $(wc -l <begun) = 12 ]; do sleep 0.05; done; :' ::: {1..12} >out 3>&-
	assert_eq "$(sort out | uniq -c | xargs)" "4 n1 4 n2 4 n3"
}

@test "--slurm keeps the order, the exit status, any bytes, and the directory" {
	need_slurm
	head -c 1048576 /dev/urandom >bytes
	status=0
	allocated "$FAIRPAR" --slurm -k 'cat bytes; printf {}; exit {}' ::: 0 3 0 >out 2>err 3>&- || status=$?
	assert_eq "$status" 1
	{ cat bytes && printf 0 && cat bytes && printf 3 && cat bytes && printf 0; } | cmp - out
}

@test "a job of --slurm calls srun itself" {
	need_slurm
	allocated "$FAIRPAR" --slurm -k 'srun -Q --overlap -N1 -n1 echo {}' ::: 1 2 3 >out 3>&-
	assert_eq "$(xargs <out)" "1 2 3"
}

@test "a batch that comes late has its turns at once, on all nodes" {
	need_slurm
	make_fifo begun go
	export FAIRPAR_POOL_DIR=$PWD/pools
	mkdir -m 700 pools
	exec {begun}<>begun {go}<>go
	# the jobs that run when the late ones are added end when all of these are there
	allocated "$FAIRPAR" --slurm -j4 --run late --quiet --trace-service trace \
		'echo early >>order; [ {} -gt 12 ] || { echo >begun; read -r _ <go; }; sleep 0.1; : {}' ::: {1..240} </dev/null 3>&- &
	allocation=$!
	for _ in {1..12}; do read -r -u "$begun" _; done
	for _ in {1..12}; do run_fairpar --run late --add --batch late sh -c 'echo late >>order; sleep 0.1'; done
	for _ in {1..12}; do echo >&"$go"; done
	wait "$allocation"
	exec {begun}<&- {go}<&-
	assert_eq "$(sort order | uniq -c | xargs)" "240 early 12 late"
	# Each of the two batches has one of two turns; a slot more for each job that ran when the last was added.
	passed=$(($(grep -n '"batch":"late"' trace | tail -n 1 | cut -d : -f 1) - 12))
	((passed <= 60)) || fail "$passed jobs began before the last of 12 late ones"
}

# ---- pilots ----

# queue_is_clean: nothing of this user waits or runs; what has ended may take its time to be gone.
queue_is_clean() { assert_eq "$(squeue -h -t PENDING,RUNNING)" ''; }

@test "pilots come from the queue, run the jobs, and go" {
	need_slurm
	run_fairpar --slurm='-t 5' --slurm-pilots 3 -j2 -k --joblog log 'echo {}; sleep 0.1' ::: {1..30}
	assert_eq "$(xargs <<<"$output")" "$(seq -s ' ' 30)"
	assert_eq "$(sed 1d log | cut -f 2 | grep -vc '^n[123]$')" 0
	queue_is_clean
	run_fairpar 255 --slurm='-t 5 -w none' echo ::: 1
	assert_contains "$stderr" "Invalid node name"
}

@test "Ctrl-C and kill -9 leave no pilot in the queue" {
	need_slurm
	make_fifo begun.1 begun.2
	for signal in INT KILL; do
		start_fairpar --slurm='-t 5' --slurm-pilots 2 "echo >begun.{}; sleep $patience" ::: 1 2
		await begun.1
		await begun.2
		kill -$signal "$fairpar_pid"
		end_fairpar any
		run_fairpar --slurm='-t 5' --slurm-pilots 1 echo ::: after
		assert_eq "$output" after
		queue_is_clean
	done
}

all_have_begun() { [[ $(find . -name 'm.*' | grep -c '') == 12 ]]; }

# CLUSTER_ROUNDS: how often; 20 take three minutes.
@test "jobs that scancel of their pilots ends half-done are never ok, and run again" {
	need_slurm
	for ((round = 0; round < ${CLUSTER_ROUNDS:-1}; ++round)); do
		start_fairpar --slurm='-t 5' --slurm-pilots 3 -j4 --joblog log 'if mkdir m.{} 2>/dev/null; then sleep '"$patience"'; echo half {}; else echo whole {}; fi #' ::: {1..12}
		wait_for all_have_begun
		squeue -h -t RUNNING -o %A | xargs scancel
		end_fairpar
		assert_eq "$(sort -k2n <<<"$output")" "$(seq -f 'whole %g' 12)"
		assert_eq "$(sed 1d log | cut -f 1,7 | sort -n | xargs)" "$(seq -s ' ' -f '%g 0' 12)"
		rm -r m.* log
	done
	queue_is_clean
}

# ---- deaths ----

# CLUSTER_KILLS: how many; 300 of each take a quarter of an hour.
@test "workers, connections and fairpar are killed at random: no job is lost, over ssh" {
	over_ssh
	MACHINES="-S 2/127.0.0.1,2/127.0.0.2,2/127.0.0.3" "$BATS_TEST_DIRNAME/torture/machines" $RANDOM "${CLUSTER_KILLS:-15}"
}

@test "workers, steps and fairpar are killed at random: no job is lost, on Slurm" {
	need_slurm
	MACHINES="--slurm -j2" allocated "$BATS_TEST_DIRNAME/torture/machines" $RANDOM "${CLUSTER_KILLS:-15}"
	assert_eq "$(squeue -h -t PENDING,RUNNING)" ''
}
