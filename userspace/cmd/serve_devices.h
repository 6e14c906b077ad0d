/* SPDX-License-Identifier: GPL-2.0-only */
/* What a service watches of the devices that there are, which change while it runs. */
#ifndef CMD_SERVE_DEVICES_H
#define CMD_SERVE_DEVICES_H

#include "cmd/watches.h"

struct serve_devices {
	const struct wanted *wanted;
	bool follow;		/* a pattern or "all" is wanted: devices may appear that match */
	bool begun;		/* a first look succeeded */
};

void serve_devices_init(struct serve_devices *s, const struct wanted *wanted);

/*
 * The watches of devices in @t, of malloc(), each once. A pattern that matches nothing is no failure; nor is, after
 * the first look, a device that is gone or lacks a stage: it is left out. Returns 0, or what
 * watches_make() returns.
 */
int serve_devices_find(struct serve_devices *s, const struct device_table *t, struct watch **ret, u32 *ret_n,
		       struct problem *p);

/* Whether an error of the first look is the command line's. */
bool serve_devices_fault(int err);

#endif
