/* SPDX-License-Identifier: GPL-2.0-only */
/* What the system allows the process: open files, memory, the system call bpf(). */
#ifndef UTIL_PROCESS_H
#define UTIL_PROCESS_H

#include "util/types.h"

/*
 * Raises the soft limit of open files to the hard one. Systems keep the soft limit low for programs that
 * call select(2), which this one does not. Child processes would inherit the raised limit, so they are
 * given the former one (live/child.c).
 */
void limits_raise_files(void);

/* How much memory a file may make us take unless the user says otherwise: half of all memory, at most 4 GiB. */
u64 limits_memory(void);

/*
 * Whether every bpf() of the calling thread is refused: by a filter of system calls (seccomp), or, without CAP_BPF,
 * by a kernel before 5.19 with unprivileged_bpf_disabled. (Since then, c8644cd0efe7, such a kernel refuses only
 * commands that create something.)
 */
bool bpf_call_refused(void);

#endif
