// Files over a connection (remote/file_copy.h): what is sent arrives as it is, and a sender that means harm writes nowhere but where the
// receiver was told to.

#include "remote/file_copy.h"

#include "base/alloc.h"
#include "base/beneath.h"
#include "base/random.h"
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

static uint64_t seed = 1;

static uint64_t below(uint64_t n) {
	return n > 0 ? random_next(&seed) % n : 0;
}

// ---- files to look at ----

// Enters a new directory, which is removed when the test ends.
static char root[] = "/tmp/fairpar-file-copy.XXXXXX";

// Removes the file, or the directory with all that is in it, whatever their modes.
static void clear_tree(const char *path) {
	struct dirent **names;
	if (unlink(path) == 0) {
		return;
	}
	(void)!chmod(path, 0700);
	int n = scandir(path, &names, NULL, NULL);
	for (int i = 0; i < n; ++i) {
		FP_CLEANUP(buf_fini) struct buf name = BUF_INIT;
		buf_printf(&name, "%s/%s", path, names[i]->d_name);
		if (strcmp(names[i]->d_name, ".") != 0 && strcmp(names[i]->d_name, "..") != 0) {
			clear_tree(buf_str(&name));
		}
		free(names[i]);
	}
	if (n >= 0) {
		free(names);
	}
	rmdir(path);
}

static void leave(void) {
	check(chdir("/") == 0);
	clear_tree(root);
}

static void enter_new(void) {
	check(mkdtemp(root) && chdir(root) == 0);
	umask(022);
	atexit(leave);
}

static void put(const char *path, const char *text) {
	FILE *file = fopen(path, "w");
	check(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void check_text(const char *path, const char *text) {
	char bytes[200] = "";
	FILE *file = fopen(path, "r");
	check(file);
	bytes[fread(bytes, 1, sizeof(bytes) - 1, file)] = '\0';
	fclose(file);
	check_string(bytes, text);
}

static void check_same_bytes(const char *a, const char *b) {
	FILE *one = fopen(a, "r"), *other = fopen(b, "r");
	check(one && other);
	for (int c = 0; c != EOF;) {
		c = getc(one);
		check(c == getc(other));
	}
	fclose(one);
	fclose(other);
}

static void check_none(const char *path) {
	struct stat stat;
	check(lstat(path, &stat) != 0 && errno == ENOENT);
}

static struct stat stat_of(const char *path) {
	struct stat stat;
	check(lstat(path, &stat) == 0);
	return stat;
}

// Appends what is in the directory: names, kinds, modes, sizes, links, contents of short files.
static void list(const char *path, struct buf *out) {
	struct dirent **names;
	int n = scandir(path, &names, NULL, alphasort);
	for (int i = 0; i < n; ++i) {
		if (strcmp(names[i]->d_name, ".") != 0 && strcmp(names[i]->d_name, "..") != 0) {
			FP_CLEANUP(buf_fini) struct buf name = BUF_INIT;
			char text[300] = "";
			buf_printf(&name, "%s/%s", path, names[i]->d_name);
			struct stat stat = stat_of(buf_str(&name));
			if (S_ISLNK(stat.st_mode)) {
				check(readlink(buf_str(&name), text, sizeof(text) - 1) >= 0);
			}
			buf_printf(out, "%s %o %lld %s\n", strchr(buf_str(&name), '/'), stat.st_mode, S_ISDIR(stat.st_mode) ? 0 : (long long)stat.st_size, text);
			if (S_ISDIR(stat.st_mode)) {
				list(buf_str(&name), out);
			}
		}
		free(names[i]);
	}
	if (n >= 0) {
		free(names);
	}
}

static void check_same_trees(const char *a, const char *b) {
	FP_CLEANUP(buf_fini) struct buf one = BUF_INIT;
	FP_CLEANUP(buf_fini) struct buf other = BUF_INIT;
	list(a, &one);
	list(b, &other);
	check_string(buf_str(&one), buf_str(&other));
}

// ---- two ends ----

static struct file_copy *open_end(bool is_sender, const char *dir, const char *name) {
	return file_copy_new(is_sender, &(struct file_location){.dir = dir, .name = name, .temp = ".fairpar.0123"});
}

// Passes the frames on to the other end. Returns NULL, or why it does not take them.
static const char *pass(struct file_copy *to, const struct buf *bytes) {
	struct wire_frame frame;
	const char *why = NULL;
	for (size_t at = 0, used = 0; at < bytes->len && !why; at += used) {
		check(wire_read(bytes->data + at, bytes->len - at, WIRE_WORKER, &frame, &used, &why) == WIRE_FRAME);
		why = file_copy_take(to, &frame);
	}
	return why;
}

static void run(struct file_copy *sender, struct file_copy *receiver) {
	bool moved = true;
	while (moved) {
		FP_CLEANUP(buf_fini) struct buf there = BUF_INIT;
		FP_CLEANUP(buf_fini) struct buf back = BUF_INIT;
		file_copy_give(sender, &there);
		check(there.len < 600 * 1024);
		check(!pass(receiver, &there));
		file_copy_give(receiver, &back);
		check(!pass(sender, &back));
		moved = there.len + back.len > 0;
	}
	check(sender->is_over && receiver->is_over);
}

struct way {
	const char *from, *from_name, *to, *to_name;
};

// Copies, and checks what both ends say of it: `why` is what either has, "" if all went well.
static enum file_look copy_as(const struct way *way, const char *why) {
	struct file_copy *sender = open_end(true, way->from, way->from_name);
	struct file_copy *receiver = open_end(false, way->to, way->to_name);
	run(sender, receiver);
	check_string(buf_str(&sender->why), why);
	check_string(buf_str(&receiver->why), why);
	check((sender->look == LOOK_SAME) == (receiver->look == LOOK_SAME));
	enum file_look look = sender->look;
	file_copy_free(sender);
	file_copy_free(receiver);
	return look;
}

static enum file_look copy(const char *name, const char *why) {
	return copy_as(&(struct way){"from", name, "to", name}, why);
}

static void begin(void) {
	enter_new();
	check(mkdir("from", 0777) == 0);
}

// ---- what is sent arrives ----

static void test_file(void) {
	begin();
	check(mkdir("from/a", 0777) == 0);
	put("from/a/x", "text");
	check(chmod("from/a/x", 06751) == 0);
	const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = -100, .tv_nsec = 5}};
	check(utimensat(AT_FDCWD, "from/a/x", times, 0) == 0);
	umask(027);
	check_equal(copy("./a/x", ""), LOOK_OTHER);
	check_text("to/a/x", "text");
	struct stat stat = stat_of("to/a/x");
	check_equal(stat.st_mode & 07777, 0750);
	check(stat.st_mtim.tv_sec == -100 && stat.st_mtim.tv_nsec == 5);
	put("from/a/x", "");
	check_equal(copy_as(&(struct way){"from", "./a/x", "to", "./a/x"}, ""), LOOK_OTHER);
	check_text("to/a/x", "");
	check_none("to/a/.fairpar.0123");
}

static void test_tree(void) {
	begin();
	static const char odd[] = "\xff\n'\"$";
	check(mkdir("from/d", 0777) == 0 && chdir("from/d") == 0 && mkdir("sub", 0555) == 0 && mkdir("empty", 0700) == 0 && mkdir("e", 0777) == 0);
	put("f", "text");
	put(odd, "odd");
	check(link("f", "e/hard") == 0 && symlink("../f", "e/link") == 0 && symlink("nowhere", "none") == 0);
	check(chmod("sub", 0755) == 0);
	put("sub/g", "g");
	check(chmod("sub", 0500) == 0 && chmod("f", 0400) == 0 && chdir("../..") == 0);
	check_equal(copy("./d", ""), LOOK_OTHER);
	check_same_trees("from/d", "to/d");
	check(stat_of("to/d/e/hard").st_ino != stat_of("to/d/f").st_ino);
	// it merges with what is there, and a directory of mode 500 is no obstacle
	put("to/d/own", "own");
	check(chmod("from/d/sub", 0700) == 0);
	put("from/d/sub/h", "h");
	check(unlink("from/d/f") == 0 && chmod("from/d/sub", 0500) == 0);
	put("from/d/f", "new");
	check_equal(copy("./d", ""), LOOK_OTHER);
	check_text("to/d/f", "new");
	check_text("to/d/own", "own");
	check_text("to/d/sub/h", "h");
	check_equal(stat_of("to/d/sub").st_mode & 0777, 0500);
	check(chmod("from/d/sub", 0700) == 0 && chmod("to/d/sub", 0700) == 0);
}

static void test_whole_directory(void) {
	begin();
	check(mkdir("to", 0777) == 0);
	put("from/a", "a");
	check_equal(copy(".", ""), LOOK_OTHER);
	check_text("to/a", "a");
	check_none("to/.fairpar.0123");
}

static void test_large_and_sparse(void) {
	begin();
	FILE *file = fopen("from/big", "w");
	check(file);
	for (size_t i = 0; i < 5000; ++i) {
		char text[1024];
		memset(text, (int)i, sizeof(text));
		check(fwrite(text, sizeof(text), 1, file) == 1);
	}
	check(fclose(file) == 0);
	check_equal(copy("./big", ""), LOOK_OTHER);
	check_same_bytes("from/big", "to/big");
	int fd = open("from/holes", O_WRONLY | O_CREAT, 0666);
	check(pwrite(fd, "x", 1, 50 << 20) == 1 && ftruncate(fd, (off_t)3 << 30) == 0 && close(fd) == 0);
	check_equal(copy("./holes", ""), LOOK_OTHER);
	struct stat stat = stat_of("to/holes");
	check_equal(stat.st_size, (long long)3 << 30);
	check(stat.st_blocks < 1000);
	char byte = 0;
	fd = open("to/holes", O_RDONLY);
	check(pread(fd, &byte, 1, 50 << 20) == 1 && byte == 'x' && close(fd) == 0);
	check_equal(copy_as(&(struct way){"/proc", "./version", "to", "./version"}, ""), LOOK_OTHER);
	check(stat_of("to/version").st_size > 10); // its size is said to be 0
}

static void test_deep(void) {
	begin();
	int at = open("from", O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < 500; ++i) {
		check(mkdirat(at, "d", 0777) == 0);
		int fd = openat(at, "x", O_WRONLY | O_CREAT, 0666), next = openat(at, "d", O_RDONLY | O_DIRECTORY);
		check(fd >= 0 && next >= 0 && close(fd) == 0 && close(at) == 0);
		at = next;
	}
	close(at);
	check(setrlimit(RLIMIT_NOFILE, &(struct rlimit){80, 80}) == 0);
	check_equal(copy("./d", ""), LOOK_OTHER);
	int n = 0;
	for (at = open("to", O_RDONLY | O_DIRECTORY); at >= 0; ++n) {
		int next = openat(at, "d", O_RDONLY | O_DIRECTORY);
		close(at);
		at = next;
	}
	check_equal(n, 501);
}

static void test_too_deep(void) {
	begin();
	check(mkdir("from/top", 0777) == 0);
	int at = open("from/top", O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < 520; ++i) {
		check(mkdirat(at, "d", 0777) == 0);
		int next = openat(at, "d", O_RDONLY | O_DIRECTORY);
		check(next >= 0 && close(at) == 0);
		at = next;
	}
	close(at);
	struct file_copy *sender = open_end(true, "from", "./top"), *receiver = open_end(false, "to", "./top");
	run(sender, receiver);
	check(strstr(buf_str(&sender->why), "more than 512 levels deep") && strstr(buf_str(&receiver->why), "deep"));
	file_copy_free(sender);
	file_copy_free(receiver);
}

// ---- what is not sent is named ----

static void test_named_link(void) {
	begin();
	put("real", "real");
	check(mkdir("dir", 0777) == 0 && mkdir("to", 0777) == 0);
	put("dir/f", "f");
	put("kept", "kept");
	check(symlink("../real", "from/l") == 0 && symlink("../dir", "from/d") == 0 && symlink("../kept", "to/l") == 0);
	check_equal(copy("./l", ""), LOOK_OTHER);
	check_text("to/l", "real");
	check(S_ISREG(stat_of("to/l").st_mode)); // the link there is replaced
	check_text("kept", "kept");
	check_equal(copy("./d", ""), LOOK_OTHER);
	check(S_ISDIR(stat_of("to/d").st_mode));
	// the user's links in front are followed
	check(mkdir("far", 0777) == 0 && symlink("../far", "to/way") == 0 && symlink("../dir", "from/way") == 0);
	check_equal(copy("./way/f", ""), LOOK_OTHER);
	check_text("far/f", "f");
	// in the place of a directory it is not
	check(symlink("../far", "to/dir") == 0 && mkdir("from/dir", 0777) == 0);
	put("from/dir/g", "g");
	check_equal(copy("./dir", "a directory does not replace a file or a link: remove the file or link, or name each file below the link"), LOOK_NOT_YET);
	check_none("far/g");
}

static void test_strange(void) {
	begin();
	copy("./none", "No such file or directory");
	check(mkfifo("from/fifo", 0666) == 0);
	copy("./fifo", "this is neither a regular file nor a directory");
	copy_as(&(struct way){"/dev", "./null", "to", "./null"}, "this is neither a regular file nor a directory");
	check_none("to");
	check(mkdir("from/d", 0777) == 0 && mkfifo("from/d/fifo", 0666) == 0 && symlink("/etc", "from/d/out") == 0);
	put("from/d/a", "a");
	struct file_copy *sender = open_end(true, "from", "./d"), *receiver = open_end(false, "to", "./d");
	run(sender, receiver);
	check_string(buf_str(&sender->why), buf_str(&receiver->why));
	check(strstr(buf_str(&sender->why), "'d/fifo': this is neither a regular file") && strstr(buf_str(&sender->why), "'d/out': a link that leads out"));
	file_copy_free(sender);
	file_copy_free(receiver);
	check_text("to/d/a", "a"); // the rest comes
	check_none("to/d/out");
	// a file against a directory
	check(mkdir("to/f", 0777) == 0 && mkdir("to/f/x", 0777) == 0 && mkdir("from/e", 0777) == 0 && mkdir("to/e", 0777) == 0 && mkdir("to/e/f", 0777) == 0);
	put("from/f", "f");
	put("from/e/f", "f");
	put("from/e/g", "g");
	copy("./f", "Is a directory");
	copy("./e", "'e/f': Is a directory");
	check_text("to/e/g", "g");
	check_none("to/.fairpar.0123");
	check_none("to/e/.fairpar.0123");
}

static void test_links(void) {
	static const struct { const char *target; size_t depth; bool stays; } links[] = {
		{"a", 0, true}, {"a/b", 0, true}, {"./a", 0, true}, {".", 0, true}, {"..", 0, false}, {"..", 1, true}, {"../..", 1, false},
		{"../../a/b", 2, true}, {"a/..", 5, false}, {"a/../x", 5, false}, {"./..", 0, false}, {"./../a", 1, true}, {"/", 5, false},
		{"", 5, false}, {"..//..", 1, false}, {"..a", 0, true}, {"...", 0, true}, {"a//b/", 0, true}, {".././..", 2, true}, {"../a/..", 3, false},
	};
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); ++i) {
		if (link_stays_beneath(links[i].target, links[i].depth) != links[i].stays) {
			fprintf(stderr, "# '%s' at %zu\n", links[i].target, links[i].depth);
			exit(1);
		}
	}
}

// ---- one directory at both ends ----

static void test_same(void) {
	begin();
	put("from/x", "text");
	check(mkdir("from/d", 0777) == 0 && symlink("from", "other") == 0);
	put("from/d/y", "y");
	ino_t inode = stat_of("from/x").st_ino;
	check_equal(copy_as(&(struct way){"from", "./x", "other", "./x"}, ""), LOOK_SAME);
	check_equal(copy_as(&(struct way){"from", "./d", "other", "./d"}, ""), LOOK_SAME);
	check_equal(copy_as(&(struct way){"from", ".", "other", "."}, ""), LOOK_SAME);
	check_equal(copy_as(&(struct way){"", "./from/x", "other", "./x"}, ""), LOOK_SAME);
	check(stat_of("from/x").st_ino == inode);
	check_none("from/.fairpar.0123");
	check_none("from/d/.fairpar.0123");
	// that of a file which is there is noticed without a file, so also where none can be made
	const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	check(symlink("d/y", "from/l") == 0 && chmod("from", 0555) == 0 && utimensat(AT_FDCWD, "from", times, 0) == 0);
	check_equal(copy_as(&(struct way){"from", "./x", "other", "./x"}, ""), LOOK_SAME);
	check_equal(copy_as(&(struct way){"from", "./l", "other", "./d/y"}, ""), LOOK_SAME);
	check_equal(copy_as(&(struct way){"from", "./l", "other", "./l"}, ""), LOOK_SAME);
	check_equal(copy_as(&(struct way){"from", "./d", "other", "./d"}, ""), LOOK_SAME);
	check(stat_of("from").st_mtim.tv_sec == 1 && chmod("from", 0755) == 0);
	check_equal(copy_as(&(struct way){"from", "./x", "other", "./z"}, ""), LOOK_SAME); // what counts is the directory
	check_none("from/z");
}

// ---- what breaks off ----

static void test_broken_off(void) {
	begin();
	check(mkdir("from/d", 0777) == 0);
	put("from/d/a", "aaaa");
	put("from/d/b", "bbbb");
	FP_CLEANUP(buf_fini) struct buf all = BUF_INIT;
	struct file_copy *sender = open_end(true, "from", "./d");
	file_copy_give(sender, &all);
	check(!file_copy_take(sender, &(struct wire_frame){.type = FRAME_NOTE, .numbers = {0, NOTE_MADE}}));
	file_copy_give(sender, &all);
	file_copy_free(sender);
	for (size_t n = 0; n < 8; ++n) {
		struct file_copy *receiver = open_end(false, "to", "./d");
		FP_CLEANUP(buf_fini) struct buf part = BUF_INIT;
		struct wire_frame frame;
		const char *why;
		size_t used = 0;
		for (size_t i = 0; i < n && part.len < all.len; ++i) {
			check(wire_read(all.data + part.len, all.len - part.len, WIRE_WORKER, &frame, &used, &why) == WIRE_FRAME);
			buf_add(&part, all.data + part.len, used);
		}
		check(!pass(receiver, &part));
		file_copy_free(receiver);
		check_none("to/.fairpar.0123");
		check_none("to/d/.fairpar.0123");
	}
	check_text("to/d/a", "aaaa");
}

// ---- harm ----

#define TEXT(literal) {literal, sizeof(literal) - 1} // which may have a NUL in it
static const struct {
	const char *mem;
	size_t size;
} harmful[] = {
	TEXT("a"), TEXT("b"), TEXT("c"), TEXT(".."), TEXT("."), TEXT("../out"), TEXT("a/b"), TEXT("/etc/passwd"), TEXT(""),
	TEXT(".fairpar.0123"), TEXT("a\0../../out"), TEXT("b\0a"), TEXT("c\0.."), TEXT("a\0/"), TEXT("b\0c/../../out"),
	TEXT("l\0."), TEXT("c\0l/.."), TEXT("k\0a/../x"), TEXT("out"),
};

static void add_harmful(struct buf *out) {
	static const enum wire_type types[] = {FRAME_ENTRY, FRAME_ENTRY, FRAME_ENTRY, FRAME_DATA, FRAME_HOLE, FRAME_END, FRAME_END, FRAME_NOTE, FRAME_FAIL, FRAME_ROOM};
	struct wire_frame frame = {.type = types[below(sizeof(types) / sizeof(types[0]))]};
	size_t i = below(sizeof(harmful) / sizeof(harmful[0]));
	uint64_t number = below(10) == 0 ? UINT64_MAX >> below(64) : below(4);
	frame.numbers[1] = number;
	if (frame.type == FRAME_ENTRY) {
		frame.numbers[1] = below(10) ? below(3) : number;
		frame.numbers[2] = below(3) ? 0755 : random_next(&seed);
		frame.numbers[3] = below(3) ? 0 : random_next(&seed);
		frame.numbers[4] = below(50) ? 0 : random_next(&seed);
	}
	if (wire_kind(frame.type)->has_payload) {
		frame.payload = harmful[i].mem;
		frame.size = harmful[i].size;
	}
	wire_write(out, &frame);
}

// Whatever is said, it changes nothing but `box/to/res`, and leaves no temporary file. What was returned before is there, too: links may
// have come with it.
static void test_harm(void) {
	begin();
	check(mkdir("box", 0777) == 0 && mkdir("box/to", 0777) == 0 && mkdir("out", 0777) == 0);
	put("out/file", "mine");
	put("box/out", "mine");
	put("box/to/a", "mine");
	unsigned taken = 0;
	for (unsigned i = 0; i < 20000; ++i) {
		struct file_copy *receiver = open_end(false, "box/to", "./res");
		const char *why = NULL;
		for (unsigned n = 0; n < 30 && !why && !receiver->is_over; ++n) {
			FP_CLEANUP(buf_fini) struct buf bytes = BUF_INIT;
			FP_CLEANUP(buf_fini) struct buf back = BUF_INIT;
			if (n == 0 && below(20)) { // or most would end at once
				wire_write(&bytes, &(struct wire_frame){.type = FRAME_ENTRY, .numbers = {0, below(8) > 0, 0755}, .payload = ""});
			} else {
				add_harmful(&bytes);
			}
			why = pass(receiver, &bytes);
			taken += !why;
			file_copy_give(receiver, &back);
		}
		file_copy_free(receiver);
		if (below(100) == 0) {
			clear_tree("box/to/res");
		}
	}
	check(taken > 20000);
	clear_tree("box/to/res");
	FP_CLEANUP(buf_fini) struct buf all = BUF_INIT;
	list(".", &all);
	check_string(buf_str(&all), "/box 40755 0 \n/box/out 100644 4 \n/box/to 40755 0 \n/box/to/a 100644 4 \n/from 40755 0 \n/out 40755 0 \n/out/file 100644 4 \n");
}

// The links that a receiver makes lead nowhere out of the tree, one behind the other.
static void test_links_in_trees(void) {
	static const char *const targets[] = {"a", "b", ".", "..", "../..", "../a", "../../b", "a/b", "b/../a", "a/..", "../../..", "./.."};
	begin();
	for (unsigned i = 0; i < 3000; ++i) {
		struct file_copy *receiver = open_end(false, "to", "./t");
		FP_CLEANUP(buf_fini) struct buf bytes = BUF_INIT;
		wire_write(&bytes, &(struct wire_frame){.type = FRAME_ENTRY, .numbers = {0, FILE_DIRECTORY, 0755}, .payload = ""});
		for (unsigned n = 0, depth = 0; n < 12; ++n) {
			FP_CLEANUP(buf_fini) struct buf name = BUF_INIT;
			unsigned kind = (unsigned)below(3);
			buf_addc(&name, (char)('a' + below(4)));
			if (kind == 0 && depth > 0) {
				wire_write(&bytes, &(struct wire_frame){.type = FRAME_END});
				--depth;
			} else if (kind == 1) {
				wire_write(&bytes, &(struct wire_frame){.type = FRAME_ENTRY, .numbers = {0, FILE_DIRECTORY, 0755}, .payload = buf_str(&name), .size = 1});
				++depth;
			} else {
				buf_addc(&name, '\0');
				buf_adds(&name, targets[below(sizeof(targets) / sizeof(targets[0]))]);
				wire_write(&bytes, &(struct wire_frame){.type = FRAME_ENTRY, .numbers = {0, FILE_LINK, 0755}, .payload = name.data, .size = name.len});
			}
		}
		check(!pass(receiver, &bytes));
		file_copy_free(receiver);
		for (unsigned n = 0; n < 10; ++n) { // any way through it ends in it
			FP_CLEANUP(buf_fini) struct buf path = BUF_INIT;
			buf_adds(&path, "to/t");
			for (uint64_t parts = below(6); parts > 0; --parts) {
				buf_printf(&path, "/%c", (char)('a' + below(4)));
			}
			char *real = realpath(buf_str(&path), NULL), *top = realpath("to/t", NULL);
			check(!real || strncmp(real, top, strlen(top)) == 0);
			free(real);
			free(top);
		}
		if (below(20) == 0) {
			clear_tree("to/t");
		}
	}
}

static const char leads_out[] = "a link in the path leads through another link to a place outside: write that place's path instead";

// Which links in the path of a name are followed: those of the user, and through one that may have come with a tree none that leads out of it.
static void test_links_in_paths(void) {
	const struct { const char *link, *target, *name, *why; } cases[] = {
		{"res/x", "/out", "./res/x/f", ""},
		{"res/l", "x", "./res/l/f", leads_out},
		{"res/d/l", "../x", "./res/d/l/f", leads_out},
		{"res/k", "l", "./res/k/f", leads_out},
		{"res/m", "d/../x", "./res/m/f", ""},
		{"way", "../far", "./way/f", ""},
		{"again", "way", "./again/f", leads_out},
		{"here", "res/d", "./here/f", ""},
		{"chain", "here", "./chain/f", ""},
		{"res/in", "d", "./res/in/f", ""},
		{"root", "/to/res/d", "./root/f", ""},
		{"root2", "root", "./root2/f", leads_out},
		{"odd", "res/../../far", "./odd/f", ""},
		{"loop", "loop", "./loop/f", strerror(ELOOP)},
		{"none", "nowhere", "./none/f", strerror(ENOENT)},
	};
	begin();
	check(mkdir("to", 0777) == 0 && mkdir("to/res", 0777) == 0 && mkdir("to/res/d", 0777) == 0 && mkdir("far", 0777) == 0 && mkdir("out", 0777) == 0);
	put("from/f", "text");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
		FP_CLEANUP(buf_fini) struct buf link = BUF_INIT;
		FP_CLEANUP(buf_fini) struct buf target = BUF_INIT;
		buf_printf(&link, "to/%s", cases[i].link);
		buf_printf(&target, "%s%s", cases[i].target[0] == '/' ? root : "", cases[i].target);
		check(symlink(buf_str(&target), buf_str(&link)) == 0);
		copy_as(&(struct way){"from", "./f", "to", cases[i].name}, cases[i].why);
		check(!cases[i].why[0] || access("out/f", F_OK) != 0);
		struct file_copy *sender = open_end(true, "to", cases[i].name), *receiver = open_end(false, "back", "./f");
		run(sender, receiver);
		check_string(buf_str(&receiver->why), cases[i].why);
		file_copy_free(sender);
		file_copy_free(receiver);
		unlink("out/f");
	}
	// at the end of a path the sender follows links by the same rule
	put("out/f", "secret");
	copy_as(&(struct way){"to/res", "./x", "back", "./x"}, "");
	copy_as(&(struct way){"to/res", "./l", "back", "./l"}, leads_out);
	check(mkdir("to/res/y", 0777) == 0 && symlink("/etc", "to/res/y/etc") == 0 && symlink("y/etc/passwd", "to/res/p") == 0);
	copy_as(&(struct way){"to/res", "./p", "back", "./p"}, leads_out);
	check_none("back/l");
	check_none("back/p");
}

// A receiver that means harm, too, is only refused.
static void test_harmful_receiver(void) {
	begin();
	put("from/x", "text");
	for (unsigned i = 0; i < 5000; ++i) {
		struct file_copy *sender = open_end(true, "from", "./x");
		const char *why = NULL;
		for (unsigned n = 0; n < 10 && !why; ++n) {
			FP_CLEANUP(buf_fini) struct buf there = BUF_INIT;
			FP_CLEANUP(buf_fini) struct buf back = BUF_INIT;
			file_copy_give(sender, &there);
			add_harmful(&back);
			why = pass(sender, &back);
		}
		file_copy_free(sender);
	}
	check_text("from/x", "text");
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("a file comes with its mode and time, without setuid and what the umask takes", test_file),
		TEST("a tree comes whole, and merges with what is there", test_tree),
		TEST("a whole directory may be copied into one", test_whole_directory),
		TEST("large files come in order, and holes stay holes", test_large_and_sparse),
		TEST("five hundred directories take few descriptors", test_deep),
		TEST("more than 512 fail by name", test_too_deep),
		TEST("a link that is named stands for what it points to, and is replaced, not followed", test_named_link),
		TEST("what is no file is named, and the rest comes", test_strange),
		TEST("a link stays below the top or is refused", test_links),
		TEST("a directory of both ends is noticed, and nothing is done", test_same),
		TEST("what breaks off leaves nothing", test_broken_off),
		TEST("a harmful sender writes nowhere else", test_harm),
		TEST("no row of links leads out of a tree", test_links_in_trees),
		TEST("a link in a path that may have come with a tree is followed through none that leads out", test_links_in_paths),
		TEST("a harmful receiver is refused", test_harmful_receiver),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
