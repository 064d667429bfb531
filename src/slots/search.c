// Looking for the server of a pool, in a thread of its own.

#include "slots/search.h"

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/sync.h"
#include "base/wakeup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { STACK_BYTES = 64 * 1024 };

struct server_search {
	thread thread;
	char *name;
	int wake_fd;
	atomic_bool over;          // set by the thread when it is done, or by the owner when it gives up: the second of them frees the search
	struct search_result result;
};

static void close_result(struct search_result *result) {
	fd_close(&result->fd);
	fd_close(&result->lock_fd);
	fd_close(&result->start_fds[0]);
	fd_close(&result->start_fds[1]);
	place_fini(&result->place);
}

static void search_free(struct server_search *search) {
	fd_close(&search->wake_fd);
	free(search->name);
	free(search);
}

// Returns 0, or the errno that tells why there is nothing.
static int look(const char *name, struct search_result *result) {
	FP_CLEANUP(buf_fini) struct buf error = BUF_INIT;
	if (place_open(&result->place, name, &error) != 0 || place_lock_start(&result->place, /* waits */ true, result->start_fds) != 0) {
		return errno;
	}
	do {
		result->fd = place_connect(&result->place);
		bool is_deserted = result->fd < 0 && place_is_deserted(errno);
		result->lock_fd = is_deserted ? place_lock(&result->place, "lock", /* waits */ true) : -1;
		// again: the server is busy or stopped, and its backlog was full for the timeout of the call, or it has made its files anew
	} while (result->fd < 0 && result->lock_fd < 0 && errno == EAGAIN);
	return result->fd >= 0 || result->lock_fd >= 0 ? 0 : errno;
}

static void *run(void *arg) {
	struct server_search *search = arg;
	search->result.error = look(search->name, &search->result);
	// acquires what the other end of the exchange in search_abandon() releases, and the reverse
	if (atomic_exchange(&search->over, true)) {
		close_result(&search->result);
		search_free(search);
	} else {
		wakeup_post(search->wake_fd);
	}
	return NULL;
}

struct server_search *search_begin(const char *name) {
	struct server_search *search = NEW(struct server_search);
	search->name = xstrdup(name);
	search->wake_fd = wakeup_open();
	search->result = (struct search_result){.fd = -1, .lock_fd = -1, .start_fds = {-1, -1}};
	int error = search->wake_fd < 0 ? errno : thread_start(&search->thread, run, search, STACK_BYTES);
	if (error) {
		search_free(search);
		errno = error;
		return NULL;
	}
	return search;
}

int search_fd(const struct server_search *search) {
	return search->wake_fd;
}

void search_end(struct server_search *search, struct search_result *ret_result) {
	thread_join(search->thread);
	*ret_result = search->result;
	search_free(search);
}

void search_abandon(struct server_search *search) {
	if (!search) {
		return;
	}
	thread looking = search->thread;
	if (atomic_exchange(&search->over, true)) {
		struct search_result result;
		search_end(search, &result);
		close_result(&result);
	} else {
		thread_detach(looking);
	}
}
