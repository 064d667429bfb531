# Pilots of Slurm from a login node: what --slurm promises outside an allocation, with scripts in the place of srun, squeue and scancel.
# What is decided when stands in tests/unit/pilots.c; the real Slurm is in tests/cluster.bats.
# shellcheck disable=SC2016,SC2154 # the commands are for the shells of the jobs; helper.bash sets what is not set here

load helper

setup() {
	helper_setup
	unset SLURM_JOB_ID SLURM_JOB_END_TIME
	export slurm=$BATS_TEST_TMPDIR/slurm FAIRPAR_REMOTE=$FAIRPAR
	mkdir "$slurm"
	export PATH=$slurm:$PATH
	# srun OPTION … COMMAND: a job of Slurm, here. $slurm/refuses holds what is said in place of starting one; $slurm/queue, a FIFO,
	# is what a pilot waits in.
	cat >"$slurm/srun" <<'SRUN'
#!/bin/sh
echo "$*" >>"$slurm/srun.calls"
if [ -e "$slurm/refuses" ]; then cat "$slurm/refuses" >&2; exit 1; fi
if [ -e "$slurm/queue" ]; then
	exec 3>&2 2>/dev/null # where the shell tells of that cat's end
	cat "$slurm/queue" >"$slurm/place" &
	trap 'echo >>"$slurm/revoked"; exit 1' TERM # of the group
	wait $!
	exec 2>&3 3>&-
fi
while [ "$1" != sh ]; do shift; done
SLURM_JOB_ID=17 SLURMD_NODENAME=$(cat "$slurm/node" 2>/dev/null || echo node1) exec "$@"
SRUN
	# squeue does not answer the first time that it is asked for names where there is $slurm/slow, and writes into the FIFO begun there.
	# squeue -o FORMAT: of the first pilot its time (%L), of this user the names of jobs (%j), else states and reasons.
	cat >"$slurm/squeue" <<'SQUEUE'
#!/bin/sh
echo "$*" >>"$slurm/squeue.calls"
if [ -e "$slurm/down" ]; then echo "slurm_load_jobs error: Unable to contact slurm controller (connect failure)" >&2; exit 1; fi
if [ "${*#*%j}" != "$*" ] && mkdir "$slurm/slow/seen" 2>/dev/null; then echo >"$slurm/slow/begun"; exec sleep infinity; fi
[ -z "$SQUEUE_NAMES" ] || [ "${*#*-n }" != "$*" ] || exit 0 # of these names there is no job
case $* in *%L*) file=left ;; *%j*) file=names ;; *) file=reasons ;; esac
[ ! -e "$slurm/$file" ] || cat "$slurm/$file"
[ "$file" != left ] || rm -f "$slurm/left"
SQUEUE
	cat >"$slurm/scancel" <<'SCANCEL'
#!/bin/sh
echo "$*" >>"$slurm/scancel.calls"
SCANCEL
	chmod +x "$slurm/"*
}

teardown() { helper_teardown; }

calls() { grep -c '' "$slurm/$1.calls" || :; }

@test "jobs run in pilots, which have the options, a name of the run's own, and are cancelled at the end" {
	run_fairpar --slurm='-p short -t 30' -k 'echo {}; echo $PARALLEL_SSHLOGIN >>where' ::: 1 2 3 </dev/null
	assert_lines 1 2 3
	assert_eq "$stderr" ''
	assert_eq "$(grep -c -e '-c1 .*--job-name=fairpar-.* -p short -t 30 sh -c' "$slurm/srun.calls")" "$(calls srun)"
	assert_eq "$(sort -u where)" node1
	name=$(sed -n '1s/.*--job-name=\([^ ]*\) .*/\1/p' "$slurm/srun.calls")
	assert_eq "$(tail -n 1 "$slurm/scancel.calls")" "-Q -u $(id -u) -n $name"
}

@test "a manifest asks for pilots, and the command line for others, or for other machines" {
	cat >m.yaml <<-'YAML'
		version: 1
		slurm: -p short -t 30
		batches:
		  a: {args: [1, 2], run: 'echo {} $PARALLEL_SSHLOGIN'}
		  b: {run: 'echo 3 $PARALLEL_SSHLOGIN', hosts: "@slurm-1"}
	YAML
	run_fairpar --check -f m.yaml </dev/null
	run_fairpar -f m.yaml </dev/null
	assert_set "1 node1" "2 node1" "3 node1"
	assert_eq "$(grep -c -e ' -p short -t 30 sh -c' "$slurm/srun.calls")" "$(calls srun)"
	rm "$slurm/srun.calls"
	run_fairpar --slurm='-p long' -f m.yaml a </dev/null
	assert_eq "$(grep -c -e ' -p long sh -c' "$slurm/srun.calls")" "$(calls srun)"
	rm "$slurm/srun.calls"
	run_fairpar -S : -f m.yaml a </dev/null
	assert_set "1 :" "2 :"
	assert_eq "$(calls srun 2>/dev/null)" ''
}

@test "a job in a pilot has what Slurm tells its jobs, and the environment of the run beside it" {
	HERE=1 run_fairpar --slurm --joblog log 'echo $SLURM_JOB_ID $HERE #' ::: 1 </dev/null
	assert_eq "$output" "17 1"
	assert_eq "$(sed 1d log | cut -f 2)" node1
}

@test "a job that has ended just before its worker was told to end runs again, also where the worker's end takes a while" {
	export SLURM_JOB_ID=17 SLURM_JOB_NODELIST=n1 SLURM_JOB_CPUS_PER_NODE=2
	cat >b <<-'SH'
		[ ! -e killed ] || exit 0
		while [ ! -s a.pid ] || kill -0 "$(cat a.pid)"; do :; done 2>kill.err
		: >killed
		trap '' TERM
		kill -TERM $PPID
		while :; do sleep 0.1; done
	SH
	for _ in 1 2 3 4 5; do # on a busy machine the signal may come too late
		rm -f killed ran a.pid
		run_fairpar any --slurm 'if [ {} = a ]; then echo a >>ran; echo $$ >a.pid; else exec sh b; fi #' ::: a b </dev/null
		[[ $(wc -l <ran) -lt 2 ]] || return 0
	done
	fail "$(<ran)$stderr"
}

@test "a pilot whose node has a name that cannot be one is named by its number" {
	for name in -x 'a b' ''; do
		echo "$name" >"$slurm/node"
		run_fairpar --plus --slurm --joblog log "echo {host}" ::: 1 </dev/null
		assert_eq "$output" slurm-1
		assert_eq "$(sed 1d log | cut -f 2)" slurm-1
	done
}

@test "as many pilots are asked for as there is work for, and at most --slurm-pilots" {
	local hold
	make_fifo all
	exec {hold}<>all # what was written stays for who comes late
	run_fairpar --slurm --slurm-pilots 3 -j2 'if [ {} = 6 ]; then printf "\n\n\n\n\n" >all; else read x <all; fi' ::: 1 2 3 4 5 6 </dev/null
	exec {hold}>&-
	assert_eq "$(calls srun)" 3
	assert_eq "$(grep -c -e ' -c2 ' "$slurm/srun.calls")" 3
	rm "$slurm/srun.calls"
	run_fairpar --slurm echo ::: 1 </dev/null
	assert_eq "$(calls srun)" 1
}

@test "a pilot has as many slots as its options ask for CPUs" {
	# the first three end when three have begun
	run_fairpar --slurm='-c 3' --slurm-pilots 1 'echo + >>at; until [ $(grep -c + at) -ge 3 ]; do sleep 0.01; done; sleep 0.05; echo - >>at' ::: 1 2 3 4 5 6 7 8 </dev/null
	assert_eq "$(most_at_once at)" 3
}

@test "where Slurm refuses the pilots, the run ends with what it says, once" {
	local more="name specified: choose one of short, long, gpu, big, huge, interactive and test, and ask for an account"
	echo "srun: error: Unable to allocate resources: Invalid partition $more" >"$slurm/refuses"
	run_fairpar 255 --slurm=-pno echo ::: 1 2 3 4 5 </dev/null
	assert_eq "$output" ''
	assert_eq "$(grep -c "Slurm gives no pilot: Unable to allocate resources: Invalid partition $more\$" <<<"$stderr")" 1
	assert_contains "$stderr" "no machine can be reached: the jobs are not run"
}

@test "where there is no srun, the run ends and says so" {
	rm "$slurm/srun"
	! command -v srun >/dev/null || skip "srun is installed"
	run_fairpar 255 --slurm echo ::: 1 2 </dev/null
	assert_contains "$stderr" "srun: "
}

@test "pilots that can never start are said with Slurm's reason, and end the run" {
	make_fifo queue
	mv queue "$slurm/queue"
	echo 'PENDING|PartitionTimeLimit' >"$slurm/reasons"
	for _ in 1 2 3; do # on a busy machine srun may be killed before it tells of its end
		rm -f "$slurm/squeue.calls"
		run_fairpar 255 --slurm='-t 10-0' echo ::: 1 </dev/null
		assert_contains "$stderr" "Slurm says PartitionTimeLimit"
		assert_eq "$(grep -c '|' "$slurm/squeue.calls")" 1
		[[ ! -e $slurm/revoked ]] || break
	done
	[[ -e $slurm/revoked ]] || fail "srun was not ended"
}

@test "why pilots wait is said, and jobs run when they come" {
	make_fifo queue
	mv queue "$slurm/queue"
	echo 'PENDING|Resources' >"$slurm/reasons"
	start_fairpar --slurm -k echo ::: job
	wait_for grep -qF "1 pilot waits in Slurm's queue: Resources" "$BATS_TEST_TMPDIR/stderr"
	echo >"$slurm/queue"
	end_fairpar
	assert_lines job
}

@test "Slurm that cannot be reached is told, and asked again" {
	echo "srun: error: Unable to allocate resources: Unable to contact slurm controller (connect failure)" >"$slurm/refuses"
	sed -i 's|exit 1; fi$|rm "$slurm/refuses"; &|' "$slurm/srun"
	run_fairpar --slurm -k echo ::: job </dev/null
	assert_lines job
	assert_contains "$stderr" "Slurm gives no pilot now: Unable to allocate resources: Unable to contact"
	assert_eq "$(calls srun)" 2
}

@test "a pilot ends its jobs before its time is over, and they run again in another" {
	echo 0:03 >"$slurm/left"
	run_fairpar --slurm --slurm-pilots 1 -j1 -k --joblog log \
		'if [ {} = 2 ] && grep -qze "--worker=[0-9]" /proc/$PPID/cmdline; then trap : TERM; sleep '"$patience"'; fi; echo {} #' ::: 1 2 </dev/null
	assert_lines 1 2
	assert_eq "$(sed 1d log | cut -f 1,7 | sort | xargs)" '1 0 2 0'
	assert_eq "$(calls srun)" 2
	assert_eq "$stderr" ''
}

@test "a job whose pilot ends by SIGTERM runs again in another" {
	make_fifo started
	start_fairpar --slurm --slurm-pilots 1 -j1 'if mkdir first; then echo $PPID >started; exec sleep infinity; fi; echo {}' ::: job
	read -r worker <started
	kill -TERM "$worker"
	end_fairpar
	assert_lines job
}

# The first pilot ends with the end of its first job.
leave_with_the_job() {
	cat >"$slurm/leaves" <<'END'
#!/bin/bash
mkdir "$slurm/left.once" 2>/dev/null || exec "$@"
exec "$@" > >(sed -u "/^started /q"; exec sed "/^done /{n;q}") # which writes all that is left when it ends
END
	chmod +x "$slurm/leaves"
	sed -i 's|exec "\$@"$|exec "$slurm/leaves" "$@"|' "$slurm/srun"
}

@test "an end of a job is believed when its worker has outlived it, for Slurm ends the children of a job first" {
	leave_with_the_job
	for _ in 1 2 3 4 5; do # on a busy machine the worker's end may be seen too late
		rm -rf "$slurm/left.once" "$slurm/srun.calls" begun log
		run_fairpar --slurm --slurm-pilots 1 -j1 --joblog log 'echo {} >>begun; echo {} #' ::: job </dev/null
		assert_lines job
		[[ $(grep -c '' begun) == 1 ]] || break
	done
	assert_eq "$(grep -c '' begun)" 2
	assert_eq "$(sed 1d log | cut -f 1,7 | xargs)" '1 0'
	assert_eq "$(calls srun)" 2
}

@test "what waits until an end is believed does not keep its slot" {
	run_fairpar --slurm --slurm-pilots 1 -j1 --log log 'echo {}' ::: {1..20} </dev/null
	assert_set {1..20}
	assert_contains "$(grep -oE '"ev":"job_(start|end)"' log | xargs)" 'ev:job_start ev:job_start'
}

@test "SIGTERM ends pilots that wait, and cancels them" {
	make_fifo queue
	mv queue "$slurm/queue"
	start_fairpar --slurm --slurm-pilots 2 -j1 echo ::: 1 2
	two_calls() { [[ $(calls srun 2>/dev/null) == 2 ]]; }
	wait_for two_calls
	kill -TERM "$fairpar_pid"
	end_fairpar 143
	name=$(sed -n '1s/.*--job-name=\([^ ]*\) .*/\1/p' "$slurm/srun.calls")
	assert_eq "$(tail -n 1 "$slurm/scancel.calls")" "-Q -u $(id -u) -n $name"
}

@test "what a run that was killed has left in the queue is cancelled by the next" {
	host=$(uname -n | sed 's/[^A-Za-z0-9.]/_/g')
	own_start=$(sed 's/.*) //' /proc/$$/stat | cut -d ' ' -f 20)
	printf '%s\n' "fairpar-$host-$$-$own_start-00000001" "fairpar-$host-$$-1-00000002" "fairpar-$host-$$-1-00000002" "fairpar-elsewhere-1-1-00000003" other fairpar-x >"$slurm/names"
	make_fifo queue
	mv queue "$slurm/queue"
	SQUEUE_NAMES=mine start_fairpar --slurm -k echo ::: job
	wait_for grep -qs 00000002 "$slurm/scancel.calls"
	echo >"$slurm/queue"
	end_fairpar
	assert_lines job
	assert_eq "$(grep -c 0000000 "$slurm/scancel.calls")" 1
	assert_eq "$(head -n 1 "$slurm/scancel.calls")" "-Q -u $(id -u) -n fairpar-$host-$$-1-00000002"
}

@test "a run that ends before that was answered asks again at its end" {
	host=$(uname -n | sed 's/[^A-Za-z0-9.]/_/g')
	echo "fairpar-$host-$$-1-00000002" >"$slurm/names"
	mkdir "$slurm/slow"
	make_fifo "$slurm/slow/begun"
	run_fairpar --slurm 'read x <$slurm/slow/begun; echo {}' ::: job </dev/null
	assert_lines job
	assert_eq "$(tail -n 1 "$slurm/scancel.calls")" "-Q -u $(id -u) -n fairpar-$host-$$-1-00000002"
}

@test "inside an allocation its nodes are used, whatever options pilots would have" {
	SLURM_JOB_ID=1 SLURM_JOB_NODELIST='n[1-2]' SLURM_JOB_CPUS_PER_NODE='1(x2)' run_fairpar --slurm='-p short' --dry-run echo ::: 1 </dev/null
	assert_lines 'echo 1'
}

@test "what is of this machine alone does not go with pilots, whoever asks for them" {
	printf '%s\n' 'version: 1' 'slurm: -p short' 'slots: 2' 'batches: {a: {args: [1, 2], run: "echo {}"}}' >m.yaml
	local -A refused=([--pool]="slots of a pool or a jobserver are slots of this machine" ["--memsuspend 1G"]="--memsuspend and --noswap look at this machine only"
		["-j auto"]="the machines of Slurm have a fixed number of slots")
	for options in "${!refused[@]}"; do
		# shellcheck disable=SC2086 # an option and its argument
		run_fairpar 255 --slurm=-pshort $options echo ::: 1 </dev/null
		assert_contains "$stderr" "${refused[$options]}"
		# shellcheck disable=SC2086
		run_fairpar 255 -f m.yaml $options </dev/null
		assert_contains "$stderr" "${refused[$options]}"
	done
	assert_eq "$(calls srun 2>/dev/null)" ''
}

@test "a manifest that asks for pilots goes with their options, and says how many slots each has" {
	printf '%s\n' 'version: 1' 'slurm: -p short' 'slots: 2' 'batches: {a: {args: [1, 2], run: "echo {}"}}' >m.yaml
	run_fairpar -f m.yaml --slurm-pilots 2 --at-most-once </dev/null
	assert_set 1 2
	assert_contains "$(<"$slurm/srun.calls")" " -c2 "
	run_fairpar 255 --slurm-pilots 2 echo ::: 1 </dev/null
	assert_contains "$stderr" "--slurm-pilots needs --slurm"
}

@test "pilots are no machines to run once on each of" {
	run_fairpar 255 --slurm --nonall hostname </dev/null
	assert_contains "$stderr" "--nonall needs machines with names, not pilots"
}
