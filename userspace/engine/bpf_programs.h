/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The programs of the BPF engine: which of them a capture uses, when they are attached, and how often
 * the kernel skipped them. A tracepoint has a first program and, on kernels that skip runs, standbys
 * for it.
 */
#ifndef ENGINE_BPF_PROGRAMS_H
#define ENGINE_BPF_PROGRAMS_H

#include "engine/bpf_engine.h"

/* Before the skeleton is loaded: leaves out programs that this capture or this kernel does not need. */
void bpf_choose_programs(struct bpf_capture *b);

/*
 * After that: leaves out the barriers of a CPU that is not x86 if the kernel does not take what they are made of (arm64 before
 * 5.18, 1902472b4fa9). Without them a read may see an IO too early, see bpf/slots.bpf.h. Returns 0 or a negative errno.
 */
int bpf_fit_programs(struct bpf_capture *b);

/*
 * Attach the programs that see IOs end, then those that see them start, so that an IO that is seen to
 * start is seen to end. Those of ends have a standby at first; where tracepoints can be preempted, all have two.
 * Return 0, or a negative errno and a sentence; what was attached is detached when the skeleton is
 * destroyed.
 */
int bpf_attach_ends(struct bpf_capture *b, struct problem *p);
int bpf_attach_starts(struct bpf_capture *b, struct problem *p);

/*
 * Returns the number of events that all programs of a tracepoint may have missed: the kernel skipped
 * each of them at least that often. Attaches and detaches standbys, see standbys_wanted(). @ios: how many IOs have
 * started in this capture, on all devices.
 */
u64 bpf_skipped_runs(struct bpf_capture *b, u64 ios);

#endif
