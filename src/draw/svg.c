// Writes the drawing of a run as SVG: bars in lanes, a legend, an axis, and a strip with the share of each batch.

#include "draw/draw.h"

#include "base/alloc.h"
#include "base/sync.h"
#include "base/text.h"

#include <time.h>

enum {
	LEFT = 70, RIGHT = 20,       // margins, in pixels
	WIDTH = LEFT + TIMELINE_WIDTH + RIGHT,
	STRIP = 80,                  // height of the strip of shares
	LANES_HEIGHT = 480,          // height of all lanes together, if there are too many for lanes of full height
	NAME_COLUMNS = 40,           // columns of a batch's name in the legend
	DEPTHS = 4,                  // levels of runs in jobs that are drawn in order; deeper runs are drawn in any order
	HEAD = 17,                   // height of a line with the name of a machine
};

// Where the parts of the drawing are.
struct sheet {
	struct buf *buf;
	const struct timeline *timeline;
	double top;                  // y of the first lane
	double pitch, bar;           // distance from lane to lane; height of a bar
	double strip;                // top of the strip
	unsigned *heads;             // for each lane, and for the end of the lanes: how many lines with names of machines are above it; NULL: one machine
};

static double lane_y(const struct sheet *sheet, unsigned lane) {
	return sheet->top + lane * sheet->pitch + (sheet->heads ? sheet->heads[lane] * HEAD : 0);
}

static double bar_x(const struct sheet *sheet, uint64_t at) {
	return LEFT + timeline_x(sheet->timeline, at);
}

// Returns the width of the bar, less a gap before the next bar.
static double bar_width(const struct sheet *sheet, const struct bar *bar) {
	double width = bar_x(sheet, bar->to) - bar_x(sheet, bar->from);
	return width > 3 ? width - 0.6 : width < 0.3 ? 0.3 : width;
}

void svg_add_title(struct buf *buf, const struct run_stats *stats) {
	if (stats->run.name) {
		markup_add_name(buf, stats->run.name, NAME_COLUMNS);
		buf_adds(buf, ", ");
	}
	buf_adds(buf, "fairpar run");
	time_t seconds = (time_t)(stats->run.time_ns / NS_PER_S);
	struct tm tm;
	char text[64];
	if (stats->run.time_ns > 0 && localtime_r(&seconds, &tm) && strftime(text, sizeof(text), " %Y-%m-%d %H:%M", &tm) > 0) {
		buf_adds(buf, text);
	}
}

// ---- style ----

// Adds the style: rules for light colours, then a media query with rules for dark colours, which viewers without media queries ignore.
// The rules of .s0 and so on are for the page around the drawing.
static void add_style(const struct sheet *sheet) {
	struct buf *buf = sheet->buf;
	buf_adds(buf, "<style>.fp text{fill:#222}.fp .bg{fill:#fff}.fp .ax{stroke:#888;stroke-width:.5}.fp .q{fill:#777}"
	         ".fp .f{fill:none;stroke:#d00;stroke-width:2}.fp .ft{fill:#d00}.fp .x{stroke:#000;stroke-width:1.8;fill:none}"
	         ".fp .xo{stroke:#fff;stroke-width:4.2;fill:none}.fp .m{fill:#000;fill-opacity:.85}.fp .h{fill:url(#fp-h)}.fp .o{fill:none;stroke:#222;stroke-dasharray:3 2}"
	         ".fp .k{fill:none;stroke:#666;stroke-width:1.5;stroke-dasharray:2 2}.fp .ax,.fp .h,.fp .m,.fp .x,.fp .xo{pointer-events:none}"
	         ".fp .w{opacity:.6}.fp .n{fill:#fff;fill-opacity:.85;stroke:#222;stroke-width:.5}.fp .nd{fill:#333;fill-opacity:.75;stroke:#fff;stroke-width:.5}.fp .nt{fill:#111;font-size:9px;pointer-events:none}.fp .b:hover{opacity:.75}.fp .lane{fill:#f3f3f3}");
	for (unsigned class = 0; class < PALETTE_CLASSES; ++class) {
		if (class < PALETTE_COLOURS || class == PALETTE_OTHERS) {
			buf_printf(buf, ".fp .c%u{fill:%s}.s%u{background:%s}", class, palette_colour(class), class, palette_colour(class));
		} else if (class < sheet->timeline->palette->nclasses) {
			buf_printf(buf, ".fp .c%u{fill:url(#fp-%u)}.s%u{background:radial-gradient(#fff 30%%,transparent 35%%) 0 0/5px 5px %s}", class,
			           class, class, palette_colour(class));
		}
	}
	buf_adds(buf, "@media(prefers-color-scheme:dark){.fp text{fill:#ddd}.fp .nt{fill:#111}.fp .bg{fill:#111}.fp .f{stroke:#ff4d4d}"
	         ".fp .ft{fill:#ff4d4d}.fp .o{stroke:#ddd}.fp .k{stroke:#aaa}.fp .lane{fill:#1b1b1b}}</style>");
}

static void add_patterns(const struct sheet *sheet) {
	struct buf *buf = sheet->buf;
	buf_adds(buf, "<defs><pattern id=\"fp-h\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
	         "patternTransform=\"rotate(45)\"><path d=\"M0 0v6\" stroke=\"#000\" stroke-opacity=\".7\" stroke-width=\"3\"/></pattern>");
	for (unsigned class = PALETTE_COLOURS; class < sheet->timeline->palette->nclasses; ++class) {
		buf_printf(buf, "<pattern id=\"fp-%u\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><path d=\"M0 0h6v6h-6z\" "
		           "fill=\"%s\"/><circle cx=\"2\" cy=\"2\" r=\"1.1\" fill=\"#fff\"/><circle cx=\"5\" cy=\"5\" r=\"1.1\" fill=\"#111\" fill-opacity=\".55\"/></pattern>",
		           class, palette_colour(class));
	}
	buf_adds(buf, "</defs>");
}

// ---- the legend ----

struct legend {
	double x, y;
};

static void add_entry(const struct sheet *sheet, struct legend *legend, const char *shape, const char *text, size_t len) {
	double width = 17 + 7 * (double)text_columns(text, len); // a column has about 7 pixels in a font of 12 pixels
	if (legend->x > LEFT && legend->x + width > WIDTH - RIGHT) {
		legend->x = LEFT;
		legend->y += 20;
	}
	buf_printf(sheet->buf, "<g transform=\"translate(%.0f %.0f)\">%s<text x=\"17\" y=\"11\">", legend->x, legend->y, shape);
	markup_add_escaped(sheet->buf, text, len);
	buf_adds(sheet->buf, "</text></g>\n");
	legend->x += width + 20;
}

static void add_class(const struct sheet *sheet, struct legend *legend, unsigned class, const char *name) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT, shape = BUF_INIT;
	text_add_cut(&text, name, strlen(name), NAME_COLUMNS);
	buf_printf(&shape, "<rect class=\"c%u\" width=\"12\" height=\"12\" rx=\"2\"/>", class);
	add_entry(sheet, legend, buf_str(&shape), buf_str(&text), text.len);
}

#define BLOCK "<rect width=\"12\" height=\"12\" rx=\"2\" fill=\"#8a8a8a\"/>"

static void add_marks(const struct sheet *sheet, struct legend *legend) {
	static const struct { unsigned flag; const char *shape, *name; } marks[] = {
		{BAR_FAILED, "<rect class=\"f\" x=\"1\" y=\"1\" width=\"10\" height=\"10\"/>", "failed"},
		{BAR_RETRIED, BLOCK "<rect class=\"h\" width=\"12\" height=\"12\"/>", "further attempt"},
		{BAR_STOLEN, BLOCK "<path class=\"m\" d=\"M0 0h7l-7 7z\"/>", "stolen"},
		{BAR_LENT, BLOCK "<path class=\"m\" d=\"M0 12h7l-7-7z\"/>", "lent slot"},
		{BAR_INNER, BLOCK "<rect class=\"n\" y=\"5\" width=\"12\" height=\"7\"/>", "run in a job, on a lent slot"},
		{BAR_CANCELLED, "<rect class=\"k\" x=\"1\" y=\"1\" width=\"10\" height=\"10\"/>", "cancelled"},
		{BAR_OPEN, "<rect class=\"o\" x=\".5\" y=\".5\" width=\"11\" height=\"11\"/>", "not ended"},
		{BAR_LEAD, "<path class=\"q\" d=\"M0 4.5h12v3h-12z\"/>", "waiting"},
	};
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); ++i) {
		if (sheet->timeline->seen & marks[i].flag) {
			add_entry(sheet, legend, marks[i].shape, marks[i].name, strlen(marks[i].name));
		}
	}
}

// Adds the legend. Returns the y below it.
static double add_legend(const struct sheet *sheet, double y) {
	const struct palette *palette = sheet->timeline->palette;
	struct legend legend = {.x = LEFT, .y = y};
	for (unsigned class = 0; class < palette->nclasses; ++class) {
		add_class(sheet, &legend, class, palette->owners[class]->name);
	}
	if (palette->nothers > 0) {
		char text[64];
		snprintf(text, sizeof(text), "%zu more batch%s", palette->nothers, palette->nothers == 1 ? "" : "es");
		add_class(sheet, &legend, PALETTE_OTHERS, text);
	}
	add_marks(sheet, &legend);
	return legend.y + 20;
}

// ---- the lanes ----

// Returns sheet.heads, which the caller frees. There is a line above each lane in which a machine begins.
static unsigned *count_heads(const struct timeline *timeline) {
	const struct machines *machines = timeline->attempts.rows;
	unsigned *heads = machines ? xcalloc(timeline->nlanes + 1, sizeof(*heads)) : NULL;
	for (size_t i = 0; machines && i < machines->n; ++i) {
		heads[timeline->nslotless + machines->machines[i].first / timeline->group] = 1;
	}
	for (unsigned lane = 1; machines && lane <= timeline->nlanes; ++lane) {
		heads[lane] += heads[lane - 1];
	}
	return heads;
}

// Adds the name of the first machine that begins in the lane, and how many other machines begin in it.
static void add_machine(const struct sheet *sheet, unsigned lane) {
	const struct timeline *timeline = sheet->timeline;
	const struct machines *machines = timeline->attempts.rows;
	const struct machine_rows *first = NULL;
	unsigned more = 0;
	for (size_t i = 0; i < machines->n; ++i) {
		if (timeline->nslotless + machines->machines[i].first / timeline->group == lane) {
			more += first != NULL;
			first = first ? first : &machines->machines[i];
		}
	}
	buf_printf(sheet->buf, "<text class=\"host\" x=\"%d\" y=\"%.1f\" text-anchor=\"start\" font-weight=\"600\">", LEFT, lane_y(sheet, lane) - 4);
	markup_add_name(sheet->buf, stats_machine_name(timeline->palette->stats, first ? first->name : NULL), TEXT_BATCH_COLUMNS);
	if (more > 0) {
		buf_printf(sheet->buf, " and %u more", more);
	}
	buf_adds(sheet->buf, "</text>\n");
}

// Returns the number, from 0, by which the drawing calls the lane: the number of its slot, or of its row on its machine.
static unsigned lane_number(const struct timeline *timeline, unsigned lane) {
	if (lane < timeline->nslotless) {
		return lane;
	}
	unsigned row = (lane - timeline->nslotless) * timeline->group;
	return timeline->attempts.rows ? row - machines_at(timeline->attempts.rows, row)->first : row;
}

static void add_lanes(const struct sheet *sheet) {
	const struct timeline *timeline = sheet->timeline;
	unsigned step = 1;
	while (step * sheet->pitch < 13) {
		++step;
	}
	buf_adds(sheet->buf, "<g text-anchor=\"end\">\n");
	for (unsigned lane = 0; lane < timeline->nlanes; ++lane) {
		bool slotless = lane < timeline->nslotless;
		unsigned number = lane_number(timeline, lane);
		if (sheet->heads && sheet->heads[lane] > (lane > 0 ? sheet->heads[lane - 1] : 0)) {
			add_machine(sheet, lane);
		}
		double y = lane_y(sheet, lane);
		buf_printf(sheet->buf, "<rect class=\"lane\" x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%.1f\"/>", LEFT, y,
		           TIMELINE_WIDTH, sheet->bar);
		if (number / (slotless ? 1 : timeline->group) % step == 0) {
			buf_printf(sheet->buf, "<text x=\"%d\" y=\"%.1f\">%s %u</text>\n", LEFT - 8, y + sheet->bar / 2 + 4,
			           slotless ? "long" : "slot", number + 1);
		}
	}
	buf_adds(sheet->buf, "</g>\n");
}

// A box in the path of a class: neighbouring columns in which the class has the same share.
struct run_of_columns {
	double x, width, y, height;
};

static void end_run(struct buf *path, struct run_of_columns *run) {
	if (run->width > 0 && run->height >= 0.05) {
		buf_printf(path, "M%.6g %.5gh%.5gv%.3gh-%.5gz", run->x, run->y, run->width, run->height, run->width);
	}
	run->width = 0;
}

// Appends the share of each class in each column, one class above the other from `bottom` up; `whole` pixels are a share of 1.
static void add_columns(struct buf paths[PALETTE_CLASSES], const struct cell *cells, size_t columns, double bottom, double whole) {
	double width = (double)TIMELINE_WIDTH / (double)columns;
	struct run_of_columns runs[PALETTE_CLASSES] = {0};
	for (size_t column = 0; column < columns; ++column) {
		double y = bottom, sum = 0;
		for (unsigned class = 0; class < PALETTE_CLASSES; ++class) {
			sum += (double)cells[column].part[class];
			double top = bottom - (int)((sum < 1 ? sum : 1) * whole * 5 + 0.5) / 5.0; // in fifths of a pixel
			struct run_of_columns *run = &runs[class];
			if (run->width <= 0 || run->y != top || run->height != y - top) {
				end_run(&paths[class], run);
				*run = (struct run_of_columns){.x = LEFT + (double)column * width, .y = top, .height = y - top};
			}
			run->width += width;
			y = top;
		}
	}
	for (unsigned class = 0; class < PALETTE_CLASSES; ++class) {
		end_run(&paths[class], &runs[class]);
	}
}

static void add_cells(const struct sheet *sheet) {
	const struct timeline *timeline = sheet->timeline;
	struct buf paths[PALETTE_CLASSES] = {{NULL, 0, 0}};
	FP_CLEANUP(buf_fini) struct buf failures = BUF_INIT;
	for (unsigned lane = 0; timeline->cells && lane < timeline->nlanes; ++lane) {
		const struct cell *cells = &timeline->cells[lane * timeline->columns];
		double y = lane_y(sheet, lane), width = (double)TIMELINE_WIDTH / (double)timeline->columns;
		add_columns(paths, cells, timeline->columns, y + sheet->bar, sheet->bar);
		for (size_t i = 0; i < timeline->columns; ++i) {
			if (cells[i].failed) {
				buf_printf(&failures, "M%.6g %.5gh%.3gv%.3gh-%.3gz", LEFT + (double)i * width, y, width, sheet->bar > 5 ? sheet->bar / 5 : 1, width);
			}
		}
	}
	for (unsigned class = 0; class < PALETTE_CLASSES; ++class) {
		if (paths[class].len > 0) {
			buf_printf(sheet->buf, "<path class=\"c%u\" d=\"%s\"/>\n", class, buf_str(&paths[class]));
		}
		buf_fini(&paths[class]);
	}
	if (failures.len > 0) {
		buf_printf(sheet->buf, "<path class=\"ft\" d=\"%s\"/>\n", buf_str(&failures));
	}
}

// Adds outlines and signs to a bar that is wide enough for them.
static void add_signs(const struct sheet *sheet, const struct bar *bar, double x, double y, double width) {
	struct buf *buf = sheet->buf;
	double height = sheet->bar;
	if ((bar->flags & BAR_RETRIED) && width >= 2) {
		buf_printf(buf, "<rect class=\"h\" x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\"/>", x, y, width, height);
	}
	if ((bar->flags & (BAR_STOLEN | BAR_LENT)) && width >= 8 && height >= 9) {
		bool lent = bar->flags & BAR_LENT;
		buf_printf(buf, "<path class=\"m\" d=\"M%.1f %.1fh6l-6 %sz\"/>", x, lent ? y + height : y, lent ? "-6" : "6");
	}
	const char *class = bar->flags & BAR_FAILED ? "f" : bar->flags & BAR_CANCELLED ? "k" : bar->flags & BAR_OPEN ? "o" : NULL;
	bool is_marked = width >= 10 && height >= 9; // the bar has room for a frame and a cross
	if (class && (bar->flags & BAR_FAILED ? is_marked : width >= 5 && height >= 5)) {
		buf_printf(buf, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\"/>", class, x + 1, y + 1,
		           width - 2, height - 2);
	} else if (bar->flags & BAR_FAILED) {
		buf_printf(buf, "<rect class=\"ft\" x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\"/>", x, y - 1,
		           width < 2 ? 2 : width, height + 2);
	}
	for (unsigned i = 0; i < 2 && is_marked && (bar->flags & BAR_FAILED); ++i) { // a black cross over a thicker white cross, seen on any colour
		double half = width >= 16 && height >= 12 ? 3 : 1.8, whole = 2 * half;
		buf_printf(buf, "<path class=\"%s\" d=\"M%.1f %.1fl%.1f %.1fm-%.1f 0l%.1f-%.1f\"/>", i == 0 ? "xo" : "x", x + width / 2 - half,
		           y + height / 2 - half, whole, whole, whole, whole, whole);
	}
}

// Begins the group of a bar, with the bar's text as its title.
static void begin_bar(const struct sheet *sheet, const struct bar *bar) {
	buf_adds(sheet->buf, "<g class=\"b\"><title>");
	markup_add_escaped(sheet->buf, bar->text, bar->text_len);
	buf_adds(sheet->buf, "</title>");
}

static void add_bar(const struct sheet *sheet, const struct bar *bar) {
	struct buf *buf = sheet->buf;
	double x = bar_x(sheet, bar->from), width = bar_width(sheet, bar), y = lane_y(sheet, bar->lane);
	double height = sheet->bar, lead = bar_x(sheet, bar->lead);
	bool more = bar->flags & BAR_MORE;
	begin_bar(sheet, bar);
	if (bar->lead < bar->from) {
		buf_printf(buf, "<rect class=\"q\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.3g\"/>", lead,
		           y + height / 2 - (height < 3 ? height : 3) / 2, x - lead - 0.6, height < 3 ? height : 3);
	}
	buf_printf(buf, "<rect class=\"c%u%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\"/>", bar->class, more ? " w" : "", x, y,
	           width, height);
	if (!more) {
		add_signs(sheet, bar, x, y, width);
	}
	buf_adds(buf, "</g>\n");
}

// Adds a slot that was lent to a run in a job: the slot in the colour of the job's batch, and over its lower part a strip with the run's
// command line. If the slot is the job's own, the strip is over the job's bar. A run in a job of that run is a dark strip along the lower edge.
static void add_inner(const struct sheet *sheet, const struct bar *bar) {
	struct buf *buf = sheet->buf;
	double x = bar_x(sheet, bar->from), width = bar_width(sheet, bar), whole = sheet->bar;
	bool is_deep = bar->depth > 1;
	double bottom = lane_y(sheet, bar->lane) + whole, height = whole * 0.7 / (is_deep ? bar->depth + 1 : 1);
	begin_bar(sheet, bar);
	if (bar->depth == 0) {
		buf_printf(buf, "<rect class=\"c%u\" x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\"/>", bar->class, x, bottom - whole, width, whole);
	}
	buf_printf(buf, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\"/>", is_deep ? "nd" : "n", x, bottom - height, width, height);
	size_t len = strcspn(bar->text, "\n"), room = width > 30 ? (size_t)((width - 4) / 5.2) : 0;
	if (room > 0 && height >= 9) { // the bar is wide and high enough for a name; bars of deep runs are not
		buf_printf(buf, "<text class=\"nt\" x=\"%.1f\" y=\"%.1f\">", x + 2, bottom - height + 8);
		FP_CLEANUP(buf_fini) struct buf label = BUF_INIT;
		text_add_cut(&label, bar->text, len, room);
		markup_add_escaped(buf, buf_str(&label), label.len);
		buf_adds(buf, "</text>");
	}
	buf_adds(buf, "</g>\n");
}

// Failed bars are drawn after the other bars, so that no neighbour covers their outline. Runs in jobs are drawn last, and each run
// after the run in whose job it is.
static void add_bars(const struct sheet *sheet) {
	const struct timeline *timeline = sheet->timeline;
	for (unsigned layer = 0; layer <= (timeline->seen & BAR_INNER ? 2 + DEPTHS : 1U); ++layer) {
		for (size_t i = 0; i < timeline->nbars; ++i) {
			const struct bar *bar = &timeline->bars[i];
			unsigned depth = bar->depth < DEPTHS ? bar->depth : DEPTHS;
			if (layer == (bar->flags & BAR_INNER ? 2 + depth : bar->flags & BAR_FAILED ? 1 : 0)) {
				(layer >= 2 ? add_inner : add_bar)(sheet, bar);
			}
		}
	}
}

// ---- axis and strip ----

// Adds the time in the unit of the ticks; but if the axis is a second or longer, parts of a second are written as 0.5 s.
static void add_tick_label(struct buf *buf, uint64_t at, uint64_t tick, uint64_t span) {
	static const struct { uint64_t ns; const char *name; } units[] = {
		{86400 * NS_PER_S, "d"}, {3600 * NS_PER_S, "h"}, {60 * NS_PER_S, "min"}, {NS_PER_S, "s"}, {NS_PER_MS, "ms"}, {1000, "µs"},
	};
	size_t unit = 0;
	while (unit + 1 < sizeof(units) / sizeof(units[0]) && tick % units[unit].ns != 0) {
		++unit;
	}
	if (at == 0) {
		buf_addc(buf, '0');
	} else if (tick < NS_PER_S && span >= NS_PER_S) { // there are few ticks, so each is a tenth of a second or more
		buf_printf(buf, "%llu.%llu s", ull(at / NS_PER_S), ull(at / (NS_PER_S / 10) % 10));
	} else {
		buf_printf(buf, "%llu %s", ull(at / units[unit].ns), units[unit].name);
	}
}

static void add_axis(const struct sheet *sheet, double bottom) {
	const struct timeline *timeline = sheet->timeline;
	uint64_t span = timeline->end - timeline->start, tick = timeline_tick(timeline, 12);
	double y = lane_y(sheet, timeline->nlanes);
	buf_adds(sheet->buf, "<g text-anchor=\"middle\">\n");
	for (uint64_t at = 0; at <= span; at += tick) {
		double x = bar_x(sheet, timeline->start + at);
		buf_printf(sheet->buf, "<path class=\"ax\" d=\"M%.1f %.1fV%.1fM%.1f %.1fV%.1f\"/><text x=\"%.1f\" y=\"%.1f\">", x,
		           sheet->top - 1, y + 3, x, sheet->strip, bottom, x, y + 15);
		add_tick_label(sheet->buf, at, tick, span);
		buf_adds(sheet->buf, "</text>\n");
	}
	buf_adds(sheet->buf, "</g>\n");
}

static void add_strip(const struct sheet *sheet) {
	const struct palette *palette = sheet->timeline->palette;
	struct buf paths[PALETTE_CLASSES] = {{NULL, 0, 0}}, *buf = sheet->buf;
	buf_printf(buf, "<rect class=\"lane\" x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\"/><g text-anchor=\"end\">"
	           "<text x=\"%d\" y=\"%.1f\">share of</text><text x=\"%d\" y=\"%.1f\">slots</text></g>\n", LEFT, sheet->strip,
	           TIMELINE_WIDTH, STRIP, LEFT - 8, sheet->strip + STRIP / 2 - 3, LEFT - 8, sheet->strip + STRIP / 2 + 11);
	add_columns(paths, sheet->timeline->shares, TIMELINE_SHARES, sheet->strip + STRIP, STRIP);
	for (unsigned class = 0; class < PALETTE_CLASSES; ++class) {
		if (paths[class].len > 0) {
			const struct stats_batch *owner = class < PALETTE_OTHERS ? palette->owners[class] : NULL;
			const char *name = owner ? owner->name : "other batches";
			buf_printf(buf, "<path class=\"c%u b\" d=\"%s\"><title>", class, buf_str(&paths[class]));
			markup_add_text(buf, name);
			if (owner) {
				buf_printf(buf, ": %u%% of the slot-time", (unsigned)(owner->share * 100 + 0.5));
			}
			buf_adds(buf, "</title></path>\n");
		}
		buf_fini(&paths[class]);
	}
}

// Adds a line over the shares that shows the number of slots, if this number has changed. The title of each visible change is its reason.
static void add_slots_line(const struct sheet *sheet) {
	const struct timeline *timeline = sheet->timeline;
	const struct run_stats *stats = timeline->palette->stats;
	struct buf *buf = sheet->buf;
	double bottom = sheet->strip + STRIP, unit = (double)STRIP / (stats->most_slots > timeline->slots ? stats->most_slots : timeline->slots);
	if (stats->nchanges == 0) {
		return;
	}
	double begun = LEFT, y = bottom - stats->run.slots * unit;
	buf_adds(buf, "<g class=\"b\"><title>");
	stats_add_slots(buf, stats);
	buf_printf(buf, "</title><path class=\"o\" d=\"M%d %.1f", LEFT, y);
	for (size_t i = 0; i < stats->nchanges; ++i) {
		const struct stats_slots *change = &stats->changes[i];
		double x = bar_x(sheet, change->at);
		if (x >= begun + 1) {
			buf_printf(buf, "H%.1f\"/></g>\n", x);
			buf_printf(buf, "<g class=\"b\"><title>%u slot%s%s", change->slots, change->slots == 1 ? "" : "s", change->why ? ": " : "");
			markup_add_text(buf, change->why ? change->why : "");
			buf_printf(buf, "</title><path class=\"o\" d=\"M%.1f %.1f", x, y);
			begun = x;
		}
		y = bottom - change->slots * unit;
		buf_printf(buf, "H%.1fV%.1f", x, y);
	}
	buf_printf(buf, "H%d.0\"/></g>\n", LEFT + TIMELINE_WIDTH);
}

void svg_draw(struct buf *buf, const struct timeline *timeline, enum svg_use use) {
	const struct run_stats *stats = timeline->palette->stats;
	struct sheet sheet = {.buf = buf, .timeline = timeline};
	double pitch = (double)LANES_HEIGHT / timeline->nlanes;
	sheet.pitch = pitch > 22 ? 22 : pitch < 3 ? 3 : pitch;
	sheet.bar = sheet.pitch >= 10 ? sheet.pitch - 3 : sheet.pitch * 0.85;
	FP_CLEANUP(buf_fini) struct buf head = BUF_INIT, body = BUF_INIT;
	sheet.buf = &body;
	sheet.top = add_legend(&sheet, use == SVG_FILE ? 34 : 4) + 11;
	sheet.heads = count_heads(timeline);
	sheet.strip = lane_y(&sheet, timeline->nlanes) + 36;
	double height = sheet.strip + STRIP + 14;
	add_lanes(&sheet);
	add_cells(&sheet);
	add_bars(&sheet);
	add_strip(&sheet);
	add_slots_line(&sheet);
	add_axis(&sheet, sheet.strip + STRIP);
	svg_add_title(&head, stats);
	buf_adds(&head, " · ");
	summary_add_totals(&head, stats, &(struct summary_form){.table = true});
	buf_printf(buf, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"fp\" viewBox=\"0 0 %d %.0f\" width=\"%d\" height=\"%.0f\" "
	           "font-family=\"system-ui,sans-serif\" font-size=\"12\" role=\"img\" aria-label=\"", WIDTH, height, WIDTH, height);
	buf_add(buf, head.data, head.len);
	buf_adds(buf, "\">\n");
	sheet.buf = buf;
	add_style(&sheet);
	add_patterns(&sheet);
	buf_printf(buf, "<rect class=\"bg\" width=\"%d\" height=\"%.0f\" fill=\"#fff\"/>\n", WIDTH, height);
	if (use == SVG_FILE) {
		buf_printf(buf, "<text x=\"%d\" y=\"20\" font-size=\"15\" font-weight=\"600\">%s</text>\n", LEFT, buf_str(&head));
	}
	buf_add(buf, buf_str(&body), body.len);
	buf_adds(buf, "</svg>\n");
	free(sheet.heads);
}
