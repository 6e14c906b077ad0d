// SPDX-License-Identifier: GPL-2.0-only
/*
 * A recording with the files that SQLite, or somebody else, left beside it. The input begins with three lengths of 32 bits: of the
 * file, its -wal and its -shm; the -journal gets what is left. A file of length 0 is not created.
 */
#include <stdbool.h>

#include "play.h"

enum { FILES = 4 };

static const char *const suffixes[FILES] = { "", "-wal", "-shm", "-journal" };

static size_t take(const uint8_t **data, size_t *len, size_t wanted)
{
	size_t n = wanted < *len ? wanted : *len;

	*data += n;
	*len -= n;
	return n;
}

/* All but the first, which play_bytes() writes. */
static void write_beside(const char *file, u32 i, const uint8_t *data, size_t len)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s%s", file, suffixes[i]);
	unlink(path);
	if (!len)
		return;
	f = fopen(path, "we");
	check(f && fwrite(data, 1, len, f) == len && !fclose(f));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const uint8_t *main_file;
	const char *file;
	u32 lengths[3];
	size_t n;

	if (len < sizeof(lengths))
		return 0;
	memcpy(lengths, data, sizeof(lengths));
	take(&data, &len, sizeof(lengths));
	main_file = data;
	n = take(&data, &len, lengths[0]);
	file = file_of(main_file, n);
	for (u32 i = 1; i < FILES; i++) {
		const uint8_t *at = data;
		size_t beside = take(&data, &len, i < 3 ? lengths[i] : len);

		write_beside(file, i, at, beside);
	}
	play_bytes(main_file, n);
	for (u32 i = 1; i < FILES; i++)
		write_beside(file, i, NULL, 0);
	return 0;
}
