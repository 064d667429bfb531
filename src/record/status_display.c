// Shows the state of the run while it goes: by the status line on a terminal, elsewhere by a line now and then.
//
// Nothing polls. Each change calls mark_dirty(), which wakes the event loop if this is the first change since the last drawing. The
// loop draws at most once in an `interval`, and at once if the last drawing is longer ago. A line that shows time is drawn again
// each second.

#include "record/record.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/option_table.h"
#include "cli/options.h"
#include "state/publish.h"
#include "hosts/hosts.h"
#include "log/event_log.h"
#include "process/signals.h"
#include "report/status_line.h"
#include "sharing/leases.h"
#include "term/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	LINE_MS = 100,         // the least time between two drawings of the status line
	REDRAW_MS = 30,        // the time from output, which erases the line, to the next drawing: by then the output's job may have ended and be counted
	ZENITY_MS = 1000,      // the least time between two lines for zenity
	PLAIN_S = 30,          // the time from one plain line to the next
	TIME_MS = 1000,        // the time between two drawings of a line that shows time
	SOON_MS = 200, LATE_MS = 1000, // the time to the first drawing of a line that the user has not asked for: with batches; without
	SEQUENCE_S = 10,       // the time between two progress sequences: Ghostty forgets a sequence after 15 s
};

struct status_display {
	struct run *run;
	enum { SHOWS_LINE, SHOWS_PLAIN, SHOWS_ZENITY } how;
	bool has_line;         // with SHOWS_LINE: the status line is shown, not only the rows of jobs
	bool has_rows;         // the latest line of each job is shown
	bool asked;            // the user has asked for the line: it is drawn from the start
	bool sends_sequences;  // the terminal shows progress by itself (knows_progress_sequence())
	struct status_form form;
	uint64_t interval;     // the least time between two drawings, in nanoseconds

	atomic_bool dirty;     // something has changed since the last drawing

	// used by the event loop only; times by now_ns()
	bool ended;            // status_display_end() was called
	bool hidden;           // the user has switched the line off (SIGUSR2)
	bool all_read;         // run->all_read at the last drawing
	const char *awaited;   // the name of the pool for which the run waits (leases_awaited_pool()), or NULL
	bool shows_time;       // the line that was drawn last changes with time
	bool may_show_time;    // the line that was drawn last will change with time once there is a forecast
	uint64_t drawn;        // the time of the last drawing, or 0
	uint64_t due;          // SHOWS_PLAIN: when the next line is printed
	struct buf sequence;   // the progress sequence that was sent last
	uint64_t sequence_sent; // when `sequence` was sent
	struct status_batch *batches; // memory for the numbers that get_status() returns
	size_t batches_cap;

	// guarded by publish_mutex()
	const struct run_stats *stats; // the statistics of the run; borrowed from publish_stats()
	struct former_run *former; // how long jobs took by the log of --eta=LOG, or NULL
	struct buf item;       // --bar: the first argument of the job that started last, or its command
};

// Notes a change in what is shown. Any thread.
static void mark_dirty(struct status_display *display) {
	if (!atomic_exchange(&display->dirty, true)) {
		run_wake(display->run);
	}
}

// ---- events ----

static void note_item(struct status_display *display, const struct event_job_start *start) {
	buf_reset(&display->item);
	if (start->nargs > 0) {
		buf_adds(&display->item, start->args);
	} else {
		buf_add(&display->item, start->command, start->command_len);
	}
}

static void on_event(void *arg, const struct event *event) {
	struct status_display *display = arg;
	if (event->kind == EVENT_JOB_START && display->former) {
		former_run_take(display->former, &event->u.job_start);
	}
	if (event->kind == EVENT_JOB_START && display->run->options->show.bar) {
		note_item(display, &event->u.job_start);
	}
	if (display->how != SHOWS_PLAIN) {
		mark_dirty(display);
	}
}

void status_display_output(struct run *run) {
	if (run->status_display && run->status_display->has_rows) {
		mark_dirty(run->status_display);
	}
}

// ---- numbers ----

// Sets *ret_batch to the numbers of the batch. With --resume fewer jobs run than the manifest has, so their number is not known.
static void get_batch_status(const struct status_display *display, const struct stats_batch *batch, struct status_batch *ret_batch) {
	bool known = batch->jobs >= 0 && display->run->options->resume == RESUME_NOT;
	uint64_t ended = stats_ended(batch), jobs = known ? (uint64_t)batch->jobs : batch->queued;
	*ret_batch = (struct status_batch){
		.name = batch->name[0] ? batch->name : "others",
		.finished = ended,
		.running = batch->running,
		.jobs = jobs > ended ? jobs : ended,
		.eta = NOT_KNOWN,
		.open = !known && !atomic_load_relaxed(&display->run->all_read),
	};
}

// Sets *ret_status to the present numbers. With publish_mutex(); the pointers in *ret_status are valid until it is unlocked.
static void get_status(struct status_display *display, uint64_t now, struct status *ret_status) {
	const struct run_stats *stats = display->stats;
	struct status status = {
		.slots = display->run->auto_slots ? stats->slots_now : 0,
		.slots_why = display->run->auto_slots && stats->nchanges > 0 ? stats->changes[stats->nchanges - 1].why : NULL,
		.eta = NOT_KNOWN,
		.mean = eta_mean(stats),
		.nbatches = stats->nbatches,
		.item = display->item.len > 0 ? buf_str(&display->item) : NULL,
	};
	grow_array(&display->batches, &display->batches_cap, stats->nbatches + 1, sizeof(*display->batches));
	for (size_t i = 0; i < stats->nbatches; ++i) {
		struct status_batch *batch = &display->batches[i];
		get_batch_status(display, &stats->batches[i], batch);
		status.finished += batch->finished;
		status.running += batch->running;
		status.failed += stats->batches[i].counts.failed;
		status.jobs += batch->jobs;
		status.open = status.open || batch->open;
	}
	status.awaited = status.running == 0 ? display->awaited : NULL;
	status.batches = display->batches;
	status.open = status.open || (stats->nbatches == 0 && !atomic_load_relaxed(&display->run->all_read));
	uint64_t total = (uint64_t)display->run->options->show.total_jobs;
	if (status.open && total >= status.jobs && total > 0) {
		status.jobs = total;
		status.open = false;
		display->batches[0].jobs = stats->nbatches == 1 ? total : display->batches[0].jobs;
	}
	if (!status.open && status.finished < status.jobs) {
		status.eta = eta_set(display->batches, stats, display->former, publish_slots_now(display->run), now);
	}
	*ret_status = status;
}

void status_display_add_eta(const struct run *run, const char *batch, struct buf *buf) {
	struct status_display *display = run->status_display;
	struct status status;
	if (!display) {
		return;
	}
	FP_HOLD(publish_mutex(display->run));
	get_status(display, now_ns(), &status);
	uint32_t index = stats_find(display->stats, batch);
	uint64_t eta = index != MAP_NONE ? display->batches[index].eta : NOT_KNOWN;
	if (eta != NOT_KNOWN) {
		buf_adds(buf, ", ETA ");
		status_add_time(buf, eta);
	}
}

// ---- the terminal's own progress ----

// True if the terminal shows progress by the sequence OSC 9;4, which some other terminals show as a notification. The list of terminals is from
// anstyle-progress, which cargo uses. In a multiplexer the variables are from the terminal outside: returns false.
static bool knows_progress_sequence(const char *term) {
	const char *program = getenv("TERM_PROGRAM"), *features = getenv("TERM_FEATURES"), *conemu = getenv("ConEmuANSI");
	const char *ptyxis = getenv("PTYXIS_VERSION");
	if (strncmp(term, "screen", 6) == 0 || strncmp(term, "tmux", 4) == 0 || getenv("TMUX") || getenv("STY")) {
		return false;
	}
	for (; features && *features; ++features) { // each feature is a capital letter, then small letters and digits
		if (features[0] == 'P' && !(features[1] >= 'a' && features[1] <= 'z')) {
			return true;
		}
	}
	return (program && (strcmp(program, "WezTerm") == 0 || strcmp(program, "ghostty") == 0)) || getenv("WT_SESSION")
		|| (conemu && strcmp(conemu, "ON") == 0) || (ptyxis && strtoul(ptyxis, NULL, 10) >= 48);
}

static const char no_progress[] = "\033]9;4;0;\033\\";

// Returns the progress sequence to send, or NULL if no sequence is due. Borrowed until the next call.
static const char *next_sequence(struct status_display *display, const struct status *status, uint64_t now) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	int percent = status_percent(status);
	if (!display->sends_sequences) {
		return NULL;
	}
	if (percent < 0) {
		buf_adds(&text, "\033]9;4;3;\033\\");
	} else {
		buf_printf(&text, "\033]9;4;%d;%d\033\\", status->failed > 0 ? 2 : 1, percent);
	}
	bool is_new = strcmp(buf_str(&text), buf_str(&display->sequence)) != 0 || now - display->sequence_sent >= SEQUENCE_S * NS_PER_S;
	if (!is_new) {
		return NULL;
	}
	buf_reset(&display->sequence);
	buf_add(&display->sequence, text.data, text.len);
	display->sequence_sent = now;
	return buf_str(&display->sequence);
}

// ---- drawing ----

struct job_rows {
	struct status_display *display;
	struct buf *text;
	unsigned columns, room, n;
};

static void add_row(void *arg, const struct child_view *view) {
	struct job_rows *rows = arg;
	if (rows->n >= rows->room) {
		return;
	}
	FP_CLEANUP(buf_fini) struct buf row = BUF_INIT, raw = BUF_INIT, shown = BUF_INIT;
	buf_adds(&raw, view->last ? view->last : view->label);
	for (char *at = raw.data; at && (at = strchr(at, '\t'));) {
		*at = ' ';
	}
	text_add_output(&shown, buf_str(&raw), raw.len, SIZE_MAX);
	status_add_text(&row, buf_str(&shown), rows->display->form.utf8);
	status_cut(&row, rows->columns);
	buf_printf(rows->text, "%s%s", rows->n++ > 0 ? "\n" : "", buf_str(&row));
}

static void add_status(struct status_display *display, struct buf *text, const struct status *status) {
	if (display->run->options->show.bar) {
		status_add_bar(text, status, &display->form);
	} else {
		status_add_line(text, status, &display->form);
	}
}

// True if the line shows batches. With publish_mutex().
static bool has_batches(const struct status_display *display) {
	return display->stats->nbatches > 1 || display->run->manifest;
}

// Draws the rows of jobs and the status line on the terminal.
static void draw(struct status_display *display, uint64_t now) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	struct job_rows rows = {.display = display, .text = &text};
	struct status status;
	struct winsize size;
	bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
	rows.columns = known ? (size.ws_col > 1 ? size.ws_col - 1u : 1) : 79; // all columns but the last: a line that fills the last column may wrap
	rows.room = !known || size.ws_row <= 1 ? 22 : size.ws_row > 2 ? size.ws_row - 2u : 1;
	display->form.width = rows.columns;
	if (display->has_rows) {
		children_each(display->run->children, /* stopped_only */ false, add_row, &rows);
		hosts_each(display->run->hosts, add_row, &rows);
	}
	mutex_lock(publish_mutex(display->run));
	get_status(display, now, &status);
	bool is_late = now - display->run->start >= (uint64_t)LATE_MS * NS_PER_MS;
	bool line = display->has_line && (display->asked || is_late || has_batches(display));
	if (line) {
		buf_adds(&text, rows.n > 0 ? "\n" : "");
		add_status(display, &text, &status);
	}
	mutex_unlock(publish_mutex(display->run));
	display->drawn = now;
	display->all_read = atomic_load_relaxed(&display->run->all_read);
	bool shows_line = line && !display->hidden;
	display->may_show_time = shows_line;
	display->shows_time = shows_line && status.eta != NOT_KNOWN;
	const char *prefix = shows_line ? next_sequence(display, &status, now) : NULL;
	if (rows.n + line == 0 || display->hidden) {
		screen_clear(NULL);
	} else if (!screen_draw(prefix, buf_str(&text), rows.n + line) && prefix) {
		buf_reset(&display->sequence); // the sequence was not sent
	}
}

// Writes the line that `zenity --progress` reads, in the form and with the line ends of GNU parallel.
static void write_zenity(struct status_display *display, uint64_t now) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	struct status status;
	mutex_lock(publish_mutex(display->run));
	get_status(display, now, &status);
	int percent = status_percent(&status);
	buf_adds(&text, "\r#   ");
	status_add_time(&text, status.eta);
	buf_addc(&text, ' ');
	status_add_text(&text, status.item ? status.item : "", display->form.utf8);
	buf_printf(&text, "\r%d\r", percent < 0 ? 0 : percent);
	mutex_unlock(publish_mutex(display->run));
	display->drawn = now;
	if (write_all(STDERR_FILENO, text.data, text.len) != 0) {
		atomic_store_relaxed(&display->run->trouble, true);
	}
}

// Prints the status line as a message.
static void write_plain(struct status_display *display, uint64_t now) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	struct status status;
	mutex_lock(publish_mutex(display->run));
	get_status(display, now, &status);
	add_status(display, &text, &status);
	mutex_unlock(publish_mutex(display->run));
	diag_note("%s", buf_str(&text));
}

// ---- when to draw ----

static uint64_t tick_plain(struct status_display *display, uint64_t now) {
	if (now >= display->due) {
		write_plain(display, now);
		display->due += PLAIN_S * NS_PER_S;
		display->due = display->due > now ? display->due : now + PLAIN_S * NS_PER_S; // `due` is past if this process was stopped meanwhile
	}
	return display->due;
}

// Returns when to draw again although nothing has changed: because the line shows time, or to repeat the progress sequence; or
// TIME_NEVER.
static uint64_t time_due(const struct status_display *display) {
	uint64_t forecast = display->run->start + (uint64_t)ETA_FROM_S * NS_PER_S; // the line may then get its first forecast
	uint64_t next = display->shows_time ? display->drawn + (uint64_t)TIME_MS * NS_PER_MS
		: display->may_show_time && display->drawn < forecast ? forecast : TIME_NEVER;
	uint64_t sequence = display->sequence.len > 0 ? display->sequence_sent + SEQUENCE_S * NS_PER_S : TIME_NEVER;
	next = time_earlier(next, sequence);
	return next != TIME_NEVER && screen_is_in_background() ? TIME_NEVER : next;
}

// Draws, if a drawing is due, and returns TIME_NEVER; else returns when a drawing will be due.
static uint64_t draw_if_due(struct status_display *display, uint64_t now) {
	uint64_t next = display->drawn + display->interval;
	if (display->drawn == 0) { // the first drawing: a run that ends before it shows no line, unless the user has asked
		mutex_lock(publish_mutex(display->run));
		uint64_t ms = display->asked || display->has_rows ? 0 : has_batches(display) ? SOON_MS : LATE_MS;
		mutex_unlock(publish_mutex(display->run));
		next = display->run->start + ms * NS_PER_MS;
	}
	uint64_t cleared = 0, rest = display->how == SHOWS_LINE ? screen_next_draw(&cleared) : 0;
	next = cleared > 0 && display->drawn > 0 ? time_earlier(next, cleared + (uint64_t)REDRAW_MS * NS_PER_MS) : next;
	next = rest > next ? rest : next;
	if (now < next) {
		return next;
	}
	atomic_store(&display->dirty, false); // before the drawing: a change during the drawing sets `dirty` again
	(display->how == SHOWS_ZENITY ? write_zenity : draw)(display, now);
	return TIME_NEVER;
}

uint64_t status_display_tick(struct run *run, uint64_t now) {
	struct status_display *display = run->status_display;
	if (!display || display->ended) {
		return TIME_NEVER;
	}
	display->awaited = run->leases ? leases_awaited_pool(run->leases) : NULL; // without publish_mutex(): the lock of leases.c comes before it
	if (display->how == SHOWS_PLAIN) {
		return tick_plain(display, now);
	}
	if (display->drawn > 0 && (atomic_load_relaxed(&run->all_read) != display->all_read || now >= time_due(display))) {
		atomic_store(&display->dirty, true);
	}
	uint64_t next = atomic_load(&display->dirty) ? draw_if_due(display, now) : TIME_NEVER;
	uint64_t by_time = display->drawn > 0 ? time_due(display) : TIME_NEVER;
	return time_earlier(next, by_time);
}

// ---- the terminal ----

// Called when output has erased the line. Always wakes the event loop, as the next drawing may be due earlier than the loop has computed.
static void on_cleared(void *arg) {
	struct status_display *display = arg;
	atomic_store(&display->dirty, true);
	run_wake(display->run);
}

void status_display_suspend(struct run *run) {
	struct status_display *display = run->status_display;
	if (display && display->how == SHOWS_LINE && !display->ended) {
		screen_clear(display->sequence.len > 0 ? no_progress : NULL);
		buf_reset(&display->sequence);
	}
}

void status_display_resume(struct run *run) {
	if (run->status_display && run->status_display->how == SHOWS_LINE) {
		mark_dirty(run->status_display);
	}
}

void status_display_resized(struct run *run) {
	screen_resized();
	status_display_resume(run);
}

void status_display_toggle(struct run *run) {
	struct status_display *display = run->status_display;
	if (display && display->how == SHOWS_LINE) {
		display->hidden = !display->hidden;
		status_display_suspend(run);
		status_display_resume(run);
	}
}

void status_display_end(struct run *run) {
	struct status_display *display = run->status_display;
	if (!display) {
		return;
	}
	status_display_suspend(run);
	if (display->how == SHOWS_ZENITY) {
		write_zenity(display, now_ns());
	}
	display->ended = true;
}

// ---- open and close ----

// True if the user may be typing the items at the terminal, where the line would be in the way.
static bool is_typed(const struct options *options) {
	bool reads = false;
	for (size_t i = 0; i < options->nsources; ++i) {
		reads = reads || options->sources[i].kind == FROM_STDIN;
	}
	return reads && isatty(STDIN_FILENO);
}

// Sets what is shown, and how, by the options, the environment and the terminal. Returns false if nothing is shown.
static bool choose(struct status_display *display) {
	const struct options *options = display->run->options;
	const struct status_options *show = &options->show;
	const char *term = getenv("TERM"), *env = getenv("FAIRPAR_PROGRESS");
	bool terminal = isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
	enum progress how = show->progress == PROGRESS_ALWAYS ? PROGRESS_AUTO : show->progress;
	bool is_given = options->given[OPT_PROGRESS];
	display->asked = show->bar || options->given[OPT_ETA] || show->progress == PROGRESS_ALWAYS || (is_given && how == PROGRESS_TTY);
	if (!is_given && !display->asked) {
		int choice = env && *env ? word_index(option_table[OPT_PROGRESS].complete, env, strlen(env)) : PROGRESS_AUTO;
		how = choice >= 0 ? (enum progress)choice : how;
		if (choice < 0) {
			diag_warn("FAIRPAR_PROGRESS must be auto, tty, plain or none, not '%s'", text_shows(env));
		}
		display->asked = how == PROGRESS_TTY;
		how = options->quiet || (how == PROGRESS_AUTO && is_typed(options)) ? PROGRESS_NONE : how;
	}
	if (how == PROGRESS_AUTO && display->asked) {
		how = terminal ? PROGRESS_TTY : PROGRESS_PLAIN;
	}
	bool quiet = options->dry_run || options->sem.is_on;
	bool raw = !display->run->writer; // jobs write to the terminal themselves
	display->how = how == PROGRESS_PLAIN ? (show->bar ? SHOWS_ZENITY : SHOWS_PLAIN) : SHOWS_LINE;
	display->has_rows = display->how == SHOWS_LINE && show->latest_line && terminal;
	display->has_line = how != PROGRESS_NONE;
	display->sends_sequences = terminal && knows_progress_sequence(term);
	bool shows = display->how != SHOWS_LINE || (terminal && !raw && (display->has_line || display->has_rows));
	return shows && !quiet;
}

// Sets the form of the line, and how often it is drawn.
static void choose_form(struct status_display *display) {
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	display->form.utf8 = locale && strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
	if (locale) {
		freelocale(locale);
	}
	display->form.colour = display->how == SHOWS_LINE && colour_wanted(STDERR_FILENO);
	display->form.details = display->run->options->given[OPT_ETA];
	display->interval = (uint64_t)(display->how == SHOWS_ZENITY ? ZENITY_MS : LINE_MS) * NS_PER_MS;
	display->due = display->run->start + PLAIN_S * NS_PER_S;
}

// Reads how long the jobs of a former run took, from its log, for the forecast. Returns 0, or -1 after a message.
static int learn(struct status_display *display, const char *path) {
	const char *log = display->run->options->log;
	bool is_next = log && strcmp(log, path) == 0; // --log writes the same file, which does not exist before the first run
	FP_CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return is_next && errno == ENOENT ? 0 : diag_error("cannot read '%s': %s", text_shows(path), strerror(errno));
	}
	struct stat stat;
	bool is_empty = fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_size == 0;
	display->former = former_run_new();
	return is_next && is_empty ? 0 : log_read(fd, path, former_run_on_event, display->former, /* with_messages */ true);
}

int status_display_open(struct run *run) {
	const char *log = run->options->show.eta_log;
	struct status_display *display = NEW(struct status_display);
	display->run = run;
	if (!choose(display)) {
		screen_open(NULL, NULL); // draws nothing: screen_say() then knows where the cursor is
		free(display);
		return 0;
	}
	choose_form(display);
	publish_subscribe(run, on_event, display, /* wants_output */ false);
	display->stats = publish_stats(run);
	run->status_display = display;
	if ((log && learn(display, log) != 0)
	    || (display->how == SHOWS_LINE && signals_add(run->signal_fd, SIGWINCH) != 0)) {
		return -1;
	}
	screen_open(display->how == SHOWS_LINE ? on_cleared : NULL, display);
	return 0;
}

void status_display_close(struct run *run) {
	struct status_display *display = run->status_display;
	if (!display) {
		return;
	}
	former_run_free(display->former);
	free(display->batches);
	buf_fini(&display->sequence);
	buf_fini(&display->item);
	free(display);
}
