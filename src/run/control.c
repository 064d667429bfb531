// The control server of a run: answers fairpars that add jobs (feed_added.c), wait for jobs (waits.c), cancel jobs, or ask for the
// status (control_status.c). slots/control.h is the protocol.
//
// Clients connect to the sockets of sharing/nested.c, which hands them over with their request. A client in a job of the run
// sends the number and nonce of its attempt; if the run has a name (--run NAME), other clients connect by a socket in the user's private
// directory (slots/pool_dir.h).

#include "run/run.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/list.h"
#include "base/random.h"
#include "base/text.h"
#include "base/units.h"
#include "state/job_state.h"
#include "feed/feed.h"
#include "record/added_jobs.h"
#include "sharing/nested.h"
#include "slots/control.h"
#include "slots/pool_dir.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CLIENTS_MAX = 4096 };

// A connection with one request.
struct control_client {
	struct list link;         // of control->clients
	struct control *control;
	int fd;
	bool is_polled;           // its descriptor is polled; false: its request was not handled yet
	bool is_outside;          // the client has connected by the name of the run
	bool is_answered;         // its answer is in `out`
	struct frame request;
	struct buf text, out;     // the text of the request, and the answer
	uint64_t attempt, by;     // number of the attempt that the client runs in, and ID of its job; 0: the client is in no job of the run
	struct wait *wait;        // while the client waits for jobs; else NULL
	struct buf ids;           // IDs of the jobs that the request names, uint64_t
	bool any;                 // the client waits only until the first of these jobs has ended
};

struct control {
	struct run *run;
	struct list clients;
	size_t n;
	char mark[10];            // the mark of the run, "@" and 8 random hexadecimal digits: put behind each ID for a client outside of the run
	size_t first_poll;        // index of the first descriptor of control_add_polls()
	struct pool_dir pool_dir;  // where the sockets of named runs are, if the run has a name
	struct stat own;          // what lstat(2) said of the run's socket in pool_dir, right after this run made the socket
	int lock_fd;              // the descriptor of the lock file of the run's name, or -1
};

// ---- the name ----

// Takes the name of --run NAME: the process that has locked the lock file of the name is the run of that name. Returns 0, or -1 after a message.
static int listen_by_name(struct control *control) {
	const char *name = control->run->options->control.run;
	FP_CLEANUP(buf_fini) struct buf file = BUF_INIT, error = BUF_INIT;
	buf_printf(&file, "run+%s", name); // in the directory of the pools, but no pool can have a "+" in its name
	if (pool_dir_open(&control->pool_dir, buf_str(&file), &error) != 0) {
		return diag_error("--run %s: %s", name, buf_str(&error));
	}
	FP_CLEANUP(fd_close) int other_fd = pool_dir_connect(&control->pool_dir); // a run of that name may have its socket in the other directory (pool_dir.h)
	control->lock_fd = other_fd < 0 ? pool_dir_lock(&control->pool_dir) : -1;
	if (other_fd >= 0 || (control->lock_fd < 0 && errno == EWOULDBLOCK)) {
		return diag_error("--run %s: a run of that name is under way", name);
	}
	int listen_fd = control->lock_fd >= 0 ? pool_dir_listen(&control->pool_dir) : -1;
	nested_listen(control->run->nested, listen_fd);
	if (listen_fd < 0 || lstat(control->pool_dir.address.sun_path, &control->own) != 0) {
		return diag_error("--run %s: cannot make the socket '%s': %s", name, control->pool_dir.address.sun_path, strerror(errno));
	}
	return 0;
}

static void close_name(struct control *control) {
	if (control->lock_fd >= 0) {
		if (pool_dir_is_own(&control->pool_dir, &control->own)) {
			(void)!unlink(control->pool_dir.address.sun_path);
		}
		pool_dir_remove_lock(&control->pool_dir, control->lock_fd);
	}
	fd_close(&control->lock_fd); // gives up the lock; must follow the unlink, which would else remove the socket of the next run of that name
}

// ---- clients ----

// Adds a client with its request; returns false if the frame is no request. control_tick() answers later, because nested_mutex() is held here.
static bool take_over(void *arg, const struct frame *frame, const char *text, int fd) {
	static const char many[] = "too many programs wait for an answer of the run";
	struct control *control = arg;
	if (!control_is_request(frame->type)) {
		return false;
	}
	if (control->n >= CLIENTS_MAX) {
		(void)!frame_send(fd, (struct frame){.type = CONTROL_REFUSED}, many, strlen(many), -1);
		close(fd);
		return true;
	}
	struct control_client *client = NEW(struct control_client);
	client->control = control;
	client->fd = fd;
	client->is_outside = (uint32_t)frame->c & CONTROL_BY_NAME;
	client->request = *frame;
	buf_add(&client->text, text, frame->len);
	list_push_back(&control->clients, &client->link);
	++control->n;
	return true;
}

static void client_free(struct control *control, struct control_client *client) {
	list_remove(&client->link);
	--control->n;
	if (client->wait) {
		waits_cancel(client->wait);
	}
	fd_close(&client->fd);
	buf_fini(&client->ids);
	buf_fini(&client->text);
	buf_fini(&client->out);
	free(client);
}

// ---- answers ----

static void answer(struct control_client *client, enum control_type type, uint64_t a, const void *text, size_t len) {
	frame_add(&client->out, (struct frame){.type = (uint32_t)type, .a = a}, text, len);
	client->is_answered = true;
}

static void answer_id(struct control_client *client, enum control_type type, uint64_t a, uint64_t id) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	buf_printf(&text, "%" PRIu64 "%s", id, client->is_outside ? client->control->mark : "");
	answer(client, type, a, text.data, text.len);
}

static void refuse(struct control_client *client, const char *why) {
	answer(client, CONTROL_REFUSED, 0, why, strlen(why));
}

static void add(struct control_client *client) {
	struct control_job job;
	FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
	if (!control_read_job(buf_str(&client->text), client->text.len, &job)) {
		refuse(client, "the request has no valid job");
		return;
	}
	uint64_t id = feeds_add_job(client->control->run, client->attempt, client->by, &job, &why);
	if (id > 0) {
		answer_id(client, CONTROL_ADDED, 0, id);
	} else {
		refuse(client, buf_str(&why));
	}
}

// ---- jobs by their IDs ----

static const uint64_t *ids_of(const struct control_client *client) {
	return (const uint64_t *)(const void *)client->ids.data;
}

static size_t count_ids(const struct control_client *client) {
	return client->ids.len / sizeof(uint64_t);
}

// Reads the IDs of the request into client->ids. If a job is of another run, or was not added, says so in `why`.
static void read_ids(struct control_client *client, struct buf *why) {
	const struct run *run = client->control->run;
	const char *text = buf_str(&client->text), *end = text + client->text.len;
	while (text < end && why->len == 0) {
		char *mark;
		int code;
		const char *word = strings_next(&text, end, 1);
		if (!word) {
			buf_adds(why, "invalid job IDs");
			return;
		}
		uint64_t id = strtoull(word, &mark, 10); // a number with too many digits becomes UINT64_MAX, which is no job
		if (*mark && strcmp(mark, client->control->mark) != 0) {
			buf_printf(why, "%s is the ID of a job of another run: an earlier run of that name, or a run of another name", text_shows(word));
		} else if (added_jobs_state(run->added_jobs, id, &code) == ADDED_UNKNOWN) {
			bool is_job = id >= 1 && id <= atomic_load_relaxed(&run->seq);
			buf_printf(why, is_job ? "job %" PRIu64 " was not added with --add: only added jobs can be waited for or cancelled"
			                       : "there is no job %" PRIu64, id);
		}
		buf_add(&client->ids, &id, sizeof(id));
	}
}

// ---- waiting ----

// Returns the exit status of the wait: for a single job the status of the job, for several jobs the number that failed, as for a run.
static int wait_status(const struct control_client *client, uint64_t id) {
	struct added_jobs *added_jobs = client->control->run->added_jobs;
	int code, failed = 0;
	if (client->any || (client->text.len > 0 && count_ids(client) == 1)) {
		(void)added_jobs_state(added_jobs, client->any ? id : ids_of(client)[0], &code);
		return code;
	}
	for (size_t i = 0; i < count_ids(client); ++i) {
		failed += added_jobs_state(added_jobs, ids_of(client)[i], &code) == ADDED_ENDED && code != 0 && failed <= 100;
	}
	return failed;
}

// Answers the clients whose waits are over.
static void end_waits(struct control *control) {
	uint64_t id;
	for (struct control_client *client; (client = waits_end_next(control->run->added_jobs, &id));) {
		client->wait = NULL;
		uint64_t status = (uint64_t)wait_status(client, id);
		if (client->any) {
			answer_id(client, CONTROL_ENDED, status, id);
		} else {
			answer(client, CONTROL_ENDED, status, NULL, 0);
		}
	}
}

static void begin_wait(struct control_client *client) {
	struct added_jobs *added_jobs = client->control->run->added_jobs;
	FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
	client->any = (uint32_t)client->request.c & WAIT_ANY;
	read_ids(client, &why);
	if (client->text.len == 0) {
		added_jobs_by(added_jobs, client->by, client->any, &client->ids);
	}
	if (why.len == 0 && count_ids(client) > 0) {
		client->wait = waits_begin(added_jobs, client->attempt, ids_of(client), count_ids(client), client->any, client, &why);
	} else if (why.len == 0 && !client->any) {
		answer(client, CONTROL_ENDED, 0, NULL, 0);
	} else if (why.len == 0) {
		buf_adds(&why, "the IDs of all added jobs have been printed already");
	}
	if (why.len > 0) {
		refuse(client, buf_str(&why));
	}
}

// ---- cancelling ----

// Ends the running attempts of the added job `id` or, if `id` is 0, of the batch, except attempt `number`. Returns whether there were any.
static bool cancel_attempts(struct run *run, uint64_t id, const struct batch *batch, uint64_t number) {
	bool found = false;
	FP_HOLD(nested_mutex(run->nested));
	for (struct live_attempt *attempt = NULL; (attempt = nested_next(run->nested, attempt));) {
		const struct job *job = attempt->job;
		bool is_meant = id > 0 ? job->added && job->item.seq == id : job->batch == batch && attempt->number != number;
		if (is_meant) {
			hosts_cancel(run->hosts, attempt);
			children_cancel(run->children, attempt, now_ns());
			found = true;
		}
	}
	return found;
}

static void cancel_ids(struct control_client *client) {
	struct run *run = client->control->run;
	FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
	uint64_t cancelled = 0;
	int code;
	read_ids(client, &why);
	for (size_t i = 0; i < count_ids(client) && why.len == 0; ++i) {
		cancelled += added_jobs_state(run->added_jobs, ids_of(client)[i], &code) == ADDED_THERE;
		added_jobs_cancel(run, ids_of(client)[i], /* runs */ true); // marks all jobs before any job is ended: else another of these jobs could start first
	}
	for (size_t i = 0; i < count_ids(client) && why.len == 0; ++i) {
		uint64_t id = ids_of(client)[i];
		if (!cancel_attempts(run, id, NULL, 0)) {
			added_jobs_cancel(run, id, /* runs */ false);
		}
	}
	retry_queue_recheck(run->retry_queue);
	if (why.len > 0) {
		refuse(client, buf_str(&why));
	} else {
		answer(client, CONTROL_CANCELLED, cancelled, NULL, 0);
	}
}

static void cancel_batch(struct control_client *client) {
	struct run *run = client->control->run;
	FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
	const char *name = buf_str(&client->text);
	struct queue *queue = pool_queue_find(run->pool, name);
	if (!queue) {
		buf_printf(&why, "no batch '%s' has jobs", text_shows(name));
		refuse(client, buf_str(&why));
	} else {
		struct batch *batch = queue_user(queue);
		atomic_store_relaxed(&batch->cancelled, true);
		uint64_t cancelled = pool_cancel(run->pool, queue);
		(void)cancel_attempts(run, 0, batch, client->attempt);
		retry_queue_recheck(run->retry_queue);
		pool_queue_close(run->pool, queue);
		answer(client, CONTROL_CANCELLED, cancelled, NULL, 0);
	}
}

// ---- requests ----

static void on_request(struct control_client *client) {
	struct run *run = client->control->run;
	const struct frame *request = &client->request;
	FP_CLEANUP(buf_fini) struct buf report = BUF_INIT;
	if (request->c >> 32 != CONTROL_VERSION) {
		refuse(client, "the run was started by another version of fairpar");
		return;
	}
	mutex_lock(nested_mutex(run->nested));
	const struct live_attempt *attempt = nested_find(run->nested, request->a);
	if (attempt && attempt->nonce == request->b) {
		client->attempt = request->a;
		client->by = attempt->job->item.seq;
	}
	mutex_unlock(nested_mutex(run->nested));
	if (client->attempt == 0 && !client->is_outside) {
		refuse(client, "the job that asks has ended");
		return;
	}
	switch (request->type) {
	case CONTROL_ADD: add(client); break;
	case CONTROL_WAIT: begin_wait(client); break;
	case CONTROL_CANCEL: ((uint32_t)request->c & CANCEL_BATCH ? cancel_batch : cancel_ids)(client); break;
	case CONTROL_LOOK:
		control_status(run, (uint32_t)request->c & LOOK_JSON, &report);
		answer(client, CONTROL_REPORT, 0, report.data, report.len);
		break;
	default: refuse(client, "the run does not know this request"); break;
	}
}

// ---- frames ----

// True if the client has closed its end. (If it has only shut down its sending side by shutdown(2), poll(2) reports no POLLHUP.)
static bool has_gone(int fd) {
	struct pollfd poll_fd = {.fd = fd};
	return poll(&poll_fd, 1, 0) > 0 && poll_fd.revents & POLLHUP;
}

// Sends as much of the answer as the client takes. Returns false if the client has gone, or has all of its answer.
static bool send_answer(struct control_client *client) {
	return frames_flush(client->fd, &client->out) && (client->out.len > 0 || !client->is_answered);
}

// ---- the event loop ----

void control_add_polls(struct control *control, struct polls *polls) {
	if (!control) {
		return;
	}
	control->first_poll = polls->n;
	list_for_each_entry(&control->clients, struct control_client, client, link) {
		client->is_polled = true;
		polls_add(polls, client->fd, client->is_answered ? POLLOUT : POLLIN);
	}
}

void control_tick(struct control *control, const struct polls *polls) {
	if (!control) {
		return;
	}
	end_waits(control);
	const struct pollfd *at = &polls->at[control->first_poll];
	list_for_each_entry(&control->clients, struct control_client, client, link) {
		// after its request, a client's descriptor becomes readable only when the client goes; a client that has gone before on_request() adds no job
		bool is_open = client->is_polled ? !at++->revents || client->is_answered : !has_gone(client->fd);
		if (is_open && !client->is_polled) {
			on_request(client);
		}
		if (!is_open || !send_answer(client)) {
			client_free(control, client);
		}
	}
}

// ---- opening and closing ----

void control_finish(struct control *control) {
	if (control) {
		end_waits(control); // whose last job has ended just now
		list_for_each_entry(&control->clients, struct control_client, client, link) {
			(void)send_answer(client);
		}
	}
}

int control_open(struct run *run) {
	const char *name = run->options->control.run;
	if (!run->nested) {
		return name && !run->options->dry_run ? diag_error("--run %s: cannot make a socket: %s", name, strerror(errno)) : 0;
	}
	struct control *control = run->control = NEW(struct control);
	control->run = run;
	control->lock_fd = -1;
	uint32_t mark;
	random_bytes(&mark, sizeof(mark));
	(void)snprintf(control->mark, sizeof(control->mark), "@%08" PRIx32, mark);
	list_init(&control->clients);
	run->added_jobs = added_jobs_open(run);
	nested_set_take_over(run->nested, take_over, control);
	return name ? listen_by_name(control) : 0;
}

void control_close(struct control *control) {
	if (control) {
		list_for_each_entry(&control->clients, struct control_client, client, link) {
			client_free(control, client);
		}
		close_name(control);
		free(control);
	}
}
