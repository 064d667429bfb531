// Tests of the words of leases (slots/words.h): what their holder and the slot server do to the same word, each in its own mapping.

#include "slots/words.h"

#include "base/temp_file.h"

#include "test.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { N = 3 };

struct both {
	struct words holder, server;
};

static struct both both_init(void) {
	struct both both;
	int fd = words_create(&both.holder, N);
	check(fd >= 0);
	words_open(&both.server, fd, 100);
	close(fd);
	check(both.holder.n == N && both.server.n == N && both.holder.word != both.server.word);
	return both;
}

static void both_fini(struct both *both) {
	words_fini(&both->holder);
	words_fini(&both->server);
}

static void test_one_of_two_comes_first(void) {
	struct both both = both_init();
	lease_word *holder = &both.holder.word[1], *server = &both.server.word[1];
	word_set(holder, 5);
	check_equal(word_nonce(server), 5);
	check(word_next_job(holder, 5, 6));
	check(!word_lend(server, 5)); // the holder was first
	check(word_lend(server, 6));
	check(word_lend(server, 6)); // it is lent already
	check_equal(word_nonce(server), 6);
	check(!word_next_job(holder, 6, 7)); // the server was first
	word_set(holder, 8); // another lease
	check(!word_lend(server, 6));
	check(word_next_job(holder, 8, 9));
	both_fini(&both);
}

static void test_others_are_not_touched(void) {
	struct both both = both_init();
	word_set(&both.holder.word[0], 1);
	check(word_lend(&both.server.word[0], 1));
	check_equal(word_nonce(&both.server.word[1]), 0);
	check_equal(word_nonce(&both.server.word[2]), 0);
	check(!word_lend(&both.server.word[2], 1));
	both_fini(&both);
}

static void test_most(void) {
	struct words holder, server;
	int fd = words_create(&holder, N);
	words_open(&server, fd, 2);
	check_equal(server.n, 2);
	words_fini(&server);
	words_fini(&holder);
	close(fd);
}

// What another process could make shorter would send SIGBUS.
static void test_shrinking_files(void) {
	struct words words;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), plain = memfd_create("plain", MFD_CLOEXEC);
	check(null >= 0 && plain >= 0 && ftruncate(plain, 4096) == 0);
	words_open(&words, null, 1);
	check_equal(words.n, 0);
	words_open(&words, plain, 1);
	check_equal(words.n, 0);
	words_fini(&words);
	int fd = words_create(&words, N);
	check(ftruncate(fd, 0) != 0);
	check_equal(shared_memory_size(fd), N * sizeof(lease_word));
	words_fini(&words);
	close(fd);
	close(null);
	close(plain);
}

static void test_no_memory(void) {
	struct rlimit before, none;
	struct words words;
	check(getrlimit(RLIMIT_FSIZE, &before) == 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
	check(setrlimit(RLIMIT_FSIZE, &none) == 0);
	check_equal(words_create(&words, N), -1); // and no SIGXFSZ
	check_equal(words.n, 0);
	check(setrlimit(RLIMIT_FSIZE, &before) == 0);
	words_fini(&words);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("either the holder begins another job, or the server lends", test_one_of_two_comes_first),
		TEST("each lease has its own word", test_others_are_not_touched),
		TEST("the server takes no more words than it wants", test_most),
		TEST("words in a file that can shrink are not used", test_shrinking_files),
		TEST("without memory there are no words", test_no_memory),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
