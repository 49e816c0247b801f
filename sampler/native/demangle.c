#include "sampler/native/demangle.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/scoped.h"
#include "sampler/base/utf8.h"
#include "sampler/native/demangle_work.h"

static const char ellipsis[] = "\xe2\x80\xa6";

/* Depths of template arguments to try, of a name that is too long. */
enum { DEEPEST_ARGUMENTS = 3 };

/* Leaves out what lies deeper in angle brackets.  false: the brackets do not match. */
static bool leave_out_arguments(const char *text, int deepest, char *out, size_t *length_out)
{
    static const char word[] = "operator";
    const size_t before = sizeof word - 1;
    int depth = 0;
    size_t length = 0;
    for (const char *at = text; *at;) {
        /* An operator's name may have angle brackets, which are none. */
        size_t symbols = (*at == '-' || *at == '=') && at[1] == '>' ? 2 : 0;
        if ((size_t)(at - text) >= before && memcmp(at - before, word, before) == 0)
            symbols = strspn(at, "<>=-");
        const size_t bytes = symbols ? symbols : 1;
        const bool is_bracket = !symbols && (*at == '<' || *at == '>');
        if (is_bracket && *at == '>')
            depth--;
        if (depth < 0)
            return false;
        if (depth <= deepest) {
            memcpy(out + length, at, bytes);
            length += bytes;
        }
        if (is_bracket && *at == '<' && depth++ == deepest) {
            memcpy(out + length, ellipsis, sizeof ellipsis - 1);
            length += sizeof ellipsis - 1;
        }
        at += bytes;
    }
    out[length] = '\0';
    *length_out = length;
    return depth == 0;
}

/* The longest beginning that fits and ends with a character. */
static void copy_cut(const char *text, size_t length, char out[DEMANGLE_MAX_NAME + 1])
{
    if (length <= DEMANGLE_MAX_NAME) {
        memcpy(out, text, length + 1);
        return;
    }
    const size_t end = utf8_cut(text, length, DEMANGLE_MAX_NAME - (sizeof ellipsis - 1));
    memcpy(out, text, end);
    memcpy(out + end, ellipsis, sizeof ellipsis);
}

static void shorten_name(const char *text, size_t length, char out[DEMANGLE_MAX_NAME + 1])
{
    /* Empty brackets grow by an ellipsis. */
    SCOPED_FREE char *shorter =
        length > DEMANGLE_MAX_NAME ? malloc(length * sizeof ellipsis) : NULL;
    size_t shorter_length = length;
    bool is_whole = true;
    for (int depth = DEEPEST_ARGUMENTS;
         shorter && is_whole && depth >= 0 && shorter_length > DEMANGLE_MAX_NAME; depth--)
        is_whole = leave_out_arguments(text, depth, shorter, &shorter_length);
    if (shorter && is_whole)
        copy_cut(shorter, shorter_length, out);
    else
        copy_cut(text, length, out);
}

enum demangled demangle_counted(const char *mangled, char out[DEMANGLE_MAX_NAME + 1],
                                uint32_t *steps_out)
{
    static const struct {
        bool (*read)(struct demangle_work *work, const char *mangled, size_t length);
        enum demangled language;
    } languages[] = { { demangle_rust, DEMANGLED_RUST },
                      { demangle_rust_legacy, DEMANGLED_RUST },
                      { demangle_cpp, DEMANGLED_CPP } };
    enum demangled found = DEMANGLED_NONE;
    const size_t length = strnlen(mangled, DEMANGLE_MAX_INPUT + 1);
    const bool may_be = length <= DEMANGLE_MAX_INPUT && mangled[0] == '_' &&
                        (mangled[1] == 'Z' || mangled[1] == 'R');
    SCOPED_FREE char *text = may_be ? malloc(DEMANGLE_MAX_OUTPUT + 1) : NULL;
    struct demangle_work work = { .text = text };
    for (size_t i = 0; text && !found && i < sizeof languages / sizeof *languages; i++) {
        work = (struct demangle_work){ .text = text, .steps = work.steps };
        if (languages[i].read(&work, mangled, length))
            found = languages[i].language;
    }
    *steps_out = work.steps;
    if (found) {
        text[work.length] = '\0';
        shorten_name(text, work.length, out);
    } else {
        copy_cut(mangled, length, out);
    }
    return found;
}

enum demangled demangle(const char *mangled, char out[DEMANGLE_MAX_NAME + 1])
{
    uint32_t steps;
    return demangle_counted(mangled, out, &steps);
}
