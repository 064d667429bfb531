// Messages about the hosts of a run: the state of each, and for which of them a job waits.

#include "hosts/hosts_internal.h"

#include "base/diag.h"

#include <string.h>

enum { NAMES_SHOWN = 3 };

static enum host_state state_of(const struct host *host) {
	return host->is_removed ? HOST_REMOVED : host_has_failed(host) ? host->was_up ? HOST_LOST : HOST_UNREACHABLE
		: host->slots > 0 ? host->state : HOST_CONNECTING;
}

void hosts_view(struct hosts *hosts, void (*fn)(void *arg, const struct host_view *view), void *arg) {
	static const char *const words[] = {
		[HOST_UP] = "", [HOST_HELD] = "no job starts: ", [HOST_CONNECTING] = "it takes no jobs yet",
		[HOST_LOST] = "the connection is lost; it is tried again", [HOST_UNREACHABLE] = "cannot be reached; it is tried again",
		[HOST_REMOVED] = "it is not in the list any more",
	};
	if (!hosts) {
		return;
	}
	mutex_lock(&hosts->lock);
	for (size_t i = 0; i < hosts->n; ++i) {
		const struct host *host = hosts->hosts[i];
		FP_CLEANUP(buf_fini) struct buf says = BUF_INIT;
		enum host_state state = state_of(host);
		buf_adds(&says, words[state]);
		buf_adds(&says, state == HOST_HELD ? buf_str(&host->brake) : "");
		if (host->slots > 0 || !host->login->is_pilot) {
			fn(arg, &(struct host_view){
				.name = host->login->name,
				.node = host->node != host->login ? host->node->name : NULL,
				.is_here = host->login->kind == SSHLOGIN_LOCAL,
				.state = state,
				.slots = host->slots,
				.used = host->used,
				.says = buf_str(&says),
			});
		}
	}
	mutex_unlock(&hosts->lock);
}

// Appends the line, and a NUL.
static void add_line(void *arg, const struct host_view *view) {
	struct buf *lines = arg;
	if (view->state == HOST_REMOVED) {
		buf_printf(lines, "%s: %s; %u of its slots still used%c", view->name, view->says, view->used, 0);
	} else if (view->slots == 0) {
		buf_printf(lines, "%s: %s%c", view->name, view->says, 0);
	} else {
		buf_printf(lines, "%s%s%s%s: %u of %u slots used%s%s%c", view->name, view->is_here ? " (this machine)" : "", view->node ? ", on " : "",
		           view->node ? view->node : "", view->used, view->slots, view->says[0] ? "; " : "", view->says, 0);
	}
}

void hosts_show(struct hosts *hosts) {
	FP_CLEANUP(buf_fini) struct buf lines = BUF_INIT;
	hosts_view(hosts, add_line, &lines);
	for (size_t i = 0; i < lines.len; i += strlen(lines.data + i) + 1) {
		diag_note("%s", lines.data + i);
	}
}

// With the lock.
static void describe_request(const struct hosts *hosts, const struct hosts_request *request, struct buf *out) {
	size_t n = 0;
	if (request->width > 1) {
		buf_printf(out, "%u slots on ", request->width);
	} else {
		buf_adds(out, "a slot on ");
	}
	for (size_t i = 0; request->binding && i < hosts->n; ++i) {
		if (hosts_binding_has(request->binding, hosts->hosts[i]) && !hosts->hosts[i]->is_removed && n++ < NAMES_SHOWN) {
			buf_adds(out, n > 1 ? " or " : "");
			buf_adds(out, hosts->hosts[i]->login->name);
		}
	}
	if (n > NAMES_SHOWN) {
		buf_printf(out, " or %zu more", n - NAMES_SHOWN);
	}
	buf_adds(out, n > 0 ? "" : request->tries && request->tries->n > 0 ? "another machine" : "a machine");
}

void hosts_describe_request(struct hosts *hosts, const struct hosts_request *request, struct buf *out) {
	mutex_lock(&hosts->lock);
	describe_request(hosts, request, out);
	mutex_unlock(&hosts->lock);
}

bool hosts_describe_limit(struct hosts *hosts, const char *queue, struct buf *out) {
	bool is_theirs = false;
	mutex_lock(&hosts->lock);
	list_for_each_entry(&hosts->bindings, struct hosts_binding, binding, link) {
		if (!is_theirs && binding->queue && binding->attrs.max_parallel == 0 && strcmp(queue_name(binding->queue), queue) == 0) {
			is_theirs = true;
			describe_request(hosts, &(struct hosts_request){.width = binding->width, .binding = binding}, out);
		}
	}
	mutex_unlock(&hosts->lock);
	return is_theirs;
}
