/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The programs of the BPF engine: which of them a capture takes, when they are attached, and what the
 * kernel skipped of them. A tracepoint has a first program and, on kernels that skip, standbys for it.
 */
#ifndef ENGINE_BPF_PROGRAMS_H
#define ENGINE_BPF_PROGRAMS_H

#include "engine/bpf_engine.h"

/* Before the skeleton is loaded: leaves out what this capture or this kernel has no use for. */
void bpf_choose_programs(struct bpf_capture *b);

/*
 * Attach the programs that see IOs end, then those that see them start, so that an IO seen to start
 * is seen to end. With them go standbys where tracepoints can be preempted. Return 0, or a negative errno
 * and a sentence; what was attached is detached when the skeleton is destroyed.
 */
int bpf_attach_ends(struct bpf_capture *b, struct problem *p);
int bpf_attach_starts(struct bpf_capture *b, struct problem *p);

/*
 * Events that all programs of a tracepoint may have missed, since the kernel skipped each of them as often at
 * least. Attaches one more standby where the last one was skipped, before it comes to that, and detaches one where for
 * 10 s no program was.
 */
u64 bpf_skipped_runs(struct bpf_capture *b);

#endif
