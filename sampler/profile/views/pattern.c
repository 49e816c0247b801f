#include "sampler/profile/views/pattern.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "sampler/profile/context.h"
#include "sampler/profile/views/code_origin.h"
#include "sampler/profile/views/expression.h"
#include "sampler/profile/wait.h"

static const char blanks[] = " \t\n\v\f\r";

/* Moves *text behind WHAT:, if it has one. */
static int take_what(const char **text)
{
    static const char *const words[] = {
        [PATTERN_FUNCTION] = "function:", [PATTERN_FILE] = "file:",
        [PATTERN_MODULE] = "module:",     [PATTERN_LIBRARY] = "library:",
        [PATTERN_WAIT] = "wait:",         [PATTERN_CONTEXT] = "context:",
    };
    for (int what = PATTERN_FUNCTION; what <= PATTERN_CONTEXT; what++) {
        const size_t length = strlen(words[what]);
        if (strncasecmp(*text, words[what], length) != 0)
            continue;
        *text += length;
        return what;
    }
    return PATTERN_ANY;
}

/* "/.../flags": the last slash; NULL: plain text. */
static const char *end_of_expression(const char *text, size_t length)
{
    const char *end = text + length;
    while (end > text && end[-1] != '/' && strchr("imsu", end[-1]))
        end--;
    if (*text != '/' || end - text < 3 || end[-1] != '/' || memchr(text, '\n', length))
        return NULL;
    return end - 1;
}

enum err_code pattern_init(struct pattern *pattern, const char *text, struct err *err)
{
    char flags[8] = "";
    *pattern = (struct pattern){ 0 };
    text += strspn(text, blanks);
    pattern->what = (unsigned)take_what(&text);
    text += strspn(text, blanks);
    size_t length = strlen(text);
    while (length > 0 && strchr(blanks, text[length - 1]))
        length--;
    if (length == 0)
        return err_set(err, ERR_INVALID,
                       "want text, /an expression/, function:NAME, file:PATH, "
                       "module:NAME, library:NAME, wait:CAUSE, context:VALUE or libraries");
    if (pattern->what == PATTERN_ANY && ((length == 9 && !strncasecmp(text, "libraries", 9)) ||
                                         (length == 7 && !strncasecmp(text, "library", 7)))) {
        pattern->what = PATTERN_LIBRARIES;
        return ERR_OK;
    }
    const char *const end = end_of_expression(text, length);
    if (!end)
        return expression_compile(text, length, NULL, &pattern->expression, err);
    snprintf(flags, sizeof flags, "%.*s", (int)(text + length - end - 1), end + 1);
    return expression_compile(text + 1, (size_t)(end - text - 1), flags, &pattern->expression,
                              err);
}

void pattern_deinit(struct pattern *pattern)
{
    expression_destroy(pattern->expression);
    pattern->expression = NULL;
}

static struct code_origin origin_of(const struct pattern_subject *subject)
{
    return code_origin_of(subject->packages, subject->name, subject->file, subject->library);
}

/* The name of a file, without folders. */
static const char *base_name(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static enum err_code matches_module(struct expression *expression,
                                    const struct pattern_subject *subject, bool *out,
                                    struct err *err)
{
    const struct code_origin origin = origin_of(subject);
    const char *name = origin.name;
    size_t length = origin.length;
    switch (origin.kind) {
    case CODE_SYNTHETIC: return expression_matches(expression, "", 0, out, err);
    case CODE_STANDARD:
        return expression_matches(expression, "Python", strlen("Python"), out, err);
    case CODE_PACKAGE: break;
    case CODE_SYSTEM:
    case CODE_OWN:
        name = base_name(origin.name);
        length = strlen(name);
        if (length >= 3 && strcmp(name + length - 3, ".py") == 0)
            length -= 3;
        break;
    }
    return expression_matches(expression, name, length, out, err);
}

static enum err_code matches_wait(struct expression *expression,
                                  const struct pattern_subject *subject, bool *out,
                                  struct err *err)
{
    struct wait_text wait;
    char text[WAIT_MAX_NAME + 16];
    if (subject->library || strcmp(subject->file, "~") != 0 ||
        !wait_read_name(subject->name, &wait))
        return ERR_OK;
    snprintf(text, sizeof text, "%s %s%s%.*s",
             wait_cause_is_idle(wait.cause) ? "idle" : "blocked", wait_cause_title(wait.cause),
             wait.detail_length ? " " : "", (int)wait.detail_length, wait.detail);
    return expression_matches(expression, text, strlen(text), out, err);
}

enum err_code pattern_matches(const struct pattern *pattern,
                              const struct pattern_subject *subject, bool *out, struct err *err)
{
    struct expression *const expression = pattern->expression;
    const char *const name = subject->name, *const file = subject->file;
    const char *const library = subject->library ? base_name(subject->library) : "";
    char all[PATTERN_MAX_MATCHED];
    *out = false;
    switch (pattern->what) {
    case PATTERN_FUNCTION: return expression_matches(expression, name, strlen(name), out, err);
    case PATTERN_FILE: return expression_matches(expression, file, strlen(file), out, err);
    case PATTERN_MODULE: return matches_module(expression, subject, out, err);
    case PATTERN_LIBRARY:
        return subject->library
                   ? expression_matches(expression, library, strlen(library), out, err)
                   : ERR_OK;
    case PATTERN_CONTEXT: {
        struct context_text context;
        if (subject->library || strcmp(subject->file, "~") != 0 ||
            !context_read_name(subject->name, &context))
            return ERR_OK;
        /* Up to the closing bracket. */
        return expression_matches(expression, context.variable, strlen(context.variable) - 1,
                                  out, err);
    }
    case PATTERN_WAIT: return matches_wait(expression, subject, out, err);
    case PATTERN_LIBRARIES: {
        const enum code_origin_kind kind = origin_of(subject).kind;
        *out = kind == CODE_PACKAGE || kind == CODE_STANDARD || kind == CODE_SYSTEM;
        return ERR_OK;
    }
    case PATTERN_ANY: break;
    }
    snprintf(all, sizeof all, "%s %s:%" PRId32 "%s%s", name, file, subject->line,
             subject->library ? " " : "", library);
    return expression_matches(expression, all, strlen(all), out, err);
}
