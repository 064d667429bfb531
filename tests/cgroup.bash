# shellcheck shell=bash disable=SC2034 # what it sets, others read
# A real cgroup for tests and measurements, where the machine lets one be made: of version 1, or of version 2 where its
# controller is on for the groups below the root of the mount (as root on most machines).
#
#	group_make memory|cpu      sets $group, its directory; fails where none can be made
#	group_memory BYTES         limits its memory, without swap; group_cpu US: its CPU time, of each 100000 µs
#	group_run COMMAND …        runs it in the group
#	group_kills                how many processes of it the kernel has killed for want of memory
#	group_remove               kills what is in it, and removes it; nothing if there is none

group=''

group_make() {
	local top type options
	while read -r _ top type options _; do
		case $type,$options, in
		cgroup,*",$1,"*) ;;
		cgroup2,*) grep -qsw "$1" "$top/cgroup.subtree_control" || continue ;;
		*) continue ;;
		esac
		group=$top/fairpar-test-$BASHPID
		if mkdir "$group" 2>/dev/null; then
			return 0
		fi
	done </proc/self/mounts
	group=''
	return 1
}

# group_set FILE VALUE: where there is such a file.
group_set() {
	if [[ -e $group/$1 ]]; then
		echo "$2" >"$group/$1"
	fi
}

group_memory() {
	group_set memory.limit_in_bytes "$1"
	group_set memory.swappiness 0
	group_set memory.max "$1"
	group_set memory.swap.max 0
}

group_cpu() {
	group_set cpu.cfs_quota_us "$1"
	group_set cpu.max "$1 100000"
}

# shellcheck disable=SC2016 # for the shell that goes there
group_run() { sh -c 'echo 0 >"$0/cgroup.procs" && exec "$@"' "$group" "$@"; }

group_kills() { sed -n 's/^oom_kill //p' "$group/memory.oom_control" "$group/memory.events" 2>/dev/null; }

# A process that was killed needs a moment to be gone.
group_remove() {
	local pid tries
	for ((tries = 0; tries < 500; tries++)); do
		if [[ -z $group ]] || rmdir "$group" 2>/dev/null; then
			group=''
			return 0
		fi
		while read -r pid; do
			kill -KILL "$pid" 2>/dev/null
		done <"$group/cgroup.procs"
		env sleep 0.01
	done
	return 1
}
