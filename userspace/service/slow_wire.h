/* SPDX-License-Identifier: GPL-2.0-only */
/* The slow IOs of an interval's frames, as bytes (util/wire.h). Pure; what is read back is checked, as in frames_wire.h. */
#ifndef SERVICE_SLOW_WIRE_H
#define SERVICE_SLOW_WIRE_H

#include "core/frame.h"
#include "core/slow.h"
#include "util/wire.h"

/* That slow IOs take of an interval. Of more, each whole has its share; the others are counted. */
#define WIRE_SLOW_BYTES (2u << 20)

/* Those of each whole among the frames @fs, whose watches, by whose numbers the IOs know them, are in @watches. */
void wire_put_slow(struct wire_out *to, const struct watch *watches, const struct frames *fs);

/*
 * Of as many wholes as @fs has, into @slow, which is emptied first; as far as it goes in failure. Returns 0 or -ENOMEM; the
 * reader fails of what is wrong.
 */
int wire_get_slow(struct wire_in *from, const struct frames *fs, struct slow_ios *slow);

#endif
