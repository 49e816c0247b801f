/*
 * assets - the page and the manual, as part of the program.
 */
#ifndef SERVER_WIRE_ASSETS_H
#define SERVER_WIRE_ASSETS_H

#include <stddef.h>

struct asset {
    const char *data; /* not NUL-terminated */
    size_t bytes;
};

/* The page itself: one self-contained HTML document, compressed by gzip. */
struct asset asset_page(void);
/* The value of Content-Security-Policy it is served with, without a line end. */
struct asset asset_page_csp(void);
/* The <meta> element that says the same in a report. */
struct asset asset_page_meta(void);
/* The manual: one HTML document, compressed by gzip, and the value of Content-Security-Policy that belongs to it. */
struct asset asset_manual(void);
struct asset asset_manual_csp(void);
/* The description of the API, OpenAPI 3.1, compressed by gzip. */
struct asset asset_openapi(void);

#endif /* SERVER_WIRE_ASSETS_H */
