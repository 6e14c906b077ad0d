/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether this kernel and this process can run the BPF engine, and how its tracepoints look. */
#ifndef CAPTURE_BPF_PROBE_H
#define CAPTURE_BPF_PROBE_H

#include "util/problem.h"
#include "util/types.h"

/*
 * Keeps libbpf from printing, since an engine's failure is one sentence; the verifier's words fill
 * pages. BLKLAT_DEBUG in the environment lets whoever works on the programs see them.
 */
void bpf_quiet(void);

/* capture_ops.probe of the BPF engine. */
int bpf_probe(struct problem *p);

/*
 * Where the kernel's own type information is, NULL where it is not in sysfs. For bpf_object_open_opts: libbpf
 * then looks for a type that the kernel lacks, which is how a program learns that it lacks it, nowhere else.
 * Else it goes through the modules' as well, and that takes CAP_SYS_ADMIN (BPF_BTF_GET_NEXT_ID).
 */
const char *bpf_kernel_types(void);

/*
 * Number of arguments of the kernel's tracepoint @name, without the first, its own data; asked of
 * the kernel's BTF, since stable kernels changed them. Returns it, or a negative errno: -ENOENT, the
 * kernel has no such tracepoint.
 */
int bpf_tracepoint_args(const char *name);

/*
 * The value of @name in whichever of the kernel's enums has it, named or not. Returns it, or @otherwise.
 */
int bpf_enum_value(const char *name, int otherwise);

/* Whether the kernel's struct @type has a @member of its own, by BTF. */
bool bpf_struct_has(const char *type, const char *member);

#endif
