// What is said at the end of a run: the summary, and the one last line.

#ifndef FAIRPAR_RUN_END_SUMMARY_H
#define FAIRPAR_RUN_END_SUMMARY_H

#include "report/run_stats.h"
#include "run/worker_state.h"

struct end_summary;

// Has the statistics kept that a summary or a last line would say, and makes run->end_summary if there may be a summary. Before
// publish_begin().
void end_summary_open(struct run *run);

// Notes whether a hint would have helped the job that has just ended with that result on this worker. After
// publish_output_stats(). From any thread.
void end_summary_note_failure(struct worker_state *state, const struct result *result);

// Prints the summary, a hint and the last line, as they are due. After publish_end().
void end_summary_print(struct run *run);

// Frees run->end_summary, or does nothing.
void end_summary_close(struct run *run);

// Appends the whole summary of finished statistics (stats_finish()), for that descriptor: as wide as its terminal, and with colours if it
// takes them.
void end_summary_add_stats(struct buf *buf, const struct run_stats *stats, int fd);

#endif
