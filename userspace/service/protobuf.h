/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the encoders of protobuf have in common: memory for trees of protobuf-c's structures, which is kept until they
 * are packed and then freed all at once.
 */
#ifndef SERVICE_PROTOBUF_H
#define SERVICE_PROTOBUF_H

#include "service/prometheus_families.h"

struct ProtobufCMessage;

struct pb_encoder {
	struct encoder encoder;
	struct pb_piece *pieces;
};

/* Zeroed memory. NULL if there is none; the error is remembered. */
void *pb_take(struct pb_encoder *p, size_t n, size_t size);

/* A copy of @value in valid UTF-8. NULL as above. */
char *pb_text(struct pb_encoder *p, const char *value);

void pb_drop(struct pb_encoder *p);

/* Packs @message and writes it, behind its length as a varint if it is @delimited. Returns 0 or -ENOMEM. */
int pb_write(const struct ProtobufCMessage *message, bool delimited, FILE *out);

#endif
