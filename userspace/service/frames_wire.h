/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An interval as bytes (util/wire.h), with everything that the sinks of a service look at. Pure. The
 * reader checks what it reads: whatever the bytes are, no index or length exceeds its bounds.
 */
#ifndef SERVICE_FRAMES_WIRE_H
#define SERVICE_FRAMES_WIRE_H

#include "core/sink.h"
#include "util/wire.h"

/* Writes frames of @run, without the snapshot. @watches are those that slow IOs refer to by number. */
void wire_put_frames(struct wire_out *to, const struct run_info *run, const struct watch *watches, const struct frames *fs);

/*
 * Reads frames into @fs, made by frames_init() for the watches of @run, tracked; and slow IOs into
 * @slow, made by slow_ios_init() for as many. Where slow IOs are wanted, @fs has the list. After a
 * failure both are filled in part. Returns 0, -ENOMEM or -EBADMSG.
 */
int wire_get_frames(struct wire_in *from, const struct run_info *run, struct frames *fs, struct slow_ios *slow);

#endif
