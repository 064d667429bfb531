// glib: the same no-op items as engine.c through GLib's GThreadPool with 2 threads: one first-in-first-out queue.

#include "meter.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS = 2, TREES = 4 };

static GThreadPool *pool;
static GMutex flag_lock;
static GCond flag_cond;
static long flag_count;
static gint tree_left;  // items of the trees not yet done

static void nop_run(gpointer data, gpointer user) {
	(void)data, (void)user;
}

// The data is the depth below, plus one: GThreadPool takes no NULL.
static void tree_run(gpointer data, gpointer user) {
	guint depth = GPOINTER_TO_UINT(data) - 1;
	(void)user;
	if (depth > 0) {
		g_thread_pool_push(pool, GUINT_TO_POINTER(depth), NULL);
		g_thread_pool_push(pool, GUINT_TO_POINTER(depth), NULL);
	}
	if (g_atomic_int_dec_and_test(&tree_left)) {
		g_mutex_lock(&flag_lock);
		flag_count = 1;
		g_mutex_unlock(&flag_lock);
		g_cond_signal(&flag_cond);
	}
}

static void flag_run(gpointer data, gpointer user) {
	(void)data, (void)user;
	g_mutex_lock(&flag_lock);
	++flag_count;
	g_mutex_unlock(&flag_lock);
	g_cond_signal(&flag_cond);
}

static void flag_wait(long count) {
	g_mutex_lock(&flag_lock);
	while (flag_count != count) {
		g_cond_wait(&flag_cond, &flag_lock);
	}
	g_mutex_unlock(&flag_lock);
}

static void pool_open(GFunc fn) {
	pool = g_thread_pool_new(fn, NULL, WORKERS, /* exclusive */ TRUE, NULL);
}

int main(int argc, char *argv[]) {
	long items = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
	const char *mode = items > 0 ? argv[1] : "";
	struct meter start;
	if (strcmp(mode, "single") == 0) {
		pool_open(nop_run);
		start = meter_read();
		for (long i = 0; i < items; ++i) {
			g_thread_pool_push(pool, GUINT_TO_POINTER(1), NULL);
		}
	} else if (strcmp(mode, "nested") == 0) {
		guint depth = 0;
		while (((2L << depth) - 1) * TREES < items) {
			++depth;
		}
		items = ((2L << depth) - 1) * TREES;
		tree_left = (gint)items;
		pool_open(tree_run);
		start = meter_read();
		for (int i = 0; i < TREES; ++i) {
			g_thread_pool_push(pool, GUINT_TO_POINTER(depth + 1), NULL);
		}
		flag_wait(1);
	} else if (strcmp(mode, "isolated") == 0) {
		pool_open(flag_run);
		start = meter_read();
		for (long i = 1; i <= items; ++i) {
			g_thread_pool_push(pool, GUINT_TO_POINTER(1), NULL);
			flag_wait(i);
		}
	} else {
		fprintf(stderr, "usage: glib single|nested|isolated ITEMS\n");
		return 255;
	}
	g_thread_pool_free(pool, /* immediate */ FALSE, /* wait */ TRUE);
	meter_print(mode, start, (double)items, -1);
	return 0;
}
