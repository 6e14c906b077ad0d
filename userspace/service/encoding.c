// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <zlib.h>

#include "service/server_state.h"

#define GZIP_LEVEL 1		/* this kind of text shrinks to a tenth; 6 takes 3 times as long for a fifth less */
#define GZIP_WRAPPER 16		/* added to the window bits, see zlib.h */

struct blob *encoding_gzip(const struct blob *b)
{
	z_stream z = { 0 };
	char *data = NULL;
	uLong bound;

	if (deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, MAX_WBITS + GZIP_WRAPPER, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return NULL;
	bound = deflateBound(&z, b->len);
	data = malloc(bound);
	if (!data) {
		deflateEnd(&z);
		return NULL;
	}
	z.next_in = (Bytef *)b->data;
	z.avail_in = b->len;
	z.next_out = (Bytef *)data;
	z.avail_out = bound;
	deflate(&z, Z_FINISH);	/* with this bound one call is enough */
	deflateEnd(&z);
	return blob_take(data, z.total_out);
}
