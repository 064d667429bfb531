// Where a file that is transferred is: the directories here and on the other machine.

#include "remote/file_talk.h"

#include <string.h>

// Returns the "/./" at which the path is split, or NULL.
static const char *find_cut(const char *path, enum file_item way) {
	const char *cut = strstr(path, "/./"), *next = cut;
	while (next && way == ITEM_COMES) {
		cut = next;
		next = strstr(next + 1, "/./");
	}
	return cut;
}

// Appends the parts of the path. Returns 0, or -1 if one is "..".
static int add_name(struct buf *name, const char *path) {
	buf_addc(name, '.');
	while (*path) {
		size_t len = strcspn(path, "/");
		bool is_here = len == 0 || (len == 1 && *path == '.');
		if (len == 2 && memcmp(path, "..", 2) == 0) {
			return -1;
		}
		if (!is_here) {
			buf_addc(name, '/');
			buf_add(name, path, len);
		}
		path += len + (path[len] == '/');
	}
	return 0;
}

int file_route(struct file_route *ret_route, const char *path, enum file_item way, const char **ret_why) {
	struct file_route *route = ret_route;
	const char *cut = find_cut(path, way), *name = path;
	*route = (struct file_route){.is_absolute = path[0] == '/' && !cut};
	if (path[0] == '\0') {
		*ret_why = "the name of the file is empty";
		return -1;
	}
	if (cut) {
		buf_add(&route->here, path, cut > path ? (size_t)(cut - path) : 1);
		name = cut + 3;
	} else if (route->is_absolute) {
		size_t len = strlen(path);
		while (len > 1 && path[len - 1] == '/') {
			--len;
		}
		while (len > 0 && path[len - 1] != '/') {
			--len;
		}
		buf_add(&route->here, path, len > 1 ? len - 1 : 1);
		name = path + len;
	} else {
		buf_addc(&route->here, '.');
	}
	*ret_why = "'..' in the name would lead out of the directory on the other machine";
	return add_name(&route->name, name);
}

void file_route_fini(struct file_route *route) {
	buf_fini(&route->here);
	buf_fini(&route->name);
}
