// The files that a pattern matches.

#ifndef FAIRPAR_INPUT_GLOB_H
#define FAIRPAR_INPUT_GLOB_H

// Calls `found` with each path that the pattern matches, seen from the directory `dir` (NULL: the process's), sorted by
// bytes, each once. A path is spelled as the pattern is: relative to `dir` or absolute, "./" if the pattern begins so.
//
// In a component of the pattern `*`, `?` and `[…]` are those of glob(7); what begins with a dot must be matched by one,
// and "." and ".." are not matched by patterns. `**` as a whole component goes through zero or more directories, but
// neither into those that begin with a dot nor through symbolic links; at the end it is `**/*`. With a slash at its end
// the pattern matches directories only, and the paths have it too. Braces are text. The process's directory is never
// changed.
//
// Returns 0, also without a match; or -1 with a message in *ret_error (caller frees; else NULL) if a directory cannot be
// read, so that a file could be missed; then `found` was never called. What vanishes meanwhile is no error.
int glob_expand(const char *dir, const char *pattern, void (*found)(void *arg, const char *path), void *arg,
                char **ret_error);

#endif
