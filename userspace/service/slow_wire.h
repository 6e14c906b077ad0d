/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The slow IOs of an interval's frames, as bytes (util/wire.h). Pure; the reader checks what it reads,
 * as in frames_wire.h.
 */
#ifndef SERVICE_SLOW_WIRE_H
#define SERVICE_SLOW_WIRE_H

#include "core/frame.h"
#include "core/slow.h"
#include "util/wire.h"

/*
 * The most bytes that an interval's slow IOs take. If there are more, each whole gets its share, and
 * the rest are only counted.
 */
#define WIRE_SLOW_BYTES (2u << 20)

/*
 * Writes the slow IOs of each whole among the frames @fs. @watches are those that the IOs refer to by
 * number.
 */
void wire_put_slow(struct wire_out *to, const struct watch *watches, const struct frames *fs);

/*
 * Reads the slow IOs of the wholes in @fs into @slow, which is emptied first; after a failure it is
 * filled in part. Returns 0 or -ENOMEM; invalid bytes fail the reader.
 */
int wire_get_slow(struct wire_in *from, const struct frames *fs, struct slow_ios *slow);

#endif
