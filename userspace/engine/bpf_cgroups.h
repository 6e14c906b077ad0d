/* SPDX-License-Identifier: GPL-2.0-only */
/* The maps of cgroups and their parts, shared by all captures of this process that divide by cgroup. */
#ifndef ENGINE_BPF_CGROUPS_H
#define ENGINE_BPF_CGROUPS_H

#include "engine/bpf_engine.h"

/* Before the programs are loaded: sizes the maps, or reuses the existing ones. Returns 0 or a negative errno. */
int bpf_cgroups_share(struct bpf_capture *b);

/* After loading: keeps the maps that the first capture made until the last capture is closed. Returns 0 or a negative errno. */
int bpf_cgroups_hold(struct bpf_capture *b);
void bpf_cgroups_release(struct bpf_capture *b);

/* Names the parts of new cgroups, after a read of the counters. Returns 0 or a negative errno. */
int bpf_cgroups_name(struct bpf_capture *b);

/* After that, releases the numbers of cgroups that have ended: see cgroups_leave(). Returns 0 or a negative errno. */
int bpf_cgroups_leave(struct bpf_capture *b, const struct snapshot *s);

#endif
