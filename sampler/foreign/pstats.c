/*
 * Files for Python's pstats, of cProfile, profile and Tachyon: a dict in the form of the module marshal,
 *
 *     (file, first line, name): (calls without recursion, calls, own seconds, seconds, callers)
 *
 * where callers is a dict of such keys and (calls, calls without recursion, own seconds, seconds), or the number of calls with
 * `profile`.  An object may be marked, and later ones refer to it by its number.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"
#include "sampler/foreign/call_graph.h"
#include "sampler/foreign/formats.h"
#include "sampler/foreign/gather.h"
#include "sampler/foreign/input.h"
#include "sampler/profile/profile.h"

enum {
    FLAG_REF = 0x80,
    MAX_REFS = 1 << 22,
    MAX_TEXT = 1 << 20,
    MAX_DEPTH = 32,
    KEY_ITEMS = 3,
    CALLER_ITEMS = 4,
    FUNCTION_ITEMS = 5,
    DIGIT_BITS = 15, /* of a long number */
};
/* Seconds that nanoseconds can count. */
static const double MAX_SECONDS = 1e9;

struct marshal_value {
    enum { VALUE_OTHER, VALUE_TEXT, VALUE_NUMBER, VALUE_FUNCTION, VALUE_CALLS } kind;
    union {
        str_id text;
        frame_id function;
        uint32_t calls; /* in their table */
        double number;
    };
};

struct pstats {
    struct gather *gather;
    struct input input;
    struct marshal_value *refs;
    size_t ref_count, ref_room;
    struct call_times *calls; /* those of marked tuples */
    size_t call_count, call_room;
    struct call_graph graph;
    bool has_times; /* of callers */
};

static enum err_code fail_at(const struct pstats *pstats, const char *what, struct err *err)
{
    const enum err_code rc = input_check(&pstats->input, err);
    return rc ? rc
              : err_set(err, ERR_CORRUPT, "%s at byte %" PRIu64, what,
                        input_offset(&pstats->input));
}

/* The next bytes; NULL: the file ends before. */
static const unsigned char *take_bytes(struct pstats *pstats, size_t bytes)
{
    struct input *const input = &pstats->input;
    if (!input_ready(input, bytes))
        return NULL;
    input->at += bytes;
    return input->data + input->at - bytes;
}

/* A whole number, low byte first; false: the file ends before. */
static bool take_fixed(struct pstats *pstats, size_t bytes, uint64_t *out)
{
    const unsigned char *const data = take_bytes(pstats, bytes);
    *out = 0;
    for (size_t i = data ? bytes : 0; i-- > 0;)
        *out = *out << 8 | data[i];
    return data != NULL;
}

static enum err_code read_text(struct pstats *pstats, size_t size_bytes,
                               struct marshal_value *out, struct err *err)
{
    uint64_t bytes;
    const unsigned char *text = NULL;
    if (take_fixed(pstats, size_bytes, &bytes) && bytes <= MAX_TEXT)
        text = take_bytes(pstats, (size_t)bytes);
    if (!text)
        return fail_at(pstats, "a text is too long, or was cut,", err);
    out->kind = VALUE_TEXT;
    return strtab_intern(profile_strings(pstats->gather->profile), (const char *)text,
                         (size_t)bytes, &out->text, err);
}

/* A number by its type. */
static enum err_code read_number(struct pstats *pstats, int type, struct marshal_value *out,
                                 struct err *err)
{
    uint64_t bits = 0;
    bool is_there = false;
    out->kind = VALUE_NUMBER;
    if (type == 'i') {
        is_there = take_fixed(pstats, 4, &bits);
        out->number = (double)(int32_t)(uint32_t)bits;
    } else if (type == 'I') {
        is_there = take_fixed(pstats, 8, &bits);
        out->number = (double)(int64_t)bits;
    } else if (type == 'g') {
        is_there = take_fixed(pstats, 8, &bits);
        memcpy(&out->number, &bits, sizeof bits);
    } else if (type == 'f') {
        char text[256] = "";
        const unsigned char *const digits =
            take_fixed(pstats, 1, &bits) ? take_bytes(pstats, (size_t)bits) : NULL;
        if (digits)
            memcpy(text, digits, (size_t)bits);
        is_there = digits != NULL;
        out->number = strtod(text, NULL);
    } else {
        is_there = take_fixed(pstats, 4, &bits);
        const int64_t count = (int32_t)(uint32_t)bits;
        double scale = 1;
        /* More digits are no number of calls. */
        is_there &= count > -8 && count < 8;
        out->number = 0;
        for (int64_t i = 0; is_there && i < llabs(count); i++) {
            is_there = take_fixed(pstats, 2, &bits);
            out->number += scale * (double)bits;
            scale *= 1 << DIGIT_BITS;
        }
        out->number = count < 0 ? -out->number : out->number;
    }
    return is_there ? ERR_OK : fail_at(pstats, "a number is too long, or was cut,", err);
}

/* Takes the type of a value, and gives it a number if it is marked; *ref_out: the number, or SIZE_MAX. */
static enum err_code take_type(struct pstats *pstats, int *out, size_t *ref_out,
                               struct err *err)
{
    const int type = input_take(&pstats->input);
    *ref_out = SIZE_MAX;
    if (type < 0)
        return fail_at(pstats, "it was cut", err);
    *out = type & ~FLAG_REF;
    if (!(type & FLAG_REF))
        return ERR_OK;
    if (pstats->ref_count == MAX_REFS)
        return err_set(err, ERR_LIMIT, "it has more than %d objects", MAX_REFS);
    if (!VEC_RESERVE(pstats->refs, pstats->ref_room, pstats->ref_count + 1))
        return err_nomem(err);
    *ref_out = pstats->ref_count++;
    pstats->refs[*ref_out] = (struct marshal_value){ .kind = VALUE_OTHER };
    return ERR_OK;
}

static enum err_code take_tuple(struct pstats *pstats, int type, uint64_t *count_out,
                                struct err *err)
{
    if ((type != '(' && type != ')') || !take_fixed(pstats, type == '(' ? 4 : 1, count_out))
        return fail_at(pstats, "a tuple is missing", err);
    return ERR_OK;
}

static enum err_code read_value(struct pstats *pstats, unsigned depth,
                                struct marshal_value *out, struct err *err);

/* Reads so many values, and keeps the last one. */
static enum err_code read_values(struct pstats *pstats, unsigned depth, uint64_t count,
                                 struct marshal_value *out, struct err *err)
{
    enum err_code rc = ERR_OK;
    if (depth == MAX_DEPTH)
        return fail_at(pstats, "too many levels", err);
    for (uint64_t i = 0; i < count && !rc; i++)
        rc = read_value(pstats, depth + 1, out, err);
    return rc;
}

/* A code object, which `profile` has for the name of a program; it is known by its qualified name.  Up to 3.10 it has six numbers and then
 * seven objects before its name, a number and an object behind it; from 3.11 on five, the same seven, a number and two. */
static enum err_code read_code(struct pstats *pstats, unsigned depth, struct marshal_value *out,
                               struct err *err)
{
    enum { NUMBER_BYTES = 4, BYTES = 's', OBJECTS = 8 };
    uint64_t number;
    struct marshal_value rest;
    bool is_there = take_bytes(pstats, (size_t)5 * NUMBER_BYTES) != NULL;
    const bool is_new = (input_peek(&pstats->input) & ~FLAG_REF) == BYTES;
    is_there &= is_new || take_fixed(pstats, NUMBER_BYTES, &number);
    enum err_code rc = is_there ? read_values(pstats, depth, OBJECTS, out, err)
                                : fail_at(pstats, "it was cut", err);
    if (!rc && (!take_fixed(pstats, NUMBER_BYTES, &number) || out->kind != VALUE_TEXT))
        rc = fail_at(pstats, "a code object without a name", err);
    return rc ? rc : read_values(pstats, depth, is_new ? 2 : 1, &rest, err);
}

/* A value of any type that names and numbers of functions have. */
static enum err_code read_value(struct pstats *pstats, unsigned depth,
                                struct marshal_value *out, struct err *err)
{
    int type;
    size_t ref;
    uint64_t number;
    struct marshal_value item;
    enum err_code rc = take_type(pstats, &type, &ref, err);
    *out = (struct marshal_value){ .kind = VALUE_OTHER };
    if (rc)
        return rc;
    switch (type) {
    case 'r':
        if (!take_fixed(pstats, 4, &number) || number >= pstats->ref_count)
            return fail_at(pstats, "a reference to an object that is not there", err);
        *out = pstats->refs[number];
        return ERR_OK;
    case 'i':
    case 'I':
    case 'g':
    case 'f':
    case 'l': rc = read_number(pstats, type, out, err); break;
    case 'z':
    case 'Z': rc = read_text(pstats, 1, out, err); break;
    case 'a':
    case 'A':
    case 'u':
    case 't':
    case 's': rc = read_text(pstats, 4, out, err); break;
    case 'N':
    case 'T':
    case 'F': break;
    case '(':
    case ')':
        rc = take_tuple(pstats, type, &number, err);
        if (!rc)
            rc = read_values(pstats, depth, number, &item, err);
        break;
    case 'c': rc = read_code(pstats, depth, out, err); break;
    default: return fail_at(pstats, "an object of another type", err);
    }
    if (!rc && ref != SIZE_MAX)
        pstats->refs[ref] = *out;
    return rc;
}

static enum err_code read_numbers(struct pstats *pstats, double *out, size_t count,
                                  struct err *err)
{
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < count && !rc; i++) {
        struct marshal_value value;
        rc = read_value(pstats, 0, &value, err);
        if (!rc && (value.kind != VALUE_NUMBER || !isfinite(value.number)))
            rc = fail_at(pstats, "a number is missing", err);
        out[i] = value.number;
    }
    return rc;
}

/* The number of calls is the greater one: that with recursion stands first or second. */
static enum err_code read_times(struct pstats *pstats, struct call_times *out, struct err *err)
{
    double numbers[4];
    const enum err_code rc = read_numbers(pstats, numbers, 4, err);
    if (rc)
        return rc;
    *out = (struct call_times){ fmax(numbers[0], numbers[1]), numbers[2], numbers[3] };
    if (out->self > MAX_SECONDS || out->total > MAX_SECONDS)
        return err_set(err, ERR_LIMIT, "its times are too large");
    return ERR_OK;
}

/* A tuple is taken up to its items. */
static enum err_code read_function(struct pstats *pstats, frame_id *out, struct err *err)
{
    const struct profile_snapshot rows = { .profile = pstats->gather->profile };
    struct marshal_value file, line, name;
    enum err_code rc = read_value(pstats, 0, &file, err);
    if (!rc)
        rc = read_value(pstats, 0, &line, err);
    if (!rc)
        rc = read_value(pstats, 0, &name, err);
    if (rc)
        return rc;
    if (file.kind != VALUE_TEXT || line.kind != VALUE_NUMBER || name.kind != VALUE_TEXT)
        return fail_at(pstats, "a function without a file, a line or a name", err);
    const struct strtab_string path = profile_string(&rows, file.text);
    const struct strtab_string word = profile_string(&rows, name.text);
    struct gather_text text = { word.text, word.length }, where = { path.text, path.length };
    /* A C function has no file; it is no mark either. */
    const unsigned char *const data = (const unsigned char *)word.text;
    if (gather_text_is(where, "~") && (input_has(data, word.length, "<built-in ") ||
                                       input_has(data, word.length, "<method ")))
        where.bytes = 0;
    const int64_t first_line = line.number > 0 && line.number < 1e9 ? (int64_t)line.number : 0;
    return gather_frame(pstats->gather, text, where, first_line, 0, out, err);
}

/* A key: a function, or a reference to one.  *out 0: a tuple of one, with which Tachyon says that it sampled. */
static enum err_code read_key(struct pstats *pstats, bool *has_more, frame_id *out,
                              struct err *err)
{
    struct marshal_value mark;
    int type;
    size_t ref;
    uint64_t number = 0;
    enum err_code rc = take_type(pstats, &type, &ref, err);
    *has_more = rc || type != '0';
    if (rc || type == '0')
        return rc;
    if (type == 'r') {
        if (!take_fixed(pstats, 4, &number) || number >= pstats->ref_count ||
            pstats->refs[number].kind != VALUE_FUNCTION)
            return fail_at(pstats, "a reference to a function that is not there", err);
        *out = pstats->refs[number].function;
        return ERR_OK;
    }
    rc = take_tuple(pstats, type, &number, err);
    *out = 0;
    if (!rc && number == 1)
        return read_value(pstats, 0, &mark, err);
    if (!rc && number != KEY_ITEMS)
        rc = fail_at(pstats, "a function is no tuple of three", err);
    if (!rc)
        rc = read_function(pstats, out, err);
    if (!rc && ref != SIZE_MAX)
        pstats->refs[ref] = (struct marshal_value){ .kind = VALUE_FUNCTION, .function = *out };
    return rc;
}

/* The value of a caller: times, or of `profile` a number of calls, which divides the times of the callee. */
static enum err_code read_caller(struct pstats *pstats, const struct call_times *callee,
                                 struct call_times *out, struct err *err)
{
    int type = input_peek(&pstats->input);
    size_t ref;
    uint64_t count;
    struct marshal_value value;
    enum err_code rc;
    if (type >= 0 && ((type & ~FLAG_REF) == '(' || (type & ~FLAG_REF) == ')')) {
        rc = take_type(pstats, &type, &ref, err);
        if (!rc)
            rc = take_tuple(pstats, type, &count, err);
        if (!rc && count != CALLER_ITEMS)
            rc = fail_at(pstats, "a caller is no tuple of four", err);
        if (!rc)
            rc = read_times(pstats, out, err);
        if (rc || ref == SIZE_MAX)
            return rc;
        if (!VEC_RESERVE(pstats->calls, pstats->call_room, pstats->call_count + 1))
            return err_nomem(err);
        pstats->refs[ref] = (struct marshal_value){ .kind = VALUE_CALLS,
                                                    .calls = (uint32_t)pstats->call_count };
        pstats->calls[pstats->call_count++] = *out;
        return ERR_OK;
    }
    rc = read_value(pstats, 0, &value, err);
    if (rc)
        return rc;
    if (value.kind == VALUE_CALLS) {
        *out = pstats->calls[value.calls];
        return ERR_OK;
    }
    if (value.kind != VALUE_NUMBER || !isfinite(value.number))
        return fail_at(pstats, "a caller without times or a number of calls", err);
    const double part = callee->calls > 0 ? fmin(fmax(value.number / callee->calls, 0), 1) : 0;
    *out = (struct call_times){ value.number, callee->self * part, callee->total * part };
    pstats->has_times = false;
    return ERR_OK;
}

static enum err_code read_row(struct pstats *pstats, frame_id function, struct err *err)
{
    int type;
    size_t ref;
    uint64_t count = 0;
    struct call_times times;
    enum err_code rc = take_type(pstats, &type, &ref, err);
    if (!rc)
        rc = take_tuple(pstats, type, &count, err);
    if (!rc && count != FUNCTION_ITEMS)
        rc = fail_at(pstats, "the numbers of a function are no tuple of five", err);
    if (!rc)
        rc = read_times(pstats, &times, err);
    if (!rc)
        rc = call_graph_function(&pstats->graph, function, times, err);
    if (!rc)
        rc = take_type(pstats, &type, &ref, err);
    if (!rc && type != '{')
        rc = fail_at(pstats, "the callers of a function are missing", err);
    for (bool has_more = true; has_more && !rc;) {
        frame_id caller = 0;
        struct call_times call;
        rc = read_key(pstats, &has_more, &caller, err);
        if (!rc && has_more)
            rc = read_caller(pstats, &times, &call, err);
        if (!rc && has_more)
            rc = call_graph_call(&pstats->graph, caller, function, call, err);
    }
    return rc;
}

/* A dict whose first key is a tuple of three that begins with a text, or an empty one. */
bool pstats_begins(const unsigned char *data, size_t bytes)
{
    static const char texts[] = "zZaAuts";
    if (bytes < 2 || (data[0] & ~FLAG_REF) != '{')
        return false;
    if (data[1] == '0')
        return bytes == 2;
    const int tuple = data[1] & ~FLAG_REF;
    const size_t text_at = tuple == ')' ? 3 : 6;
    return (tuple == ')' || tuple == '(') && bytes > text_at && data[2] == KEY_ITEMS &&
           memchr(texts, data[text_at] & ~FLAG_REF, sizeof texts - 1) != NULL;
}

enum err_code pstats_read(struct gather *gather, int fd, struct err *err)
{
    struct pstats pstats = { .gather = gather, .has_times = true };
    const struct gather_text none = { "", 0 };
    int type;
    size_t ref;
    struct marshal_value value;
    thread_id thread = 0;
    gather->is_time = true;
    enum err_code rc = input_open(&pstats.input, fd, err);
    if (!rc)
        rc = take_type(&pstats, &type, &ref, err);
    for (bool has_more = true; has_more && !rc;) {
        frame_id function = 0;
        rc = read_key(&pstats, &has_more, &function, err);
        if (!rc && has_more)
            rc = function ? read_row(&pstats, function, err)
                          : read_value(&pstats, 0, &value, err);
    }
    if (!rc)
        rc = gather_thread(gather, 0, none, 0, 0, none, &thread, err);
    if (!rc)
        rc = call_graph_gather(&pstats.graph, gather, thread, err);
    snprintf(gather->lacks, sizeof gather->lacks,
             "states, order, threads, lines, stacks (estimated from %s)",
             pstats.has_times ? "callers" : "numbers of calls");
    input_close(&pstats.input);
    call_graph_deinit(&pstats.graph);
    free(pstats.refs);
    free(pstats.calls);
    return rc;
}
