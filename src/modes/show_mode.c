// Modes that show something and run nothing: a manifest (--check, --list), and what the log of a run says (--from-log).

#include "modes/modes.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/temp_file.h"
#include "base/text.h"
#include "log/event_log.h"
#include "manifest/manifest.h"
#include "process/signals.h"
#include "record/record.h"
#include "report/run_stats.h"
#include "run/run.h"
#include "term/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int show_manifest(struct options *options) {
	FP_CLEANUP(buf_fini) struct buf list = BUF_INIT;
	bool failed;
	struct manifest *manifest = options_load_manifest(options, &failed);
	if (!manifest) {
		return EXIT_TROUBLE;
	}
	if (options->check && dag_check(options, manifest) != 0) {
		failed = true;
	} else if (options->given[OPT_LIST]) {
		manifest_list(manifest, options->listing, &list);
		failed = diag_print(buf_str(&list), list.len) != 0 || failed;
	}
	manifest_free(manifest);
	return failed ? EXIT_TROUBLE : 0;
}

// ---- --from-log ----

enum { COPY_BYTES = 64 * 1024 };

static int cannot_read(const char *path) {
	return diag_error("cannot read '%s': %s", text_shows(path), strerror(errno));
}

// Copies the log `fd`, called `path`, into a file without a name. Returns the descriptor of the copy, which the caller closes,
// or -1 after a message.
static int copy_log(int fd, const char *path) {
	static char bytes[COPY_BYTES];
	const char *dir = tmpfile_dir("/tmp");
	int copy = tmpfile_open(dir);
	if (copy < 0) {
		return diag_error("cannot make a temporary file in '%s': %s", text_shows(dir), strerror(errno));
	}
	ssize_t n;
	while ((n = read_some(fd, bytes, sizeof(bytes))) > 0) {
		if (write_all(copy, bytes, (size_t)n) != 0) {
			diag_error("cannot write a temporary file in '%s': %s", text_shows(dir), strerror(errno));
			close(copy);
			return -1;
		}
	}
	if (n < 0) {
		cannot_read(path);
		fd_close(&copy);
	}
	return copy;
}

// Opens the log; or a copy of it, if it is to be read more than once and is no regular file. Returns the descriptor, or -1 after a message.
static int open_log(const struct options *options) {
	const char *path = options->from_log;
	int fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	if (fd < 0) {
		return cannot_read(path);
	}
	if (options_want_pictures(options) && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) {
		int copy = copy_log(fd, path);
		close(fd);
		return copy;
	}
	return fd;
}

static const char *log_name(const struct options *options) {
	return strcmp(options->from_log, "-") == 0 ? "standard input" : options->from_log;
}

// Reads the log for the first time, and prints what the options ask for. Returns 0, or -1 after a message.
static int print(const struct options *options, int fd) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	struct run_stats *stats = NEW(struct run_stats);
	int result = log_read(fd, log_name(options), stats_on_event, stats, /* with_messages */ true);
	if (result == 0) {
		bool explains = options->given[OPT_EXPLAIN];
		stats_finish(stats, stats->last);
		if (explains) {
			summary_add_reasons(&text, stats, &(struct summary_form){.colour = colour_wanted(STDOUT_FILENO)});
		}
		if (options->given[OPT_SUMMARY] ? options->summary != SUMMARY_NEVER : !explains) {
			end_summary_add_stats(&text, stats, STDOUT_FILENO);
		}
		result = diag_print(buf_str(&text), text.len);
	}
	stats_free(stats);
	return result;
}

int show_log(const struct options *options) {
	signal_mask(SIG_BLOCK, SIGXFSZ); // a write beyond RLIMIT_FSIZE is to fail with EFBIG
	FP_CLEANUP(fd_close) int fd = pictures_check(options) == 0 ? open_log(options) : -1;
	if (fd < 0) {
		return EXIT_TROUBLE;
	}
	bool draws = options_want_pictures(options), prints = !draws || options->given[OPT_EXPLAIN] || options->given[OPT_SUMMARY];
	int result = prints ? print(options, fd) : 0;
	if (result == 0 && draws) {
		result = pictures_draw(options, fd, log_name(options), /* with_messages */ !prints);
	}
	return result == 0 ? 0 : EXIT_TROUBLE;
}
