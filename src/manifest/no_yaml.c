// Takes the place of yaml.c in a build without libyaml (make YAML=no): refuses every manifest.

#include "manifest/tree.h"

int tree_read(struct diagnostics *diagnostics, struct arena *nodes FP_UNUSED, struct arena *texts FP_UNUSED,
              struct node **ret_root FP_UNUSED) {
	diagnostic_error(diagnostics, ((struct source_span){1, 1, 1}), "this fairpar was built without libyaml, and cannot read a manifest");
	return -1;
}
