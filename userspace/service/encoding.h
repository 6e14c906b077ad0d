/* SPDX-License-Identifier: GPL-2.0-only */
/* Content-Encoding gzip (RFC 9110, 12.5.3). */
#ifndef SERVICE_ENCODING_H
#define SERVICE_ENCODING_H

#include "util/blob.h"

/* Does this Accept-Encoding want it? Takes anything; NULL, without the header, doesn't. */
bool encoding_gzip_wanted(const char *accept);

/* NULL when there is no memory. @b stays the caller's. */
struct blob *encoding_gzip(const struct blob *b);

#endif
