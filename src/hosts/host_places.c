// How many slots there are, which host each attempt gets, and batches that may use only some hosts.

#include "hosts/hosts_internal.h"

#include "base/alloc.h"
#include "base/units.h"

#include <limits.h>
#include <stdlib.h>

static unsigned least(unsigned a, unsigned b) {
	return a < b ? a : b;
}

static unsigned free_slots(const struct host *host) {
	return host->nalone == 0 && host->slots > host->used ? host->slots - host->used : 0;
}

// Moves the host to the list for its share of free slots, after its free slots have changed. With the lock.
static void note_free(struct host *host) {
	list_remove(&host->open);
	if (free_slots(host) > 0) {
		list_push_back(&host->hosts->open[free_slots(host) * SHARES / host->slots], &host->open);
	}
}

static bool may_use(const struct host *host, const struct hosts_request *request) {
	return (!request->binding || hosts_binding_has(request->binding, host)) && (!request->only || request->only == host);
}

static unsigned tries_on(const struct host *host, const struct hosts_request *request) {
	unsigned n = 0;
	for (size_t i = 0; request->tries && i < request->tries->n; ++i) {
		n += request->tries->logins[i] == host->node;
	}
	return n;
}

static bool accepts(const struct host *host, const struct hosts_request *request) {
	return may_use(host, request) && tries_on(host, request) <= request->fewest;
}

// How many slots of the host the attempt needs. With the lock.
static unsigned slots_needed(const struct host *host, const struct hosts_request *request) {
	return request->is_alone ? host->slots : least(request->width, host->slots);
}

// Whether the attempt needs several slots, which become free one by one.
static bool needs_several(const struct hosts_request *request) {
	return request->is_alone || request->width > 1;
}

// Whether the attempt lends its slot of the pool while it waits, because it may use only some hosts, and slots on other hosts may be free.
static bool lends_slot(const struct hosts_request *request) {
	return request->binding || request->only || (request->tries && request->tries->n > 0);
}

static bool is_coming(const struct host *host) {
	return host->state == HOST_CONNECTING && !host->login->is_pilot && !host->was_up && !host->is_removed;
}

// Returns how often the job was tried on the host where it was tried least, of the hosts that it may use. Only hosts with so few tries are accepted.
static unsigned fewest_tries(const struct hosts *hosts, const struct hosts_request *request) {
	unsigned fewest = UINT_MAX;
	if (!request->tries || request->tries->n == 0) {
		return 0;
	}
	for_each_host(hosts, host) {
		if ((host->slots > 0 ? host->state != HOST_HELD : is_coming(host)) && may_use(host, request)) {
			fewest = least(fewest, tries_on(host, request));
		}
	}
	return fewest;
}

// Returns how many free slots the attempt may take: some are kept free for waiting attempts that accept only some hosts.
static unsigned slots_available(const struct host *host, const struct hosts_request *request) {
	unsigned free = free_slots(host), kept = 0;
	if (!lends_slot(request)) {
		list_for_each_entry(&host->hosts->requests, const struct hosts_request, other, link) {
			kept += lends_slot(other) && accepts(host, other) ? other->width : 0;
		}
	}
	return kept < free ? free - kept : 0;
}

static bool is_reserved(const struct host *host, const struct hosts_request *request) {
	bool is = false;
	list_for_each_entry(&host->hosts->requests, const struct hosts_request, other, link) {
		is = is || (other != request && other->reserved == host);
	}
	return is;
}

// Whether the attempt is to wait for hosts that are being connected, rather than take a slot of `best`. It is to wait if `best` has more slots in use
// than attempts wait for each of these hosts already, and there are too few jobs to fill as many slots on each as `best` has. With the lock.
static bool waits_for_others(struct hosts *hosts, const struct host *best, const struct hosts_request *request) {
	unsigned coming = 0, others = 0;
	if (hosts->spread_until == 0) {
		return false;
	}
	for_each_host(hosts, host) {
		coming += is_coming(host) && may_use(host, request);
	}
	if (coming == 0) {
		hosts->spread_until = request->binding || request->only ? hosts->spread_until : 0;
		return false;
	}
	list_for_each_entry(&hosts->requests, const struct hosts_request, other, link) {
		others += other != request && other->is_spread;
	}
	return best->used > others / coming && pool_demand(hosts->pool, coming * best->slots) < coming * best->slots;
}

// Among the hosts that have enough free slots and are not reserved for another attempt, returns the host with the greatest share of free slots.
// Returns NULL if there is no such host, or the attempt is to wait for hosts that are being connected. With the lock.
static struct host *choose(struct hosts *hosts, struct hosts_request *request) {
	struct host *best = NULL;
	request->fewest = fewest_tries(hosts, request);
	for (unsigned share = SHARES + 1; share-- > 0 && !best;) {
		list_for_each_entry(&hosts->open[share], struct host, host, open) {
			if (host->state != HOST_HELD && accepts(host, request) && slots_available(host, request) >= slots_needed(host, request) &&
			    !is_reserved(host, request)) {
				best = host;
				break;
			}
		}
	}
	request->is_spread = best && !needs_several(request) && waits_for_others(hosts, best, request);
	return request->is_spread ? NULL : best;
}

// Reserves a host for an attempt that needs several slots. Otherwise attempts that need one slot would always take the slots first. Returns whether a
// host that had been reserved for this attempt is now free for other attempts. With the lock.
static bool reserve_host(struct hosts *hosts, struct hosts_request *request) {
	const struct host *before = request->reserved, *best = NULL;
	if (before && before->slots > 0 && accepts(before, request)) {
		return false;
	}
	for_each_host(hosts, host) {
		bool fits = best && best->slots >= request->width, would_fit = host->slots >= request->width;
		if (host->slots > 0 && accepts(host, request) && !is_reserved(host, request) &&
		    (!best || (fits != would_fit ? would_fit : free_slots(host) > free_slots(best)))) {
			best = host;
		}
	}
	request->reserved = best;
	return before;
}

// Returns the first of the hosts that the attempt may use, if none of these can be reached; else NULL. With the lock.
static const struct sshlogin *find_unreachable(const struct hosts *hosts, const struct hosts_request *request) {
	const struct sshlogin *gone = NULL;
	for_each_host(hosts, host) {
		if (may_use(host, request)) {
			bool is_unreachable = host->state == HOST_UNREACHABLE || host->state == HOST_ENDED;
			if (!host->is_removed && (!is_unreachable || (host->was_up && hosts->machines == 0))) {
				return NULL; // the host may still be connected
			}
			gone = gone ? gone : host->login;
		}
	}
	return gone;
}

// Gives the pool more slots, or takes some back (`slots` below 0). With the lock.
static void add_slots(struct hosts *hosts, int slots) {
	if (hosts->pool && hosts->machines == 0 && slots != 0) {
		pool_add_slots(hosts->pool, slots);
	}
}

// With the lock.
static bool may_use_pilots(const struct hosts *hosts, const struct hosts_request *request) {
	return hosts->npilots > 0 && !request->only && may_use(hosts->hosts[hosts->first_pilot], request);
}

unsigned hosts_pilots_wanted(const struct hosts *hosts) {
	unsigned slots = 0;
	list_for_each_entry(&hosts->requests, const struct hosts_request, request, link) {
		slots += may_use_pilots(hosts, request) ? request->width : 0;
	}
	return slots;
}

void hosts_withdraw_request(struct hosts *hosts, struct hosts_request *request) {
	if (!list_is_empty(&request->link)) {
		list_remove(&request->link);
		add_slots(hosts, lends_slot(request) && !request->only ? -(int)request->width : 0); // a loan lends its slot by pool_lend()
	}
}

static void take_slots_of(const struct hosts_place *place) {
	place->host->used += place->width;
	place->host->nalone += place->is_alone;
	note_free(place->host);
}

// Answers the request, if it can be answered now. Returns false if the request has to wait. With the lock.
static bool answer(struct hosts *hosts, struct hosts_request *request) {
	struct host *host = NULL;
	if (atomic_load_relaxed(&hosts->ending) != HOSTS_RUN) {
		request->answer = HOSTS_REFUSED;
	} else if ((host = choose(hosts, request))) {
		request->answer = HOSTS_PLACE;
		request->place = (struct hosts_place){
			.host = host, .login = host->node, .is_remote = host->node->kind != SSHLOGIN_LOCAL, .width = slots_needed(host, request),
			.is_alone = request->is_alone,
		};
		take_slots_of(&request->place);
		if (!request->place.is_remote && options_watch_machine(hosts->options)) {
			host->state = HOST_HELD; // until hosts_brake_here(), because the load does not show the new job yet
		}
	} else if (request->only && request->only->slots == 0) {
		request->answer = HOSTS_REFUSED; // the machine of the loan was lost or removed
	} else if (request->binding && (request->gone = find_unreachable(hosts, request))) {
		request->answer = HOSTS_UNREACHABLE;
	} else {
		return false;
	}
	return true;
}

void hosts_answer_requests(struct hosts *hosts) {
	bool again; // look at all requests again: slots or a host that were kept for one request are now free for the other requests
	do {
		again = false;
		list_for_each_entry(&hosts->requests, struct hosts_request, request, link) {
			if (answer(hosts, request)) {
				again = again || lends_slot(request) || request->reserved;
				hosts_withdraw_request(hosts, request);
				pool_resume(request->worker); // from now on the request may be freed at any time
			} else if (needs_several(request)) {
				again = reserve_host(hosts, request) || again;
			}
		}
	} while (again);
}

bool hosts_request_place(struct hosts *hosts, struct hosts_request *request) {
	FP_HOLD(&hosts->lock);
	list_init(&request->link);
	if (answer(hosts, request)) {
		return true;
	}
	list_push_back(&hosts->requests, &request->link);
	add_slots(hosts, lends_slot(request) && !request->only ? (int)request->width : 0);
	if (may_use_pilots(hosts, request)) {
		hosts_starving(hosts);
	}
	if (needs_several(request)) {
		(void)reserve_host(hosts, request); // no host was reserved before, so none becomes free
	}
	return false;
}

bool hosts_have_answered(struct hosts *hosts, const struct hosts_request *request) {
	FP_HOLD(&hosts->lock);
	return list_is_empty(&request->link);
}

// ---- how many slots there are ----

// Returns how many slots the options give the machine of the login; 0: they give it no number, and its worker decides.
static unsigned configured_slots(const struct hosts *hosts, const struct sshlogin *login) {
	char jobs[SSHLOGIN_JOBS_TEXT];
	long slots = 0;
	if (hosts->machines > 0) {
		return 1;
	}
	if (sshlogin_jobs(login, hosts->options->jobs, jobs) != 0 || parse_number(jobs, 0, LONG_MAX, &slots) != 0) {
		return 0;
	}
	return slots < HOST_SLOTS_MOST ? (unsigned)slots : HOST_SLOTS_MOST;
}

unsigned hosts_slots_or_default(const struct hosts *hosts, const struct sshlogin *login) {
	unsigned given = configured_slots(hosts, login);
	return given > 0 ? given : hosts->here;
}

// Returns the number that host.slots is to become.
static unsigned target_slots(const struct host *host) {
	unsigned given = configured_slots(host->hosts, host->listed);
	// if the list has changed since the worker began, it may even give more slots than the worker offers; but a worker with -j auto refuses these
	bool adapts = options_jobs_auto(host->hosts->options) && host->login->cpus == 0;
	bool may_give = (host->listed->cpus != host->login->cpus && !adapts) || given < host->offered;
	return host->is_removed || host->offered == 0 ? 0 : (unsigned)u64_minus(given > 0 && may_give ? given : host->offered, host->stuck);
}

void host_set_slots(struct host *host) {
	struct hosts *hosts = host->hosts;
	unsigned before = host->slots, pooled = host->pooled;
	bool were_slots = hosts->slots > 0;
	host->slots = target_slots(host);
	host->pooled = host->slots > host->used ? host->slots : host->used;
	note_free(host);
	hosts->slots += host->slots - before;
	if ((hosts->slots > 0) != were_slots) {
		atomic_store_relaxed(were_slots ? &hosts->down_since : &hosts->up_since, now_ns());
	}
	hosts_answer_requests(hosts);
	add_slots(hosts, (int)host->pooled - (int)pooled);
	if (host->slots != before) {
		hosts_limit_queues(hosts);
	}
}

// ---- -j auto ----

void host_adapt(struct host *host, uint64_t slots, enum controller_reason reason) {
	if (host->offered == 0) {
		return; // the worker has said goodbye
	}
	host->offered = slots < HOST_SLOTS_MOST ? (unsigned)slots : HOST_SLOTS_MOST;
	host->adapted = reason;
	host_set_slots(host);
	atomic_store(&host->hosts->has_adapted, true); // pairs with the exchange in hosts_report_slots()
	wakeup_post(host->hosts->wake_fd); // the event loop calls hosts_report_slots()
}

struct host *hosts_find_here(const struct hosts *hosts) {
	for_each_host(hosts, host) {
		if (host->login->kind == SSHLOGIN_LOCAL) { // true for at most one host of the list
			return host;
		}
	}
	return NULL;
}

bool hosts_adapts_here(const struct hosts *hosts) {
	const struct host *host = hosts_find_here(hosts);
	return host && configured_slots(hosts, host->login) == 0;
}

void hosts_adapt_here(struct hosts *hosts, unsigned slots, enum controller_reason reason) {
	FP_HOLD(&hosts->lock);
	host_adapt(hosts_find_here(hosts), slots, reason);
}

unsigned hosts_used_here(struct hosts *hosts) {
	FP_HOLD(&hosts->lock);
	return hosts_find_here(hosts)->used;
}

void hosts_report_slots(struct hosts *hosts, void (*fn)(void *arg, unsigned slots, const char *why), void *arg) {
	if (!hosts || !atomic_exchange(&hosts->has_adapted, false)) {
		return;
	}
	FP_HOLD(&hosts->lock);
	for_each_host(hosts, host) {
		if (host->adapted != CONTROLLER_KEPT) {
			FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
			buf_printf(&why, "%s: %s", sshlogin_shown(host->node), controller_reason_name(host->adapted));
			host->adapted = CONTROLLER_KEPT;
			fn(arg, hosts->slots, buf_str(&why));
		}
	}
}

void host_release_removed(struct host *host) {
	if (host->is_removed && host->is_served && host->used == 0 && (host->hosts->options->nbasefiles == 0 || !host->hosts->options->cleans_up)) {
		host_want(host, false); // with base files to remove, the worker is needed until the run ends
	}
}

// ---- places that are free again ----

// With the lock.
static void free_slots_of(const struct hosts_place *place) {
	struct host *host = place->host;
	host->used -= place->width;
	host->nalone -= place->is_alone;
	note_free(host);
	if (host->login->is_pilot && host->used == 0) {
		host->idle_since = now_ns();
	}
	if (host->pooled > host->slots) {
		host_set_slots(host);
	}
	host_release_removed(host);
	hosts_answer_requests(host->hosts);
}

void hosts_release_place(struct hosts *hosts, const struct hosts_place *place) {
	FP_HOLD(&hosts->lock);
	free_slots_of(place);
}

static void lend_place(const struct hosts_place *place, bool lends) {
	if (lends) {
		free_slots_of(place);
	} else {
		take_slots_of(place);
	}
}

void hosts_lend_place(struct hosts *hosts, const struct hosts_place *place, bool lends) {
	FP_HOLD(&hosts->lock);
	lend_place(place, lends);
}

void hosts_doubt_place(const struct hosts_place *place, bool begins) {
	lend_place(place, begins); // after the doubt, takes the slots back even if other attempts use them: the place is released soon
	add_slots(place->host->hosts, begins ? (int)place->width : -(int)place->width);
}

uint64_t hosts_downtime(const struct hosts *hosts, uint64_t since, uint64_t until) {
	uint64_t down = atomic_load_relaxed(&hosts->down_since), up = atomic_load_relaxed(&hosts->up_since);
	return u64_minus(up < until ? up : until, down > since ? down : since);
}

// ---- batches of some hosts ----

struct hosts_binding *hosts_bind(struct hosts *hosts, const struct sshlogin *login, const char *const *names, size_t n) {
	struct hosts_binding *binding = NEW(struct hosts_binding);
	*binding = (struct hosts_binding){.hosts = hosts, .login = login, .names = names, .nnames = n, .width = 1};
	FP_HOLD(&hosts->lock);
	list_push_back(&hosts->bindings, &binding->link);
	return binding;
}

bool hosts_binding_has(const struct hosts_binding *binding, const struct host *host) {
	bool has = binding->login == host->login;
	for (size_t i = 0; i < binding->nnames && !has; ++i) {
		has = sshlogin_matches(host->listed, binding->names[i]);
	}
	return has;
}

void hosts_unbind(struct hosts_binding *binding) {
	if (binding) {
		FP_HOLD(&binding->hosts->lock);
		list_remove(&binding->link);
		free(binding);
	}
}

// Limits each queue to as many items as its hosts have slots for: further items would only hold slots of the pool while they wait.
void hosts_limit_queues(const struct hosts *hosts) {
	list_for_each_entry(&hosts->bindings, struct hosts_binding, binding, link) {
		struct queue_attrs attrs = binding->attrs;
		unsigned slots = 0;
		for_each_host(hosts, host) {
			slots += hosts_binding_has(binding, host) ? host->slots : 0;
		}
		unsigned most = slots > binding->width ? slots / binding->width : 1;
		attrs.max_parallel = attrs.max_parallel > 0 ? least(attrs.max_parallel, most) : most;
		if (binding->queue && hosts->pool) {
			queue_set(hosts->pool, binding->queue, &attrs);
		}
	}
}

void hosts_set_queue(struct hosts_binding *binding, struct queue *queue, const struct queue_attrs *attrs, unsigned width) {
	if (binding) {
		FP_HOLD(&binding->hosts->lock);
		binding->queue = queue;
		binding->attrs = *attrs;
		binding->width = width > 1 ? width : 1;
		hosts_limit_queues(binding->hosts);
	}
}
