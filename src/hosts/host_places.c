// Which attempt gets which slot: the places of the hosts, and batches that are to run on some of them only.

#include "hosts/hosts_internal.h"

#include "base/alloc.h"
#include "base/units.h"

#include <limits.h>
#include <stdlib.h>

static unsigned least(unsigned a, unsigned b) {
	return a < b ? a : b;
}

static unsigned free_slots(const struct hosts_host *host) {
	return host->slots > host->used ? host->slots - host->used : 0;
}

static bool may_use(const struct hosts_host *host, const struct hosts_wish *wish) {
	return !wish->bound || wish->bound->has[host->index];
}

// An attempt that looks for a place.
struct seeker {
	struct list link;          // of hosts.seekers, while it waits and is choosy
	const struct hosts_wish *wish;
	unsigned fewest;           // how often it was tried on the hosts that it takes now
};

static unsigned tries_on(const struct hosts_host *host, const struct hosts_wish *wish) {
	unsigned n = 0;
	for (size_t i = 0; wish->tries && i < wish->tries->n; ++i) {
		n += wish->tries->logins[i] == host->node;
	}
	return n;
}

static bool wants(const struct hosts_host *host, const struct seeker *seeker) {
	return may_use(host, seeker->wish) && tries_on(host, seeker->wish) <= seeker->fewest;
}

// The slots that it needs of the host. With the lock.
static unsigned need_of(const struct hosts_host *host, const struct hosts_wish *wish) {
	return wish->is_alone ? host->slots : least(wish->width, host->slots);
}

// Does it need several slots that come free one by one?
static bool is_wide(const struct hosts_wish *wish) {
	return wish->is_alone || wish->width > 1;
}

// Others have its slot of the pool while it waits, for it may wait while slots are free.
static bool is_choosy(const struct seeker *seeker) {
	return seeker->wish->bound || (seeker->wish->tries && seeker->wish->tries->n > 0);
}

// It takes jobs, or may soon: it was not connected to yet.
static bool is_expected(const struct hosts_host *host) {
	return host->slots > 0 ? !host->is_braked : !hosts_host_is_pilot(host) && !host->was_up && !host->has_failed;
}

// As GNU parallel --retries: of the hosts that there are, those on which it was tried the fewest times.
static unsigned count_fewest(const struct hosts *hosts, const struct hosts_wish *wish) {
	unsigned fewest = UINT_MAX;
	for (size_t i = 0; i < hosts->n; ++i) {
		const struct hosts_host *host = hosts->hosts[i];
		if (is_expected(host) && may_use(host, wish)) {
			fewest = least(fewest, tries_on(host, wish));
		}
	}
	return fewest;
}

// Those that the attempt may take: what others wait for who can run on few hosts is theirs.
static unsigned room_on(const struct hosts_host *host, const struct seeker *seeker) {
	unsigned free = free_slots(host), kept = 0;
	if (!is_choosy(seeker)) {
		list_for_each_entry(&host->hosts->seekers, const struct seeker, other, link) {
			kept += wants(host, other) ? other->wish->width : 0;
		}
	}
	return kept < free ? free - kept : 0;
}

// Of the hosts that have `width` slots free and that nobody else has claimed, the one with the greatest part of its slots free. With the
// lock.
static struct hosts_host *choose(const struct hosts *hosts, struct seeker *seeker, const void *claimant) {
	struct hosts_host *best = NULL;
	seeker->fewest = count_fewest(hosts, seeker->wish);
	for (size_t i = 0; i < hosts->n; ++i) {
		struct hosts_host *host = hosts->hosts[i];
		if (host->slots == 0 || host->is_braked || !wants(host, seeker) || room_on(host, seeker) < need_of(host, seeker->wish) ||
		    (host->claimant && host->claimant != claimant)) {
			continue;
		}
		uint64_t free = free_slots(host), best_free = best ? free_slots(best) : 0;
		if (!best || free * best->slots > best_free * host->slots) {
			best = host;
		}
	}
	return best;
}

// Who needs several slots of one host claims one, or those who need one would always be first. With the lock.
static void claim(const struct hosts *hosts, const struct seeker *seeker, const void *claimant) {
	struct hosts_host *best = NULL;
	for (size_t i = 0; i < hosts->n; ++i) {
		struct hosts_host *host = hosts->hosts[i];
		if (host->claimant == claimant) {
			return;
		}
		bool fits = best && best->slots >= seeker->wish->width, would_fit = host->slots >= seeker->wish->width;
		if (host->slots > 0 && wants(host, seeker) && !host->claimant &&
		    (!best || (fits != would_fit ? would_fit : free_slots(host) > free_slots(best)))) {
			best = host;
		}
	}
	if (best) {
		best->claimant = claimant;
	}
}

static void renounce(const struct hosts *hosts, const void *claimant) {
	for (size_t i = 0; i < hosts->n; ++i) {
		if (hosts->hosts[i]->claimant == claimant) {
			hosts->hosts[i]->claimant = NULL;
		}
	}
}

// The first of the hosts that the attempt may use, if none of them can be reached; else NULL. With the lock.
static const struct sshlogin *find_gone(const struct hosts *hosts, const struct hosts_wish *wish) {
	const struct sshlogin *gone = NULL;
	for (size_t i = 0; wish->bound && i < hosts->n; ++i) {
		const struct hosts_host *host = hosts->hosts[i];
		if (may_use(host, wish)) {
			if (!host->has_left && (host->slots > 0 || !host->is_unreachable || (host->was_up && hosts->machines == 0))) {
				return NULL; // it may come back
			}
			gone = gone ? gone : host->login;
		}
	}
	return gone;
}

// Others have, or no longer, the slot of the pool that such an attempt has. With the lock.
static void lend(struct hosts *hosts, int slots) {
	hosts->lent += (unsigned)slots;
	if (hosts->pool && hosts->machines == 0) {
		hosts_reserve(hosts);
		pool_add_slots(hosts->pool, slots);
	}
}

// With the lock.
static bool may_use_pilots(const struct hosts *hosts, const struct hosts_wish *wish) {
	return hosts->npilots > 0 && may_use(hosts->hosts[hosts->first_pilot], wish);
}

static void begin_waiting(struct hosts *hosts, struct seeker *seeker) {
	if (is_choosy(seeker)) {
		list_push_back(&hosts->seekers, &seeker->link);
		lend(hosts, (int)seeker->wish->width);
	}
	if (may_use_pilots(hosts, seeker->wish)) {
		hosts->waiting += seeker->wish->width;
		hosts_starving(hosts);
	}
}

static void end_waiting(struct hosts *hosts, struct seeker *seeker) {
	if (is_choosy(seeker)) {
		list_remove(&seeker->link);
		lend(hosts, -(int)seeker->wish->width);
		cond_broadcast(&hosts->changed); // it keeps others from no host any more
	}
	if (may_use_pilots(hosts, seeker->wish)) {
		hosts->waiting -= seeker->wish->width;
	}
}

// With the lock, which is given back meanwhile.
static void tell_waiting(struct hosts *hosts, const struct hosts_wish *wish) {
	if (wish->waits) {
		mutex_unlock(&hosts->lock);
		wish->waits(wish->arg);
		mutex_lock(&hosts->lock);
	}
}

struct hosts_place *hosts_enter(struct hosts *hosts, const struct hosts_wish *wish, const struct sshlogin **ret_gone) {
	struct hosts_place *place = NEW(struct hosts_place);
	struct seeker seeker = {.wish = wish};
	bool waits = false;
	*ret_gone = NULL;
	hosts_look_at_list(hosts);
	mutex_lock(&hosts->lock);
	while (!hosts->terminating && !(place->host = choose(hosts, &seeker, place)) && !(*ret_gone = find_gone(hosts, wish))) {
		if (is_wide(wish)) {
			claim(hosts, &seeker, place);
		}
		if (!waits) {
			waits = true;
			begin_waiting(hosts, &seeker);
			tell_waiting(hosts, wish);
		} else {
			cond_wait(&hosts->changed, &hosts->lock);
		}
	}
	if (waits) {
		end_waiting(hosts, &seeker);
	}
	if (place->host) {
		place->width = need_of(place->host, wish);
		place->host->used += place->width;
		place->at = place->host->node;
	}
	if (is_wide(wish)) {
		renounce(hosts, place);
	}
	mutex_unlock(&hosts->lock);
	if (!place->host) {
		free(place);
		return NULL;
	}
	return place;
}

void hosts_leave(struct hosts *hosts, struct hosts_place *place) {
	struct hosts_host *host = place->host;
	mutex_lock(&hosts->lock);
	host->used -= place->width;
	if (hosts_host_is_pilot(host) && host->used == 0) {
		host->idle_since = now_ns();
	}
	if (host->over > 0) {
		hosts_set_slots(host, host->slots, /* keeps */ false);
	}
	hosts_dismiss(host);
	cond_broadcast(&hosts->changed);
	mutex_unlock(&hosts->lock);
	free(place);
	hosts_look_at_list(hosts);
}

uint64_t hosts_downtime(const struct hosts *hosts, uint64_t since, uint64_t until) {
	uint64_t down = atomic_load_relaxed(&hosts->down_since), up = atomic_load_relaxed(&hosts->up_since);
	return minus(up < until ? up : until, down > since ? down : since);
}

void hosts_set_files(struct hosts_place *place, struct job_files *files) {
	place->files = files;
}

bool hosts_is_elsewhere(const struct hosts_place *place) {
	return place->host->link;
}

const struct sshlogin *hosts_login(const struct hosts_place *place) {
	return place->at;
}

void hosts_tries_add(struct hosts_tries *tries, const struct sshlogin *login) {
	grow_array(&tries->logins, &tries->cap, tries->n + 1, sizeof(*tries->logins));
	tries->logins[tries->n++] = login;
}

// ---- batches of some hosts ----

static struct hosts_bound *new_bound(struct hosts *hosts, const char *const *names, size_t n) {
	struct hosts_bound *bound = NEW(struct hosts_bound);
	*bound = (struct hosts_bound){.hosts = hosts, .names = names, .nnames = n, .has = xcalloc(hosts->n, sizeof(*bound->has)), .n = hosts->n, .width = 1};
	list_push_back(&hosts->bounds, &bound->link);
	return bound;
}

struct hosts_bound *hosts_bind_login(struct hosts *hosts, const struct sshlogin *login) {
	mutex_lock(&hosts->lock);
	struct hosts_bound *bound = new_bound(hosts, NULL, 0);
	for (size_t i = 0; i < hosts->n; ++i) {
		bound->has[i] = hosts->hosts[i]->login == login;
	}
	mutex_unlock(&hosts->lock);
	return bound;
}

static bool is_named(const struct hosts_bound *bound, const struct sshlogin *login) {
	bool is = false;
	for (size_t i = 0; i < bound->nnames; ++i) {
		is = is || sshlogin_is_called(login, bound->names[i]);
	}
	return is;
}

struct hosts_bound *hosts_bind(struct hosts *hosts, const char *const *names, size_t n) {
	mutex_lock(&hosts->lock);
	struct hosts_bound *bound = new_bound(hosts, names, n);
	for (size_t i = 0; i < hosts->n; ++i) {
		bound->has[i] = is_named(bound, hosts->hosts[i]->login);
	}
	mutex_unlock(&hosts->lock);
	return bound;
}

void hosts_bind_host(struct hosts *hosts, const struct hosts_host *host, const struct sshlogin *login) {
	list_for_each_entry(&hosts->bounds, struct hosts_bound, bound, link) {
		if (bound->n <= host->index) {
			bound->has = xrealloc(bound->has, (host->index + 1) * sizeof(*bound->has));
			bound->has[bound->n++] = false;
		}
		bound->has[host->index] = bound->names ? is_named(bound, login) : bound->has[host->index];
	}
}

void hosts_unbind(struct hosts_bound *bound) {
	if (bound) {
		mutex_lock(&bound->hosts->lock);
		list_remove(&bound->link);
		mutex_unlock(&bound->hosts->lock);
		free(bound->has);
		free(bound);
	}
}

// More items than that would wait for slots, while others could run. With the lock.
static void limit_queue(const struct hosts *hosts, const struct hosts_bound *bound) {
	struct queue_attrs attrs = bound->attrs;
	unsigned slots = 0;
	for (size_t i = 0; i < hosts->n; ++i) {
		slots += bound->has[i] ? hosts->hosts[i]->slots : 0;
	}
	unsigned most = slots > bound->width ? slots / bound->width : 1;
	attrs.max_parallel = attrs.max_parallel > 0 ? least(attrs.max_parallel, most) : most;
	queue_set(hosts->pool, bound->queue, &attrs);
}

void hosts_limit_queues(const struct hosts *hosts) {
	list_for_each_entry(&hosts->bounds, struct hosts_bound, bound, link) {
		if (bound->queue) {
			limit_queue(hosts, bound);
		}
	}
}

void hosts_set_queue(struct hosts_bound *bound, struct queue *queue, const struct queue_attrs *attrs, unsigned width) {
	mutex_lock(&bound->hosts->lock);
	bound->queue = queue;
	bound->attrs = *attrs;
	bound->width = width > 1 ? width : 1;
	limit_queue(bound->hosts, bound);
	mutex_unlock(&bound->hosts->lock);
}

void hosts_forget_queue(struct hosts_bound *bound) {
	if (bound) {
		mutex_lock(&bound->hosts->lock);
		bound->queue = NULL;
		mutex_unlock(&bound->hosts->lock);
	}
}
