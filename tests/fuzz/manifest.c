// Fuzzes the loader of manifests: any bytes give a manifest or an error, never a crash, a leak or a long wait; and what
// was taken can be listed, selected and asked.

#include "base/alloc.h"
#include "base/diag.h"
#include "manifest/manifest.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void ask(struct manifest *manifest) {
	struct buf buf = BUF_INIT;
	const struct manifest_batch *last = &manifest->batches[manifest->nbatches - 1];
	verify(manifest_find(manifest, last->name) == last);
	verify(manifest_select(manifest, &last->name, 1, &buf) == 0 && last->selected);
	manifest_list(manifest, MANIFEST_PLAIN, &buf);
	manifest_list(manifest, MANIFEST_NAMES, &buf);
	manifest_list(manifest, MANIFEST_DOT, &buf);
	for (size_t i = 0; i < manifest->nbatches; ++i) {
		const struct manifest_batch *batch = &manifest->batches[i];
		struct manifest_pair *pairs;
		manifest_env_pairs(batch->job->env, &pairs);
		free(pairs);
		verify((batch->run != NULL) != (batch->commands != NULL));
		verify(manifest_delay_ns(&batch->job->retry_delay, 100) <= batch->job->retry_delay.max_ns);
		for (size_t k = 0; k < batch->ncommands; ++k) {
			verify(batch->commands[k].run && batch->commands[k].job);
		}
		for (size_t k = 0; k < batch->matrix.nrows; ++k) {
			verify(manifest_matrix_value(&batch->matrix, k, batch->matrix.names.n - 1));
		}
	}
	buf_fini(&buf);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
	struct buf messages = BUF_INIT;
	FP_CLEANUP(free_later) char *copy = xmemdup(data, size); // with a NUL
	struct manifest *manifest = manifest_parse("fuzz.yaml", copy, size, &messages);
	bool failed = messages.len > 0 && strstr(messages.data, ", nothing was run\n");
	verify(failed == !manifest);
	if (manifest) {
		ask(manifest);
		manifest_free(manifest);
	}
	buf_fini(&messages);
	return 0;
}
