/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A histogram as bytes, as a recording keeps it: exact, and small where few bins are in use. Pure.
 *
 * A sequence of numbers, from the cell below the grid upwards. An even one, 2n, stands for n IOs in the
 * current cell, and the next cell is the current one; an odd one, 2n+1, for n cells without IOs. Each
 * number is written in groups of 7 bits, the least first, the top bit of a byte set when another
 * follows (LEB128). Nothing is 0, no two numbers that skip follow each other, the last one counts, and
 * none has more bytes than it needs: so a histogram has one encoding only. An empty one has no bytes.
 *
 * Worked row: 3 IOs in cell 2, 70 in cell 3, 1 in cell 5 is the sequence 5, 6, 140, 3, 2, or the bytes
 * 05 06 8c 01 03 02.
 */
#ifndef MODEL_BINS_CODEC_H
#define MODEL_BINS_CODEC_H

#include "model/hist.h"

/* Room that is enough for any histogram. */
#define BINS_CODEC_MAX (BLKLAT_CELLS_MAX * 10)

/* Writes @h to @bytes, of BINS_CODEC_MAX. No cell may hold 2^63 IOs or more. Returns how many it took. */
u32 bins_encode(const struct hist *h, u8 *bytes);

/*
 * Adds the @len bytes of an encoding of @h's scale to @h, and their IOs to @ios. Returns 0, or -EBADMSG
 * when they are no encoding, or the sum of IOs overflows; @h and @ios are then spoilt.
 */
int bins_decode(const void *bytes, size_t len, struct hist *h, u64 *ios);

#endif
