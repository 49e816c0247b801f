#include "server/api/page.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/compress.h"
#include "sampler/base/hash.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "server/wire/assets.h"

enum err_code page_init(struct page *page, struct err *err)
{
    const struct asset packed = asset_page(), csp = asset_page_csp();
    struct page_form *const plain = &page->forms[ENCODING_IDENTITY];
    struct page_form *const zstd = &page->forms[ENCODING_ZSTD];
    memset(page, 0, sizeof *page);
    if (csp.bytes >= sizeof page->csp)
        return err_set(err, ERR_LIMIT,
                       "the Content-Security-Policy of the page is too long: %zu bytes",
                       csp.bytes);
    memcpy(page->csp, csp.data, csp.bytes);
    page->forms[ENCODING_GZIP] =
        (struct page_form){ .data = packed.data, .bytes = packed.bytes };
    unsigned char *html = NULL;
    enum err_code rc = compress_gunzip(packed.data, packed.bytes, &html, &plain->bytes, err);
    if (rc != ERR_OK)
        return rc;
    plain->data = plain->owned = html;
    snprintf(page->tag, sizeof page->tag, "page-%016" PRIx64,
             hash_bytes(html, plain->bytes, HASH_SEED));
    rc = encoding_apply(ENCODING_ZSTD, html, plain->bytes, &zstd->owned, &zstd->bytes, err);
    zstd->data = zstd->owned;
    if (rc != ERR_OK)
        page_deinit(page);
    return rc;
}

void page_deinit(struct page *page)
{
    for (unsigned i = 0; i < ENCODING_COUNT; i++) {
        free(page->forms[i].owned);
        page->forms[i] = (struct page_form){ NULL, NULL, 0 };
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
