// The main() of a fuzz target in builds without clang's fuzzer: it tries the corpus, and what chance makes of that.
//
//	NAME RUNS CRASH [DIRECTORY]
//
// Each file of DIRECTORY is tried as it is. Each of the RUNS then takes one of them and changes it in some places; chance
// draws the same numbers every time. An input that breaks the target is left in the file CRASH.

#include "base/alloc.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/random.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
// Of the address sanitizer, where the build has it.
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

enum { FILES = 1024, INPUT_MOST = 4096, EDITS = 8 /* as a power of two */, CUT = 8, PIECE = 32, RUN_S = 60 };

static struct buf files[FILES];
static size_t num_files = 1; // the first one is empty
static struct buf input = BUF_INIT;
static const char *crash;

static void keep_input(void) {
	int fd = open(crash, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	ssize_t n = write(fd, input.data, input.len);
	(void)n;
}

static void on_signal(int number) {
	keep_input();
	signal(number, SIG_DFL);
	raise(number);
}

static void read_files(const char *path) {
	DIR *dir = opendir(path);
	verify(dir);
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
		char bytes[INPUT_MOST];
		int fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);
		ssize_t n = read(fd, bytes, sizeof(bytes)); // fails for the directories
		if (n > 0) {
			verify(num_files < FILES);
			buf_add(&files[num_files++], bytes, (size_t)n);
		}
		close(fd);
	}
	closedir(dir);
}

// The target gets memory of its own, so that a sanitizer sees each byte that is read beyond the input.
static void try_input(void) {
	unsigned char *data = xmalloc(input.len + !input.len);
	memcpy(data, buf_str(&input), input.len);
	alarm(RUN_S);
	LLVMFuzzerTestOneInput(data, input.len);
	free(data);
}

static size_t below(uint64_t *dice, size_t n) {
	return (size_t)(random_next(dice) >> 32) % n;
}

// Some bytes of the input make room for any byte, or for a piece of any file.
static void edit(uint64_t *dice) {
	FP_CLEANUP(buf_fini) struct buf old = BUF_INIT;
	buf_move(&old, &input);
	size_t at = below(dice, old.len + 1), end = at + below(dice, CUT);
	buf_add(&input, old.data, at);
	const struct buf *file = &files[below(dice, num_files)];
	if (file->len && below(dice, 2)) {
		size_t from = below(dice, file->len), most = file->len - from;
		buf_add(&input, file->data + from, below(dice, most < PIECE ? most : PIECE) + 1);
	} else {
		buf_addc(&input, (char)below(dice, 256));
	}
	if (end < old.len) {
		buf_add(&input, old.data + end, old.len - end);
	}
}

int main(int argc, char *argv[]) {
	verify(argc == 3 || argc == 4);
	crash = argv[2];
	if (__sanitizer_set_death_callback) {
		__sanitizer_set_death_callback(keep_input);
	}
	signal(SIGABRT, on_signal);
	signal(SIGALRM, on_signal);
	signal(SIGSEGV, on_signal);
	if (argc == 4) {
		read_files(argv[3]);
	}
	uint64_t dice = 1;
	for (size_t i = 0, runs = strtoul(argv[1], NULL, 10); i < num_files + runs; ++i) {
		const struct buf *file = &files[i < num_files ? i : below(&dice, num_files)];
		buf_reset(&input);
		buf_add(&input, file->data, file->len);
		if (i >= num_files) {
			for (size_t edits = below(&dice, (size_t)1 << below(&dice, EDITS)) + 1; edits; --edits) {
				edit(&dice);
			}
		}
		try_input();
	}
	for (size_t i = 0; i < num_files; ++i) {
		buf_fini(&files[i]);
	}
	buf_fini(&input);
}
