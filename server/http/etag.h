/*
 * etag - validators: naming content, and comparing names.
 *
 * A tag is the content's name plus the coding it travels in, as HTTP demands different tags for
 * different bytes.
 *
 * Depends on: libc.
 */
#ifndef SERVER_HTTP_ETAG_H
#define SERVER_HTTP_ETAG_H

#include <stdbool.h>

/* Is `tag` (without quotes) in this If-None-Match value?  Weak comparison; `*` is any. */
bool etag_matches(const char *if_none_match, const char *tag);

#endif /* SERVER_HTTP_ETAG_H */
