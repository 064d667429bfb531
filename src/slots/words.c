// The words of leases: memory that their holder and the slot server share.

#include "slots/words.h"

#include "base/fault.h"
#include "base/io.h"
#include "base/temp_file.h"

#include <sys/mman.h>

int words_create(struct words *words, unsigned n) {
	size_t size = n * sizeof(*words->word);
	bool can = ATOMIC_LLONG_LOCK_FREE == 2 && !fault_errno("words");
	int fd = can ? shared_memory_create("fairpar-leases", size) : -1;
	*words = (struct words){.word = fd >= 0 ? shared_memory_map(fd, size) : NULL, .n = n};
	if (!words->word) {
		words->n = 0;
		fd_close(&fd);
	}
	return fd;
}

void words_open(struct words *words, int fd, unsigned most) {
	size_t n = shared_memory_size(fd) / sizeof(*words->word);
	*words = (struct words){.n = n < most ? (unsigned)n : most};
	words->word = words->n > 0 ? shared_memory_map(fd, words->n * sizeof(*words->word)) : NULL;
	words->n = words->word ? words->n : 0;
}

void words_fini(struct words *words) {
	if (words->n > 0) {
		munmap(words->word, words->n * sizeof(*words->word));
	}
	*words = (struct words){0};
}

// All of them in one order (seq_cst): the other process does the same to the same word.

void word_set(lease_word *word, uint64_t nonce) {
	atomic_store(word, nonce);
}

bool word_next_job(lease_word *word, uint64_t from, uint64_t to) {
	return atomic_compare_exchange_strong(word, &from, to);
}

uint64_t word_nonce(const lease_word *word) {
	return atomic_load(word) & WORD_NONCE;
}

bool word_lend(lease_word *word, uint64_t nonce) {
	uint64_t found = nonce;
	return atomic_compare_exchange_strong(word, &found, nonce | WORD_LENT) || found == (nonce | WORD_LENT);
}
