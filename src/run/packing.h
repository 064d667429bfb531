// The packs of a run that are being filled: one for each input, or one for each batch that is found in the input.

#ifndef FAIRPAR_RUN_PACKING_H
#define FAIRPAR_RUN_PACKING_H

#include "base/list.h"
#include "run/submission.h"
#include "template/packs.h"

enum { PACKING_OPEN = 1024 }; // packs of batches found in the input at once; beyond it the one longest left alone goes

// The pack of a batch that is found in the input.
struct keyed_pack {
	struct list used;    // in packing->used, the one longest left alone first
	struct keyed_pack *next; // in its bucket
	uint64_t hash;
	char *name;          // of the batch
	struct pack pack;
};

// Zeroed, and with its list initialized, is one without packs.
struct packing_state {
	struct pack_limits limits;
	unsigned slots;      // that the last items are spread over, or 0
	size_t sharers;      // packs that share them; 0 before the end of the input
	struct list used;
	size_t n;            // of keyed packs
	struct keyed_pack *buckets[PACKING_OPEN];
};

// Sets the limits by the options, for the spec of the command line; with --pack=auto they are also run->packs. Returns 0,
// or -1 after a message.
int packing_init(struct packing_state *packing, struct run *run);

// The pack of that batch, made if there is none; then there is one more, and the caller sees that there are not too many.
struct keyed_pack *packing_find(struct packing_state *packing, const char *name, uint64_t hash);

// The pack that is to go first, or NULL if there is none.
struct keyed_pack *packing_oldest(struct packing_state *packing);
void packing_remove(struct packing_state *packing, struct keyed_pack *keyed);

// Puts the pack, spread over so many slots (0: as it is), into the submission, which `submit` empties when it is full. Returns
// false if that has no room: then it is to be called again. The pack is empty afterwards.
bool packing_give(struct pack *pack, unsigned slots, struct run *run, struct submission *submission,
                  bool (*submit)(struct run *run, struct submission *submission));

#endif
