/* SPDX-License-Identifier: GPL-2.0-only */
/* The ring of slow IOs that the BPF programs tell of. */
#ifndef ENGINE_BPF_SLOW_H
#define ENGINE_BPF_SLOW_H

#include "engine/bpf_engine.h"
#include "engine/geometry.h"

/* Before the programs are loaded: configures them, and gives them @room. */
void bpf_slow_size(struct bpf_capture *b, const struct slow_room *room);

/* Behind it: no IO is slow yet, see live_ops.set_slow. Both are nothing where slow IOs are not wanted. Returns 0 or a negative errno. */
int bpf_slow_map(struct bpf_capture *b);
void bpf_slow_unmap(struct bpf_capture *b);

/* Behind a read of the counters: takes what was told since the last one. Returns 0 or a negative errno. */
int bpf_slow_read(struct bpf_capture *b, const struct snapshot *s);

#endif
