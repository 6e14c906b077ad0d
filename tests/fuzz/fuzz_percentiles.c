// SPDX-License-Identifier: GPL-2.0-only
/* Lists of percentiles: an accepted list is in order and in range, and reads the same when written again. */
#include "play.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char list[512], again[512] = "";
	struct percentiles ps, twice;
	const char *bad = NULL;
	int bad_len = 0, err;

	if (len >= sizeof(list))
		return 0;
	memcpy(list, data, len);
	list[len] = '\0';
	err = percentiles_parse(list, &ps, &bad, &bad_len);
	if (err) {
		check(err == -EINVAL && bad >= list && bad + bad_len <= list + strlen(list));
		return 0;
	}
	check(ps.n >= 1 && ps.n <= PERCENTILES_MAX);
	for (u32 i = 0; i < ps.n; i++) {
		check(ps.p[i].q > 0 && ps.p[i].q <= 1 && (!i || ps.p[i].q > ps.p[i - 1].q));
		strcat(strcat(again, i ? "," : ""), ps.p[i].name);
	}
	check(!percentiles_parse(again, &twice, &bad, &bad_len) && twice.n == ps.n);
	for (u32 i = 0; i < ps.n; i++)
		check(twice.p[i].q == ps.p[i].q && !strcmp(twice.p[i].name, ps.p[i].name));
	return 0;
}
