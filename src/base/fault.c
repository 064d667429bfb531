// Faults on demand, so that tests reach the paths that a healthy machine never takes.

#include "base/fault.h"

#ifdef FAIRPAR_FAULTS

#include "base/atomic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int errno_by_name(const char *name, size_t len) {
	static const struct { const char *name; int error; } names[] = {
		{"EAGAIN", EAGAIN}, {"ENOMEM", ENOMEM}, {"EMFILE", EMFILE}, {"ENFILE", ENFILE}, {"ENOSPC", ENOSPC},
		{"EIO", EIO}, {"EPIPE", EPIPE}, {"EINTR", EINTR}, {"EINVAL", EINVAL}, {"E2BIG", E2BIG}, {"EACCES", EACCES},
		{"ENOENT", ENOENT},
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
		if (strlen(names[i].name) == len && memcmp(names[i].name, name, len) == 0) {
			return names[i].error;
		}
	}
	return EIO;
}

bool fault_fails(const char *name) {
	static atomic_long calls[16]; // [i]: how often the point that entry i of FAIRPAR_FAULT names was called so far
	const char *spec = getenv("FAIRPAR_FAULT");
	for (unsigned i = 0; spec && *spec && i < 16; ++i) {
		size_t len = strcspn(spec, ",");
		size_t word = strcspn(spec, ":,");
		if (word == strlen(name) && memcmp(spec, name, word) == 0 && spec[word] == ':') {
			char *end;
			long nth = strtol(spec + word + 1, &end, 10);
			int onwards = *end == '+';
			end += onwards;
			long call = atomic_add_relaxed(&calls[i], 1) + 1;
			if (*end == ':' && (call == nth || (onwards && call > nth))) {
				errno = errno_by_name(end + 1, (size_t)(spec + len - end - 1));
				return true;
			}
		}
		spec += len;
		spec += *spec == ',';
	}
	return false;
}

#else
typedef int fault_is_compiled_out; // ISO C wants a declaration in every file
#endif
