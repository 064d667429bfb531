// Files to and from another machine, as archives of tar(1). A name is a word of its own to all programs, and begins with "./".

#include "remote/transfer.h"

#include "base/alloc.h"
#include "base/beneath.h"
#include "base/io.h"
#include "base/sync.h"
#include "base/text.h"
#include "remote/launcher.h"
#include "remote/payload.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COPY_BYTES = 64 * 1024, SAID_MOST = 2000, SHOWN_MOST = 400, END_GRACE_MS = 1000 };

// For sh, in the directory that $2 is below; $1 is an option of tar or empty.
static const char pack[] =
	"exec 3>&1; e=$(tar $1 -cf - -- \"$2\" 2>&1 >&3 3>&-); s=$?; [ $s = 0 ] || printf '%.2000s\\n' \"$e\" >&2; exit $s";

// transfer_remove() of the job before may remove the directories above while this one makes them: so there are a few tries. The contents of
// a directory go into one of that name that is there already.
static const char unpack[] =
	"t=$(mktemp -d .fairpar.XXXXXX) || exit\n"
	"trap 'rm -rf \"$t\"' EXIT\n"
	"trap 'exit 1' HUP INT TERM\n"
	"e=$(tar $1 -C \"$t\" --no-same-permissions -xof - -- \"$2\" 2>&1) || { printf '%.2000s\\n' \"$e\" >&2; exit 1; }\n"
	"n=0\n"
	"until e=$(mkdir -p -- \"${2%/*}\" 2>&1 && mv -fT -- \"$t/$2\" \"$2\" 2>&1); do\n"
	"	if [ -d \"$t/$2\" ] && [ ! -L \"$t/$2\" ] && [ -d \"$2\" ]; then\n"
	"		e=$(tar -C \"$t/$2\" -cf - . | tar -C \"$2\" --no-same-permissions -xof - 2>&1) && break\n"
	"	fi\n"
	"	n=$((n + 1))\n"
	"	[ $n -lt 5 ] || { printf '%.2000s\\n' \"$e\" >&2; exit 1; }\n"
	"done";

static const char remove_files[] =
	"for f; do\n"
	"	rm -f -- \"$f\" 2>/dev/null\n"
	"	d=${f%/*}\n"
	"	while [ \"$d\" != . ] && rmdir -- \"$d\" 2>/dev/null; do d=${d%/*}; done\n"
	"done";

// ---- there ----

// The output of an attempt there.
struct transfer_output {
	int to;              // where its stdout is written, or -1
	struct buf said;     // the first SAID_MOST bytes of its stderr
	char *bytes;         // COPY_BYTES
};

static ssize_t read_output(void *arg, enum child_stream stream, int fd) {
	struct transfer_output *output = arg;
	ssize_t n = read(fd, output->bytes, COPY_BYTES);
	if (n > 0 && stream == STREAM_OUT && output->to >= 0 && write_all(output->to, output->bytes, (size_t)n) != 0) {
		output->to = -1; // the local tar has ended and says why; the rest is dropped
	} else if (n > 0 && stream == STREAM_ERR && output->said.len < SAID_MOST) {
		buf_add(&output->said, output->bytes, (size_t)n);
	}
	return n;
}

// An attempt there: what it runs, and where.
struct remote_part {
	const char *const *argv; // of /bin/sh; NULL-terminated
	const char *dir;         // or NULL
	bool makes_dir;
	bool removes;            // it removes files: it also starts while jobs are being ended
	int from, to;            // its stdin and stdout, or -1
};

static enum transfer_end transfer_outcome(enum link_end end, const struct result *result, const struct spawn_error *error, const char *said, struct buf *ret_why) {
	char how[80];
	if (end != LINK_DONE) {
		return TRANSFER_LOST;
	}
	if (result->outcome == OUTCOME_CANCELLED || result->outcome == OUTCOME_TIMEOUT) {
		return TRANSFER_STOPPED;
	}
	if (result->outcome == OUTCOME_OK) {
		return TRANSFER_DONE;
	}
	if (result->outcome == OUTCOME_SPAWN_ERROR) {
		buf_printf(ret_why, "%s there: %s", spawn_step_name(error->step), strerror(error->error));
	} else {
		const char *text = said[strspn(said, "\n")] ? said : result_describe(result, how, sizeof(how));
		text_add_one_line(ret_why, text, strlen(text), SHOWN_MOST);
	}
	return TRANSFER_FAILED;
}

static enum transfer_end run_remote(const struct transfer *transfer, const struct remote_part *part, struct result *ret_result, struct buf *ret_why) {
	struct transfer_output output = {.to = part->to, .bytes = xmalloc(COPY_BYTES)};
	const struct output_reader reader = {.readable = read_output, .more_fd = -1, .arg = &output};
	const struct child_config config = {
		.path = "/bin/sh",
		.argv = (char *const *)(uintptr_t)part->argv,
		.env = transfer->env,
		.context = transfer->context,
		.stdin_fd = part->from,
		.output_reader = &reader,
		.timeout = transfer->of->timeout,
		.label = transfer->of->label,
		.cleanup = part->removes,
		.forks = true,
		.own_group = true,
		.origin = transfer->of->origin,
	};
	const struct payload_context context = {.base = transfer->env, .dir = part->dir, .makes_dir = part->makes_dir};
	struct spawn_error error;
	bool wrote;
	enum link_end end = link_run(transfer->link, &config, &context, NULL, ret_result, &error, &wrote);
	enum transfer_end how = transfer_outcome(end, ret_result, &error, buf_str(&output.said), ret_why);
	buf_fini(&output.said);
	free(output.bytes);
	return how;
}

// ---- here ----

static int start_local(const struct transfer *transfer, const char *dir, const char *const *argv, struct launcher *ret_here, struct buf *ret_why) {
	struct context *context = context_derive(transfer->context, dir, /* umask */ -1, /* nice */ 0);
	const struct launcher_config config = {.path = "/bin/sh", .argv = (char *const *)(uintptr_t)argv, .env = transfer->env, .context = context};
	struct spawn_error error;
	int result = launcher_start(ret_here, &config, &error);
	context_unref(context);
	if (result != 0) {
		buf_printf(ret_why, "%s: %s", spawn_step_name(error.step), strerror(error.error));
	}
	return result;
}

// Reads the standard error of the local process until it ends, or `until`.
static void read_errors(const struct launcher *here, uint64_t until, struct buf *said) {
	char bytes[1024];
	struct pollfd from = {.fd = here->err_fd, .events = POLLIN};
	ssize_t n = 1;
	while (n != 0 && now_ns() < until) {
		if (poll(&from, 1, poll_ms(until)) <= 0) {
			continue;
		}
		n = read_some(here->err_fd, bytes, sizeof(bytes));
		if (n > 0 && said->len < SAID_MOST) {
			buf_add(said, bytes, (size_t)n);
		}
		n = n < 0 && errno != EAGAIN ? 0 : n;
	}
}

// Closes the pipes of the local process and waits for its end; after a failure there not for long. Returns the outcome of the transfer: `end`,
// or TRANSFER_FAILED if that is TRANSFER_DONE and the local process has failed.
static enum transfer_end end_local(struct launcher *here, enum transfer_end end, struct buf *ret_why) {
	char how[80];
	FP_CLEANUP(buf_fini) struct buf said = BUF_INIT;
	uint64_t until = end == TRANSFER_DONE ? TIME_NEVER : now_ns() + (end == TRANSFER_FAILED ? (uint64_t)END_GRACE_MS * NS_PER_MS : 0);
	fd_close(&here->in_fd);
	fd_close(&here->out_fd);
	read_errors(here, until, &said);
	launcher_end(here, until, how, sizeof(how));
	if (end == TRANSFER_DONE && strcmp(how, "exit 0") != 0) {
		const char *text = strspn(buf_str(&said), "\n") < said.len ? said.data : how;
		text_add_one_line(ret_why, text, strlen(text), SHOWN_MOST);
		end = TRANSFER_FAILED;
	}
	return end;
}

// ---- copying ----

static enum transfer_end copy_file(const struct transfer *transfer, const char *path, enum file_way way, struct result *ret_result,
                                   struct buf *ret_why) {
	FP_CLEANUP(file_route_fini) struct file_route route;
	const char *reason;
	if (file_route(&route, path, way, &reason) != 0) {
		buf_adds(ret_why, reason);
		return TRANSFER_FAILED;
	}
	bool sends = way == FILE_GOES;
	const char *name = buf_str(&route.name), *dir = buf_str(&route.here);
	const char *option = strchr(name, '\\') ? "--no-unquote" : ""; // not every tar has it, and only one that has it unquotes names
	const char *const from[] = {"sh", "-c", pack, "sh", option, name, NULL}, *const to[] = {"sh", "-c", unpack, "sh", option, name, NULL};
	struct launcher here;
	struct stat file;
	if (sends && lstat(path, &file) != 0) {
		buf_adds(ret_why, strerror(errno));
		return TRANSFER_FAILED;
	}
	if (!sends && make_dirs(dir) != 0) {
		buf_printf(ret_why, "cannot make the directory '%s': %s", text_shows(dir), strerror(errno));
		return TRANSFER_FAILED;
	}
	if (start_local(transfer, dir, sends ? from : to, &here, ret_why) != 0) {
		return TRANSFER_FAILED;
	}
	const struct remote_part there = {
		.argv = sends ? to : from,
		.dir = route.is_absolute ? dir : transfer->dir,
		.makes_dir = sends,
		.from = sends ? here.out_fd : -1,
		.to = sends ? -1 : here.in_fd,
	};
	return end_local(&here, run_remote(transfer, &there, ret_result, ret_why), ret_why);
}

enum transfer_end transfer_files(const struct transfer *transfer, const struct buf *paths, enum file_way way, struct result *ret_result,
                                 struct buf *ret_why) {
	enum transfer_end end = TRANSFER_DONE;
	const char *path = buf_str(paths);
	for (; path < paths->data + paths->len && end == TRANSFER_DONE; path += strlen(path) + 1) {
		FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
		end = copy_file(transfer, path, way, ret_result, &why);
		if (end == TRANSFER_FAILED) {
			buf_printf(ret_why, "cannot %s '%s': %s", way == FILE_GOES ? "transfer" : "return", text_shows(path), buf_str(&why));
		}
	}
	return end;
}

// ---- removal ----

static void remove_remote(const struct transfer *transfer, const char *const *argv, const char *dir) {
	struct result result;
	FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
	const struct remote_part there = {.argv = argv, .dir = dir, .removes = true, .from = -1, .to = -1};
	(void)run_remote(transfer, &there, &result, &why);
}

void transfer_remove(const struct transfer *transfer, const struct buf *paths, enum file_way way) {
	for (const char *path = buf_str(paths); path < paths->data + paths->len; path += strlen(path) + 1) {
		const char *reason;
		FP_CLEANUP(file_route_fini) struct file_route route;
		if (file_route(&route, path, way, &reason) == 0) {
			FP_CLEANUP(buf_fini) struct buf below_root = BUF_INIT;
			buf_printf(&below_root, ".%s", path);
			const char *name = route.is_absolute ? buf_str(&below_root) : buf_str(&route.name);
			const char *const argv[] = {"sh", "-c", remove_files, "sh", name, NULL};
			remove_remote(transfer, argv, route.is_absolute ? "/" : transfer->dir);
		}
	}
}

void transfer_remove_dir(const struct transfer *transfer) {
	const char *const argv[] = {"sh", "-c", "rm -rf -- \"$1\"", "sh", transfer->dir, NULL};
	if (transfer->dir) {
		remove_remote(transfer, argv, NULL);
	}
}
