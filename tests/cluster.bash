# shellcheck shell=bash disable=SC2034 # what it sets, tests read
# Machines for the tests of one file: `load cluster`, then setup_file calls bed_start, teardown_file bed_end.
#
#	bed_start ssh           three sshd, at 127.0.0.1, .2 and .3, with keys of their own; `ssh` in $PATH is then one that knows
#	                        them (ssh 127.0.0.2 true), and no other machine
#	bed_start slurm [KEY=VALUE …]   a Slurm cluster of three nodes of 4 CPUs (tests/slurm-up)
#	need_ssh, need_slurm    in a test: skips the test, by name, if ssh or Slurm is not installed, or cannot be started here
#	sshd_end ADDRESS        ends that sshd, and the connections to it break; sshd_start ADDRESS starts it again
#	ssh_clients ADDRESS     prints the pids of this test's ssh processes that are connected to that sshd
#	bed_end                 ends the sshd and the cluster; fails if a process is left, and names it
#
# The processes that ssh and Slurm start have FAIRPAR_TEST of the test, so helper.bash finds those that a test leaves behind.

bed_hosts=(127.0.0.1 127.0.0.2 127.0.0.3)

# sshd or Slurm may not work on a machine, for example in a container without loopback addresses, or without its own name.
bed_start() {
	local kind=$1 log=$BATS_FILE_TMPDIR/$1.start
	shift
	if ! "bed_$kind" "$@" >"$log" 2>&1; then
		cat "$log"
		"bed_${kind}_end"
		export "bed_without_$kind=$kind cannot be started here: $(tail -n 1 "$log")"
	fi
}

bed_ssh() {
	local host
	command -v sshd >/dev/null || PATH=$PATH:/usr/sbin:/sbin
	command -v sshd >/dev/null && command -v ssh >/dev/null || return 0
	export bed=$BATS_FILE_TMPDIR/ssh sshd_port=
	mkdir -p "$bed/bin"
	# As root, sshd needs an empty directory to lock its children into.
	[[ $(id -u) != 0 ]] || mkdir -p /run/sshd || return
	ssh-keygen -q -t ed25519 -N '' -f "$bed/host_key" || return
	ssh-keygen -q -t ed25519 -N '' -f "$bed/key" || return
	cp "$bed/key.pub" "$bed/authorized"
	for host in "${bed_hosts[@]}"; do
		sshd_start "$host" || return
		echo "[$host]:$sshd_port $(cut -d ' ' -f 1,2 "$bed/host_key.pub")"
	done >"$bed/known"
	cat >"$bed/client" <<-CONF
		Host ${bed_hosts[*]} 127.0.0.4
			Port $sshd_port
		Host *
			User $(id -un)
			IdentityFile $bed/key
			IdentitiesOnly yes
			UserKnownHostsFile $bed/known
			GlobalKnownHostsFile /dev/null
			StrictHostKeyChecking yes
			BatchMode yes
			SendEnv FAIRPAR_TEST XDG_CACHE_HOME
			LogLevel ERROR
	CONF
	printf '#!/bin/sh\nexec %s -F %s "$@"\n' "$(command -v ssh)" "$bed/client" >"$bed/bin/ssh"
	chmod +x "$bed/bin/ssh"
	export PATH=$bed/bin:$PATH
	ssh 127.0.0.1 true
}

bed_ssh_end() {
	local host
	for host in "${bed_hosts[@]}"; do
		sshd_end "$host"
	done
	unset bed
}

# sshd_start ADDRESS: starts sshd at the port of the others, or at a port that is free at all addresses. FAIRPAR_REMOTE names the
# program under test there.
sshd_start() {
	local tries port
	for ((tries = 0; tries < 50; tries++)); do
		port=${sshd_port:-$((31000 + RANDOM % 1700))}
		cat >"$bed/$1.conf" <<-CONF
			ListenAddress $1
			Port $port
			HostKey $bed/host_key
			AuthorizedKeysFile $bed/authorized
			PidFile $bed/$1.pid
			StrictModes no
			UsePAM no
			PasswordAuthentication no
			PermitRootLogin yes
			MaxStartups 500
			MaxSessions 500
			UseDNS no
			PrintMotd no
			AcceptEnv FAIRPAR_TEST XDG_CACHE_HOME
			SetEnv FAIRPAR_REMOTE=$(readlink -f "${FAIRPAR:-$BATS_TEST_DIRNAME/../fairpar}")
		CONF
		rm -f "$bed/$1.pid"
		env -i PATH="$PATH" setsid "$(command -v sshd)" -D -f "$bed/$1.conf" -E "$bed/$1.log" </dev/null >/dev/null 2>&1 3>&- &
		disown $! # or the shell would report its end
		echo $! >"$bed/$1.process"
		if sshd_listens "$1"; then
			sshd_port=$port
			return 0
		fi
		# Another program has that port.
	done
	cat "$bed/$1.log"
	return 1
}

# sshd does not say when it listens, but it writes its pid then.
sshd_listens() {
	until [[ -s $bed/$1.pid ]]; do
		[[ -e /proc/$(<"$bed/$1.process")/exe ]] || return 1
		env sleep 0.02
	done
}

# with_descendants PID …: prints these pids and those of all their descendants.
with_descendants() {
	local pid
	for pid; do
		echo "$pid"
		# shellcheck disable=SC2046 # one word for each
		with_descendants $(cat "/proc/$pid/task"/*/children 2>/dev/null)
	done
}

# A connection outlives the sshd that accepted it, so the connections are ended here, too.
sshd_end() {
	local pids pid
	[[ -s $bed/$1.process ]] || return 0
	pids=$(with_descendants "$(<"$bed/$1.process")")
	for pid in $pids; do
		if [[ $(readlink "/proc/$pid/exe" 2>/dev/null) == */sshd ]]; then
			kill -KILL "$pid" 2>/dev/null || :
			while [[ -e /proc/$pid/exe ]]; do env sleep 0.02; done # its port is free when the process has ended
		fi
	done
	rm -f "$bed/$1.process" "$bed/$1.pid"
}

ssh_clients() {
	local process
	for process in $(grep -lszFx "FAIRPAR_TEST=$FAIRPAR_TEST" /proc/[0-9]*/environ); do
		process=${process%/environ}
		[[ $(readlink "$process/exe") == */ssh ]] && grep -qszFx -- "$1" "$process/cmdline" && echo "${process#/proc/}"
	done
	return 0
}

bed_slurm() {
	PATH=$PATH:/usr/sbin:/sbin
	command -v slurmctld >/dev/null && command -v munged >/dev/null || return 0
	export SLURM_CONF=$BATS_FILE_TMPDIR/slurm/slurm.conf
	"$BATS_TEST_DIRNAME/slurm-up" start "${SLURM_CONF%/*}" "$@" 3>&-
}

bed_slurm_end() {
	slurm_up stop
	unset SLURM_CONF
}

# slurm_up VERB …: runs tests/slurm-up for the cluster of this file.
slurm_up() {
	local verb=$1
	shift
	env -u FAIRPAR_TEST "$BATS_TEST_DIRNAME/slurm-up" "$verb" "${SLURM_CONF%/*}" "$@" 3>&- # the daemons that it starts do not belong to this test
}

need_ssh() {
	[[ -n ${bed-} ]] || skip "${bed_without_ssh-sshd is not installed}"
}

need_slurm() {
	[[ -n ${SLURM_CONF-} ]] || skip "${bed_without_slurm-slurmctld is not installed}"
}

bed_end() {
	local left
	if [[ -n ${bed-} ]]; then
		bed_ssh_end
	fi
	if [[ -n ${SLURM_CONF-} ]]; then
		bed_slurm_end
	fi
	left=$(grep -lszF -- "$BATS_FILE_TMPDIR/" /proc/[0-9]*/cmdline) || :
	if [[ -n $left ]]; then
		echo "left behind:"
		# shellcheck disable=SC2086 # one word for each
		ps -o pid=,args= ${left//[!0-9[:space:]]/}
		return 1
	fi
}
