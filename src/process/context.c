// The execution context that a job gets from whoever submitted it: captured in the parent, applied only in the child.

#include "process/context.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/diag.h"
#include "process/signals.h"

extern char **environ;

enum { USUAL_NOFILE = 1024 }; // the limit that Linux starts with

size_t argv_length(char *const *list) {
	size_t n = 0;
	while (list && list[n]) {
		++n;
	}
	return n;
}

// Returns a copy of the list, NULL at its end; strings and array are one allocation.
static char **env_copy(char *const *env) {
	size_t n = argv_length(env), bytes = 0;
	for (size_t i = 0; i < n; ++i) {
		bytes += strlen(env[i]) + 1;
	}
	char **copy = xmalloc((n + 1) * sizeof(*copy) + bytes);
	char *at = (char *)(copy + n + 1);
	for (size_t i = 0; i < n; ++i) {
		size_t len = strlen(env[i]) + 1;
		copy[i] = memcpy(at, env[i], len);
		at += len;
	}
	copy[n] = NULL;
	return copy;
}

void context_get_nofile(struct rlimit *ret_limit) {
	if (getrlimit(RLIMIT_NOFILE, ret_limit) != 0) { // a sandbox may refuse this call
		*ret_limit = (struct rlimit){.rlim_cur = USUAL_NOFILE, .rlim_max = USUAL_NOFILE};
	}
}

struct context *context_capture(void) {
	struct context *context = NEW(struct context);
	atomic_init(&context->refs, 1);
	context->env = env_copy(environ);
	context->umask = (mode_t)-1;
	context_get_nofile(&context->nofile);
	verify(sigprocmask(SIG_SETMASK, NULL, &context->mask) == 0);
	signals_get_ignored(&context->ignored);
	return context;
}

const char *env_find(char *const *list, const char *name, size_t len) {
	while (list && *list && (strncmp(*list, name, len) != 0 || ((*list)[len] != '=' && (*list)[len] != '\0'))) {
		++list;
	}
	return list ? *list : NULL;
}

char **env_merge(char *const *base, char *const *set, char *const *unset) {
	size_t nset = argv_length(set), n = 0;
	char **env = xcalloc(argv_length(base) + nset + 1, sizeof(*env));
	for (; *base; ++base) {
		size_t len = strcspn(*base, "=");
		if (!env_find(set, *base, len) && !env_find(unset, *base, len)) {
			env[n++] = *base;
		}
	}
	put_bytes((char *)(env + n), set, nset * sizeof(*env));
	return env;
}

char **env_with(char *const *env, const char *name, const char *value) {
	FP_CLEANUP(buf_fini) struct buf entry = BUF_INIT;
	buf_printf(&entry, "%s=%s", name, value);
	FP_CLEANUP(free_later) char **with = env_merge(env, (char *[]){entry.data, NULL}, /* unset */ NULL);
	return env_copy(with);
}

void context_set_env(struct context *context, const char *name, const char *value) {
	char **env = env_with(context->env, name, value);
	free(context->env);
	context->env = env;
}

struct context *context_derive(const struct context *from, const char *cwd, int umask, int nice) {
	struct context *context = NEW(struct context);
	atomic_init(&context->refs, 1);
	cwd = cwd ? cwd : from->cwd;
	context->cwd = cwd ? xstrdup(cwd) : NULL;
	context->umask = umask >= 0 ? (mode_t)umask : from->umask;
	context->nice = from->nice + nice;
	context->nofile = from->nofile;
	context->mask = from->mask;
	context->ignored = from->ignored;
	return context;
}

void context_set_limits(struct context *context, const struct rlimit *limits, unsigned n) {
	context->limits = xmemdup(limits, n * sizeof(*limits));
	context->nlimits = n;
	context->nofile = n > RLIMIT_NOFILE ? limits[RLIMIT_NOFILE] : context->nofile;
}

struct context *context_ref(struct context *context) {
	atomic_add_relaxed(&context->refs, 1); // the caller holds a reference, so the context stays meanwhile
	return context;
}

void context_unref(struct context *context) {
	// acquire and release: the thread that frees the context sees what other threads did with it before they dropped their references
	if (!context || atomic_fetch_sub_explicit(&context->refs, 1, memory_order_acq_rel) > 1) {
		return;
	}
	free(context->cwd);
	free(context->limits);
	free(context->env);
	free(context);
}

rlim_t context_raise_nofile(const struct context *context) {
	struct rlimit limit = context->nofile;
	limit.rlim_cur = limit.rlim_max;
	// some sandboxes refuse the call: then the old limit holds, and fewer slots fit
	return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : context->nofile.rlim_cur;
}
