// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "service/parts.h"
#include "util/types.h"

/*
 * No answer may be used by another site, have its type guessed, or be framed. A page that needs more
 * rights than none sends a policy of its own.
 */
static const char *const always[][2] = {
	{ "X-Content-Type-Options", "nosniff" },
	{ "X-Frame-Options", "DENY" },
	{ "Referrer-Policy", "no-referrer" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
	{ "Cross-Origin-Opener-Policy", "same-origin" },
};
static const char policy[] = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

enum MHD_Result answer(struct MHD_Connection *c, unsigned int status, struct MHD_Response *r)
{
	enum MHD_Result result;

	if (!r)
		return MHD_NO;
	for (u32 i = 0; i < ARRAY_SIZE(always); i++)
		MHD_add_response_header(r, always[i][0], always[i][1]);
	if (!MHD_get_response_header(r, "Content-Security-Policy"))
		MHD_add_response_header(r, "Content-Security-Policy", policy);
	if (!MHD_get_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL))
		MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	result = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return result;
}

enum MHD_Result answer_text(struct MHD_Connection *c, unsigned int status, const char *text, const char *const more[2])
{
	struct MHD_Response *r = MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY);

	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain; charset=utf-8");
	if (more)
		MHD_add_response_header(r, more[0], more[1]);
	return answer(c, status, r);
}

enum MHD_Result answer_blob(struct MHD_Connection *c, struct blob *b, const char *type, bool gzip)
{
	struct MHD_Response *r;

	if (!b)
		return answer_text(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n", NULL);
	r = MHD_create_response_from_buffer_with_free_callback_cls(b->len, b->data, blob_release, b);
	if (!r) {
		blob_unref(b);
		return MHD_NO;
	}
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(r, MHD_HTTP_HEADER_VARY, "Accept, Accept-Encoding");
	if (gzip)
		MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
	return answer(c, MHD_HTTP_OK, r);
}
