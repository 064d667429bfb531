// SHA-256 (FIPS 180-4), for names that must not collide.

#ifndef FAIRPAR_BASE_SHA256_H
#define FAIRPAR_BASE_SHA256_H

#include <stddef.h>

enum { SHA256_HEX = 64 };

// Writes the digest in hexadecimal, as sha256sum prints it, and a NUL.
void sha256_hex(const void *mem, size_t len, char hex[SHA256_HEX + 1]);

#endif
