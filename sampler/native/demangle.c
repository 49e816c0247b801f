#include "sampler/native/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/scoped.h"
#include "sampler/base/utf8.h"

static const char ellipsis[] = "\xe2\x80\xa6";

/* Depths of template arguments to try, of a name that is too long. */
enum { DEEPEST_ARGUMENTS = 3 };
/* Pieces of output after which a name is given up; a piece may be empty. */
enum { MAX_PIECES = 1 << 20 };

struct output {
    char *text; /* DEMANGLE_MAX_OUTPUT + 1 bytes */
    size_t length, pieces;
    bool is_too_long;
    char *mangled; /* a copy, to be spoiled; NULL: the name is not read any further */
    size_t mangled_bytes;
    jmp_buf end;
};

/* The library has no way to stop it.  While it reads a Rust name it prints, and it holds memory: zeros
 * in the place of the name let it fail.  While it prints a C++ name it holds none, and can be left. */
static void take_piece(const char *piece, size_t bytes, void *to)
{
    struct output *const output = to;
    output->pieces++;
    if (bytes <= DEMANGLE_MAX_OUTPUT - output->length && output->pieces < MAX_PIECES) {
        /* An empty piece may have no address. */
        if (bytes)
            memcpy(output->text + output->length, piece, bytes);
        output->length += bytes;
        return;
    }
    output->is_too_long = true;
    if (!output->mangled)
        longjmp(output->end, 1);
    memset(output->mangled, 0, output->mangled_bytes);
}

static bool demangle_rust(struct output *output, const char *mangled)
{
    char copy[DEMANGLE_MAX_INPUT + 1];
    output->mangled_bytes = strlen(mangled);
    memcpy(copy, mangled, output->mangled_bytes + 1);
    output->mangled = copy;
    const int rc = rust_demangle_callback(copy, DMGL_PARAMS, take_piece, output);
    output->mangled = NULL;
    return rc && !output->is_too_long && output->length > 0;
}

static bool demangle_cpp(struct output *output, const char *mangled)
{
    output->length = output->pieces = 0;
    if (output->is_too_long || setjmp(output->end))
        return false;
    return cplus_demangle_v3_callback(mangled, DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP,
                                      take_piece, output) &&
           output->length > 0;
}

/* The hash of a Rust name of the old kind that was taken for one of C++: "::h0123456789abcdef". */
static bool cut_hash(struct output *output)
{
    enum { HASH_BYTES = 19 };
    if (output->length <= HASH_BYTES)
        return false;
    char *const hash = output->text + output->length - HASH_BYTES;
    if (memcmp(hash, "::h", 3) != 0 || strspn(hash + 3, "0123456789abcdef") != HASH_BYTES - 3)
        return false;
    *hash = '\0';
    output->length -= HASH_BYTES;
    return true;
}

/* Bytes of an operator whose name has angle brackets and which are none. */
static size_t operator_bytes(const char *begin, const char *at)
{
    static const char word[] = "operator";
    const size_t before = sizeof word - 1;
    if ((size_t)(at - begin) >= before && memcmp(at - before, word, before) == 0)
        return strspn(at, "<>=-");
    return (*at == '-' || *at == '=') && at[1] == '>' ? 2 : 0;
}

/* Leaves out what lies deeper in angle brackets.  false: the brackets do not match. */
static bool leave_out(const char *text, int deepest, char *out, size_t *length_out)
{
    int depth = 0;
    size_t length = 0;
    for (const char *at = text; *at;) {
        const size_t symbols = operator_bytes(text, at), bytes = symbols ? symbols : 1;
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

static void shorten(const char *text, size_t length, char out[DEMANGLE_MAX_NAME + 1])
{
    /* Empty brackets grow by an ellipsis. */
    SCOPED_FREE char *shorter =
        length > DEMANGLE_MAX_NAME ? malloc(length * sizeof ellipsis) : NULL;
    size_t shorter_length = length;
    bool is_whole = true;
    for (int depth = DEEPEST_ARGUMENTS;
         shorter && is_whole && depth >= 0 && shorter_length > DEMANGLE_MAX_NAME; depth--)
        is_whole = leave_out(text, depth, shorter, &shorter_length);
    if (shorter && is_whole)
        copy_cut(shorter, shorter_length, out);
    else
        copy_cut(text, length, out);
}

enum demangled demangle(const char *mangled, char out[DEMANGLE_MAX_NAME + 1])
{
    enum demangled found = DEMANGLED_NONE;
    struct output output = { 0 };
    const size_t length = strnlen(mangled, DEMANGLE_MAX_INPUT + 1);
    const bool may_be = length <= DEMANGLE_MAX_INPUT && mangled[0] == '_' &&
                        (mangled[1] == 'Z' || mangled[1] == 'R');
    SCOPED_FREE char *text = may_be ? malloc(DEMANGLE_MAX_OUTPUT + 1) : NULL;
    output.text = text;
    if (text && demangle_rust(&output, mangled))
        found = DEMANGLED_RUST;
    else if (text && demangle_cpp(&output, mangled))
        found = DEMANGLED_CPP;
    if (found == DEMANGLED_NONE) {
        copy_cut(mangled, length, out);
        return found;
    }
    text[output.length] = '\0';
    if (found == DEMANGLED_CPP && cut_hash(&output))
        found = DEMANGLED_RUST;
    shorten(text, strlen(text), out);
    return found;
}
