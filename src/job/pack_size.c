// How many items go into one process, by the time that items have taken so far (--pack=auto). No function here reads a clock.
//
// The time of an item is estimated as the time of all processes divided by the number of their items. So the estimate includes a
// part of the start of a process. This part falls as a process gets more items, and the number of items settles where a process takes
// 200 ms. Each process halves the weight of the earlier processes: a change of the items' cost shows after a few processes, while one
// slow item among the many items of a process changes little.
//
// At the end each process takes a share of the items that are left: with S slots 1/S of these items, rounded up. So processes become smaller and
// smaller, and a slow process does not delay the end: the other processes take the items that are left (guided self-scheduling: Polychronopoulos and
// Kuck, IEEE Trans. Computers 36, 1987).

#include "job/pack_size.h"

static double clamp(double n, double least, double most) {
	return n < least ? least : n > most ? most : n;
}

void packsize_note(struct packsize *size, uint32_t items, uint64_t ns) {
	size->items = size->items / 2 + items;
	size->ns = size->ns / 2 + (double)(ns > 0 ? ns : 1);
	size->most = items > size->most ? items : size->most;
	double in_ms = size->items / size->ns * 1e6;
	double grown = (double)size->most * PACKSIZE_GROWTH;
	size->want = (uint32_t)clamp(in_ms * PACKSIZE_TARGET_MS, 1, clamp(grown, 1, INT32_MAX));
	size->least = (uint32_t)clamp(in_ms * PACKSIZE_LEAST_MS, 1, size->want);
}

uint64_t packsize_share(uint32_t want, uint32_t least, uint64_t waiting, unsigned slots, bool ended) {
	uint64_t n = want > 0 ? want : 1;
	if (ended && slots > 0) {
		uint64_t share = waiting / slots + (waiting % slots > 0);
		share = share > least ? share : least;
		n = n < share ? n : share;
	}
	return n > 0 ? n : 1;
}
