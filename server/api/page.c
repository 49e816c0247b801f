#include "server/api/page.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "server/wire/assets.h"

static enum err_code compress(struct page *page, enum encoding encoding, struct err *err)
{
    const struct page_form *const plain = &page->forms[ENCODING_IDENTITY];
    void *data = NULL;
    size_t bytes = 0;
    const enum err_code rc =
        encoding_apply(encoding, plain->data, plain->bytes, &data, &bytes, err);
    if (rc == ERR_OK)
        page->forms[encoding] = (struct page_form){ data, bytes };
    return rc;
}

enum err_code page_init(struct page *page, struct err *err)
{
    const struct asset html = asset_page(), csp = asset_page_csp();
    memset(page, 0, sizeof *page);
    if (csp.bytes >= sizeof page->csp)
        return err_set(err, ERR_LIMIT,
                       "the Content-Security-Policy of the page is too long: %zu bytes",
                       csp.bytes);
    memcpy(page->csp, csp.data, csp.bytes);
    snprintf(page->tag, sizeof page->tag, "page-%016" PRIx64,
             hash_bytes(html.data, html.bytes, HASH_SEED));
    page->forms[ENCODING_IDENTITY] = (struct page_form){ html.data, html.bytes };
    enum err_code rc = compress(page, ENCODING_GZIP, err);
    if (rc == ERR_OK)
        rc = compress(page, ENCODING_ZSTD, err);
    if (rc != ERR_OK)
        page_deinit(page);
    return rc;
}

void page_deinit(struct page *page)
{
    for (unsigned i = ENCODING_IDENTITY + 1; i < ENCODING_COUNT; i++) {
        free((void *)(uintptr_t)page->forms[i].data);
        page->forms[i] = (struct page_form){ NULL, 0 };
    }
}

void page_answer(const struct page *page, const struct request *request,
                 struct response *response)
{
    const enum encoding encoding = encoding_choose(request_header(request, "Accept-Encoding"));
    const struct page_form *const form = &page->forms[encoding];
    response_fix_body(response, MIME_HTML, form->data, form->bytes);
    response_set_header(response, "Content-Security-Policy", "%s", page->csp);
    if (encoding != ENCODING_IDENTITY)
        response_set_header(response, "Content-Encoding", "%s", encoding_text(encoding));
    response->is_encoded = true;
    snprintf(response->tag, sizeof response->tag, "%s", page->tag);
}
