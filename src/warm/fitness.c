// Whether a program can be a server, by what its file says.

#include "warm/fitness.h"

#include "base/io.h"
#include "base/text.h"
#include "warm/object.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

// Who sets the program up: the dynamic linkers of glibc are ld-linux*.so.N and, on some machines, ld64.so.N.
static const char *refuse_linker(int fd, const ElfW(Phdr) *interpreter) {
	char path[PATH_MAX] = "";
	size_t size = interpreter->p_filesz < sizeof(path) ? interpreter->p_filesz : sizeof(path) - 1;
	if (pread_all(fd, path, size, interpreter->p_offset) != size) {
		return "its file is damaged";
	}
	const char *name = path_base(path);
	return strncmp(name, "ld-linux", 8) == 0 || strncmp(name, "ld64.so", 7) == 0 ? NULL : "its C library is not glibc";
}

static const char *refuse_elf(int fd) {
	ElfW(Ehdr) header, own;
	if (pread_all(fd, &header, sizeof(header), 0) != sizeof(header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
		return header.e_ident[0] == '#' && header.e_ident[1] == '!' ? "script" : "no ELF program";
	}
	memcpy(&own, server_so, sizeof(own));
	if (header.e_ident[EI_CLASS] != own.e_ident[EI_CLASS] || header.e_machine != own.e_machine) {
		return "program for another machine";
	}
	for (unsigned i = 0; i < header.e_phnum; ++i) {
		ElfW(Phdr) part;
		if (pread_all(fd, &part, sizeof(part), header.e_phoff + i * sizeof(part)) != sizeof(part)) {
			return "its file is damaged";
		}
		if (part.p_type == PT_INTERP) {
			return refuse_linker(fd, &part);
		}
	}
	return "static program";
}

const char *fitness_refusal(const char *path) {
	struct stat st;
	if (sizeof(ElfW(Ehdr)) > server_so_size) {
		return "this fairpar was built without it";
	}
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		fd_close(&fd);
		return "its file cannot be read";
	}
	const char *why = refuse_elf(fd);
	if (!why && st.st_mode & (S_ISUID | S_ISGID)) {
		why = "set-id program";
	} else if (!why && fgetxattr(fd, "security.capability", NULL, 0) > 0) {
		why = "program with file capabilities";
	}
	fd_close(&fd);
	return why;
}

const char *fitness_refusal_env(char *const *env) {
	for (; *env; ++env) {
		const char *name = *env;
		if (name[0] == 'L' && strncmp(name, "LD_", 3) == 0) {
			return "its environment has LD_*";
		}
		if (name[0] == 'G' && strncmp(name, "GLIBC_TUNABLES=", 15) == 0) {
			return "its environment has GLIBC_TUNABLES";
		}
		if (name[0] == 'M' && strncmp(name, "MALLOC_", 7) == 0) {
			return "its environment has MALLOC_*";
		}
	}
	return NULL;
}
