# shellcheck shell=bash disable=SC2034 # what it sets, others read
# A real cgroup for tests and measurements, if the machine allows it: of version 1, or of version 2 if its
# controller is on for the groups below the root of the mount (as root on most machines).
#
#	group_make memory|cpu      makes the group and sets $group to its directory; fails if that is impossible
#	group_memory BYTES         limits the memory of the group, without swap; group_cpu US: its CPU time in each 100000 µs
#	group_run COMMAND …        runs COMMAND in the group
#	group_kills                prints how many processes of the group the kernel has killed for want of memory
#	group_remove               kills the processes of the group and removes the group, if there is one

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

# group_set FILE VALUE: writes VALUE to the file of the group, if there is such a file.
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

# shellcheck disable=SC2016 # the inner sh expands these
group_run() { sh -c 'echo 0 >"$0/cgroup.procs" && exec "$@"' "$group" "$@"; }

group_kills() { sed -n 's/^oom_kill //p' "$group/memory.oom_control" "$group/memory.events" 2>/dev/null; }

# A process that was killed needs a moment to end.
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
