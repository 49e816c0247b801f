#include "sampler/session/fold/context_marks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/base/idmap.h"
#include "sampler/base/random.h"
#include "sampler/base/utf8.h"
#include "sampler/base/vec.h"
#include "sampler/cpython/contexts/contexts.h"
#include "sampler/profile/context.h"

struct context_marks {
    struct profile *profile;
    char variable[CONTEXT_MAX_VARIABLE];
    str_id no_file;
    context_id unset, other; /* 0: not used yet */
    uint64_t numbers;        /* of requests that are guessed, so far */
    uint32_t prefix;         /* of these, of this session */
    struct idmap index;      /* by the name of the mark */
    struct item {
        frame_id frame;
        str_id name;
    } * items;
    size_t count, room;
};

enum err_code context_marks_create(struct profile *profile, const char *variable,
                                   struct context_marks **out, struct err *err)
{
    struct context_marks *const marks = calloc(1, sizeof *marks);
    if (!marks)
        return err_nomem(err);
    marks->profile = profile;
    struct random random;
    random_init_any(&random);
    marks->prefix = (uint32_t)random_u64(&random);
    strncpy(marks->variable, variable, sizeof marks->variable - 1);
    idmap_init(&marks->index);
    const enum err_code rc =
        strtab_intern(profile_strings(profile), "~", 1, &marks->no_file, err);
    if (rc)
        context_marks_destroy(marks);
    else
        *out = marks;
    return rc;
}

void context_marks_destroy(struct context_marks *marks)
{
    if (!marks)
        return;
    idmap_deinit(&marks->index);
    free(marks->items);
    free(marks);
}

static enum err_code add_mark(struct context_marks *marks, const char *name, uint32_t hash)
{
    function_id function;
    if (!VEC_RESERVE(marks->items, marks->room, marks->count + 1))
        return ERR_NOMEM;
    struct item *const item = &marks->items[marks->count];
    enum err_code rc =
        strtab_intern(profile_strings(marks->profile), name, strlen(name), &item->name, NULL);
    if (!rc)
        rc = profile_function(marks->profile, item->name, marks->no_file, 0, &function, NULL);
    if (!rc)
        rc = profile_frame(marks->profile, function, 0, &item->frame, NULL);
    if (!rc)
        rc = idmap_add(&marks->index, hash, (uint32_t)marks->count, NULL);
    marks->count += !rc;
    return rc;
}

static context_id find_mark(struct context_marks *marks, enum context_mark mark,
                            const char *value)
{
    char name[CONTEXT_MAX_NAME];
    struct idmap_slot *at;
    context_name(marks->variable, mark, value, name);
    const uint32_t hash = hash_mix(hash_bytes(name, strlen(name), HASH_SEED), 0);
    IDMAP_FIND(
        at, &marks->index, hash,
        strcmp(strtab_get(profile_strings(marks->profile), marks->items[at->id].name).text,
               name) == 0);
    if (at)
        return at->id + 1;
    /* The marks that are no values have room too. */
    if (mark == CONTEXT_MARK_VALUE && marks->count >= CONTEXT_VALUES_MAX)
        return 0;
    return add_mark(marks, name, hash) ? 0 : (context_id)marks->count;
}

uint64_t context_marks_number(struct context_marks *marks)
{
    return ++marks->numbers;
}

context_id context_marks_guessed(struct context_marks *marks, uint64_t number, const char *name)
{
    struct context_value value = { .kind = CONTEXT_SET };
    const size_t length = utf8_cut(name, strlen(name), VALUE_MAX_CHARACTERS);
    const int used = snprintf(value.text, sizeof value.text, "%0*" PRIx32 "-%" PRIu64,
                              CONTEXT_GUESSED_PREFIX, marks->prefix, number);
    if (length)
        snprintf(value.text + used, sizeof value.text - (size_t)used, " %.*s", (int)length,
                 name);
    for (char *at = value.text; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = '?';
    return context_marks_find(marks, &value);
}

context_id context_marks_find(struct context_marks *marks, struct context_value *value)
{
    switch (value->kind) {
    case CONTEXT_UNKNOWN: return 0;
    case CONTEXT_UNSET:
        if (!marks->unset)
            marks->unset = find_mark(marks, CONTEXT_MARK_UNSET, "");
        return marks->unset;
    case CONTEXT_SET: break;
    }
    if (!value->tag)
        value->tag = find_mark(marks, CONTEXT_MARK_VALUE, value->text);
    if (!value->tag && !marks->other)
        marks->other = find_mark(marks, CONTEXT_MARK_OTHER, "");
    return value->tag ? value->tag : marks->other;
}

bool context_marks_is_value(const struct context_marks *marks, context_id context)
{
    return context && context != marks->unset;
}

node_id context_marks_node(struct context_marks *marks, context_id context, node_id node)
{
    node_id out;
    if (!context ||
        profile_node(marks->profile, node, marks->items[context - 1].frame, &out, NULL))
        return node;
    return out;
}
