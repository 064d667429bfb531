// What is shown of a run while it goes: the status line on a terminal, or now and then a line elsewhere.
//
// Nothing polls. Who changes something calls touch(); the event loop draws it, at most each `interval`:
//
//   IDLE --touch(): wakes the loop--> ARMED --at `next`: dirty? draw, `next` is an interval on : back to--> IDLE
//
// So a change is drawn at once if the last drawing was long ago, and a stream of changes costs one wake-up for each drawing.
// A line that tells time is drawn again each second.

#include "run/status_display.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/map.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/option_files.h"
#include "cli/option_table.h"
#include "process/signals.h"
#include "report/eta.h"
#include "report/run_stats.h"
#include "report/status_line.h"
#include "run/pictures.h"
#include "run/publish.h"
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
	LINE_MS = 100,         // between two drawings
	REDRAW_MS = 20,        // … if output has taken the line away: half a frame of what an eye sees
	COUNTED_MS = 30,       // by then the job that wrote has ended and is counted, as a rule; or, not grouped:
	LINES_MS = 10,
	NEXT_MS = 5,           // by then the next job has begun
	ZENITY_MS = 1000,
	PLAIN_S = 30,
	TIME_MS = 1000,        // between two drawings of a line that tells time
	SOON_MS = 200, LATE_MS = 1000, // from the start to the first drawing, if nobody has asked for it
	TITLE_S = 10,          // Ghostty forgets the progress of a terminal after 15 s
	ROW_MAX = 1024,        // bytes of a latest line that are looked at
};

enum { IDLE, ARMED };

struct status_display {
	struct run *run;
	enum { SHOWS_LINE, SHOWS_PLAIN, SHOWS_ZENITY } how;
	bool line;             // SHOWS_LINE: else the latest lines alone
	bool rows;             // the latest lines of the jobs
	bool bar;
	bool asked;            // at once
	bool understands;      // the terminal: progress sequences
	const char *format;    // FAIRPAR_STATUS, or NULL
	struct status_form form;
	uint64_t interval;

	atomic_int state;
	atomic_bool dirty;
	atomic_uint_least64_t job_end; // when the last one was told of

	// the event loop's
	bool ended;
	bool hidden;           // by the user
	bool all_read;         // as last drawn
	bool tells_time;       // the line that was drawn
	bool may_tell_time;    // the same, once there is a forecast
	uint64_t next;         // ARMED: not before
	uint64_t drawn;        // the last one
	uint64_t due;          // SHOWS_PLAIN: the next line
	struct buf title;      // the progress sequence that was sent last
	uint64_t titled;       // when
	struct status_batch *batches;   // scratch
	struct eta_batch *guesses; // scratch
	size_t batches_cap, guesses_cap;
	uint32_t *needs;       // of the batches of a manifest, as eta_batch.needs: those of a batch from its place in
	size_t *needs_of;      // `needs_of` to that of the next one
	size_t needs_cap, needs_of_cap, nneeds_of;

	const struct run_stats *stats; // of the run; publish_lock() guards these, and what follows
	struct eta *forecast;
	struct buf latest, item; // the command that started last, and its first argument
};

static void touch(struct status_display *status_display) {
	int idle = IDLE;
	// seq_cst: either this sees IDLE, or status_display_tick(), which looks at `dirty` behind setting IDLE, sees the change
	atomic_store(&status_display->dirty, true);
	if (atomic_load(&status_display->state) == IDLE && atomic_compare_exchange_strong(&status_display->state, &idle, ARMED)) {
		run_wake(status_display->run);
	}
}

// The same, where the event loop has to look at its clock again: the line is to come back before its next drawing is due.
static void draw_soon(struct status_display *status_display) {
	atomic_store(&status_display->dirty, true);
	atomic_store(&status_display->state, ARMED);
	run_wake(status_display->run);
}

// ---- what happens ----

static void note_latest(struct status_display *status_display, const struct event_job_start *start) {
	buf_reset(&status_display->latest);
	buf_reset(&status_display->item);
	buf_add(&status_display->latest, start->command, start->command_len);
	if (start->nargs > 0) {
		buf_adds(&status_display->item, start->args);
	} else {
		buf_add(&status_display->item, start->command, start->command_len);
	}
}

static void on_event(void *arg, const struct event *event) {
	struct status_display *status_display = arg;
	eta_on_event(status_display->forecast, event);
	if (event->kind == EVENT_JOB_START && (status_display->bar || status_display->format)) {
		note_latest(status_display, &event->u.job_start);
	}
	if (status_display->how == SHOWS_LINE && event->kind == EVENT_JOB_END) {
		atomic_store(&status_display->job_end, now_ns());
		if (screen_cleared() > 0) {
			draw_soon(status_display);
			return;
		}
	}
	if (status_display->how != SHOWS_PLAIN) {
		touch(status_display);
	}
}

void status_display_output(struct run *run) {
	if (run->status_display->rows) {
		touch(run->status_display);
	}
}

// ---- numbers ----

// Fills in the batch. With --resume the jobs that a manifest has are not those that will run.
static void look_at_batch(const struct status_display *status_display, const struct stats_batch *batch, struct status_batch *ret_batch) {
	bool known = batch->jobs >= 0 && status_display->run->options->resume == RESUME_NOT;
	uint64_t ended = stats_ended(batch), jobs = known ? (uint64_t)batch->jobs : batch->queued;
	*ret_batch = (struct status_batch){
		.name = batch->name[0] ? batch->name : "others",
		.finished = ended,
		.running = batch->running,
		.jobs = jobs > ended ? jobs : ended,
		.open = !known && !atomic_load_relaxed(&status_display->run->all_read),
	};
}

// Finds what the batches of a manifest need, once for as many as there are.
static void find_needs(struct status_display *status_display) {
	const struct run_stats *stats = status_display->stats;
	if (!status_display->run->manifest || status_display->nneeds_of == stats->nbatches + 1) {
		return;
	}
	size_t n = 0;
	grow_array(&status_display->needs_of, &status_display->needs_of_cap, stats->nbatches + 1, sizeof(*status_display->needs_of));
	for (size_t i = 0; i < stats->nbatches; ++i) {
		const struct manifest_batch *plan = manifest_find(status_display->run->manifest, stats->batches[i].name);
		status_display->needs_of[i] = n;
		for (size_t k = 0; plan && k < plan->nneeds; ++k) {
			uint32_t place = stats_find(stats, plan->needs[k]->name);
			grow_array(&status_display->needs, &status_display->needs_cap, n + 1, sizeof(*status_display->needs));
			status_display->needs[n] = place;
			n += place != MAP_NONE;
		}
	}
	status_display->needs_of[stats->nbatches] = n;
	status_display->nneeds_of = stats->nbatches + 1;
}

static void guess(struct status_display *status_display, uint64_t now, struct status *status) {
	grow_array(&status_display->guesses, &status_display->guesses_cap, status->nbatches + 1, sizeof(*status_display->guesses));
	find_needs(status_display);
	for (size_t i = 0; i < status->nbatches; ++i) {
		struct eta_batch *guess = &status_display->guesses[i];
		*guess = (struct eta_batch){.name = status_display->stats->batches[i].name, .jobs = status->batches[i].jobs};
		if (status_display->run->manifest) {
			guess->needs = status_display->needs + status_display->needs_of[i];
			guess->nneeds = status_display->needs_of[i + 1] - status_display->needs_of[i];
		}
		guess->eta = NOT_KNOWN;
	}
	if (status->open || status->finished >= status->jobs) {
		return;
	}
	if (status->nbatches == 1) {
		status_display->guesses[0].jobs = status->jobs; // --total-jobs
	}
	status->eta = eta_at(status_display->forecast, now, status_display->run->slots, status_display->guesses, status->nbatches);
	for (size_t i = 0; i < status->nbatches; ++i) {
		status_display->batches[i].eta = status_display->guesses[i].eta;
	}
}

// The numbers of now; the lock is held, and what they borrow is good as long as it is.
static void look(struct status_display *status_display, uint64_t now, struct status *ret_status) {
	const struct run_stats *stats = status_display->stats;
	struct status status = {
		.started = eta_started(status_display->forecast),
		.elapsed = now - status_display->run->start,
		.eta = NOT_KNOWN,
		.mean = eta_mean(status_display->forecast),
		.rate = eta_rate(status_display->forecast),
		.nbatches = stats->nbatches,
		.latest = status_display->latest.len > 0 ? buf_str(&status_display->latest) : NULL,
		.item = status_display->item.len > 0 ? buf_str(&status_display->item) : NULL,
	};
	grow_array(&status_display->batches, &status_display->batches_cap, stats->nbatches + 1, sizeof(*status_display->batches));
	for (size_t i = 0; i < stats->nbatches; ++i) {
		struct status_batch *batch = &status_display->batches[i];
		look_at_batch(status_display, &stats->batches[i], batch);
		status.finished += batch->finished;
		status.running += batch->running;
		status.failed += stats->batches[i].failed;
		status.jobs += batch->jobs;
		status.open = status.open || batch->open;
	}
	status.batches = status_display->batches;
	status.open = status.open || (stats->nbatches == 0 && !atomic_load_relaxed(&status_display->run->all_read));
	uint64_t total = (uint64_t)status_display->run->options->show.total_jobs;
	if (status.open && total >= status.jobs && total > 0) {
		status.jobs = total;
		status.open = false;
	}
	guess(status_display, now, &status);
	*ret_status = status;
}

void status_display_add_eta(const struct run *run, const char *batch, struct buf *buf) {
	struct status_display *status_display = run->status_display;
	struct status status;
	if (!status_display) {
		return;
	}
	publish_lock(status_display->run);
	look(status_display, now_ns(), &status);
	uint32_t place = stats_find(status_display->stats, batch);
	uint64_t eta = place != MAP_NONE ? status_display->guesses[place].eta : NOT_KNOWN;
	if (eta != NOT_KNOWN) {
		buf_adds(buf, ", ETA ");
		status_add_time(buf, eta);
	}
	publish_unlock(status_display->run);
}

// ---- the terminal's own progress ----

// Whether the terminal knows the sequence OSC 9;4; others take it for a notification. As anstyle-progress has it, which
// cargo uses; within a multiplexer the variables are of the terminal outside.
static bool understands_progress(const char *term) {
	const char *program = getenv("TERM_PROGRAM"), *features = getenv("TERM_FEATURES"), *conemu = getenv("ConEmuANSI");
	const char *ptyxis = getenv("PTYXIS_VERSION");
	if (strncmp(term, "screen", 6) == 0 || strncmp(term, "tmux", 4) == 0 || getenv("TMUX") || getenv("STY")) {
		return false;
	}
	for (; features && *features; ++features) { // letters: a capital one, then small ones and digits
		if (features[0] == 'P' && !(features[1] >= 'a' && features[1] <= 'z')) {
			return true;
		}
	}
	return (program && (strcmp(program, "WezTerm") == 0 || strcmp(program, "ghostty") == 0)) || getenv("WT_SESSION")
		|| (conemu && strcmp(conemu, "ON") == 0) || (ptyxis && strtoul(ptyxis, NULL, 10) >= 48);
}

static const char no_title[] = "\033]9;4;0;\033\\";

// The sequence to send, or NULL if it is the one that was sent last, and not long ago.
static const char *title(struct status_display *status_display, const struct status *status, uint64_t now) {
	struct buf text = BUF_INIT;
	int percent = status_percent(status);
	if (!status_display->understands) {
		return NULL;
	}
	if (percent < 0) {
		buf_adds(&text, "\033]9;4;3;\033\\");
	} else {
		buf_printf(&text, "\033]9;4;%d;%d\033\\", status->failed > 0 ? 2 : 1, percent);
	}
	bool is_new = strcmp(buf_str(&text), buf_str(&status_display->title)) != 0 || now - status_display->titled >= TITLE_S * NS_PER_S;
	if (is_new) {
		buf_fini(&status_display->title);
		status_display->title = text;
		status_display->titled = now;
		return buf_str(&status_display->title);
	}
	buf_fini(&text);
	return NULL;
}

// ---- drawing ----

// The size of the terminal, less the last column: a line that fills it may have begun the next one.
static void measure(unsigned *ret_columns, unsigned *ret_rows) {
	struct winsize size;
	bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
	*ret_columns = known ? (size.ws_col > 1 ? size.ws_col - 1u : 1) : 79;
	*ret_rows = known && size.ws_row > 1 ? size.ws_row : 24;
}

struct job_rows {
	struct status_display *status_display;
	struct buf *text;
	unsigned columns, room, n;
};

static void add_row(void *arg, const struct child_view *view) {
	struct job_rows *rows = arg;
	if (rows->n >= rows->room) {
		return;
	}
	struct buf row = BUF_INIT, raw = BUF_INIT, shown = BUF_INIT;
	buf_adds(&raw, view->last ? view->last : view->label);
	for (char *at = raw.data; at && (at = strchr(at, '\t'));) {
		*at = ' ';
	}
	text_add_output(&shown, buf_str(&raw), raw.len, SIZE_MAX);
	status_add_text(&row, buf_str(&shown), rows->status_display->form.utf8);
	buf_fini(&raw);
	buf_fini(&shown);
	status_cut(&row, rows->columns);
	buf_printf(rows->text, "%s%s", rows->n++ > 0 ? "\n" : "", buf_str(&row));
	buf_fini(&row);
}

static void add_status(struct status_display *status_display, struct buf *text, const struct status *status) {
	if (status_display->bar) {
		status_add_bar(text, status, &status_display->form);
	} else if (status_display->format) {
		status_add_format(text, status_display->format, status, &status_display->form);
	} else {
		status_add_line(text, status, &status_display->form);
	}
}

// True if the status line is to be there, and not only the jobs' latest lines.
static bool wants_line(const struct status_display *status_display, uint64_t now) {
	return status_display->line && (status_display->asked || now - status_display->run->start >= (uint64_t)LATE_MS * NS_PER_MS
	                       || status_display->stats->nbatches > 1 || status_display->run->manifest);
}

static void draw(struct status_display *status_display, uint64_t now) {
	struct buf text = BUF_INIT;
	struct job_rows rows = {.status_display = status_display, .text = &text};
	struct status status;
	measure(&rows.columns, &rows.room);
	status_display->form.width = rows.columns;
	rows.room = rows.room > 2 ? rows.room - 2 : 1;
	if (status_display->rows) {
		children_each(status_display->run->children, add_row, &rows);
	}
	publish_lock(status_display->run);
	look(status_display, now, &status);
	bool line = wants_line(status_display, now);
	if (line) {
		buf_adds(&text, rows.n > 0 ? "\n" : "");
		add_status(status_display, &text, &status);
	}
	publish_unlock(status_display->run);
	status_display->drawn = now;
	status_display->all_read = atomic_load_relaxed(&status_display->run->all_read);
	status_display->tells_time = line && (status_display->format && !status_display->bar ? status_tells_time(status_display->format) : status.eta != NOT_KNOWN);
	status_display->tells_time = status_display->tells_time && !status_display->hidden;
	status_display->may_tell_time = line && !status_display->hidden && (status_display->bar || !status_display->format);
	const char *prefix = line && !status_display->hidden ? title(status_display, &status, now) : NULL;
	if (rows.n + line == 0 || status_display->hidden) {
		screen_clear(NULL);
	} else if (!screen_draw(prefix, buf_str(&text), rows.n + line) && prefix) {
		buf_reset(&status_display->title); // it was not sent
	}
	buf_fini(&text);
}

// GNU parallel's form for `zenity --progress`, with the same ends of lines.
static void write_zenity(struct status_display *status_display, uint64_t now) {
	struct buf text = BUF_INIT;
	struct status status;
	publish_lock(status_display->run);
	look(status_display, now, &status);
	int percent = status_percent(&status);
	buf_adds(&text, "\r#   ");
	status_add_time(&text, status.eta);
	buf_addc(&text, ' ');
	status_add_text(&text, status.item ? status.item : "", status_display->form.utf8);
	buf_printf(&text, "\r%d\r", percent < 0 ? 0 : percent);
	publish_unlock(status_display->run);
	status_display->drawn = now;
	if (write_all(STDERR_FILENO, text.data, text.len) != 0) {
		atomic_store_relaxed(&status_display->run->trouble, true);
	}
	buf_fini(&text);
}

static void write_plain(struct status_display *status_display, uint64_t now) {
	struct buf text = BUF_INIT;
	struct status status;
	publish_lock(status_display->run);
	look(status_display, now, &status);
	add_status(status_display, &text, &status);
	publish_unlock(status_display->run);
	diag_note("%s", buf_str(&text));
	buf_fini(&text);
}

// ---- when ----

static uint64_t tick_plain(struct status_display *status_display, uint64_t now) {
	if (now >= status_display->due) {
		write_plain(status_display, now);
		status_display->due += PLAIN_S * NS_PER_S;
		status_display->due = status_display->due > now ? status_display->due : now + PLAIN_S * NS_PER_S; // this process was stopped meanwhile
	}
	return status_display->due;
}

// When a line that tells time, or the terminal's progress, is to be drawn again.
static uint64_t next_by_time(const struct status_display *status_display) {
	uint64_t forecast = status_display->run->start + (uint64_t)ETA_FROM_S * NS_PER_S; // perhaps nothing else happens then
	uint64_t next = status_display->tells_time ? status_display->drawn + (uint64_t)TIME_MS * NS_PER_MS
		: status_display->may_tell_time && status_display->drawn < forecast ? forecast : TIME_NEVER;
	uint64_t title = status_display->title.len > 0 ? status_display->titled + TITLE_S * NS_PER_S : TIME_NEVER;
	next = next < title ? next : title;
	return next != TIME_NEVER && screen_is_foreign() ? TIME_NEVER : next;
}

// The earliest drawing: what is over soon was not worth a line.
static uint64_t show_from(struct status_display *status_display) {
	publish_lock(status_display->run);
	bool soon = status_display->stats->nbatches > 1 || status_display->run->manifest;
	publish_unlock(status_display->run);
	bool at_once = status_display->asked || status_display->rows;
	return status_display->run->start + (at_once ? 0 : (uint64_t)(soon ? SOON_MS : LATE_MS) * NS_PER_MS);
}

// When a line that output has taken away is to come back: not with numbers that the end of the job which wrote it makes old
// at once.
static uint64_t back_at(struct status_display *status_display) {
	uint64_t cleared = screen_cleared(), job_end = atomic_load(&status_display->job_end);
	if (cleared == 0) {
		return TIME_NEVER;
	}
	uint64_t latest = cleared + (uint64_t)(status_display->run->options->output == OUTPUT_GROUP ? COUNTED_MS : LINES_MS) * NS_PER_MS;
	uint64_t counted = job_end >= cleared ? job_end + (uint64_t)NEXT_MS * NS_PER_MS : latest;
	uint64_t back = counted < latest ? counted : latest, earliest = status_display->drawn + (uint64_t)REDRAW_MS * NS_PER_MS;
	return back > earliest ? back : earliest;
}

static uint64_t tick_armed(struct status_display *status_display, uint64_t now) {
	uint64_t next = status_display->drawn == 0 ? show_from(status_display) : status_display->next, rest = status_display->how == SHOWS_LINE ? screen_rest() : 0;
	uint64_t back = status_display->drawn > 0 && status_display->how == SHOWS_LINE ? back_at(status_display) : TIME_NEVER;
	next = back < next ? back : next;
	next = rest > next ? rest : next;
	if (now < next) {
		return next;
	}
	if (atomic_exchange(&status_display->dirty, false)) {
		(status_display->how == SHOWS_ZENITY ? write_zenity : draw)(status_display, now);
		return status_display->next = now + status_display->interval;
	}
	atomic_store(&status_display->state, IDLE);
	int idle = IDLE;
	if (atomic_load(&status_display->dirty) && atomic_compare_exchange_strong(&status_display->state, &idle, ARMED)) {
		return now;
	}
	return TIME_NEVER;
}

uint64_t status_display_tick(struct run *run, uint64_t now) {
	struct status_display *status_display = run->status_display;
	if (!status_display || status_display->ended) {
		return TIME_NEVER;
	}
	if (status_display->how == SHOWS_PLAIN) {
		return tick_plain(status_display, now);
	}
	if (status_display->drawn > 0 && (atomic_load_relaxed(&run->all_read) != status_display->all_read || now >= next_by_time(status_display))) {
		atomic_store(&status_display->dirty, true);
		atomic_store(&status_display->state, ARMED);
	}
	uint64_t next = atomic_load(&status_display->state) == ARMED ? tick_armed(status_display, now) : TIME_NEVER;
	uint64_t by_time = status_display->drawn > 0 ? next_by_time(status_display) : TIME_NEVER;
	return next < by_time ? next : by_time;
}

// ---- the terminal ----

static void on_cleared(void *arg) {
	draw_soon(arg);
}

void status_display_suspend(struct run *run) {
	struct status_display *status_display = run->status_display;
	if (status_display && status_display->how == SHOWS_LINE && !status_display->ended) {
		screen_clear(status_display->title.len > 0 ? no_title : NULL);
		buf_reset(&status_display->title);
	}
}

void status_display_resume(struct run *run) {
	if (run->status_display && run->status_display->how == SHOWS_LINE) {
		touch(run->status_display);
	}
}

void status_display_resized(struct run *run) {
	if (run->status_display && run->status_display->how == SHOWS_LINE) {
		screen_resized();
		touch(run->status_display);
	}
}

void status_display_toggle(struct run *run) {
	struct status_display *status_display = run->status_display;
	if (status_display && status_display->how == SHOWS_LINE) {
		status_display->hidden = !status_display->hidden;
		status_display_suspend(run);
		status_display_resume(run);
	}
}

void status_display_end(struct run *run) {
	struct status_display *status_display = run->status_display;
	if (status_display && !status_display->ended && status_display->how == SHOWS_LINE) {
		status_display_suspend(run);
	} else if (status_display && !status_display->ended && status_display->how == SHOWS_ZENITY) {
		write_zenity(status_display, now_ns());
	}
	if (status_display) {
		status_display->ended = true;
	}
}

// ---- what is to be shown ----

// True if somebody may be typing the items: the line would stand where the words do.
static bool is_typed(const struct options *options) {
	bool reads = false;
	for (size_t i = 0; i < options->nsources; ++i) {
		reads = reads || options->sources[i].kind == FROM_STDIN;
	}
	return reads && isatty(STDIN_FILENO);
}

// Decides by options, environment and terminal. Returns false if there is nothing to show.
static bool choose(struct status_display *status_display) {
	const struct options *options = status_display->run->options;
	const struct status_options *show = &options->show;
	const char *term = getenv("TERM"), *env = getenv("FAIRPAR_PROGRESS");
	bool terminal = isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
	enum progress how = show->progress == PROGRESS_ALWAYS ? PROGRESS_AUTO : show->progress;
	bool is_given = options->given[OPT_PROGRESS];
	status_display->asked = show->bar || options->given[OPT_ETA] || show->progress == PROGRESS_ALWAYS || (is_given && how == PROGRESS_TTY);
	if (!is_given && !status_display->asked) {
		int choice = env && *env ? word_index(option_table[OPT_PROGRESS].complete, env, strlen(env)) : PROGRESS_AUTO;
		how = choice >= 0 ? (enum progress)choice : how;
		if (choice < 0) {
			diag_warn("FAIRPAR_PROGRESS must be auto, tty, plain or none, not '%s'", text_shows(env));
		}
		status_display->asked = how == PROGRESS_TTY;
		how = options->quiet || (how == PROGRESS_AUTO && is_typed(options)) ? PROGRESS_NONE : how;
	}
	if (how == PROGRESS_AUTO && status_display->asked) {
		how = terminal ? PROGRESS_TTY : PROGRESS_PLAIN;
	}
	bool quiet = options->dry_run || options->sem.is_on;
	bool raw = !status_display->run->writer; // jobs write to the terminal themselves
	status_display->how = how == PROGRESS_PLAIN ? (show->bar ? SHOWS_ZENITY : SHOWS_PLAIN) : SHOWS_LINE;
	status_display->bar = show->bar;
	status_display->rows = status_display->how == SHOWS_LINE && show->latest_line && terminal;
	status_display->line = how != PROGRESS_NONE;
	status_display->understands = terminal && understands_progress(term);
	bool shows = status_display->how != SHOWS_LINE || (terminal && !raw && (status_display->line || status_display->rows));
	return shows && !quiet;
}

static void choose_form(struct status_display *status_display) {
	const char *no_color = getenv("NO_COLOR"), *format = getenv("FAIRPAR_STATUS");
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	status_display->form.utf8 = locale && strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
	if (locale) {
		freelocale(locale);
	}
	status_display->form.colour = status_display->how == SHOWS_LINE && !(no_color && *no_color);
	status_display->form.details = status_display->run->options->given[OPT_ETA];
	status_display->interval = (uint64_t)(status_display->how == SHOWS_ZENITY ? ZENITY_MS : LINE_MS) * NS_PER_MS;
	status_display->due = status_display->run->start + PLAIN_S * NS_PER_S;
	struct buf bad = BUF_INIT;
	status_add_bad_letters(&bad, format ? format : "", status_display->form.utf8);
	if (bad.len > 0) {
		diag_warn("FAIRPAR_STATUS: there is no %s", bad.data);
	}
	buf_fini(&bad);
	status_display->format = format && status_says_something(format) ? format : NULL;
}

// Reads what jobs took in a former run. Returns 0, or -1 after a message.
static int learn(struct status_display *status_display, const char *path) {
	bool is_next = option_log_is_eta(status_display->run->options); // the first run of many has none before it
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		if (is_next && errno == ENOENT) {
			return 0;
		}
		diag_error("cannot read '%s': %s", text_shows(path), strerror(errno));
		return -1;
	}
	struct stat stat;
	bool is_empty = fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_size == 0;
	int result = is_next && is_empty ? 0 : log_read(fd, path, eta_learn, status_display->forecast, /* with_messages */ true);
	close(fd);
	return result;
}

int status_display_open(struct run *run) {
	const char *log = run->options->show.eta_log;
	struct status_display *status_display = NEW(struct status_display);
	status_display->run = run;
	if (!choose(status_display)) {
		screen_open_quiet(STDERR_FILENO);
		free(status_display);
		return 0;
	}
	choose_form(status_display);
	publish_subscribe(run, on_event, status_display, WANTS_QUEUED);
	status_display->stats = publish_stats(run);
	status_display->forecast = eta_new();
	run->status_display = status_display;
	if ((log && learn(status_display, log) != 0)
	    || (status_display->how == SHOWS_LINE && signals_add(run->signal_fd, SIGWINCH) != 0)) {
		return -1;
	}
	if (status_display->how == SHOWS_LINE) {
		screen_open(STDERR_FILENO, on_cleared, status_display);
	} else {
		screen_open_quiet(STDERR_FILENO);
	}
	return 0;
}

void status_display_close(struct run *run) {
	struct status_display *status_display = run->status_display;
	if (!status_display) {
		return;
	}
	status_display_end(run);
	run->status_display = NULL;
	eta_free(status_display->forecast);
	free(status_display->batches);
	free(status_display->guesses);
	free(status_display->needs);
	free(status_display->needs_of);
	buf_fini(&status_display->title);
	buf_fini(&status_display->latest);
	buf_fini(&status_display->item);
	free(status_display);
}
