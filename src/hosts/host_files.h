// Files of attempts on other machines: --basefile before the first attempt there, --transferfile before each, --return after it, and their
// removal (--cleanup).

#ifndef FAIRPAR_HOSTS_HOST_FILES_H
#define FAIRPAR_HOSTS_HOST_FILES_H

#include "cli/options.h"
#include "remote/transfer.h"

// The files of one attempt: paths as file_route() takes them, a NUL behind each. The owner frees them by job_files_fini().
struct job_files {
	struct buf go, come; // --transferfile, --return
	struct buf went, came; // those of them that are there and may be removed; set by host_files_run()
	struct buf why;      // which file host_files_run() could not transfer, and why; or empty
};

void job_files_fini(struct job_files *files);

// The state of the base files at one machine.
struct host_files;

// Makes the state for a machine that does not share this one's files. `base_dir`: the directory there for base files with relative paths, or
// NULL: the login directory. Both are borrowed. host_files_close() frees it.
struct host_files *host_files_open(const struct options *options, const char *base_dir);

// Removes the base files with --cleanup, and frees. `transfer` says by which connection, or is NULL: there was never one. No attempt may run
// there any more. NULL-safe.
void host_files_close(struct host_files *host_files, const struct transfer *transfer);

// Transfers the files, runs the attempt `transfer->of` as link_run() does, fetches its files and cleans up. If a file cannot be transferred the
// attempt does not start; if a file of a successful attempt cannot be fetched the attempt has failed. job_files.why says which and why.
enum link_end host_files_run(struct host_files *host_files, const struct transfer *transfer, struct job_files *files,
                             const struct payload_context *context, const char *cwd, struct result *ret_result, struct spawn_error *ret_error,
                             bool *ret_wrote);

#endif
