// Showing a manifest without running it: --check and --list.

#ifndef FAIRPAR_RUN_MANIFEST_MODE_H
#define FAIRPAR_RUN_MANIFEST_MODE_H

#include "cli/options.h"

// Loads options->manifest and does what --check or --list ask: nothing more, or a list of the batches asked for on
// stdout. Prints what is wrong with the manifest, or with the names of batches, on stderr. Returns the exit status: 0,
// or EXIT_TROUBLE if anything is wrong or could not be written.
int show_manifest(const struct options *options) FP_NODISCARD;

#endif
