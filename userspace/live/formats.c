// SPDX-License-Identifier: GPL-2.0-only
#include "core/sink.h"

const struct sink_ops *const sink_formats[] = {
	&sink_text,
	&sink_json,
	&sink_csv,
	NULL,
};
