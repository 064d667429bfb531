// Options that GNU parallel would have taken from its environment.

#include "cli/parser.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

// True for an option that would have changed nothing here.
static bool is_idle(const char *word, size_t len) {
	enum option_id id;
	return len > 2 && strncmp(word, "--", 2) == 0 && option_is_name(word + 2, len - 2, &id) &&
	       (id == OPT_IGNORED || id == OPT_CITATION || id == OPT_PLAIN);
}

// True if a line that is no comment has a word that is no idle option.
static bool has_options(const char *text) {
	while (*text) {
		size_t line = strcspn(text, "\n"), blanks = strspn(text, " \t");
		const char *end = text + line, *at = blanks < line && text[blanks] == '#' ? end : text;
		for (size_t len; at < end; at += len) {
			at += strspn(at, " \t");
			len = strcspn(at, " \t\n");
			if (len > 0 && !is_idle(at, len)) {
				return true;
			}
		}
		text = *end ? end + 1 : end;
	}
	return false;
}

static bool file_has_options(const char *path) {
	enum { ENOUGH = 64 * 1024 };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat stat;
	bool found = false;
	if (fd >= 0 && fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode)) {
		struct buf text = BUF_INIT;
		text.len = pread_all(fd, buf_reserve(&text, ENOUGH), ENOUGH, 0);
		text.data[text.len] = '\0';
		found = has_options(buf_str(&text));
		buf_fini(&text);
	}
	if (fd >= 0) {
		close(fd);
	}
	return found;
}

void option_profile_warn(const struct options *options) {
	if (options->quiet || options->given[OPT_PLAIN] || getenv("FAIRPAR_JOB")) { // a nested one would say it again for each job
		return;
	}
	const char *variable = getenv("PARALLEL"), *own = getenv("PARALLEL_HOME"), *home = getenv("HOME");
	struct buf path = BUF_INIT;
	if (own || home) {
		buf_printf(&path, "%s%s/config", own ? own : home, own ? "" : "/.parallel");
	}
	bool in_variable = variable && has_options(variable), in_file = path.len > 0 && file_has_options(path.data);
	if (in_variable || in_file) {
		diag_warn("the options in %s%s%s%s%s are GNU parallel's and not read: give them here, or --plain", in_variable ? "$PARALLEL" : "",
		          in_variable && in_file ? " and " : "", in_file ? "'" : "", in_file ? text_shows(path.data) : "", in_file ? "'" : "");
	}
	buf_fini(&path);
}
