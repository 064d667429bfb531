// Memory that the holder of leases and the slot server share: for each lease that is used for one job after another a word with
// the nonce of the job that runs on it, and whether the lease is lent to a process below that job.
//
// The holder goes on to another job with word_next_job(), the server lends with word_lend(). Both compare and swap, so one
// of two comes first: a lease that is lent gets no other job, and a process that a job has left behind is lent nothing once
// the next job has begun. Neither side has to be woken, or asked.
//
// States of a word: 0 -word_set-> NONCE -word_next_job-> another NONCE
//                   NONCE -word_lend-> LENT -word_set, for another lease-> NONCE

#pragma once

#include "base/atomic.h"
#include "base/attr.h"

#include <stdbool.h>
#include <stdint.h>

typedef atomic_uint_least64_t lease_word;

#define WORD_LENT (UINT64_C(1) << 63)
#define WORD_NONCE (~WORD_LENT) // the bits of a nonce

// Words [0] to [n - 1]; n 0: there are none.
struct words {
	lease_word *word;
	unsigned n;
};

// For the holder: makes `n` words that are 0. Returns a descriptor for the server, which the caller closes, or -1 if there is no
// memory, or 64 bits are not atomic here.
int words_create(struct words *words, unsigned n) FP_NODISCARD;

// For the server: maps at most `most` words of the descriptor, which may be closed then. It maps none if the holder could take
// them away again.
void words_open(struct words *words, int fd, unsigned most);

void words_fini(struct words *words);

// The holder: the lease of this word is used for the job of that nonce, the first one.
void word_set(lease_word *word, uint64_t nonce);

// The holder: the job of nonce `from` has ended, that of `to` is about to start. False: it must not, the lease is lent.
bool word_next_job(lease_word *word, uint64_t from, uint64_t to) FP_NODISCARD;

// The server: the nonce of the job that runs now.
uint64_t word_nonce(const lease_word *word);

// The server: lends the lease to what runs below the job of that nonce. False: another job runs there by now.
bool word_lend(lease_word *word, uint64_t nonce) FP_NODISCARD;
