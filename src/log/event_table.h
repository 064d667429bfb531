// The table of the log's events (log/events.def), for the code that writes and reads them.

#pragma once

#include "job/event.h"

#include <limits.h>

enum {
	EVENT_KINDS = EVENT_DISPATCH + 1,
	EVENT_SLOT_MAX = 1000000,
};

// Each line says the C type of the member that holds the value and, behind the colon, the value in JSON ("as it is": the member's own value).
enum field_type {
	FIELD_NUMBER,     // any integer or enum: as it is; a line with a number above DETAIL is damaged
	FIELD_INTEGER,    // int32_t: as it is; never read back
	FIELD_EXIT,       // int, of a struct result: as it is; null if a signal ended the job or the job never ran
	FIELD_FLAG,       // bool: true; if the value is false, the key is left out
	FIELD_NAME,       // any integer or enum: the name of DETAIL with that index; an unknown name is read as OTHERWISE
	FIELD_SECONDS,    // uint64_t, nanoseconds: seconds
	FIELD_MOMENT,     // uint64_t, an event time: seconds since the start of the run
	FIELD_SPAN,       // uint64_t, an event time: seconds since the event time in DETAIL; read as 0 if the time in DETAIL is 0
	FIELD_DOUBLE,     // double: as it is
	FIELD_DATE,       // uint64_t, nanoseconds since 1970: "2026-11-21T08:00:00.123Z"
	FIELD_JOB,        // uint64_t, a job's number: "BATCH#number", with the batch in DETAIL
	FIELD_TEXT,       // const char *: a string
	FIELD_BYTES,      // const char *: a string of as many bytes as the size_t in DETAIL says
	FIELD_STRINGS,    // const char *: an array of strings, one after the other; the uint32_t in DETAIL is their number
};

// When a key is written, and what a line without the key means. The comment at the top of log/events.def explains WRITTEN, and DETAIL.
enum field_written { FIELD_ALWAYS, FIELD_REQUIRED, FIELD_UNREAD, FIELD_OR_NULL, FIELD_OPTIONAL, FIELD_IF_WAITED };

// A key of an event.
struct event_field {
	const char *key, *text;    // text: `,"KEY":`
	uint8_t type;              // enum field_type
	uint8_t written;           // enum field_written
	uint8_t size;              // bytes of the member that holds the value
	uint16_t at, with;         // offsets in struct event: of the member that holds the value, and of the member that WITH() names
	int32_t otherwise;         // the value that a line without the key stands for
	uint64_t most;             // the largest valid number; for FIELD_NAME, how many names there are
	const char *const *names;  // the names by number; NULL: no name
};

// The C type of the member for each TYPE: the compiler refuses a row whose member has another type.
#define C_NUMBER default
#define C_INTEGER int32_t
#define C_EXIT int
#define C_FLAG bool
#define C_NAME default
#define C_SECONDS uint64_t
#define C_MOMENT uint64_t
#define C_SPAN uint64_t
#define C_DOUBLE double
#define C_DATE uint64_t
#define C_JOB uint64_t
#define C_TEXT const char *
#define C_BYTES const char *
#define C_STRINGS const char *

// A row of log/events.def as an initializer of a struct event_field.
#define MEMBER_OF_EVENT(MEMBER) ((struct event *)0)->MEMBER
#define EVENT_FIELD(KEY, TYPE, MEMBER, WRITTEN, OTHERWISE, ...) { \
	.text = ",\"" KEY "\":", .key = KEY, \
	.type = _Generic(MEMBER_OF_EVENT(MEMBER), C_##TYPE: FIELD_##TYPE), .written = FIELD_##WRITTEN, \
	.at = offsetof(struct event, MEMBER), .size = sizeof(MEMBER_OF_EVENT(MEMBER)), .otherwise = (OTHERWISE), __VA_ARGS__}

struct event_layout {
	const char *name;
	const struct event_field *fields;
	size_t n;
};

// The arrays that rows of type NAME give in NAMES(), beside outcome_names. Each has the names of the numbers from 0 on.
extern const char *const event_roles[ROLE_LISTING + 1], *const event_sources[FROM_BACKFILL + 1], *const event_whys[NO_WHY],
	*const event_nexts[NEXT_STEP + 1], *const event_fairness[2], *const event_streams[3];

// The name and the keys of each event, by enum event_kind.
extern const struct event_layout event_layouts[EVENT_KINDS];
