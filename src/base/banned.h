// Calls that bite: included last by base/alloc.h, so that every file of fairpar sees it.

#ifndef FAIRPAR_BASE_BANNED_H
#define FAIRPAR_BASE_BANNED_H

// their declarations come first: the pragma refuses the words from here on
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// a macro where glibc's _FORTIFY_SOURCE meets clang (bits/stdio2.h), which warns of a word that is one
#undef sprintf

#pragma GCC poison strcpy strcat sprintf vsprintf gets strtok system popen usleep atoi atol

#endif
