// Answers questions about a loaded manifest: lists of its batches, pauses, variables.

#include "manifest/manifest.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/map.h"
#include "base/text.h"
#include "base/units.h"

size_t manifest_batch_jobs(const struct manifest_batch *batch) {
	switch (batch->source) {
	case MANIFEST_NONE:
		return batch->run ? batch->nfeeders == 0 : batch->ncommands;
	case MANIFEST_ARGS:
		return batch->args.n;
	case MANIFEST_MATRIX:
		return batch->matrix.nrows;
	default:
		return SIZE_MAX;
	}
}

uint64_t manifest_delay_ns(const struct manifest_delay *delay, unsigned n) {
	double ns = (double)delay->first_ns;
	for (unsigned i = 1; i < n && ns < (double)delay->max_ns && delay->factor > 1; ++i) {
		ns *= delay->factor;
	}
	return ns < (double)delay->max_ns ? (uint64_t)ns : delay->max_ns;
}

bool manifest_env_is_set_for_each(const char *entry) {
	static const char own[] = "FAIRPAR_BATCH FAIRPAR_JOB FAIRPAR_SEQ FAIRPAR_SLOT FAIRPAR_SOCK FAIRPAR_CONTROL FAIRPAR_LEASE "
	                          "FAIRPAR_ATTEMPT FAIRPAR_EXIT FAIRPAR_OUTCOME FAIRPAR_RUN PARALLEL_SEQ PARALLEL_JOBSLOT PARALLEL_PID "
	                          "FAIRPAR_ITEM";
	if (*entry != 'F' && *entry != 'P') { // true of most variables
		return false;
	}
	return strncmp(entry, "FAIRPAR_ITEM_", 13) == 0 || word_is_in(own, entry, strcspn(entry, "="));
}

size_t manifest_env_pairs(const struct manifest_env *env, struct manifest_pair **ret_pairs) {
	const struct manifest_env *layers[4]; // at most four layers: the entry, the batch, the defaults and the top
	size_t nlayers = 0, n = 0, most = 0;
	for (; env; env = env->under) {
		layers[nlayers++] = env;
		most += env->n;
	}
	struct manifest_pair *pairs = xcalloc(most + 1, sizeof(*pairs));
	FP_CLEANUP(map_fini) struct map numbers = MAP_INIT;
	while (nlayers > 0) {
		const struct manifest_env *layer = layers[--nlayers];
		for (size_t i = 0; i < layer->n; ++i) {
			uint32_t had = map_add(&numbers, layer->pairs[i].name, strlen(layer->pairs[i].name), (uint32_t)n);
			pairs[had != MAP_NONE ? had : n++] = layer->pairs[i];
		}
	}
	*ret_pairs = pairs;
	return n;
}

static void list_batch(const struct manifest_batch *batch, size_t width, struct buf *buf) {
	size_t n = manifest_batch_jobs(batch), len = text_columns(batch->name, strlen(batch->name));
	buf_printf(buf, "%s%*s  ", batch->name, (int)(len < width ? width - len : 0), "");
	if (n == SIZE_MAX) {
		buf_adds(buf, "? jobs");
	} else {
		buf_printf(buf, "%zu%s job%s", n, batch->nfeeders > 0 ? "+" : "", n == 1 && batch->nfeeders == 0 ? "" : "s");
	}
	for (size_t i = 0; i < batch->nneeds; ++i) {
		buf_printf(buf, "%s%s", i == 0 ? ", needs " : " ", batch->needs[i]->name);
	}
	bool has_own = batch->source != MANIFEST_NONE;
	const char *before = ", items from ";
	for (const struct manifest_batch *feeder = batch->feeders; !has_own && feeder; feeder = feeder->next_feeder) {
		if (feeder != batch) {
			buf_printf(buf, "%s%s", before, feeder->name);
			before = " ";
		}
	}
	if (batch->emits) {
		buf_printf(buf, ", emits into %s", batch->emits->name);
	}
	if (batch->description) {
		buf_adds(buf, ": ");
		buf_add_escaped(buf, batch->description, strcspn(batch->description, "\n"), 200);
	}
	buf_addc(buf, '\n');
}

// Returns the width in columns of the longest name of a selected batch; names of more than 40 columns do not count.
static size_t name_columns(const struct manifest *manifest) {
	size_t width = 0;
	for (size_t i = 0; i < manifest->nbatches; ++i) {
		size_t len = text_columns(manifest->batches[i].name, strlen(manifest->batches[i].name));
		if (manifest->batches[i].selected && len > width && len <= 40) {
			width = len;
		}
	}
	return width;
}

// Appends the name as a quoted ID of the DOT language: " and \ are escaped as in JSON, and control characters are shown as escapes.
static void add_dot_name(const char *name, struct buf *buf) {
	FP_CLEANUP(buf_fini) struct buf shown = BUF_INIT;
	buf_add_escaped(&shown, name, strlen(name), SIZE_MAX);
	(void)json_add_text(buf, buf_str(&shown), shown.len);
}

static void add_dot_edge(const struct manifest_batch *from, const struct manifest_batch *to, const char *style,
                         struct buf *buf) {
	buf_addc(buf, '\t');
	add_dot_name(from->name, buf);
	buf_adds(buf, " -> ");
	add_dot_name(to->name, buf);
	buf_printf(buf, "%s;\n", style);
}

static void add_dot_batch(const struct manifest_batch *batch, struct buf *buf) {
	buf_addc(buf, '\t');
	add_dot_name(batch->name, buf);
	buf_adds(buf, ";\n");
	for (size_t i = 0; i < batch->nneeds; ++i) {
		add_dot_edge(batch->needs[i], batch, "", buf);
	}
	if (batch->emits) {
		add_dot_edge(batch, batch->emits, " [style=dashed]", buf);
	}
}

void manifest_list(const struct manifest *manifest, enum manifest_listing listing, struct buf *buf) {
	size_t width = listing == MANIFEST_PLAIN ? name_columns(manifest) : 0;
	if (listing == MANIFEST_DOT) {
		buf_adds(buf, "digraph ");
		add_dot_name(manifest->name ? manifest->name : "batches", buf);
		buf_adds(buf, " {\n\trankdir=LR;\n");
	}
	for (size_t i = 0; i < manifest->nbatches; ++i) {
		const struct manifest_batch *batch = &manifest->batches[i];
		if (!batch->selected) {
			continue;
		}
		switch (listing) {
		case MANIFEST_PLAIN: list_batch(batch, width, buf); break;
		case MANIFEST_NAMES: buf_printf(buf, "%s\n", batch->name); break;
		case MANIFEST_DOT: add_dot_batch(batch, buf); break;
		}
	}
	buf_adds(buf, listing == MANIFEST_DOT ? "}\n" : "");
}
