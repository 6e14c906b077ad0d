/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A histogram as bytes, as a recording keeps it: exact, and small where few bins are in use. Pure.
 *
 * A sequence of values, from the cell below the grid upwards. One above 0 is the IOs of the
 * current cell, and the next cell is the current one; another, -n, stands for n + 1 cells
 * without IOs. Neighbours are alike, so a value is written as the difference from the IOs of the
 * cell before it, 0 if there is none: d as the number 2d, or -2d - 1 below 0 (zigzag). A number
 * is written in groups of 3 bits, the least first, each in a nibble whose top bit is set when
 * another follows. Nibbles fill a byte from its upper half; where one is left over it is 8. No
 * two values stand for cells without IOs one after the other, the last one counts, and no number
 * has more nibbles than it needs: so a histogram has one encoding only. An empty one has no
 * bytes.
 *
 * Worked row: 3 IOs in cell 2, 70 in cell 3, 1 in cell 5 are the values -1, 3, 70, 0, 1, the
 * differences -1, 3, 67, -70, 1, the numbers 1, 6, 134, 139, 2, the nibbles 1, 6, e 8 2, b 9 2,
 * 2, or the bytes 16 e8 2b 92 28.
 */
#ifndef RECORDING_BINS_CODEC_H
#define RECORDING_BINS_CODEC_H

#include "core/hist.h"

/* Room for any histogram: a cell takes one number at most, of 64 bits in 22 nibbles. */
#define BINS_CODEC_MAX (BLKLAT_CELLS_MAX * 11)

/* Writes @h to @bytes, of BINS_CODEC_MAX. All cells are below 2^62. Returns how many it took. */
u32 bins_encode(const struct hist *h, u8 *bytes);

/*
 * Adds the @len bytes of an encoding of @h's scale to @h, and their IOs to @ios. Returns 0, or -EBADMSG
 * when they are no encoding, or the sum of IOs overflows; @h and @ios are then spoilt.
 */
int bins_decode(const void *bytes, size_t len, struct hist *h, u64 *ios);

#endif
