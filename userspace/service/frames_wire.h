/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What sinks are told, as bytes (util/wire.h): of a run and of an interval all that the sinks of a service look at.
 * Pure. What is read back is checked: whatever the bytes are, no index or length leaves its bounds.
 */
#ifndef SERVICE_FRAMES_WIRE_H
#define SERVICE_FRAMES_WIRE_H

#include "core/sink.h"
#include "util/wire.h"

/* @run with @watches in place of its own. Its origin is left out. */
void wire_put_run(struct wire_out *to, const struct run_info *run, const struct watch *watches, u32 n);

/* A run that was read, and what it refers to. */
struct wired_run {
	struct run_info info;
	struct device_table devices;
	struct device *watched;		/* of the watches: copies, since these may be of other tables */
	struct watch *watches;
	char *version, *engine;
};

/* Returns 0, -ENOMEM or -EBADMSG. */
int wire_get_run(struct wire_in *from, struct wired_run *ret);
void wired_run_free(struct wired_run *r);	/* takes one that is all 0 */

/* That slow IOs take of an interval. Of more, each whole has its share; the others are counted. */
#define WIRE_SLOW_BYTES (2u << 20)

/* Frames of @run, without the snapshot. Their watches, whose numbers the slow IOs have, are in @watches. */
void wire_put_frames(struct wire_out *to, const struct run_info *run, const struct watch *watches, const struct frames *fs);

/*
 * Into @fs, of frames_init() for the watches of @run, tracked, and into @slow, of slow_ios_init() for as many; as far as it goes in failure.
 * Where slow IOs are wanted @fs has the list. Returns 0, -ENOMEM or -EBADMSG.
 */
int wire_get_frames(struct wire_in *from, const struct run_info *run, struct frames *fs, struct slow_ios *slow);

#endif
