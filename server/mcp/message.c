#include "server/mcp/message.h"

#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/plain_text.h"
#include "server/wire/json.h"

void message_begin(struct buffer *out, const char *id, const char *member, struct json *json)
{
    buffer_printf(out, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"%s\":", id, member);
    json_init(json, out);
}

void message_end(struct buffer *out)
{
    buffer_text(out, "}\n");
}

void message_fail(struct buffer *out, const char *id, enum message_fault fault,
                  const char *text)
{
    struct json json;
    message_begin(out, id, "error", &json);
    json_object(&json);
    json_member_int(&json, "code", fault);
    json_member_text(&json, "message", text);
    json_end(&json);
    message_end(out);
}

void message_answer(struct buffer *out, const char *id, const char *before, const char *text,
                    bool is_error)
{
    struct buffer whole = { 0 };
    struct json json;
    buffer_text(&whole, before);
    /* Whoever shows the text shows it in a terminal. */
    while (*text) {
        const size_t length = strcspn(text, "\n\t");
        plain_text_put(&whole, text, length);
        text += length;
        if (*text)
            buffer_char(&whole, *text++);
    }
    const char *const content = buffer_string(&whole);
    message_begin(out, id, "result", &json);
    json_object(&json);
    json_member_array(&json, "content");
    json_object(&json);
    json_member_text(&json, "type", "text");
    json_member_text(&json, "text", content ? content : "out of memory");
    json_end(&json);
    json_end(&json);
    json_member_bool(&json, "isError", is_error || !content);
    json_end(&json);
    message_end(out);
    buffer_deinit(&whole);
}
