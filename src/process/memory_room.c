// How much memory the cgroups of this process leave it.
//
// Facts are from the kernel's Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst. A limit of v1 that is not set
// is the greatest multiple of a page, which no machine has.

#include "process/memory.h"

#include "base/buf.h"
#include "process/proc.h"

#include <stdlib.h>

#define NO_LIMIT (UINT64_C(1) << 60)

// Where the figures of a version are.
struct memory_files {
	const char *limit, *used, *cache; // the last one is a line of memory.stat
	const char *kills;                // with a line oom_kill
};

static const struct memory_files files_v2 = {"/memory.max", "/memory.current", "inactive_file", "/memory.events"};
static const struct memory_files files_v1 = {
	"/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file", "/memory.oom_control"
};

struct look {
	const struct memory_files *files;
	struct memory_room room;
	uint64_t kills;        // in the own group of that version
	bool is_own;           // they are the group's, and not only those below a mount point
};

// The number that the file begins with, or `other` where there is none, as in "max".
static uint64_t read_number(const char *dir, const char *name, uint64_t other) {
	struct buf text;
	const char *at = proc_read_below(dir, name, &text);
	uint64_t value = *at >= '0' && *at <= '9' ? strtoull(at, NULL, 10) : other;
	buf_fini(&text);
	return value;
}

// The number in the line "NAME N" of the file; 0 where there is none.
static uint64_t find_number(const char *dir, const char *file, const char *name) {
	struct buf text;
	uint64_t value = 0;
	if (!proc_find_number(proc_read_below(dir, file, &text), name, &value)) {
		value = 0;
	}
	buf_fini(&text);
	return value;
}

static void look_at_level(void *arg, const char *dir) {
	struct look *look = arg;
	uint64_t limit = read_number(dir, look->files->limit, UINT64_MAX);
	if (limit >= NO_LIMIT) {
		return;
	}
	uint64_t used = read_number(dir, look->files->used, 0), cache = find_number(dir, "/memory.stat", look->files->cache);
	used -= cache < used ? cache : used;
	uint64_t left = limit > used ? limit - used : 0;
	look->room.limit = limit < look->room.limit ? limit : look->room.limit;
	look->room.left = left < look->room.left ? left : look->room.left;
}

static void look_up(void *arg, const char *dir, size_t mount_len, bool is_seen FP_UNUSED) {
	cgroup_each_level(dir, mount_len, look_at_level, arg);
}

// The group may be mounted several times: it counts once.
static void count_kills(void *arg, const char *dir, size_t mount_len FP_UNUSED, bool is_seen) {
	struct look *look = arg;
	if (!look->is_own) {
		look->kills = find_number(dir, look->files->kills, "oom_kill");
		look->is_own = is_seen;
	}
}

struct memory_room memory_room_observe(const char *root) {
	struct look look = {.files = &files_v2, .room = {UINT64_MAX, UINT64_MAX}};
	cgroup_each_dir(root, /* v2 */ true, /* controller */ NULL, look_up, &look);
	look.files = &files_v1;
	cgroup_each_dir(root, /* v2 */ false, "memory", look_up, &look); // a hybrid machine has both, and the limits of both hold
	return look.room;
}

uint64_t memory_room_kills(const char *root) {
	struct look v2 = {.files = &files_v2}, v1 = {.files = &files_v1};
	cgroup_each_dir(root, /* v2 */ true, /* controller */ NULL, count_kills, &v2);
	cgroup_each_dir(root, /* v2 */ false, "memory", count_kills, &v1); // a hybrid machine counts in one of them
	return v2.kills + v1.kills;
}
