// Manifests: what good ones become, what bad ones are told, and that hostile ones cost little.
//
// The texts that the bad ones in tests/manifests/bad get stand beside them; with FAIRPAR_UPDATE=1 in the environment they
// are written anew, to be looked at before they are committed.

#include "base/alloc.h"
#include "manifest/keys.h"
#include "manifest/manifest.h"
#include "base/units.h"
#include "slots/slots.h"
#include "files.h"
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/stat.h>
#include <time.h>

#define GOOD "tests/manifests/good"
#define BAD "tests/manifests/bad"

// ---- help ----

static int compare_names(const void *a, const void *b) {
	return strcmp(*(char *const *)a, *(char *const *)b);
}

// Calls fn with the path of each .yaml file, in the directory itself. Returns how many there are.
static int walk(const char *dir, void (*fn)(const char *name)) {
	char *names[400];
	size_t n = 0;
	DIR *stream = opendir(dir);
	check(stream);
	for (const struct dirent *entry; (entry = readdir(stream));) {
		size_t len = strlen(entry->d_name);
		if (len > 5 && strcmp(entry->d_name + len - 5, ".yaml") == 0) {
			check(n < sizeof(names) / sizeof(names[0]));
			names[n++] = xstrdup(entry->d_name);
		}
	}
	closedir(stream);
	qsort(names, n, sizeof(names[0]), compare_names);
	int home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	check(home >= 0 && chdir(dir) == 0);
	for (size_t i = 0; i < n; ++i) {
		fn(names[i]);
		free(names[i]);
	}
	check(fchdir(home) == 0);
	close(home);
	return (int)n;
}

static struct manifest *parse(const char *text) {
	struct buf messages = BUF_INIT;
	struct manifest *manifest = manifest_parse("dir/m.yaml", text, strlen(text), &messages);
	if (messages.len > 0) {
		fprintf(stderr, "# %s", messages.data);
	}
	check(manifest);
	buf_fini(&messages);
	return manifest;
}

// The first line of what the bytes are told.
static const char *told(const char *data, size_t len) {
	static char line[300];
	struct buf messages = BUF_INIT;
	struct manifest *manifest = manifest_parse("m.yaml", data, len, &messages);
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(buf_str(&messages), "\n"), buf_str(&messages));
	check((manifest == NULL) == (messages.len > 0 && !strstr(line, "warning")));
	manifest_free(manifest);
	buf_fini(&messages);
	return line;
}

static const char *told_of(const char *text) {
	return told(text, strlen(text));
}

// ---- the files ----

static void load_good(const char *name) {
	struct buf messages = BUF_INIT;
	struct manifest *manifest = manifest_load(name, &messages);
	if (!manifest || messages.len > 0) {
		fprintf(stderr, "# %s", buf_str(&messages));
	}
	check(manifest && messages.len == 0);
	check(manifest->nbatches > 0);
	manifest_free(manifest);
	buf_fini(&messages);
}

static void test_good(void) {
	check(walk(GOOD, load_good) >= 8);
}

static void load_bad(const char *name) {
	struct buf messages = BUF_INIT, path = BUF_INIT;
	struct manifest *manifest = manifest_load(name, &messages);
	buf_printf(&path, "%.*s.err", (int)strlen(name) - 5, name);
	if (manifest) {
		fprintf(stderr, "# %s was taken\n", name);
	}
	check(!manifest);
	check_file(buf_str(&path), buf_str(&messages));
	buf_fini(&messages);
	buf_fini(&path);
}

static void test_bad(void) {
	check(walk(BAD, load_bad) >= 40);
}

static void test_bytes(void) {
	static const char utf16le[] = "\xFF\xFEv\0e\0r\0s\0", utf16be[] = "\0v\0e\0r\0s";
	static const char nul[] = "version: 1\nbatches: {a: {run: a\0b}}\n";
	check_string(told(utf16le, sizeof(utf16le)), "m.yaml:1:1: error: the file is UTF-16");
	check_string(told(utf16be, sizeof(utf16be)), "m.yaml:1:1: error: the file is UTF-16");
	check_string(told(nul, sizeof(nul) - 1), "m.yaml:2:21: error: the manifest has a NUL byte here");
	check_string(told_of("version: 1\nx: gr\xF6\xDF\n"), "m.yaml:2:6: error: the byte 0xF6 is not UTF-8");
	check_string(told_of("x: \xC3"), "m.yaml:1:4: error: the byte 0xC3 is not UTF-8");
	check_string(told_of("x: \x1B[1m\n"), "m.yaml:1:4: error: the manifest has a control character here");
	check_string(told_of("version: 1\rbatches: {a: {run: b}}\r"), ""); // YAML 1.1 §5.4: it ends a line
	check_string(told_of("x: 1\n\xEF\xBB\xBFy: 2\n"), "m.yaml:2:1: error: a byte order mark may stand only at the beginning of the file");
	check_string(told_of("\xEF\xBB\xBFversoin: 1\n"), "m.yaml:1:1: error: unknown key 'versoin' at the top");
	check_string(told_of("version: 1\r\nbatches:\r\n  a:\r\n    rnu: x\r\n"), "m.yaml:4:5: error: unknown key 'rnu' in batch 'a'");
	check_string(told_of("version: 1\nx\xC2\x85y: 2\n"), "m.yaml:2:1: error: a line that is neither 'key: value' nor '- item'");
	manifest_free(parse("version: 1\nbatches: {a: {run: x}}")); // no newline at the end
	manifest_free(parse("version: 1\nbatches: {a: {run: x}}\n...\n\n# end"));
	manifest_free(parse("# begin\n---\nversion: 1\nbatches:\n  a:\n    run: |\n      x"));
	manifest_free(parse("\xEF\xBB\xBF# as Windows ends lines\r\nversion: 1\r\nbatches:\r\n  a:\r\n    run: |\r\n      a\r\n      b\r\n"));
}

static void test_warning(void) {
	struct buf messages = BUF_INIT;
	const char *text = "version: 1\nbatches: {a: {run: echo a #b\n  }}\n";
	struct manifest *manifest = manifest_parse("m.yaml", text, strlen(text), &messages);
	check(manifest);
	check_string(manifest->batches[0].run, "echo a");
	check_string(buf_str(&messages),
		"m.yaml:2:27: warning: '#b' is a comment, and not part of the value\n  |\n"
		"2 | batches: {a: {run: echo a #b\n  |                           ^^\n"
		"  = hint: quote the value; or, for a comment, write two blanks before the '#' and one behind it\n");
	manifest_free(manifest);
	buf_fini(&messages);
	const char *quiet = "version: 1\nbatches: {a: {run: echo a  # b\n  }}\n";
	manifest_free(parse(quiet));
}

// The warnings of a manifest, without the lines that show the place.
static void check_warnings(const char *text, const char *expected) {
	struct buf messages = BUF_INIT, lines = BUF_INIT;
	struct manifest *manifest = manifest_parse("m.yaml", text, strlen(text), &messages);
	check(manifest);
	for (const char *at = buf_str(&messages), *end; (end = strchr(at, '\n')); at = end + 1) {
		if (strncmp(at, "m.yaml:", 7) == 0) {
			buf_add(&lines, at + 7, (size_t)(end - at) - 6);
		}
	}
	check_string(buf_str(&lines), expected);
	manifest_free(manifest);
	buf_fini(&messages);
	buf_fini(&lines);
}

static void test_no_shell(void) {
	check_warnings("version: 1\nbatches:\n  a: {shell: none, run: 'x $A | y', finally: \"x 'a|b' > y\"}\n",
		"3:28: warning: '$A' means nothing without a shell\n3:55: warning: '>' means nothing without a shell\n");
	check_warnings("version: 1\ndefaults: {shell: none, then: x && y}\nbatches:\n  a: {run: x}\n  b: {run: x}\n"
		"  c: {run: x > y, shell: bash, then: [x | y]}\n",
		"2:33: warning: '&&' means nothing without a shell\n");
	check_warnings("version: 1\nbatches:\n  a:\n    commands:\n      - x *.c\n      - {run: 'x; y', shell: none}\n",
		"6:17: warning: ';' means nothing without a shell\n");
	check_warnings("version: 1\nbatches:\n  a:\n    run: ls {} \"x *\" http://x/?a&b=[c]\n    shell: none\n    args: [a]\n", "");
	check_warnings("version: 1\nbatches:\n  a:\n    run: |\n      x\n      y | z\n    shell: none\n",
		"6:9: warning: '|' means nothing without a shell\n");
}

static void test_only_text(void) {
	check_warnings("version: 1\ndefaults: {finally: 'x {#}', on_failure: 'x {}'}\nbatches:\n"
		"  a: {run: 'x \"{/.}\"', then: ['y {1}', y], creates: '{.}.gz'}\n"
		"  b: {commands: ['x {}', {run: 'x {%}'}], on_failure: 'x {}'}\n"
		"  c: {run: 'x {cc}', matrix: {cc: [gcc]}, finally: 'x {cc} {}'}\n",
		"2:24: warning: '{#}' is only text here: there is no item\n"
		"4:16: warning: '{/.}' is only text here: there is no item\n"
		"4:34: warning: '{1}' is only text here: there is no item\n"
		"4:54: warning: '{.}' is only text here: there is no item\n"
		"5:21: warning: '{}' is only text here: there is no item\n"
		"5:35: warning: '{%}' is only text here: there is no item\n"
		"5:58: warning: '{}' is only text here: there is no item\n"
		"6:55: warning: '{cc}' is only text here: there is no item\n");
	check_warnings("version: 1\nbatches:\n  a:\n    env: {J: '{}'}\n    commands:\n      - find . -exec gzip {} +\n"
		"      - ls | xargs -I{} echo {}\n      - awk '{print $1} {}'\n      - grep -E \"a{2}[0-9]{4}\" ${x}\n      - f() { x; }\n", "");
}

static void test_open(void) {
	struct buf messages = BUF_INIT;
	check(!manifest_load("/nowhere/x.yaml", &messages));
	check_string(buf_str(&messages), "fairpar: error: cannot open '/nowhere/x.yaml': No such file or directory\n");
	buf_reset(&messages);
	check(!manifest_load("/", &messages));
	check_string(buf_str(&messages), "fairpar: error: cannot read '/': Is a directory\n");
	buf_fini(&messages);
}

// Loads it by that name, which shows the bytes of `fd`.
static void check_dir(int fd, const char *name, const char *expected) {
	struct buf messages = BUF_INIT;
	check(lseek(fd, 0, SEEK_SET) == 0);
	struct manifest *manifest = manifest_load(name, &messages);
	check(manifest);
	check_string(manifest->dir, expected);
	manifest_free(manifest);
	buf_fini(&messages);
}

static void test_dir(void) {
	char path[] = "/tmp/fairpar-manifest.XXXXXX", name[64];
	static const char text[] = "version: 1\nbatches: {a: {run: x}}\n";
	int fd = mkstemp(path);
	check(fd >= 0 && write(fd, text, sizeof(text) - 1) == (ssize_t)sizeof(text) - 1);
	check_dir(fd, path, "/tmp");
	snprintf(name, sizeof(name), "/dev/fd/%d", fd);
	check_dir(fd, name, ".");
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	check_dir(fd, name, ".");
	snprintf(name, sizeof(name), "/proc/%d/fd/%d", (int)getpid(), fd);
	check_dir(fd, name, ".");
	check(unlink(path) == 0 && close(fd) == 0 && mkfifo(path, 0600) == 0);
	pid_t pid = fork();
	if (pid == 0) {
		int out = open(path, O_WRONLY | O_CLOEXEC); // waits for the loader
		_exit(write(out, text, sizeof(text) - 1) != (ssize_t)sizeof(text) - 1);
	}
	struct buf messages = BUF_INIT;
	struct manifest *manifest = manifest_load(path, &messages);
	check(manifest);
	check_string(manifest->dir, ".");
	manifest_free(manifest);
	buf_fini(&messages);
	int status;
	check(waitpid(pid, &status, 0) == pid && status == 0 && unlink(path) == 0);
}

// ---- what comes out ----

static void test_defaults(void) {
	struct manifest *manifest = parse("version: 1\nbatches: {a: {run: x}}\n");
	const struct manifest_batch *a = &manifest->batches[0];
	check_string(manifest->dir, "dir");
	check(!manifest->name && !manifest->slots && !manifest->env);
	check_equal(manifest->fair, MANIFEST_TURNS);
	check(!manifest->fail_fast);
	check(!a->job->on_failure && !a->job->creates && !a->job->env && !a->job->working_dir && !a->job->shell);
	check_equal(a->job->timeout_ns + a->job->memory + a->job->retry_delay.first_ns, 0);
	check_equal(a->job->umask, -1);
	check_equal(a->job->nice + a->job->retries + a->attrs.priority + (int)a->attrs.max_parallel, 0);
	check_equal(a->job->slots_per_job, 1);
	check_equal(a->attrs.weight, 1);
	check_equal(a->output, OUTPUT_GROUP);
	check_equal(a->source, MANIFEST_NONE);
	check(!a->attrs.long_running && !a->attrs.prefer_fairness && !a->allow_failure && a->selected);
	check(!manifest_batch_has_items(a));
	check_equal(manifest_batch_jobs(a), 1);
	manifest_free(manifest);
}

// As on the command line: TIME, TIME,FACTOR and TIME,,MAX.
static void test_retry_delay(void) {
	static const struct { const char *text; uint64_t third; } cases[] = {
		{"1s", 1000}, {"{first: 1s}", 1000}, {"{first: 2h}", 7200000}, {"{first: 1s, factor: 3}", 9000},
		{"{first: 1s, max: 1m}", 4000}, {"{first: 1s, max: 3s}", 3000},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
		char text[200];
		snprintf(text, sizeof(text), "version: 1\nbatches: {a: {run: x, retries: 3, retry_delay: %s}}\n", cases[i].text);
		struct manifest *manifest = parse(text);
		check_equal(manifest_delay_ns(&manifest->batches[0].job->retry_delay, 3), cases[i].third * 1000000);
		manifest_free(manifest);
	}
}

static void test_every_key(void) {
	struct manifest *manifest = parse(
		"version: 1\nname: n\nslots: 50%\nslurm: -p x\nfair: time\nfail_fast: true\nenv: {A: no}\nbatches:\n"
		"  b: {run: 'x {}'}\n"
		"  a:\n    description: d\n    run: x {}\n    args: [1.10, no, '']\n    needs: c\n    emits: b\n    then: [\"s {}\", t]\n"
		"    on_failure: f {}\n    finally: g\n    env: {B: '{}'}\n    working_dir: w\n    umask: 027\n    nice: -5\n"
		"    shell: none\n    timeout: 1h30m\n    retries: 3\n    retry_delay: {first: 1s, factor: 1.5, max: 1m}\n"
		"    weight: 7\n    max_parallel: 6\n    rate: 30/m\n    priority: -5\n    slots_per_job: 4\n    memory: 2G\n    long_running: true\n    hosts: [\"@gpu\", n1]\n"
		"    prefer_fairness: true\n    allow_failure: true\n    creates: c{}\n    output: raw\n"
		"  c: {run: x}\n");
	const struct manifest_batch *b = &manifest->batches[0], *a = &manifest->batches[1], *c = &manifest->batches[2];
	check_string(manifest->name, "n");
	check_string(manifest->slots, "50%");
	check_string(manifest->slurm, "-p x");
	check_equal(manifest->fair, MANIFEST_TIME);
	check(manifest->fail_fast);
	check_string(a->description, "d");
	check_equal(a->source, MANIFEST_ARGS);
	check_equal(a->args.n, 3);
	check_string(a->args.at[0], "1.10");
	check_string(a->args.at[1], "no");
	check_string(a->args.at[2], "");
	check(a->nneeds == 1 && a->needs[0] == c && a->emits == b && b->nfeeders == 1 && b->feeders == a);
	check(manifest_batch_has_items(b) && manifest_batch_jobs(b) == 0);
	check(a->hosts.n == 2 && strcmp(a->hosts.at[0], "@gpu") == 0 && strcmp(a->hosts.at[1], "n1") == 0 && b->hosts.n == 0);
	check_equal(a->job->then.n, 2);
	check_string(a->job->then.at[1], "t");
	check_string(a->job->on_failure, "f {}");
	check_string(a->finally, "g");
	check_string(a->job->working_dir, "w");
	check_equal(a->job->umask, 027);
	check_equal(a->job->nice, -5);
	check_string(a->job->shell, "none");
	check_equal(a->job->timeout_ns, 5400 * INT64_C(1000000000));
	check_equal(a->job->retries, 3);
	check_equal(manifest_delay_ns(&a->job->retry_delay, 3), 2250000000);
	check(a->attrs.weight == 7 && a->attrs.max_parallel == 6 && a->attrs.priority == -5 && a->job->slots_per_job == 4);
	check_equal(a->attrs.start_interval, 2 * INT64_C(1000000000));
	check_equal(a->job->memory, INT64_C(2) << 30);
	check(a->attrs.long_running && a->attrs.prefer_fairness && a->allow_failure);
	check_string(a->job->creates, "c{}");
	check_equal(a->output, OUTPUT_UNGROUP);
	check_equal(a->line, 10);
	manifest_free(manifest);
}

static void test_layers(void) {
	struct manifest *manifest = parse(
		"version: 1\nenv: {A: top, B: top, C: top, D: top}\ndefaults: {env: {B: under, C: under}, retries: 2, nice: 1}\n"
		"batches:\n  a:\n    env: {C: batch, E: batch}\n    nice: 2\n    commands: [x, {run: y, env: {E: own}, nice: 3}]\n  b: {run: x}\n");
	const struct manifest_batch *a = &manifest->batches[0];
	struct manifest_pair *pairs;
	check_equal(manifest_env_pairs(a->commands[1].job->env, &pairs), 5);
	static const char *const expected[] = {"A=top", "B=under", "C=batch", "D=top", "E=own"};
	for (size_t i = 0; i < 5; ++i) {
		char text[32];
		snprintf(text, sizeof(text), "%s=%s", pairs[i].name, pairs[i].value);
		check_string(text, expected[i]);
	}
	free(pairs);
	check_equal(manifest_env_pairs(NULL, &pairs), 0);
	free(pairs);
	check(a->commands[0].job == a->job && a->commands[1].job != a->job);
	check(a->job->nice == 2 && a->commands[1].job->nice == 3 && a->commands[1].job->retries == 2);
	check(manifest->batches[1].job->nice == 1 && manifest->batches[1].job->retries == 2);
	check_equal(a->commands[1].line, 8);
	manifest_free(manifest);
}

static void test_merges(void) {
	struct manifest *manifest = parse(
		"version: 1\nx-a: &a {weight: 2, retries: 2}\nx-b: &b {weight: 3, nice: 3, <<: *a}\nbatches:\n"
		"  one: {<<: *b, run: x, nice: 4}\n  two: {<<: [*a, *b], run: &r x}\n  three: {run: *r}\n");
	const struct manifest_batch *one = manifest_find(manifest, "one"), *two = manifest_find(manifest, "two");
	check(one->attrs.weight == 3 && one->job->nice == 4 && one->job->retries == 2);
	check(two->attrs.weight == 2 && two->job->nice == 3);
	check(manifest_find(manifest, "three")->run == two->run);
	manifest_free(manifest);
}

static void test_matrix(void) {
	struct manifest *manifest = parse(
		"version: 1\nbatches:\n  a:\n    run: x {cc} {opt}\n    matrix:\n      cc: [gcc, clang]\n      opt: [O0, O1, O2]\n"
		"      exclude: [{cc: gcc, opt: O1}, {opt: O2}]\n");
	const struct manifest_matrix *matrix = &manifest->batches[0].matrix;
	static const char *const rows[][2] = {{"gcc", "O0"}, {"clang", "O0"}, {"clang", "O1"}};
	check_equal(matrix->nrows, 3);
	check_equal(manifest_batch_jobs(&manifest->batches[0]), 3);
	for (size_t i = 0; i < 3; ++i) {
		check_string(manifest_matrix_value(matrix, i, 0), rows[i][0]);
		check_string(manifest_matrix_value(matrix, i, 1), rows[i][1]);
	}
	manifest_free(manifest);
}

static void test_sources(void) {
	struct manifest *manifest = parse(
		"version: 1\nbatches:\n  a: {run: 'x {}', args_from: {file: f}}\n  b: {run: 'x {}', args_from: {file0: f0}}\n"
		"  c: {run: 'x {}', args_from: {glob: '*.c'}}\n  d: {run: 'x {}', args_from: {command: ls}}\n"
		"  e: {run: 'x {}', args_from: {stdin: true}}\n");
	static const char *const texts[] = {"f", "f0", "*.c", "ls"};
	for (size_t i = 0; i < 5; ++i) {
		const struct manifest_batch *batch = &manifest->batches[i];
		check_equal(batch->source, (int)MANIFEST_FILE + (int)i);
		check(manifest_batch_jobs(batch) == SIZE_MAX);
		check(i == 4 ? !batch->source_text : strcmp(batch->source_text, texts[i]) == 0);
	}
	manifest_free(manifest);
	struct buf messages = BUF_INIT;
	const char *text = "version: 1\nbatches: {a: {run: 'x {}', args_from: {stdin: true}}}\n";
	check(!manifest_parse("-", text, strlen(text), &messages));
	check(strstr(buf_str(&messages), ": error: stdin is the manifest itself, so no batch can read items from it\n"));
	buf_fini(&messages);
}

static void test_examples(void) {
	for (int id = 0; id < NKEYS; ++id) {
		const struct key *key = &key_table[id];
		struct buf text = BUF_INIT;
		bool is_top = key->scopes & IN_TOP, has_run = id == KEY_RUN || id == KEY_COMMANDS;
		bool has_items = id == KEY_ARGS || id == KEY_ARGS_FROM || id == KEY_MATRIX || id == KEY_COMMANDS;
		buf_printf(&text, "%s", id == KEY_VERSION ? "" : "version: 1\n");
		if (is_top) {
			buf_printf(&text, "%s: %s\n", key->name, key->example);
		}
		buf_adds(&text, id == KEY_BATCHES ? "" : "batches:\n  build: {run: x}\n  crawl: {args: [a], run: 'x {}'}\n  it:\n");
		if (key->scopes & IN_BATCH) {
			buf_printf(&text, "    %s: %s\n", key->name, key->example);
		} else if (!is_top) {
			bool in_delay = key->scopes & IN_RETRY_DELAY;
			buf_printf(&text, "    %s: {%s%s: %s}\n", in_delay ? "retry_delay" : "args_from",
			           in_delay && id != KEY_FIRST ? "first: 1s, " : "", key->name, key->example);
			has_items = !in_delay;
		}
		if (id != KEY_BATCHES) {
			buf_adds(&text, has_run ? "" : "    run: x {}\n");
			buf_adds(&text, has_items ? "" : "    matrix: {cc: [gcc]}\n");
		}
		manifest_free(parse(buf_str(&text)));
		buf_fini(&text);
	}
}

// ---- values ----

static int64_t duration(const char *text) {
	uint64_t ns;
	return parse_duration(text, MANIFEST_UNITS, &ns) == 0 ? (int64_t)(ns / 1000000) : -1;
}

static void test_durations(void) {
	static const struct { const char *text; int64_t ms; } cases[] = {
		{"90", 90000}, {"90s", 90000}, {"1.5h", 5400000}, {"10m", 600000}, {"1h30m", 5400000}, {"100ms", 100}, {"1d", 86400000},
		{"0", 0}, {"0.25", 250}, {"1d2h3m4s5ms", 93784005}, {"36500d", 3153600000000}, {"2h5s", 7205000},
		{"", -1}, {"s", -1}, {"-1", -1}, {"+1", -1}, {"1 s", -1}, {"1m30", -1}, {"30m1h", -1}, {"1s1s", -1}, {"1.5h30m", -1},
		{"1h1.5m", -1}, {".5", -1}, {"1.", -1}, {"1e3", -1}, {"0x10", -1}, {"36501d", -1}, {"99999999999999999999", -1},
		{"10min", -1}, {"1:30", -1}, {"1w", -1},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
		check_equal(duration(cases[i].text), cases[i].ms);
	}
}

static void test_sizes(void) {
	static const struct { const char *text; int64_t bytes; } cases[] = {
		{"0", 0}, {"1048576", 1048576}, {"512M", 512 << 20}, {"2G", INT64_C(2) << 30}, {"1.5K", 1536}, {"1T", INT64_C(1) << 40},
		{"", -1}, {"2GB", -1}, {"2g", -1}, {"1.5", -1}, {"-1", -1}, {"M", -1}, {"9999999T", -1}, {"2 G", -1}, {"2Gi", -1},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
		uint64_t bytes;
		check_equal(parse_size(cases[i].text, MANIFEST_UNITS, &bytes) == 0 ? (int64_t)bytes : -1, cases[i].bytes);
	}
}

static void test_rates(void) {
	static const struct { const char *text; int64_t ns; const char *shown; } cases[] = {
		{"5/s", 200000000, "5/s"}, {"3/s", 333333333, "3/s"}, {"1/s", 1000000000, "1/s"}, {"0.5/s", 2000000000, "30/m"},
		{"30/m", 2000000000, "30/m"}, {"120/m", 500000000, "2/s"}, {"100/h", 36000000000, "100/h"}, {"2.5/m", 24000000000, "150/h"},
		{"1/h", 3600000000000, "1/h"}, {"0.1/h", 36000000000000, "0.1/h"}, {"90/m", 666666667, "90/m"}, {"7/m", 8571428571, "7/m"}, {"1000000000/s", 1, "1000000000/s"},
		{"", -1, ""}, {"5", -1, ""}, {"/s", -1, ""}, {"0/s", -1, ""}, {"-1/s", -1, ""}, {"5/sec", -1, ""}, {"5 /s", -1, ""}, {"5/d", -1, ""},
		{".5/s", -1, ""}, {"1e3/s", -1, ""}, {"99999999999/s", -1, ""},
	};
	char text[RATE_TEXT];
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
		uint64_t interval = 0;
		check_equal(parse_rate(cases[i].text, &interval) == 0 ? (int64_t)interval : -1, cases[i].ns);
		if (cases[i].ns > 0) {
			check_string(rate_show(text, interval), cases[i].shown);
		}
	}
}

// Loads a manifest with that line at its top, and those keys of its batch. Returns NULL if it is refused.
static struct manifest *load_with(const char *line, const char *keys) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT, messages = BUF_INIT;
	buf_printf(&text, "version: 1\n%s\nbatches:\n  a: {run: x%s}\n", line, keys);
	return manifest_parse("m.yaml", text.data, text.len, &messages);
}

static int number(const char *keys) {
	struct manifest *manifest = load_with("", keys);
	int value = manifest ? manifest->batches[0].job->nice : -99;
	manifest_free(manifest);
	return value;
}

static int mask(const char *keys) {
	struct manifest *manifest = load_with("", keys);
	int value = manifest ? manifest->batches[0].job->umask : -99;
	manifest_free(manifest);
	return value;
}

static double factor(const char *keys) {
	struct manifest *manifest = load_with("", keys);
	double value = manifest ? manifest->batches[0].job->retry_delay.factor : -1;
	manifest_free(manifest);
	return value;
}

static void test_numbers(void) {
	check(number(", nice: 0") == 0 && number(", nice: -10") == -10 && number(", nice: 19") == 19);
	static const char *const wrong[] = {"''", "-", "20", "-21", "01", "+1", "1.0", "'1 '", "0x1", "99999999999999999999", "1e2", "'1'"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
		char keys[64];
		snprintf(keys, sizeof(keys), ", nice: %s", wrong[i]);
		check_equal(number(keys), -99);
	}
	check(mask(", umask: 022") == 022 && mask(", umask: 0o27") == 027 && mask(", umask: 0") == 0 && mask(", umask: 0777") == 0777);
	check(mask(", umask: 77") == 077 && mask(", umask: 8") == -99 && mask(", umask: 1000") == -99 && mask(", umask: ''") == -99);
	check(mask(", umask: 00022") == -99 && mask(", umask: u=rwx") == -99);
	check(factor(", retry_delay: {first: 1, factor: 1}") > 0.99 && factor(", retry_delay: {first: 1, factor: 1000}") > 999.9);
	double half = factor(", retry_delay: {first: 1, factor: 1.5}");
	check(half > 1.49 && half < 1.51 && factor(", retry_delay: {first: 1, factor: x}") < 0);
	check(factor(", retry_delay: {first: 1, factor: 0.9}") < 0 && factor(", retry_delay: {first: 1, factor: 1001}") < 0);
}

static bool takes_slots(const char *slots) {
	char line[64];
	snprintf(line, sizeof(line), "slots: '%s'", slots);
	struct manifest *manifest = load_with(line, "");
	bool is_taken = manifest != NULL;
	manifest_free(manifest);
	return is_taken;
}

// What a manifest may say, -j takes.
static void test_slots(void) {
	static const char *const good[] = {"8", "0", "007", "+2", "-1", "50%", "150%", "12.5%", "1000000",
	                                   "12.1234567890%", "0000000001"};
	static const char *const bad[] = {"", "x", "1.5", "%", "8x", "+", "-", "+50%", "-50%", "+1.5", "50%%", "1.%", " 8"};
	struct slots_bounds bounds;
	char *error;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); ++i) {
		check(takes_slots(good[i]) && slots_parse(good[i], 1024, &bounds, &error) == 0);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
		check(!takes_slots(bad[i]) && slots_parse(bad[i], 1024, &bounds, &error) != 0);
		free(error);
	}
	check(!takes_slots("1000001") && !takes_slots("auto"));
}

static void test_delays(void) {
	struct manifest_delay fixed = {5, 5, 1}, growing = {1000, 5000, 2}, none = {0, 0, 1};
	check(manifest_delay_ns(&fixed, 1) == 5 && manifest_delay_ns(&fixed, 1000000) == 5);
	check(manifest_delay_ns(&growing, 1) == 1000 && manifest_delay_ns(&growing, 2) == 2000);
	check(manifest_delay_ns(&growing, 3) == 4000 && manifest_delay_ns(&growing, 4) == 5000);
	check(manifest_delay_ns(&growing, UINT_MAX) == 5000 && manifest_delay_ns(&none, 3) == 0);
}

// ---- lists and selections ----

static const char graph[] =
	"version: 1\nname: g\nbatches:\n  a: {run: x, needs: [b, c]}\n  b: {run: x, needs: [d]}\n  c: {commands: [x, y]}\n"
	"  d: {run: x, emits: e, description: \"emits\\nmore\"}\n  e: {run: 'x {}', needs: [f]}\n  f: {args: [a], run: '{}'}\n"
	"  'g \"h\"': {args_from: {glob: '*'}, run: '{}'}\n";

static const char *listed(struct manifest *manifest, enum manifest_listing listing) {
	static struct buf buf;
	buf_reset(&buf);
	manifest_list(manifest, listing, &buf);
	return buf_str(&buf);
}

static void test_select(void) {
	struct manifest *manifest = parse(graph);
	struct buf error = BUF_INIT;
	static const char *const names[] = {"b", "c"}, *const wrong[] = {"b", "dd"};
	check_equal(manifest_select(manifest, wrong, 2, &error), -1);
	check_string(buf_str(&error), "no batch is called 'dd' in dir/m.yaml; it has a, b, c, d, e, f, g \"h\"");
	check_string(listed(manifest, MANIFEST_NAMES), "a\nb\nc\nd\ne\nf\ng \"h\"\n");
	check_equal(manifest_select(manifest, names, 2, &error), 0);
	check_string(listed(manifest, MANIFEST_NAMES), "b\nc\nd\ne\nf\n");
	check_equal(manifest_select(manifest, NULL, 0, &error), 0);
	check_string(listed(manifest, MANIFEST_NAMES), "a\nb\nc\nd\ne\nf\ng \"h\"\n");
	check(manifest_find(manifest, "g \"h\"") == &manifest->batches[6] && !manifest_find(manifest, "x"));
	buf_fini(&error);
	manifest_free(manifest);
}

// b's items come from a and c, what a needs has items of its own, and so has e.
static void test_select_feeders(void) {
	struct manifest *manifest = parse(
		"version: 1\nbatches:\n  z: {run: z, needs: b}\n  a: {args: [a], run: 'x {}', emits: b, needs: n}\n  b: {run: 'x {}', emits: b}\n"
		"  c: {run: x, emits: b}\n  n: {args: [n], run: 'x {}'}\n  e: {run: x, emits: n}\n  alone: {run: x}\n");
	static const char *const needing[] = {"z"}, *const itself[] = {"b"}, *const own[] = {"n"};
	check_equal(manifest_select(manifest, needing, 1, NULL), 0);
	check_string(listed(manifest, MANIFEST_NAMES), "z\na\nb\nc\nn\n");
	check_equal(manifest_select(manifest, itself, 1, NULL), 0);
	check_string(listed(manifest, MANIFEST_PLAIN),
		"a  1 job, needs n, emits into b\nb  0+ jobs, items from a c, emits into b\nc  1 job, emits into b\nn  1+ jobs\n");
	check_equal(manifest_select(manifest, own, 1, NULL), 0);
	check_string(listed(manifest, MANIFEST_NAMES), "n\n");
	static const char *const emitter[] = {"c"}; // its target comes along, for its sake only
	check_equal(manifest_select(manifest, emitter, 1, NULL), 0);
	check_string(listed(manifest, MANIFEST_NAMES), "b\nc\n");
	manifest_free(manifest);
}

static void test_list(void) {
	struct manifest *manifest = parse(graph);
	check_string(listed(manifest, MANIFEST_PLAIN),
		"a      1 job, needs b c\nb      1 job, needs d\nc      2 jobs\nd      1 job, emits into e: emits\n"
		"e      0+ jobs, needs f, items from d\nf      1 job\ng \"h\"  ? jobs\n");
	check_string(listed(manifest, MANIFEST_DOT),
		"digraph \"g\" {\n\trankdir=LR;\n\t\"a\";\n\t\"b\" -> \"a\";\n\t\"c\" -> \"a\";\n\t\"b\";\n\t\"d\" -> \"b\";\n\t\"c\";\n\t\"d\";\n"
		"\t\"d\" -> \"e\" [style=dashed];\n\t\"e\";\n\t\"f\" -> \"e\";\n\t\"f\";\n\t\"g \\\"h\\\"\";\n}\n");
	manifest_free(manifest);
}

// ---- bombs ----

static void repeat(struct buf *buf, const char *text, size_t n) {
	for (size_t i = 0; i < n; ++i) {
		buf_adds(buf, text);
	}
}

static void check_bomb(struct buf *buf, const char *expected) {
	const char *line = told(buf->data, buf->len);
	if (!strstr(line, expected)) {
		fprintf(stderr, "# %s\n# has no: %s\n", line, expected);
		exit(1);
	}
	buf_reset(buf);
}

static void test_deep(void) {
	struct buf buf = BUF_INIT;
	static const char *const openings[] = {"[", "{a: ", "- ", "? ", "&a [", "[{"};
	for (size_t i = 0; i < sizeof(openings) / sizeof(openings[0]); ++i) {
		buf_adds(&buf, i < 2 ? "x-a: " : "");
		repeat(&buf, openings[i], 100000);
		check_bomb(&buf, "the manifest is nested deeper than 64 levels");
	}
	for (int i = 0; i < 3000; ++i) {
		buf_printf(&buf, "%*sa:\n", i, "");
	}
	check_bomb(&buf, "the manifest is nested deeper than 64 levels");
	buf_fini(&buf);
}

static void test_laughs(void) {
	struct buf buf = BUF_INIT;
	buf_adds(&buf, "version: 1\nx-a: &a [lol]\n");
	for (char c = 'b'; c <= 'z'; ++c) {
		buf_printf(&buf, "x-%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c - 1, c - 1, c - 1, c - 1, c - 1, c - 1, c - 1, c - 1);
	}
	size_t len = buf.len;
	buf_adds(&buf, "batches: {a: {run: x}}\n");
	manifest_free(parse(buf_str(&buf))); // nobody looks at it
	buf.len = len;
	buf_adds(&buf, "batches: {a: {run: 'x {}', args: *z}}\n");
	check_bomb(&buf, "the manifest has more than 1000000 values, if each alias counts as what it stands for");
	buf_adds(&buf, "version: 1\nx-a: &a {k0: 1}\n");
	for (char c = 'b'; c <= 'z'; ++c) {
		buf_printf(&buf, "x-%c: &%c {<<: [*%c,*%c,*%c,*%c]}\n", c, c, c - 1, c - 1, c - 1, c - 1);
	}
	buf_adds(&buf, "batches: {a: *z}\n");
	check_bomb(&buf, "unknown key 'k0'");
	buf_fini(&buf);
}

static void test_aliases(void) {
	struct buf buf = BUF_INIT;
	buf_adds(&buf, "version: 1\nx-a: &a [x, x, x, x, x, x, x, x, x, x]\nbatches:\n  a: {run: 'x {}', args: [");
	repeat(&buf, "*a,", 350000); // a megabyte
	buf_adds(&buf, "]}\n");
	check_bomb(&buf, "the manifest has more than 1000000 values, if each alias counts as what it stands for");
	buf_adds(&buf, "version: 1\nx-a: &a x\nbatches:\n  a: {run: 'x {}', args: [");
	repeat(&buf, "*a,", 1000001);
	buf_adds(&buf, "]}\n");
	check_bomb(&buf, "more than 1000000 values in one manifest");
	buf_adds(&buf, "version: 1\nx-a: &a [");
	repeat(&buf, "x,", 1000);
	buf_adds(&buf, "]\nbatches:\n");
	for (int i = 0; i < 1000; ++i) {
		buf_printf(&buf, "  b%d: {run: 'x {}', args: *a}\n", i);
	}
	check_bomb(&buf, "the manifest has more than 1000000 values, if each alias counts as what it stands for");
	// a merge of a large mapping, again and again
	buf_adds(&buf, "version: 1\nx-a: &a {");
	for (int i = 0; i < 1000; ++i) {
		buf_printf(&buf, "k%d: x,", i);
	}
	buf_adds(&buf, "}\nx-b: [");
	repeat(&buf, "{<<: *a},", 1000);
	buf_adds(&buf, "]\nbatches: {a: {run: x}}\n");
	check_bomb(&buf, "more than 1000000 values in one manifest");
	buf_fini(&buf);
}

// Each look at a long text counts, however it is reached.
static void test_long_texts(void) {
	struct buf buf = BUF_INIT;
	buf_adds(&buf, "version: 1\nbatches:\n  a:\n    run: ");
	repeat(&buf, "0123456789", 5000000);
	buf_addc(&buf, '\n');
	manifest_free(parse(buf_str(&buf)));
	buf_adds(&buf, "  b: {run: x, timeout: soon}\n");
	check_bomb(&buf, "'timeout' must be a duration");
	buf_adds(&buf, "version: 1\nx-a: &a '");
	repeat(&buf, " ", 5000000);
	buf_adds(&buf, "x'\nbatches:\n  a: {commands: [");
	repeat(&buf, "*a,", 300000);
	buf_adds(&buf, "]}\n");
	check_bomb(&buf, "the manifest has more than 1000000 values, if each alias counts as what it stands for");
	buf_adds(&buf, "version: 1\nx-a: &a '");
	repeat(&buf, "9", 5000000);
	buf_adds(&buf, "'\nbatches:\n  a: {commands: [");
	repeat(&buf, "{run: x, timeout: *a},", 100000);
	buf_adds(&buf, "]}\n");
	check_bomb(&buf, "the manifest has more than 1000000 values, if each alias counts as what it stands for");
	buf_adds(&buf, "version: 1\n? ");
	repeat(&buf, "k", 2000);
	buf_adds(&buf, "\n: x\nbatches: {a: {run: x}}\n");
	check_bomb(&buf, "a key has at most 1000 bytes");
	buf_fini(&buf);
}

static void test_many_errors(void) {
	struct buf buf = BUF_INIT;
	buf_adds(&buf, "version: 1\nbatches:\n");
	for (int i = 0; i < 100000; ++i) {
		buf_printf(&buf, "  b%06d: {rnu: x, needs: [b%06dx]}\n", i, i);
	}
	check_bomb(&buf, "unknown key 'rnu'");
	buf_adds(&buf, "version: 1\nx-n: &n nowhere\nbatches:\n  a: {run: x, needs: [");
	repeat(&buf, "*n,", 400000);
	buf_adds(&buf, "]}\n");
	check_bomb(&buf, "'needs' names 'nowhere'");
	buf_adds(&buf, "version: 1\n");
	for (int i = 0; i < 200000; ++i) {
		buf_printf(&buf, "key%d: x\n", i);
	}
	check_bomb(&buf, "unknown key 'key0'");
	buf_fini(&buf);
}

static void test_large(void) {
	struct buf buf = BUF_INIT;
	repeat(&buf, "%TAG ! tag:example.com,2000:\n", 200000);
	check_bomb(&buf, "a line that starts with '%' is a directive");
	buf_adds(&buf, "version: 1\nbatches: {a: {run: x}}\n...\n");
	repeat(&buf, "%TAG ! tag:example.com,2000:\n", 200000);
	check_bomb(&buf, "a second document");
	buf_adds(&buf, "version: 1\nbatches: {a: {run: 'x {a}', matrix: {a: [");
	for (int i = 0; i < 1000; ++i) {
		buf_printf(&buf, "%d,", i);
	}
	buf_adds(&buf, "], exclude: [");
	repeat(&buf, "{a: 1},", 100000);
	buf_adds(&buf, "]}}}\n");
	check_bomb(&buf, "too many exclusions for a matrix of 1000 combinations");
	// a chain of needs as long as the file, and then a circle of it
	buf_adds(&buf, "version: 1\nbatches:\n  b0: {run: x}\n");
	for (int i = 1; i < 50000; ++i) {
		buf_printf(&buf, "  b%d: {run: x, needs: b%d}\n", i, i - 1);
	}
	manifest_free(parse(buf_str(&buf)));
	buf_reset(&buf);
	buf_adds(&buf, "version: 1\nbatches:\n  b0: {run: x, needs: b49999}\n");
	for (int i = 1; i < 50000; ++i) {
		buf_printf(&buf, "  b%d: {run: x, needs: b%d}\n", i, i - 1);
	}
	check_bomb(&buf, "batches need each other: b0 → b49999 → b49998");
	buf_fini(&buf);
}

// The processor time that a manifest takes with `n` warnings or errors of one kind behind a text of 8 MiB.
enum mistake { COMMENTS, NAMES, KEYS_IN_ONE_LINE };

static double seconds_of_mistakes(enum mistake mistake, int n) {
	struct buf buf = BUF_INIT, messages = BUF_INIT;
	bool is_one_line = mistake == KEYS_IN_ONE_LINE;
	buf_adds(&buf, is_one_line ? "{version: 1, batches: {a: {run: x, description: '" : "version: 1\nbatches:\n  a:\n    run: x\n    description: |\n");
	repeat(&buf, is_one_line ? "0123456789" : "      0123456789\n", is_one_line ? 800000 : 500000);
	buf_adds(&buf, is_one_line ? "'}" : "");
	for (int i = 0; i < n; ++i) {
		switch (mistake) {
		case COMMENTS: buf_printf(&buf, "  b%d:\n    run: echo #b\n", i); break;
		case NAMES: buf_printf(&buf, "  b%d:\n    args: [x]\n    run: |\n      echo {b}\n", i); break;
		case KEYS_IN_ONE_LINE: buf_printf(&buf, ", b%d: {run: x, rnu: x}", i); break;
		}
	}
	buf_adds(&buf, is_one_line ? "}}\n" : "");
	struct timespec start, end;
	check(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start) == 0);
	manifest_free(manifest_parse("m.yaml", buf_str(&buf), buf.len, &messages));
	check(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end) == 0);
	buf_fini(&buf);
	buf_fini(&messages);
	return (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
}

static void test_cheap_places(void) {
	for (enum mistake mistake = COMMENTS; mistake <= KEYS_IN_ONE_LINE; ++mistake) {
		double one = seconds_of_mistakes(mistake, 1), all = seconds_of_mistakes(mistake, MANIFEST_ERRORS);
		fprintf(stderr, "# kind %d: 1 mistake takes %.3f s, %d take %.3f s\n", (int)mistake, one, MANIFEST_ERRORS, all);
		check(all < 3 * one); // it was 4 to 13 times as much
	}
}

static void test_too_large(void) {
	char path[] = "/tmp/fairpar-manifest.XXXXXX";
	int fd = mkstemp(path);
	check(fd >= 0 && ftruncate(fd, MANIFEST_BYTES + 1) == 0);
	struct buf messages = BUF_INIT;
	check(!manifest_load(path, &messages));
	check(strstr(buf_str(&messages), "': a manifest has at most 64 MiB\n"));
	check(unlink(path) == 0 && close(fd) == 0);
	buf_fini(&messages);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("every good manifest loads without a word", test_good),
		TEST("every bad manifest gets exactly the text beside it", test_bad),
		TEST("bytes that are no text are named with their place", test_bytes),
		TEST("a comment that cuts a command short gets a warning", test_warning),
		TEST("what only a shell understands gets a warning without one", test_no_shell),
		TEST("a replacement string where there is no item gets a warning", test_only_text),
		TEST("a file that cannot be read is an error", test_open),
		TEST("a manifest from a pipe or a descriptor stands in the current directory", test_dir),
		TEST("a batch that says nothing has the defaults", test_defaults),
		TEST("a pause that has a longest one and no factor doubles", test_retry_delay),
		TEST("every key arrives typed", test_every_key),
		TEST("every example of the table of keys is one", test_examples),
		TEST("defaults, batch and entry lie over each other", test_layers),
		TEST("merges are shallow, own keys first, then in their order", test_merges),
		TEST("a matrix makes its combinations without those excluded", test_matrix),
		TEST("items come from each kind of source", test_sources),
		TEST("durations are read, and nothing like them", test_durations),
		TEST("sizes are read, and nothing like them", test_sizes),
		TEST("rates are read, and nothing like them, and shown in their notation", test_rates),
		TEST("numbers, masks and factors are read", test_numbers),
		TEST("slots are what -j takes", test_slots),
		TEST("pauses grow up to their limit", test_delays),
		TEST("naming batches selects what they need and emit into", test_select),
		TEST("what has no items of its own is selected with what emits into it", test_select_feeders),
		TEST("batches are listed plainly, by name and as a graph", test_list),
		TEST("deep nesting is refused", test_deep),
		TEST("aliases of aliases are never expanded", test_laughs),
		TEST("aliases count each time", test_aliases),
		TEST("long texts count by their length", test_long_texts),
		TEST("many errors are as cheap as twenty", test_many_errors),
		TEST("the places of twenty mistakes in a large file cost what that of one does", test_cheap_places),
		TEST("what would make libyaml or a search slow is refused", test_large),
		TEST("a file beyond 64 MiB is refused", test_too_large),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
