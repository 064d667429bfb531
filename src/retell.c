// What the log of a run tells, without running anything: --from-log.

#include "retell.h"

#include "base/buf.h"
#include "base/diag.h"
#include "base/io.h"
#include "ending.h"
#include "report/eventread.h"
#include "report/explain.h"
#include "report/story.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { FLUSH_BYTES = 64 * 1024 };

// Who hears the log.
struct retelling {
	struct story *story;
	struct explain *explain; // or NULL
	int error;               // errno of what could not be written, or 0
};

static void write_text(struct retelling *retelling, struct buf *text) {
	if (!retelling->error && text->len > 0 && write_all(STDOUT_FILENO, text->data, text->len) != 0) {
		retelling->error = errno;
	}
	buf_reset(text);
}

static void hear(void *arg, const struct event *event) {
	struct retelling *retelling = arg;
	story_tell(retelling->story, event);
	if (retelling->explain) {
		explain_tell(retelling->explain, event);
		if (explain_text(retelling->explain)->len >= FLUSH_BYTES) {
			write_text(retelling, explain_text(retelling->explain));
		}
	}
}

// Reads the log. Returns 0, or -1 after a message.
static int read_log(const struct options *options, struct retelling *retelling) {
	bool is_stdin = strcmp(options->from_log, "-") == 0;
	int fd = is_stdin ? STDIN_FILENO : open(options->from_log, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		diag_error("cannot read '%s': %s", diag_shows(options->from_log), strerror(errno));
		return -1;
	}
	struct buf messages = BUF_INIT;
	int result = eventread(fd, is_stdin ? "standard input" : options->from_log, hear, retelling, &messages);
	if (messages.len > 0 && write_all(STDERR_FILENO, messages.data, messages.len) != 0) {
		result = -1;
	}
	buf_fini(&messages);
	if (!is_stdin) {
		close(fd);
	}
	return result;
}

static int finish(const struct options *options, struct retelling *retelling) {
	struct buf text = BUF_INIT;
	int result = 0;
	if (retelling->explain) {
		uint64_t lines = explain_finish(retelling->explain, retelling->story->last);
		write_text(retelling, explain_text(retelling->explain));
		if (lines == 0 && options->explained) {
			diag_error("there is no job '%s' in '%s'", diag_shows(options->explained), diag_shows(options->from_log));
			result = -1;
		}
	}
	bool is_asked = options->summary_given ? options->summary != SUMMARY_NEVER : !retelling->explain;
	if (is_asked) {
		story_finish(retelling->story, retelling->story->last);
		ending_add_story(&text, retelling->story, STDOUT_FILENO);
		write_text(retelling, &text);
	}
	if (retelling->error && retelling->error != EPIPE) { // whoever reads by head has seen enough of it
		diag_error("cannot write to stdout: %s", strerror(retelling->error));
	}
	buf_fini(&text);
	return retelling->error ? -1 : result;
}

int retell_log(const struct options *options) {
	struct retelling retelling = {
		.story = story_new(),
		.explain = options->explain ? explain_new(options->explained) : NULL,
	};
	int result = read_log(options, &retelling);
	if (result == 0) {
		result = finish(options, &retelling);
	}
	story_free(retelling.story);
	explain_free(retelling.explain);
	return result == 0 ? 0 : EXIT_TROUBLE;
}
