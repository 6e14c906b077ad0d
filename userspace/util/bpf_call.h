/* SPDX-License-Identifier: GPL-2.0-only */
/* The system call bpf() itself, which may be refused whatever it is asked for. */
#ifndef UTIL_BPF_CALL_H
#define UTIL_BPF_CALL_H

#include <stdbool.h>

/*
 * Whether every bpf() of the calling thread is refused: by a filter of system calls (seccomp), or, without CAP_BPF, by a
 * kernel before 5.19 with unprivileged_bpf_disabled. (Since then, c8644cd0efe7, such a kernel refuses only commands that
 * create something.)
 */
bool bpf_call_refused(void);

#endif
