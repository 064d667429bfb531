// Measures the manifest reader: loading a manifest of many jobs, beside the time that libyaml alone takes to parse it.
//
//	manifest [JOBS]    prints for each form of a manifest: bytes, milliseconds of CPU of libyaml, ours, the ratio, peak memory

#include "base/alloc.h"
#include "base/diag.h"
#include "manifest/manifest.h"

#include <inttypes.h>
#include <sys/resource.h>
#include <time.h>
#include <yaml.h>

enum { ROUNDS = 7 };

// Of this process: other work on the machine does not count.
static uint64_t cpu_ns(void) {
	struct timespec now;
	verify(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void make_args(struct buf *buf, int n) {
	buf_adds(buf, "version: 1\nbatches:\n  many:\n    run: gzip -k {}\n    args:\n");
	for (int i = 0; i < n; ++i) {
		buf_printf(buf, "      - photos/2024/%06d.jpg\n", i);
	}
}

static void make_commands(struct buf *buf, int n) {
	buf_adds(buf, "version: 1\nbatches:\n  many:\n    commands:\n");
	for (int i = 0; i < n; ++i) {
		buf_printf(buf, "      - convert photos/%06d.jpg -resize 200x out/%06d.png\n", i, i);
	}
}

static void make_entries(struct buf *buf, int n) {
	buf_adds(buf, "version: 1\nbatches:\n  many:\n    commands:\n");
	for (int i = 0; i < n; ++i) {
		buf_printf(buf, "      - {run: ./job %06d, timeout: 30s, retries: 2}\n", i);
	}
}

static void make_batches(struct buf *buf, int n) {
	buf_adds(buf, "version: 1\nbatches:\n");
	for (int i = 0; i < n; ++i) {
		buf_printf(buf, "  b%06d:\n    run: ./job %d\n    weight: 2\n", i, i);
	}
}

static uint64_t parse_events(const struct buf *text) {
	uint64_t start = cpu_ns();
	yaml_parser_t parser;
	yaml_event_t event;
	verify(yaml_parser_initialize(&parser));
	yaml_parser_set_input_string(&parser, (const unsigned char *)text->data, text->len);
	for (bool done = false; !done;) {
		verify(yaml_parser_parse(&parser, &event));
		done = event.type == YAML_STREAM_END_EVENT;
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	return cpu_ns() - start;
}

static uint64_t load(const struct buf *text) {
	struct buf messages = BUF_INIT;
	uint64_t start = cpu_ns();
	struct manifest *manifest = manifest_parse("bench.yaml", text->data, text->len, &messages);
	manifest_free(manifest);
	uint64_t ns = cpu_ns() - start;
	if (!manifest) {
		diag_die("%s", buf_str(&messages));
	}
	buf_fini(&messages);
	return ns;
}

static void measure(const char *name, void (*make)(struct buf *buf, int n), int n) {
	struct buf text = BUF_INIT;
	uint64_t alone = UINT64_MAX, ours = UINT64_MAX;
	struct rusage usage;
	make(&text, n);
	for (int i = 0; i < ROUNDS; ++i) { // interleaved, the least of each
		uint64_t ns = parse_events(&text);
		alone = ns < alone ? ns : alone;
		ns = load(&text);
		ours = ns < ours ? ns : ours;
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("%-10s %8d jobs %9zu bytes  libyaml %7.1f ms  manifest %7.1f ms  ratio %.2f  peak %ld MiB\n", name, n, text.len,
	       (double)alone / 1e6, (double)ours / 1e6, (double)ours / (double)alone, usage.ru_maxrss / 1024);
	buf_fini(&text);
}

int main(int argc, char *argv[]) {
	int n = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 100000;
	measure("args", make_args, n);
	measure("commands", make_commands, n);
	measure("entries", make_entries, n);
	measure("batches", make_batches, n);
	return 0;
}
