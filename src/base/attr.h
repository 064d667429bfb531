// Short names for compiler attributes.

#pragma once

#include <errno.h>

#define FP_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define FP_NODISCARD __attribute__((warn_unused_result))
#define FP_NORETURN __attribute__((noreturn))
#define FP_CLEANUP(fn) __attribute__((cleanup(fn))) // fn(&variable) is called at the end of the variable's block
#define FP_UNUSED __attribute__((unused))
#define FP_MALLOC __attribute__((malloc, returns_nonnull))
#define FP_INLINE inline __attribute__((always_inline))

// Keeps errno over the rest of the block: at the end of the block errno is again what it is here.
#define FP_KEEP_ERRNO FP_CLEANUP(errno_restore) const int kept_errno FP_UNUSED = errno

static inline void errno_restore(const int *kept) {
	errno = *kept;
}

#if defined(__SANITIZE_THREAD__)
#define FP_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FP_TSAN 1
#endif
#endif
