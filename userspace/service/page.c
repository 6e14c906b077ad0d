// SPDX-License-Identifier: GPL-2.0-only
#include "service/server_state.h"

/* Page and policy that userspace/report/web/build.mjs makes; the build passes their folder to the assembler. */
__asm__(".pushsection .rodata\n"
	"live_page:\n"
	".incbin \"web/live.html\"\n"
	"live_page_end:\n"
	"live_policy:\n"
	".incbin \"web/live.policy\"\n"
	".byte 0\n"
	".popsection\n");
/* Hidden: see report/html.c. */
extern const char __attribute__((visibility("hidden"))) live_page[], live_page_end[], live_policy[];

const char *page_text(size_t *ret_len)
{
	*ret_len = live_page_end - live_page;
	return live_page;
}

const char *page_policy(void)
{
	return live_policy;
}
