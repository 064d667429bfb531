// Tells from the joblog of an earlier run which jobs it has done: for --resume, --resume-failed and --retry-failed.
//
// One entry of 24 bytes for each row, sorted by a hash of the command, then by number. Rows that were used up are
// stepped over by links that are shortened as they are followed, so a million rows of the same command cost no more
// than a million different ones.

#include "log/resume.h"

#include "base/alloc.h"
#include "base/io.h"
#include "base/random.h"
#include "base/units.h"
#include "log/joblog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	SEQ_MAX = 1 << 28,       // above it numbers are taken for garbage where they would cost memory
};

struct resume_row {
	uint64_t hash;           // of the command
	uint64_t seq;
	uint32_t next;           // first the row's place in the log, then the first row from here on that is free
	bool failed;
};

struct resume {
	struct resume_row *rows;
	size_t n, cap;
	uint64_t key[2];
	uint64_t *seqs;          // bit set: numbers that have a row
	size_t nseqs;            // words of it
	uint64_t last;           // the greatest number that has a row
	bool ok_only;
	bool moved;              // the input is not what it was
	struct logged_jobs *failures; // where each row that failed is listed, or NULL; the caller's
};

struct resume *resume_create(void) {
	struct resume *resume = NEW(struct resume);
	random_bytes(resume->key, sizeof(resume->key));
	return resume;
}

void resume_free(struct resume *resume) {
	if (resume) {
		free(resume->rows);
		free(resume->seqs);
		free(resume);
	}
}

// ---- the hash: SipHash-2-4 (Aumasson and Bernstein, 2012), so that no input can be made to collide ----

static uint64_t rotate(uint64_t x, unsigned by) {
	return x << by | x >> (64 - by);
}

static void sip_round(uint64_t v[4]) {
	v[0] += v[1];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[0] = rotate(v[0], 32);
	v[2] += v[3];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[2] = rotate(v[2], 32);
}

static void sip_word(uint64_t v[4], uint64_t word) {
	v[3] ^= word;
	sip_round(v);
	sip_round(v);
	v[0] ^= word;
}

static uint64_t load_bytes(const unsigned char *at, size_t n) {
	uint64_t word = 0;
	for (size_t i = 0; i < n; ++i) {
		word |= (uint64_t)at[i] << (8 * i);
	}
	return word;
}

// A newline counts as the NUL that the log has in its place.
static uint64_t hash_command(const struct resume *resume, const char *command, size_t len) {
	uint64_t v[4] = {
		resume->key[0] ^ UINT64_C(0x736f6d6570736575), resume->key[1] ^ UINT64_C(0x646f72616e646f6d),
		resume->key[0] ^ UINT64_C(0x6c7967656e657261), resume->key[1] ^ UINT64_C(0x7465646279746573),
	};
	unsigned char piece[8];
	for (size_t at = 0, n; at <= len; at += 8) {
		n = len - at < 8 ? len - at : 8;
		for (size_t i = 0; i < n; ++i) {
			piece[i] = command[at + i] == '\n' ? '\0' : (unsigned char)command[at + i];
		}
		sip_word(v, load_bytes(piece, n) | (n < 8 ? (uint64_t)len << 56 : 0));
	}
	v[2] ^= 0xff;
	for (int i = 0; i < 4; ++i) {
		sip_round(v);
	}
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

// ---- one line ----

struct parsed {
	uint64_t seq;
	bool failed;
	const char *command;
	size_t len;
};

// Takes a column that ends with a tab and holds only these characters, blanks in front. Returns its start, or NULL.
static const char *take_column(const char **at, const char *end, const char *allowed) {
	const char *start = *at;
	const char *tab = memchr(start, '\t', (size_t)(end - start));
	if (!tab) {
		return NULL;
	}
	while (*start == ' ') {
		++start;
	}
	if (start == tab || (allowed && strspn(start, allowed) != (size_t)(tab - start))) {
		return NULL;
	}
	*at = tab + 1;
	return start;
}

// The line has a tab or NUL behind its end, which nothing here runs over.
static bool parse_row(const char *line, size_t len, struct parsed *ret_row) {
	const char *at = line, *end = line + len, *column[8];
	static const char *const allowed[8] = {
		"0123456789", NULL, "0123456789.", "0123456789.", "0123456789-", "0123456789-", "0123456789-", "0123456789",
	};
	for (int i = 0; i < 8; ++i) {
		if (!(column[i] = take_column(&at, end, allowed[i]))) {
			return false;
		}
	}
	size_t cut = strlen(JOBLOG_CUT);
	if (line[0] == ' ' || (size_t)(end - line) < cut || memcmp(end - cut, JOBLOG_CUT, cut) == 0) {
		return false;
	}
	errno = 0;
	*ret_row = (struct parsed){
		.seq = strtoull(column[0], NULL, 10),
		.failed = strtol(column[6], NULL, 10) != 0 || strtol(column[7], NULL, 10) != 0,
		.command = at,
		.len = (size_t)(end - at),
	};
	return errno == 0 && ret_row->seq > 0;
}

static char *command_of(const struct parsed *row) {
	char *command = xmemdup(row->command, row->len);
	for (size_t i = 0; i < row->len; ++i) {
		command[i] = command[i] == '\0' ? '\n' : command[i];
	}
	return command;
}

static void add_row(struct resume *resume, const struct parsed *parsed) {
	grow_array(&resume->rows, &resume->cap, resume->n + 1, sizeof(resume->rows[0]));
	resume->rows[resume->n] = (struct resume_row){
		.hash = hash_command(resume, parsed->command, parsed->len),
		.seq = parsed->seq,
		.next = (uint32_t)resume->n,
		.failed = parsed->failed,
	};
	++resume->n;
	struct logged_jobs *failures = resume->failures;
	if (failures && parsed->failed) {
		grow_array(&failures->jobs, &failures->cap, failures->n + 1, sizeof(failures->jobs[0]));
		failures->jobs[failures->n++] = (struct logged_job){.seq = parsed->seq, .command = command_of(parsed)};
	}
}

bool resume_add(struct resume *resume, const char *line, size_t len) {
	struct parsed parsed;
	if (resume->n >= UINT32_MAX - 1 || !parse_row(line, len, &parsed)) {
		return false;
	}
	add_row(resume, &parsed);
	return true;
}

// ---- a file ----

struct joblog_reader {
	FILE *file;
	char *line;
	size_t cap;
	uint64_t rows, strange;
	bool has_header;
};

// Reads the next line and puts NUL in place of its newline. Returns 1, 0 at the end, or -1 with errno. A line that was cut off
// is the end.
static int next_line(struct joblog_reader *reader, size_t *ret_len) {
	errno = 0;
	ssize_t n = getline(&reader->line, &reader->cap, reader->file);
	if (n > 0 && reader->line[n - 1] == '\n') {
		reader->line[n - 1] = '\0';
		*ret_len = (size_t)n - 1;
		return 1;
	}
	return ferror(reader->file) || errno == ENOMEM ? -1 : 0;
}

// The next row. Returns as next_line().
static int next_row(struct joblog_reader *reader, struct parsed *ret_row) {
	size_t len;
	int got;
	while ((got = next_line(reader, &len)) > 0) {
		if (parse_row(reader->line, len, ret_row)) {
			++reader->rows;
			return 1;
		}
		if (len == strlen(JOBLOG_HEADER) - 1 && memcmp(reader->line, JOBLOG_HEADER, len) == 0) {
			reader->has_header = true;
		} else {
			++reader->strange;
		}
	}
	return got;
}

// Opens the log for next_row(). Returns 1, 0 if there is none, or -1 with *ret_error.
static int reader_open(struct joblog_reader *reader, const char *path, const char **ret_error) {
	struct stat stat;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	*reader = (struct joblog_reader){.line = NULL};
	if (fd < 0 && errno == ENOENT) {
		return 0;
	}
	if (fd < 0 || fstat(fd, &stat) != 0) {
		*ret_error = strerror(errno);
	} else if (!S_ISREG(stat.st_mode)) { // a pipe or a device remembers nothing
		*ret_error = "not a regular file, so it cannot say what was done";
	} else if (!(reader->file = fdopen(fd, "r"))) {
		*ret_error = strerror(errno);
	} else {
		return 1;
	}
	fd_close(&fd);
	return -1;
}

// Returns what resume_load() does; `got` is that of the last next_row().
static int reader_close(struct joblog_reader *reader, int got, uint64_t *ret_strange, const char **ret_error) {
	int result = got;
	if (got < 0) {
		*ret_error = strerror(errno);
	} else if (reader->strange > 0 && reader->rows == 0 && !reader->has_header) {
		*ret_error = "it is no joblog";
		result = -1;
	}
	*ret_strange = reader->strange;
	fclose(reader->file);
	free(reader->line);
	return result;
}

int resume_load(struct resume *resume, const char *path, uint64_t *ret_strange, const char **ret_error) {
	struct joblog_reader reader;
	struct parsed row;
	*ret_strange = 0;
	int got = reader_open(&reader, path, ret_error);
	if (got <= 0) {
		return got;
	}
	while (resume->n < UINT32_MAX - 1 && (got = next_row(&reader, &row)) > 0) {
		add_row(resume, &row);
	}
	return reader_close(&reader, got < 0 ? -1 : 0, ret_strange, ret_error);
}

// ---- the set ----

static int compare_rows(const void *a_row, const void *b_row) {
	const struct resume_row *a = a_row, *b = b_row;
	int by_hash = compare_numbers(a->hash, b->hash), by_seq = compare_numbers(a->seq, b->seq);
	return by_hash ? by_hash : by_seq ? by_seq : compare_numbers(a->next, b->next);
}

static void note_seq(struct resume *resume, uint64_t seq) {
	if (seq > SEQ_MAX) {
		return;
	}
	size_t word = (size_t)(seq / 64), had = resume->nseqs;
	if (word >= had) {
		grow_array(&resume->seqs, &resume->nseqs, word + 1, sizeof(resume->seqs[0]));
		memset(resume->seqs + had, 0, (resume->nseqs - had) * sizeof(resume->seqs[0]));
	}
	resume->seqs[word] |= UINT64_C(1) << (seq % 64);
}

static bool has_seq(const struct resume *resume, uint64_t seq) {
	return seq / 64 < resume->nseqs && (resume->seqs[seq / 64] >> (seq % 64) & 1);
}

void resume_prepare(struct resume *resume, bool ok_only) {
	size_t kept = 0;
	resume->ok_only = ok_only;
	if (resume->n > 0) {
		qsort(resume->rows, resume->n, sizeof(resume->rows[0]), compare_rows);
	}
	for (size_t i = 0; i < resume->n; ++i) {
		struct resume_row row = resume->rows[i];
		bool last = i + 1 == resume->n || resume->rows[i + 1].hash != row.hash || resume->rows[i + 1].seq != row.seq;
		note_seq(resume, row.seq);
		resume->last = row.seq > resume->last ? row.seq : resume->last;
		if (last) {
			row.next = (uint32_t)kept + (ok_only && row.failed); // as if used up
			resume->rows[kept++] = row;
		}
	}
	resume->n = kept;
}

// The first free row from `at` on.
static size_t find_free(struct resume *resume, size_t at) {
	while (at < resume->n && resume->rows[at].next != at) {
		size_t next = resume->rows[at].next;
		if (next < resume->n) {
			resume->rows[at].next = resume->rows[next].next; // halves the path (Tarjan and van Leeuwen, 1984)
		}
		at = next;
	}
	return at;
}

// The first row that is not before this hash and number.
static size_t find_row(const struct resume *resume, uint64_t hash, uint64_t seq) {
	size_t low = 0, high = resume->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct resume_row *row = &resume->rows[middle];
		if (row->hash < hash || (row->hash == hash && row->seq < seq)) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

static bool row_is(const struct resume *resume, size_t at, uint64_t hash, uint64_t seq) {
	return at < resume->n && resume->rows[at].hash == hash && resume->rows[at].seq == seq;
}

uint64_t resume_last(const struct resume *resume) {
	return resume->last;
}

enum resume_match resume_match(const struct resume *resume, uint64_t seq, const char *command, size_t len) {
	uint64_t hash = hash_command(resume, command, len);
	size_t at = find_row(resume, hash, seq);
	return !row_is(resume, at, hash, seq) ? RESUME_NO_ROW : resume->ok_only && resume->rows[at].failed ? RESUME_FAILED_ROW : RESUME_DONE_ROW;
}

bool resume_is_other(const struct resume *resume, uint64_t seq, const char *command, size_t len) {
	uint64_t hash = hash_command(resume, command, len);
	size_t at = find_row(resume, hash, 0);
	bool known = at < resume->n && resume->rows[at].hash == hash;
	return !known && (has_seq(resume, seq) || seq > resume->last);
}

bool resume_take(struct resume *resume, uint64_t seq, const char *command, size_t len) {
	uint64_t hash = hash_command(resume, command, len);
	size_t at = find_row(resume, hash, seq);
	bool same = row_is(resume, at, hash, seq);
	if (same && resume->ok_only && resume->rows[at].failed) {
		return false; // it is this job that failed: the row of another with the same command does not stand for it
	}
	if (same && resume->rows[at].next == at) {
		resume->rows[at].next = (uint32_t)at + 1;
		return true;
	}
	if (!same && has_seq(resume, seq)) {
		resume->moved = true;
	}
	at = find_free(resume, find_row(resume, hash, 0));
	if (at >= resume->n || resume->rows[at].hash != hash || (resume->rows[at].seq > seq && !resume->moved)) {
		return false;
	}
	resume->rows[at].next = (uint32_t)at + 1;
	return true;
}

// ---- the jobs that failed ----

// By number, then command; no two are equal.
static int compare_jobs(const void *a_job, const void *b_job) {
	const struct logged_job *a = a_job, *b = b_job;
	int by_seq = compare_numbers(a->seq, b->seq);
	return by_seq ? by_seq : strcmp(a->command, b->command);
}

int resume_load_failed(struct logged_jobs *ret_jobs, const char *path, uint64_t *ret_strange, const char **ret_error) {
	struct resume *done = resume_create();
	*ret_jobs = (struct logged_jobs){.n = 0};
	done->failures = ret_jobs;
	int result = resume_load(done, path, ret_strange, ret_error);
	resume_prepare(done, /* ok_only */ false);
	size_t listed = 0;
	for (size_t i = 0; i < ret_jobs->n; ++i) {
		struct logged_job job = ret_jobs->jobs[i];
		size_t at = find_row(done, hash_command(done, job.command, strlen(job.command)), job.seq);
		if (done->rows[at].failed && done->rows[at].next == at) { // by the same rules as --resume-failed
			done->rows[at].next = (uint32_t)at + 1; // listed
			ret_jobs->jobs[listed++] = job;
		} else {
			free(job.command);
		}
	}
	ret_jobs->n = listed;
	if (listed > 0) {
		qsort(ret_jobs->jobs, listed, sizeof(ret_jobs->jobs[0]), compare_jobs);
	}
	resume_free(done);
	return result;
}

void resume_free_jobs(struct logged_jobs *jobs) {
	for (size_t i = 0; i < jobs->n; ++i) {
		free(jobs->jobs[i].command);
	}
	free(jobs->jobs);
	*jobs = (struct logged_jobs){.n = 0};
}
