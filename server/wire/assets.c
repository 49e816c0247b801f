#include "server/wire/assets.h"

/* Defined by assets.S. */
extern const char asset_page_start[], asset_page_end[];
extern const char asset_page_csp_start[], asset_page_csp_end[];
extern const char asset_page_meta_start[], asset_page_meta_end[];
extern const char asset_manual_start[], asset_manual_end[];
extern const char asset_manual_csp_start[], asset_manual_csp_end[];
extern const char asset_openapi_start[], asset_openapi_end[];

static struct asset trim_asset(const char *start, const char *end)
{
    while (end > start && (end[-1] == '\n' || end[-1] == ' '))
        end--;
    return (struct asset){ start, (size_t)(end - start) };
}

struct asset asset_page(void)
{
    return (struct asset){ asset_page_start, (size_t)(asset_page_end - asset_page_start) };
}

struct asset asset_page_csp(void)
{
    return trim_asset(asset_page_csp_start, asset_page_csp_end);
}

struct asset asset_page_meta(void)
{
    return trim_asset(asset_page_meta_start, asset_page_meta_end);
}

struct asset asset_manual(void)
{
    return (struct asset){ asset_manual_start,
                           (size_t)(asset_manual_end - asset_manual_start) };
}

struct asset asset_manual_csp(void)
{
    return trim_asset(asset_manual_csp_start, asset_manual_csp_end);
}

struct asset asset_openapi(void)
{
    return (struct asset){ asset_openapi_start,
                           (size_t)(asset_openapi_end - asset_openapi_start) };
}
