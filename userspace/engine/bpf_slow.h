/* SPDX-License-Identifier: GPL-2.0-only */
/* The ring in which the BPF programs report slow IOs. */
#ifndef ENGINE_BPF_SLOW_H
#define ENGINE_BPF_SLOW_H

#include "engine/bpf_engine.h"
#include "engine/geometry.h"

/* Before the programs are loaded: configures them, and sizes their maps for @room. */
void bpf_slow_size(struct bpf_capture *b, const struct slow_room *room);

/*
 * After loading: maps the ring; no IO is slow yet, see live_ops.set_slow. Both functions do nothing if
 * slow IOs are not wanted. Returns 0 or a negative errno.
 */
int bpf_slow_map(struct bpf_capture *b);
void bpf_slow_unmap(struct bpf_capture *b);

/* live_ops.set_slow */
void bpf_slow_set(struct capture *c, const u64 *from_ns);

/*
 * After a read of the counters: takes what was reported since the last read. Returns 0 or a negative
 * errno.
 */
int bpf_slow_read(struct bpf_capture *b, const struct snapshot *s);

#endif
