// SPDX-License-Identifier: GPL-2.0-only
#include "live/words.h"

#include <string.h>

#include "core/cgroup.h"
#include "core/snapshot.h"
#include "util/units.h"
#include "util/utf8.h"

void words_short_path(char *ret, size_t size, const char *path, u32 columns)
{
	const struct cgroup_names names = cgroup_names(path);

	if (utf8_columns(path, strlen(path)) <= columns)
		snprintf(ret, size, "%s", path);
	else if (names.container[0])
		snprintf(ret, size, "container %.12s%s%s", names.container, names.pod[0] ? " of pod " : "", names.pod);
	else
		snprintf(ret, size, "...%s", utf8_end(path, columns - 3));
}

/* IOs consist of whole sectors. */
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

void words_slow_figures(FILE *f, const struct slow_io *io)
{
	char clock[UNITS_TEXT], took[UNITS_TEXT], bytes[UNITS_TEXT], sector[24] = "-";

	if (io->told.known & BLKLAT_SLOW_SECTOR)
		snprintf(sector, sizeof(sector), "%llu", io->told.sector);
	fprintf(f, "%s %7s %-7s %8s %11s  ", units_clock_ms(clock, io->end_ns), units_ns(took, io->told.latency_ns),
		op_names[io->told.op], size_text(bytes, io->told.bytes), sector);
}

static void put_owner(FILE *f, const struct slow_io *io, u32 columns, bool utf8)
{
	bool part_tells = part_is_by(io->part, BLKLAT_BY_CGROUP) && part_is_owner(io->part);
	const char *cgroup = io->cgroup ?: part_tells ? io->part->label : NULL;
	char name[3 * PART_LABEL_MAX], path[PART_LABEL_MAX];

	if (io->told.known & BLKLAT_SLOW_SUBMITTER) {
		utf8_for_terminal(name, sizeof(name), io->told.comm, BLKLAT_COMM, utf8);
		fprintf(f, io->told.known & BLKLAT_SLOW_KERNEL_THREAD ? "[%s] %u" : "%s %u", name, io->told.submitter);
	} else if (!cgroup) {
		fputs("?", f);
	}
	if (!cgroup)
		return;
	words_short_path(path, sizeof(path), cgroup, columns);
	utf8_for_terminal(name, sizeof(name), path, columns, utf8);
	fprintf(f, "%s%s", io->told.known & BLKLAT_SLOW_SUBMITTER ? " " : "", name);
}

static void put_stage(FILE *f, const char *stage, u64 ns)
{
	char text[UNITS_TEXT];

	if (ns)
		fprintf(f, ", %s %s", stage, units_ns(text, ns));
}

static void put_file(FILE *f, const struct slow_io *io, u32 columns, bool utf8)
{
	char name[3 * sizeof(io->told.names)];

	if (!io->told.pages)
		return;
	if (io->told.pages != BLKLAT_PAGES_FILE) {
		fprintf(f, ", %s", slow_pages_name(io->told.pages));
	} else if (io->told.known & BLKLAT_SLOW_FILE) {
		utf8_for_terminal(name, sizeof(name), io->told.names[0], columns, utf8);
		fprintf(f, ", file %s", name);
	} else {
		fprintf(f, ", file %s inode %llu", io->file_device, io->told.inode);
	}
}

/* Is the class of the IO's flags known, unusual for its op, and not already given by its part? */
static bool flags_tell(const struct slow_io *io)
{
	static const u32 usual[BLKLAT_OPS] = {
		[BLKLAT_OP_READ] = 1 << BLKLAT_FLAGS_SYNC,
		[BLKLAT_OP_WRITE] = 1 << BLKLAT_FLAGS_SYNC | 1 << BLKLAT_FLAGS_WRITE_BACK,
		[BLKLAT_OP_FLUSH] = 1 << BLKLAT_FLAGS_FUA,
		[BLKLAT_OP_DISCARD] = 1 << BLKLAT_FLAGS_OTHER,
		[BLKLAT_OP_OTHER] = 1 << BLKLAT_FLAGS_OTHER,
	};

	return io->told.flags && !(usual[io->told.op] & 1 << io->told.flags) && !part_is_by(io->part, BLKLAT_BY_FLAGS);
}

/* Does the part say more about the IO than its cgroup, process, depth or neighbour does? */
static bool part_tells(const struct slow_io *io)
{
	const struct { enum blklat_by by; bool told; } all[] = {
		{ BLKLAT_BY_CGROUP, true }, { BLKLAT_BY_PROCESS, io->told.known & BLKLAT_SLOW_SUBMITTER },
		{ BLKLAT_BY_DEPTH, io->told.depth }, { BLKLAT_BY_BESIDE, io->told.beside },
	};

	for (u32 i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i].told && part_is_by(io->part, all[i].by))
			return false;
	return io->part;
}

void words_slow_rest(FILE *f, const struct slow_io *io, u32 columns, bool utf8)
{
	put_owner(f, io, columns, utf8);
	if (io->told.error)
		fprintf(f, ", failed: %s", slow_error(io->told.error));
	put_stage(f, stage_names[BLKLAT_STAGE_QUEUE], io->told.queue_ns);
	put_stage(f, stage_names[BLKLAT_STAGE_DEVICE], io->told.device_ns);
	put_file(f, io, columns, utf8);
	if (flags_tell(io))
		fprintf(f, ", flags %s", slow_part_label(BLKLAT_BY_FLAGS, io->told.flags));
	if (io->told.depth)
		fprintf(f, ", depth %u", io->told.depth);
	if (io->told.beside)
		fprintf(f, ", beside %s", slow_part_label(BLKLAT_BY_BESIDE, io->told.beside));
	if (part_tells(io))
		fprintf(f, ", %s %s", io->part->by, io->part->label);
}
