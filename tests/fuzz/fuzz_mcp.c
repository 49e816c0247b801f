/* Any bytes, as what a client of pyrometer mcp sends.  The API answers with the last line of the input. */
#include <string.h>

#include "sampler/base/buffer.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "server/mcp/mcp.h"
#include "server/wire/json_value.h"
#include "tests/fuzz/fuzz.h"

struct said {
    const char *text;
    size_t bytes;
};

static void answer(void *context, struct request *request, struct response *response)
{
    const struct said *const said = context;
    fuzz_check(strncmp(request->path, "/api/v1/", 8) == 0 || request->refusal);
    if (request->refusal)
        response_problem(response, request->refusal, "refused");
    else
        response_fix_body(response, MIME_JSON, said->text, said->bytes);
}

static enum err_code open_capture(void *context, const char *path, char id[MCP_ID_BYTES],
                                  struct err *err)
{
    (void)context;
    if (*path != '/')
        return err_set(err, ERR_INVALID, "cannot read '%.200s'", path);
    memcpy(id, "7", 2);
    return ERR_OK;
}

/* Whatever came in, what goes out is an object in each line. */
static void check(struct buffer *out)
{
    const char *const text = buffer_string(out);
    for (const char *line = text ? text : ""; *line;) {
        const char *const end = strchr(line, '\n');
        struct json_value *value = NULL;
        fuzz_check(end != NULL);
        fuzz_check(json_value_parse(line, (size_t)(end - line), &value, NULL) == ERR_OK);
        fuzz_check(json_value_type(value) == JSON_OBJECT);
        json_value_destroy(value);
        line = end + 1;
    }
    buffer_clear(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *const text = (const char *)data;
    size_t sent = size;
    while (sent > 0 && text[sent - 1] != '\n')
        sent--;
    struct said said = { text + sent, size - sent };
    const struct mcp_host host = { &said, answer, open_capture };
    struct buffer out = { 0 };
    struct mcp *mcp = NULL;
    if (mcp_create(&host, &out, &mcp, NULL) != ERR_OK)
        return 0;
    mcp_take(mcp, text, sent);
    check(&out);
    mcp_poll(mcp);
    check(&out);
    mcp_destroy(mcp);
    buffer_deinit(&out);
    return 0;
}
