#include "server/http/document.h"

#include "server/http/response.h"

void document_begin(struct document *document)
{
    document->buffer = (struct buffer){ 0 };
    json_init(&document->json, &document->buffer);
}

enum err_code document_send(struct document *document, struct response *response,
                            struct err *err)
{
    enum err_code rc = json_finish(&document->json, err);
    if (!rc)
        rc = response_take_buffer(response, MIME_JSON, &document->buffer, err);
    buffer_deinit(&document->buffer);
    return rc;
}

enum err_code document_send_or_drop(struct document *document, enum err_code rc,
                                    struct response *response, struct err *err)
{
    if (!rc)
        return document_send(document, response, err);
    buffer_deinit(&document->buffer);
    return rc;
}
