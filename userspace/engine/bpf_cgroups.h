/* SPDX-License-Identifier: GPL-2.0-only */
/* The maps of cgroups and their parts, which all captures of this process that divide by them share. */
#ifndef ENGINE_BPF_CGROUPS_H
#define ENGINE_BPF_CGROUPS_H

#include "engine/bpf_engine.h"

/* Before the programs are loaded: sizes the maps, or takes those that there are. Returns 0 or a negative errno. */
int bpf_cgroups_share(struct bpf_capture *b);

/* Behind it: those that the first capture made are the process's now, until the last one is closed. The same. */
int bpf_cgroups_hold(struct bpf_capture *b);
void bpf_cgroups_release(struct bpf_capture *b);

/* Names the parts of the cgroups that have come, behind a read of the counters. Returns 0 or a negative errno. */
int bpf_cgroups_name(struct bpf_capture *b);

/* Lets go of those that have ended, behind that: see cgroups_leave(). The same. */
int bpf_cgroups_leave(struct bpf_capture *b, const struct snapshot *s);

#endif
