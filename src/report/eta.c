// Estimates when a run will be done: the jobs left of each batch times the mean time of its jobs, divided by its slots.

#include "report/status_line.h"

#include "base/alloc.h"
#include "base/sync.h"
#include "base/units.h"

enum { ENOUGH_JOBS = 3 };

static uint64_t mean(const struct stats_batch *batch, uint64_t otherwise) {
	uint64_t jobs = batch->ok + batch->failed - batch->up_to_date;
	return jobs > 0 ? (batch->slot_time + batch->long_time) / jobs : otherwise;
}

static void sum_up(const struct run_stats *stats, struct stats_batch *ret_sum) {
	*ret_sum = (struct stats_batch){.name = NULL};
	for (size_t i = 0; i < stats->nbatches; ++i) {
		stats_add(ret_sum, &stats->batches[i]);
	}
}

uint64_t eta_mean(const struct run_stats *stats) {
	struct stats_batch sum;
	sum_up(stats, &sum);
	return mean(&sum, NOT_KNOWN);
}

// At most 30 years: jobs at a low rate may take longer than a number can say.
static uint64_t to_time(double ns) {
	double most = 1e9 * (double)NS_PER_S;
	return (uint64_t)(ns < most ? ns + 0.5 : most);
}

// The rest of a batch.
struct rest {
	double work;           // nanoseconds of slots
	double alone;          // nanoseconds until it is done, if it had all the slots that it can use
	double weight;         // beside the other batches that have work left and need slots
};

// `takes`: the slot-time of one of its jobs.
static struct rest rest_of(const struct stats_batch *batch, const struct status_batch *counts, uint64_t takes, unsigned slots, uint64_t now) {
	uint64_t jobs = minus(counts->jobs, counts->finished), left = minus(jobs, counts->running);
	uint64_t at_once = batch->max_parallel > 0 && batch->max_parallel < jobs ? batch->max_parallel : jobs;
	double width = batch->width > 0 ? batch->width : 1, most = (double)at_once * width;
	struct rest rest = {.work = ((double)left + (double)counts->running / 2) * (double)takes}; // what runs is half done
	if (left == 0) {
		rest.alone = counts->running > 0 ? (double)takes / width - (double)minus(now, batch->last_start) : 0;
		rest.alone = rest.alone > 0 ? rest.alone : 0;
		rest.work = rest.alone * width;
	} else {
		double at_rate = (double)left * (double)batch->interval;
		rest.alone = rest.work / (batch->long_running || most < slots ? most : slots);
		rest.alone = rest.alone > at_rate ? rest.alone : at_rate;
	}
	rest.weight = jobs > 0 && !batch->long_running ? (batch->weight > 0 ? batch->weight : 1) : 0;
	return rest;
}

uint64_t eta_set(struct status_batch *batches, const struct run_stats *stats, const struct former_run *former, unsigned slots, uint64_t now) {
	struct stats_batch sum;
	sum_up(stats, &sum);
	bool enough = sum.ok + sum.failed >= ENOUGH_JOBS && minus(now, stats->start) >= (uint64_t)ETA_FROM_S * NS_PER_S;
	FP_CLEANUP(free_later) struct rest *rests = xcalloc(stats->nbatches + 1, sizeof(*rests));
	double work = 0, weights = 0, all = 0;
	slots = slots > 0 ? slots : 1;
	for (size_t i = 0; i < stats->nbatches; ++i) {
		const struct stats_batch *batch = &stats->batches[i];
		uint64_t was = former ? former_run_mean(former, batch->name) : NOT_KNOWN;
		enough = enough || was != NOT_KNOWN;
		uint64_t takes = was != NOT_KNOWN ? was : mean(batch, mean(&sum, 0));
		rests[i] = rest_of(batch, &batches[i], takes, slots, now);
		work += rests[i].weight > 0 ? rests[i].work : 0;
		weights += rests[i].weight;
		all = rests[i].alone > all ? rests[i].alone : all;
	}
	if (!enough) {
		return NOT_KNOWN;
	}
	all = work / slots > all ? work / slots : all;
	for (size_t i = 0; i < stats->nbatches; ++i) {
		double shared = rests[i].weight > 0 ? rests[i].work * weights / rests[i].weight / slots : 0;
		double own = shared > rests[i].alone ? shared : rests[i].alone;
		batches[i].eta = to_time(own < all ? own : all);
	}
	return all > 0 || sum.running == 0 ? to_time(all) : NOT_KNOWN; // it may take as long again
}
