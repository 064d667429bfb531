// The input of a batch: reads records from stdin, files and argument lists, combines records of several sources, splits records into columns.
//
// The states of an input, and what it reads in each:
//   HEADER -> LOADING      with --header, the first line of each source, which holds the names of its columns
//   LOADING -> STREAMING   every source but the first, to its end; the items are kept
//   STREAMING -> ENDED     the first source; each of its items is combined with every combination of the other sources' items
//   any -> ENDED           after an error
//
// A source and the sources linked to it are a group, which has as many items as its shortest source. The input gives the product of the
// groups, the last group varying fastest. With --link all sources are one group, as long as its longest source.

#include "input/input.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fault.h"
#include "base/io.h"
#include "base/random.h"
#include "base/text.h"
#include "input/columns.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

// Collects the lines of one record. Zeroed, it holds no line.
struct joint {
	struct buf text;
	bool is_open;      // `text` has lines of a record that goes on in the next line
};

// A source being read: lines of a descriptor, or arguments.
struct lines {
	const struct source_config *config; // borrowed
	const struct input_config *rules;   // borrowed: the delimiter, and which lines are skipped, continue in the next line, or end the source
	int fd;            // the descriptor that is read; -1 for arguments, and after lines_close()
	bool polls;        // reading may block: poll first
	size_t next_arg;   // the index of the next argument, if the source is FROM_ARGS
	bool has_rules;    // some lines may be skipped, continue in the next line, or end the source
	bool skip_first;   // the next line is left out
	size_t most;       // several lines are returned as one record of at most this many bytes; 0: each line is a record
	struct joint csv;  // --csv: the lines of a record with a line end inside quotes
	struct line_buffer buffer;
};

// Records that are kept in memory: to be counted, shuffled, or combined with those of other sources. Zeroed, the list is empty.
struct record_list {
	struct buf bytes;    // the arguments of all records
	struct listed_record { size_t offset, size; uint32_t nargs; const char *bad; } *records;
	size_t n, cap;
	size_t at;           // the index of the next record that is given out
};

struct source {
	struct lines lines;
	bool linked;         // the source's items are paired with the items of the source before it
	struct joint joint;  // -L: an item of several lines
	struct record_list kept; // the source's items, if they are needed for several records
	size_t at;           // the index of the source's item in the next record; unused for the first source
	size_t count;        // how many items the group has; set by load() in the first source of the group
};

struct input {
	enum { HEADER, LOADING, STREAMING, ENDED } state;
	struct source *sources;
	size_t n;
	size_t current;      // HEADER, LOADING: the source that is read
	struct input_config config;
	struct splitter splitter;
	bool splits;         // an item may be split into several arguments, or trimmed
	bool is_read;        // all of the input is in `all` (input_read_all())
	struct record_list all;
	struct buf scratch;  // memory for split columns
	struct buf record;   // the record that combine() puts together; HEADER: the names of the columns
	struct buf error;    // why the input cannot be opened or read
	uint32_t nnames;     // HEADER: how many names are in `record`
	size_t ntaken;       // STREAMING: how many items the first source has given so far
	struct record first; // the current item of the first source
	const char *first_bad; // why `first` cannot be an item, or NULL
	bool combining;      // `first` has combinations that were not returned yet
};

// ---- records that are kept ----

static void record_list_fini(struct record_list *list) {
	buf_fini(&list->bytes);
	free(list->records);
}

// Adds a copy of the record. `bad` says why it cannot be an item (static text, kept as it is), or is NULL.
static void record_list_add(struct record_list *list, const struct record *record, const char *bad) {
	*NEW_ELEMENT(list->records, list->n, list->cap) = (struct listed_record){list->bytes.len, record->size, record->nargs, bad};
	buf_add(&list->bytes, record->args, record->size);
}

// Sets *ret_record to record number `i`, borrowed until the next record_list_add(). Returns why it cannot be an item, or NULL.
static const char *record_list_get(const struct record_list *list, size_t i, struct record *ret_record) {
	const struct listed_record *record = &list->records[i];
	*ret_record = (struct record){buf_str(&list->bytes) + record->offset, record->size, record->nargs};
	return record->bad;
}

// ---- the records of one source, one after the other: lines of a descriptor, or arguments ----

// Closes the file, but not stdin, and frees the memory. The source is then at its end; closing it again is harmless.
static void lines_close(struct lines *lines) {
	if (lines->fd > STDIN_FILENO) {
		close(lines->fd);
	}
	lines->fd = -1;
	lines->next_arg = lines->config->nargs;
	line_buffer_fini(&lines->buffer);
	buf_fini(&lines->csv.text);
}

static void add_error(const struct lines *lines, const char *verb, int error, struct buf *message) {
	bool is_stdin = lines->config->kind == FROM_STDIN;
	const char *quote = is_stdin ? "" : "'";
	buf_printf(message, "cannot %s %s%s%s: %s", verb, quote, is_stdin ? "stdin" : text_shows(lines->config->path), quote, strerror(error));
}

// Opens a source of the input; `rules` is the config of the input, `is_first` says that the source is the first one. Both configs
// are borrowed up to lines_close(). Returns 0; or -1 with the message ("cannot open 'FILE': CAUSE") appended to `error`, and no
// file is open.
static int lines_open(struct lines *lines, const struct source_config *config, const struct input_config *rules, bool is_first,
               struct buf *error) {
	*lines = (struct lines){.config = config, .rules = rules, .fd = -1, .buffer = LINE_BUFFER_INIT(rules->delimiter)};
	lines->buffer.longer = rules->delimiter_text;
	lines->skip_first = rules->skip_first && is_first;
	lines->has_rules = lines->skip_first || rules->skip_blank || rules->csv || rules->end;
	if (config->kind == FROM_ARGS) {
		return 0;
	}
	// O_NONBLOCK opens a fifo even if it has no writer yet; the flags of stdin are not changed, since other processes may share it
	lines->fd = config->kind == FROM_STDIN ? STDIN_FILENO
	                                       : open(config->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	struct stat stat;
	if (lines->fd >= 0 && fstat(lines->fd, &stat) == 0) {
		if (!S_ISDIR(stat.st_mode)) {
			lines->polls = !S_ISREG(stat.st_mode) && !S_ISBLK(stat.st_mode);
			return 0;
		}
		errno = EISDIR;
	}
	add_error(lines, "open", errno, error);
	lines_close(lines);
	return -1;
}

// Reads more bytes of the source. Returns INPUT_RECORD if there were bytes, or the source is at its end; else INPUT_WAIT or INPUT_ERROR.
static enum input_status lines_fill(struct lines *lines, struct buf *error) {
	// if nobody has opened a fifo for writing yet, read() says end of file, but poll() waits (pipe(7), poll(2))
	if (lines->polls && poll(&(struct pollfd){.fd = lines->fd, .events = POLLIN}, 1, 0) <= 0) {
		return INPUT_WAIT;
	}
	if (!fault_fails("input") && line_buffer_read(&lines->buffer, lines->fd) >= 0) {
		return INPUT_RECORD;
	}
	if (errno == EAGAIN || errno == EWOULDBLOCK) {
		return INPUT_WAIT;
	}
	add_error(lines, "read", errno, error);
	return INPUT_ERROR;
}

static enum input_status next_line(struct lines *lines, struct line *ret_line, struct buf *error) {
	bool are_args = lines->config->kind == FROM_ARGS;
	if (are_args ? lines->next_arg == lines->config->nargs : lines->fd < 0) {
		return INPUT_END;
	}
	if (are_args) {
		char *text = lines->config->args[lines->next_arg++];
		*ret_line = (struct line){.text = text, .len = strlen(text)};
		return INPUT_RECORD;
	}
	while (!(lines->most > 0 ? line_buffer_next_lines(&lines->buffer, lines->most, ret_line)
	                         : line_buffer_next(&lines->buffer, ret_line))) {
		if (lines->buffer.ended) {
			return INPUT_END;
		}
		enum input_status status = lines_fill(lines, error);
		if (status != INPUT_RECORD) {
			return status;
		}
	}
	return INPUT_RECORD;
}

// Appends the line to the record, with `between` before it if it is not the first line; `goes_on` says that more lines follow. Returns true
// if the record is complete; *line is then the whole record.
static bool joint_add(struct joint *joint, struct line *line, const char *between, bool goes_on) {
	struct buf *text = &joint->text;
	if (!joint->is_open && !goes_on) {
		return true;
	}
	if (!joint->is_open) {
		buf_reset(text);
	} else {
		buf_adds(text, between);
	}
	buf_add(text, line->text, line->len);
	const char *bad = line->bad ? line->bad : text->len > LINE_BUFFER_MAX ? "the record is longer than 16 MiB" : NULL;
	*line = (struct line){.text = text->data, .len = text->len, .bad = bad};
	joint->is_open = goes_on && !bad;
	return !joint->is_open;
}

// If `status` is INPUT_END and a record is incomplete, returns INPUT_RECORD with this record as it is; else returns `status`.
static enum input_status joint_end(struct joint *joint, enum input_status status, struct line *ret_line) {
	if (status != INPUT_END || !joint->is_open) {
		return status;
	}
	joint->is_open = false;
	*ret_line = (struct line){.text = joint->text.data, .len = joint->text.len};
	return INPUT_RECORD;
}

// Reads the next CSV record, which may take several lines.
static enum input_status next_csv(struct lines *lines, struct line *ret_line, struct buf *error) {
	const char delimiter[] = {lines->buffer.delimiter, '\0'}, *between = lines->buffer.longer ? lines->buffer.longer : delimiter;
	enum input_status status;
	while ((status = next_line(lines, ret_line, error)) == INPUT_RECORD) {
		bool goes_on = csv_is_open(ret_line->text, ret_line->len, lines->rules->csv, lines->csv.is_open);
		if (joint_add(&lines->csv, ret_line, between, goes_on)) {
			return status;
		}
	}
	return joint_end(&lines->csv, status, ret_line);
}

// Reads the next record. Returns INPUT_RECORD with the record in *ret_line, borrowed until the next call: its text may be changed unless
// the source is FROM_ARGS; ret_line->bad says why it cannot be an item, or is NULL. Returns INPUT_WAIT if there are no bytes yet and
// reading would block; INPUT_END if there is no further record; INPUT_ERROR with the message ("cannot read 'FILE': CAUSE") appended to
// `error`.
static enum input_status lines_next(struct lines *lines, struct line *ret_line, struct buf *error) {
	if (!lines->has_rules) {
		return next_line(lines, ret_line, error);
	}
	for (;;) {
		bool joins = lines->rules->csv && !lines->skip_first && lines->config->kind != FROM_ARGS;
		enum input_status status = (joins ? next_csv : next_line)(lines, ret_line, error);
		if (status != INPUT_RECORD) {
			return status;
		}
		if (lines->skip_first) {
			lines->skip_first = false;
			continue;
		}
		if (lines->rules->end && strcmp(ret_line->text, lines->rules->end) == 0) {
			lines_close(lines);
			return INPUT_END;
		}
		if (!lines->rules->skip_blank || ret_line->bad || strspn(ret_line->text, " \t\n\v\f\r") < ret_line->len) {
			return INPUT_RECORD;
		}
	}
}

// ---- opening and closing ----

struct input *input_open(const struct input_config *config, char **ret_error) {
	struct input *input = NEW(struct input);
	input->config = *config;
	input->state = config->header ? HEADER : LOADING;
	input->current = config->header ? 0 : 1;
	input->sources = xcalloc(config->nsources, sizeof(*input->sources));
	const char *colsep = config->colsep || !config->header ? config->colsep : "\t"; // GNU parallel's default with --header
	bool is_good = splitter_init(&input->splitter, config->csv ? NULL : colsep, config->trim, &input->error) == 0;
	input->splits = config->csv || input->splitter.kind != SPLIT_NOT || input->splitter.trim != TRIM_NONE;
	for (size_t i = 0, nstdin = 0; is_good && i < config->nsources; ++i) {
		const struct source_config *source = &config->sources[i];
		nstdin += source->kind == FROM_STDIN;
		buf_adds(&input->error, nstdin > 1 ? "stdin is named as input twice, but can be read only once" : "");
		is_good = nstdin <= 1 && lines_open(&input->sources[i].lines, source, &input->config, i == 0, &input->error) == 0;
		input->sources[i].linked = i > 0 && (source->linked || config->link);
		input->n += is_good;
	}
	if (!is_good) {
		*ret_error = buf_take(&input->error);
		input_close(input);
		return NULL;
	}
	return input;
}

void input_close(struct input *input) {
	if (!input) {
		return;
	}
	for (size_t i = 0; i < input->n; ++i) {
		lines_close(&input->sources[i].lines);
		buf_fini(&input->sources[i].joint.text);
		record_list_fini(&input->sources[i].kept);
	}
	free(input->sources);
	splitter_fini(&input->splitter);
	record_list_fini(&input->all);
	buf_fini(&input->scratch);
	buf_fini(&input->record);
	buf_fini(&input->error);
	free(input);
}

// ---- one source ----

// Reads an item of -L: joins a line that ends with a blank and the next line, as GNU parallel's read_arg_from_fh(). The blanks stay.
static enum input_status next_joined(struct input *input, struct source *source, struct line *ret_line) {
	enum input_status status;
	while ((status = lines_next(&source->lines, ret_line, &input->error)) == INPUT_RECORD) {
		size_t len = ret_line->len;
		bool goes_on = len > 0 ? text_is_space(ret_line->text[len - 1]) : source->joint.is_open; // an empty line that is joined to the line before goes on
		if (joint_add(&source->joint, ret_line, "", goes_on && !ret_line->bad)) {
			return status;
		}
	}
	return joint_end(&source->joint, status, ret_line);
}

// Reads the next item of a source, and splits it.
static enum input_status next_item(struct input *input, struct source *source, struct record *ret_item,
                                   const char **ret_bad) {
	struct line line;
	enum input_status status = input->config.joins ? next_joined(input, source, &line)
	                                        : lines_next(&source->lines, &line, &input->error);
	if (status != INPUT_RECORD) {
		return status;
	}
	*ret_bad = line.bad;
	if (line.bad || !input->splits) {
		*ret_item = (struct record){.args = line.text, .size = line.len + 1, .nargs = line.n > 1 ? line.n : 1};
	} else if (input->config.csv) {
		*ret_bad = csv_split(line.text, line.len, input->config.csv, input->splitter.trim, &input->scratch, ret_item);
	} else {
		bool may_change = source->lines.config->kind != FROM_ARGS || line.text == source->joint.text.data;
		*ret_item = splitter_split(&input->splitter, line.text, line.len, may_change, &input->scratch);
	}
	return INPUT_RECORD;
}

// ---- the header ----

// Adds the names in one line: as in Perl's split() without a limit, empty names at the end do not count.
static void add_names(struct input *input, const struct line *line) {
	size_t len = line->len;
	len -= len > 0 && line->text[len - 1] == '\r';
	FP_CLEANUP(free_later) char *text = xmemdup(line->text, len);
	enum input_trim trim = input->splitter.trim;
	input->splitter.trim = TRIM_NONE;
	struct record names;
	if (!input->config.csv || csv_split(text, len, input->config.csv, TRIM_NONE, &input->scratch, &names) != NULL) {
		names = splitter_split(&input->splitter, text, len, true, &input->scratch);
	}
	input->splitter.trim = trim;
	while (names.nargs > 0 && (names.size == 1 || names.args[names.size - 2] == '\0')) {
		--names.size;
		--names.nargs;
	}
	buf_add(&input->record, names.args, names.size);
	input->nnames += names.nargs;
}

static enum input_status read_header(struct input *input, struct record *ret_record) {
	for (; input->current < input->n; ++input->current) {
		struct source *source = &input->sources[input->current];
		struct line line;
		enum input_status status = lines_next(&source->lines, &line, &input->error);
		if (status == INPUT_RECORD && line.bad) {
			buf_printf(&input->error, "the header cannot be used: %s", line.bad);
			return INPUT_ERROR;
		}
		if (status == INPUT_RECORD) {
			add_names(input, &line);
		} else if (status != INPUT_END) {
			return status;
		}
	}
	input->state = LOADING;
	input->current = 1;
	const struct buf *names = &input->record;
	*ret_record = (struct record){.args = buf_str(names), .size = names->len, .nargs = input->nnames};
	return INPUT_HEADER;
}

// ---- the product ----

static enum input_status load(struct input *input) {
	for (; input->current < input->n; ++input->current) {
		struct source *source = &input->sources[input->current];
		struct record item;
		const char *bad;
		enum input_status status;
		while ((status = next_item(input, source, &item, &bad)) == INPUT_RECORD) {
			record_list_add(&source->kept, &item, bad);
		}
		if (status != INPUT_END) {
			return status;
		}
		lines_close(&source->lines);
	}
	// counts the items of each group; the first group's count leaves out the first source, which is not read yet
	struct source *group = &input->sources[0];
	group->count = input->config.link ? 0 : SIZE_MAX;
	for (size_t i = 1; i < input->n; ++i) {
		struct source *source = &input->sources[i];
		size_t n = source->kept.n > 0 ? source->kept.n : 1; // a source without items counts as one empty item
		if (!source->linked) {
			group = source;
			group->count = n;
		} else if (input->config.link ? n > group->count : n < group->count) {
			group->count = n;
		}
	}
	input->state = STREAMING;
	return INPUT_RECORD;
}

// Sets input->first to the next item of the first source. Returns INPUT_END when no more records can be made.
static enum input_status next_of_first(struct input *input) {
	struct source *first = &input->sources[0];
	if (!input->config.link && input->ntaken == first->count) {
		return INPUT_END;
	}
	enum input_status status = next_item(input, first, &input->first, &input->first_bad);
	if (status == INPUT_RECORD && input->config.link && input->ntaken < first->count) {
		record_list_add(&first->kept, &input->first, input->first_bad); // with --link the item is needed again if another source is longer
	}
	if (status != INPUT_END) {
		return status;
	}
	bool has_others = false;
	for (size_t i = 1; i < input->n; ++i) {
		has_others = has_others || input->sources[i].kept.n > 0;
	}
	if (!has_others || input->ntaken >= (input->config.link ? first->count : 1)) {
		return INPUT_END;
	}
	input->first = (struct record){.args = "", .size = 1, .nargs = 1};
	input->first_bad = NULL;
	if (first->kept.n > 0) {
		input->first_bad = record_list_get(&first->kept, input->ntaken % first->kept.n, &input->first);
	}
	return INPUT_RECORD;
}

// Puts the record of the current combination together. Returns why the record cannot be an item, or NULL.
static const char *combine(struct input *input, struct record *ret_record) {
	buf_reset(&input->record);
	buf_add(&input->record, input->first.args, input->first.size);
	uint32_t nargs = input->first.nargs;
	const char *bad = input->first_bad;
	for (size_t i = 1; i < input->n; ++i) {
		const struct source *source = &input->sources[i];
		struct record item = {.args = "", .size = 1, .nargs = 1};
		const char *why = source->kept.n > 0 ? record_list_get(&source->kept, source->at % source->kept.n, &item) : NULL;
		buf_add(&input->record, item.args, item.size);
		nargs += item.nargs;
		bad = bad ? bad : why;
	}
	*ret_record = (struct record){.args = input->record.data, .size = input->record.len, .nargs = nargs};
	return bad;
}

// Goes on to the next combination of all groups but the first. Returns false after the last combination.
static bool advance(struct input *input) {
	for (size_t i = input->n; i-- > 1;) {
		struct source *group = &input->sources[i];
		if (group->linked) {
			continue;
		}
		size_t at = group->at + 1 < group->count ? group->at + 1 : 0;
		for (size_t k = i; k < input->n && (k == i || input->sources[k].linked); ++k) {
			input->sources[k].at = at;
		}
		if (at > 0) {
			return true;
		}
	}
	return false;
}

// ---- all of it ----

enum input_status input_read_all(struct input *input, bool shuffle) {
	while (!input->is_read) {
		struct record record;
		const char *error = NULL;
		enum input_status status = input_next(input, &record, &error);
		switch (status) {
		case INPUT_RECORD:
		case INPUT_BAD: record_list_add(&input->all, &record, error); break;
		case INPUT_WAIT: return status;
		case INPUT_ERROR: input->state = STREAMING; input->is_read = true; break; // input_next() reports the error after the records
		case INPUT_HEADER: break;
		case INPUT_END: input->is_read = true; break;
		}
	}
	if (shuffle) { // each order is as likely as any other (Fisher and Yates; the bias of % is below n / 2^64)
		uint64_t state;
		random_bytes(&state, sizeof(state));
		struct listed_record *records = input->all.records + input->all.at;
		for (size_t n = input->all.n - input->all.at; n > 1; --n) {
			size_t other = (size_t)(random_next(&state) % n);
			struct listed_record last = records[n - 1];
			records[n - 1] = records[other];
			records[other] = last;
		}
	}
	return INPUT_END;
}

uint64_t input_count(const struct input *input) {
	return input->all.n;
}

enum input_status input_next(struct input *input, struct record *ret_record, const char **ret_error) {
	enum input_status status;
	if (input->is_read && input->all.at < input->all.n) {
		*ret_error = record_list_get(&input->all, input->all.at++, ret_record);
		return *ret_error ? INPUT_BAD : INPUT_RECORD;
	}
	if (input->is_read) {
		bool has_failed = input->error.len > 0 && input->state != ENDED; // input_read_all() met the error, which was not reported yet
		input->state = ENDED;
		*ret_error = buf_str(&input->error);
		return has_failed ? INPUT_ERROR : INPUT_END;
	}
	if (input->state == ENDED) {
		return INPUT_END;
	}
	if (input->n == 1 && input->state != HEADER) { // a single source: nothing to combine
		const char *bad;
		status = next_item(input, &input->sources[0], ret_record, &bad);
		if (status == INPUT_RECORD && bad) {
			*ret_error = bad;
			return INPUT_BAD;
		}
	} else {
		status = input->state == HEADER ? read_header(input, ret_record) : input->state == LOADING ? load(input) : INPUT_RECORD;
		if (status == INPUT_RECORD && !input->combining && (status = next_of_first(input)) == INPUT_RECORD) {
			for (size_t i = 1; i < input->n && input->sources[i].linked; ++i) {
				input->sources[i].at = input->ntaken;
			}
			++input->ntaken;
		}
		if (status == INPUT_RECORD) {
			const char *bad = combine(input, ret_record);
			input->combining = advance(input);
			*ret_error = bad;
			status = bad ? INPUT_BAD : INPUT_RECORD;
		}
	}
	if (status == INPUT_ERROR) {
		*ret_error = buf_str(&input->error);
	}
	if (status == INPUT_ERROR || status == INPUT_END) {
		input->state = ENDED;
	}
	return status;
}

bool input_join_records(struct input *input, size_t most) {
	struct lines *lines = &input->sources[0].lines;
	bool is_plain = input->n == 1 && !input->is_read && !input->splits && !input->config.joins && input->state != HEADER &&
		lines->config->kind != FROM_ARGS && !lines->has_rules;
	lines->most = is_plain ? most : 0;
	return is_plain;
}

int input_fd(const struct input *input) {
	size_t at = input->state == STREAMING || input->current >= input->n ? 0 : input->current;
	return input->sources[at].lines.fd;
}
