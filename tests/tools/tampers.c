// tampers: stands between a dispatcher and a worker, and makes the worker misbehave: --launch 'tampers SEED WAY[=N][,WAY…] {}'.
//
// Jobs really run, so that each end that may be believed is true. N counts from the beginning of a connection, and is 5 by default:
//
//	refuse=N   each Nth job is refused without a brake
//	brake=N    before each Nth job comes a brake, for up to half a second, in which jobs are refused
//	bye=N      says goodbye after N jobs, and refuses further ones
//	die=N      kills the worker at the Nth job, in the middle of a frame
//	quit=N     closes the connection at the Nth job, and stays for three seconds
//	garble=N   sends a frame that cannot be read, behind N others
//	lie=N      sends an end, or another frame, that cannot be, in the place of the Nth end
//	deaf=N     does not hand on each Nth order to end a job
//	mute=N     is silent from the Nth job on
//	silent     never answers
//	slow=N     takes N ms for each frame of the worker
//	stays      its process outlives the worker for three seconds, and SIGTERM

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum way { REFUSE, BRAKE, BYE, DIE, QUIT, GARBLE, LIE, DEAF, MUTE, SILENT, SLOW, STAYS, WAYS };

static const char *const way_names[WAYS] = {"refuse", "brake", "bye", "die", "quit", "garble", "lie", "deaf", "mute", "silent", "slow", "stays"};

// No frame is longer than MOST; where more than FULL waits to be written, nothing more is read for it.
enum { MOST = 9 << 20, FULL = 1 << 20, REFUSED_MOST = 4096, NUMBERS_MOST = 12, LINGER_S = 3 };

// One direction: what was read and is no whole frame yet, and what is still to be written.
struct side {
	int in, out;
	char *got, *put;
	size_t ngot, nput;
	bool is_greeted, has_ended;
};

// A frame, which borrows its bytes.
struct frame {
	char name[16];
	unsigned long long numbers[NUMBERS_MOST];
	unsigned nnumbers;
	const char *bytes;
	size_t n;
};

static unsigned every[WAYS]; // 0: not this way
static struct side down = {.in = STDIN_FILENO}, up = {.out = STDOUT_FILENO};
static pid_t worker;
static unsigned jobs, frames, ends, orders;
static unsigned long long refused[REFUSED_MOST]; // the last ones, a ring
static unsigned nrefused;
static uint64_t brake_ends;
static bool is_mute, has_gone;

static uint64_t now_ms(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool is_turn(enum way way, unsigned count) {
	return every[way] > 0 && count % every[way] == 0;
}

// ---- what is written ----

static void send_bytes(struct side *side, const char *bytes, size_t n) {
	if (side == &up && is_mute) {
		return;
	}
	char *more = realloc(side->put, side->nput + n);
	if (!more && side->nput + n > 0) {
		_exit(255);
	}
	side->put = more;
	memcpy(side->put + side->nput, bytes, n);
	side->nput += n;
}

static void say(const char *text) {
	send_bytes(&up, text, strlen(text));
}

static void flush(struct side *side) {
	while (side->nput > 0) {
		ssize_t n = write(side->out, side->put, side->nput);
		if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			return;
		}
		if (n < 0) {
			side->nput = 0; // nobody reads it
			side->has_ended = true;
			return;
		}
		side->nput -= (size_t)n;
		memmove(side->put, side->put + n, side->nput);
	}
}

// ---- the ways ----

static bool was_refused(unsigned long long job) {
	for (unsigned i = 0; i < REFUSED_MOST && i < nrefused; ++i) {
		if (refused[i] == job) {
			return true;
		}
	}
	return false;
}

static bool refuse(unsigned long long job) {
	char text[64];
	snprintf(text, sizeof(text), "refuse %llu 2\nno\n", job);
	say(text);
	refused[nrefused++ % REFUSED_MOST] = job;
	return false;
}

static void end_now(bool kills) {
	if (kills) {
		kill(worker, SIGKILL);
	}
	say("done 1 0");
	flush(&up);
	if (!kills) {
		close(STDIN_FILENO);
		close(STDOUT_FILENO);
		close(down.out);
		close(up.in);
		sleep(LINGER_S);
	}
	_exit(1);
}

// Says something that may not be said of the job, which the dispatcher has not seen end.
static void lie(unsigned long long job) {
	static const char *const lies[] = {
		"done %llu 9 0 0 0 1 1 1 1 2\n%c%c\n",         // there is no such outcome
		"done %llu 0 3 0 0 1 1 1 1 2\n%c%c\n",         // it is well, with a code
		"done %llu 2 0 0 0 1 1 1 1 2\n%c%c\n",         // a signal without a number
		"done %llu 1 1 9 0 1 1 1 1 2\n%c%c\n",         // both
		"done %llu 0 0 0 0 1 1 1 1 3\n%c%cx\n",        // one byte too many
		"done %llu 1 256 0 0 1 1 1 1 2\n%c%c\n",       // there is no such code
		"started %llu 5 0\n",                          // twice
		"refuse %llu 2\nno\n",                         // it runs
		"take %llu 999999999\n",                       // so much never came
		"out %llu 3 1\nx\n",                           // there is no such stream
		"out %llu 1 99999999\n",                       // too long
		"entry %llu 0 420 0 0 1\nx\n",                 // it is no file
		"more %llu 5\n",                               // the dispatcher's
		"run %llu 0\n\n",                              // the same
		"done %llu 5 0 0 0 1 1 1 1 2 \n%c%c\n",        // a blank at the end
	};
	char text[256];
	// The format is one of the above.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	int n = snprintf(text, sizeof(text), lies[(unsigned)rand() % (sizeof(lies) / sizeof(lies[0]))], job, 0, 0);
#pragma GCC diagnostic pop
	send_bytes(&up, text, (size_t)n);
}

static void garble(void) {
	static const char *const texts[] = {
		"nonsense 1 2 3\n", "out 1 01 1\nx\n", "pong -1\n", "pong 18446744073709551616\n", "pong  1\n", "\n", "hello 2 4 0 0 1\nx\n",
		"done 99999999 0 0 0 0 1 1 1 1 2\nab\n", "started 99999999 1 0\n", "brake 1 0 1\nxy", "bye\n", "bye 5000\n", "done\n",
	};
	unsigned which = (unsigned)rand() % (sizeof(texts) / sizeof(texts[0]) + 1);
	if (which < sizeof(texts) / sizeof(texts[0])) {
		say(texts[which]);
	} else {
		for (unsigned i = 0; i < 30; ++i) {
			say("0123456789");
		}
	}
}

// A job has come, or files for one. Returns whether it goes on to the worker.
static bool on_job(unsigned long long job) {
	++jobs;
	if (every[DIE] == jobs || every[QUIT] == jobs) {
		end_now(every[DIE] == jobs);
	}
	if (every[MUTE] == jobs) {
		is_mute = true;
	}
	if (every[BYE] > 0 && jobs > every[BYE]) {
		if (!has_gone) {
			has_gone = true;
			say("bye 2\nno\n");
		}
		return refuse(job);
	}
	if (is_turn(BRAKE, jobs) && brake_ends == 0) {
		brake_ends = now_ms() + (unsigned)rand() % 500;
		say("brake 1 0 4\nfull\n");
	}
	return brake_ends > 0 || is_turn(REFUSE, jobs) ? refuse(job) : true;
}

static bool is_down(const struct frame *frame) {
	if (strcmp(frame->name, "run") == 0 || strcmp(frame->name, "files") == 0) {
		return on_job(frame->numbers[0]);
	}
	if (strcmp(frame->name, "ping") == 0) {
		return !is_mute;
	}
	if (strcmp(frame->name, "stop") == 0 && is_turn(DEAF, ++orders)) {
		return false;
	}
	bool has_job = strcmp(frame->name, "env") != 0 && strcmp(frame->name, "rest") != 0 && strcmp(frame->name, "pong") != 0 && strcmp(frame->name, "bye") != 0;
	return !has_job || !was_refused(frame->numbers[0]);
}

static bool is_up(const struct frame *frame) {
	if (every[SLOW] > 0) {
		usleep(every[SLOW] * 1000);
	}
	if (every[GARBLE] > 0 && ++frames == every[GARBLE]) {
		garble();
	}
	if (strcmp(frame->name, "done") == 0 && every[LIE] > 0 && ++ends == every[LIE]) {
		lie(frame->numbers[0]);
		return false;
	}
	return true;
}

// ---- frames ----

// Reads the frame at the front of what has come. Returns its length, or 0: it has not come to its end.
static size_t read_frame(const struct side *side, struct frame *frame) {
	static const char *const with_payload = " hello env run refuse out in done item entry data fail brake bye ";
	char *end = side->ngot > 0 ? memchr(side->got, '\n', side->ngot) : NULL;
	if (!end) {
		return 0;
	}
	size_t n = (size_t)(end - side->got);
	char line[300], *at = line, key[24];
	if (n >= sizeof(line)) {
		_exit(254);
	}
	memcpy(line, side->got, n);
	line[n] = '\0';
	*frame = (struct frame){.bytes = side->got};
	size_t length = strcspn(line, " ");
	snprintf(frame->name, sizeof(frame->name), "%.*s", (int)(length < 15 ? length : 15), line);
	for (at += length; at[0] == ' ' && at[1] >= '0' && at[1] <= '9' && frame->nnumbers < NUMBERS_MOST;) {
		frame->numbers[frame->nnumbers++] = strtoull(at, &at, 10);
	}
	snprintf(key, sizeof(key), " %s ", frame->name);
	frame->n = n + 1;
	if (strstr(with_payload, key) && frame->nnumbers > 0) {
		frame->n += (size_t)frame->numbers[frame->nnumbers - 1] + 1;
	}
	return side->ngot >= frame->n ? frame->n : 0;
}

static void receive(struct side *side) {
	ssize_t n = read(side->in, side->got + side->ngot, MOST - side->ngot);
	if (n <= 0) {
		side->has_ended |= n == 0 || (errno != EAGAIN && errno != EINTR);
		return;
	}
	side->ngot += (size_t)n;
	struct frame frame;
	for (size_t length; (length = read_frame(side, &frame)) > 0;) {
		bool passes;
		if (!side->is_greeted) { // the dispatcher's first line; the worker's up to its hello
			side->is_greeted = side == &down || strcmp(frame.name, "hello") == 0;
			passes = true;
		} else {
			passes = side == &down ? is_down(&frame) : is_up(&frame);
		}
		if (passes) {
			send_bytes(side, frame.bytes, length);
		}
		side->ngot -= length;
		memmove(side->got, side->got + length, side->ngot);
	}
}

// ---- the process ----

static void read_ways(char *ways) {
	for (char *word = strtok(ways, ","); word; word = strtok(NULL, ",")) {
		char *value = strchr(word, '=');
		if (value) {
			*value++ = '\0';
		}
		for (unsigned i = 0; i < WAYS; ++i) {
			if (strcmp(way_names[i], word) == 0) {
				every[i] = value ? (unsigned)atoi(value) : 5;
			}
		}
	}
}

static void start_worker(char *argv[]) {
	int to[2], from[2];
	if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) {
		_exit(255);
	}
	worker = fork();
	if (worker == 0) {
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	down.out = to[1];
	up.in = from[0];
	fcntl(down.out, F_SETFL, O_NONBLOCK);
	fcntl(up.in, F_SETFL, O_NONBLOCK);
	fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
	fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK);
}

// Serves both directions until the worker has closed its own.
static void loop(void) {
	while (!up.has_ended || up.nput > 0) {
		struct pollfd fds[] = {
			{.fd = down.has_ended || down.nput > FULL ? -1 : down.in, .events = POLLIN},
			{.fd = up.has_ended || up.nput > FULL ? -1 : up.in, .events = POLLIN},
			{.fd = down.nput > 0 ? down.out : -1, .events = POLLOUT},
			{.fd = up.nput > 0 ? up.out : -1, .events = POLLOUT},
		};
		if (poll(fds, 4, brake_ends > 0 ? 20 : 1000) < 0 && errno != EINTR) {
			_exit(255);
		}
		if (brake_ends > 0 && now_ms() >= brake_ends) {
			brake_ends = 0;
			say("brake 0 0 0\n\n");
		}
		if (fds[0].revents) {
			receive(&down);
		}
		if (fds[1].revents) {
			receive(&up);
		}
		flush(&down);
		flush(&up);
		if (down.has_ended && down.nput == 0 && down.out >= 0) {
			close(down.out);
			down.out = -1;
		}
	}
}

int main(int argc, char *argv[]) {
	if (argc < 4) {
		return 255;
	}
	srand((unsigned)atoi(argv[1]) + (unsigned)getpid());
	read_ways(argv[2]);
	signal(SIGPIPE, SIG_IGN);
	if (every[STAYS] > 0) {
		signal(SIGTERM, SIG_IGN);
	}
	down.got = malloc(MOST);
	up.got = malloc(MOST);
	if (!down.got || !up.got) {
		return 255;
	}
	is_mute = every[SILENT] > 0;
	start_worker(argv + 3);
	loop();
	int status = 0;
	waitpid(worker, &status, 0);
	if (every[STAYS] > 0) {
		close(STDIN_FILENO);
		close(STDOUT_FILENO);
		sleep(LINGER_S);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
