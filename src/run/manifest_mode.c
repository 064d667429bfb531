// Loads a manifest, and shows it without running it: --check and --list.

#include "run/modes.h"

#include "base/buf.h"
#include "base/diag.h"
#include "base/io.h"
#include "manifest/manifest.h"
#include "run/dag.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct manifest *load_manifest(const struct options *options, bool *ret_unwritten) {
	struct buf messages = BUF_INIT;
	struct manifest *manifest = manifest_load(options->manifest, &messages);
	// complete lines already; if stderr does not take them, the status still tells
	*ret_unwritten = diag_text(buf_str(&messages), messages.len) != 0;
	buf_reset(&messages);
	if (manifest && options->nnames > 0 && manifest_select(manifest, options->names, options->nnames, &messages) != 0) {
		diag_error("%s", buf_str(&messages));
		manifest_free(manifest);
		manifest = NULL;
	}
	buf_fini(&messages);
	return manifest;
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
	bool failed;
	struct manifest *manifest = load_manifest(options, &failed);
	if (!manifest) {
		return EXIT_TROUBLE;
	}
	if ((options->check && dag_check(manifest) != 0) || (options->given[OPT_LIST] && write_list(options, manifest) != 0)) {
		failed = true;
	}
	manifest_free(manifest);
	return failed ? EXIT_TROUBLE : 0;
}
