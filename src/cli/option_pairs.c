// Which options do not go together.

#include "cli/option_pairs.h"

#include "base/diag.h"

#include <string.h>

int option_pairs_check(const struct options *options, const bool given[NOPTIONS]) {
	// the first three as in GNU parallel, which lets no other order of them win either
	static const enum option_id pairs[][2] = {
		{OPT_GROUP, OPT_UNGROUP},
		{OPT_GROUP, OPT_LINE_BUFFER},
		{OPT_UNGROUP, OPT_LINE_BUFFER},
		{OPT_LATEST_LINE, OPT_GROUP},
		{OPT_LATEST_LINE, OPT_UNGROUP},
		{OPT_NULL, OPT_DELIMITER},
		{OPT_CAT, OPT_FIFO},
		{OPT_CHECK, OPT_LIST},
		{OPT_CHECK, OPT_DRY_RUN},
		{OPT_LIST, OPT_DRY_RUN},
		{OPT_RETRY_FAILED, OPT_RESUME},
		{OPT_RETRY_FAILED, OPT_RESUME_FAILED},
		{OPT_RETRY_FAILED, OPT_BATCH},
		{OPT_RETRY_FAILED, OPT_BATCH_BY},
		{OPT_RETRY_FAILED, OPT_THEN},
		{OPT_RETRY_FAILED, OPT_ON_FAILURE},
	};
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); ++i) {
		enum option_id a = pairs[i][0], b = pairs[i][1];
		if (given[a] && given[b]) {
			diag_error("--%s cannot be combined with --%s", option_table[a].name, option_table[b].name);
			return -1;
		}
	}
	if (options->batch && options->batch_by) {
		diag_error("--batch %s cannot be combined with --batch-by: each names the batch of the same items",
		           diag_shows(options->batch));
		return -1;
	}
	return 0;
}

int option_batches_check(const struct options *options) {
	for (size_t i = 0; i < options->nbatch_files; ++i) {
		const char *name = options->batch_files[i].name;
		bool twice = options->batch && strcmp(options->batch, name) == 0;
		for (size_t j = 0; j < i; ++j) {
			twice = twice || strcmp(options->batch_files[j].name, name) == 0;
		}
		if (twice) {
			diag_error("--batch names the batch '%s' twice", diag_shows(name));
			return -1;
		}
	}
	return 0;
}
