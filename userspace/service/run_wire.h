/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What sinks are told of a run, as bytes (util/wire.h): its watches and devices, and how it is captured. Pure. What is read
 * back is checked: whatever the bytes are, no index or length leaves its bounds.
 */
#ifndef SERVICE_RUN_WIRE_H
#define SERVICE_RUN_WIRE_H

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

#endif
