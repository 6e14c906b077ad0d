/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A run as bytes (util/wire.h), with everything that sinks need to know: its watches and devices, and
 * how it is captured. Pure. The reader checks what it reads: whatever the bytes are, no index or length
 * exceeds its bounds.
 */
#ifndef SERVICE_RUN_WIRE_H
#define SERVICE_RUN_WIRE_H

#include "core/sink.h"
#include "util/wire.h"

/* Writes @run, but with @watches instead of its own. Its origin is left out. */
void wire_put_run(struct wire_out *to, const struct run_info *run, const struct watch *watches, u32 n);

/* A run that was read, and everything that it refers to. */
struct wired_run {
	struct run_info info;
	struct device_table devices;
	struct device *watched;		/* of the watches: copies, since these may be of other tables */
	struct watch *watches;
	char *version, *engine;
};

/* Returns 0, -ENOMEM or -EBADMSG. */
int wire_get_run(struct wire_in *from, struct wired_run *ret);
void wired_run_free(struct wired_run *r);	/* takes a struct that is all 0 */

#endif
