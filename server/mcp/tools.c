/* The methods of tools: what there is, and calling one. */
#include <stdio.h>
#include <string.h>

#include "server/mcp/call.h"
#include "server/mcp/parts.h"
#include "server/wire/json.h"

static const char *const type_texts[] = {
    [JSON_FLAG] = "boolean", [JSON_NUMBER] = "number", [JSON_TEXT] = "string"
};

static void put_text(struct json *json, const char *key, const char *text)
{
    json_key(json, key);
    json_text(json, text);
}

static void put_flag(struct json *json, const char *key, bool flag)
{
    json_key(json, key);
    json_bool(json, flag);
}

static bool is_argument(const struct mcp_tool *tool, size_t index)
{
    return index < MCP_MAX_ARGUMENTS && tool->arguments[index].name;
}

static void write_argument(struct json *json, const struct mcp_argument *argument)
{
    json_key(json, argument->name);
    json_object(json);
    put_text(json, "type", type_texts[argument->type]);
    put_text(json, "description", argument->description);
    if (argument->choices) {
        json_key(json, "enum");
        json_array(json);
        for (size_t i = 0; argument->choices[i]; i++)
            json_text(json, argument->choices[i]);
        json_end(json);
    }
    json_end(json);
}

static void write_schema(struct json *json, const struct mcp_tool *tool)
{
    json_object(json);
    put_text(json, "type", "object");
    json_key(json, "properties");
    json_object(json);
    for (size_t i = 0; is_argument(tool, i); i++)
        write_argument(json, &tool->arguments[i]);
    json_end(json);
    json_key(json, "required");
    json_array(json);
    for (size_t i = 0; is_argument(tool, i); i++)
        if (tool->arguments[i].is_required)
            json_text(json, tool->arguments[i].name);
    json_end(json);
    put_flag(json, "additionalProperties", false);
    json_end(json);
}

static void write_tool(struct json *json, const struct mcp_tool *tool)
{
    json_object(json);
    put_text(json, "name", tool->name);
    put_text(json, "title", tool->title);
    put_text(json, "description", tool->description);
    json_key(json, "inputSchema");
    write_schema(json, tool);
    json_key(json, "annotations");
    json_object(json);
    put_text(json, "title", tool->title);
    put_flag(json, "readOnlyHint", !tool->changes);
    put_flag(json, "destructiveHint", false);
    put_flag(json, "openWorldHint", false);
    json_end(json);
    json_end(json);
}

void mcp_list_tools(struct mcp *mcp, const char *id, const struct json_value *params)
{
    const struct mcp_tool *tool = NULL;
    struct json json;
    (void)params;
    mcp_begin(mcp, id, "result", &json);
    json_object(&json);
    json_key(&json, "tools");
    json_array(&json);
    for (size_t i = 0; (tool = mcp_tool_at(i)); i++)
        write_tool(&json, tool);
    json_end(&json);
    json_end(&json);
    mcp_end(mcp);
}

static const struct mcp_argument *find_argument(const struct mcp_tool *tool, const char *name)
{
    for (size_t i = 0; is_argument(tool, i); i++)
        if (strcmp(tool->arguments[i].name, name) == 0)
            return &tool->arguments[i];
    return NULL;
}

static bool is_choice(const struct mcp_argument *argument, const char *text)
{
    for (size_t i = 0; argument->choices[i]; i++)
        if (strcmp(argument->choices[i], text) == 0)
            return true;
    return false;
}

/* Checks the arguments; the error names the first fault. */
static enum err_code check(const struct mcp_tool *tool, const struct json_value *arguments,
                           struct err *err)
{
    for (const struct json_value *given = json_value_first(arguments); given;
         given = json_value_next(given)) {
        const char *const name = json_value_name(given);
        const struct mcp_argument *const argument = find_argument(tool, name);
        if (!argument)
            return err_set(err, ERR_INVALID, "%s has no argument \"%.64s\"", tool->name, name);
        if (json_value_member(arguments, name) != given)
            return err_set(err, ERR_INVALID, "argument \"%s\" is given twice", name);
        if (json_value_type(given) == JSON_NULL)
            continue;
        if (json_value_type(given) != argument->type)
            return err_set(err, ERR_INVALID, "argument \"%s\" must be a %s", name,
                           type_texts[argument->type]);
        if (argument->choices && !is_choice(argument, json_value_text(given)))
            return err_set(err, ERR_INVALID, "argument \"%s\" must be one of its choices",
                           name);
    }
    for (size_t i = 0; is_argument(tool, i); i++)
        if (tool->arguments[i].is_required &&
            json_value_type(json_value_member(arguments, tool->arguments[i].name)) == JSON_NULL)
            return err_set(err, ERR_INVALID, "%s needs the argument \"%s\"", tool->name,
                           tool->arguments[i].name);
    return ERR_OK;
}

void mcp_call_tool(struct mcp *mcp, const char *id, const struct json_value *params)
{
    const char *const name = json_value_text(json_value_member(params, "name"));
    const struct json_value *const arguments = json_value_member(params, "arguments");
    const struct mcp_tool *tool = NULL;
    struct call call = { .mcp = mcp, .id = id, .arguments = arguments };
    struct err err = { 0 };
    for (size_t i = 0; name && (tool = mcp_tool_at(i)) && strcmp(tool->name, name) != 0;)
        i++;
    if (!tool)
        mcp_fail(mcp, id, MCP_INVALID_PARAMS, "unknown tool: tools/list has all of them");
    else if (arguments && json_value_type(arguments) != JSON_OBJECT)
        mcp_fail(mcp, id, MCP_INVALID_PARAMS, "the arguments must be an object");
    else if (check(tool, arguments, &err) != ERR_OK)
        mcp_fail(mcp, id, MCP_INVALID_PARAMS, err.message);
    else
        tool->run(&call);
}
