#include "sampler/cpython/objects/callee.h"

#include <stdio.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/base/hash.h"

/* Offsets in objects of builds with a GIL, the same from 3.11 to 3.15 (Include/cpython/methodobject.h,
 * descrobject.h, object.h), and flags of types (Include/object.h). */
enum {
    REFERENCES_BYTES = 8,
    FUNCTION_DEFINITION = 16,
    FUNCTION_SELF = 24,
    FUNCTION_MODULE = 32,
    METHOD_FUNCTION = 16,
    DESCRIPTOR_TYPE = 16,
    DESCRIPTOR_NAME = 24,
    DESCRIPTOR_DEFINITION = 40,
    DEFINITION_CODE = 8,
    TYPE_CALL = 128,
    TYPE_FLAGS = 168,
    TYPE_BYTES = 176,
};

/* Places where a function of Cython may have its name, before its qualified name: behind what it shares with functions of C. */
enum { CYTHON_FIRST = 24, CYTHON_LAST = 88, CYTHON_BYTES = CYTHON_LAST + 16 };

static const uint64_t FLAG_HEAP_TYPE = 1ull << 9, FLAG_TYPE_SUBCLASS = 1ull << 31;

struct type {
    char name[CALLEE_MAX_NAME_BYTES];
    bool is_static, has_call, makes_types;
};

void callee_table_init(struct callee_table *table, struct memory *memory,
                       const struct layout *layout, struct strtab *strings)
{
    memset(table, 0, sizeof *table);
    table->memory = memory;
    table->layout = layout;
    table->strings = strings;
    pool_init(&table->callees, sizeof(struct callee), CALLEE_MAX);
    idmap_init(&table->by_addr);
}

void callee_table_deinit(struct callee_table *table)
{
    pool_deinit(&table->callees);
    idmap_deinit(&table->by_addr);
    object_bytes_deinit(&table->scratch);
}

static enum err_code read_str(struct callee_table *table, remote_addr addr,
                              char out[CALLEE_MAX_NAME_BYTES])
{
    struct object_bytes *const text = &table->scratch;
    const enum err_code rc =
        object_read_str_start(table->memory, table->layout, addr, CALLEE_MAX_NAME_BYTES, text);
    if (rc)
        return rc;
    if (text->count >= CALLEE_MAX_NAME_BYTES)
        return ERR_LIMIT;
    memcpy(out, text->bytes, text->count);
    out[text->count] = 0;
    return object_text_is_plain(out, text->count) ? ERR_OK : ERR_CORRUPT;
}

/* The address at which the object would begin if only a reference count were before its
 * type. */
static remote_addr begin_of(const struct callee_table *table, remote_addr addr)
{
    return addr + layout_object_shift(table->layout);
}

static enum err_code read_type(struct callee_table *table, remote_addr addr, struct type *out)
{
    unsigned char bytes[TYPE_BYTES];
    uint64_t name;
    enum err_code rc = memory_read(table->memory, begin_of(table, addr), bytes, sizeof bytes);
    if (!rc)
        rc = memory_read_u64(table->memory, addr + table->layout->type_name, &name);
    if (rc)
        return rc;
    const uint64_t flags = field_u64(bytes, TYPE_FLAGS);
    out->is_static = !(flags & FLAG_HEAP_TYPE);
    out->makes_types = (flags & FLAG_TYPE_SUBCLASS) != 0;
    out->has_call = field_u64(bytes, TYPE_CALL) != 0;
    return object_read_text(table->memory, name, out->name, sizeof out->name);
}

static enum err_code read_type_of(struct callee_table *table, remote_addr object,
                                  struct type *out)
{
    uint64_t type;
    const enum err_code rc =
        memory_read_u64(table->memory, object + table->layout->object_type, &type);
    return rc ? rc : read_type(table, type, out);
}

/* The C name of a type that C code made includes its module; that of a class statement does not. */
static bool is_made_by_c(const struct type *type)
{
    return type->is_static || strchr(type->name, '.');
}

/* "<native> OWNER.NAME"; the owner `builtins` is left out. */
static enum err_code set_name(struct callee_table *table, struct callee *callee,
                              const char *owner, const char *name)
{
    char text[sizeof CALLEE_PREFIX + 2 * CALLEE_MAX_NAME_BYTES];
    const bool is_builtin = !*owner || strcmp(owner, "builtins") == 0;
    const int length = snprintf(text, sizeof text, "%s%s%s%s", CALLEE_PREFIX,
                                is_builtin ? "" : owner, is_builtin || !*name ? "" : ".", name);
    callee->is_c = VALUE_YES;
    return strtab_intern(table->strings, text, (size_t)length, &callee->name, NULL);
}

/* The name and the C function that a definition of a method holds. */
static enum err_code read_definition(struct callee_table *table, remote_addr addr,
                                     struct callee *callee, remote_addr *name_out)
{
    unsigned char bytes[DEFINITION_CODE + sizeof(uint64_t)];
    const enum err_code rc = memory_read(table->memory, addr, bytes, sizeof bytes);
    if (rc)
        return rc;
    *name_out = field_u64(bytes, 0);
    callee->code = field_u64(bytes, DEFINITION_CODE);
    return ERR_OK;
}

static bool is_str(struct callee_table *table, remote_addr object)
{
    struct type type;
    return object && !read_type_of(table, object, &type) && strcmp(type.name, "str") == 0;
}

/* A function of a module, or a method bound to an object or (class method) to a type. */
static enum err_code name_function(struct callee_table *table, struct callee *callee,
                                   const unsigned char *copy)
{
    const remote_addr self = field_u64(copy, FUNCTION_SELF);
    const remote_addr module = field_u64(copy, FUNCTION_MODULE);
    char name[CALLEE_MAX_NAME_BYTES], owner[CALLEE_MAX_NAME_BYTES] = "";
    struct type type;
    uint64_t text;
    callee->is_c = VALUE_YES;
    enum err_code rc =
        read_definition(table, field_u64(copy, FUNCTION_DEFINITION), callee, &text);
    if (!rc)
        rc = object_read_text(table->memory, text, name, sizeof name);
    if (rc)
        return rc;
    memset(&type, 0, sizeof type);
    if (self && read_type_of(table, self, &type))
        return ERR_CORRUPT;
    if (is_str(table, module) && !read_str(table, module, owner))
        callee->is_permanent = strcmp(type.name, "module") == 0;
    else if (type.makes_types)
        rc = read_type(table, self, &type);
    if (!rc && !*owner)
        memcpy(owner, type.name, sizeof owner);
    return rc ? rc : set_name(table, callee, owner, name);
}

/* has_definition: the method is defined by a table of methods, not by a slot of its type. */
static enum err_code name_method(struct callee_table *table, struct callee *callee,
                                 const unsigned char *copy, bool has_definition)
{
    char name[CALLEE_MAX_NAME_BYTES];
    struct type type;
    remote_addr text;
    callee->is_c = VALUE_YES;
    if (has_definition)
        (void)!read_definition(table, field_u64(copy, DESCRIPTOR_DEFINITION), callee, &text);
    enum err_code rc = read_type(table, field_u64(copy, DESCRIPTOR_TYPE), &type);
    if (!rc)
        rc = read_str(table, field_u64(copy, DESCRIPTOR_NAME), name);
    callee->is_permanent = !rc && is_made_by_c(&type);
    return rc ? rc : set_name(table, callee, type.name, name);
}

/* A class that Python code made may have an __init__ in Python, so it does not count as C. */
static enum err_code name_class(struct callee_table *table, struct callee *callee)
{
    struct type type;
    const enum err_code rc = read_type(table, callee->addr, &type);
    if (rc)
        return rc;
    if (!is_made_by_c(&type))
        return ERR_OK;
    callee->is_permanent = type.is_static;
    return set_name(table, callee, type.name, "");
}

static bool ends_with_name(const char *qualified, const char *name)
{
    const size_t length = strlen(qualified), bytes = strlen(name);
    return bytes && length >= bytes && strcmp(qualified + length - bytes, name) == 0 &&
           (length == bytes || qualified[length - bytes - 1] == '.');
}

/* The qualified name of a function of Cython, whose fields depend on the version of Cython: a str that ends with the name, which is
 * the str before it, or that of its definition until Python code asks for it. */
static enum err_code read_cython_name(struct callee_table *table, remote_addr addr,
                                      const char *defined, char out[CALLEE_MAX_NAME_BYTES])
{
    enum { WORD = sizeof(uint64_t), PLACES = (CYTHON_LAST - CYTHON_FIRST) / WORD + 1 };
    unsigned char fields[CYTHON_BYTES];
    char name[CALLEE_MAX_NAME_BYTES];
    enum err_code rc = memory_read(table->memory, begin_of(table, addr), fields, sizeof fields);
    for (uint32_t i = 0; i < 2 * PLACES && !rc; i++) {
        const bool has_name = i < PLACES;
        const uint32_t at = CYTHON_FIRST + i % PLACES * WORD;
        const remote_addr first = field_u64(fields, at), second = field_u64(fields, at + WORD);
        if (has_name ? !is_str(table, first) : first != 0)
            continue;
        if (!is_str(table, second))
            continue;
        if (has_name)
            rc = read_str(table, first, name);
        else
            snprintf(name, sizeof name, "%s", defined);
        if (!rc)
            rc = read_str(table, second, out);
        if (!rc && ends_with_name(out, name))
            return ERR_OK;
        rc = rc == ERR_NOMEM ? rc : ERR_OK;
    }
    return rc ? rc : ERR_CORRUPT;
}

static enum err_code name_cython(struct callee_table *table, struct callee *callee,
                                 remote_addr addr)
{
    unsigned char copy[FUNCTION_MODULE + sizeof(uint64_t)];
    char text[CALLEE_MAX_NAME_BYTES] = "", name[CALLEE_MAX_NAME_BYTES],
         owner[CALLEE_MAX_NAME_BYTES];
    remote_addr text_addr;
    callee->is_c = VALUE_YES;
    enum err_code rc = memory_read(table->memory, begin_of(table, addr), copy, sizeof copy);
    if (rc)
        return rc;
    if (read_definition(table, field_u64(copy, FUNCTION_DEFINITION), callee, &text_addr) ||
        object_read_text(table->memory, text_addr, text, sizeof text)) {
        callee->code = 0;
        *text = 0;
    }
    rc = read_cython_name(table, addr, text, name);
    if (rc && (rc == ERR_NOMEM || !*text))
        return rc;

    /* The module is behind the definition: in the limited API the object is no function of C. */
    static const uint32_t places[] = { FUNCTION_SELF, FUNCTION_MODULE };
    *owner = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places && !*owner; i++) {
        const remote_addr module = field_u64(copy, places[i]);
        if (is_str(table, module) && read_str(table, module, owner))
            *owner = 0;
    }
    return set_name(table, callee, owner, rc ? text : name);
}

enum form {
    FORM_OTHER,
    FORM_FUNCTION,
    FORM_METHOD,
    FORM_SLOT,
    FORM_PYTHON,
    FORM_BOUND,
    FORM_CYTHON,
    FORM_CLASS,
};

/* "cython_function_or_method", since Cython 3 behind "_cython_3_2_5." */
static bool is_of_cython(const char *type)
{
    const char *const dot = strrchr(type, '.');
    const char *const last = dot ? dot + 1 : type;
    return strcmp(last, "cython_function_or_method") == 0 ||
           strcmp(last, "fused_cython_function") == 0;
}

static enum form form_of(const struct type *type)
{
    static const struct {
        const char *type;
        enum form form;
    } forms[] = {
        { "builtin_function_or_method", FORM_FUNCTION },
        { "builtin_method", FORM_FUNCTION },
        { "method_descriptor", FORM_METHOD },
        { "classmethod_descriptor", FORM_METHOD },
        { "wrapper_descriptor", FORM_SLOT },
        { "function", FORM_PYTHON },
        { "method", FORM_BOUND },
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms && type->is_static; i++)
        if (strcmp(type->name, forms[i].type) == 0)
            return forms[i].form;
    if (type->has_call && is_made_by_c(type) && is_of_cython(type->name))
        return FORM_CYTHON;
    return type->makes_types ? FORM_CLASS : FORM_OTHER;
}

/* A bound method whose function is Python code runs no C code. */
static enum err_code name_bound(struct callee_table *table, struct callee *callee,
                                remote_addr function)
{
    struct type type;
    const enum err_code rc = read_type_of(table, function, &type);
    if (rc)
        return rc;
    if (form_of(&type) == FORM_CYTHON)
        return name_cython(table, callee, function);
    callee->is_c = VALUE_NO;
    return ERR_OK;
}

static enum err_code name_callee(struct callee_table *table, struct callee *callee,
                                 const struct type *type)
{
    const enum form form = form_of(type);
    if (form == FORM_PYTHON)
        callee->is_c = VALUE_NO;
    else if (form != FORM_OTHER) {
        /* For objects that their type alone does not identify. */
        unsigned char copy[REFERENCES_BYTES + CALLEE_MAX_FINGERPRINT_BYTES];
        const enum err_code rc =
            memory_read(table->memory, begin_of(table, callee->addr), copy, sizeof copy);
        if (rc)
            return rc;
        callee->fingerprint_bytes = CALLEE_MAX_FINGERPRINT_BYTES;
        memcpy(callee->fingerprint, copy + REFERENCES_BYTES, CALLEE_MAX_FINGERPRINT_BYTES);
        if (form == FORM_CLASS)
            return name_class(table, callee);
        if (form == FORM_CYTHON)
            return name_cython(table, callee, callee->addr);
        if (form == FORM_BOUND)
            return name_bound(table, callee, field_u64(copy, METHOD_FUNCTION));
        return form == FORM_FUNCTION ? name_function(table, callee, copy)
                                     : name_method(table, callee, copy, form == FORM_METHOD);
    } else if (type->has_call && is_made_by_c(type))
        return set_name(table, callee, type->name, "__call__");
    return ERR_OK;
}

static enum err_code load_callee(struct callee_table *table, struct callee *callee)
{
    const remote_addr addr = callee->addr;
    struct type type;
    uint64_t type_addr;
    memset(callee, 0, sizeof *callee);
    callee->addr = addr;
    callee->fingerprint_bytes = sizeof type_addr;
    enum err_code rc =
        memory_read_u64(table->memory, addr + table->layout->object_type, &type_addr);
    if (rc)
        return rc;
    memcpy(callee->fingerprint, &type_addr, sizeof type_addr);
    rc = read_type(table, type_addr, &type);
    if (!rc)
        rc = name_callee(table, callee, &type);
    /* An object without a readable name may still be known to be C. */
    return rc == ERR_NOMEM || !callee->is_c ? rc : ERR_OK;
}

static enum err_code add_callee(struct callee_table *table, remote_addr addr,
                                struct callee **out)
{
    const struct callee callee = { .addr = addr };
    uint32_t id;
    if (table->callees.count == CALLEE_MAX) {
        pool_deinit(&table->callees);
        pool_init(&table->callees, sizeof(struct callee), CALLEE_MAX);
        idmap_clear(&table->by_addr);
    }
    enum err_code rc = pool_push(&table->callees, &callee, &id, NULL);
    if (!rc)
        rc = idmap_add(&table->by_addr, hash_mix(addr, 0), id, NULL);
    if (!rc)
        *out = pool_at(&table->callees, id);
    return rc;
}

struct memory_span callee_fingerprint_span(const struct callee_table *table,
                                           const struct callee *callee, unsigned char *now)
{
    return (struct memory_span){ begin_of(table, callee->addr) + REFERENCES_BYTES, now,
                                 callee->fingerprint_bytes };
}

enum err_code callee_read(struct callee_table *table, remote_addr addr,
                          const struct callee **out)
{
    struct idmap_slot *at;
    IDMAP_FIND(at, &table->by_addr, hash_mix(addr, 0),
               ((struct callee *)pool_at(&table->callees, at->id))->addr == addr);
    struct callee *callee = at ? pool_at(&table->callees, at->id) : NULL;

    enum err_code rc = ERR_OK;
    if (!callee) {
        rc = add_callee(table, addr, &callee);
        if (rc)
            return rc;
    }
    const bool is_trusted = callee->is_permanent && callee->uses % CALLEE_TRUSTED_USES != 0;
    const bool is_checked = table->taken_ns && table->taken_ns <= callee->checked_ns;
    if (!is_trusted && !is_checked) {
        /* Compares the object, and reads another one that is there by now. */
        const uint64_t now_ns = clock_now_ns();

        unsigned char now[CALLEE_MAX_FINGERPRINT_BYTES];
        const struct memory_span span = callee_fingerprint_span(table, callee, now);
        if (!span.bytes || memory_read(table->memory, span.addr, span.buffer, span.bytes) ||
            memcmp(now, callee->fingerprint, span.bytes) != 0) {
            rc = load_callee(table, callee);
            callee->epoch = table->epoch;
        }

        callee->checked_ns = rc ? 0 : now_ns;
    }
    /* After a failed read, the next use reads again. */
    callee->uses = rc ? 0 : callee->uses + 1;
    *out = callee;
    return rc;
}
