#include "sampler/cpython/contexts/contexts.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/base/hash.h"
#include "sampler/cpython/objects/hamt.h"
#include "sampler/cpython/objects/recorded_reads.h"
#include "sampler/cpython/threads/threads.h"

/* Until a thread has a context, its place is unknown; a program may never use one. */
static const uint64_t LOCATE_AGAIN_NS = 100 * NS_PER_MS;
/* Modules may define more variables of the name at any time. */
static const uint64_t SEARCH_AGAIN_NS = NS_PER_S;
/* While none is known. */
static const uint64_t SEARCH_SOON_NS = NS_PER_MS;

enum {
    WORD = sizeof(uint64_t),
    MAX_LOCATED = 64, /* threads that are searched for a context at a time */
    TEXT_OF_TYPE = 32,
    MAX_WORDS = LAYOUT_MAX_TSTATE_BYTES / WORD,
    MAX_OTHERS = 3,
    MAX_SEARCHED = 16, /* threads at a time, and contexts of copies */
};

/* A variable, by what does not change while it lives: its name object, and its hash, which is made of its name and
 * its address. */
struct variable {
    remote_addr addr, name;
    uint64_t hash;
};

/* A value, and the bytes that led to it. */
struct kept {
    remote_addr context;
    struct recorded_copy copy;
    bool is_final; /* no other variable of the name has a value in it */
    struct context_value value;
};

struct contexts {
    struct layout *layout;
    struct thread_list *threads;
    char name[CONTEXTS_MAX_NAME];
    bool is_span;
    bool is_copy;                    /* what is read now is a copy */
    uint64_t located_ns;             /* when the place was last searched for; 0: never */
    bool is_place_read;              /* with the rest of a thread state */
    bool has_none;                   /* and then no thread had a context */
    unsigned char others[MAX_WORDS]; /* how often a word of a thread state was no context */
    uint64_t searched_ns;
    unsigned more;       /* contexts that may still be searched for copies */
    uint32_t task_place; /* of the context in a task; 0: unknown */
    remote_addr context_type, variable_type;
    struct hamt_types types;
    struct variable variables[CONTEXTS_MAX_VARIABLES];
    size_t variable_count;
    struct recorded_reads reads;
    struct object_bytes scratch;
    struct context_value unknown, unset;
    struct hamt_pair pairs[HAMT_MAX_PAIRS];
    struct kept kept[CONTEXTS_KEPT];
};

enum err_code contexts_create(const char *name, struct layout *layout,
                              struct thread_list *threads, struct contexts **out)
{
    struct contexts *const contexts = calloc(1, sizeof *contexts);
    if (!contexts)
        return ERR_NOMEM;
    contexts->layout = layout;
    contexts->threads = threads;
    contexts->is_span = name == NULL;
    strncpy(contexts->name, name ? name : "current_context", sizeof contexts->name - 1);
    contexts->unset.kind = CONTEXT_UNSET;
    *out = contexts;
    return ERR_OK;
}

void contexts_destroy(struct contexts *contexts)
{
    if (!contexts)
        return;
    for (size_t i = 0; i < CONTEXTS_KEPT; i++) {
        struct kept *const kept = &contexts->kept[i];
        recorded_copy_deinit(&kept->copy);
        *kept = (struct kept){ 0 };
    }
    object_bytes_deinit(&contexts->scratch);
    free(contexts);
}

/* Until 3.9 the name of a type of contextvars has no module. */
static bool is_of_type(struct memory *memory, const struct layout *layout, remote_addr type,
                       const char *name, remote_addr *known)
{
    static const char module[] = "_contextvars.";
    char text[TEXT_OF_TYPE];
    uint64_t at;
    if (*known)
        return type == *known;
    if (!type || memory_read_u64(memory, type + layout->type_name, &at) ||
        object_read_text(memory, at, text, sizeof text))
        return false;
    const size_t skip = strncmp(text, module, strlen(module)) == 0 ? strlen(module) : 0;
    if (strcmp(text + skip, name) != 0)
        return false;
    *known = type;
    return true;
}

/* The variables of a context: its third field, behind the context that was entered before. */
static enum err_code open_context(struct contexts *contexts, struct memory *memory,
                                  remote_addr addr, struct hamt *out)
{
    const struct layout *const layout = contexts->layout;
    uint64_t words[3];
    const enum err_code rc =
        memory_read(memory, addr + layout->object_type, words, sizeof words);
    if (rc)
        return rc;
    if (!is_of_type(contexts->threads->memory, layout, words[0], "Context",
                    &contexts->context_type))
        return ERR_CORRUPT;
    return hamt_open(memory, layout, &contexts->types, words[2], out);
}

/* An object has an address like this. */
static bool may_be_object(uint64_t word)
{
    enum { LOWEST = 1 << 16, ALIGNMENT = 16 };
    static const uint64_t END = UINT64_C(1) << 48; /* that of aarch64, twice that of x86-64 */
    return word >= LOWEST && word < END && word % ALIGNMENT == 0;
}

/* The place names a context or nothing, so one that has named something else a few times is another.  What is gone by
 * the time it is read says nothing. */
static bool is_place(struct contexts *contexts, size_t word, uint64_t value)
{
    struct hamt ignored;
    if (!value || contexts->others[word] == MAX_OTHERS)
        return false;
    const enum err_code rc =
        may_be_object(value)
            ? open_context(contexts, contexts->threads->memory, value, &ignored)
            : ERR_CORRUPT;
    if (rc == ERR_CORRUPT)
        contexts->others[word]++;
    return !rc;
}

/* The first place in a thread state that names a context with variables; 0: none.  Only the thread state itself comes
 * before what else may name one: lists of freed objects. */
static uint32_t find_place(struct contexts *contexts, remote_addr tstate)
{
    uint64_t words[MAX_WORDS];
    const size_t count = contexts->layout->tstate_bytes / WORD;
    if (count > MAX_WORDS ||
        memory_read(contexts->threads->memory, tstate, words, count * WORD))
        return 0;
    for (size_t i = 1; i < count; i++)
        if (is_place(contexts, i, words[i]))
            return (uint32_t)(i * WORD);
    return 0;
}

void contexts_locate(struct contexts *contexts, uint64_t now_ns)
{
    struct thread_list *const list = contexts->threads;
    struct layout *const layout = contexts->layout;
    if (layout->tstate_context ||
        (contexts->located_ns && now_ns - contexts->located_ns < LOCATE_AGAIN_NS))
        return;
    contexts->located_ns = now_ns;
    contexts->has_none = list->count > 0 && list->count <= MAX_LOCATED;
    for (size_t i = 0; i < list->count && i < MAX_LOCATED && !layout->tstate_context; i++)
        layout->tstate_context = find_place(contexts, list->items[i]->head.addr);
}

void contexts_read_places(struct contexts *contexts)
{
    const uint32_t place = contexts->layout->tstate_context;
    if (place && !contexts->is_place_read)
        thread_list_copy_field(contexts->threads, place);
    contexts->is_place_read = place != 0;
}

/* The words of a variable, from its type on: free-threaded builds cache no value. */
static size_t variable_words(const struct layout *layout)
{
    enum { NAME, DEFAULT, CACHED, CACHED_THREAD, CACHED_VERSION, HASH };
    return (layout->is_free_threaded ? CACHED : HASH) + 2;
}

/* Reads what identifies a variable. */
static enum err_code read_variable(struct contexts *contexts, struct memory *memory,
                                   remote_addr addr, struct variable *out)
{
    enum { TYPE, NAME, MOST = 8 };
    const struct layout *const layout = contexts->layout;
    const size_t count = variable_words(layout);
    uint64_t words[MOST];
    const enum err_code rc =
        memory_read(memory, addr + layout->object_type, words, count * WORD);
    if (rc)
        return rc;
    if (!is_of_type(contexts->threads->memory, layout, words[TYPE], "ContextVar",
                    &contexts->variable_type))
        return ERR_CORRUPT;
    *out = (struct variable){ addr, words[NAME], words[count - 1] };
    return ERR_OK;
}

static bool has_name(struct contexts *contexts, remote_addr name)
{
    struct object_bytes *const scratch = &contexts->scratch;
    const size_t length = strlen(contexts->name);
    return !object_read_str_start(contexts->threads->memory, contexts->layout, name,
                                  CONTEXTS_MAX_NAME, scratch) &&
           scratch->count == length && memcmp(scratch->bytes, contexts->name, length) == 0;
}

static bool is_known(const struct contexts *contexts, remote_addr addr)
{
    for (size_t i = 0; i < contexts->variable_count; i++)
        if (contexts->variables[i].addr == addr)
            return true;
    return false;
}

/* Adds the variables of the name that the context has.  A variable counts if its hash leads to it. */
static void search_variables(struct contexts *contexts, const struct hamt *map)
{
    struct memory *const memory = contexts->threads->memory;
    size_t count = 0;
    const enum err_code rc = hamt_list(memory, contexts->layout, &contexts->types, map->root,
                                       contexts->pairs, HAMT_MAX_PAIRS, &count);
    if (rc && rc != ERR_LIMIT)
        return;
    for (size_t i = 0; i < count && contexts->variable_count < CONTEXTS_MAX_VARIABLES; i++) {
        const remote_addr addr = contexts->pairs[i].key;
        struct variable found;
        remote_addr value;
        if (!is_known(contexts, addr) && !read_variable(contexts, memory, addr, &found) &&
            has_name(contexts, found.name) &&
            !hamt_find(memory, contexts->layout, &contexts->types, map->root, addr, found.hash,
                       &value))
            contexts->variables[contexts->variable_count++] = found;
    }
}

/* Searches a context in the process as it is now. false: it is not there. */
static bool search_context(struct contexts *contexts, remote_addr context)
{
    struct hamt map;
    if (open_context(contexts, contexts->threads->memory, context, &map))
        return false;
    search_variables(contexts, &map);
    return true;
}

/* Searches the process for a copied context, whose maker did not know the way to the value. */
static bool search_copied(struct contexts *contexts, remote_addr context)
{
    if (!contexts->more)
        return false;
    contexts->more--;
    return search_context(contexts, context);
}

static bool is_time_to_search(const struct contexts *contexts, uint64_t now_ns)
{
    const uint64_t again_ns = contexts->variable_count ? SEARCH_AGAIN_NS : SEARCH_SOON_NS;
    return !contexts->searched_ns ||
           (now_ns > contexts->searched_ns && now_ns - contexts->searched_ns > again_ns);
}

void contexts_search(struct contexts *contexts, uint64_t now_ns)
{
    struct thread_list *const list = contexts->threads;
    const uint32_t place = contexts->layout->tstate_context;
    uint64_t context;
    contexts->more = MAX_SEARCHED;
    if (!place || !is_time_to_search(contexts, now_ns))
        return;
    contexts->searched_ns = now_ns;
    for (size_t i = 0; i < list->count && i < MAX_SEARCHED; i++)
        if (!memory_read_u64(list->memory, list->items[i]->head.addr + place, &context) &&
            context)
            search_context(contexts, context);
}

void contexts_trail(const struct contexts *contexts, struct contexts_trail *out)
{
    *out = (struct contexts_trail){
        .place = contexts->layout->tstate_context,
        .is_span = contexts->is_span,
        .variable_bytes = (uint32_t)(variable_words(contexts->layout) * WORD),
        .bitmap = contexts->types.bitmap,
        .array = contexts->types.array,
        .collision = contexts->types.collision,
        .variable_count = contexts->variable_count,
    };
    for (size_t i = 0; i < contexts->variable_count; i++) {
        out->variables[i].addr = contexts->variables[i].addr;
        out->variables[i].hash = contexts->variables[i].hash;
    }
}

/* A variable that was freed, and its address used again, is forgotten; not one that is not in a copy. */
static enum err_code check_variable(struct contexts *contexts, struct memory *memory, size_t at)
{
    const struct variable *const known = &contexts->variables[at];
    struct variable now;
    const enum err_code rc = read_variable(contexts, memory, known->addr, &now);
    if (!rc && now.name == known->name && now.hash == known->hash)
        return ERR_OK;
    if (rc == ERR_FAULT && contexts->is_copy)
        return rc;
    contexts->variables[at] = contexts->variables[--contexts->variable_count];
    return rc ? rc : ERR_CORRUPT;
}

/* ERR_NOT_FOUND: no variable of the name has a value. */
static enum err_code find_value(struct contexts *contexts, struct memory *memory,
                                const struct hamt *map, remote_addr *out)
{
    enum err_code rc = ERR_NOT_FOUND;
    for (size_t i = 0; i < contexts->variable_count && rc == ERR_NOT_FOUND; i++) {
        const struct variable known = contexts->variables[i];
        rc = check_variable(contexts, memory, i);
        if (!rc)
            rc = hamt_find(memory, contexts->layout, &contexts->types, map->root, known.addr,
                           known.hash, out);
    }
    return rc;
}

/* Reads the value of a context by way of contexts->reads. */
static enum err_code read_value(struct contexts *contexts, remote_addr context, uint64_t now_ns,
                                struct context_value *out, bool *is_final)
{
    struct memory *const memory = &contexts->reads.memory;
    struct hamt map;
    remote_addr object;
    enum err_code rc = open_context(contexts, memory, context, &map);
    if (rc)
        return rc;
    *is_final = !map.count;
    rc = find_value(contexts, memory, &map, &object);
    if (contexts->is_copy) {
        /* Without a known variable, a value that is not found is unset only if it has been searched. */
        if (rc == ERR_NOT_FOUND && map.count && !contexts->variable_count &&
            (!search_copied(contexts, context) || contexts->variable_count))
            return ERR_FAULT;
    } else if (rc == ERR_NOT_FOUND && map.count && is_time_to_search(contexts, now_ns)) {
        contexts->searched_ns = now_ns;
        *is_final = true;
        search_variables(contexts, &map);
        rc = find_value(contexts, memory, &map, &object);
    } else if (rc == ERR_NOT_FOUND && map.count && !contexts->variable_count) {
        return ERR_NOT_FOUND; /* not searched yet */
    }
    if (!rc)
        rc = (contexts->is_span ? value_read_span : value_read)(
            memory, contexts->layout, object, &contexts->scratch, out->text);
    out->kind = rc == ERR_NOT_FOUND ? CONTEXT_UNSET : CONTEXT_SET;
    return rc == ERR_NOT_FOUND ? ERR_OK : rc;
}

/* place: what names the context, in a thread state or a task. */
static struct context_value *read_context(struct contexts *contexts, remote_addr place,
                                          remote_addr context, struct memory *memory,
                                          uint64_t now_ns)
{
    struct recorded_reads *const reads = &contexts->reads;
    struct kept *const kept = &contexts->kept[hash_mix(context, 0) % CONTEXTS_KEPT];
    /* Is the thread in this context now, and has nothing changed that the value was made of? */
    struct context_value value = { .kind = CONTEXT_UNKNOWN };
    bool is_final = false;
    const bool is_stale = kept->value.kind == CONTEXT_UNSET && !kept->is_final &&
                          is_time_to_search(contexts, now_ns);
    if (kept->context == context && !is_stale &&
        recorded_copy_is_same(&kept->copy, place, context, memory))
        return &kept->value;
    recorded_reads_begin(reads, memory);
    const enum err_code rc = read_value(contexts, context, now_ns, &value, &is_final);
    if (rc && contexts->is_copy)
        (void)search_copied(contexts, context);
    if (rc || !recorded_reads_is_same(reads->spans, reads->count, reads->data, place, context,
                                      memory))
        return &contexts->unknown;
    /* An equal value is not new to the caller. */
    if (kept->context == context && kept->value.kind == value.kind &&
        strcmp(kept->value.text, value.text) == 0)
        value.tag = kept->value.tag;
    const bool has_copy = recorded_copy_take(&kept->copy, reads);
    kept->context = has_copy ? context : 0;
    kept->value = value;
    kept->is_final = is_final;
    return kept->context ? &kept->value : &contexts->unknown;
}

struct context_value *contexts_read(struct contexts *contexts, const struct thread *thread,
                                    struct memory *memory, enum context_source source,
                                    uint64_t now_ns)
{
    const struct copy *const copy = &thread->stack.copy;
    const uint32_t place = contexts->layout->tstate_context;
    remote_addr context;
    contexts->is_copy = source == CONTEXT_OF_COPY;
    if (!place)
        return contexts->has_none ? &contexts->unset : &contexts->unknown;
    /* A copy that repeats a stack has no thread state. */
    if (source == CONTEXT_OF_READING && place + WORD <= copy->tstate_bytes)
        context = field_u64(copy->tstate, place);
    else if (memory_read_u64(memory, thread->head.addr + place, &context))
        return &contexts->unknown;
    return context ? read_context(contexts, thread->head.addr + place, context, memory, now_ns)
                   : &contexts->unset;
}

/* The first context behind the coroutine is that of the task: its name alone stands between. */
static uint32_t find_task_place(struct contexts *contexts, remote_addr task, uint32_t coroutine)
{
    enum { SEARCHED = 8 };
    struct memory *const memory = contexts->threads->memory;
    uint64_t words[SEARCHED];
    struct hamt ignored;
    if (memory_read(memory, task + coroutine + WORD, words, sizeof words))
        return 0;
    for (size_t i = 0; i < SEARCHED; i++)
        if (may_be_object(words[i]) && !open_context(contexts, memory, words[i], &ignored))
            return coroutine + (uint32_t)((i + 1) * WORD);
    return 0;
}

struct context_value *contexts_read_task(struct contexts *contexts, remote_addr task,
                                         uint32_t coroutine, uint64_t now_ns)
{
    struct memory *const memory = contexts->threads->memory;
    uint64_t context;
    contexts->is_copy = false;
    if (!contexts->task_place)
        contexts->task_place = find_task_place(contexts, task, coroutine);
    if (!contexts->task_place || memory_read_u64(memory, task + contexts->task_place, &context))
        return &contexts->unknown;
    return read_context(contexts, task + contexts->task_place, context, memory, now_ns);
}
