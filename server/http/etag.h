/*
 * etag - validators: tags that name content, and their comparison.
 *
 * A tag is the name of the content plus its coding, because HTTP requires different tags for different
 * bytes.
 */
#ifndef SERVER_HTTP_ETAG_H
#define SERVER_HTTP_ETAG_H

#include <stdbool.h>

/* Is `tag` (without quotes) in this If-None-Match value?  Weak comparison; `*` is any. */
bool etag_matches(const char *if_none_match, const char *tag);

#endif /* SERVER_HTTP_ETAG_H */
