// Tokens of a jobserver that stand for spare slots of a pool.

#include "sharing/jobserver_slots.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/diag.h"
#include "cli/options.h"
#include "sharing/pool_client.h"
#include "slots/client.h"
#include "slots/jobserver.h"

#include <stdint.h>
#include <stdlib.h>

struct jobserver_spare {
	struct jobserver *jobserver;
	struct client *client;
	uint64_t *leases;          // numbers of the leases in use: one for each token
	size_t n, cap;
	pid_t pid;                 // the process that uses the leases
	int pidfd;                 // pidfd of that process, or -1
	bool polls;                // tokens are to be taken back as soon as jobs put them into the pipe
	bool lost;                 // there is no server any more
};

static void begin_lease(struct jobserver_spare *spare, struct lease_id id, bool offers) {
	if (!client_use(spare->client, id.number, /* nonce */ 0, &id)) {
		return;
	}
	if (!offers || client_state(spare->client)->contended) {
		client_release(spare->client, id.number);
		return;
	}
	*NEW_ELEMENT(spare->leases, spare->n, spare->cap) = id.number;
	if (spare->pidfd >= 0) {
		client_set_process(spare->client, id.number, spare->pid, spare->pidfd);
	}
	jobserver_put(spare->jobserver, '+');
}

// Takes tokens out of the pipe and releases their leases, until at most `most` are left or the pipe is empty.
static void take_back(struct jobserver_spare *spare, unsigned most) {
	char token;
	while (spare->n > most && jobserver_take(spare->jobserver, &token)) {
		client_release(spare->client, spare->leases[--spare->n]);
	}
}

bool jobserver_spare_tick(struct jobserver_spare *spare, bool offers) {
	bool renewed = false;
	struct client_event event;
	while (!spare->lost && (event = client_next(spare->client)).type != CLIENT_NOTHING) {
		switch (event.type) {
		case CLIENT_GRANTED: begin_lease(spare, event.id, offers); break;
		case CLIENT_RENEWED: renewed = true; break;
		case CLIENT_LOST: spare->lost = true; break; // the run's own client of the pool says why
		default: break;
		}
	}
	bool withdraws = spare->lost || !offers || client_state(spare->client)->contended;
	unsigned most = withdraws ? 0 : client_state(spare->client)->spare_limit;
	take_back(spare, most);
	spare->polls = spare->n > most;
	unsigned allowed = client_state(spare->client)->bounds.most - 1; // one slot of the pool is that of the job that runs
	unsigned wanted = withdraws || spare->n >= allowed ? 0 : allowed - (unsigned)spare->n;
	if (!spare->lost) {
		client_want(spare->client, wanted, 1);
	}
	return renewed;
}

int jobserver_spare_reset(struct jobserver_spare *spare) {
	int missing;
	char token;
	take_back(spare, 0);
	missing = (int)spare->n;
	while (spare->n > 0) {
		client_release(spare->client, spare->leases[--spare->n]);
	}
	while (jobserver_take(spare->jobserver, &token)) {
		--missing;
	}
	spare->polls = false;
	return missing;
}

int jobserver_spare_fd(const struct jobserver_spare *spare) {
	return client_fd(spare->client);
}

int jobserver_spare_token_fd(const struct jobserver_spare *spare) {
	return spare->polls ? spare->jobserver->in_fd : -1;
}

void jobserver_spare_set_process(struct jobserver_spare *spare, pid_t pid, int pidfd) {
	spare->pid = pid;
	spare->pidfd = pidfd;
}

struct jobserver_spare *jobserver_spare_open(const struct options *options, struct jobserver *jobserver) {
	struct jobserver_spare *spare = NEW(struct jobserver_spare);
	spare->jobserver = jobserver;
	spare->pidfd = -1;
	FP_CLEANUP(free_later) char *words = pool_client_label(options->pool.single ? options->command : options->argv + 1);
	FP_CLEANUP(buf_fini) struct buf label = BUF_INIT, error = BUF_INIT;
	buf_printf(&label, "(jobserver) %s", words);
	const struct client_config config = {.pool = options->pool.name, .label = buf_str(&label), .weight = 1, .spare = true};
	int ignored;
	spare->client = client_open(&config, &error, &ignored);
	if (!spare->client) {
		diag_warn("--jobserver: %s: jobs get no spare slots", buf_str(&error));
		jobserver_spare_close(spare);
		return NULL;
	}
	return spare;
}

void jobserver_spare_close(struct jobserver_spare *spare) {
	if (spare) {
		client_close(spare->client);
		free(spare->leases);
		free(spare);
	}
}
