/* SPDX-License-Identifier: GPL-2.0-only */
/* Figures as text. The program sets no locale for numbers, so the decimal separator is always a point. */
#ifndef UTIL_UNITS_H
#define UTIL_UNITS_H

#include "util/types.h"

#define UNITS_TEXT 32		/* room for any of the texts below */

/* UNITS(ns, 402): such a text as an argument; its room lasts as long as the block that it is in. */
#define UNITS(unit, value) units_##unit((char[UNITS_TEXT]){ "" }, value)

/*
 * A time with three significant digits: "402 ns", "4.02 us", "81.2 ms", "3.20 s", "5400 s". At most
 * 7 characters up to 99999 s. Negative or not finite: "-".
 */
const char *units_ns(char text[UNITS_TEXT], double ns);

/*
 * A number with about four significant digits in at most 6 characters: "0.25", "81.3", "80123",
 * "523.6k", "5.24M". 0 is "0"; any other value that would round to 0 is "<0.01".
 */
const char *units_number(char text[UNITS_TEXT], double value);

/* A number with three significant digits, for sentences: "512k", "21.3k", "7.02k", "980", "0.25". */
const char *units_short(char text[UNITS_TEXT], double value);

/* A factor with three significant digits: "2.00", "40.0", "2.44k". */
const char *units_times(char text[UNITS_TEXT], double factor);

/* A share as "22.1 %", "0.46 %", "0.0046 %"; 1 is "100 %". */
const char *units_share(char text[UNITS_TEXT], double share);

/* A time or a duration of a run, to a tenth of a second: "438.0 s". */
const char *units_seconds(char text[UNITS_TEXT], double s);

/* How long something has lasted, in seconds, as people say it: "12 s", "22 min", "3 h 5 min", "2 d 4 h". */
const char *units_long(char text[UNITS_TEXT], double s);

/* Digits in groups of three: "5 237 090". */
const char *units_count(char text[UNITS_TEXT], u64 n);

/* A capacity in powers of 1000, as drives are sold: "1.07 GB", "960 GB". */
const char *units_capacity(char text[UNITS_TEXT], u64 bytes);

/* Memory in powers of 1024: "84 KiB", "1.3 MiB". */
const char *units_memory(char text[UNITS_TEXT], u64 bytes);

/* A CLOCK_REALTIME as "2026-11-21T07:35:01.000Z", cut (not rounded) to the millisecond. */
const char *units_utc(char text[UNITS_TEXT], s64 ns);

/* The same in local time: "07:35:01". */
const char *units_clock(char text[UNITS_TEXT], s64 ns);

/* And with milliseconds, cut: "07:35:01.250". */
const char *units_clock_ms(char text[UNITS_TEXT], s64 ns);

#endif
