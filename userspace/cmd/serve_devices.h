/* SPDX-License-Identifier: GPL-2.0-only */
/* Which devices a service watches, as devices come and go while it runs. */
#ifndef CMD_SERVE_DEVICES_H
#define CMD_SERVE_DEVICES_H

#include "cmd/watches.h"
#include "core/capture.h"

struct serve_devices {
	const struct wanted *wanted;
	bool follow;		/* wanted devices may appear: a pattern, "all", or one waited for */
	bool begun;		/* a first look succeeded */
	bool *waits;		/* [wanted name] its device is not there yet */
	u32 n_waits;
};

/*
 * Finds out which of the named devices exist. Missing ones are waited for, and for each @tell is called
 * with a sentence that says why. Without @tell, for a replay, nothing is looked up. Returns 0, or a
 * negative errno and a sentence.
 */
int serve_devices_init(struct serve_devices *s, const struct wanted *wanted, void (*tell)(const struct problem *why),
		       struct problem *p);
void serve_devices_uninit(struct serve_devices *s);

/* A short status for the service manager: "Watching", and which devices it waits for. */
void serve_devices_status(const struct serve_devices *s, char *ret, size_t size);

/*
 * Makes the watches of the devices in @t with their parts, in malloc()ed memory, each watch once. A
 * pattern that matches nothing is not an error, nor is a device that is waited for. After the first
 * look a device that is gone or lacks a stage is no error either: it is left out. Returns 0, or the
 * error of watches_make().
 */
int serve_devices_find(struct serve_devices *s, const struct device_table *t, struct watch **ret, u32 *ret_n,
		       struct problem *p);

/*
 * The exit status if the first capture could not be opened. A failure that another start may cure is
 * not an error of the command line: a device that went away, or more devices than there is memory for.
 */
int serve_devices_exit(const struct capture_ops *engine, int err);

#endif
