// What is shown of a run while it goes: the status line on a terminal, or now and then a line elsewhere.
//
// Nothing polls. Who changes something calls touch(); the event loop draws it, at most each `interval`:
//
//   IDLE --touch(): wakes the loop--> ARMED --at `next`: dirty? draw, `next` is an interval on : back to--> IDLE
//
// So a change is drawn at once if the last drawing was long ago, and a stream of changes costs one wake-up for each drawing.
// A line that tells time is drawn again each second.

#include "run/watch.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/map.h"
#include "base/screen.h"
#include "cli/option_pairs.h"
#include "cli/option_status.h"
#include "process/signals.h"
#include "report/eventread.h"
#include "report/forecast.h"
#include "report/plain.h"
#include "report/status.h"
#include "report/story.h"
#include "run/telling.h"

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

struct watch {
	struct run *run;
	enum { SHOWS_LINE, SHOWS_PLAIN, SHOWS_ZENITY } how;
	bool line;             // SHOWS_LINE: else the latest lines alone
	bool rows;             // the latest lines of the jobs
	bool bar;
	bool asked;            // at once
	bool understands;      // the terminal: progress sequences
	const char *format;    // FAIRPAR_STATUS, or NULL
	locale_t locale;       // of characters; or 0
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
	struct forecast_batch *guesses; // scratch
	size_t batches_cap, guesses_cap;
	uint32_t *needs;       // of the batches of a manifest, as forecast_batch.needs: those of a batch from its place in
	size_t *needs_of;      // `needs_of` to that of the next one
	size_t needs_cap, needs_of_cap, nneeds_of;

	mutex lock;            // guards the rest; told under the lock of telling
	struct story *story;
	struct forecast *forecast;
	struct map by_name;    // to places in `queued`
	struct { char *name; uint64_t jobs; } *queued; // the first one is shared by the batches beyond STORY_BATCHES
	size_t nqueued, queued_cap;
	struct buf latest, item; // the command that started last, and its first argument
};

static void touch(struct watch *watch) {
	int idle = IDLE;
	// seq_cst: either this sees IDLE, or watch_tick(), which looks at `dirty` behind setting IDLE, sees the change
	atomic_store(&watch->dirty, true);
	if (atomic_load(&watch->state) == IDLE && atomic_compare_exchange_strong(&watch->state, &idle, ARMED)) {
		run_wake(watch->run);
	}
}

// The same, where the event loop has to look at its clock again: the line is to come back before its next drawing is due.
static void draw_soon(struct watch *watch) {
	atomic_store(&watch->dirty, true);
	atomic_store(&watch->state, ARMED);
	run_wake(watch->run);
}

// ---- what happens ----

static void note_latest(struct watch *watch, const struct event_job_start *start) {
	buf_reset(&watch->latest);
	buf_reset(&watch->item);
	buf_add(&watch->latest, start->command, start->command_len);
	if (start->nargs > 0) {
		buf_adds(&watch->item, start->args);
	} else {
		buf_add(&watch->item, start->command, start->command_len);
	}
}

static void watch_tell(void *arg, const struct event *event) {
	struct watch *watch = arg;
	mutex_lock(&watch->lock);
	story_tell(watch->story, event);
	forecast_tell(watch->forecast, event);
	if (event->kind == EVENT_JOB_START && (watch->bar || watch->format)) {
		note_latest(watch, &event->u.job_start);
	}
	mutex_unlock(&watch->lock);
	if (watch->how == SHOWS_LINE && event->kind == EVENT_JOB_END) {
		atomic_store(&watch->job_end, now_ns());
		if (screen_cleared() > 0) {
			draw_soon(watch);
			return;
		}
	}
	if (watch->how != SHOWS_PLAIN) {
		touch(watch);
	}
}

// The place of the batch in `queued`; the lock is held.
static size_t place_of(struct watch *watch, const char *name) {
	uint32_t place = map_get(&watch->by_name, name, strlen(name));
	if (place != MAP_NONE || watch->nqueued > STORY_BATCHES) {
		return place != MAP_NONE ? place : 0;
	}
	grow_array(&watch->queued, &watch->queued_cap, watch->nqueued + 1, sizeof(*watch->queued));
	watch->queued[watch->nqueued].name = xstrdup(name);
	watch->queued[watch->nqueued].jobs = 0;
	map_add(&watch->by_name, watch->queued[watch->nqueued].name, strlen(name), (uint32_t)watch->nqueued);
	return watch->nqueued++;
}

void watch_queued(struct run *run, const struct batch *batch, ssize_t jobs) {
	struct watch *watch = run->watch;
	mutex_lock(&watch->lock);
	size_t place = place_of(watch, batch->name);
	watch->queued[place].jobs += (size_t)jobs;
	mutex_unlock(&watch->lock);
}

void watch_output(struct run *run) {
	if (run->watch->rows) {
		touch(run->watch);
	}
}

// ---- numbers ----

static uint64_t jobs_ended(const struct story_batch *batch) {
	return batch->ok + batch->failed + batch->cancelled + batch->skipped;
}

// Fills in the batch. With --resume the jobs that a manifest has are not those that will run.
static void look_at_batch(struct watch *watch, const struct story_batch *batch, struct status_batch *ret_batch) {
	bool known = batch->jobs >= 0 && watch->run->options->resume == RESUME_NOT;
	uint64_t queued = watch->queued[place_of(watch, batch->name)].jobs, ended = jobs_ended(batch);
	uint64_t jobs = known ? (uint64_t)batch->jobs : queued;
	*ret_batch = (struct status_batch){
		.name = batch->name[0] ? batch->name : "others",
		.finished = ended,
		.running = batch->running,
		.jobs = jobs > ended ? jobs : ended,
		.open = !known && !atomic_load_relaxed(&watch->run->all_read),
	};
}

static uint32_t place_in_story(const struct story *story, const char *name) {
	for (size_t i = 0; i < story->nbatches; ++i) {
		if (strcmp(story->batches[i].name, name) == 0) {
			return (uint32_t)i;
		}
	}
	return MAP_NONE; // one of very many
}

// Finds what the batches of a manifest need, once for as many as there are.
static void find_needs(struct watch *watch) {
	const struct story *story = watch->story;
	if (!watch->run->manifest || watch->nneeds_of == story->nbatches + 1) {
		return;
	}
	size_t n = 0;
	grow_array(&watch->needs_of, &watch->needs_of_cap, story->nbatches + 1, sizeof(*watch->needs_of));
	for (size_t i = 0; i < story->nbatches; ++i) {
		const struct manifest_batch *plan = manifest_find(watch->run->manifest, story->batches[i].name);
		watch->needs_of[i] = n;
		for (size_t k = 0; plan && k < plan->nneeds; ++k) {
			uint32_t place = place_in_story(story, plan->needs[k]->name);
			grow_array(&watch->needs, &watch->needs_cap, n + 1, sizeof(*watch->needs));
			watch->needs[n] = place;
			n += place != MAP_NONE;
		}
	}
	watch->needs_of[story->nbatches] = n;
	watch->nneeds_of = story->nbatches + 1;
}

static void guess(struct watch *watch, uint64_t now, struct status *status) {
	grow_array(&watch->guesses, &watch->guesses_cap, status->nbatches + 1, sizeof(*watch->guesses));
	find_needs(watch);
	for (size_t i = 0; i < status->nbatches; ++i) {
		struct forecast_batch *guess = &watch->guesses[i];
		*guess = (struct forecast_batch){.name = watch->story->batches[i].name, .jobs = status->batches[i].jobs};
		if (watch->run->manifest) {
			guess->needs = watch->needs + watch->needs_of[i];
			guess->nneeds = watch->needs_of[i + 1] - watch->needs_of[i];
		}
		guess->eta = FORECAST_UNKNOWN;
	}
	if (status->open || status->finished >= status->jobs) {
		return;
	}
	if (status->nbatches == 1) {
		watch->guesses[0].jobs = status->jobs; // --total-jobs
	}
	uint64_t eta = forecast_eta(watch->forecast, now, watch->run->slots, watch->guesses, status->nbatches);
	status->eta = eta == FORECAST_UNKNOWN ? STATUS_UNKNOWN : eta;
	for (size_t i = 0; i < status->nbatches; ++i) {
		watch->batches[i].eta = watch->guesses[i].eta == FORECAST_UNKNOWN ? STATUS_UNKNOWN : watch->guesses[i].eta;
	}
}

// The numbers of now; the lock is held, and what they borrow is good as long as it is.
static void look(struct watch *watch, uint64_t now, struct status *ret_status) {
	const struct story *story = watch->story;
	struct status status = {
		.started = forecast_started(watch->forecast),
		.failed = story->total.failed,
		.elapsed = now - watch->run->start,
		.eta = STATUS_UNKNOWN,
		.rate = forecast_rate(watch->forecast),
		.nbatches = story->nbatches,
		.latest = watch->latest.len > 0 ? buf_str(&watch->latest) : NULL,
		.item = watch->item.len > 0 ? buf_str(&watch->item) : NULL,
	};
	uint64_t mean = forecast_mean(watch->forecast);
	status.mean = mean == FORECAST_UNKNOWN ? STATUS_UNKNOWN : mean;
	grow_array(&watch->batches, &watch->batches_cap, story->nbatches + 1, sizeof(*watch->batches));
	for (size_t i = 0; i < story->nbatches; ++i) {
		struct status_batch *batch = &watch->batches[i];
		look_at_batch(watch, &story->batches[i], batch);
		status.finished += batch->finished;
		status.running += batch->running;
		status.jobs += batch->jobs;
		status.open = status.open || batch->open;
	}
	status.batches = watch->batches;
	status.open = status.open || (story->nbatches == 0 && !atomic_load_relaxed(&watch->run->all_read));
	uint64_t total = (uint64_t)watch->run->options->show.total_jobs;
	if (status.open && total >= status.jobs && total > 0) {
		status.jobs = total;
		status.open = false;
	}
	guess(watch, now, &status);
	*ret_status = status;
}

void watch_add_eta(const struct run *run, const char *batch, struct buf *buf) {
	struct watch *watch = run->watch;
	struct status status;
	if (!watch) {
		return;
	}
	mutex_lock(&watch->lock);
	look(watch, now_ns(), &status);
	uint32_t place = place_in_story(watch->story, batch);
	uint64_t eta = place != MAP_NONE ? watch->guesses[place].eta : FORECAST_UNKNOWN;
	if (eta != FORECAST_UNKNOWN) {
		buf_adds(buf, ", ETA ");
		status_add_time(buf, eta);
	}
	mutex_unlock(&watch->lock);
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
static const char *title(struct watch *watch, const struct status *status, uint64_t now) {
	struct buf text = BUF_INIT;
	int percent = status_percent(status);
	if (!watch->understands) {
		return NULL;
	}
	if (percent < 0) {
		buf_adds(&text, "\033]9;4;3;\033\\");
	} else {
		buf_printf(&text, "\033]9;4;%d;%d\033\\", status->failed > 0 ? 2 : 1, percent);
	}
	bool is_new = strcmp(buf_str(&text), buf_str(&watch->title)) != 0 || now - watch->titled >= TITLE_S * NS_PER_S;
	if (is_new) {
		buf_fini(&watch->title);
		watch->title = text;
		watch->titled = now;
		return buf_str(&watch->title);
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

struct rows {
	struct watch *watch;
	struct buf *text;
	unsigned columns, room, n;
};

static void add_row(void *arg, const struct child_view *view) {
	struct rows *rows = arg;
	if (rows->n >= rows->room) {
		return;
	}
	struct buf row = BUF_INIT, raw = BUF_INIT, shown = BUF_INIT;
	buf_adds(&raw, view->last ? view->last : view->label);
	for (char *at = raw.data; at && (at = strchr(at, '\t'));) {
		*at = ' ';
	}
	plain_add_output(&shown, buf_str(&raw), raw.len, SIZE_MAX);
	status_add_text(&row, buf_str(&shown), rows->watch->form.utf8);
	buf_fini(&raw);
	buf_fini(&shown);
	status_cut(&row, rows->columns, rows->watch->form.utf8);
	buf_printf(rows->text, "%s%s", rows->n++ > 0 ? "\n" : "", buf_str(&row));
	buf_fini(&row);
}

static void add_status(struct watch *watch, struct buf *text, const struct status *status) {
	if (watch->bar) {
		status_add_bar(text, status, &watch->form);
	} else if (watch->format) {
		status_add_format(text, watch->format, status, &watch->form);
	} else {
		status_add_line(text, status, &watch->form);
	}
}

// True if the status line is to be there, and not only the jobs' latest lines.
static bool wants_line(const struct watch *watch, uint64_t now) {
	return watch->line && (watch->asked || now - watch->run->start >= (uint64_t)LATE_MS * NS_PER_MS
	                       || watch->story->nbatches > 1 || watch->run->manifest);
}

static void draw(struct watch *watch, uint64_t now) {
	struct buf text = BUF_INIT;
	struct rows rows = {.watch = watch, .text = &text};
	struct status status;
	locale_t old = watch->locale ? uselocale(watch->locale) : (locale_t)0;
	measure(&rows.columns, &rows.room);
	watch->form.width = rows.columns;
	rows.room = rows.room > 2 ? rows.room - 2 : 1;
	if (watch->rows) {
		children_each(watch->run->children, add_row, &rows);
	}
	mutex_lock(&watch->lock);
	look(watch, now, &status);
	bool line = wants_line(watch, now);
	if (line) {
		buf_adds(&text, rows.n > 0 ? "\n" : "");
		add_status(watch, &text, &status);
	}
	mutex_unlock(&watch->lock);
	if (old) {
		uselocale(old);
	}
	watch->drawn = now;
	watch->all_read = atomic_load_relaxed(&watch->run->all_read);
	watch->tells_time = line && (watch->format && !watch->bar ? status_tells_time(watch->format) : status.eta != STATUS_UNKNOWN);
	watch->tells_time = watch->tells_time && !watch->hidden;
	watch->may_tell_time = line && !watch->hidden && (watch->bar || !watch->format);
	const char *prefix = line && !watch->hidden ? title(watch, &status, now) : NULL;
	if (rows.n + line == 0 || watch->hidden) {
		screen_clear(NULL);
	} else if (!screen_draw(prefix, buf_str(&text), rows.n + line) && prefix) {
		buf_reset(&watch->title); // it was not sent
	}
	buf_fini(&text);
}

// GNU parallel's form for `zenity --progress`, with the same ends of lines.
static void write_zenity(struct watch *watch, uint64_t now) {
	struct buf text = BUF_INIT;
	struct status status;
	mutex_lock(&watch->lock);
	look(watch, now, &status);
	int percent = status_percent(&status);
	buf_adds(&text, "\r#   ");
	status_add_time(&text, status.eta);
	buf_addc(&text, ' ');
	status_add_text(&text, status.item ? status.item : "", watch->form.utf8);
	buf_printf(&text, "\r%d\r", percent < 0 ? 0 : percent);
	mutex_unlock(&watch->lock);
	watch->drawn = now;
	if (write_all(STDERR_FILENO, text.data, text.len) != 0) {
		atomic_store_relaxed(&watch->run->trouble, true);
	}
	buf_fini(&text);
}

static void write_plain(struct watch *watch, uint64_t now) {
	struct buf text = BUF_INIT;
	struct status status;
	mutex_lock(&watch->lock);
	look(watch, now, &status);
	add_status(watch, &text, &status);
	mutex_unlock(&watch->lock);
	diag_note("%s", buf_str(&text));
	buf_fini(&text);
}

// ---- when ----

static uint64_t tick_plain(struct watch *watch, uint64_t now) {
	if (now >= watch->due) {
		write_plain(watch, now);
		watch->due += PLAIN_S * NS_PER_S;
		watch->due = watch->due > now ? watch->due : now + PLAIN_S * NS_PER_S; // this process was stopped meanwhile
	}
	return watch->due;
}

// When a line that tells time, or the terminal's progress, is to be drawn again.
static uint64_t next_by_time(const struct watch *watch) {
	uint64_t forecast = watch->run->start + (uint64_t)FORECAST_FROM_S * NS_PER_S; // perhaps nothing else happens then
	uint64_t next = watch->tells_time ? watch->drawn + (uint64_t)TIME_MS * NS_PER_MS
		: watch->may_tell_time && watch->drawn < forecast ? forecast : TIME_NEVER;
	uint64_t title = watch->title.len > 0 ? watch->titled + TITLE_S * NS_PER_S : TIME_NEVER;
	next = next < title ? next : title;
	return next != TIME_NEVER && screen_is_foreign() ? TIME_NEVER : next;
}

// The earliest drawing: what is over soon was not worth a line.
static uint64_t show_from(struct watch *watch) {
	mutex_lock(&watch->lock);
	bool soon = watch->story->nbatches > 1 || watch->run->manifest;
	mutex_unlock(&watch->lock);
	bool at_once = watch->asked || watch->rows;
	return watch->run->start + (at_once ? 0 : (uint64_t)(soon ? SOON_MS : LATE_MS) * NS_PER_MS);
}

// When a line that output has taken away is to come back: not with numbers that the end of the job which wrote it makes old
// at once.
static uint64_t back_at(struct watch *watch) {
	uint64_t cleared = screen_cleared(), job_end = atomic_load(&watch->job_end);
	if (cleared == 0) {
		return TIME_NEVER;
	}
	uint64_t latest = cleared + (uint64_t)(watch->run->options->output == OUTPUT_GROUP ? COUNTED_MS : LINES_MS) * NS_PER_MS;
	uint64_t counted = job_end >= cleared ? job_end + (uint64_t)NEXT_MS * NS_PER_MS : latest;
	uint64_t back = counted < latest ? counted : latest, earliest = watch->drawn + (uint64_t)REDRAW_MS * NS_PER_MS;
	return back > earliest ? back : earliest;
}

static uint64_t tick_armed(struct watch *watch, uint64_t now) {
	uint64_t next = watch->drawn == 0 ? show_from(watch) : watch->next, rest = watch->how == SHOWS_LINE ? screen_rest() : 0;
	uint64_t back = watch->drawn > 0 && watch->how == SHOWS_LINE ? back_at(watch) : TIME_NEVER;
	next = back < next ? back : next;
	next = rest > next ? rest : next;
	if (now < next) {
		return next;
	}
	if (atomic_exchange(&watch->dirty, false)) {
		(watch->how == SHOWS_ZENITY ? write_zenity : draw)(watch, now);
		return watch->next = now + watch->interval;
	}
	atomic_store(&watch->state, IDLE);
	int idle = IDLE;
	if (atomic_load(&watch->dirty) && atomic_compare_exchange_strong(&watch->state, &idle, ARMED)) {
		return now;
	}
	return TIME_NEVER;
}

uint64_t watch_tick(struct run *run, uint64_t now) {
	struct watch *watch = run->watch;
	if (!watch || watch->ended) {
		return TIME_NEVER;
	}
	if (watch->how == SHOWS_PLAIN) {
		return tick_plain(watch, now);
	}
	if (watch->drawn > 0 && (atomic_load_relaxed(&run->all_read) != watch->all_read || now >= next_by_time(watch))) {
		atomic_store(&watch->dirty, true);
		atomic_store(&watch->state, ARMED);
	}
	uint64_t next = atomic_load(&watch->state) == ARMED ? tick_armed(watch, now) : TIME_NEVER;
	uint64_t by_time = watch->drawn > 0 ? next_by_time(watch) : TIME_NEVER;
	return next < by_time ? next : by_time;
}

// ---- the terminal ----

static void on_cleared(void *arg) {
	draw_soon(arg);
}

void watch_suspend(struct run *run) {
	struct watch *watch = run->watch;
	if (watch && watch->how == SHOWS_LINE && !watch->ended) {
		screen_clear(watch->title.len > 0 ? no_title : NULL);
		buf_reset(&watch->title);
	}
}

void watch_resume(struct run *run) {
	if (run->watch && run->watch->how == SHOWS_LINE) {
		touch(run->watch);
	}
}

void watch_resized(struct run *run) {
	if (run->watch && run->watch->how == SHOWS_LINE) {
		screen_resized();
		touch(run->watch);
	}
}

void watch_toggle(struct run *run) {
	struct watch *watch = run->watch;
	if (watch && watch->how == SHOWS_LINE) {
		watch->hidden = !watch->hidden;
		watch_suspend(run);
		watch_resume(run);
	}
}

void watch_end(struct run *run) {
	struct watch *watch = run->watch;
	if (watch && !watch->ended && watch->how == SHOWS_LINE) {
		watch_suspend(run);
	} else if (watch && !watch->ended && watch->how == SHOWS_ZENITY) {
		write_zenity(watch, now_ns());
	}
	if (watch) {
		watch->ended = true;
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
static bool choose(struct watch *watch) {
	const struct options *options = watch->run->options;
	const struct status_options *show = &options->show;
	const char *term = getenv("TERM"), *env = getenv("FAIRPAR_PROGRESS");
	bool terminal = isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
	enum progress how = show->progress;
	watch->asked = show->bar || show->eta || show->progress_always || (show->progress_given && how == PROGRESS_TTY);
	if (!show->progress_given && !watch->asked) {
		if (env && *env && option_progress_parse(env, &how) != 0) {
			diag_warn("FAIRPAR_PROGRESS must be auto, tty, plain or none, not '%s'", diag_shows(env));
		}
		watch->asked = how == PROGRESS_TTY;
		how = options->quiet || (how == PROGRESS_AUTO && is_typed(options)) ? PROGRESS_NONE : how;
	}
	if (how == PROGRESS_AUTO && watch->asked) {
		how = terminal ? PROGRESS_TTY : PROGRESS_PLAIN;
	}
	bool quiet = options->dry_run || options->sem.is_on;
	bool raw = !watch->run->emit; // jobs write to the terminal themselves
	watch->how = how == PROGRESS_PLAIN ? (show->bar ? SHOWS_ZENITY : SHOWS_PLAIN) : SHOWS_LINE;
	watch->bar = show->bar;
	watch->rows = watch->how == SHOWS_LINE && show->latest_line && terminal;
	watch->line = how != PROGRESS_NONE;
	watch->understands = terminal && understands_progress(term);
	bool shows = watch->how != SHOWS_LINE || (terminal && !raw && (watch->line || watch->rows));
	return shows && !quiet;
}

static void choose_form(struct watch *watch) {
	const char *no_color = getenv("NO_COLOR"), *format = getenv("FAIRPAR_STATUS");
	watch->locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	watch->form.utf8 = watch->locale && strcmp(nl_langinfo_l(CODESET, watch->locale), "UTF-8") == 0;
	watch->form.colour = watch->how == SHOWS_LINE && !(no_color && *no_color);
	watch->form.details = watch->run->options->show.eta;
	watch->interval = (uint64_t)(watch->how == SHOWS_ZENITY ? ZENITY_MS : LINE_MS) * NS_PER_MS;
	watch->due = watch->run->start + PLAIN_S * NS_PER_S;
	struct buf bad = BUF_INIT;
	status_add_bad_letters(&bad, format ? format : "", watch->form.utf8);
	if (bad.len > 0) {
		diag_warn("FAIRPAR_STATUS: there is no %s", bad.data);
	}
	buf_fini(&bad);
	watch->format = format && status_says_something(format) ? format : NULL;
}

// Reads what jobs took in a former run. Returns 0, or -1 after a message.
static int learn(struct watch *watch, const char *path) {
	struct buf messages = BUF_INIT;
	bool is_next = option_log_is_eta(watch->run->options); // the first run of many has none before it
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		if (is_next && errno == ENOENT) {
			return 0;
		}
		diag_error("cannot read '%s': %s", diag_shows(path), strerror(errno));
		return -1;
	}
	struct stat stat;
	bool is_empty = fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_size == 0;
	int result = is_next && is_empty ? 0 : eventread(fd, path, forecast_learn, watch->forecast, &messages);
	close(fd);
	if (messages.len > 0 && screen_write(STDERR_FILENO, messages.data, messages.len) != 0) {
		result = -1;
	}
	buf_fini(&messages);
	return result;
}

int watch_open(struct run *run) {
	const char *log = run->options->show.eta_log;
	struct watch *watch = NEW(struct watch);
	watch->run = run;
	if (!choose(watch)) {
		screen_open_quiet(STDERR_FILENO);
		free(watch);
		return 0;
	}
	choose_form(watch);
	mutex_init(&watch->lock);
	watch->story = story_new();
	watch->forecast = forecast_new();
	(void)place_of(watch, "");
	run->watch = watch;
	if ((log && learn(watch, log) != 0)
	    || (watch->how == SHOWS_LINE && signals_add(run->signal_fd, SIGWINCH) != 0)) {
		return -1;
	}
	if (watch->how == SHOWS_LINE) {
		screen_open(STDERR_FILENO, on_cleared, watch);
	} else {
		screen_open_quiet(STDERR_FILENO);
	}
	telling_listen(run, watch_tell, watch, 0);
	return 0;
}

void watch_close(struct run *run) {
	struct watch *watch = run->watch;
	if (!watch) {
		return;
	}
	watch_end(run);
	run->watch = NULL;
	story_free(watch->story);
	forecast_free(watch->forecast);
	map_fini(&watch->by_name);
	for (size_t i = 0; i < watch->nqueued; ++i) {
		free(watch->queued[i].name);
	}
	free(watch->queued);
	free(watch->batches);
	free(watch->guesses);
	free(watch->needs);
	free(watch->needs_of);
	buf_fini(&watch->title);
	buf_fini(&watch->latest);
	buf_fini(&watch->item);
	if (watch->locale) {
		freelocale(watch->locale);
	}
	mutex_fini(&watch->lock);
	free(watch);
}
