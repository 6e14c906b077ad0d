// SPDX-License-Identifier: GPL-2.0-only
#include "core/capture.h"

const struct capture_engine *const capture_engines[] = { &engine_bpf, &engine_kmod, NULL };
