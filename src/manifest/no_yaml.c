// In place of yaml.c where fairpar is built without libyaml (make YAML=no): a manifest is refused.

#include "manifest/tree.h"

int tree_read(struct tree *tree, const char *data FP_UNUSED, size_t len FP_UNUSED) {
	diagnostic_error(tree->diagnostics, ((struct source_span){1, 1, 1}),
		"this fairpar was built without libyaml, and cannot read a manifest");
	return -1;
}
