/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Opens captures, with their intervals, and closes them: in a thread, since both take longer than an interval may be
 * late.
 */
#ifndef CORE_BACKGROUND_H
#define CORE_BACKGROUND_H

#include "core/intervals.h"

/*
 * Opens at once. Matched devices (struct watch) that went away are taken out of @cfg. Returns 0, or a negative errno
 * and a sentence: -ENODEV: a named one went away; -ESTALE: no device is left. On failure nothing is left.
 */
int open_now(const struct capture_ops *engine, struct capture_config *cfg, struct capture **ret,
	     struct intervals *ret_in, struct problem *p);

struct background;

/*
 * The same in a thread, which has the capabilities that are in effect now. @cfg's devices must not change until
 * background_end(); its watches, in malloc()ed memory, are taken over, also on failure. Returns 0, or a negative
 * errno and a sentence.
 */
int background_open(const struct capture_ops *engine, const struct capture_config *cfg, struct background **ret,
		    struct problem *p);

/* Closes @c; at once if no thread can be started: then it returns NULL. */
struct background *background_close(const struct capture_ops *engine, struct capture *c);

/*
 * Whether the thread has ended: then background_end() does not wait, not even for a CPU that the thread would need to
 * end.
 */
bool background_is_done(struct background *b);

/* Waits until it is done, frees it, and returns what open_now() would; of a background_close(), 0 and no capture. */
int background_end(struct background *b, struct capture **ret, struct intervals *ret_in, struct problem *p);

#endif
