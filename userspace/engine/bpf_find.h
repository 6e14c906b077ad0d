/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's pointers for devices, see bpf/find.bpf.c. */
#ifndef ENGINE_BPF_FIND_H
#define ENGINE_BPF_FIND_H

#include "../bpf/find.h"
#include "core/device.h"

/*
 * Fills ret[i] for each of the @n devices (fd is set to i). Opens only their directories in sysfs.
 * Returns 0, or a negative errno and a sentence (-ENODEV: one of them is gone).
 */
int bpf_find_devices(const struct device *const *devices, u32 n, struct found_device *ret,
		     struct problem *p);

#endif
