/*
 * document - writes a JSON answer: a buffer, a JSON writer, and passing the result to the response.
 *
 *     struct document document;
 *     document_begin(&document);
 *     json_object(&document.json); ... json_end(&document.json);
 *     return document_send(&document, response, err);
 *
 * Ownership: document_send ends it, whatever it returns.
 */
#ifndef SERVER_HTTP_DOCUMENT_H
#define SERVER_HTTP_DOCUMENT_H

#include "sampler/base/buffer.h"
#include "sampler/base/err.h"
#include "server/wire/json.h"

struct response;

struct document {
    struct buffer buffer;
    struct json json;
};

void document_begin(struct document *document);
MUST_CHECK enum err_code document_send(struct document *document, struct response *response,
                                       struct err *err);
/* Sends the document if `rc` is ERR_OK; otherwise frees it and returns `rc`. */
MUST_CHECK enum err_code document_send_or_drop(struct document *document, enum err_code rc,
                                               struct response *response, struct err *err);

#endif /* SERVER_HTTP_DOCUMENT_H */
