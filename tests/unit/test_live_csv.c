// SPDX-License-Identifier: GPL-2.0-only
/* CSV; tests/cli/test_live_output.py has the figures, test_manual.py the columns. */
#include "sink_run.h"

TEST(names_are_quoted_when_they_must)
{
	static const struct { const char *name, *field; } cases[] = {
		{ "dm-0", ",dm-0,device," }, { "a,b", ",\"a,b\",device," }, { "a\"b", ",\"a\"\"b\",device," },
		{ "a\nb", ",\"a\nb\",device," }, { "a b", ",a b,device," }, { "\xFF", ",\xEF\xBF\xBD,device," },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		sink_run_init(FORMAT_CSV);
		strcpy(r.device.name, cases[i].name);
		sink_run_open();
		sink_run_interval();
		assert_non_null(strstr(r.text, cases[i].field));
	}
}
