// Keeps the list of hosts up to date while the run goes, if the list comes from a file, which may change.
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
	struct host_list *next;
};

// Returns the host of that name, unless it is one of --launch. No other thread adds hosts meanwhile.
static struct host *find_host(const struct hosts *hosts, const char *name) {
	for_each_host(hosts, host) {
		if (host->login->kind != SSHLOGIN_LAUNCH && strcmp(host->login->name, name) == 0) {
			return host;
		}
	}
	return NULL;
}

void hosts_free_lists(struct hosts *hosts) {
	for (struct host_list *next, *list = hosts->lists; list; list = next) {
		next = list->next;
		sshlogins_fini(&list->logins);
		free(list);
	}
}

// Makes a host for a machine that is new in the list, and connects to the host.
static void add_host(struct hosts *hosts, const struct sshlogin *login) {
	char *error;
	struct host *host = host_new(hosts, login, &error);
	if (!host) {
		diag_warn("%s; this machine is not used", error);
		free(error);
		return;
	}
	FP_HOLD(&hosts->lock);
	host_append(hosts, host);
	host_connect(host);
}

// Applies the list to a host: the host stays, leaves or comes back, with the number of slots that the list says. With the lock.
static void update_host(struct host *host, const struct sshlogins *logins) {
	const struct sshlogin *login = sshlogins_find(logins, host->login->name);
	bool had_left = host->is_removed;
	host->is_removed = !login;
	host->listed = login ? login : host->listed;
	if (had_left && login && host->is_served) {
		host->state = host_has_failed(host) ? HOST_CONNECTING : host->state;
		host_want(host, true);
	}
	if (!had_left && !login) {
		diag_note("%s: the machine is not in the list any more: no job starts there", sshlogin_shown(host->login));
	}
	host_set_slots(host);
	host_release_removed(host);
}

static void reload_list(struct hosts *hosts) {
	char *error;
	struct host_list *list = NEW(struct host_list); // hosts borrow its logins
	list->next = hosts->lists;
	hosts->lists = list;
	if (options_hosts_read(hosts->options, &list->logins, &error) != 0) {
		diag_warn("%s; the machines stay as they are", error);
		free(error);
		return;
	}
	for (size_t i = 0; i < list->logins.n; ++i) { // new hosts are added before other hosts are removed, so that there is always a host
		if (!find_host(hosts, list->logins.logins[i].name)) {
			add_host(hosts, &list->logins.logins[i]);
		}
	}
	FP_HOLD(&hosts->lock);
	hosts_keep_messages(hosts, true);
	for_each_host(hosts, host) {
		if (host->login->kind != SSHLOGIN_LAUNCH) {
			update_host(host, &list->logins);
		}
	}
	hosts_keep_messages(hosts, false);
	hosts_limit_queues(hosts);
	hosts_answer_requests(hosts);
}

void hosts_refresh_list(struct hosts *hosts) {
	uint64_t at = atomic_load_relaxed(&hosts->next_list_check);
	if (at == TIME_NEVER || now_ns() < at || !atomic_compare_exchange_strong(&hosts->next_list_check, &at, TIME_NEVER)) {
		return;
	}
	if (options_hosts_changed(hosts->options)) {
		reload_list(hosts);
	}
	atomic_store_release(&hosts->next_list_check, now_ns() + CHECK_INTERVAL_S * NS_PER_S); // pairs with the exchange in the next call
}
