// Encodes an item as the name of a file or directory, for --results: an item becomes one path component, and no two items become the same component.
//
// GNU parallel writes a backslash as \\, a tab as \t, a slash as \_. fairpar adds codes that GNU parallel never writes: \. is '.', \.. is '..', \0 is
// the empty item, and a name that is too long becomes its beginning, \# and the SHA-256 of the whole name.

#pragma once

#include "base/buf.h"

#include <stdint.h>

// Appends the encoded name of a text of any length: an item, a part of an item, or the name of a column.
void pathname_add(struct buf *buf, const char *text, size_t len);

// Appends the path that GNU parallel makes of the `nargs` strings in `args`, each with its NUL: NAME/ARGUMENT/ for each string, sorted by name; if
// `names` is NULL, the names are 1, 2, 3, … With `columns` 0 the strings are one item. Else the strings are several packed items of `columns`
// arguments each, and the names are counted and sorted within each item.
void pathname_add_items(struct buf *buf, const char *args, uint32_t nargs, uint32_t columns, char *const *names,
                        size_t nnames);

// Shortens each component that is longer than NAME_MAX, in the path from offset `below` on. If the path does not end in a slash,
// its last component names a file: room is left for .err or .seq behind it, and a name that could be taken for the .err or .seq
// file of another item gets a backslash before its last four bytes. The last `tail` bytes are the same in the paths of all items.
void pathname_fit(struct buf *path, size_t below, size_t tail);

// Writes the SHA-256 of the bytes (FIPS 180-4) in hexadecimal, as sha256sum prints it, and a NUL.
enum { SHA256_HEX = 64 };
void sha256_hex(const void *mem, size_t len, char hex[SHA256_HEX + 1]);
