// Fuzz target: any bytes as a joblog, as --resume, --resume-failed and --retry-failed read it.
//
// A row is a row whether it is alone in the file or one of many; each stands for one job, which is then done; what
// failed is what has to be run again. Rows as fairpar writes them are always read back.

#include "base/alloc.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/sync.h"
#include "log/joblog.h"
#include "log/resume.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int file;
static char path[64];

static void put(const void *bytes, size_t size) {
	verify(ftruncate(file, 0) == 0 && pwrite(file, bytes, size, 0) == (ssize_t)size);
}

// The command of the row, `len` bytes in all, with the newlines that are NULs in it.
static char *command_of_row(char *line, size_t len) {
	char *command = line;
	for (int tabs = 0; tabs < 8; ++command) {
		tabs += *command == '\t';
	}
	for (char *at = command; at < line + len; ++at) {
		*at = *at == '\0' ? '\n' : *at;
	}
	return command;
}

static bool take(struct resume *resume, uint64_t seq, const char *command) {
	return resume_ask(resume, seq, command, command) == RESUME_DONE;
}

// Counts the rows among the lines, which end with a newline, and takes each from `resume`.
static uint64_t take_rows(const char *bytes, size_t size, struct resume *resume, uint64_t *ret_taken, uint64_t *ret_strange) {
	uint64_t rows = 0;
	bool has_header = false;
	*ret_taken = *ret_strange = 0;
	for (const char *at = bytes, *end; (end = memchr(at, '\n', (size_t)(bytes + size - at))); at = end + 1) {
		char *line = xmemdup(at, (size_t)(end - at));
		bool is_header = (size_t)(end - at) == strlen(JOBLOG_HEADER) - 1 && memcmp(line, JOBLOG_HEADER, (size_t)(end - at)) == 0;
		uint64_t strange;
		const char *error;
		FP_CLEANUP(buf_fini) struct buf log = BUF_INIT;
		buf_adds(&log, JOBLOG_HEADER);
		buf_add(&log, at, (size_t)(end + 1 - at));
		put(log.data, log.len);
		struct resume *alone = resume_load(path, false, &strange, &error);
		if (strange == 0 && !is_header) {
			const char *command = command_of_row(line, (size_t)(end - at));
			uint64_t seq = strtoull(line, NULL, 10);
			verify(take(alone, seq, command) && !take(alone, seq, command));
			*ret_taken += take(resume, seq, command);
			++rows;
		} else {
			has_header |= is_header;
			*ret_strange += !is_header;
		}
		resume_free(alone);
		free(line);
	}
	return rows > 0 || has_header ? rows : UINT64_MAX;
}

static void check_any(const char *bytes, size_t size) {
	size_t nfailed;
	uint64_t *seqs, strange = 0, strange_too = 0, taken, expected_strange;
	const char *error = NULL;
	put(bytes, size);
	struct resume *resume = resume_load(path, false, &strange, &error), *ok = resume_load(path, true, &strange_too, &error);
	uint64_t rows = take_rows(bytes, size, resume, &taken, &expected_strange);
	verify(strange == expected_strange);
	verify(!resume == (rows == UINT64_MAX && strange > 0) && !ok == !resume && (resume || error));
	verify(rows == UINT64_MAX ? taken == 0 : (taken > 0) == (rows > 0));
	if (!ok) {
		return;
	}
	char **commands = resume_failed(ok, &seqs, &nfailed);
	for (size_t i = 0; i < nfailed; ++i) {
		verify(i == 0 || seqs[i] >= seqs[i - 1]);
		verify(resume_ask(ok, seqs[i], commands[i], commands[i]) == RESUME_RUN);
	}
	verify(nfailed <= taken);
	free(commands);
	free(seqs);
	resume_free(resume);
	resume_free(ok);
}

// The lines of the data as commands of an earlier run, the first byte of each saying how it ended.
static void check_written(const char *bytes, size_t size) {
	struct buf log = BUF_INIT;
	uint64_t seq = 0, nfailed = 0, strange;
	const char *error;
	buf_adds(&log, JOBLOG_HEADER);
	for (const char *at = bytes, *end; (end = memchr(at, '\1', (size_t)(bytes + size - at))); at = end + 1) {
		struct result result = {.outcome = OUTCOME_OK, .start = 1, .end = 2};
		bool fails = end > at && (*at & 3) == 3;
		result.outcome = fails ? (*at & 4 ? OUTCOME_TIMEOUT : OUTCOME_FAILED) : OUTCOME_OK;
		result.exit_code = fails ? 1 + (*at & 8) : 0;
		nfailed += fails;
		joblog_format(&(struct joblog_row){.seq = ++seq, .result = &result, .start = now_ns(), .command = at, .command_len = (size_t)(end - at)},
		              &log);
	}
	put(log.data, log.len);
	struct resume *resume = resume_load(path, true, &strange, &error);
	verify(resume);
	uint64_t number = 0, done = 0, cut = 0;
	for (const char *at = bytes, *end; (end = memchr(at, '\1', (size_t)(bytes + size - at))); at = end + 1) {
		static const char mark[] = JOBLOG_CUT; // whose tab may be the one in front of the command
		size_t len = (size_t)(end - at), n = sizeof(mark) - 1;
		bool looks_cut = (len >= n && memcmp(end - n, mark, n) == 0) || (len == n - 1 && memcmp(at, &mark[1], len) == 0);
		cut += looks_cut;
		char *command = xmemdup(at, len);
		for (size_t i = 0; i < len; ++i) {
			command[i] = command[i] == '\0' ? '\n' : command[i];
		}
		bool taken = take(resume, ++number, command);
		free(command);
		verify(taken == !(len > 0 && (*at & 3) == 3) || looks_cut);
		done += taken;
	}
	verify(cut > 0 || (strange == 0 && done + nfailed == seq));
	resume_free(resume);
	buf_fini(&log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	if (size > 20000) {
		return 0;
	}
	if (!path[0]) {
		file = memfd_create("joblog", MFD_CLOEXEC);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	}
	check_any((const char *)data, size);
	check_written((const char *)data, size);
	return 0;
}
