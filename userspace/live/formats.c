// SPDX-License-Identifier: GPL-2.0-only
#include "live/formats.h"

const char *const format_names[FORMATS + 1] = {
	[FORMAT_TEXT] = "text",
	[FORMAT_JSON] = "json",
	[FORMAT_CSV] = "csv",
};

int format_open(enum format format, const struct run_info *run, const struct look *look, bool bins, struct sink **ret)
{
	switch (format) {
	case FORMAT_JSON:
		return json_open(run, look->out, bins, ret);
	case FORMAT_CSV:
		return csv_open(run, look->out, bins, ret);
	default:
		return text_open(run, look, ret);
	}
}
