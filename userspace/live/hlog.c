// SPDX-License-Identifier: GPL-2.0-only
/*
 * A log of HdrHistograms (format 1.3, histograms of encoding V2, zlib, base64), for the tools that read these. A line
 * is an op of a device and stage, or of a part of it, in one interval; its tag says which. Values are ns.
 *
 * Our bins are narrower than their 3 digits are for no latency, so a bin's IOs count at its (geometric) middle,
 * within 0.55 % of where they were; the smallest and the greatest are exact.
 */
#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "live/formats.h"
#include "util/clock.h"
#include "util/cleanup.h"
#include "util/units.h"

#define DIGITS 3
#define HALF_LOG2 10			/* half of the values that 3 digits tell apart within an octave: 2^10 > 10^3 */
#define HIGHEST_NS 3600000000000ULL	/* unless a latency is greater */
#define COOKIE 0x1c849313
#define COOKIE_COMPRESSED 0x1c849314
#define HEAD_BYTES 40
#define NUMBER_BYTES 10			/* the most that a number takes */

/* --- a histogram's bytes ----------------------------------------------------------------------- */

static u32 index_of(u64 ns)
{
	u32 octave = ns >> (HALF_LOG2 + 1) ? 63 - __builtin_clzll(ns) - HALF_LOG2 : 0;

	return (octave << HALF_LOG2) + (ns >> octave);
}

static u64 middle_ns(const struct op_frame *o, u32 cell)
{
	u64 lower = hist_lower_ns(o->hist.scale, cell), upper = hist_upper_ns(o->hist.scale, cell);
	u64 ns = upper == UINT64_MAX ? o->max_ns : lround(sqrt((double)(lower ?: 1) * upper));

	return ns < o->min_ns ? o->min_ns : ns > o->max_ns ? o->max_ns : ns;
}

/* Zigzag, in groups of 7 bits, the least significant first. */
static u8 *put_number(u8 *at, s64 value)
{
	u64 n = (u64)value << 1 ^ (u64)(value >> 63);

	for (; n >> 7; n >>= 7)
		*at++ = n | 0x80;
	*at++ = n;
	return at;
}

static void put_be32(u8 *at, u32 value)
{
	memcpy(at, &(u32){ htobe32(value) }, sizeof(value));
}

static void put_be64(u8 *at, u64 value)
{
	memcpy(at, &(u64){ htobe64(value) }, sizeof(value));
}

/* Counts from index 0 on; a negative number is a run of zeros. */
struct encoder {
	u8 *at;
	u32 index, next;	/* of the count that is not written yet; the first that was not written before it */
	u64 n;
};

static void flush(struct encoder *e)
{
	if (e->n && e->index > e->next)
		e->at = put_number(e->at, -(s64)(e->index - e->next));
	if (e->n)
		e->at = put_number(e->at, e->n);
	e->next = e->index + 1;
	e->n = 0;
}

/* In ascending order. */
static void count(struct encoder *e, u64 ns, u64 n)
{
	u32 index = index_of(ns);

	if (e->n && index != e->index)
		flush(e);
	e->index = index;
	e->n += n;
}

/* @to has room for all. Returns the number of bytes. */
static size_t encode(const struct op_frame *o, u8 *to)
{
	struct encoder e = { .at = to + HEAD_BYTES };
	u32 first, last;
	double one = 1;
	u64 bits;

	if (hist_range(&o->hist, &first, &last))
		count(&e, o->min_ns, 1);
	hist_for_each(cell, &o->hist) {
		u64 n = o->hist.cells[cell] - (cell == first);
		bool greatest = cell == last && n;

		if (n > greatest)
			count(&e, middle_ns(o, cell), n - greatest);
		if (greatest)
			count(&e, o->max_ns, 1);
	}
	flush(&e);
	memset(to, 0, HEAD_BYTES);
	put_be32(to, COOKIE);
	put_be32(to + 4, e.at - to - HEAD_BYTES);
	put_be32(to + 12, DIGITS);
	put_be64(to + 16, 1);
	put_be64(to + 24, o->max_ns > HIGHEST_NS ? o->max_ns : HIGHEST_NS);
	memcpy(&bits, &one, sizeof(bits));
	put_be64(to + 32, bits);
	return e.at - to;
}

static void put_base64(FILE *f, const u8 *bytes, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < n; i += 3) {
		u32 three = bytes[i] << 16 | (i + 1 < n ? bytes[i + 1] << 8 : 0) | (i + 2 < n ? bytes[i + 2] : 0);

		for (u32 d = 0; d < 4; d++)
			putc(i + d > n ? '=' : digits[three >> (18 - 6 * d) & 63], f);
	}
}

static int put_histogram(FILE *f, const struct op_frame *o)
{
	size_t room = HEAD_BYTES + 2 * NUMBER_BYTES * (BLKLAT_CELLS(o->hist.scale) + 2ULL);
	u8 *plain CLEANUP(cleanup_free) = malloc(room);
	size_t n = plain ? encode(o, plain) : 0;
	uLongf packed = compressBound(n);
	u8 *bytes CLEANUP(cleanup_free) = malloc(8 + packed);

	if (!plain || !bytes || compress(bytes + 8, &packed, plain, n) != Z_OK)
		return -ENOMEM;
	put_be32(bytes, COOKIE_COMPRESSED);
	put_be32(bytes + 4, packed);
	put_base64(f, bytes, 8 + packed);
	return 0;
}

/* --- the log ----------------------------------------------------------------------------------- */

/* A comma ends a tag, and no blank may be in it. */
static void put_word(FILE *f, char before, const char *word)
{
	putc(before, f);
	for (; *word; word++)
		putc(*word == ',' || (u8)*word <= ' ' ? '_' : *word, f);
}

static int put_op(FILE *f, const struct frame *fr, u32 op)
{
	const struct op_frame *o = &fr->ops[op];
	int err;

	fputs("Tag", f);
	put_word(f, '=', fr->watch->device->name);
	put_word(f, '.', stage_names[fr->watch->stage]);
	put_word(f, '.', op_names[op]);
	if (fr->watch->part)
		put_word(f, '.', fr->watch->part->label);
	fprintf(f, ",%.3f,%.3f,%.3f,", (double)fr->end_ns / NSEC_PER_SEC - fr->interval_s, fr->interval_s, o->max_ns / 1e6);
	err = put_histogram(f, o);
	putc('\n', f);
	return err;
}

int hlog_print(FILE *to, const struct frames *interval, bool header)
{
	char time[UNITS_TEXT];
	int err = 0;

	if (header && interval->n) {
		s64 begin_ns = interval->f[0].end_ns - llround(interval->interval_s * NSEC_PER_SEC);

		fprintf(to, "#[Latencies in ns, one line for each device, stage, op and part]\n"
			"#[Histogram log format version 1.3]\n#[StartTime: %.3f (seconds since epoch), %s]\n"
			"\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
			(double)begin_ns / NSEC_PER_SEC, units_utc(time, begin_ns));
	}
	for (u32 i = 0; !err && i < interval->n; i++)
		for (u32 op = 0; !err && op < BLKLAT_OPS; op++)
			if (interval->f[i].ops[op].ios)
				err = put_op(to, &interval->f[i], op);
	return err;
}
