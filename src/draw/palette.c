// Gives each batch of a run a colour for the pictures.

#include "draw/palette.h"

#include "base/alloc.h"

// Okabe and Ito, "Color Universal Design", in an order in which neighbours differ most; told apart by most eyes.
static const char *const colours[PALETTE_COLOURS] = {
	"#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442",
};

const char *palette_colour(unsigned class) {
	return class < PALETTE_OTHERS ? colours[class % PALETTE_COLOURS] : "#8A8A8A";
}

static uint64_t time_of(const struct stats_batch *batch) {
	return batch->slot_time + batch->long_time;
}

// The larger first; of equals, the earlier.
static int compare_times(const void *a, const void *b) {
	const struct stats_batch *x = *(const struct stats_batch *const *)a, *y = *(const struct stats_batch *const *)b;
	if (time_of(x) != time_of(y)) {
		return time_of(x) > time_of(y) ? -1 : 1;
	}
	return x < y ? -1 : x > y;
}

// Marks the batches that get a class: all, or those with most time.
static void choose(struct palette *palette) {
	const struct run_stats *stats = palette->stats;
	size_t n = stats->nbatches;
	const struct stats_batch **ranked = xcalloc(n ? n : 1, sizeof(*ranked));
	for (size_t i = 0; i < n; ++i) {
		ranked[i] = &stats->batches[i];
		palette->class_of[i] = PALETTE_OTHERS;
	}
	if (n > PALETTE_OTHERS) {
		qsort(ranked, n, sizeof(*ranked), compare_times);
	}
	for (size_t i = 0; i < n && i < PALETTE_OTHERS; ++i) {
		size_t batch = (size_t)(ranked[i] - stats->batches);
		if (stats->batches[batch].name[0] != '\0') { // not what later batches share
			palette->class_of[batch] = 0;
		}
	}
	free(ranked);
}

void palette_init(struct palette *palette, const struct run_stats *stats) {
	*palette = (struct palette){.stats = stats, .batches = MAP_INIT};
	palette->class_of = xcalloc(stats->nbatches ? stats->nbatches : 1, 1);
	choose(palette);
	map_reserve(&palette->batches, stats->nbatches);
	for (uint32_t i = 0; i < stats->nbatches; ++i) {
		const struct stats_batch *batch = &stats->batches[i];
		if (palette->class_of[i] != PALETTE_OTHERS) {
			palette->class_of[i] = (unsigned char)palette->nclasses;
			palette->owners[palette->nclasses++] = batch;
		} else {
			palette->nothers += batch->name[0] != '\0' ? 1 : stats->hidden_batches;
		}
		if (batch->name[0] != '\0') {
			map_add(&palette->batches, batch->name, strlen(batch->name), i);
		}
	}
}

void palette_fini(struct palette *palette) {
	map_fini(&palette->batches);
	free(palette->class_of);
	*palette = (struct palette){0};
}

uint32_t palette_batch(const struct palette *palette, const char *batch) {
	return map_get(&palette->batches, batch, strlen(batch));
}

unsigned palette_class(const struct palette *palette, const char *batch) {
	uint32_t index = palette_batch(palette, batch);
	return index == MAP_NONE ? (unsigned)PALETTE_OTHERS : palette->class_of[index];
}
