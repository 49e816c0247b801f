#include "server/mcp/tool.h"

#include <stdio.h>
#include <string.h>

#include "server/wire/json.h"

const char *tool_session(struct call *call, const char *name)
{
    const char *const session = call_text(call, name);
    const size_t length = session ? strlen(session) : 0;
    if (length > 0 && length < MCP_ID_BYTES &&
        strspn(session, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") ==
            length)
        return session;
    call_refuse(call, "argument \"%s\" must be the id of a session, such as \"1\"", name);
    return NULL;
}

uint32_t tool_limit(const struct call *call, uint32_t usual, uint32_t most)
{
    const double wanted = call_number(call, "limit", usual);
    return wanted >= 1 ? wanted < most ? (uint32_t)wanted : most : 1;
}

void tool_put_number(struct buffer *target, const struct call *call, const char *name)
{
    const double value = call_number(call, name, -1);
    char text[32];
    if (value < 0)
        return;
    snprintf(text, sizeof text, "%.9g", value);
    call_put_query(target, name, text);
}

void tool_put_selection(struct buffer *target, const struct call *call)
{
    static const char *const names[] = { "parts", "state", "focus", "ignore", "hide", "show" };
    tool_put_number(target, call, "from");
    tool_put_number(target, call, "to");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (call_text(call, names[i]))
            call_put_query(target, names[i], call_text(call, names[i]));
}

void tool_send(struct call *call, struct json *json, struct buffer *text)
{
    const bool is_whole = json_finish(json, NULL) == ERR_OK;
    const char *const document = buffer_string(text);
    if (is_whole && document)
        call_answer(call, document, true);
    else
        call_refuse(call, "out of memory");
    buffer_deinit(text);
}

void tool_copy(struct json *json, const struct json_value *from, const char *name,
               const char *as)
{
    const struct json_value *const value = json_value_member(from, name);
    json_key(json, as);
    switch (json_value_type(value)) {
    case JSON_FLAG: json_bool(json, json_value_flag(value)); return;
    case JSON_NUMBER: json_number(json, json_value_number(value)); return;
    case JSON_TEXT: json_text(json, json_value_text(value)); return;
    case JSON_NULL:
    case JSON_ARRAY:
    case JSON_OBJECT: break;
    }
    json_null(json);
}
