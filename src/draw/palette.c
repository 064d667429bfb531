// Gives each batch of a run a colour for the pictures.

#include "draw/timeline.h"

#include "base/alloc.h"

// Okabe and Ito, "Color Universal Design": colours that most people can tell apart, in an order in which neighbours differ most.
static const char *const colours[PALETTE_COLOURS] = {
	"#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442",
};

const char *palette_colour(unsigned class) {
	return class < PALETTE_OTHERS ? colours[class % PALETTE_COLOURS] : "#8A8A8A";
}

void palette_init(struct palette *palette, const struct run_stats *stats) {
	*palette = (struct palette){.stats = stats};
	FP_CLEANUP(free_later) bool *is_chosen = stats_largest(stats, PALETTE_OTHERS, /* with_long */ true);
	for (uint32_t i = 0; i < stats->nbatches; ++i) {
		const struct stats_batch *batch = &stats->batches[i];
		palette->class_of[i] = is_chosen[i] ? (unsigned char)palette->nclasses : (unsigned char)PALETTE_OTHERS;
		if (is_chosen[i]) {
			palette->owners[palette->nclasses++] = batch;
		} else {
			palette->nothers += batch->name[0] != '\0' ? 1 : stats->hidden_batches;
		}
	}
}

unsigned palette_class(const struct palette *palette, const char *batch) {
	uint32_t index = stats_find(palette->stats, batch);
	return index == MAP_NONE ? (unsigned)PALETTE_OTHERS : palette->class_of[index];
}
