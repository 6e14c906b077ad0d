// SPDX-License-Identifier: GPL-2.0-only
/* web.yml of any kind: what is accepted is complete; what is refused leaves nothing behind and has a sentence. */
#include "play.h"
#include "service/web_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct problem p = { "" };
	struct web_config c;

	if (web_config_parse(&c, "web.yml", (const char *)data, len, &p)) {
		check(!c.users && !c.cert && !c.key && !strncmp(p.text, "web.yml:", 8));
		return 0;
	}
	check(!c.cert == !c.key);
	for (u32 i = 0; i < c.n_users; i++)
		check(c.users[i].name[0] && !strchr(c.users[i].name, ':') && strlen(c.users[i].hash) == 60);
	web_config_free(&c);
	return 0;
}
