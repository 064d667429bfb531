// The order in which jobs were dispatched, for what is to be said and asked in it though each worker says it for itself:
// the commands of -t, the questions of -p.
//
// A worker that has been given an item is in the line until it has passed, at the latest when its item has ended.

#ifndef FAIRPAR_ENGINE_START_ORDER_H
#define FAIRPAR_ENGINE_START_ORDER_H

struct start_order;

// Makes an empty line, for a pool with up to `max_long` dedicated threads. The caller frees it with start_order_destroy() when no
// item runs.
struct start_order *start_order_create(unsigned max_long);

// All the following do nothing with NULL.

void start_order_destroy(struct start_order *start_order);

// Makes room for so many slots, and for `more` slot numbers that jobs keep while they lend their slots; dedicated threads are
// numbered above both. To be called before the pool gets the slots. Of each number the largest so far holds.
void start_order_reserve(struct start_order *start_order, unsigned slots, unsigned more);

// From the pool's trace hook, under its lock: the worker with that slot has got an item. Allocates nothing.
void start_order_add(struct start_order *start_order, unsigned slot);

// Waits until all that were dispatched before the item on that slot have passed; not at all if it has passed itself.
void start_order_wait(struct start_order *start_order, unsigned slot);

// The item on that slot leaves the line, so that those behind it can go on. Nothing if it has left it before.
void start_order_pass(struct start_order *start_order, unsigned slot);

#endif
