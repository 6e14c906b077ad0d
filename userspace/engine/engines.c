// SPDX-License-Identifier: GPL-2.0-only
#include "core/capture.h"

const struct capture_ops *const capture_engines[] = { &capture_bpf, &capture_kmod, NULL };
