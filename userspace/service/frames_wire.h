/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What sinks are told of an interval, as bytes (util/wire.h): all that the sinks of a service look at. Pure. What is read back
 * is checked: whatever the bytes are, no index or length leaves its bounds.
 */
#ifndef SERVICE_FRAMES_WIRE_H
#define SERVICE_FRAMES_WIRE_H

#include "core/sink.h"
#include "util/wire.h"

/* Frames of @run, without the snapshot. Their watches, whose numbers the slow IOs have, are in @watches. */
void wire_put_frames(struct wire_out *to, const struct run_info *run, const struct watch *watches, const struct frames *fs);

/*
 * Into @fs, of frames_init() for the watches of @run, tracked, and into @slow, of slow_ios_init() for as many; as far as it goes in failure.
 * Where slow IOs are wanted @fs has the list. Returns 0, -ENOMEM or -EBADMSG.
 */
int wire_get_frames(struct wire_in *from, const struct run_info *run, struct frames *fs, struct slow_ios *slow);

#endif
