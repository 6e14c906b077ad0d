/* SPDX-License-Identifier: GPL-2.0-only */
/* Content-Encoding gzip (RFC 9110, 12.5.3). */
#ifndef SERVICE_ENCODING_H
#define SERVICE_ENCODING_H

#include "util/blob.h"

/* Whether a request with this Accept-Encoding wants it. @accept may be any text; NULL: no such header. */
bool encoding_gzip_wanted(const char *accept);

/* Compresses @b, which stays the caller's. NULL if there is no memory. */
struct blob *encoding_gzip(const struct blob *b);

#endif
