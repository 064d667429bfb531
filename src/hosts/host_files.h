// What surrounds an attempt on another machine when it has files there: base files before the first one, its own before and after it,
// and their removal.

#ifndef FAIRPAR_HOSTS_HOST_FILES_H
#define FAIRPAR_HOSTS_HOST_FILES_H

#include "cli/options.h"
#include "remote/transfer.h"

// The files of one attempt: paths as file_route() takes them, a NUL behind each.
struct job_files {
	struct buf go, come; // --transferfile, --return
	struct buf why;      // what host_files_run() could not do, or empty
};

void job_files_fini(struct job_files *files);

// What is known of the files at one machine.
struct host_files;

// For a machine that has files of its own. `base_dir`: where base files that are not absolute go there, or NULL; borrowed.
struct host_files *host_files_open(const struct options *options, const char *base_dir);

// Removes the base files, if they are to be; `transfer` is that of an attempt in no directory, or NULL: the line was never there. When no attempt
// runs. NULL-safe.
void host_files_close(struct host_files *host_files, const struct transfer *transfer);

// As link_run(), with all that surrounds it. `transfer->of` is the attempt. One whose file cannot be brought has not started; one that has
// ended well and whose file cannot be fetched has failed: job_files.why says so.
enum link_end host_files_run(struct host_files *host_files, const struct transfer *transfer, struct job_files *files,
                             const struct payload_context *context, const char *cwd, struct result *ret_result, struct spawn_error *ret_error,
                             bool *ret_wrote);

#endif
