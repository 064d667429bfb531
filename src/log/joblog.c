// The rows of the joblog (--joblog): GNU parallel's nine columns, one row for each job that has ended.

#include "log/joblog.h"

#include "base/alloc.h"
#include "base/sync.h"

int joblog_exitval(const struct result *result) {
	return result->outcome == OUTCOME_TIMEOUT ? -1 : result->term_signal > 0 ? 0 : result->exit_code;
}

double joblog_wall_seconds(uint64_t at) {
	return (double)(clock_now(CLOCK_REALTIME) - (now_ns() - at)) / 1e9;
}

double joblog_runtime(const struct joblog_row *row) {
	uint64_t end = row->result->end;
	return end > row->start ? (double)(end - row->start) / 1e9 : 0;
}

void joblog_add_numbers(struct buf *buf, const struct joblog_row *row, char separator, int runtime_width) {
	const char s = separator;
	buf_printf(buf, "%llu%c%s%c%.3f%c%*.3f%c%llu%c%llu%c%d%c%d%c", ull(row->seq), s, row->host ? row->host : ":", s, joblog_wall_seconds(row->start), s,
	           runtime_width, joblog_runtime(row), s, ull(row->sent), s, ull(row->received), s,
	           joblog_exitval(row->result), s, row->result->term_signal, s);
}

void joblog_format(const struct joblog_row *row, struct buf *buf) {
	joblog_add_numbers(buf, row, '\t', 10);
	size_t from = buf->len;
	buf_add(buf, row->command, row->command_len);
	for (char *at = buf->data + from; (at = memchr(at, '\n', (size_t)(buf->data + buf->len - at)));) {
		*at = '\0';
	}
	buf_addc(buf, '\n');
}
