// The table of the log's events (log/events.def), for the code that writes and reads them.

#include "log/event_table.h"

const char *const event_roles[] = {
	[ROLE_JOB] = "job", [ROLE_ON_FAILURE] = "on_failure", [ROLE_FINALLY] = "finally", [ROLE_LISTING] = "listing",
};
const char *const event_sources[] = {
	[FROM_OWN] = "own", [FROM_STOLEN] = "stolen", [FROM_QUEUE] = "queue", [FROM_LENT] = "lent", [FROM_LONG] = "long",
	[FROM_BACKFILL] = "backfill",
};
const char *const event_whys[NO_WHY] = {
	[WHY_TURN] = "turn", [WHY_LIMIT] = "limit", [WHY_RATE] = "rate", [WHY_LOAD] = "load", [WHY_MEMORY] = "memory", [WHY_DELAY] = "delay",
	[WHY_NEEDS] = "needs", [WHY_RETRY] = "retry", [WHY_RESERVE] = "reserve", [WHY_SUSPEND] = "suspend", [WHY_HOST] = "host",
};
const char *const event_nexts[] = {[NEXT_RETRY] = "retry", [NEXT_STEP] = "then"};
const char *const event_fairness[] = {[false] = "turns", [true] = "time"};
const char *const event_streams[] = {[1] = "stdout", [2] = "stderr"};

#define FIELD(...) EVENT_FIELD(__VA_ARGS__),
#define EVENT(KIND, NAME, ...) [KIND] = { \
	NAME, (const struct event_field[]){__VA_ARGS__}, sizeof((struct event_field[]){__VA_ARGS__}) / sizeof(struct event_field)},

const struct event_layout event_layouts[EVENT_KINDS] = {
#include "log/events.def"
};
