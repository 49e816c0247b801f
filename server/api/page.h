/*
 * page - serves the live page, in forms that are made once.
 *
 * Ownership: page_deinit frees the forms; that of gzip is part of the program.
 * Threads: read only after page_init.
 * Depends on: assets, compress, encoding, response.
 */
#ifndef SERVER_API_PAGE_H
#define SERVER_API_PAGE_H

#include <stddef.h>

#include "sampler/base/err.h"
#include "server/http/encoding.h"

struct request;
struct response;

struct page {
    struct page_form {
        const void *data;
        void *owned; /* the same, if it is to be freed */
        size_t bytes;
    } forms[ENCODING_COUNT];
    char tag[32];
    char csp[2048];
};

MUST_CHECK enum err_code page_init(struct page *page, struct err *err);
void page_deinit(struct page *page);

void page_answer(const struct page *page, const struct request *request,
                 struct response *response);

#endif /* SERVER_API_PAGE_H */
