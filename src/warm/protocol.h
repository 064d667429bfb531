// What fairpar and a server (server.c) say to each other, over a socket of type SOCK_SEQPACKET.
//
// The server is started with SERVER_VARIABLE in its environment, and says first, by an enum warm_unfit, whether it can serve. Each
// request is one message: struct warm_request, then strings with a NUL behind each (the arguments, the environment), and descriptors as
// SCM_RIGHTS: those that become 0, 1 and 2 of the job, and its directory if it has one of its own. The server answers with the pid
// of the job, or with -errno. Each of the server's messages is one int32_t.

#pragma once

#include <stdint.h>

// "SOCKET TABLE SIZE OBJECT", decimal: the descriptors of the socket, of the table of running children (struct group_table in
// process/guardian.h), the size of this table in bytes, and the descriptor of the preloaded object.
#define SERVER_VARIABLE "FAIRPAR_WARM"

enum {
	WARM_BYTES_MAX = 128 * 1024,  // the bytes of a request: its header and its strings
	WARM_STRINGS_MAX = 8 * 1024,
	WARM_FDS_MAX = 4,
};

struct warm_request {
	uint32_t nargs, nenv;
	int32_t parent;               // the pid of fairpar
	uint64_t listed;              // the offset in the table where the job writes the negative of its process group, before its program runs
	uint64_t mask;                // signals that are blocked in the job, in the kernel's form
	uint64_t deadly;              // spawn_world.deadly: signals that the job discards, in the kernel's form
};

// Why a server cannot serve.
enum warm_unfit {
	WARM_FIT,
	WARM_HAS_THREADS,             // a library of /etc/ld.so.preload started a thread before main()
	WARM_HAS_FDS,                 // a library of /etc/ld.so.preload opened a descriptor before main()
	WARM_NO_TABLE,                // the table cannot be mapped
	WARM_NO_TID_ADDRESS,          // the kernel has no PR_GET_TID_ADDRESS
	WARM_NO_LAYOUT,               // the kernel does not let a process move its arguments (PR_SET_MM_MAP)
};
