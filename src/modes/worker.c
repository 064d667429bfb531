// --worker: the process at the other end of a connection. The thread of the loop reads and writes the connection; each job has a thread, on which
// child_run() executes it. When the connection ends or breaks, the worker ends all jobs, by the steps of --term-seq, before it ends itself.

#include "modes/modes.h"

#include "base/alloc.h"
#include "base/beneath.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/list.h"
#include "base/sync.h"
#include "base/units.h"
#include "base/write_limit.h"
#include "process/memory.h"
#include "process/signals.h"
#include "remote/file_talk.h"
#include "remote/payload.h"
#include "remote/worker_end.h"
#include "sharing/jobserver_slots.h"
#include "sharing/nested.h"
#include "shell/shell.h"
#include "slots/auto_slots.h"
#include "slots/slots.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { THREAD_STACK = 256 * 1024, LAST_MINUTE_S = 60, OWN_END_MS = 50, LAST_S = 2, BATCHES = 256 };

// A job, from its `run` frame until its end was sent. The job's thread owns it; the thread of the loop uses only what the lock guards.
struct remote_job {
	struct remote_worker *worker;
	uint64_t number;
	struct remote_batch *batch; // or NULL
	struct payload payload;
	struct list link;        // link in worker->held or worker->ready, until a thread has taken the job
	// Two descriptors that wake the job's thread if it waits. (A thread that takes the job later looks for input or room before it waits.)
	int input_fd;            // readable when there is input (wakeup_open()); -1: the job gets no input
	int room_fd;             // readable when more output may be sent; borrowed from the thread; -1: the job has no thread yet
	bool has_files;          // this is no job, but a conversation about files (file_talk.h)
	struct live_attempt live; // for slots that are lent to the fairpars in the job
	struct file_talk talk;   // the conversation; guarded by worker->lock
	// guarded by worker->lock:
	struct buf input;        // bytes that were not written to its stdin yet
	bool stopped, expired, killed; // a `stop` frame has come; the first one said STOP_EXPIRE; one of them said STOP_KILL
	bool shut[STREAM_ERR + 1];     // nobody reads what the job writes to this stream
};

// What the worker has learned from the jobs of a batch: how long these run, and how much memory they need.
struct remote_batch {
	struct controller_batch pace;  // guarded by the lock of auto_slots.c
	struct memory_learned memory;  // guarded by the lock of process/memory.h
};

// A slot that the dispatcher lends to the fairpars in a job.
struct remote_lending {
	struct lending lending;
	uint64_t job;            // the number of the job
};

struct remote_worker {
	const struct options *options;
	struct context *context;
	struct utsname machine;  // has the machine's name, which `end` borrows
	struct slots_bounds bounds; // the fewest and the most slots (jobs at once); equal unless -j is auto
	bool learns_memory;      // a job whose batch is known starts only if there is memory for it (process/memory.h)
	struct children *children;
	struct nested *nested;   // lends slots to the fairpars in jobs; or NULL
	struct auto_slots *auto_slots; // of -j auto; or NULL
	struct remote_batch *batches;  // BATCHES entries, if the worker learns from its jobs: the index of a batch is its number modulo BATCHES
	struct worker_end *end;  // this end of the connection, with the jobs in its channel; `lock` guards it and all members up to `env`
	mutex lock;
	cond work;               // signalled when a job is put into `ready`, and when the threads are to end
	cond ends;               // broadcast when `ending` is set
	struct list held;        // jobs that wait for the gate
	struct list ready;       // jobs and conversations about files that wait for a thread
	struct thread_entry *threads;
	unsigned nthreads;
	bool ending;             // the jobs are being ended, and no further job is taken; set by the loop
	struct remote_job *starting; // the job that has passed the gate but does not run yet, so the load does not show it; or NULL
	unsigned taken;          // number of slots that the jobs have
	bool was_full;           // all slots were taken at some time since the last sample of -j auto: the dispatcher may have more jobs
	bool is_braked;          // no job may start for now; a `brake` frame has said so
	bool suspended;          // the jobs are stopped, because the dispatcher is
	bool threads_end;
	struct buf base;         // the variables of the `env` frame, a NUL behind each
	char **env;              // what jobs inherit; array owned
	// of the loop:
	struct sysload_gate gate;
	int in_fd, out_fd, signal_fd, wake_fd;
	struct polls polls;
	int signal;              // the signal that ends the worker, or 0
	bool said_bye;           // `bye` was sent, as the worker's time is nearly over
	uint64_t last_minute;    // from when on no further job is taken (now_ns() time)
	uint64_t over;           // when the jobs that still run are to be ended (now_ns() time)
	uint64_t next_gate_check;// while is_braked is set: when to look at the machine's load and memory again
	uint64_t reap;           // when to look for orphans again
};

struct thread_entry {
	struct thread_entry *next;
	struct remote_worker *worker;
	thread thread;
	int room_fd;             // wakes the thread when its job may send more output
};

// With the lock.
static void job_free(struct remote_job *job) {
	job->worker->taken -= (unsigned)job->payload.width;
	fd_close(&job->input_fd);
	file_talk_fini(&job->talk);
	buf_fini(&job->input);
	payload_fini(&job->payload);
	free(job);
}

// ---- the gate: --load, --memfree ----

// Bars new jobs because of `why`, or ("") admits them again. With the lock.
static void set_brake(struct remote_worker *worker, const char *why) {
	const struct channel *channel = &worker->end->channel;
	size_t nrunning = 0;
	for (size_t i = 0; i < channel->njobs; ++i) {
		nrunning += channel->jobs[i].is_running;
	}
	worker->is_braked = why[0] != '\0';
	channel_say(&worker->end->channel, FRAME_BRAKE, worker->is_braked, nrunning, why);
}

// Takes the first job off the list, or returns NULL. With the lock.
static struct remote_job *take_job(struct list *list) {
	struct remote_job *job = list_is_empty(list) ? NULL : list_entry(list->next, struct remote_job, link);
	if (job) {
		list_remove(&job->link);
	}
	return job;
}

// Gives the job to the next thread. With the lock.
static void make_ready(struct remote_worker *worker, struct remote_job *job) {
	list_push_back(&worker->ready, &job->link);
	cond_signal(&worker->work);
}

// Refuses the jobs that wait for the gate: the dispatcher will send them again, to this worker or to another one. With the lock.
static void refuse_held(struct remote_worker *worker, const char *why) {
	for (struct remote_job *job; (job = take_job(&worker->held));) {
		worker_end_refuse(worker->end, job->number, why);
		job_free(job);
	}
}

// Lets the next job start, or bars all jobs, by the load and memory of the machine. The next check is made after the job has started, so that the
// check sees the effect of this job. With the lock. Returns when to call it again.
static uint64_t step_gate(struct remote_worker *worker, uint64_t now) {
	if (worker->ending || worker->starting || (!worker->is_braked && list_is_empty(&worker->held))) {
		return TIME_NEVER;
	}
	if (worker->is_braked && now < worker->next_gate_check) {
		return worker->next_gate_check;
	}
	FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
	(void)sysload_check(&worker->gate, &why);
	worker->next_gate_check = now + NS_PER_S;
	if (worker->is_braked != (why.len > 0)) {
		set_brake(worker, buf_str(&why));
	}
	if (worker->is_braked) {
		refuse_held(worker, buf_str(&why));
		return worker->next_gate_check;
	}
	worker->starting = take_job(&worker->held);
	if (worker->starting) {
		make_ready(worker, worker->starting);
	}
	return TIME_NEVER;
}

// If `job` is worker->starting: notes that it has started, failed to start, or waits for memory; so the gate may let the next job in. With the lock.
static void leave_gate(struct remote_worker *worker, struct remote_job *job) {
	if (worker->starting == job) {
		worker->starting = NULL;
		wakeup_post(worker->wake_fd);
	}
}

// ---- slots for the fairpars in jobs; with the lock ----

// Asks the dispatcher for a slot. The dispatcher lends a slot when it is the turn of the job's batch.
static bool request_slot(void *arg, const struct live_attempt *attempt) {
	struct remote_worker *worker = arg;
	channel_say(&worker->end->channel, FRAME_WANT, list_entry(attempt, struct remote_job, live)->number, 1, "");
	return true;
}

// Whether other jobs wait for a lent slot. Only the dispatcher knows: so each slot is given back after one job, and requested again.
static bool others_wait(void *arg FP_UNUSED) {
	return true;
}

static void return_slot(void *arg, struct lending *lending) {
	struct remote_worker *worker = arg;
	struct remote_lending *lent = list_entry(lending, struct remote_lending, lending);
	channel_say(&worker->end->channel, FRAME_BACK, lent->job, 0, "");
	free(lent);
}

// To be called after slots were taken: if all are taken now, -j auto samples the jobs again.
static void note_full(struct remote_worker *worker) {
	if (worker->auto_slots && !worker->was_full && worker->taken + nested_lent(worker->nested) >= auto_slots_number(worker->auto_slots)) {
		worker->was_full = true;
		auto_slots_starving(worker->auto_slots);
	}
}

// Takes a slot that the dispatcher lends to the fairpars in the job.
static void take_slot(const struct remote_job *job) {
	struct remote_lending *lent = NEW(struct remote_lending);
	lent->job = job->number;
	if (!nested_lend(job->worker->nested, job->live.number, &lent->lending)) {
		return_slot(job->worker, &lent->lending); // the process of the job has ended
	}
	note_full(job->worker);
}

static uint64_t serve_nested(struct remote_worker *worker) {
	FP_HOLD(&worker->lock);
	return worker->nested ? nested_tick(worker->nested, &worker->polls) : TIME_NEVER;
}

static void open_nested(struct remote_worker *worker, unsigned slots) {
	worker->nested = nested_open(slots, worker->bounds, /* lends */ true, worker->context, worker->children);
	if (worker->nested) {
		nested_attach(worker->nested, &(struct nested_source){
			.request = request_slot, .others_wait = others_wait, .returned = return_slot, .arg = worker,
		}, worker->wake_fd);
		jobserver_slots_mark_level(worker->context);
	}
}

// ---- -j auto, on the thread of the loop ----

static void get_demand(void *arg, struct auto_demand *ret_demand) {
	struct remote_worker *worker = arg;
	unsigned lent = nested_lent(worker->nested);
	FP_HOLD(&worker->lock);
	bool is_full = worker->taken + lent >= auto_slots_number(worker->auto_slots), may_grow = !worker->ending && !worker->suspended;
	*ret_demand = (struct auto_demand){
		.children = worker->children, .taken = worker->taken + lent, .lent = lent, .wanted = (worker->was_full || is_full) && may_grow,
	};
	worker->was_full = is_full; // if false, note_full() has the sampling begin again once all slots are taken
}

static void on_adapted(void *arg, unsigned slots, enum controller_reason reason) {
	struct remote_worker *worker = arg;
	nested_tell_slots(worker->nested, slots, reason);
	FP_HOLD(&worker->lock);
	channel_say(&worker->end->channel, FRAME_SLOTS, slots, (uint64_t)reason, "");
}

// Counts the slots of a job that has come, and finds its batch. With the lock.
static void count_job(struct remote_worker *worker, struct remote_job *job) {
	const struct payload *payload = &job->payload;
	worker->taken += (unsigned)payload->width; // 0 if there is no payload
	job->batch = worker->batches && payload->batch > 0 ? &worker->batches[payload->batch % BATCHES] : NULL;
	note_full(worker);
}

// Whether the job takes more slots than there are. The number of -j auto may just have become less; any other number the dispatcher itself keeps to,
// and its list of machines may give this worker another one by now. A job that is alone is never refused, or it would never run. With the lock.
static bool is_beyond(const struct remote_worker *worker, const struct remote_job *job) {
	return worker->auto_slots && worker->taken > job->payload.width && worker->taken > auto_slots_number(worker->auto_slots);
}

// ---- a job, on its thread ----

// Sends output, as much as there is room for. Drops it if the connection is broken, or if the worker ends and there is no room.
static ssize_t output_readable(void *arg, enum child_stream stream, int fd) {
	struct remote_job *job = arg;
	struct remote_worker *worker = job->worker;
	char bytes[WIRE_CHUNK_MOST];
	mutex_lock(&worker->lock);
	size_t room = channel_room(&worker->end->channel, job->number);
	bool is_lost = channel_why(&worker->end->channel) || (worker->ending && room == 0), shut = job->shut[stream];
	bool waits = room == 0 && !is_lost && !shut;
	if (waits) { // an old post of room_fd, from when there was room for the other stream, must not end the wait at once
		wakeup_clear(job->room_fd);
	}
	mutex_unlock(&worker->lock);
	if (shut) {
		return 0;
	}
	if (waits) {
		errno = ENODATA;
		return -1;
	}
	ssize_t n = read(fd, bytes, room < sizeof(bytes) && !is_lost ? room : sizeof(bytes));
	if (n > 0 && !is_lost) {
		mutex_lock(&worker->lock);
		channel_send_bytes(&worker->end->channel, job->number, stream == STREAM_OUT ? 1 : 2, bytes, (size_t)n);
		mutex_unlock(&worker->lock);
		wakeup_post(worker->wake_fd);
	}
	return n;
}

static ssize_t input_writable(void *arg, int fd) {
	struct remote_job *job = arg;
	struct remote_worker *worker = job->worker;
	const struct channel *channel = &worker->end->channel;
	ssize_t n = 0;
	FP_HOLD(&worker->lock);
	wakeup_clear(job->input_fd);
	if (job->input.len > 0) {
		n = write(fd, job->input.data, job->input.len);
	} else if (!channel_find_job(channel, job->number)->input_ended && !channel_why(channel)) {
		n = -1;
		errno = ENODATA;
	}
	if (n > 0) {
		buf_drop(&job->input, (size_t)n);
		channel_acknowledge(&worker->end->channel, job->number, (size_t)n);
		wakeup_post(worker->wake_fd);
	}
	return n;
}

static void stop_child(struct remote_job *job, uint64_t now, bool kills) {
	children_cancel(job->worker->children, job, now);
	if (kills) {
		children_signal_one(job->worker->children, job, SIGKILL);
	}
}

static void job_started(void *arg, pid_t pid, uint64_t start) {
	struct remote_job *job = arg;
	struct remote_worker *worker = job->worker;
	mutex_lock(&worker->lock);
	bool stopped = job->stopped, killed = job->killed, suspended = worker->suspended;
	worker_end_started(worker->end, job->number, (uint64_t)pid, u64_minus(now_ns(), start));
	leave_gate(worker, job);
	mutex_unlock(&worker->lock);
	wakeup_post(worker->wake_fd);
	if (suspended) {
		children_signal_one(worker->children, job, SIGSTOP);
	}
	if (stopped) { // the `stop` frame came before the child ran
		stop_child(job, start, killed);
	}
}

// Returns the program of the job: the dispatcher's path if there is such a file here, else the path that execvp() would find.
static const char *find_program(const struct payload *payload, char *const *env, struct buf *file) {
	const char *name = payload->argv.at[0];
	if (strchr(name, '/') || access(payload->child.path, F_OK) == 0) {
		return payload->child.path;
	}
	const char *path = env_find(env, "PATH", 4);
	return path && path[4] == '=' && program_search(path + 5, name, file) == 0 ? buf_str(file) : payload->child.path;
}

// Lets the next job pass the gate while this job waits for its memory.
static void memory_waits(void *arg, uint64_t bytes FP_UNUSED) {
	struct remote_job *job = arg;
	FP_HOLD(&job->worker->lock);
	leave_gate(job->worker, job);
}

static void run_child(struct remote_job *job, const struct context *context, char **env, void *stack_top, struct job_end *ret_end) {
	const struct payload *payload = &job->payload;
	const struct output_reader reader = {.readable = output_readable, .more_fd = job->room_fd, .arg = job};
	const struct stdin_writer writer = {.writable = input_writable, .more_fd = job->input_fd, .arg = job};
	FP_CLEANUP(buf_fini) struct buf file = BUF_INIT;
	struct child_config config = payload->child;
	config.path = find_program(payload, env, &file);
	config.argv = payload->argv.at;
	config.env = env;
	config.context = context;
	config.stdin_fd = -1;
	config.stdin_writer = payload->has_input ? &writer : NULL;
	config.output_reader = &reader;
	config.own_group = true;
	config.origin = config.started_arg = job;
	config.stack_top = stack_top;
	config.started = job_started;
	bool learns = job->batch && job->worker->learns_memory && !config.cleanup;
	struct memory_claim claim = {.origin = job, .learned = learns ? &job->batch->memory : NULL, .waits = memory_waits, .waits_arg = job};
	config.claim = config.memory > 0 || learns ? &claim : NULL;
	child_run(job->worker->children, &config, &ret_end->result, &ret_end->error);
}

// Makes the context of the job, and executes the job.
static void execute(struct remote_job *job, void *stack_top, struct job_end *ret_end) {
	const struct payload *payload = &job->payload;
	if (payload->dir && payload->makes_dir && make_dirs(payload->dir) != 0) {
		*ret_end = (struct job_end){.error = {.step = SPAWN_CHDIR, .error = errno}};
		result_cannot_start(&ret_end->result, 126);
		return;
	}
	struct context *context = context_derive(job->worker->context, payload->dir, payload->umask, payload->nice);
	if (payload->nlimits > 0) {
		context_set_limits(context, payload->limits, payload->nlimits);
	}
	char **env = env_merge(job->worker->env, payload->set.at, payload->unset.at);
	FP_CLEANUP(buf_fini) struct buf variable = BUF_INIT;
	struct nested *nested = job->worker->nested;
	if (nested) {
		nested_add_variable(nested, &job->live, &variable);
		char **inherited = env, *set[] = {variable.data, NULL};
		env = env_merge(inherited, set, NULL);
		free(inherited);
	}
	nested_begin(nested, &job->live);
	struct auto_slots *auto_slots = job->batch ? job->worker->auto_slots : NULL;
	if (auto_slots) {
		auto_slots_begin(auto_slots, (unsigned)payload->width);
	}
	run_child(job, context, env, stack_top, ret_end);
	if (auto_slots) {
		auto_slots_end(auto_slots, &job->batch->pace, (unsigned)payload->width, &ret_end->result);
	}
	nested_end(nested, &job->live);
	free(env);
	context_unref(context);
}

static void send_files(void *arg, struct buf *frames, const char *why) {
	struct remote_job *job = arg;
	struct remote_worker *worker = job->worker;
	channel_send_frames(&worker->end->channel, job->number, frames);
	if (why) {
		channel_break(&worker->end->channel, why);
	}
	wakeup_post(worker->wake_fd);
}

// Waits for the next job and takes it; NULL: no job comes any more. With the lock.
static struct remote_job *next_job(struct remote_worker *worker) {
	while (list_is_empty(&worker->ready) && !worker->threads_end) {
		cond_wait(&worker->work, &worker->lock);
	}
	return take_job(&worker->ready);
}

// Returns whether the job was ended by a SIGTERM that is to end the worker, too: at the end of an allocation Slurm sends SIGTERM to all processes
// of it, one after the other. So this function waits a moment for the worker's own SIGTERM. With the lock, which is unlocked meanwhile.
static bool was_ended_with_worker(struct remote_worker *worker, const struct remote_job *job, const struct result *result) {
	if (result->outcome != OUTCOME_SIGNAL || result->term_signal != SIGTERM || job->stopped) {
		return false;
	}
	uint64_t until = now_ns() + (uint64_t)OWN_END_MS * NS_PER_MS;
	while (!worker->ending && cond_wait_until(&worker->ends, &worker->lock, until)) {
	}
	return !job->stopped && (worker->ending || now_ns() >= worker->last_minute);
}

static void *thread_main(void *arg) {
	struct thread_entry *entry = arg;
	struct remote_worker *worker = entry->worker;
	void *stack_top = spawn_stack_create();
	struct remote_job *job;
	mutex_lock(&worker->lock);
	while ((job = next_job(worker)) != NULL) {
		struct job_end end;
		job->room_fd = entry->room_fd;
		mutex_unlock(&worker->lock);
		if (job->has_files) {
			bool is_over = file_talk_serve(&job->talk, &worker->lock);
			end = (struct job_end){.result = {.outcome = is_over ? OUTCOME_OK : OUTCOME_CANCELLED}};
		} else {
			execute(job, stack_top, &end);
		}
		mutex_lock(&worker->lock);
		leave_gate(worker, job);
		if (was_ended_with_worker(worker, job, &end.result)) {
			end.result.outcome = OUTCOME_CANCELLED;
		}
		if (job->expired && end.result.outcome == OUTCOME_CANCELLED) {
			end.result.outcome = OUTCOME_TIMEOUT;
		}
		worker_end_done(worker->end, job->number, &end);
		job_free(job);
		wakeup_post(worker->wake_fd);
	}
	mutex_unlock(&worker->lock);
	spawn_stack_destroy(stack_top);
	return NULL;
}

// ---- what the dispatcher says, on the thread of the loop, with the lock ----

// Starts a thread for jobs. Returns false if there are no more threads or descriptors.
static bool start_thread(struct remote_worker *worker) {
	struct thread_entry *entry = NEW(struct thread_entry);
	*entry = (struct thread_entry){.next = worker->threads, .worker = worker, .room_fd = wakeup_open()};
	if (entry->room_fd < 0 || thread_start(&entry->thread, thread_main, entry, THREAD_STACK) != 0) {
		fd_close(&entry->room_fd);
		free(entry);
		return false;
	}
	worker->threads = entry;
	++worker->nthreads;
	return true;
}

// Makes sure that a thread will take the job that was added to the channel last. Returns false if there is no thread and none can be started.
static bool has_thread(struct remote_worker *worker) {
	return worker->nthreads >= worker->end->channel.njobs || start_thread(worker) || worker->nthreads > 0;
}

static void on_begin(void *arg, struct channel_job *of, const char *bytes, size_t n) {
	struct remote_worker *worker = arg;
	struct remote_job *job = of->owner = NEW(struct remote_job);
	*job = (struct remote_job){.worker = worker, .number = of->number, .has_files = of->has_files, .input_fd = -1, .room_fd = -1,
		.live.has_slot = true};
	job->talk.send = send_files;
	job->talk.sender = job;
	file_talk_init(&job->talk);
	bool is_late = now_ns() >= worker->last_minute, is_ending = worker->ending || (worker->end->is_released && !job->has_files);
	// a conversation about files is taken even while no job is taken, because earlier jobs need their files
	const char *fault = NULL, *why = is_ending ? "the worker is ending" : job->has_files ? NULL
		: is_late ? "the worker's time is nearly over" : worker->is_braked ? "the worker starts no jobs for now" : NULL;
	if (!why && !job->has_files && payload_read(&job->payload, bytes, n, &fault) != 0) {
		why = fault;
	}
	count_job(worker, job);
	if (!why && !job->has_files && is_beyond(worker, job)) {
		why = "all slots are taken";
	}
	if (!why && (!has_thread(worker) || (job->payload.has_input && (job->input_fd = wakeup_open()) < 0))) {
		worker->next_gate_check = now_ns() + NS_PER_S;
		set_brake(worker, "the worker has no free thread or descriptor for a job");
		why = "the worker starts no jobs for now";
	}
	if (why) {
		worker_end_refuse(worker->end, job->number, why); // the worker ends only when the channel has no job left
		job_free(job);
	} else if (!job->has_files && (worker->gate.max_load > 0 || worker->gate.memfree > 0)) {
		list_push_back(&worker->held, &job->link);
	} else {
		make_ready(worker, job);
	}
	if (fault) {
		channel_break(&worker->end->channel, fault);
	}
}

static void on_env(void *arg, bool adds, const char *bytes, size_t n) {
	struct remote_worker *worker = arg;
	if (worker->base.len > 0 || worker->end->channel.njobs > 0 || n == 0 || bytes[n - 1] != '\0') {
		channel_break(&worker->end->channel, "the dispatcher has sent an environment twice, after a job, or without NUL at its end");
		return;
	}
	buf_add(&worker->base, bytes, n);
	char **old = worker->env, **set = payload_list(&worker->base);
	char *cookie[] = {(char *)env_find(old, "FAIRPAR_COOKIE", strlen("FAIRPAR_COOKIE")), NULL}; // marks processes for the worker's guardian
	worker->env = env_merge(adds ? old : cookie, set, NULL);
	free(old);
	free(set);
}

static void stop_job(struct remote_job *job, enum stop_how how) {
	job->expired = job->expired || (how == STOP_EXPIRE && !job->stopped);
	job->killed = job->killed || how == STOP_KILL;
	job->stopped = true;
	file_talk_end(&job->talk);
	stop_child(job, now_ns(), job->killed);
}

static const char *on_frame(void *arg FP_UNUSED, struct channel_job *of, const struct wire_frame *frame) {
	struct remote_job *job = of->owner;
	switch ((int)frame->type) {
	case FRAME_IN:
	case FRAME_EOF:
		buf_add(&job->input, frame->payload, frame->size);
		wakeup_post(job->input_fd);
		return NULL;
	case FRAME_SHUT:
		job->shut[frame->numbers[1] == 1 ? STREAM_OUT : STREAM_ERR] = true;
		wakeup_post(job->room_fd);
		return NULL;
	case FRAME_MORE: wakeup_post(job->room_fd); return NULL;
	case FRAME_LEND:
		take_slot(job);
		return NULL;
	case FRAME_STOP: stop_job(job, (enum stop_how)frame->numbers[1]); return NULL;
	default: return file_talk_post(&job->talk, frame);
	}
}

static void on_suspend(void *arg, bool begins) {
	struct remote_worker *worker = arg;
	worker->suspended = begins;
	if (!begins) {
		auto_slots_starving(worker->auto_slots); // nothing was sampled meanwhile
	}
	children_signal(worker->children, begins ? SIGSTOP : SIGCONT);
}

static const struct worker_calls calls = {.env = on_env, .begin = on_begin, .frame = on_frame, .suspend = on_suspend};

// ---- the connection ----

static void read_connection(struct remote_worker *worker) {
	char bytes[64 * 1024];
	ssize_t n = read_some(worker->in_fd, bytes, sizeof(bytes));
	FP_HOLD(&worker->lock);
	if (n > 0) {
		(void)channel_receive(&worker->end->channel, bytes, (size_t)n, now_ns());
	} else if (n == 0 || errno != EAGAIN) {
		channel_break(&worker->end->channel, n == 0 ? "the dispatcher has closed the connection" : strerror(errno));
	}
}

// ---- the loop ----

// Ends all jobs, and lets no further one begin.
static void terminate(struct remote_worker *worker) {
	if (worker->ending) {
		return;
	}
	mutex_lock(&worker->lock);
	worker->ending = true;
	nested_abandon(worker->nested);
	refuse_held(worker, "the worker is ending");
	cond_broadcast(&worker->ends);
	for (size_t i = 0; i < worker->end->channel.njobs; ++i) {
		struct remote_job *job = worker->end->channel.jobs[i].owner;
		wakeup_post(job->room_fd); // the job need not wait for room any more: output for which there is no room is dropped
		wakeup_post(job->input_fd);
		file_talk_end(&job->talk);
	}
	mutex_unlock(&worker->lock);
	children_terminate(worker->children);
	wakeup_post(worker->wake_fd); // children_term_step() is due
}

static void answer_signal(struct remote_worker *worker, int signal) {
	if (signal == SIGCHLD) {
		children_note_sigchld(worker->children);
		worker->reap = 0;
	} else if (is_ending_signal(signal) && worker->signal) {
		children_kill(worker->children);
	} else if (is_ending_signal(signal)) {
		worker->signal = signal;
		mutex_lock(&worker->lock);
		channel_say(&worker->end->channel, FRAME_BYE, 0, 0, "a signal has ended the worker");
		mutex_unlock(&worker->lock);
		terminate(worker);
	}
}

// Does what is due at this time: pings, the gate, the end of the worker's time, signals to jobs. Returns when to call it again.
static uint64_t do_due(struct remote_worker *worker) {
	uint64_t now = now_ns();
	mutex_lock(&worker->lock);
	bool is_greeted = worker->end->channel.is_greeted;
	if (now >= worker->last_minute && !worker->said_bye) {
		worker->said_bye = true;
		channel_say(&worker->end->channel, FRAME_BYE, 0, 0, "the worker's time is nearly over");
	}
	uint64_t due = time_earlier(channel_tick(&worker->end->channel, now), step_gate(worker, now));
	mutex_unlock(&worker->lock);
	if (now >= worker->over && is_greeted) { // before Slurm ends the jobs: Slurm may end a shell's child first, and the shell may then exit with 0
		terminate(worker);
	}
	if (now >= worker->reap) {
		worker->reap = children_reap_orphans(worker->children, worker->signal_fd);
	}
	due = time_earlier(due, children_term_step(worker->children, now));
	due = time_earlier(due, auto_slots_tick(worker->auto_slots, now));
	due = time_earlier(due, worker->ending || !is_greeted ? TIME_NEVER : worker->over);
	due = time_earlier(due, worker->said_bye ? TIME_NEVER : worker->last_minute);
	return time_earlier(due, worker->reap);
}

static void loop_poll(struct remote_worker *worker, uint64_t until, bool reads, bool writes) {
	struct polls *polls = &worker->polls;
	children_begin_polls(worker->children, polls, worker->signal_fd);
	polls_add(polls, reads ? worker->in_fd : -1, POLLIN);
	polls_add(polls, writes ? worker->out_fd : -1, POLLOUT);
	nested_add_polls(worker->nested, polls);
	children_poll(worker->children, polls, until);
	int signal;
	while (polls->at[POLL_SIGNAL].revents && (signal = signals_next(worker->signal_fd)) != 0) {
		answer_signal(worker, signal);
	}
	if (polls->at[CHILDREN_POLLS].revents) {
		read_connection(worker);
	}
}

// Serves the connection and what is due until nothing is left to do. Returns whether the connection was lost before all was done.
static bool loop(struct remote_worker *worker) {
	bool was_cut_off = false;
	uint64_t nested_due = TIME_NEVER;
	for (bool over = false; !over;) {
		uint64_t due = do_due(worker);
		struct channel *channel = &worker->end->channel;
		mutex_lock(&worker->lock);
		ssize_t left = channel_write(channel, worker->out_fd);
		if (left < 0) {
			channel_break(channel, strerror(errno));
		}
		bool broken = channel_why(channel);
		over = channel->njobs == 0 && (broken || ((worker->end->is_released || worker->ending) && left == 0));
		mutex_unlock(&worker->lock);
		if (broken) {
			was_cut_off = was_cut_off || !over;
			terminate(worker);
		}
		if (!over) {
			loop_poll(worker, time_earlier(due, nested_due), !broken, left > 0);
			nested_due = serve_nested(worker);
		}
	}
	return was_cut_off;
}

// ---- putting it together ----

// Moves the connection from descriptors 0 and 1, for no job may use it: 0 becomes /dev/null, and 1 a copy of 2. Returns 0, or -1 with errno.
static int take_stdio(struct remote_worker *worker) {
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	worker->in_fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	worker->out_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	int result = null < 0 || worker->in_fd < 0 || worker->out_fd < 0 || dup2(null, STDIN_FILENO) < 0 ||
		dup2(STDERR_FILENO, STDOUT_FILENO) < 0 || fcntl(worker->in_fd, F_SETFL, O_NONBLOCK) < 0 ||
		fcntl(worker->out_fd, F_SETFL, O_NONBLOCK) < 0;
	fd_close(&null);
	return result ? -1 : 0;
}

// Reads -j as the bounds of the number of slots, at most as many as descriptors allow: the dispatcher sends no more jobs than that, so none fails
// for want of descriptors. Reads --load, too. Returns 0, or -1 after a message.
static int read_limits(struct remote_worker *worker, unsigned long nofile) {
	const struct options *options = worker->options;
	struct slots_bounds *bounds = &worker->bounds;
	unsigned limit = slots_limit(nofile);
	char *error;
	if (slots_parse(options->jobs ? options->jobs : "100%", nofile, bounds, &error) != 0
	    || (options->load && load_parse(options->load, &worker->gate.max_load, &error) != 0)) {
		return diag_error_free(error);
	}
	bounds->most = bounds->most < limit ? bounds->most : limit;
	bounds->least = bounds->least < bounds->most ? bounds->least : bounds->most;
	return 0;
}

static int worker_open(struct remote_worker *worker) {
	const struct options *options = worker->options;
	const bool is_auto = options_jobs_auto(options);
	if (read_limits(worker, (unsigned long)context_raise_nofile(worker->context)) != 0) {
		return -1;
	}
	worker->signal_fd = signals_open();
	worker->wake_fd = wakeup_open();
	if (worker->signal_fd < 0 || worker->wake_fd < 0 || take_stdio(worker) != 0) {
		return diag_error("cannot set up the connection of the worker: %s", strerror(errno));
	}
	worker->children = children_create(&options->term_seq, worker->context, worker->wake_fd);
	children_start_guardian(worker->children);
	unsigned slots = worker->bounds.most;
	if (is_auto) {
		worker->auto_slots = auto_slots_new(&worker->bounds, &(struct auto_owner){
			.demand = get_demand, .changed = on_adapted, .arg = worker, .wake_fd = worker->wake_fd,
		});
		slots = auto_slots_number(worker->auto_slots);
	}
	worker->learns_memory = options_learn_memory(options, is_auto);
	worker->batches = is_auto || worker->learns_memory ? xcalloc(BATCHES, sizeof(*worker->batches)) : NULL;
	open_nested(worker, slots);
	uint64_t left = options->worker_seconds, last = LAST_S * NS_PER_S + term_seq_length(&options->term_seq), usable = u64_minus(left * NS_PER_S, last);
	worker->over = left > 0 ? now_ns() + usable : TIME_NEVER;
	worker->last_minute = left > 0 ? worker->over - time_earlier(usable / 10, LAST_MINUTE_S * NS_PER_S) : TIME_NEVER;
	const char *node = getenv("SLURMD_NODENAME"); // the name by which Slurm's commands know the machine
	verify(uname(&worker->machine) == 0);
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	worker->end = worker_end_new(&calls, worker, &(struct worker_hello){
		.slots = slots,
		.left = left,
		.memory = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0,
		.node = node ? node : worker->machine.nodename,
	}, now_ns());
	// the worker may run in a job of a fairpar that is not its dispatcher: that fairpar has set these variables
	char *unset[] = {"FAIRPAR_LEASE", "FAIRPAR_SOCK", "FAIRPAR_CONTROL", NULL};
	// as in a login shell: without SHLVL, a bash in a job takes itself for one that sshd has started, and reads ~/.bashrc
	char *level[] = {"SHLVL=1", NULL};
	const char *known = getenv("SHLVL");
	worker->env = env_merge(worker->context->env, known && known[0] > '0' ? NULL : level, unset);
	return 0;
}

static void worker_close(struct remote_worker *worker) {
	mutex_lock(&worker->lock);
	worker->threads_end = true;
	cond_broadcast(&worker->work);
	mutex_unlock(&worker->lock);
	for (struct thread_entry *next, *entry = worker->threads; entry; entry = next) {
		next = entry->next;
		thread_join(entry->thread);
		fd_close(&entry->room_fd);
		free(entry);
	}
	nested_close(worker->nested);
	auto_slots_free(worker->auto_slots);
	free(worker->batches);
	children_destroy(worker->children, /* kills_orphans */ worker->ending);
	free(worker->env);
	buf_fini(&worker->base);
	free(worker->polls.at);
	fd_close(&worker->wake_fd);
	fd_close(&worker->signal_fd);
	fd_close(&worker->in_fd);
	fd_close(&worker->out_fd);
}

int worker_run(const struct options *options, struct context *context) {
	struct remote_worker worker = {
		.options = options, .context = context, .gate = {.memfree = (uint64_t)options->memfree, .asks = "memfree"},
		.in_fd = -1, .out_fd = -1, .signal_fd = -1, .wake_fd = -1,
	};
	int status = EXIT_TROUBLE;
	mutex_init(&worker.lock, LOCK_WORKER);
	cond_init(&worker.work);
	cond_init(&worker.ends);
	list_init(&worker.held);
	list_init(&worker.ready);
	if (worker_open(&worker) == 0) {
		bool was_cut_off = loop(&worker);
		const char *why = channel_why(&worker.end->channel);
		if (why && (!worker.end->is_released || was_cut_off)) {
			diag_error("the connection to the dispatcher has ended: %s", why);
		} else {
			status = 0;
		}
	}
	worker_close(&worker);
	worker_end_free(worker.end);
	cond_fini(&worker.ends);
	cond_fini(&worker.work);
	mutex_fini(&worker.lock);
	if (worker.signal) {
		signals_die(worker.signal);
	}
	return status;
}
