// SPDX-License-Identifier: GPL-2.0-only
/* Replay scripts of any kind. */
#include "play.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	play_bytes(data, len);
	return 0;
}
