#!/usr/bin/env bats
# --warm: a shell that is started once and cloned for each job is, to the job and to who looks at it, as if executed.

load helper
load cgroup

teardown() {
	helper_teardown
	local status=$?
	group_remove || fail "$group is still there"
	return "$status"
}

# both_ways SHELL: runs the lines of warm.txt as commands, one after the other, executed and warm, and compares what they wrote and
# how they ended. Numbers of processes are left out, and bytes of output in the rows: they differ from run to run.
both_ways() {
	local how table=$BATS_TEST_DIRNAME/warm.txt
	for how in off sh; do
		mkdir "in"
		(cd in && "$FAIRPAR" --shell "$1" -j1 --summary=never --tagstring '{#}' --warm="$how" --joblog ../rows --log ../log <"$table" \
			>"../out-$how" 2>../err 3>&-) || :
		sed -E 's/ +[0-9]+(:?) +(Killed|Aborted|Terminated)/ N\1 \2/; s|/proc/[0-9]+/|/proc/N/|' err >"err-$how"
		cut -f 7- rows >"rows-$how"
		grep -o '"warm":"[^"]*"' log | sort | uniq -c >"warm-$how" || :
		rm -r "in"
	done
	diff -u out-off out-sh && diff -u err-off err-sh && diff -u rows-off rows-sh || fail "they differ"
	assert_eq "$(tr -s ' ' <warm-sh)" " $(wc -l <"$table") \"warm\":\"yes\""
	assert_eq "$(cat warm-off)" ""
}

# log_says TEXT: each job was so.
log_says() {
	assert_eq "$(grep -o '"warm":"[^"]*"' log | sort -u)" "\"warm\":\"$1\""
}

# refused WHY COMMAND …: it runs as ever, and the log says why it was not warm.
refused() {
	local why=$1
	shift
	run_fairpar --warm=sh --log log -k "$@"
	log_says "no, $why"
}

# make_wrapper: ./wrapper is a script that runs commands by /bin/sh.
make_wrapper() {
	printf '#!/bin/sh\nexec /bin/sh "$@"\n' >wrapper
	chmod +x wrapper
}

@test "commands for sh are the same" { both_ways /bin/sh; }
@test "commands for bash are the same" { need bash && both_ways bash; }
@test "commands for zsh are the same" { need zsh && both_ways zsh; }
@test "commands for ksh are the same" { need ksh && both_ways ksh; }
@test "commands for mksh are the same" { need mksh && both_ways mksh; }
@test "commands for yash are the same" { need yash && both_ways yash; }

@test "--warm=auto executes the shell some times before it starts a server" {
	run_fairpar -j1 --warm=auto --log log 'echo {}; :' ::: {1..9}
	assert_lines {1..9}
	assert_eq "$(grep -o '"seq":[0-9]*\|"warm":"[^"]*"' log | grep -B1 warm | tr '\n' ' ')" \
		'"seq":7 "warm":"yes" -- "seq":8 "warm":"yes" -- "seq":9 "warm":"yes" '
}

@test "--warm=sh clones no other program" {
	run_fairpar --warm=sh --log log echo {} ::: 1 2
	assert_set 1 2
	assert_eq "$(grep -c '"warm"' log)" 0
}

@test "the log says why jobs were not warm" {
	make_wrapper
	run_fairpar --warm=sh --log log -j1 --shell "$PWD/wrapper" 'echo {}; :' ::: 1
	assert_contains "$(<log)" '"warm":"no, the shell is a script, or a program for another machine"'
}

@test "a job gets its directory, umask, niceness, limits, and its own variables" {
	cat >m.yaml <<'YAML'
version: 1
batches:
  one:
    run: pwd; umask; nice; ulimit -n; echo "$A$B"; cat
    args: [1, 2]
    env: {A: "x{}", B: y}
    working_dir: dir
    umask: "027"
YAML
	mkdir dir
	ulimit -Sn 500
	for how in off sh; do
		run_fairpar -j1 -k --nice 3 --warm=$how -f m.yaml
		mv "$BATS_TEST_TMPDIR/stdout" $how
	done
	assert_eq "$(cat sh)" "$(cat off)"
	assert_contains "$(cat sh)" "$PWD/dir"$'\n'0027
}

@test "a directory that cannot be entered is the same failure" {
	mkdir shut
	touch file
	for how in off sh; do
		run_fairpar any -j1 --summary=never --warm=$how --joblog rows --workdir {} 'pwd; :' ::: . file/ . /proc/no
		{ cat "$BATS_TEST_TMPDIR"/std{out,err} && cut -f 7- rows; } >$how
	done
	assert_eq "$(cat sh)" "$(cat off)"
}

@test "a timeout ends a warm job by --term-seq, and what it started" {
	local timeout
	for timeout in 1 20; do # on a busy machine a job may need long to begin
		run_fairpar 1 --warm=sh --timeout $timeout --joblog rows 'sleep 1000 & echo {}; wait' ::: 1
		[[ ! $output ]] || break
	done
	assert_eq "$output" 1
	assert_eq "$(cut -f 7,8 rows | tail -n 1)" "-1"$'\t'"15"
}

@test "kill -9 of fairpar leaves neither warm jobs nor servers" {
	make_fifo ready
	start_fairpar -j2 --warm=sh 'echo >ready; sleep 1000 & setsid sleep 1000 & wait; : {}' ::: 1
	await ready
	kill -KILL "$fairpar_pid"
	end_fairpar 137
}

@test "a server that is killed is replaced, and no job is lost" {
	make_fifo ready go
	start_fairpar -j1 --warm=sh --log log 'echo {}; test {} -gt 1 || { echo >ready; read -r _ <go; }' ::: {1..5}
	await ready
	server=$(grep -lsz ^FAIRPAR_WARM= /proc/[0-9]*/environ | xargs grep -lszFx "FAIRPAR_TEST=$FAIRPAR_TEST") || : # another has ended
	server=${server//[!0-9]/}
	kill -KILL "$server"
	release go
	end_fairpar
	assert_lines {1..5}
	assert_eq "$(grep -o '"warm":"[^"]*"' log | uniq -c | tr -s ' ')" \
		" 1 \"warm\":\"yes\""$'\n'" 1 \"warm\":\"no, the server of the shell has died\""$'\n'" 3 \"warm\":\"yes\""
}

@test "a shell that is replaced on disk is the new one in the next job" {
	cp "$(type -P sh)" shell
	run_fairpar -j1 --warm=sh --log log --shell "$PWD/shell" 'readlink /proc/$$/exe; cp shell new && mv new shell; : {}' ::: 1 2 3
	assert_lines "$PWD/shell"{,,}
	log_says yes
}

@test "refused: a shell that is a script" {
	make_wrapper
	refused "the shell is a script, or a program for another machine" --shell "$PWD/wrapper" 'echo {}; :' ::: 1
	assert_lines 1
	echo 'exec /bin/sh "$@"' >wrapper # without #!
	refused "the shell is a script, or a program for another machine" --shell "$PWD/wrapper" 'echo {}; :' ::: 1
	assert_lines 1
}

@test "refused: a static shell, one for another C library" {
	need cc
	echo '#include <unistd.h>
	int main(void) { return write(1, "hi\n", 3) != 3; }' >p.c
	if cc -static -o static p.c; then
		refused "the shell is a static program" --shell "$PWD/static" ':; : {}' ::: 1
		assert_lines hi
	fi
	if command -v musl-gcc && musl-gcc -o musl p.c && ./musl; then
		run_fairpar --warm=sh --log log --shell "$PWD/musl" ':; : {}' ::: 1
		assert_lines hi
		grep '"warm":"no, ' log
	fi
}

@test "a set-id shell has its rights and no others" {
	((EUID == 0)) || skip "only root makes one for somebody else"
	cp "$(type -P sh)" shell
	chown 65534:65534 shell
	chmod ug+s shell
	for how in off sh; do
		run_fairpar --warm=$how --log log --shell "$PWD/shell" -k 'grep -e ^Uid -e ^Gid -e ^Cap /proc/$$/status; : {}' ::: 1 2
		echo "$output" >$how
	done
	assert_eq "$(cat sh)" "$(cat off)"
}

@test "refused: LD_*, GLIBC_TUNABLES and MALLOC_* in the environment of a job" {
	LD_BIND_NOW=1 refused "the environment of the job has LD_*" 'echo; :' ::: 1
	GLIBC_TUNABLES=glibc.malloc.check=0 refused "the environment of the job has GLIBC_TUNABLES" 'echo; :' ::: 1
	MALLOC_ARENA_MAX=1 refused "the environment of the job has MALLOC_*" 'echo; :' ::: 1
}

@test "refused: a limit of address space, a relative path, long arguments" {
	cp "$(type -P sh)" shell
	refused "the path of the shell is relative" --shell ./shell 'echo {}; :' ::: 1
	head -c 120000 /dev/zero | tr '\0' x >long
	LONG=$(head -c 100000 long) refused "the arguments and environment of the job are too long" -a long 'printf %s {} | wc -c'
	assert_lines 120000
	(
		limit_memory 4000000
		[[ $(ulimit -v) == unlimited ]] || refused "the address space is limited" 'echo; :' ::: 1
	)
}

@test "refused: where few processes or descriptors are allowed" {
	(
		ulimit -u 500
		refused "few processes are allowed" 'echo {}; :' ::: 1
	)
	(
		ulimit -n 30
		refused "few descriptors are free" 'echo {}; :' ::: 1
	)
}

# Libraries of /etc/ld.so.preload do the like in a shell.
@test "refused: a shell that starts threads, opens files or executes another before main()" {
	need cc
	cat >early.c <<'C'
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void *run(void *arg) { for (;;) { pause(); } return arg; }
__attribute__((constructor)) static void early(int argc, char **argv) {
#if defined THREAD
	pthread_t thread;
	pthread_create(&thread, 0, run, 0);
#elif defined EXECUTE
	setenv("WRAPPED", "yes", 1);
	execv("/bin/sh", argv);
#else
	(void)run, open("/dev/null", O_RDONLY);
#endif
}
int early_here(void);
int early_here(void) { return 0; }
C
	echo 'int early_here(void); int main(void) { return early_here(); }' >p.c
	for what in THREAD FILE EXECUTE; do
		cc -shared -fPIC -pthread -D$what -o libearly$what.so early.c
		cc -o $what p.c -L. -learly$what -Wl,-rpath,"$PWD"
	done
	refused "the shell starts threads before main()" --shell "$PWD/THREAD" ':; : {}' ::: 1
	refused "the shell opens files before main()" --shell "$PWD/FILE" ':; : {}' ::: 1
	refused "the shell executes another shell" --shell "$PWD/EXECUTE" 'echo "$WRAPPED"; : {}' ::: 1
	assert_lines yes
}

@test "refused: where the system has no memfd or PR_GET_TID_ADDRESS" {
	need strace
	traced -f -qq -o /dev/null -e trace=memfd_create -e inject=memfd_create:error=ENOSYS "$FAIRPAR" --warm=sh --log log 'echo {}; :' ::: 1 >out
	assert_eq "$(cat out)" 1
	log_says "no, there is no guardian"
	traced -f -qq -o /dev/null -e trace=prctl -e inject=prctl:error=EINVAL "$FAIRPAR" --warm=sh --log log 'echo {}; :' ::: 1 >out
	assert_eq "$(cat out)" 1
	log_says "no, the kernel has no PR_GET_TID_ADDRESS"
	traced -f -qq -o /dev/null -e trace=pidfd_open -e inject=pidfd_open:error=ENOSYS "$FAIRPAR" --warm=sh --log log 'echo {}; :' ::: 1 >out
	assert_eq "$(cat out)" 1
	log_says "no, the system has no pidfd_open()"
}

@test "refused: where the system executes no memfd" {
	use_faults
	FAIRPAR_FAULT=object:1+:EACCES refused "the system has no memfd_create()" 'echo {}; :' ::: 1 2 3
	assert_lines 1 2 3
}

@test "refused: a job that a server has no room or no memory for" {
	use_faults
	for error in EAGAIN ENOMEM; do
		FAIRPAR_FAULT=warm:2:$error run_fairpar -j1 -k --warm=sh --log log 'echo {}; :' ::: 1 2 3
		assert_lines 1 2 3
		assert_eq "$(grep -o '"warm":"[^"]*"' log | tr '\n' ' ')" \
			'"warm":"yes" "warm":"no, there is no room for a process, or no memory" "warm":"yes" '
	done
}

# make_sandbox CALL NUMBER TEST VALUE ACTION: ./sandbox runs a command for which seccomp answers that call so, if the test of that
# argument holds.
make_sandbox() {
	need cc
	cat >sandbox.c <<'C'
#include <errno.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char *argv[]) {
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CALL, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[NUMBER])),
		BPF_JUMP(BPF_JMP | TEST | BPF_K, VALUE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, ACTION),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
	return argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)
		|| execvp(argv[1], argv + 1);
}
C
	cc -DCALL="$1" -DNUMBER="$2" -DTEST="$3" -DVALUE="$4" -DACTION="$5" -o sandbox sandbox.c
	./sandbox true || skip "there is no seccomp"
}

# sandboxed CALL TEST VALUE ACTION WHY: jobs run as ever in a sandbox of the first argument.
sandboxed() {
	make_sandbox "$1" 0 "$2" "$3" "$4"
	./sandbox "$FAIRPAR" -j1 --warm=sh --log log 'echo {}; :' ::: 1 2 3 4 5 >out 2>err || fail "$(cat out err)"
	assert_eq "$(cat out err)" "$(seq 5)"
	log_says "no, $5"
}

@test "refused: what a sandbox refuses to a server, or kills it for" {
	ulimit -c 0
	sandboxed SYS_clone BPF_JSET 0x8000 'SECCOMP_RET_ERRNO|EPERM' "the system does not let the shell be cloned" # CLONE_PARENT
	sandboxed SYS_clone BPF_JSET 0x8000 SECCOMP_RET_KILL_PROCESS "the server of the shell has died"
	sandboxed SYS_prctl BPF_JEQ PR_SET_MM 'SECCOMP_RET_ERRNO|EINVAL' "the kernel has no PR_SET_MM_MAP"
	sandboxed SYS_prctl BPF_JEQ PR_SET_MM SECCOMP_RET_KILL_PROCESS "the server of the shell does not answer"
	sandboxed SYS_prctl BPF_JEQ PR_GET_TID_ADDRESS SECCOMP_RET_KILL_PROCESS "the server of the shell does not answer"
}

# change_outside PID: what others can change of a process and its threads, as far as they may.
change_outside() {
	local task cpu
	cpu=$(sed -n 's/^Cpus_allowed_list:[[:blank:]]*\([0-9]*\).*/\1/p' /proc/self/status)
	prlimit --pid "$1" --core=0 --stack=4000000
	echo 300 >"/proc/$1/oom_score_adj"
	echo 0x7 >"/proc/$1/coredump_filter"
	for task in /proc/"$1"/task/*; do
		task=${task##*/}
		renice -n $(($(nice) + 1)) -p "$task"
		chrt --batch -p 0 "$task"
		taskset -cp "$cpu" "$task"
		ionice -c 3 -p "$task"
	done >/dev/null
	! group_make memory || echo "$1" >"$group/cgroup.procs"
}

@test "what is changed of fairpar itself while it runs reaches warm jobs" {
	need prlimit && need renice && need chrt && need taskset && need ionice
	make_fifo ready go
	for how in off sh; do
		# the second job lasts for longer than a change may need
		start_fairpar -j1 --warm=$how --log log 'case {} in 1) echo >ready; read -r _ <go ;; 2) sleep 0.2 ;; esac
			ulimit -c; ulimit -s; nice; cd /proc/$$ && cat oom_score_adj coredump_filter
			sed "s/-test-[0-9]*//" cgroup; chrt -p $$ | sed "s/.*://"; taskset -p $$ | sed "s/.*://"; ionice -p $$' ::: 1 2 3
		await ready
		change_outside "$fairpar_pid"
		release go
		end_fairpar
		group_remove
		tail -n $((${#lines[@]} / 3)) "$BATS_TEST_TMPDIR/stdout" >$how
	done
	assert_eq "$(cat sh)" "$(cat off)"
	assert_eq "$(sed -n 3,5p sh)" "$(printf '%s\n' $(($(nice) + 1)) 300 00000007)"
	log_says yes
}

# fake_root: a made-up root of cgroups, with the memory controller, in which no group is
fake_root() {
	rm -rf root
	mkdir root
	echo memory | tee root/cgroup.controllers >root/cgroup.subtree_control
}

@test "refused: a job with a cgroup of its own, and one that has the terminal" {
	cat >m.yaml <<'YAML'
version: 1
batches:
  one:
    run: cat root/fairpar-*-1/memory.max root/fairpar-*-1/cgroup.procs
    memory: 64M
YAML
	fake_root
	FAIRPAR_CGROUP_ROOT=$PWD/root refused "the job has a cgroup" -f m.yaml
	assert_eq "$output" 671088640 # the limit, and what the job wrote of itself: 0
	need python3
	printf 'ask 1\tone\\n\n' >talk
	on_terminal "$FAIRPAR" --warm=sh --log log --summary=never -j1 -o \
		'test "$(ps -o tpgid= -p $$ | tr -d " ")" = $$ && tty && echo ask {} && read -r x && echo got $x' ::: 1
	assert_eq "$status" 0
	assert_contains "$output" 'got one'
	log_says "no, the job has the terminal"
}

@test "what a server would hand on to programs that a job starts is not there" {
	run_fairpar --warm=sh 'env | grep -c -e ^LD_ -e ^FAIRPAR_WARM; ls /proc/self/fd | wc -l; : {}' ::: 1
	warm=$output
	run_fairpar --warm=off 'env | grep -c -e ^LD_ -e ^FAIRPAR_WARM; ls /proc/self/fd | wc -l; : {}' ::: 1
	assert_eq "$warm" "$output"
}
