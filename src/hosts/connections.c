// The thread that serves all connections: it waits until a host is posted (host_post()), a descriptor of a host is ready, or a host is due. Then it
// does one step of this host. A step reads each ready descriptor once; so a host that sends much delays the other hosts only a little.
//
// A host without attempts costs only the steps at its due times. The due times of all hosts are looked at only when the earliest has passed.

#include "hosts/hosts_internal.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

enum { STACK_BYTES = 256 * 1024, EVENTS = 128 };

struct connection_thread {
	struct hosts *hosts;
	uint64_t (*step)(struct host *host);
	thread thread;
	int epoll_fd;
	int wake_fd;               // readable after a post to the sleeping thread
	// under hosts.lock
	struct list posted;        // the hosts that are to get a step in the next round
	bool sleeps;               // the thread waits, or is about to wait, and no host is posted: host_post() must wake the thread
	// of the thread
	uint64_t *dues;            // dues[host.index]: when the next step of the host is due (now_ns() time)
	size_t n, cap;
	uint64_t due;              // no host is due before this time
	struct worker **resumed;   // buffer of resume_woken()
	size_t resumed_cap;
};

void host_post(struct host *host) {
	struct connection_thread *connections = host->hosts->connections;
	if (list_is_empty(&host->posted)) {
		list_push_back(&connections->posted, &host->posted);
	}
	if (connections->sleeps) {
		connections->sleeps = false;
		wakeup_post(connections->wake_fd);
	}
}

void host_watch(struct host *host, struct watch *watch, int fd, enum watch_for what) {
	static const uint32_t events[] = {[WATCH_READ] = EPOLLIN, [WATCH_READ_ONCE] = EPOLLIN | EPOLLONESHOT, [WATCH_WRITE] = EPOLLOUT};
	struct connection_thread *connections = host->hosts->connections;
	if (what == WATCH_NOT) {
		if (watch->is_added) {
			(void)epoll_ctl(connections->epoll_fd, EPOLL_CTL_DEL, watch->fd, &(struct epoll_event){.events = 0});
		}
		*watch = (struct watch){.host = host};
	} else if (what != watch->what) {
		struct epoll_event event = {.events = events[what], .data.ptr = watch};
		watch->host = host;
		watch->fd = fd;
		if (epoll_ctl(connections->epoll_fd, watch->is_added ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) == 0) {
			watch->is_added = true;
			watch->what = what;
		} else { // EPERM: epoll takes no regular file, which can always be read
			watch->is_ready = true;
			host_post(host);
		}
	}
}

// Posts the hosts of these events.
static void take_events(struct connection_thread *connections, const struct epoll_event *events, int n) {
	for (int i = 0; i < n; ++i) {
		struct watch *watch = events[i].data.ptr;
		if (watch) {
			watch->is_ready = true;
			watch->what = watch->what == WATCH_READ_ONCE ? WATCH_NOT : watch->what;
			host_post(watch->host);
		} else {
			wakeup_clear(connections->wake_fd);
		}
	}
}

static void set_due(struct connection_thread *connections, const struct host *host, uint64_t due) {
	grow_array(&connections->dues, &connections->cap, host->index + 1, sizeof(*connections->dues));
	while (connections->n <= host->index) {
		connections->dues[connections->n++] = TIME_NEVER;
	}
	connections->dues[host->index] = due;
	connections->due = time_earlier(connections->due, due);
}

// Posts the hosts whose time has come.
static void post_due(struct connection_thread *connections) {
	uint64_t now = now_ns(), next = TIME_NEVER;
	if (now < connections->due) {
		return;
	}
	for (size_t i = 0; i < connections->n; ++i) {
		if (connections->dues[i] <= now) {
			connections->dues[i] = TIME_NEVER;
			host_post(connections->hosts->hosts[i]);
		}
		next = time_earlier(next, connections->dues[i]);
	}
	connections->due = next;
}

// Waits until there is something to do, with the lock released.
static void wait_for_any(struct connection_thread *connections) {
	struct epoll_event events[EVENTS];
	connections->sleeps = list_is_empty(&connections->posted);
	uint64_t until = connections->sleeps ? connections->due : 0;
	mutex_unlock(&connections->hosts->lock);
	int n = epoll_wait(connections->epoll_fd, events, EVENTS, poll_ms(until));
	mutex_lock(&connections->hosts->lock);
	connections->sleeps = false;
	take_events(connections, events, n);
	post_due(connections);
}

// Resumes the attempts for which the steps of this round have left something to do: all in one call, so that the pool's lock is taken, and the pool's
// threads are woken, only once.
static void resume_woken(struct connection_thread *connections) {
	struct hosts *hosts = connections->hosts;
	size_t n = 0;
	list_for_each_entry(&hosts->woken, struct host_attempt, attempt, woken) {
		list_remove(&attempt->woken);
		if (attempt->worker) {
			*NEW_ELEMENT(connections->resumed, n, connections->resumed_cap) = attempt->worker;
		}
	}
	if (n > 0) {
		pool_resume_all(hosts->pool, connections->resumed, n);
	}
}

static bool are_all_closed(const struct hosts *hosts) {
	bool are = true;
	for_each_host(hosts, host) {
		are = are && host->phase == CONNECTION_NONE;
	}
	return are;
}

static void *connections_main(void *arg) {
	struct connection_thread *connections = arg;
	struct list round;
	list_init(&round);
	mutex_lock(&connections->hosts->lock);
	while (!connections->hosts->closing || !are_all_closed(connections->hosts)) {
		wait_for_any(connections);
		hosts_keep_messages(connections->hosts, true);
		list_move_all(&round, &connections->posted);
		while (!list_is_empty(&round)) {
			struct host *host = list_entry(round.next, struct host, posted);
			list_remove(&host->posted);
			set_due(connections, host, connections->step(host));
		}
		resume_woken(connections);
		hosts_keep_messages(connections->hosts, false);
	}
	mutex_unlock(&connections->hosts->lock);
	return NULL;
}

// ---- life ----

static void free_all(struct connection_thread *connections) {
	fd_close(&connections->epoll_fd);
	fd_close(&connections->wake_fd);
	free(connections->dues);
	free(connections->resumed);
	free(connections);
}

int connections_open(struct hosts *hosts, uint64_t (*step)(struct host *host)) {
	struct connection_thread *connections = NEW(struct connection_thread);
	*connections = (struct connection_thread){
		.hosts = hosts, .step = step, .epoll_fd = epoll_create1(EPOLL_CLOEXEC), .wake_fd = wakeup_open(), .due = TIME_NEVER,
	};
	list_init(&connections->posted);
	int error = connections->epoll_fd < 0 || connections->wake_fd < 0 ||
	    epoll_ctl(connections->epoll_fd, EPOLL_CTL_ADD, connections->wake_fd, &(struct epoll_event){.events = EPOLLIN}) != 0 ? errno : 0;
	error = error ? error : thread_start(&connections->thread, connections_main, connections, STACK_BYTES);
	if (error) {
		free_all(connections);
	} else {
		hosts->connections = connections;
	}
	return result_of(error);
}

void connections_close(struct hosts *hosts) {
	struct connection_thread *connections = hosts->connections;
	if (connections) {
		mutex_lock(&hosts->lock);
		hosts->closing = true;
		for_each_host(hosts, host) { // closing the connections ends the workers
			host_post(host);
		}
		mutex_unlock(&hosts->lock);
		thread_join(connections->thread);
		free_all(connections);
	}
}
