#define _GNU_SOURCE
#include "sampler/cpython/objects/command_text.h"

#include <string.h>

#include "sampler/base/python_command.h"

/* The most lines of decorators before a function. */
enum { MAX_LINES = 64 };

static bool begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

const char *command_text_find(size_t argc, char *const *argv)
{
    const char *const text = python_command_text(argc, (const char *const *)argv);
    return text && begins_with(text, "from multiprocessing.") ? NULL : text;
}

/* The text from a line on; NULL: it has fewer. */
static const char *line_at(const char *text, int32_t line)
{
    for (; line > 1 && text; line--) {
        text = strchr(text, '\n');
        if (text)
            text++;
    }
    return text;
}

static bool is_name_end(char c)
{
    return c == '(' || c == ':' || c == '[' || c == ' ' || c == '\t' || c == '\0';
}

/* "def name(", "async def name(", "class name:" */
static bool defines_name(const char *at, const char *name, size_t length, bool *is_other)
{
    at += strspn(at, " \t");
    at += begins_with(at, "async ") ? strlen("async ") : 0;
    at += strspn(at, " \t");
    *is_other = begins_with(at, "def ") || begins_with(at, "class ");
    if (!*is_other)
        return false;
    at += strcspn(at, " ");
    at += strspn(at, " \t");
    return strncmp(at, name, length) == 0 && is_name_end(at[length]);
}

static bool has_word(const char *line, const char *word)
{
    const char *const found = strstr(line, word);
    const char *const end = strchr(line, '\n');
    return found && (!end || found < end);
}

bool command_text_has(const char *text, const char *name, size_t length, int32_t line)
{
    const char *const dot = memrchr(name, '.', length);
    const char *const base = dot ? dot + 1 : name;
    const size_t base_length = length - (size_t)(base - name);
    const char *at = line_at(text, line);
    bool is_other = false;
    if (length == strlen("<module>") && memcmp(name, "<module>", length) == 0) {
        /* Until 3.9 a module begins at its first statement. */
        for (; line > 1 && text; line--, text = line_at(text, 2)) {
            const size_t blank = strspn(text, " \t");
            if (text[blank] != '\n' && text[blank] != '#')
                return false;
        }
        return true;
    }
    if (line < 1 || !at)
        return false;
    if (*base == '<')
        return base_length == strlen("<lambda>") && memcmp(base, "<lambda>", base_length) == 0
                   ? has_word(at, "lambda")
                   : has_word(at, "for");
    for (int i = 0; i < MAX_LINES && at && !is_other; i++) {
        if (defines_name(at, base, base_length, &is_other))
            return true;
        at = line_at(at, 2);
    }
    return false;
}
