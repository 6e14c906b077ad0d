/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs and intervals as messages (util/wire.h), with everything that the processes of a service look at. Structures are
 * sent as they are: their receiver is a fork of the sender. It sets their pointers anew, and checks only that a message
 * has the right length.
 */
#ifndef SERVICE_FRAMES_WIRE_H
#define SERVICE_FRAMES_WIRE_H

#include "core/frame.h"
#include "core/sink.h"
#include "core/slow.h"
#include "util/wire.h"

/* Writes the watches of @fs; NULL: those of @run. The bytes change when devices or the owners of parts come or go. */
void wire_put_watches(struct wire_out *to, const struct run_info *run, const struct frames *fs);

/* Writes @run, without its origin, but with @watches, which wire_put_watches() has written. */
void wire_put_run(struct wire_out *to, const struct run_info *run, const struct wire_out *watches);

/* A run that was read, and everything that it refers to. */
struct wired_run {
	struct run_info info;
	struct device_table devices;	/* with those of the watches, which may have gone from the sender's table */
	struct watch *watches;
	char *version, *engine;
};

/* Its info refers to the rest of @ret, so a copy has to set info.devices. Returns 0, -ENOMEM or -EBADMSG. */
int wire_get_run(struct wire_in *from, struct wired_run *ret);
void wired_run_free(struct wired_run *r);	/* takes a struct that is all 0 */

/*
 * Writes frames of @run, without percentiles. Of the snapshots it writes what a recording needs, and only if @fs has
 * that at the interval's end (now): its times, and the watches' counts besides those of their ops.
 */
void wire_put_frames(struct wire_out *to, const struct run_info *run, const struct frames *fs);

/*
 * Reads frames into @fs, made by frames_init() for the watches of @run; and slow IOs into
 * @slow, made by slow_ios_init() for as many. Where slow IOs are wanted, @fs has the list. What was written of the
 * snapshot goes to @now, whose w has room for each watch. After a failure all are filled in part. Returns 0, -ENOMEM or
 * -EBADMSG.
 */
int wire_get_frames(struct wire_in *from, const struct run_info *run, struct frames *fs, struct slow_ios *slow,
		    struct snapshot *now);

/*
 * The most bytes that an interval's slow IOs take. If there are more, each whole gets its share, and
 * the rest are only counted.
 */
#define WIRE_SLOW_BYTES (2u << 20)

#endif
