// The slots of a run, shared with other programs by GNU make's jobserver.

#include "sharing/jobserver_slots.h"

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/sync.h"
#include "base/text.h"
#include "cli/options.h"
#include "engine/pool.h"
#include "process/context.h"
#include "process/guardian.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct jobserver_slots {
	struct jobserver jobserver;
	bool serves;               // the run is the server; false: a client
	struct children *children;
	struct pool *pool;
	int wake_fd;               // wakes the event loop
	char *bare_flags;          // $MAKEFLAGS for jobs that take no slot: without the jobserver
	atomic_bool changed;       // jobserver_slots_tick() is to take tokens or put them back, if needed
	unsigned most;             // the most slots that the run may have
	bool polls;                // for the event loop: it polls for tokens, because there is work for more slots

	// a client
	mutex lock;                // guards `held`; the worker pool has one slot more than `held` has tokens
	struct held_tokens *held;  // the tokens that the run has, in the memory that is shared with the guardian

	// a server
	struct jobserver_spare *spare; // with --pool: lends spare slots of the pool as tokens; else NULL
	unsigned out;              // for the event loop: number of slots that are tokens now, in the pipe or with jobs
	atomic_uint running;       // number of attempts that run and take a slot, whose jobs may take tokens
	atomic_uint_least64_t begun; // how many of these attempts have begun so far
};

void jobserver_slots_check(struct jobserver_slots *slots) {
	atomic_store_release(&slots->changed, true); // pairs with the exchange of the event loop
	wakeup_post(slots->wake_fd);
}

// ---- jobs ----

// Puts `n` tokens back, or all if there are fewer. Returns how many. With the lock.
static unsigned put_held(struct jobserver_slots *slots, unsigned n) {
	unsigned held = atomic_load_relaxed(&slots->held->n);
	n = n < held ? n : held;
	for (unsigned i = 0; i < n; ++i) {
		jobserver_put(&slots->jobserver, slots->held->bytes[--held]);
		atomic_store_release(&slots->held->n, held); // pairs with the acquire of the guardian
	}
	return n;
}

// Called when a job has ended. If the pipe is empty, other clients may be waiting for a token: puts one token back for them. Returns
// whether a token was put back.
static bool offer_token(struct jobserver_slots *slots) {
	FP_HOLD(&slots->lock);
	bool offers = atomic_load_relaxed(&slots->held->n) > 0 && jobserver_is_empty(&slots->jobserver) && put_held(slots, 1) > 0;
	if (offers) {
		pool_add_slots(slots->pool, -1);
	}
	return offers;
}

void jobserver_slots_begin(struct jobserver_slots *slots) {
	if (slots && slots->serves) {
		atomic_fetch_add(&slots->running, 1);
		atomic_fetch_add(&slots->begun, 1);
		jobserver_slots_check(slots); // while a job runs, slots without work become tokens
	}
}

void jobserver_slots_end(struct jobserver_slots *slots) {
	if (slots && (slots->serves ? atomic_fetch_sub(&slots->running, 1) == 1 : offer_token(slots))) {
		jobserver_slots_check(slots);
	}
}

const char *jobserver_slots_bare_flags(const struct jobserver_slots *slots) {
	return slots->bare_flags;
}

void jobserver_slots_set_children(struct jobserver_slots *slots, struct children *children) {
	slots->children = children;
	if (slots->jobserver.path) {
		guardian_unlink_if_killed(children_guardian(children), slots->jobserver.path);
	}
	if (slots->spare) {
		guardian_keep(GUARDIAN_SPARE, jobserver_spare_fd(slots->spare));
	} else if (!slots->serves) {
		slots->held = &children_guardian(children)->table->tokens;
		guardian_keep(GUARDIAN_TOKENS, slots->jobserver.out_fd);
	}
}

// ---- tokens of a client ----

// Takes at most `n` tokens, and gives the run a slot for each. Returns how many.
static unsigned take_held(struct jobserver_slots *slots, unsigned n) {
	unsigned taken = 0;
	bool more = n > 0;
	if (more) {
		children_start_guardian(slots->children); // the guardian must run before the first token is taken
	}
	FP_HOLD(&slots->lock);
	while (more && taken < n) {
		unsigned at = atomic_load_relaxed(&slots->held->n);
		slots->held->bytes[at] = '+';
		atomic_store_release(&slots->held->n, at + 1); // pairs with the acquire of the guardian
		more = jobserver_take(&slots->jobserver, &slots->held->bytes[at]);
		if (!more) {
			atomic_store_release(&slots->held->n, at); // pairs with the acquire of the guardian
		}
		taken += more;
	}
	if (taken > 0) {
		pool_add_slots(slots->pool, (int)taken);
	}
	return taken;
}

// Puts the tokens of surplus slots back. The run's own slot stays, even if it is surplus.
static void put_surplus_of_client(struct jobserver_slots *slots) {
	FP_HOLD(&slots->lock);
	unsigned n = pool_drop_surplus(slots->pool), put = put_held(slots, n);
	if (put < n) {
		pool_add_slots(slots->pool, (int)(n - put));
	}
}

// ---- tokens of a server ----

static unsigned take_out(struct jobserver_slots *slots, unsigned n) {
	char token;
	unsigned taken = 0;
	while (taken < n && jobserver_take(&slots->jobserver, &token)) {
		++taken;
	}
	return taken;
}

static void put_surplus_of_server(struct jobserver_slots *slots) {
	unsigned n = pool_drop_surplus(slots->pool);
	slots->out += n;
	for (; n > 0; --n) {
		jobserver_put(&slots->jobserver, '+');
	}
}

static void warn_of_missing(int missing) {
	if (missing > 0) {
		diag_warn("jobs have not given back %d of the slots that they took from the jobserver", missing);
	} else if (missing < 0) {
		diag_warn("jobs have put %d slots into the jobserver that they had not taken out", -missing);
	}
}

// Takes all tokens back when no job runs: all tokens should then be in the pipe, and no slot needs to be a token. If a job has
// begun meanwhile, takes back only the tokens that were found in the pipe.
static void audit(struct jobserver_slots *slots) {
	uint64_t begun = atomic_load(&slots->begun);
	unsigned found = take_out(slots, UINT_MAX), out = slots->out;
	bool all = atomic_load(&slots->running) == 0 && atomic_load(&slots->begun) == begun;
	unsigned back = all || found > out ? out : found;
	slots->out -= back;
	if (back > 0) {
		pool_add_slots(slots->pool, (int)back);
	}
	if (all || found > out) {
		warn_of_missing((int)out - (int)found);
	}
}

// ---- the event loop ----

// Takes as many tokens as there is work for. Returns how many slots the run has gained.
static unsigned take_wanted(struct jobserver_slots *slots) {
	unsigned has = slots->serves ? slots->most - slots->out : 1 + atomic_load_relaxed(&slots->held->n);
	unsigned wanted = pool_demand(slots->pool, slots->most > has ? slots->most - has : 0);
	unsigned n = slots->serves ? take_out(slots, wanted) : take_held(slots, wanted);
	slots->polls = n < wanted;
	if (slots->serves && n > 0) {
		slots->out -= n;
		pool_add_slots(slots->pool, (int)n);
	}
	return n;
}

static void tick_spare(struct jobserver_slots *slots) {
	uint64_t begun = atomic_load(&slots->begun);
	bool offers = atomic_load(&slots->running) > 0;
	if (jobserver_spare_tick(slots->spare, offers)) {
		guardian_keep_from_now(children_guardian(slots->children), GUARDIAN_SPARE, jobserver_spare_fd(slots->spare));
	}
	if (!offers && atomic_load(&slots->begun) == begun) {
		warn_of_missing(jobserver_spare_reset(slots->spare));
	}
}

void jobserver_slots_tick(struct jobserver_slots *slots, bool readable) {
	if (!slots || (!atomic_exchange(&slots->changed, false) && !readable)) {
		return;
	}
	if (slots->spare) {
		tick_spare(slots);
		return;
	}
	do {
		if (!slots->serves) {
			put_surplus_of_client(slots);
		} else if (atomic_load(&slots->running) > 0) {
			put_surplus_of_server(slots);
		} else if (slots->out > 0) {
			audit(slots);
		}
	} while (take_wanted(slots) > 0); // if tokens were taken, looks again: the work for the new slots may have gone meanwhile
}

int jobserver_slots_fd(const struct jobserver_slots *slots, unsigned which) {
	if (slots && slots->spare) {
		return which == 0 ? jobserver_spare_fd(slots->spare) : jobserver_spare_token_fd(slots->spare);
	}
	return slots && which == 0 && slots->polls ? slots->jobserver.in_fd : -1;
}

// ---- opening and closing ----

static struct jobserver_slots *open_slots(const struct jobserver *jobserver) {
	struct jobserver_slots *slots = NEW(struct jobserver_slots);
	slots->jobserver = *jobserver;
	mutex_init(&slots->lock, LOCK_JOBSERVER);
	slots->bare_flags = jobserver_set_flags(getenv("MAKEFLAGS"), NULL);
	return slots;
}

static const char *level_of(const char *variable) {
	const char *level = getenv(variable);
	return level && level[0] ? level : "0";
}

// True if this process was started in a job of a fairpar, without a make in between. make increments $MAKELEVEL for each recipe, and
// a run tells its jobs the level that it had itself.
static bool is_below_a_run(void) {
	const char *sock = getenv("FAIRPAR_SOCK"), *lease = getenv("FAIRPAR_LEASE");
	bool has_parent = (sock && sock[0]) || (lease && lease[0]);
	return has_parent && (!getenv("FAIRPAR_MAKELEVEL") || strcmp(level_of("FAIRPAR_MAKELEVEL"), level_of("MAKELEVEL")) == 0);
}

// Connects to the jobserver that the variable names. Returns NULL with *ret_error 0 if no jobserver is named, or an errno if it cannot be used.
static struct jobserver_slots *connect_by(const char *variable, struct jobserver_flags *ret_flags, int *ret_error) {
	struct jobserver jobserver;
	jobserver_parse(getenv(variable), ret_flags);
	bool is_named = ret_flags->form != JOBSERVER_NONE, is_open = is_named && jobserver_connect(ret_flags, &jobserver) == 0;
	*ret_error = is_named && !is_open ? errno : 0;
	return is_open ? open_slots(&jobserver) : NULL;
}

static char *say_why(const struct jobserver_flags *flags, int error) {
	struct buf why = BUF_INIT;
	if (error == EBADF) {
		buf_printf(&why, "make's jobserver, descriptors %d and %d, is not open here: add '+' in front of the recipe line",
		           flags->read_fd, flags->write_fd);
	} else if (error == EINVAL && flags->form == JOBSERVER_PIPE) {
		buf_printf(&why, "descriptors %d and %d are not the pipe of make's jobserver here: add '+' in front of the recipe line, and do "
		           "not redirect them", flags->read_fd, flags->write_fd);
	} else if (error == EINVAL) {
		buf_printf(&why, "cannot use make's jobserver '%s': it is not a FIFO", text_shows(flags->path));
	} else if (error == ENOTSUP) {
		buf_adds(&why, "make's jobserver has an unknown form");
	} else {
		buf_printf(&why, "cannot use make's jobserver%s%s%s: %s", flags->path ? " '" : "", flags->path ? text_shows(flags->path) : "",
		           flags->path ? "'" : "", strerror(error));
	}
	return buf_take(&why);
}

enum jobserver_found jobserver_slots_connect(const struct options *options, unsigned *ret_most, struct jobserver_slots **ret_slots,
                                             char **ret_why) {
	struct jobserver_flags flags;
	int error, ignored;
	*ret_why = NULL;
	*ret_slots = NULL;
	if (options->pool.no_inherit || options->given[OPT_POOL] || is_below_a_run()) {
		return JOBSERVER_ABSENT;
	}
	*ret_slots = connect_by("MAKEFLAGS", &flags, &error);
	if (error) {
		*ret_why = say_why(&flags, error);
	}
	if (!*ret_slots) { // cargo names its own jobserver in CARGO_MAKEFLAGS
		jobserver_flags_fini(&flags);
		*ret_slots = connect_by("CARGO_MAKEFLAGS", &flags, &ignored);
	}
	*ret_most = flags.jobs;
	jobserver_flags_fini(&flags);
	return *ret_slots ? JOBSERVER_CLIENT : error ? JOBSERVER_CLOSED : JOBSERVER_ABSENT;
}

void jobserver_slots_hide(struct context *context) {
	static const char *const variables[] = {"MAKEFLAGS", "CARGO_MAKEFLAGS"};
	for (unsigned i = 0; i < 2; ++i) {
		struct jobserver_flags flags;
		jobserver_parse(getenv(variables[i]), &flags);
		if (flags.form != JOBSERVER_NONE) {
			FP_CLEANUP(free_later) char *bare = jobserver_set_flags(getenv(variables[i]), NULL);
			context_set_env(context, variables[i], bare);
		}
		jobserver_flags_fini(&flags);
	}
}

void jobserver_slots_mark_level(struct context *context) {
	context_set_env(context, "FAIRPAR_MAKELEVEL", level_of("MAKELEVEL"));
}

struct jobserver_slots *jobserver_slots_serve(const struct options *options, struct context *context, const char *dir, bool in_shared_pool) {
	struct jobserver jobserver;
	if (jobserver_server_open(options, context, dir, &jobserver) != 0) {
		return NULL;
	}
	struct jobserver_slots *slots = open_slots(&jobserver);
	slots->serves = true;
	if (in_shared_pool && !(slots->spare = jobserver_spare_open(options, &slots->jobserver))) {
		jobserver_slots_close(slots);
		return NULL;
	}
	return slots;
}

void jobserver_slots_attach(struct jobserver_slots *slots, struct pool *pool, unsigned most, int wake_fd) {
	slots->pool = pool;
	slots->most = most <= TOKENS_MOST ? most : TOKENS_MOST;
	slots->wake_fd = wake_fd;
	if (!slots->serves) {
		pool_add_slots(pool, 1 - (int)most);
	}
	atomic_store_relaxed(&slots->changed, true);
}

void jobserver_slots_return(struct jobserver_slots *slots) {
	if (slots && slots->held) { // no lock: no other thread runs now
		(void)put_held(slots, UINT_MAX);
	}
	if (slots && slots->serves && !slots->spare) { // while `out` is 0, audit() does not notice tokens that jobs put in
		unsigned found = take_out(slots, UINT_MAX);
		warn_of_missing(found > slots->out ? (int)slots->out - (int)found : 0);
	}
}

void jobserver_slots_close(struct jobserver_slots *slots) {
	if (slots) {
		jobserver_spare_close(slots->spare);
		jobserver_close(&slots->jobserver);
		mutex_fini(&slots->lock);
		free(slots->bare_flags);
		free(slots);
	}
}
