/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Encodes a histogram as bytes for a recording: exactly, and in few bytes if few bins are in use. Pure.
 *
 * The encoding is a sequence of values, from the cell below the grid upwards. A value above 0 is the number of IOs in
 * the current cell; the next value is about the next cell. Any other value, -n, stands for n + 1 cells without IOs.
 * Neighbouring cells hold similar numbers, so each value is written as its difference d from the IOs of the cell before
 * (0 if that is empty), which in turn is written as the number 2d, or -2d - 1 if d is negative (zigzag). A number is
 * cut into groups of 3 bits, the lowest first, each in a nibble whose top bit is set when another group follows.
 * Nibbles fill a byte from its upper half; an unused lower half at the end is 8. A histogram has only one encoding: all
 * empty cells in a row are one value, the last value counts IOs, and no number has more nibbles than it needs. The
 * encoding of an empty histogram has no bytes.
 *
 * Worked row: 3 IOs in cell 2, 70 in cell 3, 1 in cell 5 are the values -1, 3, 70, 0, 1, the differences -1, 3, 67,
 * -70, 1, the numbers 1, 6, 134, 139, 2, the nibbles 1, 6, e 8 2, b 9 2, 2, or the bytes 16 e8 2b 92 28.
 */
#ifndef RECORDING_BINS_CODEC_H
#define RECORDING_BINS_CODEC_H

#include "core/hist.h"

/* Enough for any histogram: a cell takes at most one number of 64 bits, which is 22 nibbles. */
#define BINS_CODEC_MAX (BLKLAT_CELLS_MAX * 11)

/* Writes @h, whose cells are all below 2^62, to @bytes (BINS_CODEC_MAX of them). Returns the length. */
u32 bins_encode(const struct hist *h, u8 *bytes);

/*
 * Decodes @len bytes of @h's scale, and adds their counts to @h and their IOs to @ios. Returns 0, or -EBADMSG
 * if the encoding is invalid or the sum of IOs overflows; @h and @ios then hold nothing useful.
 */
int bins_decode(const void *bytes, size_t len, struct hist *h, u64 *ios);

#endif
