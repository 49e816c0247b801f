#include <string.h>

#include "sampler/native/demangle_cpp.h"

/* The arguments that parameters of templates stand for.  The same parameter may be written in several scopes, because a
 * substitution repeats its number and not its meaning.  An argument is written in the scope around that of its template. */
struct scope {
    struct scope *outer;
    cpp_id arguments; /* of a lambda, names of its parameters */
    bool is_lambda;
    bool is_expanding; /* of packs only one item is written */
    uint32_t item;
    uint32_t items; /* of the pack that was met */
    bool has_pack;  /* one was met */
};

struct writer {
    struct demangle_work *work;
    const struct cpp_part *parts;
    struct scope *scope;
};

static void write_before(struct writer *writer, cpp_id id);
static void write_after(struct writer *writer, cpp_id id);

static void write_part(struct writer *writer, cpp_id id)
{
    if (!id)
        return;
    write_before(writer, id);
    write_after(writer, id);
}

static char last_written(const struct writer *writer)
{
    return writer->work->length ? writer->work->text[writer->work->length - 1] : '\0';
}

static void write_text(struct writer *writer, const struct cpp_part *part)
{
    demangle_write(writer->work, part->text, part->text_bytes);
}

/* An item of which nothing is written has no comma either. */
static void write_list(struct writer *writer, cpp_id list)
{
    size_t begin = writer->work->length;
    for (bool is_first = true; list && demangle_step(writer->work, 1);
         list = writer->parts[list].second) {
        const size_t before = writer->work->length;
        if (!is_first)
            demangle_write_text(writer->work, ", ");
        const size_t after = writer->work->length;
        write_part(writer, writer->parts[list].first);
        if (writer->work->length == after)
            writer->work->length = before;
        is_first = writer->work->length == begin;
    }
}

static uint32_t count_list(struct writer *writer, cpp_id list)
{
    uint32_t count = 0;
    for (; list && writer->parts[list].first && demangle_step(writer->work, 1); count++)
        list = writer->parts[list].second;
    return count;
}

/* The argument that a parameter stands for in a scope, and the scope in which that is written.  0: the name has no such
 * argument, or an expanded pack no such item. */
static cpp_id argument_of(struct writer *writer, const struct cpp_part *parameter,
                          struct scope **scope)
{
    struct scope *const here = *scope;
    cpp_id argument = 0;
    if (!parameter->is_fixed)
        argument = cpp_item(writer->work, writer->parts, here->arguments, parameter->number);
    if (argument)
        *scope = here->outer;
    else
        argument = parameter->first;
    writer->work->has_failed = writer->work->has_failed || !argument;
    if (writer->parts[argument].kind != CPP_PACK || !here->is_expanding)
        return argument;
    const cpp_id list = writer->parts[argument].first;
    here->has_pack = true;
    here->items = count_list(writer, list);
    return here->item < here->items ? cpp_item(writer->work, writer->parts, list, here->item)
                                    : 0;
}

static void write_parameter(struct writer *writer, const struct cpp_part *part,
                            void (*write)(struct writer *, cpp_id))
{
    struct scope *const scope = writer->scope;
    const struct cpp_part *const parts = writer->parts;
    if (scope->is_lambda && !cpp_item(writer->work, parts, scope->arguments, part->number)) {
        if (write == write_before) {
            demangle_write_text(writer->work, "auto:");
            demangle_write_number(writer->work, part->number + 1);
        }
        return;
    }
    const cpp_id argument = argument_of(writer, part, &writer->scope);
    if (argument)
        write(writer, argument);
    writer->scope = scope;
}

static void write_operand(struct writer *writer, cpp_id id)
{
    const bool is_simple = writer->parts[id].is_simple;
    demangle_write_text(writer->work, is_simple ? "" : "(");
    write_part(writer, id);
    demangle_write_text(writer->work, is_simple ? "" : ")");
}

/* The part once for each item of the pack in it.  How many there are is known when the first one is written. */
static void write_expansion(struct writer *writer, cpp_id id)
{
    struct scope *const scope = writer->scope;
    const struct scope outer = *scope;
    const size_t begin = writer->work->length;
    scope->is_expanding = true;
    scope->has_pack = false;
    scope->item = scope->items = 0;
    do {
        if (scope->item)
            demangle_write_text(writer->work, ", ");
        write_part(writer, id);
    } while (++scope->item < scope->items && demangle_step(writer->work, 1));
    const bool has_pack = scope->has_pack;
    if (!has_pack || scope->items == 0)
        writer->work->length = begin;
    *scope = outer;
    if (!has_pack) {
        write_operand(writer, id);
        demangle_write_text(writer->work, "...");
    }
}

static uint32_t count_items(struct writer *writer, cpp_id list)
{
    uint32_t count = 0;
    for (; list && writer->parts[list].first && demangle_step(writer->work, 1);
         list = writer->parts[list].second) {
        const struct cpp_part *part = &writer->parts[writer->parts[list].first];
        struct scope *scope = writer->scope;
        const bool is_expansion = part->kind == CPP_EXPANSION;
        part = is_expansion ? &writer->parts[part->first] : part;
        const cpp_id argument =
            part->kind == CPP_PARAMETER ? argument_of(writer, part, &scope) : 0;
        const struct cpp_part *const pack = &writer->parts[argument];
        count += is_expansion && pack->kind == CPP_PACK ? count_list(writer, pack->first) : 1;
    }
    return count;
}

static void write_function(struct writer *writer, const struct cpp_part *function)
{
    demangle_write_text(writer->work, "(");
    write_part(writer, function->second);
    demangle_write_text(writer->work, ")");
    write_part(writer, function->third);
    write_after(writer, function->first);
}

/* A type without what is around it, and the scope in which it is written: a parameter is what it stands for. */
static const struct cpp_part *see_through(struct writer *writer, cpp_id id, bool is_qualified,
                                          struct scope **scope)
{
    const struct cpp_part *part = &writer->parts[id];
    while (demangle_step(writer->work, 1)) {
        if (part->kind == CPP_PARAMETER && !(*scope)->is_lambda)
            part = &writer->parts[argument_of(writer, part, scope)];
        else if (is_qualified && part->kind == CPP_QUALIFIED)
            part = &writer->parts[part->first];
        else
            break;
    }
    return part;
}

static bool is_reference(const struct cpp_part *part)
{
    return part->kind == CPP_POINTER && *part->text == '&';
}

/* A pointer or a reference as it is written.  A reference to a reference is one; to one of "&" it is "&". */
struct pointer {
    const char *text;
    cpp_id type, class;
    struct scope *scope; /* of the type */
    bool is_to_array, is_to_function;
};

static struct pointer describe_pointer(struct writer *writer, const struct cpp_part *part,
                                       struct scope *scope)
{
    struct pointer pointer = { .text = part->text, .class = part->second };
    while (is_reference(part)) {
        struct scope *inner_scope = scope;
        const struct cpp_part *const inner =
            see_through(writer, part->first, false, &inner_scope);
        if (!is_reference(inner) || writer->work->has_failed)
            break;
        pointer.text = inner->text_bytes < strlen(pointer.text) ? inner->text : pointer.text;
        scope = inner_scope;
        part = inner;
    }
    pointer.type = part->first;
    pointer.scope = scope;
    const struct cpp_part *const target = see_through(writer, part->first, true, &scope);
    pointer.is_to_array = target->kind == CPP_ARRAY;
    pointer.is_to_function = target->kind == CPP_FUNCTION;
    return pointer;
}

/* The type that a function returns, and a space; but "void (*" of a function that returns a pointer to one goes on. */
static void write_result(struct writer *writer, cpp_id type)
{
    struct scope *scope = writer->scope;
    if (!type)
        return;
    const struct cpp_part *const part = see_through(writer, type, true, &scope);
    const struct pointer pointer = part->kind == CPP_POINTER
                                       ? describe_pointer(writer, part, scope)
                                       : (struct pointer){ 0 };
    write_before(writer, type);
    if (!pointer.is_to_array && !pointer.is_to_function)
        demangle_write_text(writer->work, " ");
}

static void write_encoding(struct writer *writer, const struct cpp_part *part)
{
    struct cpp_part function = writer->parts[part->second];
    struct scope *const outer = writer->scope;
    struct scope scope = { .outer = outer, .arguments = part->third };
    if (part->drops_type)
        function.first = 0;
    writer->scope = part->third ? &scope : outer;
    write_result(writer, function.first);
    writer->scope = outer;
    write_part(writer, part->first);
    writer->scope = part->third ? &scope : outer;
    write_function(writer, &function);
    writer->scope = outer;
}

static void write_pointer(struct writer *writer, const struct cpp_part *part)
{
    struct scope *const scope = writer->scope;
    const struct pointer pointer = describe_pointer(writer, part, scope);
    writer->scope = pointer.scope;
    write_before(writer, pointer.type);
    writer->scope = scope;
    const char last = last_written(writer);
    if (pointer.is_to_array || pointer.is_to_function)
        demangle_write_text(
            writer->work, last && strchr(pointer.is_to_array ? " " : "(* ", last) ? "(" : " (");
    else if (pointer.class)
        demangle_write_text(writer->work, " ");
    write_part(writer, pointer.class);
    demangle_write_text(writer->work, pointer.text);
}

/* The part of a type that stands before the name; a part that is no type is written as a whole. */
static void write_before(struct writer *writer, cpp_id id)
{
    const struct cpp_part *const part = &writer->parts[id];
    if (!id || !demangle_enter(writer->work))
        return;
    switch ((enum cpp_kind)part->kind) {
    case CPP_JOINED:
        write_part(writer, part->first);
        write_text(writer, part);
        write_part(writer, part->second);
        break;
    case CPP_LIST: write_list(writer, id); break;
    case CPP_TEMPLATE:
        write_part(writer, part->first);
        demangle_write_text(writer->work, last_written(writer) == '<' ? " <" : "<");
        write_part(writer, part->second);
        demangle_write_text(writer->work, last_written(writer) == '>' ? " >" : ">");
        break;
    case CPP_PACK: write_part(writer, part->first); break;
    case CPP_PARAMETER: write_parameter(writer, part, write_before); break;
    case CPP_EXPANSION: write_expansion(writer, part->first); break;
    case CPP_COUNT:
        demangle_write_number(writer->work, count_items(writer, part->first));
        break;
    case CPP_LAMBDA: {
        struct scope *const outer = writer->scope;
        struct scope scope = { .outer = outer, .arguments = part->second, .is_lambda = true };
        writer->scope = &scope;
        write_part(writer, part->first);
        writer->scope = outer;
        break;
    }
    case CPP_FUNCTION: write_result(writer, part->first); break;
    case CPP_ENCODING: write_encoding(writer, part); break;
    case CPP_QUALIFIED: {
        /* A parameter that stands for a constant type is not made constant again. */
        struct demangle_work *const work = writer->work;
        write_before(writer, part->first);
        const bool has_it = !part->second && part->text_bytes <= work->length &&
                            memcmp(work->text + work->length - part->text_bytes, part->text,
                                   part->text_bytes) == 0;
        if (!has_it) {
            write_text(writer, part);
            write_part(writer, part->second);
        }
        break;
    }
    case CPP_POINTER: write_pointer(writer, part); break;
    case CPP_ARRAY: write_before(writer, part->first); break;
    case CPP_OPERAND: write_operand(writer, part->first); break;
    case CPP_NUMBER: demangle_write_number(writer->work, part->number); break;
    }
    demangle_leave(writer->work);
}

static void write_after(struct writer *writer, cpp_id id)
{
    const struct cpp_part *const part = &writer->parts[id];
    if (!id || !demangle_enter(writer->work))
        return;
    switch ((enum cpp_kind)part->kind) {
    case CPP_PARAMETER: write_parameter(writer, part, write_after); break;
    case CPP_FUNCTION: write_function(writer, part); break;
    case CPP_QUALIFIED: write_after(writer, part->first); break;
    case CPP_POINTER: {
        struct scope *const scope = writer->scope;
        const struct pointer pointer = describe_pointer(writer, part, scope);
        if (pointer.is_to_array || pointer.is_to_function)
            demangle_write_text(writer->work, ")");
        writer->scope = pointer.scope;
        write_after(writer, pointer.type);
        writer->scope = scope;
        break;
    }
    case CPP_ARRAY:
        demangle_write_text(writer->work, last_written(writer) == ']' ? "[" : " [");
        write_part(writer, part->second);
        demangle_write_text(writer->work, "]");
        write_after(writer, part->first);
        break;
    case CPP_JOINED:
    case CPP_LIST:
    case CPP_TEMPLATE:
    case CPP_PACK:
    case CPP_EXPANSION:
    case CPP_COUNT:
    case CPP_LAMBDA:
    case CPP_ENCODING:
    case CPP_OPERAND:
    case CPP_NUMBER: break;
    }
    demangle_leave(writer->work);
}

void cpp_write(struct demangle_work *work, const struct cpp_part *parts, cpp_id id)
{
    struct scope scope = { .outer = &scope };
    struct writer writer = { .work = work, .parts = parts, .scope = &scope };
    write_part(&writer, id);
}
