// Allocation calls that never return NULL: if there is no memory, they end the process.

#include "base/alloc.h"

#include "base/diag.h"
#include "base/fault.h"

static void *checked(void *mem, size_t size) {
	if (!mem) {
		diag_die("out of memory: cannot get %zu bytes", size);
	}
	return mem;
}

void *xmalloc(size_t size) {
	return checked(fault_fails("malloc") ? NULL : malloc(size ? size : 1), size);
}

void *xcalloc(size_t n, size_t size) {
	return checked(fault_fails("malloc") ? NULL : calloc(n ? n : 1, size ? size : 1), n * size);
}

void *xrealloc(void *mem, size_t size) {
	return checked(fault_fails("malloc") ? NULL : realloc(mem, size ? size : 1), size);
}

char *xstrdup(const char *s) {
	return xmemdup(s, strlen(s));
}

void *xmemdup(const void *mem, size_t size) {
	char *copy = xmalloc(size + 1);
	*put_bytes(copy, mem, size) = '\0';
	return copy;
}

void store_integer(void *member, size_t size, int64_t number) {
	uint32_t half = (uint32_t)number;
	switch (size) {
	case sizeof(number): memcpy(member, &number, sizeof(number)); break;
	case sizeof(half): memcpy(member, &half, sizeof(half)); break;
	default: *(bool *)member = number != 0; break;
	}
}

void *copy_with_texts(const void *object, size_t size, const struct text_member *texts, size_t n) {
	size_t bytes = size;
	for (size_t i = 0; i < n; ++i) {
		bytes += *texts[i].text ? texts[i].len + 1 : 0;
	}
	void *copy = xcalloc(1, bytes);
	char *at = (char *)copy + size;
	for (size_t i = 0; i < n; ++i) {
		if (*texts[i].text) {
			char *end = put_bytes(at, *texts[i].text, texts[i].len);
			*texts[i].text = at;
			at = end + 1;
		}
	}
	return memcpy(copy, object, size);
}

void free_later(void *mem) {
	FP_KEEP_ERRNO;
	void *old;
	memcpy(&old, mem, sizeof(old)); // mem is the address of a T *, whatever T is
	free(old);
}

void grow_array(void *mem, size_t *cap, size_t need, size_t size) {
	if (need <= *cap) {
		return;
	}
	size_t want = *cap ? *cap * 2 : 8;
	if (want < need) {
		want = need;
	}
	verify(want <= SIZE_MAX / size);
	void *old;
	memcpy(&old, mem, sizeof(old)); // `mem` is the address of a T *, as in free_later()
	void *grown = xrealloc(old, want * size);
	memcpy(mem, &grown, sizeof(grown));
	*cap = want;
}
