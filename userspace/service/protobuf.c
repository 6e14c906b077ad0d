// SPDX-License-Identifier: GPL-2.0-only
#include "service/protobuf.h"

#include <errno.h>
#include <protobuf-c/protobuf-c.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/utf8.h"

struct pb_piece {
	struct pb_piece *next;
	_Alignas(16) char data[];
};

void *pb_take(struct pb_encoder *p, size_t n, size_t size)
{
	struct pb_piece *piece = calloc(1, sizeof(*piece) + n * size);

	if (!piece) {
		p->encoder.err = -ENOMEM;
		return NULL;
	}
	piece->next = p->pieces;
	p->pieces = piece;
	return piece->data;
}

char *pb_text(struct pb_encoder *p, const char *value)
{
	size_t room = 3 * strlen(value) + 1;
	char *text = pb_take(p, room, 1);

	if (text)
		utf8_clean(text, room, value);
	return text;
}

void pb_drop(struct pb_encoder *p)
{
	while (p->pieces) {
		struct pb_piece *next = p->pieces->next;

		free(p->pieces);
		p->pieces = next;
	}
}

static void put_length(FILE *out, size_t n)
{
	for (; n >= 0x80; n >>= 7)
		putc((n & 0x7f) | 0x80, out);
	putc(n, out);
}

int pb_write(const struct ProtobufCMessage *message, bool delimited, FILE *out)
{
	size_t n = protobuf_c_message_get_packed_size(message);
	CLEANUP(cleanup_free) uint8_t *packed = malloc(n);

	if (!packed)
		return -ENOMEM;
	protobuf_c_message_pack(message, packed);
	if (delimited)
		put_length(out, n);
	fwrite(packed, 1, n, out);
	return 0;
}
