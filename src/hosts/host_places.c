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
	return host->slots > host->used ? host->slots - host->used : 0;
}

static bool may_use(const struct host *host, const struct hosts_request *request) {
	return !request->binding || hosts_binding_has(request->binding, host);
}

// An attempt that wants a place.
struct waiter {
	struct list link;          // of hosts.waiters, while it waits
	const struct hosts_request *request;
	unsigned fewest;           // the attempt accepts only hosts on which its job was tried at most this often
	bool is_spread;            // the attempt waits for hosts that are being connected
	const struct host *reserved; // the attempt waits for several slots of this host, which nobody else gets meanwhile; or NULL
};

static unsigned tries_on(const struct host *host, const struct hosts_request *request) {
	unsigned n = 0;
	for (size_t i = 0; request->tries && i < request->tries->n; ++i) {
		n += request->tries->logins[i] == host->node;
	}
	return n;
}

static bool accepts(const struct host *host, const struct waiter *waiter) {
	return may_use(host, waiter->request) && tries_on(host, waiter->request) <= waiter->fewest;
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
static bool lends_slot(const struct waiter *waiter) {
	return waiter->request->binding || (waiter->request->tries && waiter->request->tries->n > 0);
}

static bool is_coming(const struct host *host) {
	return host->state == HOST_CONNECTING && !host->login->is_pilot && !host->was_up && !host->is_removed;
}

// How often the job was tried on the host, of those it may use, with the fewest tries: only such hosts are accepted, as in GNU parallel's --retries.
static unsigned fewest_tries(const struct hosts *hosts, const struct hosts_request *request) {
	unsigned fewest = UINT_MAX;
	for (size_t i = 0; i < hosts->n; ++i) {
		const struct host *host = hosts->hosts[i];
		if ((host->slots > 0 ? host->state != HOST_HELD : is_coming(host)) && may_use(host, request)) {
			fewest = least(fewest, tries_on(host, request));
		}
	}
	return fewest;
}

// Returns how many free slots the attempt may take: some are kept free for waiting attempts that accept only some hosts.
static unsigned slots_available(const struct host *host, const struct waiter *waiter) {
	unsigned free = free_slots(host), kept = 0;
	if (!lends_slot(waiter)) {
		list_for_each_entry(&host->hosts->waiters, const struct waiter, other, link) {
			kept += lends_slot(other) && accepts(host, other) ? other->request->width : 0;
		}
	}
	return kept < free ? free - kept : 0;
}

static bool is_reserved(const struct host *host, const struct waiter *waiter) {
	bool is = false;
	list_for_each_entry(&host->hosts->waiters, const struct waiter, other, link) {
		is = is || (other != waiter && other->reserved == host);
	}
	return is;
}

// Of the hosts that have enough free slots and are not reserved for another attempt, returns the one with the greatest share of free slots; or
// NULL. With the lock.
static struct host *choose(const struct hosts *hosts, struct waiter *waiter) {
	struct host *best = NULL;
	waiter->fewest = fewest_tries(hosts, waiter->request);
	for (size_t i = 0; i < hosts->n; ++i) {
		struct host *host = hosts->hosts[i];
		if (host->slots == 0 || host->state == HOST_HELD || !accepts(host, waiter) || slots_available(host, waiter) < slots_needed(host, waiter->request) ||
		    is_reserved(host, waiter)) {
			continue;
		}
		uint64_t free = free_slots(host), best_free = best ? free_slots(best) : 0;
		if (!best || free * best->slots > best_free * host->slots) {
			best = host;
		}
	}
	return best;
}

// Whether the attempt is to wait for other hosts rather than take a slot of `best`. At first, hosts that are being connected count as if they had as
// many slots, and attempts that wait for them as if each had one of these, unless there is work for all slots. With the lock.
static bool waits_for_others(const struct hosts *hosts, const struct host *best, const struct waiter *waiter) {
	unsigned coming = 0, others = 0;
	if (!hosts->pool || now_ns() >= hosts->spread_until) {
		return false;
	}
	list_for_each_entry(&hosts->waiters, const struct waiter, other, link) {
		others += other != waiter && other->is_spread;
	}
	for (size_t i = 0; i < hosts->n; ++i) {
		coming += is_coming(hosts->hosts[i]) && may_use(hosts->hosts[i], waiter->request);
	}
	return coming > 0 && best->used > others / coming && pool_demand(hosts->pool, coming * best->slots) < coming * best->slots;
}

// Reserves a host for an attempt that needs several slots. Without that, attempts that need one slot would always be first. With the lock.
static void reserve_host(struct hosts *hosts, struct waiter *waiter) {
	const struct host *before = waiter->reserved, *best = NULL;
	if (before && before->slots > 0 && accepts(before, waiter)) {
		return;
	}
	for (size_t i = 0; i < hosts->n; ++i) {
		const struct host *host = hosts->hosts[i];
		bool fits = best && best->slots >= waiter->request->width, would_fit = host->slots >= waiter->request->width;
		if (host->slots > 0 && accepts(host, waiter) && !is_reserved(host, waiter) &&
		    (!best || (fits != would_fit ? would_fit : free_slots(host) > free_slots(best)))) {
			best = host;
		}
	}
	waiter->reserved = best;
	if (before) {
		cond_broadcast(&hosts->changed);
	}
}

// The first of the hosts that the attempt may use, if it may use only some and none of these can be reached; else NULL. With the lock.
static const struct sshlogin *find_unreachable(const struct hosts *hosts, const struct hosts_request *request) {
	const struct sshlogin *gone = NULL;
	for (size_t i = 0; request->binding && i < hosts->n; ++i) {
		const struct host *host = hosts->hosts[i];
		if (may_use(host, request)) {
			bool is_unreachable = host->state == HOST_UNREACHABLE || host->state == HOST_ENDED;
			if (!host->is_removed && (!is_unreachable || (host->was_up && hosts->machines == 0))) {
				return NULL; // it may come back
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
	return hosts->npilots > 0 && may_use(hosts->hosts[hosts->first_pilot], request);
}

unsigned hosts_pilots_wanted(const struct hosts *hosts) {
	unsigned slots = 0;
	list_for_each_entry(&hosts->waiters, const struct waiter, waiter, link) {
		slots += may_use_pilots(hosts, waiter->request) ? waiter->request->width : 0;
	}
	return slots;
}

// As choose(), but returns NULL also if the attempt is to wait for hosts that are being connected. With the lock.
static struct host *choose_spread(const struct hosts *hosts, struct waiter *waiter) {
	struct host *best = choose(hosts, waiter);
	waiter->is_spread = best && !needs_several(waiter->request) && waits_for_others(hosts, best, waiter);
	return waiter->is_spread ? NULL : best;
}

// Waits for a change after which the attempt may get a place. With the lock.
static void wait_for_place(struct hosts *hosts, struct waiter *waiter) {
	const struct hosts_request *request = waiter->request;
	bool begins = list_is_empty(&waiter->link);
	if (begins) {
		list_push_back(&hosts->waiters, &waiter->link);
		add_slots(hosts, lends_slot(waiter) ? (int)request->width : 0);
	}
	if (begins && may_use_pilots(hosts, request)) {
		hosts_starving(hosts);
	}
	if (needs_several(request)) {
		reserve_host(hosts, waiter);
	}
	(void)cond_wait_until(&hosts->changed, &hosts->lock, waiter->is_spread ? hosts->spread_until : TIME_NEVER);
}

bool hosts_acquire_place(struct hosts *hosts, const struct hosts_request *request, bool waits, struct hosts_place *ret_place,
                         const struct sshlogin **ret_unreachable) {
	struct waiter waiter = {.request = request};
	list_init(&waiter.link);
	*ret_unreachable = NULL;
	*ret_place = (struct hosts_place){.host = NULL};
	mutex_lock(&hosts->lock);
	while (atomic_load_relaxed(&hosts->ending) == HOSTS_RUN && !(ret_place->host = choose_spread(hosts, &waiter)) &&
	       !(*ret_unreachable = find_unreachable(hosts, request)) && waits) {
		wait_for_place(hosts, &waiter);
	}
	if (!list_is_empty(&waiter.link)) { // the attempt has waited
		list_remove(&waiter.link);
		add_slots(hosts, lends_slot(&waiter) ? -(int)request->width : 0);
		if (lends_slot(&waiter) || waiter.reserved) {
			cond_broadcast(&hosts->changed); // others may take slots that were kept free for this attempt
		}
	}
	if (ret_place->host) {
		ret_place->width = slots_needed(ret_place->host, request);
		ret_place->host->used += ret_place->width;
		ret_place->login = ret_place->host->node;
		ret_place->is_remote = ret_place->login->kind != SSHLOGIN_LOCAL;
		if (!ret_place->is_remote && options_watch_machine(hosts->options)) {
			ret_place->host->state = HOST_HELD; // until hosts_brake_here(): the load does not show it yet
		}
	}
	mutex_unlock(&hosts->lock);
	return ret_place->host;
}

// ---- how many slots there are ----

void host_set_slots(struct host *host, unsigned slots, bool keeps) {
	struct hosts *hosts = host->hosts;
	unsigned before = host->slots + host->excess, over = host->used > slots ? host->used - slots : 0;
	bool changed = slots != host->slots;
	host->slots = slots;
	host->excess = keeps || over < host->excess ? over : host->excess;
	bool were_slots = hosts->slots > 0;
	hosts->slots += host->slots + host->excess - before;
	if ((hosts->slots > 0) != were_slots) {
		atomic_store_relaxed(were_slots ? &hosts->down_since : &hosts->up_since, now_ns());
	}
	cond_broadcast(&hosts->changed);
	add_slots(hosts, (int)(host->slots + host->excess) - (int)before);
	if (hosts->pool && hosts->machines == 0 && changed) {
		hosts_limit_queues(hosts);
	}
}

// The slots that the options give the machine; 0: its worker decides.
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

unsigned host_target_slots(const struct host *host) {
	unsigned given = configured_slots(host->hosts, host->listed);
	bool may_give = host->listed->cpus != host->login->cpus || given < host->offered; // the list has changed since the worker was told
	return host->is_removed || host->offered == 0 ? 0 : (unsigned)u64_minus(given > 0 && may_give ? given : host->offered, host->stuck);
}

void host_release_removed(struct host *host) {
	if (host->is_removed && host->has_thread && host->used == 0 && (host->hosts->options->nbasefiles == 0 || !host->hosts->options->cleans_up)) {
		host_want(host, false); // else its files are still to be removed, when the run ends
	}
}

// ---- places that are free again ----

// With the lock.
static void free_slots_of(const struct hosts_place *place) {
	struct host *host = place->host;
	host->used -= place->width;
	if (host->login->is_pilot && host->used == 0) {
		host->idle_since = now_ns();
	}
	if (host->excess > 0) {
		host_set_slots(host, host->slots, /* keeps */ false);
	}
	host_release_removed(host);
	cond_broadcast(&host->hosts->changed);
}

void hosts_release_place(struct hosts *hosts, const struct hosts_place *place) {
	mutex_lock(&hosts->lock);
	free_slots_of(place);
	mutex_unlock(&hosts->lock);
}

void hosts_doubt_place(const struct hosts_place *place, bool begins) {
	struct host *host = place->host;
	mutex_lock(&host->hosts->lock);
	if (begins) {
		free_slots_of(place);
	} else {
		host->used += place->width; // until it is released, at once
	}
	add_slots(host->hosts, begins ? (int)place->width : -(int)place->width);
	mutex_unlock(&host->hosts->lock);
}

uint64_t hosts_downtime(const struct hosts *hosts, uint64_t since, uint64_t until) {
	uint64_t down = atomic_load_relaxed(&hosts->down_since), up = atomic_load_relaxed(&hosts->up_since);
	return u64_minus(up < until ? up : until, down > since ? down : since);
}

// ---- batches of some hosts ----

struct hosts_binding *hosts_bind(struct hosts *hosts, const struct sshlogin *login, const char *const *names, size_t n) {
	struct hosts_binding *binding = NEW(struct hosts_binding);
	*binding = (struct hosts_binding){.hosts = hosts, .login = login, .names = names, .nnames = n, .width = 1};
	mutex_lock(&hosts->lock);
	list_push_back(&hosts->bindings, &binding->link);
	mutex_unlock(&hosts->lock);
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
		mutex_lock(&binding->hosts->lock);
		list_remove(&binding->link);
		mutex_unlock(&binding->hosts->lock);
		free(binding);
	}
}

// Limits each queue to as many items as its hosts have slots for: further items would only hold slots of the pool while they wait.
void hosts_limit_queues(const struct hosts *hosts) {
	list_for_each_entry(&hosts->bindings, struct hosts_binding, binding, link) {
		struct queue_attrs attrs = binding->attrs;
		unsigned slots = 0;
		for (size_t i = 0; i < hosts->n && binding->queue && hosts->pool; ++i) {
			slots += hosts_binding_has(binding, hosts->hosts[i]) ? hosts->hosts[i]->slots : 0;
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
		mutex_lock(&binding->hosts->lock);
		binding->queue = queue;
		binding->attrs = *attrs;
		binding->width = width > 1 ? width : 1;
		hosts_limit_queues(binding->hosts);
		mutex_unlock(&binding->hosts->lock);
	}
}
