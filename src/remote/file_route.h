// The directories here and on the other machine of a file that is transferred, by the rules of GNU parallel's --transferfile and --return, which
// are those of rsync -R. Pure.

#ifndef FAIRPAR_REMOTE_FILE_ROUTE_H
#define FAIRPAR_REMOTE_FILE_ROUTE_H

#include "base/attr.h"
#include "base/buf.h"

#include <stdbool.h>

enum file_way {
	FILE_GOES, // --transferfile, --basefile
	FILE_COMES // --return
};

//                      goes: here      there       name      comes: here     there       name
//   tmp/foo            .               work dir    ./tmp/foo        .        work dir    ./tmp/foo
//   /tmp/foo           /tmp            /tmp        ./foo            /tmp     /tmp        ./foo
//   /tmp/./foo/bar     /tmp            work dir    ./foo/bar        /tmp     work dir    ./foo/bar
// The work dir is that of the job. A path that goes is split at its first /./, as rsync does; one that comes at its last, as GNU
// parallel does.
struct file_route {
	struct buf here;     // the directory here
	struct buf name;     // of the file in both directories: "./", then parts that are not empty, "." or ".."; or "." for the whole directory
	bool is_absolute;    // the directory there is `here`, too; else it is the work dir
};

// Splits the path. Returns 0; or -1 with *ret_why (static text): the path is empty, or has a ".." in its name, which would lead out of the
// directory there. file_route_fini() in both cases.
int file_route(struct file_route *ret_route, const char *path, enum file_way way, const char **ret_why) FP_NODISCARD;
void file_route_fini(struct file_route *route);

#endif
