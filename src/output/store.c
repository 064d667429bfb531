// Where held output lies: in memory up to a bound, then in one unlinked file for all jobs of the run.

#include "output/store.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/fault.h"
#include "base/io.h"
#include "base/list.h"
#include "base/sync.h"
#include "base/temp_file.h"
#include "base/transfer.h"

#include <errno.h>
#include <unistd.h>

enum {
	UNIT_SIZE = 64 * 1024,  // the file is given out in units of this
	RUN_UNITS = 16,         // at once to a rope that grows
	ROPE_BLOCKS = 16,       // blocks of one rope in memory; what is longer leaves memory to the others
	SPARE_BLOCKS = 4,       // free blocks that are kept even when memory is short
	KEEP_UNITS = 256,       // a file that never grew beyond this is not punched, its places are just used again
};

struct piece {
	struct piece *next;
	char *mem;              // a block, or NULL: in the file
	size_t unit, nunits;    // in the file: where
	size_t start, len, cap; // bytes in use from start to len
};

struct record_pack {
	struct list sealed;     // in store.sealed while it is full and in memory only
	size_t id;
	char *mem;              // a block, or NULL: in the file
	size_t unit;
	size_t used;            // bytes written
	size_t live;            // records not yet taken
	bool moving;            // is being written to the file
};

struct store {
	mutex lock;             // of all below; never held across a call that reads or writes the file
	size_t bound, used;     // bytes of memory
	char **spare;           // free blocks
	size_t nspare, spare_cap;

	const char *dir;
	int fd;                 // or -1: not yet needed
	uint64_t *map;          // units in use, a bit each
	size_t map_words;
	size_t first_free;      // no free unit below this word of the map
	size_t units;           // in use
	size_t units_peak;
	bool punch;             // the file system can give space back

	struct record_pack **packs;    // by id; NULL: free
	size_t npacks, packs_cap;
	size_t *free_ids;
	size_t nfree_ids, free_ids_cap;
	struct record_pack *open;      // records go here
	struct list sealed;     // newest first

	char *cache;            // the pack of the file that was read last; of the one thread that takes
	size_t cached;          // its id + 1, or 0
};

struct store *store_create(size_t bound, const char *dir) {
	struct store *store = NEW(struct store);
	mutex_init(&store->lock, LOCK_STORE);
	store->bound = bound;
	store->dir = dir;
	store->fd = -1;
	store->punch = true;
	list_init(&store->sealed);
	return store;
}

void store_destroy(struct store *store) {
	for (size_t i = 0; i < store->npacks; ++i) {
		if (store->packs[i]) {
			free(store->packs[i]->mem);
			free(store->packs[i]);
		}
	}
	for (size_t i = 0; i < store->nspare; ++i) {
		free(store->spare[i]);
	}
	fd_close(&store->fd);
	free(store->spare);
	free(store->map);
	free(store->packs);
	free(store->free_ids);
	free(store->cache);
	mutex_fini(&store->lock);
	free(store);
}

size_t store_mem(struct store *store) {
	mutex_lock(&store->lock);
	size_t used = store->used;
	mutex_unlock(&store->lock);
	return used;
}

size_t store_units(struct store *store) {
	mutex_lock(&store->lock);
	size_t units = store->units;
	mutex_unlock(&store->lock);
	return units;
}

// ---- blocks

static char *block_get_locked(struct store *store) {
	return store->nspare > 0 ? store->spare[--store->nspare] : xmalloc(BLOCK_SIZE);
}

static void block_put_locked(struct store *store, char *block) {
	if (store->nspare >= SPARE_BLOCKS && store->used + (store->nspare + 1) * BLOCK_SIZE > store->bound) {
		free(block);
		return;
	}
	grow_array(&store->spare, &store->spare_cap, store->nspare + 1, sizeof(store->spare[0]));
	store->spare[store->nspare++] = block;
}

char *store_block_get(struct store *store) {
	mutex_lock(&store->lock);
	char *block = block_get_locked(store);
	mutex_unlock(&store->lock);
	return block;
}

void store_block_put(struct store *store, char *block) {
	mutex_lock(&store->lock);
	block_put_locked(store, block);
	mutex_unlock(&store->lock);
}

// A block that counts against the bound, or NULL if that is reached.
static char *block_charge_locked(struct store *store, bool force) {
	if (!force && store->used + BLOCK_SIZE > store->bound) {
		return NULL;
	}
	store->used += BLOCK_SIZE;
	return block_get_locked(store);
}

static void block_discharge_locked(struct store *store, char *block) {
	store->used -= BLOCK_SIZE;
	block_put_locked(store, block);
}

// ---- the file

static bool unit_in_use(const struct store *store, size_t unit) {
	return store->map[unit / 64] >> (unit % 64) & 1;
}

// Opens the file unless it is open. Returns 0, or -1 with errno.
static int file_ready(struct store *store) {
	mutex_lock(&store->lock);
	bool is_open = store->fd >= 0;
	mutex_unlock(&store->lock);
	if (is_open) {
		return 0;
	}
	int fd = tmpfile_open(store->dir);
	if (fd < 0) {
		return -1;
	}
	mutex_lock(&store->lock);
	if (store->fd < 0) {
		store->fd = fd;
		fd = -1;
	}
	mutex_unlock(&store->lock);
	fd_close(&fd); // another thread was first
	return 0;
}

// Takes up to `want` adjacent free units, the lowest there are. Returns the first, their number in *ret_n.
static size_t units_take(struct store *store, size_t want, size_t *ret_n) {
	mutex_lock(&store->lock);
	size_t word = store->first_free;
	while (word < store->map_words && store->map[word] == UINT64_MAX) {
		++word;
	}
	store->first_free = word;
	if (word == store->map_words) {
		size_t old = store->map_words;
		grow_array(&store->map, &store->map_words, old + 1, sizeof(store->map[0]));
		memset(store->map + old, 0, (store->map_words - old) * sizeof(store->map[0]));
	}
	size_t unit = word * 64 + (size_t)__builtin_ctzll(~store->map[word]);
	size_t n = 0;
	while (n < want && unit + n < store->map_words * 64 && !unit_in_use(store, unit + n)) {
		store->map[(unit + n) / 64] |= UINT64_C(1) << ((unit + n) % 64);
		++n;
	}
	store->units += n;
	if (store->units > store->units_peak) {
		store->units_peak = store->units;
	}
	mutex_unlock(&store->lock);
	*ret_n = n;
	return unit;
}

static void units_give(struct store *store, size_t unit, size_t n) {
	mutex_lock(&store->lock);
	bool punch = store->punch && store->units_peak > KEEP_UNITS;
	mutex_unlock(&store->lock);
	// before the units are free: afterwards somebody else's bytes may be there. What was never written to the disk need
	// not be written any more then
	bool refused = punch && file_punch(store->fd, (off_t)unit * UNIT_SIZE, (off_t)n * UNIT_SIZE) != 0 && errno != EINTR;
	mutex_lock(&store->lock);
	if (refused) {
		store->punch = false; // it is only that the file stays as large as it was
	}
	for (size_t i = unit; i < unit + n; ++i) {
		verify(unit_in_use(store, i));
		store->map[i / 64] &= ~(UINT64_C(1) << (i % 64));
	}
	if (unit / 64 < store->first_free) {
		store->first_free = unit / 64;
	}
	store->units -= n;
	mutex_unlock(&store->lock);
}

// Returns the bytes written; less than `len` with errno.
static size_t file_write(struct store *store, size_t at, const char *mem, size_t len) {
	return fault_fails("spool_write") ? 0 : pwrite_all(store->fd, mem, len, at);
}

// Returns 0, or -1 with errno: EIO also if the file is shorter than what was written.
static int file_read(struct store *store, size_t at, char *mem, size_t len) {
	return !fault_fails("spool_read") && pread_all(store->fd, mem, len, at) == len ? 0 : -1;
}

// ---- ropes

static struct piece *rope_push(struct rope *rope, struct piece piece) {
	struct piece *added = xmalloc(sizeof(*added));
	*added = piece;
	added->next = NULL;
	if (rope->last) {
		rope->last->next = added;
	} else {
		rope->first = added;
	}
	rope->last = added;
	rope->blocks += added->mem != NULL;
	return added;
}

static struct piece *rope_push_block(struct store *store, struct rope *rope, bool force) {
	mutex_lock(&store->lock);
	char *block = block_charge_locked(store, force);
	mutex_unlock(&store->lock);
	return block ? rope_push(rope, (struct piece){.mem = block, .cap = BLOCK_SIZE}) : NULL;
}

static struct piece *rope_push_run(struct store *store, struct rope *rope) {
	if (file_ready(store) != 0) {
		return NULL;
	}
	size_t n;
	size_t unit = units_take(store, rope->last ? RUN_UNITS : 1, &n);
	return rope_push(rope, (struct piece){.unit = unit, .nunits = n, .cap = n * UNIT_SIZE});
}

static size_t piece_add(struct store *store, struct piece *piece, const char *mem, size_t len) {
	size_t room = piece->cap - piece->len;
	size_t n = len < room ? len : room;
	if (piece->mem) {
		memcpy(piece->mem + piece->len, mem, n);
	} else {
		n = file_write(store, piece->unit * UNIT_SIZE + piece->len, mem, n);
	}
	piece->len += n;
	return n;
}

size_t rope_add(struct store *store, struct rope *rope, const char *mem, size_t len, bool force) {
	size_t done = 0;
	bool disk_fails = false;
	int error = 0;
	while (done < len) {
		struct piece *piece = rope->last;
		if (!piece || piece->len == piece->cap || (disk_fails && !piece->mem)) {
			piece = NULL;
			if (disk_fails || rope->blocks < ROPE_BLOCKS) {
				piece = rope_push_block(store, rope, force && disk_fails);
			}
			if (!piece && !disk_fails) {
				piece = rope_push_run(store, rope);
			}
		}
		size_t n = piece ? piece_add(store, piece, mem + done, len - done) : 0;
		done += n;
		rope->len += n;
		if (n == 0) {
			if (disk_fails) {
				errno = error;
				break;
			}
			disk_fails = true; // memory that was to be left to others is the last resort
			error = errno;
		}
	}
	return done;
}

void rope_skip_piece(struct store *store, struct rope *rope) {
	struct piece *piece = rope->first;
	rope->first = piece->next;
	if (!rope->first) {
		rope->last = NULL;
	}
	rope->len -= piece->len - piece->start;
	if (piece->mem) {
		--rope->blocks;
		mutex_lock(&store->lock);
		block_discharge_locked(store, piece->mem);
		mutex_unlock(&store->lock);
	} else {
		units_give(store, piece->unit, piece->nunits);
	}
	free(piece);
}

// Pops pieces that have no bytes (a failing disk leaves such behind). Returns true if there were any.
static bool rope_trim(struct store *store, struct rope *rope) {
	bool freed = false;
	while (rope->first && rope->first->start == rope->first->len) {
		rope_skip_piece(store, rope);
		freed = true;
	}
	return freed;
}

ssize_t rope_peek(struct store *store, struct rope *rope, char *scratch, const char **ret_mem) {
	rope_trim(store, rope);
	const struct piece *piece = rope->first;
	size_t n = piece->len - piece->start;
	if (piece->mem) {
		*ret_mem = piece->mem + piece->start;
		return (ssize_t)n;
	}
	if (n > BLOCK_SIZE) {
		n = BLOCK_SIZE;
	}
	if (file_read(store, piece->unit * UNIT_SIZE + piece->start, scratch, n) != 0) {
		return -1;
	}
	*ret_mem = scratch;
	return (ssize_t)n;
}

bool rope_drop(struct store *store, struct rope *rope, size_t n) {
	rope->first->start += n;
	rope->len -= n;
	return rope_trim(store, rope);
}

void rope_clear(struct store *store, struct rope *rope) {
	while (rope->first) {
		rope_skip_piece(store, rope);
	}
}

// Gives back what the last piece has no bytes in, of a run of the file.
static void rope_tighten(struct store *store, struct rope *rope) {
	struct piece *last = rope->last;
	size_t n = last->len > 0 ? (last->len + UNIT_SIZE - 1) / UNIT_SIZE : 1;
	if (!last->mem && n < last->nunits) {
		units_give(store, last->unit + n, last->nunits - n);
		last->nunits = n;
		last->cap = n * UNIT_SIZE;
	}
}

void rope_join(struct store *store, struct rope *to, struct rope *from) {
	if (from->first && to->last) {
		rope_tighten(store, to);
		to->last->next = from->first;
		to->last = from->last;
		to->len += from->len;
		to->blocks += from->blocks;
	} else if (from->first) {
		*to = *from;
	}
	*from = (struct rope){.len = 0};
}

void rope_cut(struct store *store, struct rope *rope, uint64_t len) {
	struct rope rest = *rope;
	struct rope kept = {NULL, NULL, 0, 0};
	while (kept.len < len) {
		struct piece *piece = rest.first;
		uint64_t n = piece->len - piece->start;
		if (n > len - kept.len) {
			n = len - kept.len;
			piece->len = piece->start + (size_t)n;
		}
		rest.first = piece->next;
		rest.blocks -= piece->mem != NULL;
		kept.blocks += piece->mem != NULL;
		kept.first = kept.first ? kept.first : piece;
		kept.last = piece;
		kept.len += n;
	}
	rope_clear(store, &rest);
	if (kept.last) {
		kept.last->next = NULL;
	}
	*rope = kept;
}

void rope_tail(struct store *store, const struct rope *rope, size_t n, struct buf *buf) {
	uint64_t skip = rope->len > n ? rope->len - n : 0;
	for (const struct piece *piece = rope->first; piece; piece = piece->next) {
		size_t here = piece->len - piece->start;
		size_t from = skip < here ? (size_t)skip : here;
		size_t len = here - from;
		skip -= from;
		if (len > 0 && piece->mem) {
			buf_add(buf, piece->mem + piece->start + from, len);
		} else if (len > 0) {
			char *to = buf_reserve(buf, len);
			bool is_read = file_read(store, piece->unit * UNIT_SIZE + piece->start + from, to, len) == 0;
			buf->len += is_read ? len : 0;
			to[is_read ? len : 0] = '\0';
		}
	}
}

// ---- packs

// What stands in front of a record's bytes.
struct record_head {
	uint32_t tag_len;
	uint32_t len[2];
	uint32_t receipt_len;
};

static size_t record_size(const struct output_record *record) {
	return sizeof(struct record_head) + record->tag_len + record->len[0] + record->len[1] + record->receipt_len;
}

bool record_fits(const struct output_record *record) {
	return record->tag_len <= PACK_MAX && record->len[0] <= PACK_MAX && record->len[1] <= PACK_MAX &&
	       record->receipt_len <= PACK_MAX && record_size(record) <= PACK_MAX;
}

static struct record_pack *pack_create_locked(struct store *store, char *block) {
	struct record_pack *pack = NEW(struct record_pack);
	list_init(&pack->sealed);
	pack->mem = block;
	if (store->nfree_ids > 0) {
		pack->id = store->free_ids[--store->nfree_ids];
	} else {
		pack->id = store->npacks++;
		grow_array(&store->packs, &store->packs_cap, store->npacks, sizeof(store->packs[0]));
		// so that giving an id back needs no memory
		grow_array(&store->free_ids, &store->free_ids_cap, store->npacks, sizeof(store->free_ids[0]));
	}
	store->packs[pack->id] = pack;
	return pack;
}

// Frees a pack that is empty and complete. Called with the lock held, returns with it held; file space is given back
// without it.
static void pack_free_locked(struct store *store, struct record_pack *pack) {
	list_remove(&pack->sealed);
	store->packs[pack->id] = NULL;
	store->free_ids[store->nfree_ids++] = pack->id;
	if (pack->mem) {
		block_discharge_locked(store, pack->mem);
	} else {
		mutex_unlock(&store->lock);
		units_give(store, pack->unit, 1);
		mutex_lock(&store->lock);
	}
	free(pack);
}

// Moves a full pack to the file and leaves its memory to others. Lock as above. Returns 0, or -1 with errno and nothing
// changed.
static int pack_move_locked(struct store *store, struct record_pack *pack) {
	list_remove(&pack->sealed);
	pack->moving = true;
	mutex_unlock(&store->lock);
	size_t unit = 0, n = 0, done = 0;
	if (file_ready(store) == 0) {
		unit = units_take(store, 1, &n);
		done = file_write(store, unit * UNIT_SIZE, pack->mem, pack->used);
	}
	int error = errno;
	if (done < pack->used && n > 0) {
		units_give(store, unit, 1);
	}
	mutex_lock(&store->lock);
	pack->moving = false;
	bool ok = done == pack->used;
	if (ok) {
		block_discharge_locked(store, pack->mem);
		pack->mem = NULL;
		pack->unit = unit;
	} else {
		list_push_front(&store->sealed, &pack->sealed);
	}
	if (pack->live == 0) { // taken meanwhile
		pack_free_locked(store, pack);
		ok = true;
	}
	errno = error;
	return ok ? 0 : -1;
}

static int pack_make_room_locked(struct store *store, size_t need) {
	while (!store->open || BLOCK_SIZE - store->open->used < need) {
		if (store->open) {
			struct record_pack *full = store->open;
			store->open = NULL;
			list_push_front(&store->sealed, &full->sealed);
			if (full->live == 0) {
				pack_free_locked(store, full);
				continue;
			}
		}
		if (store->used + BLOCK_SIZE > store->bound && !list_is_empty(&store->sealed)) {
			// the newest is needed last
			struct record_pack *newest = list_entry(store->sealed.next, struct record_pack, sealed);
			if (pack_move_locked(store, newest) != 0) {
				return -1;
			}
			continue;
		}
		store->open = pack_create_locked(store, block_charge_locked(store, /* force */ true));
	}
	return 0;
}

uint64_t pack_add(struct store *store, const struct output_record *record) {
	size_t size = record_size(record);
	mutex_lock(&store->lock);
	if (pack_make_room_locked(store, size) != 0) {
		mutex_unlock(&store->lock);
		return 0;
	}
	struct record_pack *pack = store->open;
	uint64_t ref = (uint64_t)pack->id << 18 | (uint64_t)pack->used << 2 | PACK_REF; // as pack_take() takes it apart
	struct record_head head = {
		.tag_len = (uint32_t)record->tag_len,
		.len = {(uint32_t)record->len[0], (uint32_t)record->len[1]},
		.receipt_len = (uint32_t)record->receipt_len,
	};
	char *to = pack->mem + pack->used;
	memcpy(to, &head, sizeof(head));
	to += sizeof(head);
	const char *from[] = {record->tag, record->data[0], record->data[1], record->receipt};
	size_t len[] = {record->tag_len, record->len[0], record->len[1], record->receipt_len};
	for (int i = 0; i < 4; ++i) {
		if (len[i] > 0) {
			memcpy(to, from[i], len[i]);
			to += len[i];
		}
	}
	pack->used += size;
	++pack->live;
	mutex_unlock(&store->lock);
	return ref;
}

// Copies the record at `from` to `buf`, where *ret_record then points.
static void record_copy(const char *from, char *buf, struct output_record *ret_record) {
	struct record_head head;
	memcpy(&head, from, sizeof(head));
	from += sizeof(head);
	size_t data = head.tag_len, receipt = data + head.len[0] + head.len[1];
	*ret_record = (struct output_record){
		.tag = buf, .tag_len = head.tag_len,
		.data = {buf + data, buf + data + head.len[0]}, .len = {head.len[0], head.len[1]},
		.receipt = buf + receipt, .receipt_len = head.receipt_len,
	};
	memcpy(buf, from, receipt + head.receipt_len);
}

// Reads the pack into the cache. Only the thread that takes calls this, and only it can end the pack's life meanwhile.
static int pack_load(struct store *store, const struct record_pack *pack) {
	if (store->cached == pack->id + 1) {
		return 0;
	}
	if (!store->cache) {
		store->cache = xmalloc(BLOCK_SIZE);
	}
	store->cached = 0;
	if (file_read(store, pack->unit * UNIT_SIZE, store->cache, pack->used) != 0) {
		return -1;
	}
	store->cached = pack->id + 1;
	return 0;
}

int pack_take(struct store *store, uint64_t ref, char *buf, struct output_record *ret_record) {
	size_t offset = ref >> 2 & (BLOCK_SIZE - 1);
	int result = 0;
	mutex_lock(&store->lock);
	struct record_pack *pack = store->packs[ref >> 18];
	if (pack->mem) {
		record_copy(pack->mem + offset, buf, ret_record);
	} else {
		mutex_unlock(&store->lock);
		result = pack_load(store, pack);
		if (result == 0) {
			record_copy(store->cache + offset, buf, ret_record);
		}
		mutex_lock(&store->lock);
	}
	int error = errno;
	if (--pack->live == 0 && pack != store->open && !pack->moving) {
		if (store->cached == pack->id + 1) {
			store->cached = 0; // the id will name another pack
		}
		pack_free_locked(store, pack);
	} else if (pack->live == 0 && pack == store->open) {
		pack->used = 0; // all of it is free again
	}
	mutex_unlock(&store->lock);
	errno = error;
	return result;
}
