/* SPDX-License-Identifier: GPL-2.0-only */
/* What a service watches of the devices that there are, which change while it runs. */
#ifndef CMD_SERVE_DEVICES_H
#define CMD_SERVE_DEVICES_H

#include "cmd/watches.h"
#include "core/capture.h"

struct serve_devices {
	const struct wanted *wanted;
	bool follow;		/* devices may appear that are wanted: a pattern, "all", or one that is waited for */
	bool begun;		/* a first look succeeded */
	bool *waits;		/* for each name that is wanted: it is not there yet */
	u32 n_waits;
};

/*
 * Looks which of the devices that are named are there: those that are not are waited for, and @tell is called for each with
 * a sentence that says why. Without @tell, for a replay, nothing is looked at. Returns 0, or a negative errno and a
 * sentence.
 */
int serve_devices_init(struct serve_devices *s, const struct wanted *wanted, void (*tell)(const struct problem *why),
		       struct problem *p);
void serve_devices_uninit(struct serve_devices *s);

/* "Watching", and for which devices it waits: a short text for the service manager. */
void serve_devices_status(const struct serve_devices *s, char *ret, size_t size);

/*
 * The watches of devices in @t with their parts, of malloc(), each once. A pattern that matches nothing is no failure, nor is a device that
 * is waited for; nor, after the first look, one that is gone or lacks a stage: it is left out. Returns 0, or what
 * watches_make() returns.
 */
int serve_devices_find(struct serve_devices *s, const struct device_table *t, struct watch **ret, u32 *ret_n,
		       struct problem *p);

/*
 * The exit status when the first capture could not be opened. What another start may cure is no wrong command line: a device
 * that went away, more devices than there is memory for.
 */
int serve_devices_exit(const struct capture_ops *engine, int err);

#endif
