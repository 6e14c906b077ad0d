// SPDX-License-Identifier: GPL-2.0-only
/* The slow IOs of an interval, a line each: when it ended, what it took, what and where it was, and whose. */
#include <stdio.h>
#include <string.h>

#include "core/text_draw.h"
#include "live/text.h"
#include "util/cleanup.h"
#include "util/print_buffer.h"
#include "util/units.h"
#include "util/utf8.h"

#define FIGURES 51		/* columns before who sent it */

static void put_owner(const struct text *t, FILE *f, const struct slow_io *io)
{
	char name[3 * PART_LABEL_MAX], path[PART_LABEL_MAX];

	if (io->told.known & BLKLAT_SLOW_SUBMITTER) {
		utf8_for_terminal(name, sizeof(name), io->told.comm, BLKLAT_COMM, t->look->utf8);
		fprintf(f, io->told.known & BLKLAT_SLOW_KERNEL_THREAD ? "[%s] %u" : "%s %u", name, io->told.submitter);
	} else {
		fputs("?", f);
	}
	if (!io->cgroup)
		return;
	text_short_path(path, sizeof(path), io->cgroup, t->columns - TEXT_GUTTER - 2);
	utf8_for_terminal(name, sizeof(name), path, t->columns - TEXT_GUTTER - 2, t->look->utf8);
	fprintf(f, " %s", name);
}

/* ", device 2.72ms": one word, so that no line ends within it. */
static void put_stage(FILE *f, const char *stage, u64 ns)
{
	char text[UNITS_TEXT], *blank;

	if (!ns)
		return;
	units_ns(text, ns);
	blank = strchr(text, ' ');
	fprintf(f, ", %s %.*s%s", stage, (int)(blank - text), text, blank + 1);
}

/* What else there is to say of it. */
static void put_rest(FILE *f, const struct slow_io *io)
{
	if (io->told.error)
		fprintf(f, ", failed: %s", slow_error(io->told.error));
	put_stage(f, stage_names[BLKLAT_STAGE_QUEUE], io->told.queue_ns);
	put_stage(f, stage_names[BLKLAT_STAGE_DEVICE], io->told.device_ns);
	if (io->part && strcmp(io->part->by, by_names[BLKLAT_BY_CGROUP]) != 0)
		fprintf(f, ", %s %s", io->part->by, io->part->label);
}

/* IOs are of whole sectors. */
static const char *size_text(char text[UNITS_TEXT], u64 bytes)
{
	if (!bytes)
		return "-";
	if (bytes % 1024)
		snprintf(text, UNITS_TEXT, "%llu B", bytes);
	else if (bytes % (1 << 20))
		snprintf(text, UNITS_TEXT, "%llu KiB", bytes >> 10);
	else
		snprintf(text, UNITS_TEXT, "%llu MiB", bytes >> 20);
	return text;
}

static void put_figures(FILE *f, const struct slow_io *io)
{
	char clock[UNITS_TEXT], took[UNITS_TEXT], bytes[UNITS_TEXT], sector[24] = "-";

	if (io->told.known & BLKLAT_SLOW_SECTOR)
		snprintf(sector, sizeof(sector), "%llu", io->told.sector);
	fprintf(f, "%s %7s %-7s %8s %11s  ", units_clock_ms(clock, io->end_ns), units_ns(took, io->told.latency_ns),
		op_names[io->told.op], size_text(bytes, io->told.bytes), sector);
}

static void put_slow(const struct text *t, FILE *f, const struct slow_io *io)
{
	struct print_buffer say CLEANUP(print_buffer_close) = { 0 };

	/* Without memory the figures have to do. */
	put_figures(f, io);
	if (!print_buffer_open(&say)) {
		put_owner(t, say.f, io);
		put_rest(say.f, io);
		if (!fflush(say.f))
			draw_paragraph(f, say.text, TEXT_GUTTER + FIGURES, TEXT_GUTTER + 2, t->columns);
	}
	putc('\n', f);
}

void text_slow(const struct text *t, FILE *f, const struct frames *fs, u32 i)
{
	const struct slow_of *of;
	char more[UNITS_TEXT];

	if (!fs->slow)
		return;
	of = &fs->slow->of[fs->f[i].watch - t->run->watches];
	for (u32 n = 0; n < of->n; n++) {
		const struct slow_io *io = &fs->slow->io[of->first + n];

		text_paint(t, f, BOLD);
		fprintf(f, "%-*s", TEXT_GUTTER, n ? "" : "slow");
		text_paint(t, f, io->told.error ? ALARM : PLAIN);
		put_slow(t, f, io);
		text_paint(t, f, PLAIN);
	}
	if (of->found > of->n)
		fprintf(f, "%-*s%s more slow ones\n", TEXT_GUTTER, "", units_count(more, of->found - of->n));
}
