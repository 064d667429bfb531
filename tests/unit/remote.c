// Both ends of a connection (remote/dispatcher_end.h, remote/worker_end.h): bytes cut anywhere, what may not be sent, who goes first, and silence.

#include "remote/worker_end.h"
#include "remote/dispatcher_end.h"

#include "base/alloc.h"
#include "test.h"

#define MARK "0123456789abcdef0123456789abcdef"
#define HELLO "\n" MARK "\nhello 2 2 0 0 1\nn\n"
#define S UINT64_C(1000000000)

// What was called back, a letter each, and the bytes that came with it.
static struct buf heard;

static void tell(const char *what, uint64_t job, const char *bytes, size_t n) {
	buf_printf(&heard, "%s%llu:", what, ull(job));
	buf_add(&heard, bytes, n);
	buf_addc(&heard, ';');
}

static void h_hello(void *arg, const struct worker_hello *hello) { (void)arg; tell("hello", hello->slots, hello->node, strlen(hello->node)); }
static void h_started(void *arg, struct channel_job *job, uint64_t pid, uint64_t ago) { (void)arg; (void)pid; (void)ago; tell("started", job->number, "", 0); }
static void h_output(void *arg, struct channel_job *job, unsigned stream, const char *bytes, size_t n) { (void)arg; (void)stream; tell("out", job->number, bytes, n); }
static void h_done(void *arg, const struct channel_job *job, const struct job_end *end) { (void)arg; (void)end; tell("done", job->number, "", 0); }
static void h_bye(void *arg, const char *why) { (void)arg; tell("bye", 0, why, strlen(why)); }
static void h_braked(void *arg, uint64_t jobs, const char *why) { (void)arg; (void)jobs; tell(why ? "brake" : "go", 0, why ? why : "", why ? strlen(why) : 0); }
static void h_slots(void *arg, uint64_t slots, uint64_t reason) { (void)arg; (void)reason; tell("slots", slots, "", 0); }
static void h_lost(void *arg, const struct channel_job *job) { (void)arg; tell("lost", job->number, job->is_unsent ? "unsent" : "", job->is_unsent ? 6 : 0); }
static void h_overdue(void *arg, struct channel_job *job) { (void)arg; tell("overdue", job->number, "", 0); }
static const char *h_wanted(void *arg, struct channel_job *job, uint64_t slots) { (void)arg; (void)slots; tell("want", job->number, "", 0); return NULL; }
static void h_back(void *arg, struct channel_job *job) { (void)arg; tell("back", job->number, "", 0); }
static const char *h_files(void *arg, struct channel_job *job, const struct wire_frame *frame) { (void)arg; tell(wire_kind(frame->type)->name, job->number, "", 0); return NULL; }
static const struct dispatcher_calls dispatcher_calls = {h_hello, h_started, h_output, h_done, h_bye, h_braked, h_slots, h_lost, h_overdue, NULL, h_wanted, h_back, h_files};

static void a_env(void *arg, bool adds, const char *bytes, size_t n) { (void)arg; tell("env", adds, bytes, n); }
static void a_begin(void *arg, struct channel_job *job, const char *bytes, size_t n) { (void)arg; tell(job->has_files ? "files" : "run", job->number, bytes, n); }
static const char *a_frame(void *arg, struct channel_job *job, const struct wire_frame *frame) {
	(void)arg;
	tell(wire_kind(frame->type)->name, job->number, frame->payload ? frame->payload : "", frame->size);
	return NULL;
}
static void a_rest(void *arg, bool begins) { (void)arg; tell("rest", begins, "", 0); }
static const struct worker_calls worker_calls = {a_env, a_begin, a_frame, a_rest};

// A host that has jobs 1 and 2.
static struct dispatcher_end *make_host(void) {
	struct dispatcher_end *host = dispatcher_end_new(&dispatcher_calls, NULL, MARK, S);
	check(channel_receive(&host->channel, HELLO, strlen(HELLO), S) == 0);
	dispatcher_end_begin(host, 1, "x", 1);
	dispatcher_end_begin(host, 2, "y", 1);
	buf_reset(&heard);
	return host;
}

static struct worker_end *make_agent(void) {
	struct worker_end *agent = worker_end_new(&worker_calls, NULL, &(struct worker_hello){.slots = 2, .node = "n"}, S);
	const char *text = GREETING MARK "\nrun 3 1\nx\n";
	size_t n;
	check(channel_receive(&agent->channel, text, strlen(text), S) == 0);
	(void)channel_output(&agent->channel, &n); // its greeting
	channel_sent(&agent->channel, n);
	buf_reset(&heard);
	return agent;
}

// ---- each frame has its taker ----

// Whether such a frame belongs to a conversation about files.
static bool is_of_files(int type) {
	return type >= FRAME_ITEM && type <= FRAME_ROOM;
}

static void frame_text(struct buf *buf, int type, uint64_t job) {
	struct wire_frame frame = {.type = (enum wire_type)type, .numbers = {job, 1, 1}, .payload = "\0\2", .size = 2};
	wire_write(buf, &frame);
}

static void test_each_frame(void) {
	for (int type = 0; type < FRAME_TYPES; ++type) {
		FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
		if (wire_kind((enum wire_type)type)->sender & WIRE_WORKER) {
			struct dispatcher_end *host = dispatcher_end_new(&dispatcher_calls, NULL, MARK, S);
			const char *head = type == FRAME_HELLO ? "\n" MARK "\n" : HELLO;
			check(channel_receive(&host->channel, head, strlen(head), S) == 0);
			if (is_of_files(type)) {
				dispatcher_end_begin(host, 1, NULL, 0);
			} else if (type != FRAME_HELLO) {
				dispatcher_end_begin(host, 1, "x", 1);
			}
			if (type == FRAME_OUT || type == FRAME_DONE) {
				buf_adds(&text, "started 1 9 0\n");
			}
			if (type == FRAME_TAKE) {
				channel_send_bytes(&host->channel, 1, 0, "z", 1);
			}
			frame_text(&text, type, type == FRAME_HELLO ? WIRE_VERSION : 1);
			buf_reset(&heard);
			if (channel_receive(&host->channel, text.data, text.len, S) < 0) {
				fprintf(stderr, "# %s: %s\n", wire_kind((enum wire_type)type)->name, channel_why(&host->channel));
				check(false);
			}
			check(heard.len > 0 || type == FRAME_PING || type == FRAME_PONG || type == FRAME_TAKE);
			dispatcher_end_free(host);
		}
		buf_reset(&text);
		if (wire_kind((enum wire_type)type)->sender & WIRE_DISPATCHER) {
			struct worker_end *agent = make_agent();
			worker_end_started(agent, 3, 9, 0);
			channel_send_bytes(&agent->channel, 3, 1, "z", 1);
			buf_adds(&text, is_of_files(type) ? "files 4\n" : "");
			frame_text(&text, type, type == FRAME_RUN || type == FRAME_FILES || is_of_files(type) ? 4 : 3);
			check(channel_receive(&agent->channel, text.data, text.len, S) == 0);
			check(heard.len > 0 || type == FRAME_PING || type == FRAME_PONG || (type == FRAME_BYE && agent->is_released));
			worker_end_free(agent);
		}
	}
}

// ---- cut anywhere ----

static void test_cut(void) {
	static const char to_host[] = "motd\n" HELLO "ping 3\nbye 2\nno\n", to_agent[] =
		GREETING MARK "\nenv 1 4\nA=1\0\nrun 1 3\na\nb\nin 1 2\n\n\n\neof 1\nstop 1 0\nshut 1 2\nrest 1\nrest 0\nping 9\nbye 0\n\n";
	for (size_t cut = 0; cut < sizeof(to_host); ++cut) {
		struct dispatcher_end *host = dispatcher_end_new(&dispatcher_calls, NULL, MARK, S);
		buf_reset(&heard);
		check(channel_receive(&host->channel, to_host, cut, S) == 0 && channel_receive(&host->channel, to_host + cut, sizeof(to_host) - 1 - cut, S) == 0);
		check_string(buf_str(&heard), "hello2:n;bye0:no;");
		dispatcher_end_free(host);
		if (cut == sizeof(to_host) - 1) {
			break;
		}
	}
	for (size_t cut = 0; cut < sizeof(to_agent); ++cut) {
		struct worker_end *agent = worker_end_new(&worker_calls, NULL, &(struct worker_hello){.slots = 1, .node = "n"}, S);
		buf_reset(&heard);
		check(channel_receive(&agent->channel, to_agent, cut, S) == 0);
		check(channel_receive(&agent->channel, to_agent + cut, sizeof(to_agent) - 1 - cut, S) == 0);
		static const char all[] = "env1:A=1\0;run1:a\nb;in1:\n\n;eof1:;stop1:;shut1:;rest1:;rest0:;";
		check(heard.len == sizeof(all) - 1 && memcmp(heard.data, all, heard.len) == 0 && agent->is_released);
		worker_end_free(agent);
		if (cut == sizeof(to_agent) - 1) {
			break;
		}
	}
}

// ---- what may not be sent ----

#define BEGUN "started 1 1 0\n"
#define NO_ERROR " 2\n\1\1\n"

static void test_hostile(void) {
	static const char *const to_host[] = {
		"hello 2 2 0 0 1\nn\n", "slots 0 1\n", "data 1 1\nx\n", "started 3 1 0\n", "out 1 1 1\nx\n", "started 1 1 0\nstarted 1 1 0\n", "started 1 1 0\nout 1 3 1\nx\n", "take 1 1\n",
		"started 1 1 0\nrefuse 1 0\n\n", "refuse 1 0\n\nrefuse 1 0\n\n", "done 1 9 0 0 0 0 0 0 0 2\n\1\2\n", "run 1 0\n\n", "nonsense\n",
		"done 1 0 256 0 0 0 0 0 0 2\n\1\2\n", "done 1 1 1 0 0 0 0 0 9007199254740992 2\n\1\2\n", "started 1 1 0\nout 1 0 1\nx\n", "bye\n",
		// ends whose numbers deny each other
		BEGUN "done 1 0 1 0 0 0 0 0 0" NO_ERROR, BEGUN "done 1 0 0 9 0 0 0 0 0" NO_ERROR, BEGUN "done 1 0 0 0 1 0 0 0 0" NO_ERROR,
		BEGUN "done 1 1 0 0 0 0 0 0 0" NO_ERROR, BEGUN "done 1 1 1 9 0 0 0 0 0" NO_ERROR, BEGUN "done 1 2 0 0 0 0 0 0 0" NO_ERROR,
		BEGUN "done 1 3 1 9 0 0 0 0 0" NO_ERROR, BEGUN "done 1 4 126 0 0 0 0 0 0" NO_ERROR, BEGUN "done 1 6 0 0 0 0 0 0 0" NO_ERROR,
		"done 1 0 0 0 0 0 0 0 0" NO_ERROR, "done 1 1 1 0 0 0 0 0 0" NO_ERROR, "done 1 2 0 9 0 0 0 0 0" NO_ERROR, "done 1 4 1 0 0 0 0 0 0" NO_ERROR,
		BEGUN "done 1 0 0 0 0 0 0 0 0 3\n\1\1x\n", BEGUN "done 1 0 0 0 0 0 0 0 0 1\n\1\n", // not two bytes
	};
	static const char *const to_agent[] = {
		"run 3 1\nx\n", "run 2 1\nx\n", "in 4 1\nx\n", "eof 3\nin 3 1\nx\n", "eof 3\neof 3\n", "more 3 1\n", "stop 3 3\n", "shut 3 0\n",
		"shut 3 3\n", "data 3 1\nx\n", "files 3\n", "hello 2 2 0 0 1\nn\n", "out 3 1 1\nx\n", "nonsense\n",
	};
	for (size_t i = 0; i < sizeof(to_host) / sizeof(to_host[0]); ++i) {
		struct dispatcher_end *host = make_host();
		if (channel_receive(&host->channel, to_host[i], strlen(to_host[i]), S) == 0) {
			fprintf(stderr, "# it takes: %s", to_host[i]);
			check(false);
		}
		check(channel_why(&host->channel));
		buf_reset(&heard);
		dispatcher_end_lose_jobs(host);
		dispatcher_end_lose_jobs(host);
		check(!memmem(buf_str(&heard), heard.len, "lost2:unsent;lost2", 18) && memmem(buf_str(&heard), heard.len, "lost2:", 6));
		dispatcher_end_free(host);
	}
	for (size_t i = 0; i < sizeof(to_agent) / sizeof(to_agent[0]); ++i) {
		struct worker_end *agent = make_agent();
		if (channel_receive(&agent->channel, to_agent[i], strlen(to_agent[i]), S) == 0) {
			fprintf(stderr, "# it takes: %s", to_agent[i]);
			check(false);
		}
		check(channel_why(&agent->channel));
		worker_end_free(agent);
	}
}

static void test_slots(void) {
	struct dispatcher_end *host = make_host();
	int n = 0;
	while (n < 1000 && channel_receive(&host->channel, "slots 7 2\n", strlen("slots 7 2\n"), 2 * S) == 0) {
		++n;
	}
	check_equal(n, 40); // 20, and 20 for each second since its hello
	check(strstr(channel_why(&host->channel), "too often") && memmem(buf_str(&heard), heard.len, "slots7:;slots7:;", 16));
	dispatcher_end_free(host);
}

static void test_beyond(void) {
	// a job that was sent before the worker had fewer slots may be refused; a later one may not
	struct dispatcher_end *host = make_host();
	static const char fewer[] = "slots 1 5\nrefuse 2 2\nno\n", late[] = "refuse 3 2\nno\n";
	check(channel_receive(&host->channel, fewer, strlen(fewer), 2 * S) == 0);
	check_string(buf_str(&heard), "slots1:;lost2:unsent;");
	dispatcher_end_begin(host, 3, "z", 1);
	buf_reset(&heard);
	check(channel_receive(&host->channel, late, strlen(late), 2 * S) == 0);
	check_string(buf_str(&heard), "bye0:no;lost3:unsent;");
	dispatcher_end_free(host);
}

static void test_greeting(void) {
	static const char *const greetings[] = {"fairpar-worker 1 " MARK "\n", "fairpar-worker 2 0123\n", "hello\n", "\n", "GET / HTTP/1.0\r\n"};
	for (size_t i = 0; i < sizeof(greetings) / sizeof(greetings[0]); ++i) {
		struct worker_end *agent = worker_end_new(&worker_calls, NULL, &(struct worker_hello){.slots = 1, .node = "n"}, S);
		check(channel_receive(&agent->channel, greetings[i], strlen(greetings[i]), S) < 0);
		worker_end_free(agent);
	}
	struct dispatcher_end *host = dispatcher_end_new(&dispatcher_calls, NULL, MARK, S);
	static char noise[65 * 1024];
	memset(noise, 'n', sizeof(noise));
	check(channel_receive(&host->channel, noise, sizeof(noise), S) < 0);
	check_equal(strlen(dispatcher_end_noise(host)), sizeof(noise));
	dispatcher_end_free(host);
	host = dispatcher_end_new(&dispatcher_calls, NULL, MARK, S);
	check(channel_receive(&host->channel, "\n" MARK "\nhello 3 1 0 0 1\nn\n", strlen("\n" MARK "\nhello 3 1 0 0 1\nn\n"), S) < 0);
	check(strstr(channel_why(&host->channel), "version"));
	dispatcher_end_free(host);
}

// A worker whose time is nearly over has something to say before it is greeted.
static void test_before_the_greeting(void) {
	struct worker_end *agent = worker_end_new(&worker_calls, NULL, &(struct worker_hello){.slots = 2, .left = 0, .node = "n"}, S);
	size_t n;
	channel_say(&agent->channel, FRAME_BYE, 0, 0, "late");
	channel_output(&agent->channel, &n);
	check_equal(n, 0);
	check(channel_receive(&agent->channel, GREETING MARK "\n", strlen(GREETING MARK "\n"), S) == 0);
	FP_CLEANUP(buf_fini) struct buf said = BUF_INIT;
	for (const char *bytes; bytes = channel_output(&agent->channel, &n), n > 0; channel_sent(&agent->channel, n)) {
		buf_add(&said, bytes, n);
	}
	check_string(buf_str(&said), "\n" MARK "\nhello 2 2 0 0 1\nn\nbye 4\nlate\n");
	worker_end_free(agent);
}

static void test_windows(void) {
	struct dispatcher_end *host = make_host();
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	static char bytes[WIRE_CHUNK_MOST];
	buf_adds(&text, "started 1 1 0\n");
	for (unsigned i = 0; i < OUTPUT_WINDOW / WIRE_CHUNK_MOST; ++i) {
		wire_write(&text, &(struct wire_frame){.type = FRAME_OUT, .numbers = {1, 1}, .payload = bytes, .size = sizeof(bytes)});
	}
	check(channel_receive(&host->channel, text.data, text.len, S) == 0);
	channel_acknowledge(&host->channel, 1, 3);
	check(channel_receive(&host->channel, "out 1 2 3\nabc\n", 14, S) == 0);
	check(channel_receive(&host->channel, "out 1 2 1\na\n", 12, S) < 0);
	dispatcher_end_free(host);
}

// ---- who goes first, and silence ----

static void test_urgent(void) {
	static char bytes[OUTPUT_WINDOW];
	struct worker_end *agent = make_agent();
	worker_end_started(agent, 3, 1, 0);
	size_t n;
	while (channel_output(&agent->channel, &n), n > 0) {
		channel_sent(&agent->channel, n);
	}
	channel_send_bytes(&agent->channel, 3, 1, bytes, sizeof(bytes));
	channel_output(&agent->channel, &n);
	channel_sent(&agent->channel, 1);
	check(channel_receive(&agent->channel, "ping 7\n", 7, S) == 0);
	size_t before = n - 1;
	channel_output(&agent->channel, &n);
	check_equal(n, before);
	check(n <= WIRE_CHUNK_MOST + WIRE_HEADER_MOST);
	channel_sent(&agent->channel, n);
	check(strncmp(channel_output(&agent->channel, &n), "pong 7\n", 7) == 0);
	worker_end_free(agent);
}

// All that it has to send is sent.
static void send_all_of(struct dispatcher_end *host) {
	size_t n;
	while (channel_output(&host->channel, &n), n > 0) {
		channel_sent(&host->channel, n);
	}
}

// All that is to be sent, as one string.
static const char *sent_by(struct dispatcher_end *host) {
	static char all[200];
	size_t n, len = 0;
	for (const char *bytes; bytes = channel_output(&host->channel, &n), n > 0; channel_sent(&host->channel, n)) {
		check(len + n < sizeof(all));
		memcpy(all + len, bytes, n);
		len += n;
	}
	all[len] = '\0';
	return all;
}

static void test_silence(void) {
	struct dispatcher_end *host = make_host();
	size_t n;
	send_all_of(host);
	check(channel_tick(&host->channel, S) == 16 * S);
	check(channel_tick(&host->channel, 15 * S) == 16 * S && (channel_output(&host->channel, &n), n) == 0);
	check(channel_tick(&host->channel, 16 * S) == 31 * S && strncmp(channel_output(&host->channel, &n), "ping ", 5) == 0);
	check(channel_receive(&host->channel, "pong 1\n", 7, 20 * S) == 0);
	check(channel_tick(&host->channel, 20 * S) == 35 * S && channel_tick(&host->channel, 79 * S) == 80 * S && !channel_why(&host->channel));
	check(channel_tick(&host->channel, 80 * S) == 80 * S && channel_why(&host->channel)); // or nobody would look at it before something else happens
	check(channel_tick(&host->channel, 80 * S) == UINT64_MAX);
	dispatcher_end_free(host);
}

static void test_owed(void) {
	// who does not read what it is sent cannot make that grow: of pings the last is answered, of a job the bytes are acknowledged together
	struct worker_end *agent = make_agent();
	struct dispatcher_end *host = make_host();
	size_t n;
	send_all_of(host);
	dispatcher_end_begin(host, 3, "z", 1);
	(void)channel_output(&host->channel, &n);
	channel_sent(&host->channel, 1);
	check(channel_receive(&host->channel, "started 1 1 0\n", 14, S) == 0);
	for (int i = 0; i < 100000; ++i) {
		check(channel_receive(&host->channel, "ping 3\nping 4\nout 1 1 1\nx\n", 26, S) == 0);
		channel_acknowledge(&host->channel, 1, 1);
	}
	channel_sent(&host->channel, n - 1);
	check_string(sent_by(host), "more 1 100000\npong 4\n");
	check_string(sent_by(host), "");
	worker_end_started(agent, 3, 9, 0);
	channel_send_bytes(&agent->channel, 3, 1, "z", 1);
	check(channel_receive(&agent->channel, "in 3 2\nab\nin 3 1\nc\nping 1\n", 26, S) == 0);
	channel_acknowledge(&agent->channel, 3, 2);
	channel_acknowledge(&agent->channel, 3, 1);
	(void)channel_output(&agent->channel, &n);
	channel_sent(&agent->channel, n);
	check(memmem(agent->channel.current.data, n, "take 3 3\n", 9) && !memmem(agent->channel.current.data, n, "take 3 2\n", 9));
	dispatcher_end_free(host);
	worker_end_free(agent);
}

static void test_chatter(void) {
	// only the greeting is a sign of life before the greeting
	struct dispatcher_end *host = dispatcher_end_new(&dispatcher_calls, NULL, MARK, S);
	send_all_of(host);
	(void)channel_tick(&host->channel, 2 * S);
	for (unsigned i = 3; i < 61; ++i) {
		check(channel_receive(&host->channel, "x\n", 2, i * S) == 0 && channel_tick(&host->channel, i * S) > i * S);
	}
	check(channel_tick(&host->channel, 62 * S) == 62 * S);
	check_string(channel_why(&host->channel), "no worker has answered for a minute");
	dispatcher_end_free(host);
}

static void test_rest(void) {
	struct worker_end *agent = make_agent();
	check(channel_tick(&agent->channel, 2 * S) < 100 * S);
	check(channel_receive(&agent->channel, "rest 1\nin 3 1\n", 14, 5 * S) == 0 && channel_tick(&agent->channel, 5 * S) == UINT64_MAX);
	check(channel_receive(&agent->channel, "x\n", 2, 6 * S) == 0 && channel_tick(&agent->channel, 100000 * S) == UINT64_MAX && !channel_why(&agent->channel));
	check(channel_receive(&agent->channel, "rest 0\n", 7, 100000 * S) == 0 && channel_tick(&agent->channel, 100000 * S) == 100015 * S);
	(void)channel_tick(&agent->channel, 100060 * S);
	check(channel_why(&agent->channel));
	worker_end_free(agent);
	struct dispatcher_end *host = make_host();
	dispatcher_end_suspend(host, true, 2 * S);
	check(channel_tick(&host->channel, 1000 * S) == UINT64_MAX && !channel_why(&host->channel));
	dispatcher_end_suspend(host, false, 1000 * S);
	check(channel_tick(&host->channel, 1059 * S) == 1060 * S && !channel_why(&host->channel));
	dispatcher_end_free(host);
}

static void test_queued(void) {
	struct dispatcher_end *host = dispatcher_end_new(&dispatcher_calls, NULL, MARK, S);
	host->channel.waits_for_greeting = true;
	check(channel_tick(&host->channel, 100000 * S) == UINT64_MAX && !channel_why(&host->channel));
	check(channel_receive(&host->channel, HELLO, strlen(HELLO), 100000 * S) == 0);
	check(channel_tick(&host->channel, 100000 * S) == 100015 * S);
	(void)channel_tick(&host->channel, 100060 * S);
	check(channel_why(&host->channel)); // from then on it is as any other
	dispatcher_end_free(host);
}

// The worker says that it is alive.
static uint64_t alive(struct dispatcher_end *host, uint64_t now) {
	check(channel_receive(&host->channel, "pong 1\n", 7, now) == 0);
	return dispatcher_end_tick(host, now);
}

static void test_overdue(void) {
	// 10 s, and what --term-seq takes, whatever else comes meanwhile; once; and what comes of it then is taken
	struct dispatcher_end *host = make_host();
	check(channel_receive(&host->channel, "started 1 9 0\n", 14, 2 * S) == 0);
	buf_reset(&heard);
	dispatcher_end_stop(host, 1, STOP_CANCEL, 3 * S, 2 * S);
	check_equal(alive(host, 9 * S), 15 * S);
	dispatcher_end_stop(host, 1, STOP_KILL, 3 * S, 9 * S);
	check_equal(alive(host, 14 * S), 15 * S);
	check_string(buf_str(&heard), "");
	check_equal(alive(host, 15 * S), 15 * S);
	check_string(buf_str(&heard), "overdue1:;");
	check_equal(alive(host, 30 * S), 45 * S);
	check(channel_receive(&host->channel, "out 1 1 1\nx\ndone 1 5 0 15 0 0 0 0 0 2\n\0\0\n", 41, 31 * S) == 0);
	check_string(buf_str(&heard), "overdue1:;out1:x;done1:;");
	check_equal(alive(host, 40 * S), 55 * S);
	// the time in which the line rests does not count
	dispatcher_end_stop(host, 2, STOP_EXPIRE, S, 40 * S);
	check_equal(alive(host, 44 * S), 51 * S);
	dispatcher_end_suspend(host, true, 45 * S);
	check_equal(alive(host, 900 * S), UINT64_MAX);
	dispatcher_end_suspend(host, false, 1000 * S);
	check_equal(alive(host, 1005 * S), 1006 * S);
	buf_reset(&heard);
	(void)alive(host, 1006 * S);
	check_string(buf_str(&heard), "overdue2:;");
	dispatcher_end_free(host);
}

static void test_blocked(void) {
	// an end that waits because nobody here reads the output is not overdue; one whose output is read is
	static char bytes[WIRE_CHUNK_MOST];
	struct dispatcher_end *host = make_host();
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	buf_adds(&text, "started 1 1 0\n");
	for (unsigned i = 0; i < OUTPUT_WINDOW / WIRE_CHUNK_MOST; ++i) {
		wire_write(&text, &(struct wire_frame){.type = FRAME_OUT, .numbers = {1, 1}, .payload = bytes, .size = sizeof(bytes)});
	}
	check(channel_receive(&host->channel, text.data, text.len, S) == 0);
	dispatcher_end_stop(host, 1, STOP_EXPIRE, 0, S);
	buf_reset(&heard);
	for (unsigned i = 1; i < 50; ++i) {
		check_equal(alive(host, i * 10 * S + S), (i + 1) * 10 * S + S);
	}
	channel_acknowledge(&host->channel, 1, 1);
	check(channel_receive(&host->channel, "out 1 1 1\nx\n", 12, 499 * S) == 0);
	buf_reset(&heard);
	(void)alive(host, 501 * S);
	check_string(buf_str(&heard), "overdue1:;");
	dispatcher_end_free(host);
}

static void test_leaving(void) {
	// a worker that takes no more jobs, because it has said so or has refused one without a brake, is given up after a minute without any
	static const char *const ways[] = {"refuse 1 2\nno\n", "bye 2\nno\n", "brake 1 0 1\nx\nrefuse 1 2\nno\nbrake 0 0 0\n\nrefuse 2 2\nno\n"};
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); ++i) {
		struct dispatcher_end *host = make_host();
		check(channel_receive(&host->channel, ways[i], strlen(ways[i]), 2 * S) == 0);
		for (size_t job = host->channel.njobs; job > 0; --job) {
			check(alive(host, 300 * S) > 300 * S);
			channel_remove_job(&host->channel, &host->channel.jobs[0]);
		}
		check_equal(alive(host, 300 * S), 315 * S);
		check_equal(alive(host, 359 * S), 360 * S);
		check_equal(alive(host, 360 * S), 360 * S);
		check_string(channel_why(&host->channel), "the worker takes no more jobs, and has had none for a minute");
		dispatcher_end_free(host);
	}
	// not so one that has no job because there is none, or that brakes
	struct dispatcher_end *host = make_host();
	static const char brakes[] = "brake 1 0 1\nx\nrefuse 1 2\nno\nrefuse 2 2\nno\n";
	check(channel_receive(&host->channel, brakes, strlen(brakes), 2 * S) == 0);
	for (uint64_t at = 3; at < 300; at += 10) {
		check(alive(host, at * S) > at * S && !channel_why(&host->channel));
	}
	dispatcher_end_free(host);
	// one that was told to end, and does not
	host = dispatcher_end_new(&dispatcher_calls, NULL, MARK, S);
	check(channel_receive(&host->channel, HELLO, strlen(HELLO), S) == 0);
	dispatcher_end_bye(host, "x");
	check(alive(host, S) > S && alive(host, 60 * S) > 60 * S && alive(host, 61 * S) == 61 * S && channel_why(&host->channel));
	dispatcher_end_free(host);
}

static void test_flapping(void) {
	// who refuses a job is sent the next one a second later, however fast it takes its brake back
	struct dispatcher_end *host = make_host();
	static const char flaps[] = "brake 1 0 1\nx\nrefuse 1 2\nno\nbrake 0 0 0\n\nbrake 1 0 1\ny\nbrake 0 0 0\n\n";
	check(channel_receive(&host->channel, flaps, strlen(flaps), 2 * S) == 0);
	check_equal(dispatcher_end_tick(host, 2 * S), 3 * S);
	check_string(buf_str(&heard), "brake0:x;lost1:unsent;brake0:y;");
	(void)dispatcher_end_tick(host, 3 * S);
	check_string(buf_str(&heard), "brake0:x;lost1:unsent;brake0:y;go0:;");
	check(channel_receive(&host->channel, "brake 1 0 1\nx\nbrake 0 0 0\n\n", 28, 4 * S) == 0);
	buf_reset(&heard);
	(void)dispatcher_end_tick(host, 4 * S);
	(void)dispatcher_end_tick(host, 5 * S);
	check_string(buf_str(&heard), "go0:;");
	dispatcher_end_free(host);
}

static int give(void *arg, const char *machine, struct buf *ret_why) {
	bool gives = strcmp(machine, "Linux x") == 0;
	(void)arg;
	tell("want", 0, machine, strlen(machine));
	buf_adds(ret_why, gives ? "" : "BSD");
	return gives ? 0 : -1;
}

static void test_wanted(void) {
	struct dispatcher_calls calls = dispatcher_calls;
	calls.program_requested = give;
	static const char asks[] = "Welcome\nwant it\nwant " MARK " Linux x\n", has[] = "\nhave " MARK "\n";
	for (size_t cut = 0; cut < sizeof(asks) - 1; ++cut) { // anywhere
		struct dispatcher_end *host = dispatcher_end_new(&calls, NULL, MARK, S);
		buf_reset(&heard);
		check(channel_receive(&host->channel, asks, cut, S) == 0);
		check_string(sent_by(host), GREETING MARK "\n");
		check(channel_receive(&host->channel, asks + cut, sizeof(asks) - 1 - cut, S) == 0);
		check_string(buf_str(&heard), "want0:Linux x;");
		check_string(sent_by(host), ""); // the owner writes the program
		check(channel_receive(&host->channel, has, sizeof(has) - 1, S) == 0);
		check_string(sent_by(host), GREETING MARK "\n");
		check(channel_receive(&host->channel, asks, sizeof(asks) - 1, S) == 0 && channel_receive(&host->channel, has, sizeof(has) - 1, S) == 0);
		check_string(sent_by(host), ""); // once is enough
		check(channel_receive(&host->channel, HELLO, strlen(HELLO), S) == 0);
		check_string(buf_str(&heard), "want0:Linux x;hello2:n;");
		dispatcher_end_free(host);
	}
	struct dispatcher_end *host = dispatcher_end_new(&calls, NULL, MARK, S);
	check(channel_receive(&host->channel, "\nhave " MARK "\nwant " MARK " BSD\n", 2 * 32 + 18, S) < 0);
	check_string(channel_why(&host->channel), "BSD");
	dispatcher_end_free(host);
	host = dispatcher_end_new(&dispatcher_calls, NULL, MARK, S);
	check(channel_receive(&host->channel, asks, sizeof(asks) - 1, S) < 0 && channel_why(&host->channel));
	dispatcher_end_free(host);
}

static void test_slow_copy(void) {
	struct dispatcher_calls calls = dispatcher_calls;
	calls.program_requested = give;
	struct dispatcher_end *host = dispatcher_end_new(&calls, NULL, MARK, S);
	send_all_of(host);
	check(channel_receive(&host->channel, "\nwant " MARK " Linux x\n", 47, S) == 0);
	uint64_t now = S;
	for (int i = 0; i < 7; ++i) {
		host->channel.has_sent = true; // a piece of the program was written
		now += 50 * S;
		(void)channel_tick(&host->channel, now);
		check(!channel_why(&host->channel));
	}
	(void)channel_tick(&host->channel, now + 60 * S);
	check(channel_why(&host->channel));
	dispatcher_end_free(host);
}

static void test_unsent(void) {
	struct dispatcher_end *host = make_host();
	size_t n;
	send_all_of(host); // jobs 1 and 2
	dispatcher_end_begin(host, 3, "z", 1);
	dispatcher_end_begin(host, 4, "z", 1);
	(void)channel_output(&host->channel, &n); // the frames of both, which are as long
	channel_sent(&host->channel, n / 2);
	dispatcher_end_begin(host, 5, "z", 1);
	channel_break(&host->channel, "x");
	dispatcher_end_lose_jobs(host);
	check_string(buf_str(&heard), "lost5:unsent;lost4:unsent;lost3:;lost2:;lost1:;");
	dispatcher_end_free(host);
	host = make_host();
	send_all_of(host);
	dispatcher_end_begin(host, 3, "z", 1);
	(void)channel_output(&host->channel, &n);
	channel_sent(&host->channel, n - 1);
	channel_break(&host->channel, "x");
	dispatcher_end_lose_jobs(host);
	check_string(buf_str(&heard), "lost3:unsent;lost2:;lost1:;");
	dispatcher_end_free(host);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("each frame of the table is taken by the end that it is for", test_each_frame),
		TEST("what comes may be cut anywhere", test_cut),
		TEST("what the other end may not send breaks the line, and each job is lost once", test_hostile),
		TEST("a worker may change its number of slots as often as it samples its jobs", test_slots),
		TEST("a worker whose slots have become fewer may refuse the jobs that were on their way", test_beyond),
		TEST("who is no worker, no dispatcher, or of another version is found out at once", test_greeting),
		TEST("what a worker says before it is greeted follows its greeting", test_before_the_greeting),
		TEST("no more output is taken than there is room for", test_windows),
		TEST("what is urgent waits for one frame of output at most", test_urgent),
		TEST("silence is answered by pings, and then by the end of the line", test_silence),
		TEST("what an end owes that is not read does not grow", test_owed),
		TEST("chatter before the greeting is no sign of life", test_chatter),
		TEST("a line that rests may be silent for as long as it likes", test_rest),
		TEST("a worker that stands in a queue may be silent until it comes", test_queued),
		TEST("a machine that wants a program gets it, once, and is greeted again when it is there", test_wanted),
		TEST("a program may take long to be sent, but not for ever", test_slow_copy),
		TEST("a job whose frame was not written to its end has not run when the line breaks", test_unsent),
		TEST("a job that does not stop is soon overdue, whatever else comes or does not", test_overdue),
		TEST("a job whose output waits for its reader is not", test_blocked),
		TEST("a worker that takes no more jobs, and does not end, is given up", test_leaving),
		TEST("a worker that flaps is not asked without a pause", test_flapping),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
