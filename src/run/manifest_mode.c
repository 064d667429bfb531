// Showing a manifest without running it: --check and --list.

#include "run/modes.h"

#include "base/buf.h"
#include "base/diag.h"
#include "base/io.h"
#include "manifest/manifest.h"
#include "run/dag.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

// What the loader has to say is complete lines already. If stderr does not take them, the status still tells.
static int write_messages(const struct buf *messages) {
	return messages->len > 0 ? write_all(STDERR_FILENO, messages->data, messages->len) : 0;
}

static int select_batches(const struct options *options, struct manifest *manifest) {
	struct buf error = BUF_INIT;
	int result = manifest_select(manifest, options->names, options->nnames, &error);
	if (result != 0) {
		diag_error("%s", buf_str(&error));
	}
	buf_fini(&error);
	return result;
}

static int write_list(const struct options *options, const struct manifest *manifest) {
	struct buf list = BUF_INIT;
	manifest_list(manifest, options->listing, &list);
	int result = write_all(STDOUT_FILENO, buf_str(&list), list.len);
	if (result != 0 && errno != EPIPE) { // whoever reads a list by head has seen enough of it
		diag_error("cannot write to stdout: %s", strerror(errno));
	}
	buf_fini(&list);
	return result;
}

int show_manifest(const struct options *options) {
	struct buf messages = BUF_INIT;
	struct manifest *manifest = manifest_load(options->manifest, &messages);
	int result = write_messages(&messages);
	buf_fini(&messages);
	if (!manifest) {
		return EXIT_TROUBLE;
	}
	if (select_batches(options, manifest) != 0 || (options->check && dag_check(manifest) != 0) ||
	    (options->given[OPT_LIST] && write_list(options, manifest) != 0)) {
		result = -1;
	}
	manifest_free(manifest);
	return result == 0 ? 0 : EXIT_TROUBLE;
}
