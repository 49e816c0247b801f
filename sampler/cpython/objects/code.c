#include "sampler/cpython/objects/code.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/base/vec.h"
#include "sampler/cpython/objects/command_text.h"
#include "sampler/cpython/objects/notebook.h"

enum { NAME_FINGERPRINT_BYTES = 16 };

void code_table_init(struct code_table *table, struct memory *memory,
                     const struct layout *layout, struct strtab *strings)
{
    memset(table, 0, sizeof *table);
    table->memory = memory;
    table->layout = layout;
    table->strings = strings;
    table->opcodes = opcodes_of(layout->version);
    table->epoch = 2; /* 0 marks forgotten code objects, 1 those older than any epoch */
    pool_init(&table->codes, sizeof(struct code), CODE_MAX);
    idmap_init(&table->by_addr);
}

static void free_codes(struct code_table *table)
{
    for (uint32_t id = 0; id < table->codes.count; id++) {
        free(code_at(table, id)->table);
        free(code_at(table, id)->places);
    }
    pool_deinit(&table->codes);
    idmap_deinit(&table->by_addr);
    free(table->sorted);
    table->sorted = NULL;
    table->sorted_count = 0;
    table->bytes = 0;
    table->forgotten = 0;
    table->prediction_count = table->planned_count = 0;
    table->lacks_room = false;
}

void code_table_deinit(struct code_table *table)
{
    free(table->command);
    frozen_deinit(&table->frozen);
    free_codes(table);
    object_bytes_deinit(&table->scratch);
}

enum err_code code_table_set_command(struct code_table *table, size_t argc, char *const *argv)
{
    const char *const text = command_text_find(argc, argv);
    table->command = text ? strdup(text) : NULL;
    return text && !table->command ? ERR_NOMEM : ERR_OK;
}

bool code_table_is_full(const struct code_table *table)
{
    return table->lacks_room || table->codes.count == CODE_MAX ||
           table->forgotten >= CODE_MAX_FORGOTTEN || table->bytes >= CODE_MAX_BYTES;
}

void code_table_clear(struct code_table *table)
{
    free_codes(table);
    pool_init(&table->codes, sizeof(struct code), CODE_MAX);
    idmap_init(&table->by_addr);
    table->counters.clears++;
}

static bool is_named(const struct code *code, remote_addr addr, uint32_t instructions_copy)
{
    return code->addr == addr && code->instructions_copy == instructions_copy;
}

/* The slot of the code object at addr; NULL: there is none. */
static struct idmap_slot *find_slot(const struct code_table *table, remote_addr addr,
                                    uint32_t instructions_copy)
{
    struct idmap_slot *at;
    IDMAP_FIND(at, &table->by_addr, hash_mix(addr, instructions_copy),
               is_named(code_at(table, at->id), addr, instructions_copy));
    return at;
}

code_id code_find(const struct code_table *table, remote_addr addr, uint32_t instructions_copy)
{
    const struct idmap_slot *const slot = find_slot(table, addr, instructions_copy);
    if (!slot)
        return CODE_NONE;
    const struct code *const code = code_at(table, slot->id);
    return code->checked_epoch ? slot->id : CODE_NONE;
}

struct sort_key {
    remote_addr addr;
    code_id id;
};

static int compare_keys(const void *a, const void *b)
{
    const struct sort_key *const x = a, *const y = b;
    if (x->addr != y->addr)
        return x->addr < y->addr ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static bool holds_now(const struct code_table *table, code_id id, remote_addr instr)
{
    const struct code *const code = code_at(table, id);
    return code->checked_epoch && code_holds(code, instr);
}

code_id code_holding(struct code_table *table, remote_addr instr)
{
    enum { FEW = 64 };
    const size_t count = table->codes.count;
    /* So many have been added that a linear search would be slow. */
    if (count - table->sorted_count > FEW + count / 8) {
        struct sort_key *const keys = malloc(count * sizeof *keys);
        code_id *const sorted = malloc(count * sizeof *sorted);
        for (uint32_t id = 0; keys && sorted && id < count; id++)
            keys[id] = (struct sort_key){ code_at(table, id)->instructions, id };
        if (keys && sorted) {
            qsort(keys, count, sizeof *keys, compare_keys);
            for (size_t i = 0; i < count; i++)
                sorted[i] = keys[i].id;
            free(table->sorted);
            table->sorted = sorted;
            table->sorted_count = count;
        } else {
            free(sorted);
        }
        free(keys);
    }

    for (uint32_t id = table->codes.count; id-- > table->sorted_count;)
        if (holds_now(table, id, instr))
            return id;
    size_t below;
    LOWER_BOUND(below, table->sorted_count,
                code_at(table, table->sorted[below])->instructions <= instr + CODE_UNIT_BYTES);
    return below && holds_now(table, table->sorted[below - 1], instr) ? table->sorted[below - 1]
                                                                      : CODE_NONE;
}

/* The list of a code object's copies is a length and that many addresses; the first is its own. */
static enum err_code find_copy(const struct code_table *table, remote_addr addr,
                               uint32_t instructions_copy, remote_addr *out)
{
    uint64_t list, count;
    enum err_code rc =
        table->layout->code_tlbc
            ? memory_read_u64(table->memory, addr + table->layout->code_tlbc, &list)
            : ERR_CORRUPT;
    if (!rc)
        rc = memory_read_u64(table->memory, list, &count);
    if (!rc && instructions_copy >= count)
        rc = ERR_CORRUPT;
    if (!rc)
        rc = memory_read_u64(table->memory,
                             list + (1 + (uint64_t)instructions_copy) * sizeof list, out);
    return !rc && !*out ? ERR_CORRUPT : rc;
}

bool code_copy_is_valid(const struct code_table *table, code_id id)
{
    const struct code *const code = code_at(table, id);
    remote_addr now;
    return !code->instructions_copy ||
           (!find_copy(table, code->addr, code->instructions_copy, &now) &&
            now == code->instructions);
}

static bool has_fingerprint(const struct code_table *table, code_id id,
                            const unsigned char *fingerprint)
{
    return memcmp(code_at(table, id)->fingerprint, fingerprint, CODE_FINGERPRINT_BYTES) == 0;
}

static bool is_code(struct code_table *table, remote_addr type)
{
    if (table->code_type)
        return type == table->code_type;
    if (!object_type_is(table->memory, table->layout, type, "code"))
        return false;
    table->code_type = type;
    return true;
}

static enum err_code intern_scratch(struct code_table *table, str_id *out)
{
    return strtab_intern(table->strings, (const char *)table->scratch.bytes,
                         table->scratch.count, out, NULL);
}

/* Code that was made of text has the name of that, if it is known. */
static enum err_code intern_file(struct code_table *table, struct code *code)
{
    static const char file[] = COMMAND_TEXT_FILE;
    const struct strtab_string name = strtab_get(table->strings, code->name);
    const char *const given = (const char *)table->scratch.bytes;
    char cell[NOTEBOOK_NAME_BYTES], module[FROZEN_NAME_BYTES];
    const enum err_code rc = intern_scratch(table, &code->file);
    if (rc)
        return rc;
    const char *const path = strtab_get(table->strings, code->file).text;
    if (notebook_name_cell(table->memory, table->layout, table->interp, path, cell))
        return strtab_intern(table->strings, cell, strlen(cell), &code->file, NULL);
    if (frozen_name_module(&table->frozen, table->memory, table->layout, table->interp, path,
                           module))
        return strtab_intern(table->strings, module, strlen(module), &code->file, NULL);
    if (!table->command || table->scratch.count != strlen(COMMAND_TEXT_STRING) ||
        memcmp(given, COMMAND_TEXT_STRING, table->scratch.count) != 0 ||
        !command_text_has(table->command, name.text, name.length, code->first_line))
        return ERR_OK;
    return strtab_intern(table->strings, file, sizeof file - 1, &code->file, NULL);
}

/* A location table over a limit leaves the lines unknown; anything else fails. */
static enum err_code read_table(struct code_table *table, remote_addr addr, struct code *code)
{
    const enum err_code rc =
        object_read_bytes(table->memory, table->layout, addr, &table->scratch);
    if (rc == ERR_LIMIT)
        return ERR_OK;
    if (rc)
        return rc;
    if (table->scratch.count > CODE_MAX_BYTES - table->bytes) {
        table->lacks_room = true;
        return ERR_OK;
    }
    code->table = malloc(table->scratch.count + 1);
    if (!code->table)
        return ERR_NOMEM;
    memcpy(code->table, table->scratch.bytes, table->scratch.count);
    code->table_bytes = (uint32_t)table->scratch.count;
    return ERR_OK;
}

static enum err_code read_fingerprint(struct code_table *table, const unsigned char *copy,
                                      struct code *code)
{
    const struct layout *const layout = table->layout;
    const size_t bytes = code_fingerprint_bytes(layout);
    if (bytes + NAME_FINGERPRINT_BYTES > sizeof code->fingerprint)
        return ERR_UNSUPPORTED;
    memcpy(code->fingerprint, copy + layout->code_firstlineno, bytes);
    if (!code_has_name_fingerprint(layout))
        return ERR_OK;
    return memory_read(table->memory, code->qualname + layout->unicode_length,
                       code->fingerprint + bytes, NAME_FINGERPRINT_BYTES);
}

/* 3.11 does not store the size: it is the fixed part, the locals and the value stack. */
static uint32_t frame_words(const struct layout *layout, const unsigned char *copy)
{
    if (layout->has_heap_frames)
        return 0;
    if (layout->code_framesize)
        return field_u32(copy, layout->code_framesize);
    const uint32_t fixed = (layout->frame_bytes - 1) / (uint32_t)sizeof(uint64_t);
    return fixed + field_u32(copy, layout->code_nlocalsplus) +
           field_u32(copy, layout->code_stacksize);
}

/* Until 3.10 the instructions are in a separate bytes object. */
static enum err_code find_instructions(struct code_table *table, remote_addr addr,
                                       const unsigned char *copy, struct code *code)
{
    const struct layout *const layout = table->layout;
    uint64_t units = field_u64(copy, layout->bytes_length);
    enum err_code rc = ERR_OK;
    code->instructions = addr + layout->code_instructions;
    if (layout->code_code) {
        const remote_addr bytes = field_u64(copy, layout->code_code);
        rc = memory_read_u64(table->memory, bytes + layout->bytes_length, &units);
        units /= CODE_UNIT_BYTES;
        code->instructions = bytes + layout->bytes_data;
    }
    if (!rc && units > CODE_MAX_UNITS)
        rc = ERR_CORRUPT;
    code->units = (uint32_t)units;
    return rc;
}

/* ERR_CORRUPT: no code object is there.  The caller frees code->table, after an error too. */
static enum err_code read_code(struct code_table *table, remote_addr addr, struct code *code)
{
    const struct layout *const layout = table->layout;
    unsigned char copy[LAYOUT_MAX_CODE_BYTES];
    enum err_code rc = memory_read(table->memory, addr, copy, layout->code_bytes);
    if (rc)
        return rc;
    if (!is_code(table, field_u64(copy, layout->object_type)))
        return ERR_CORRUPT;
    memset(code, 0, sizeof *code);
    rc = find_instructions(table, addr, copy, code);
    if (rc)
        return rc;
    code->addr = addr;
    code->qualname = field_u64(copy, layout->code_qualname);
    code->first_line = (int32_t)field_u32(copy, layout->code_firstlineno);
    code->frame_words = frame_words(layout, copy);

    /* The first traceable instruction of a shim is beyond its end: nothing of it is traceable, and its
     * frames are never being set up. */
    if (layout->code_firsttraceable)
        code->first_traceable = field_u32(copy, layout->code_firsttraceable);
    code->is_shim = code->first_traceable > code->units;
    if (code->is_shim)
        code->first_traceable = 0;

    rc = read_fingerprint(table, copy, code);
    if (!rc) {
        const remote_addr file = field_u64(copy, layout->code_filename);
        struct object_bytes *const scratch = &table->scratch;
        rc = object_read_str(table->memory, table->layout, code->qualname, scratch);
        if (!rc)
            rc = intern_scratch(table, &code->name);
        if (!rc)
            rc = object_read_file_name(table->memory, table->layout, file, scratch);
        if (!rc)
            rc = intern_file(table, code);
    }
    if (!rc)
        rc = read_table(table, field_u64(copy, layout->code_linetable), code);
    return rc;
}

/* Only what distinguishes it from another code object at that address: name and fingerprint. */
static enum err_code read_identity(struct code_table *table, remote_addr addr, struct code *out)
{
    unsigned char copy[LAYOUT_MAX_CODE_BYTES];
    memset(out, 0, sizeof *out);
    const enum err_code rc = memory_read(table->memory, addr, copy, table->layout->code_bytes);
    if (rc)
        return rc;
    out->qualname = field_u64(copy, table->layout->code_qualname);
    return read_fingerprint(table, copy, out);
}

enum err_code code_load(struct code_table *table, remote_addr addr, uint32_t instructions_copy,
                        code_id *id_out)
{
    struct code code;
    uint32_t id;
    memset(&code, 0, sizeof code);
    /* The object that lies there now may be another than the one that is meant. */
    const code_id original = code_find(table, addr, 0);
    if (table->is_described && original == CODE_NONE)
        return ERR_CORRUPT;
    enum err_code rc = read_code(table, addr, &code);
    if (!rc && table->is_described && !has_fingerprint(table, original, code.fingerprint))
        rc = ERR_CORRUPT;
    code.instructions_copy = instructions_copy;
    if (!rc && instructions_copy)
        rc = find_copy(table, addr, instructions_copy, &code.instructions);
    if (!rc)
        rc = pool_push(&table->codes, &code, &id, NULL);
    if (rc) {
        free(code.table);
        return rc;
    }
    table->bytes += code.table_bytes;
    table->counters.misses++;
    /* Several calls read it, so only a check can show that all read the same object. */
    code_at(table, id)->checked_epoch = table->epoch - 1;
    struct idmap_slot *const slot = find_slot(table, addr, instructions_copy);
    if (slot)
        slot->id = id;
    else
        rc = idmap_add(&table->by_addr, hash_mix(addr, instructions_copy), id, NULL);
    if (!rc)
        *id_out = id;
    return rc;
}

void code_begin_epoch(struct code_table *table)
{
    table->epoch++;
}

static void forget_code(struct code_table *table, struct code *code)
{
    table->counters.stale++;
    table->forgotten++;
    code->checked_epoch = 0;
}

enum err_code code_learn(struct code_table *table, struct memory *memory, remote_addr addr)
{
    struct memory *const process = table->memory;
    code_id id = code_find(table, addr, 0);
    struct code now;
    table->memory = memory;
    enum err_code rc = read_identity(table, addr, &now);
    if (rc || id == CODE_NONE || !has_fingerprint(table, id, now.fingerprint)) {
        if (id != CODE_NONE)
            forget_code(table, code_at(table, id));
        if (!rc)
            rc = code_load(table, addr, 0, &id);
    }
    table->memory = process;
    return rc;
}

/* A copy of instructions is of the code object that is at its address, unless another was described since. */
static bool is_still_described(struct code_table *table, code_id id)
{
    struct code *const code = code_at(table, id);
    if (code->checked_epoch && code->instructions_copy) {
        const code_id original = code_find(table, code->addr, 0);
        if (original != CODE_NONE && !has_fingerprint(table, original, code->fingerprint))
            forget_code(table, code);
    }
    return code->checked_epoch != 0;
}

enum { CHECK_BATCH = 128 };

static size_t compared_bytes(const struct layout *layout)
{
    return code_fingerprint_bytes(layout) +
           (code_has_name_fingerprint(layout) ? NAME_FINGERPRINT_BYTES : 0);
}

static size_t plan_check(const struct code_table *table, struct code_check *check,
                         struct memory_span *spans)
{
    const struct layout *const layout = table->layout;
    const struct code *const code = code_at(table, check->id);
    const size_t bytes = code_fingerprint_bytes(layout);
    spans[0] = (struct memory_span){ code->addr + layout->code_firstlineno, check->now, bytes };
    if (!code_has_name_fingerprint(layout))
        return 1;
    spans[1] = (struct memory_span){ code->qualname + layout->unicode_length,
                                     check->now + bytes, NAME_FINGERPRINT_BYTES };
    return 2;
}

size_t code_plan_checks(struct code_table *table, struct memory_span *spans)
{
    size_t count = 0, planned = 0;
    for (size_t i = 0; i < table->prediction_count; i++) {
        struct code *const code = code_at(table, table->predictions[i].id);
        code->is_predicted =
            code->checked_epoch && table->epoch - code->asked_epoch <= CODE_PREDICTED_EPOCHS;
        if (!code->is_predicted)
            continue;
        struct code_check *const check = &table->predictions[planned++];
        check->id = table->predictions[i].id;
        count += plan_check(table, check, spans + count);
    }
    table->prediction_count = table->planned_count = planned;
    return count;
}

/* A changed object is left to code_check. */
void code_settle_checks(struct code_table *table, size_t arrived)
{
    const size_t bytes = compared_bytes(table->layout);
    code_begin_epoch(table);
    for (size_t i = 0; i < table->planned_count && arrived >= (i + 1) * bytes; i++) {
        struct code *const code = code_at(table, table->predictions[i].id);
        if (memcmp(code->fingerprint, table->predictions[i].now, bytes) == 0)
            code->checked_epoch = table->epoch;
    }
}

/* Compares the fingerprints of the code objects in one call. */
static bool check_batch(struct code_table *table, struct code_check *checks, size_t count)
{
    const size_t bytes = compared_bytes(table->layout);
    struct memory_span spans[CHECK_BATCH * 2] = { { 0 } };
    size_t span_count = 0, arrived;
    bool fresh = true;
    for (size_t i = 0; i < count; i++)
        span_count += plan_check(table, &checks[i], spans + span_count);
    if (memory_readv(table->memory, spans, span_count, &arrived))
        fresh = false;
    for (size_t i = 0; i < count; i++) {
        struct code *const code = code_at(table, checks[i].id);
        const bool complete = arrived >= (i + 1) * bytes;
        if (complete && memcmp(code->fingerprint, checks[i].now, bytes) == 0) {
            code->checked_epoch = table->epoch;
            continue;
        }
        forget_code(table, code);
        fresh = false;
    }
    return fresh;
}

bool code_check(struct code_table *table, const code_id *ids, size_t count)
{
    struct code_check checks[CHECK_BATCH];
    size_t waiting = 0;
    bool fresh = true;
    for (size_t i = 0; i < count; i++) {
        struct code *const code = code_at(table, ids[i]);
        if (table->is_described) {
            fresh &= is_still_described(table, ids[i]);
            continue;
        }

        code->asked_epoch = table->epoch;
        if (!code->is_predicted && table->prediction_count != CODE_MAX_PREDICTIONS) {
            code->is_predicted = true;
            table->predictions[table->prediction_count++].id = ids[i];
        }

        if (code->checked_epoch == table->epoch) {
            table->counters.hits++;
            continue;
        }
        if (!code->checked_epoch) {
            fresh = false;
            continue;
        }
        /* Marked as checked now, so that it is checked once however often it is in the stack. */
        code->checked_epoch = table->epoch;
        checks[waiting++].id = ids[i];
        if (waiting == CHECK_BATCH) {
            fresh &= check_batch(table, checks, waiting);
            waiting = 0;
        }
    }
    if (waiting)
        fresh &= check_batch(table, checks, waiting);
    return fresh;
}

bool code_holds(const struct code *code, remote_addr instr)
{
    return instr + CODE_UNIT_BYTES >= code->instructions &&
           instr < code->instructions + (uint64_t)code->units * CODE_UNIT_BYTES;
}
