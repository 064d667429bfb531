// Keeps the list of hosts up to date while the run goes, if it comes from a file that changes.
//
// The list is read again when an attempt begins or ends, and when a connection breaks, at most once a second. New hosts are appended;
// a host that the list does not name any more stays in hosts.hosts, without slots, and may come back.

#include "hosts/hosts_internal.h"

#include "base/alloc.h"
#include "base/diag.h"

#include <stdlib.h>
#include <string.h>

enum { CHECK_INTERVAL_S = 1 }; // as in GNU parallel

struct host_list {
	struct sshlogins logins;
	struct host **new_hosts;   // for names that no host had; apply_list() appends them to hosts.hosts
	size_t nnew;
	struct host_list *next;
};

// Returns the host of that name, unless it is one of --launch. No other thread adds hosts meanwhile.
static struct host *find_host(const struct hosts *hosts, const char *name) {
	for (size_t i = 0; i < hosts->n; ++i) {
		const struct sshlogin *login = hosts->hosts[i]->login;
		if (login->kind != SSHLOGIN_LAUNCH && strcmp(login->name, name) == 0) {
			return hosts->hosts[i];
		}
	}
	return NULL;
}

static void free_list(struct host_list *list) {
	for (size_t i = 0; i < list->nnew; ++i) {
		host_free(list->new_hosts[i]);
	}
	free(list->new_hosts);
	sshlogins_fini(&list->logins);
	free(list);
}

void hosts_free_lists(struct hosts *hosts) {
	for (struct host_list *next, *list = hosts->lists; list; list = next) {
		next = list->next;
		free_list(list);
	}
}

// Reads the list, and makes its new hosts, which are in no list yet. Returns NULL with *ret_error.
static struct host_list *read_list(struct hosts *hosts, char **ret_error) {
	struct host_list *list = NEW(struct host_list);
	int result = options_hosts_read(hosts->options, &list->logins, ret_error);
	list->new_hosts = result == 0 ? xcalloc(list->logins.n, sizeof(struct host *)) : NULL;
	for (size_t i = 0; i < list->logins.n && result == 0; ++i) {
		const struct sshlogin *login = &list->logins.logins[i];
		if (!find_host(hosts, login->name)) {
			struct host *host = list->new_hosts[list->nnew] = host_new(hosts, login, ret_error);
			list->nnew += host != NULL;
			result = host ? 0 : -1;
		}
	}
	if (result != 0) {
		free_list(list);
		return NULL;
	}
	return list;
}

// Applies the list to a known host: it stays, leaves or comes back, with the number of slots of the list. With the lock.
static void update_host(struct host *host, const struct host_list *list) {
	const struct sshlogin *login = sshlogins_find(&list->logins, host->login->name);
	bool had_left = host->is_removed;
	host->is_removed = !login;
	host->listed = login ? login : host->listed;
	if (had_left && login && host->is_served) {
		host->state = host_has_failed(host) ? HOST_CONNECTING : host->state;
		host_want(host, true);
	}
	if (!had_left && !login) {
		diag_note("%s: it is not in the list any more: no job starts there", host->login->name);
	}
	host_set_slots(host, /* keeps */ true);
	host_release_removed(host);
}

// Applies the list to all hosts, which borrow from it then, and connects to new ones. With the lock.
static void apply_list(struct hosts *hosts, struct host_list *list) {
	for (size_t i = 0; i < hosts->n; ++i) {
		if (hosts->hosts[i]->login->kind != SSHLOGIN_LAUNCH) {
			update_host(hosts->hosts[i], list);
		}
	}
	for (size_t i = 0; i < list->nnew; ++i) {
		host_append(hosts, list->new_hosts[i]);
		host_connect(list->new_hosts[i]); // its steps wait for the lock
	}
	list->nnew = 0;
	list->next = hosts->lists;
	hosts->lists = list;
	hosts_limit_queues(hosts);
	hosts_answer_requests(hosts);
}

static void reload_list(struct hosts *hosts) {
	char *error;
	struct host_list *list = read_list(hosts, &error);
	if (!list) {
		diag_warn("%s; the machines stay as they are", error);
		free(error);
		return;
	}
	mutex_lock(&hosts->lock);
	bool is_kept = hosts->pool && atomic_load_relaxed(&hosts->ending) == HOSTS_RUN;
	if (is_kept) {
		apply_list(hosts, list);
	}
	mutex_unlock(&hosts->lock);
	if (!is_kept) {
		free_list(list);
	}
}

void hosts_refresh_list(struct hosts *hosts) {
	uint64_t at = atomic_load_relaxed(&hosts->next_list_check);
	if (at == TIME_NEVER || now_ns() < at || !atomic_compare_exchange_strong(&hosts->next_list_check, &at, TIME_NEVER)) {
		return;
	}
	if (options_hosts_changed(hosts->options)) {
		reload_list(hosts);
	}
	atomic_store_release(&hosts->next_list_check, now_ns() + CHECK_INTERVAL_S * NS_PER_S); // pairs with the exchange of the next one
}
