#include "server/mcp/tool.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "server/http/response.h"
#include "server/wire/json.h"

static const char *const type_texts[] = {
    [JSON_FLAG] = "boolean", [JSON_NUMBER] = "number", [JSON_TEXT] = "string"
};

static const struct tool_argument *argument_at(const struct tool *tool, size_t index)
{
    return index < TOOL_MAX_ARGUMENTS && tool->arguments[index].name ? &tool->arguments[index]
                                                                     : NULL;
}

void tool_describe(struct json *json, const struct tool *tool)
{
    const struct tool_argument *argument = NULL;
    json_object(json);
    json_member_text(json, "name", tool->name);
    json_member_text(json, "title", tool->title);
    json_member_text(json, "description", tool->description);
    json_member_object(json, "inputSchema");
    json_member_text(json, "type", "object");
    json_member_object(json, "properties");
    for (size_t i = 0; (argument = argument_at(tool, i)); i++) {
        json_member_object(json, argument->name);
        json_member_text(json, "type", type_texts[argument->type]);
        json_member_text(json, "description", argument->description);
        if (argument->choices) {
            json_member_array(json, "enum");
            for (size_t choice = 0; argument->choices[choice]; choice++)
                json_text(json, argument->choices[choice]);
            json_end(json);
        }
        json_end(json);
    }
    json_end(json);
    json_member_array(json, "required");
    for (size_t i = 0; (argument = argument_at(tool, i)); i++)
        if (argument->is_required)
            json_text(json, argument->name);
    json_end(json);
    json_member_bool(json, "additionalProperties", false);
    json_end(json);
    json_member_object(json, "annotations");
    json_member_text(json, "title", tool->title);
    json_member_bool(json, "readOnlyHint", !tool->changes);
    json_member_bool(json, "destructiveHint", false);
    json_member_bool(json, "openWorldHint", false);
    json_end(json);
    json_end(json);
}

enum err_code tool_check(const struct tool *tool, const struct json_value *arguments,
                         struct err *err)
{
    const struct tool_argument *argument = NULL;
    for (const struct json_value *given = json_value_first(arguments); given;
         given = json_value_next(given)) {
        const char *const name = json_value_name(given);
        for (size_t i = 0;
             (argument = argument_at(tool, i)) && strcmp(argument->name, name) != 0;)
            i++;
        if (!argument)
            return err_set(err, ERR_INVALID, "%s has no argument \"%.64s\"", tool->name, name);
        if (json_value_member(arguments, name) != given)
            return err_set(err, ERR_INVALID, "argument \"%s\" is given twice", name);
        if (json_value_type(given) == JSON_NULL)
            continue;
        if (json_value_type(given) != argument->type)
            return err_set(err, ERR_INVALID, "argument \"%s\" must be a %s", name,
                           type_texts[argument->type]);
        const char *const *choice = argument->choices;
        while (choice && *choice && strcmp(*choice, json_value_text(given)) != 0)
            choice++;
        if (choice && !*choice)
            return err_set(err, ERR_INVALID, "argument \"%s\" must be one of its choices",
                           name);
    }
    for (size_t i = 0; (argument = argument_at(tool, i)); i++)
        if (argument->is_required &&
            json_value_type(json_value_member(arguments, argument->name)) == JSON_NULL)
            return err_set(err, ERR_INVALID, "%s needs the argument \"%s\"", tool->name,
                           argument->name);
    return ERR_OK;
}

/* Puts process IDs and the ids of sessions where the path names their arguments.  false: one is none, and the call has ended. */
static bool put_path(struct call *call, const char *path, struct buffer *target)
{
    char name[32];
    double pid;
    while (*path) {
        const size_t length = strcspn(path, "{");
        buffer_append(target, path, length);
        path += length;
        if (sscanf(path, "{%31[a-z]}", name) != 1)
            continue;
        path += strlen(name) + 2;
        if (strcmp(name, "pid") == 0) {
            if (!call_pid(call, &pid))
                return false;
            buffer_printf(target, "%.0f", pid);
            continue;
        }
        const char *const session = call_session(call, name);
        if (!session)
            return false;
        buffer_text(target, session);
    }
    return true;
}

/* The words of a command line as one text. */
static void join_words(const struct json_value *words, struct buffer *out)
{
    enum { MAX_COMMAND = 300 };
    for (const struct json_value *word = json_value_first(words);
         word && out->length < MAX_COMMAND; word = json_value_next(word))
        buffer_printf(out, "%s%.300s", out->length > 0 ? " " : "",
                      json_value_text(word) ? json_value_text(word) : "");
}

static void write_value(struct json *json, const struct json_value *value)
{
    switch (json_value_type(value)) {
    case JSON_FLAG: json_bool(json, json_value_flag(value)); break;
    case JSON_NUMBER: json_number(json, json_value_number(value)); break;
    case JSON_TEXT: json_text(json, json_value_text(value)); break;
    case JSON_NULL:
    case JSON_ARRAY:
    case JSON_OBJECT: json_null(json); break;
    }
}

static const struct json_value *value_at(const struct json_value *from, const char *names)
{
    char name[32];
    while (*names) {
        const size_t length = strcspn(names, ".");
        snprintf(name, sizeof name, "%.*s", (int)length, names);
        from = json_value_member(from, name);
        names += length + (names[length] == '.');
    }
    return from;
}

/* Rows that are chosen. */
struct pick {
    const char *search; /* in the command line; NULL: all */
    double left;
};

static bool is_picked(struct pick *pick, const struct json_value *row)
{
    struct buffer command = { 0 };
    if (pick->search)
        join_words(json_value_member(row, "command"), &command);
    const char *const text = pick->search ? buffer_string(&command) : "";
    const bool is_found = text && (!pick->search || strstr(text, pick->search));
    buffer_deinit(&command);
    return is_found && pick->left-- >= 1;
}

/* pick: NULL: all rows. */
static void write_members(struct json *json, const char *members, const struct json_value *from,
                          struct pick *pick)
{
    while (*members && *members != ']') {
        char name[64];
        const size_t length = strcspn(members, "?+[] ");
        snprintf(name, sizeof name, "%.*s", (int)length, members);
        members += length;
        char *const equals = strchr(name, '=');
        const struct json_value *const value = value_at(from, equals ? equals + 1 : name);
        if (equals)
            *equals = '\0';
        if (*name && (value || *members != '?'))
            json_key(json, name);
        if (*members == '[') {
            json_array(json);
            for (const struct json_value *row = json_value_first(value); row;
                 row = json_value_next(row)) {
                if (pick && !is_picked(pick, row))
                    continue;
                json_object(json);
                write_members(json, members + 1, row, NULL);
                json_end(json);
            }
            json_end(json);
            members++;
            for (int depth = 1; *members && depth > 0; members++)
                depth += (*members == '[') - (*members == ']');
        } else if (*members == '+') {
            struct buffer command = { 0 };
            join_words(value, &command);
            json_text(json, buffer_string(&command));
            buffer_deinit(&command);
        } else if (value || *members != '?') {
            write_value(json, value);
        }
        members += strspn(members, "?+ ");
    }
}

enum { USUAL_ROWS = 50 };

static enum call_state answer_members(const struct tool *tool, struct call *call,
                                      struct buffer *target)
{
    const double limit = call_number(call, "limit", USUAL_ROWS);
    struct pick pick = { call_text(call, "search"), limit >= 1 ? limit : 1 };
    struct json_value *answer = NULL;
    struct buffer text = { 0 };
    struct json json;
    if (!call_ask_json(call, tool->method, target, tool->body, &answer))
        return CALL_ANSWERED;
    /* At first nothing is known of any process; a slow one does not hold up the others for long. */
    const bool waits =
        call->may_wait && json_value_number(json_value_member(answer, "examining")) > 0;
    if (!waits) {
        json_init(&json, &text);
        if (*tool->members != '=')
            json_object(&json);
        write_members(&json, tool->members, answer, tool->picks ? &pick : NULL);
        if (*tool->members != '=')
            json_end(&json);
        call_send(call, &json, &text);
    }
    json_value_destroy(answer);
    return waits ? CALL_WAITS : CALL_ANSWERED;
}

enum call_state tool_run(const struct tool *tool, struct call *call)
{
    struct buffer target = { 0 };
    struct response response;
    enum call_state state = CALL_ANSWERED;
    if (tool->run)
        return tool->run(call);
    if (!put_path(call, tool->path, &target)) {
        buffer_deinit(&target);
        return CALL_ANSWERED;
    }
    if (!tool->picks) {
        /* The query has what was given, or what is usual, but for what the path has. */
        const struct tool_argument *argument = NULL;
        char name[40], number[32];
        for (size_t i = 0; (argument = argument_at(tool, i)); i++) {
            const struct json_value *const given =
                json_value_member(call->arguments, argument->name);
            const char *text = json_value_text(given);
            snprintf(name, sizeof name, "{%s}", argument->name);
            snprintf(number, sizeof number, "%.9g", json_value_number(given));
            if (json_value_type(given) == JSON_NUMBER)
                text = number;
            if (json_value_type(given) == JSON_FLAG)
                text = json_value_flag(given) ? "1" : "0";
            if (!text)
                text = argument->usual;
            if (text && !strstr(tool->path, name))
                call_put_query(&target, argument->name, text);
        }
    }
    if (tool->members) {
        state = answer_members(tool, call, &target);
    } else if (call_ask(call, tool->method, &target, tool->body, &response)) {
        struct buffer text = { 0 };
        buffer_append(&text, response.body, response.body_bytes);
        const char *const said = buffer_string(&text);
        call_answer(call, tool->says ? tool->says : said ? said : "", !tool->says);
        buffer_deinit(&text);
        response_deinit(&response);
    }
    buffer_deinit(&target);
    return state;
}
