// Opens the inputs of the command line, and reads as much of them as must be known before the first job: the headers, whose
// names the templates need, and with some options all input.

#include "feed/feed_internal.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/text.h"
#include "base/write_limit.h"
#include "state/dag_node.h"
#include "state/run.h"
#include "state/publish.h"
#include "hosts/hosts.h"
#include "pipe/block.h"
#include "process/signals.h"
#include "record/record.h"
#include "remote/sshlogin.h"
#include "shell/shell.h"
#include "template/command.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	HIGH_BYTES = 64 * 1024,      // while a batch has this many bytes queued, its input is not read
	PACKED = 8,                  // HIGH_BYTES is multiplied by 8 if items are packed: a job has up to 128 KiB of items
	PACKED_BY_TIME = 32,         // HIGH_BYTES is multiplied by 32 for each slot with --pack=auto: a job has up to 2 MiB of items
	AHEAD_BYTES = 8 * 1024 * 1024, // with --pack=auto, feed_high_water() is at most this
};

size_t feed_high_water(const struct run *run) {
	const struct packing *packing = &run->options->packing;
	size_t packed = (size_t)HIGH_BYTES * (packing->by_time ? PACKED_BY_TIME : PACKED);
	if (!packing->by_time) {
		return packing->on ? packed : HIGH_BYTES;
	}
	size_t most = run->options->queue_mem / 4 < AHEAD_BYTES ? run->options->queue_mem / 4 : AHEAD_BYTES;
	return run->slots < most / packed ? packed * run->slots : most > HIGH_BYTES ? most : HIGH_BYTES;
}

// Adds a feed for the submission's queue, and takes the submission over (NULL if the pool takes no more items). Returns the feed.
static struct feed *feed_add(struct feeds *feeds, struct input *input, struct submission *submission) {
	struct feed *feed = NEW(struct feed);
	feed->input = input;
	feed->own.submission = submission;
	list_push_back(&feeds->active, &feed->link);
	return feed;
}

// Opens the input; `node` is the node of a manifest whose items the input gives, or NULL. Returns NULL after a message.
static struct input *open_input(const struct input_config *config, struct dag_node *node) {
	char *error;
	struct input *input = input_open(config, &error);
	if (!input && node) {
		diag_error("batch '%s': %s", text_shows(node->plan->name), error);
		publish_set_lost_reason(node->batch, error);
		free(error);
	} else if (!input) {
		diag_error_free(error);
	}
	return input;
}

static int compare_names(const void *a, const void *b) {
	const struct sshlogin *const *left = a, *const *right = b;
	return strcmp((*left)->name, (*right)->name);
}

// --onall: each record goes to every machine, which has a batch of its own and runs one job at a time. Returns the submissions of all
// machines as a list (submission.next), in the order of the machines' names, as GNU parallel takes them; or NULL if the pool takes no
// more items.
static struct submission *open_onall(struct run *run, size_t low_water) {
	const struct sshlogins *list = &run->options->hosts;
	FP_CLEANUP(free_later) const struct sshlogin **logins = xcalloc(list->n, sizeof(*logins));
	struct submission *first = NULL, **end = &first;
	for (size_t i = 0; i < list->n; ++i) {
		logins[i] = &list->logins[i];
	}
	qsort(logins, list->n, sizeof(*logins), compare_names);
	struct output_queue *before = NULL;
	for (size_t i = 0; i < list->n; ++i) {
		*end = feed_submission_open_batch(run, logins[i]->name, low_water);
		if (!*end) {
			break;
		}
		if (run->hosts && !(*end)->batch->binding) {
			(*end)->batch->binding = hosts_bind(run->hosts, logins[i], NULL, 0);
		}
		struct output_queue *order = (*end)->batch->output_queue;
		if (before && order) {
			output_queue_follow(run->writer, order, before);
		}
		before = order;
		end = &(*end)->next;
	}
	return first;
}

// Opens the sources as one input, for the batch `name`, or with --onall for all machines. Returns the feed, or NULL after a message.
static struct feed *open_sources(struct run *run, const struct source_config *sources, size_t nsources,
                                 const char *name) {
	struct input_config config = run->options->input;
	config.sources = sources;
	config.nsources = nsources;
	struct input *input = open_input(&config, /* node */ NULL);
	if (!input) {
		return NULL;
	}
	++run->feeds->n;
	size_t low_water = run->options->packing.by_time ? FEED_WHEN_EMPTY : feed_high_water(run) / 2;
	bool onall = run->options->onall;
	return feed_add(run->feeds, input, onall ? open_onall(run, low_water) : feed_submission_open_batch(run, name, low_water));
}

int feeds_add_node(struct run *run, struct dag_node *node, const struct source_config *source) {
	struct input *input = NULL;
	if (source) {
		struct input_config config = {.sources = source, .nsources = 1, .delimiter = node->plan->source == MANIFEST_FILE0 ? '\0' : '\n'};
		input = open_input(&config, node);
		if (!input) {
			return -1;
		}
	}
	bool held = queue_ref(run->pool, node->queue);
	run->feeds->stopped |= !held;
	feed_add(run->feeds, input, held ? feed_submission_open(node->queue) : NULL)->node = node;
	return 0;
}

// ---- waiting for input ----

// Waits until the descriptor can be read. Returns false if a signal ends the run first.
static bool wait_input(struct run *run, int fd) {
	struct pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = run->signal_fd, .events = POLLIN}};
	for (;;) {
		int ready = poll(fds, 2, -1);
		verify(ready >= 0 || errno == EINTR);
		if (ready > 0 && fds[1].revents) {
			int signal = signals_next(run->signal_fd);
			if (signal == SIGTSTP) {
				signals_stop_self();
			} else if (is_ending_signal(signal) || signal == run->options->stop_signal) { // no job runs yet: both end the run
				run->signal = signal;
				return false;
			}
		} else if (ready > 0) {
			return true;
		}
	}
}

// ---- headers ----

// Waits for the header of the input, and sets *ret_record to it (borrowed); if the input is empty, sets feed->ended. Returns 0, or -1 after a message
// or when a signal ends the run.
static int read_header(struct run *run, struct feed *feed, struct record *ret_record) {
	const char *error = NULL;
	enum input_status status;
	while ((status = input_next(feed->input, ret_record, &error)) == INPUT_WAIT) {
		if (!wait_input(run, input_fd(feed->input))) {
			return -1;
		}
	}
	feed->ended = status == INPUT_END;
	return status == INPUT_HEADER || feed->ended ? 0 : diag_error("cannot read the header: %s", error ? error : "unexpected input");
}

// Reads the headers of all inputs, whose names must be the same, for one template serves them all. Returns 0, or -1 after a message or when a signal
// ends the run.
static int read_headers(struct run *run, struct names *names) {
	bool first = true, same = true;
	list_for_each_entry(&run->feeds->active, struct feed, feed, link) {
		struct record record;
		if (read_header(run, feed, &record) != 0) {
			return -1;
		}
		size_t n = feed->ended ? 0 : record.nargs;
		const char *name = record.args;
		names->names = first ? xcalloc(n, sizeof(*names->names)) : names->names;
		same = same && (first || feed->ended || n == names->n);
		for (size_t i = 0; i < n && same; ++i, name += strlen(name) + 1) {
			if (first) {
				names->names[names->n++] = xstrdup(name);
			}
			same = strcmp(names->names[i], name) == 0;
		}
		first = false;
	}
	return same ? 0 : diag_error("--header: the inputs do not have the same names in their headers");
}

// --header 0: names each source after its file.
static void name_files(const struct options *options, struct names *names) {
	if (!options->header_files) {
		return;
	}
	names->names = xcalloc(options->nsources, sizeof(*names->names));
	for (; names->n < options->nsources; ++names->n) {
		const struct source_config *source = &options->sources[names->n];
		names->names[names->n] = xstrdup(source->kind == FROM_FILE ? source->path : ""); // no replacement string has the name ""
	}
}

// ---- templates ----

// Returns the shell of the command line, as shell_choose() does, or NULL after a message.
static char *choose_shell(const struct options *options) {
	char *shell = shell_choose(options->shell);
	if (!shell) {
		int error = errno;
		const char *by;
		const char *name = text_shows(shell_named(options->shell, &by));
		if (error == ENOTSUP) {
			diag_error("%s: '%s' does not read the quotes of a Bourne shell; take sh, bash, dash, ksh, zsh or another Bourne shell", by,
			           name);
		} else if (error == EMULTIHOP) {
			diag_error("%s: '%s' is one file with many programs, and runs the program whose name it is called by: make a link, by "
			           "ln -s \"$(command -v %s)\" ash, and take the link as the shell: --shell ./ash", by, name, name);
		} else {
			diag_error("%s: there is no program '%s'", by, name);
		}
	}
	return shell;
}

// Parses the templates of the command line, for the columns of feeds->names. Returns 0, or -1 after a message.
static int parse_templates(struct run *run) {
	const struct options *options = run->options;
	const struct names *names = &run->feeds->names;
	char *shell = choose_shell(options);
	if (!shell) {
		return -1;
	}
	bool failed = job_spec_from_options(&run->spec, options, run->context, shell, names) != 0;
	if (options->batch_by) {
		struct template *batch_by = run->feeds->batch_by = job_spec_parse(&options->batch_by, 1, TEMPLATE_RAW, names, &failed);
		if (batch_by && !options->quiet && !template_has(batch_by, TEMPLATE_HAS_STRINGS)) { // perhaps a misspelled name of a column
			diag_warn("--batch-by: '%s' has no replacement string, so all items are in one batch", text_shows(options->batch_by));
		}
	}
	return result_files_parse(run, names) != 0 || failed ? -1 : 0;
}

// True if a template of the run needs the number of all jobs.
static bool needs_total(const struct run *run) {
	return job_spec_any(&run->spec, TEMPLATE_NEEDS_TOTAL) || template_has(run->feeds->batch_by, TEMPLATE_NEEDS_TOTAL) || result_files_need_total(run);
}

// Reads all input before the first job, if the command line needs to know all items. Returns 0, or -1 after a message or when a signal ends the run.
static int read_all_records(struct run *run) {
	const struct options *options = run->options;
	if (!options->shuffle && !options->tee && !needs_total(run)) {
		return 0;
	}
	// the number of jobs of -X and --pack, and of each batch of --batch-by, is not known before the jobs are made
	bool counts_commands = options->packing.on && options->packing.items > 0 && !options->packing.spreads;
	run->total = 0;
	list_for_each_entry(&run->feeds->active, struct feed, feed, link) {
		while (input_read_all(feed->input, options->shuffle) == INPUT_WAIT) {
			if (!wait_input(run, input_fd(feed->input))) {
				return -1;
			}
		}
		uint64_t n = input_count(feed->input), each = counts_commands && !feed->by_key ? options->packing.items : 1;
		run->total += n / each + (n % each > 0);
	}
	return 0;
}

// ---- packing ----

enum {
	SPARE_BYTES = 4096, // room for the variables that are set for each job, and for what the kernel adds
	ROOM_BYTES = 2 * 1024 * 1024, // the most bytes of a command, even if execve() takes more
};

// Returns how many bytes execve() has for arguments (0: not known): the environment takes a part of the same room (execve(2), "Limits on size").
static size_t argument_room(const struct job_spec *spec) {
	long most = sysconf(_SC_ARG_MAX);
	size_t taken = SPARE_BYTES;
	for (size_t i = 0; i < spec->nenv; ++i) {
		taken += strlen(spec->env[i]) + 1 + sizeof(char *);
	}
	return most <= 0 ? 0 : (size_t)most > taken ? (size_t)most - taken : 1;
}

// True if the command is a program that exists, so that no shell runs it, and its words are the arguments as they are.
static bool is_plain_program(const struct run *run) {
	FP_CLEANUP(command_fini) struct command command = COMMAND_INIT;
	const struct record record = {.args = "x", .size = 2, .nargs = 1};
	const struct expansion x = {.record = &record, .seq = 1, .slot = 1};
	const struct buf text = BUF_INIT;
	const struct template *template = run->spec.command;
	return template_has(template, TEMPLATE_IS_DIRECT) && template_has(template, TEMPLATE_HAS_ONLY_LISTS) && !run->options->packing.repeats &&
	       command_build(&command, template, &x, &run->spec.by, &text) == 0 && !command.by_shell;
}

// Lets the inputs return several records as one, if no part of the run needs to know each item by itself.
static void join_records(const struct pack_limits *limits, struct run *run) {
	const struct packing *packing = &run->options->packing;
	bool counts = packing->items > 0; // --pack=auto applies its limit only when a job starts
	bool one_by_one = run->job_records || run->result_files || !(packing->by_time || (packing->on && !counts));
	size_t most = one_by_one ? 0 : packs_join_size(limits);
	list_for_each_entry(&run->feeds->active, struct feed, feed, link) {
		feed->joins = most > 0 && !feed->by_key && input_join_records(feed->input, most);
	}
}

// Sets the limits of packs by the options, for the command of the command line. Returns 0, or -1 after a message.
static int open_packing(struct run *run) {
	const struct packing *options = &run->options->packing;
	struct pack_limits *limits = &run->feeds->limits;
	limits->items = options->items;
	limits->chars = options->chars > 0 ? options->chars : PACK_CHARS_MAX;
	limits->room = argument_room(&run->spec);
	limits->waits = options->spreads;
	limits->inserts_none = options->inserts_none;
	limits->exits = options->exits;
	limits->template = run->spec.command;
	packs_prepare(limits);
	run->feeds->slots = options->spreads ? run->slots : 0;
	if (options->by_time) {
		limits->room = limits->room < ROOM_BYTES ? limits->room : ROOM_BYTES;
		limits->fills = options->chars == 0 && limits->room > 0 && is_plain_program(run);
	}
	join_records(limits, run);
	return !options->by_time || !job_spec_any(&run->spec, TEMPLATE_HAS_COLUMNS) ? 0
		: diag_error("--pack: a process has many items, so {1} and the names of columns have no meaning; {} stands for all items");
}

// ---- data ----

// Adds a feed for run->blocks.
static void add_data(struct run *run) {
	const char *name = run->options->batch ? run->options->batch : "default";
	feed_add(run->feeds, NULL, feed_submission_open_batch(run, name, /* low_water */ 0))->is_data = true;
}

// Opens the data of --pipe and --pipe-part. Returns 0, or -1 after a message.
static int open_data(struct run *run) {
	run->blocks = blockfeed_open(&(struct pipe_config){
		.options = run->options,
		.slots = run->slots,
		.slots_by_fds = run->slots == slots_limit(run->job_fds),
		.slots_shared = run->slots_shared,
		.nofile = run->nofile,
		.temp_dir = run->temp_dir,
		.wake_fd = run->wake_fd,
		.trouble = &run->trouble,
	});
	return run->blocks ? 0 : -1;
}

// Opens the data that is cut into blocks, one for each job. Returns 0, or -1 after a message.
static int open_blocks(struct run *run) {
	if (open_data(run) != 0 || parse_templates(run) != 0) {
		return -1;
	}
	if (needs_total(run)) {
		return diag_error("{##} and {0#} cannot be used with --%s: data is cut into blocks while jobs run, so that the number of jobs "
		                  "is not known", run->options->pipe == PIPE_PART ? "pipe-part" : "pipe");
	}
	++run->feeds->n;
	add_data(run);
	return 0;
}

// ---- opening all inputs ----

// Opens what the command line names as input. Returns 0, or -1 after a message.
static int open_inputs(struct run *run) {
	const struct options *options = run->options;
	struct feeds *feeds = run->feeds;
	if (options->nsources > 0) {
		const char *name = options->batch ? options->batch : "default";
		struct feed *feed = open_sources(run, options->sources, options->nsources, name);
		if (!feed) {
			return -1;
		}
		feed->by_key = options->batch_by != NULL;
	}
	feeds->file_sources = xcalloc(options->nbatch_files, sizeof(*feeds->file_sources));
	for (size_t i = 0; i < options->nbatch_files; ++i) {
		const struct batch_file *file = &options->batch_files[i];
		bool is_stdin = strcmp(file->path, "-") == 0;
		feeds->file_sources[i] = (struct source_config){.kind = is_stdin ? FROM_STDIN : FROM_FILE, .path = file->path};
		if (!open_sources(run, &feeds->file_sources[i], 1, file->name)) {
			return -1;
		}
	}
	return 0;
}

int feeds_open(struct run *run) {
	const struct options *options = run->options;
	struct feeds *feeds = run->feeds = NEW(struct feeds);
	list_init(&feeds->active);
	list_init(&feeds->outlets.used);
	feeds->names.tokens = &options->tokens;
	if (run->manifest) {
		return 0; // dag_open() adds the inputs of the manifest's batches
	}
	if (job_records_source(run) && !open_sources(run, job_records_source(run), 1, "default")) {
		return -1;
	}
	if (options->pipe && !options->tee) {
		return open_blocks(run);
	}
	if (open_inputs(run) != 0 || (options->input.header && read_headers(run, &feeds->names) != 0)) {
		return -1;
	}
	name_files(options, &feeds->names);
	if (parse_templates(run) != 0 || read_all_records(run) != 0) {
		return -1;
	}
	if (options->tee) { // all jobs get the same data
		if (open_data(run) != 0 || blockfeed_expect(run->blocks, run->total) != 0) {
			return -1;
		}
		add_data(run);
	}
	return open_packing(run);
}
