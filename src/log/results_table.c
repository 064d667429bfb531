// The rows of --results FILE.csv, .tsv and .json: a job with its arguments and its output, as GNU parallel writes them.

#include "log/joblog.h"

#include "base/alloc.h"

// Adds a string, escaped as by GNU parallel. RFC 8259 §8.1 wants UTF-8: other bytes become U+FFFD.
static void add_json(struct buf *buf, const char *mem, size_t len) {
	buf_addc(buf, '"');
	for (size_t i = 0, n; i < len; i += n) {
		unsigned char c = (unsigned char)mem[i];
		n = utf8_length(mem + i, len - i);
		if (n == 0) {
			buf_adds(buf, "\xef\xbf\xbd");
			n = 1;
		} else if (c < ' ') {
			buf_printf(buf, "\\u%04x", c);
		} else {
			buf_adds(buf, c == '"' || c == '\\' ? "\\" : "");
			buf_add(buf, mem + i, n);
		}
	}
	buf_addc(buf, '"');
}

// Adds a field, in quotes if it holds a blank, a quote, NUL or the separator.
static void add_field(struct buf *buf, char separator, const char *mem, size_t len) {
	bool quoted = false;
	for (size_t i = 0; i < len && !quoted; ++i) {
		quoted = mem[i] == separator || mem[i] == '"' || mem[i] == '\0' || mem[i] == ' ' || (mem[i] >= '\t' && mem[i] <= '\r');
	}
	if (!quoted) {
		buf_add(buf, mem, len);
		return;
	}
	buf_addc(buf, '"');
	for (size_t i = 0; i < len; ++i) {
		if (mem[i] == '"') {
			buf_addc(buf, '"');
		}
		buf_addc(buf, mem[i]);
	}
	buf_addc(buf, '"');
}

void table_add_header(struct buf *buf, enum table_kind kind, uint32_t ncolumns, char *const *names, size_t nnames) {
	char separator = kind == TABLE_CSV ? ',' : '\t';
	if (kind == TABLE_JSON) {
		return;
	}
	for (const char *at = JOBLOG_HEADER; *at; ++at) {
		buf_addc(buf, *at == '\t' || *at == '\n' ? separator : *at);
	}
	for (uint32_t i = 0; i < ncolumns; ++i) {
		if (i < nnames) {
			add_field(buf, separator, names[i], strlen(names[i]));
		} else {
			buf_printf(buf, "V%u", i + 1);
		}
		buf_addc(buf, separator);
	}
	buf_printf(buf, "Stdout%cStderr\n", separator);
}

// Adds the output, with the tag at the start of each line; a carriage return ends a line, too.
static void add_tagged(struct buf *buf, const struct table_row *row, int stream) {
	const struct buf *output = row->output[stream];
	if (!row->tag) {
		buf_add(buf, buf_str(output), output->len);
		return;
	}
	bool at_start = true;
	for (size_t i = 0; i < output->len; ++i) {
		if (at_start) {
			buf_add(buf, row->tag, row->tag_len);
		}
		buf_addc(buf, output->data[i]);
		at_start = output->data[i] == '\n' || output->data[i] == '\r';
	}
}

static void add_output(struct buf *buf, enum table_kind kind, const struct table_row *row, int stream) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	add_tagged(&text, row, stream);
	if (kind == TABLE_JSON) {
		add_json(buf, buf_str(&text), text.len);
	} else {
		add_field(buf, kind == TABLE_CSV ? ',' : '\t', buf_str(&text), text.len);
	}
}

static void add_json_row(struct buf *buf, const struct table_row *row) {
	const struct joblog_row *log = &row->log;
	buf_printf(buf, "{ \"Seq\": %llu, \"Host\": ", ull(log->seq));
	add_json(buf, log->host ? log->host : ":", log->host ? strlen(log->host) : 1);
	buf_printf(buf, ", \"Starttime\": %.3f, \"JobRuntime\": %.3f, \"Send\": %llu, \"Receive\": %llu, "
	           "\"Exitval\": %d, \"Signal\": %d, \"Command\": ", joblog_wall_seconds(log->start),
	           joblog_runtime(log), ull(log->sent), ull(log->received),
	           joblog_exitval(log->result), log->result->term_signal);
	add_json(buf, log->command, log->command_len);
	buf_adds(buf, ", \"V\": [ ");
	const char *at = row->args;
	for (uint32_t i = 0; i < row->nargs; ++i, at += strlen(at) + 1) {
		buf_adds(buf, i > 0 ? "," : "");
		add_json(buf, at, strlen(at));
	}
	buf_adds(buf, " ], \"Stdout\": ");
	add_output(buf, TABLE_JSON, row, 0);
	buf_adds(buf, ", \"Stderr\": ");
	add_output(buf, TABLE_JSON, row, 1);
	buf_adds(buf, " }\n");
}

void table_add_row(struct buf *buf, enum table_kind kind, const struct table_row *row) {
	const struct joblog_row *log = &row->log;
	char separator = kind == TABLE_CSV ? ',' : '\t';
	if (kind == TABLE_JSON) {
		add_json_row(buf, row);
		return;
	}
	FP_CLEANUP(buf_fini) struct buf host = BUF_INIT;
	struct joblog_row numbers = *log;
	if (log->host) { // a host's name may be a command with any bytes
		add_field(&host, separator, log->host, strlen(log->host));
		numbers.host = buf_str(&host);
	}
	joblog_add_numbers(buf, &numbers, separator, /* runtime_width */ 0);
	add_field(buf, separator, log->command, log->command_len);
	const char *at = row->args;
	for (uint32_t i = 0; i < row->nargs; ++i, at += strlen(at) + 1) {
		buf_addc(buf, separator);
		add_field(buf, separator, at, strlen(at));
	}
	for (int i = 0; i < 2; ++i) {
		buf_addc(buf, separator);
		add_output(buf, kind, row, i);
	}
	buf_addc(buf, '\n');
}
