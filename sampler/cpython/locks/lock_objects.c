#include "sampler/cpython/locks/lock_objects.h"

#include <stdio.h>
#include <string.h>

#include "sampler/cpython/objects/dict.h"

enum { MAX_INNER = 4 }; /* locks in one another */

/* Offsets in objects of builds with a GIL, the same from 3.8 to 3.15 (Include/cpython/methodobject.h, classobject.h,
 * Modules/_threadmodule.c). */
enum { BOUND_SELF = 24, RECURSIVE_OWNER = 24 };

/* A semaphore of multiprocessing (Modules/_multiprocessing/semaphore.c) has the address of that of POSIX, the thread of this process
 * that took it last, how often this process has it and how often it can be had (int each), and whether it is recursive (int 0). */
enum {
    SEMAPHORE_HANDLE = 16,
    SEMAPHORE_OWNER = 24,
    SEMAPHORE_COUNTS = 32,
    SEMAPHORE_KIND = 40
};

/* The first kind whose attributes are there counts, as several types have one name. */
static const struct lock_kind kinds[] = {
    { .type = "_thread.lock", .name = "threading.Lock" },
    { .type = "_thread.RLock", .name = "threading.RLock", .structure = OWNER_RECURSIVE },
    { .type = "_RLock", .name = "threading.RLock", .owner = "_owner" },
    { .type = "Condition",
      .name = "multiprocessing.Condition",
      .inner = "_lock",
      .mark = "_sleeping_count" },
    { .type = "Condition",
      .name = "asyncio.Condition",
      .inner = "_lock",
      .inner_mark = "_locked" },
    { .type = "Condition", .name = "threading.Condition", .inner = "_lock" },
    { .type = "Semaphore", .name = "multiprocessing.Semaphore", .inner = "_semlock" },
    { .type = "Semaphore", .name = "asyncio.Semaphore", .mark = "_waiters" },
    { .type = "Semaphore", .name = "threading.Semaphore" },
    { .type = "BoundedSemaphore",
      .name = "multiprocessing.BoundedSemaphore",
      .inner = "_semlock" },
    { .type = "BoundedSemaphore", .name = "asyncio.BoundedSemaphore", .mark = "_waiters" },
    { .type = "BoundedSemaphore", .name = "threading.BoundedSemaphore" },
    { .type = "Lock", .name = "multiprocessing.Lock", .inner = "_semlock" },
    { .type = "Lock", .name = "asyncio.Lock", .mark = "_locked" },
    { .type = "RLock", .name = "multiprocessing.RLock", .inner = "_semlock" },
    { .type = "_multiprocessing.SemLock",
      .name = "multiprocessing.Lock",
      .structure = OWNER_SEMAPHORE },
    { .type = "_queue.SimpleQueue", .name = "queue.SimpleQueue" },
    { .type = "_ModuleLockManager",
      .name = "import of module",
      .inner = "_lock",
      .imports = IMPORTS_MODULE },
    { .type = "_ModuleLock",
      .name = "import of module",
      .owner = "owner",
      .imports = IMPORTS_MODULE },
    { .type = "_ImportLockContext", .name = "the import lock", .imports = IMPORTS_ALL },
};

uint32_t lock_object_shifted(const struct locks *locks, uint32_t offset)
{
    return offset + layout_object_shift(locks->codes->layout);
}

bool lock_object_word(const struct locks *locks, remote_addr addr, uint64_t *out)
{
    return addr && !memory_read_u64(locks->codes->memory, addr, out);
}

void lock_object_type(const struct locks *locks, remote_addr object, char out[LOCK_TYPE_BYTES])
{
    const struct layout *const layout = locks->codes->layout;
    uint64_t type, name;
    if (!object || !lock_object_word(locks, object + layout->object_type, &type) ||
        !lock_object_word(locks, type + layout->type_name, &name) ||
        object_read_text(locks->codes->memory, name, out, LOCK_TYPE_BYTES))
        *out = '\0';
}

remote_addr lock_object_bound(const struct locks *locks, uint64_t value)
{
    char type[LOCK_TYPE_BYTES];
    remote_addr object = value & ~LOCK_TAG_MASK;
    lock_object_type(locks, object, type);
    const bool is_bound = strcmp(type, "method") == 0 ||
                          strcmp(type, "builtin_function_or_method") == 0 ||
                          strcmp(type, "builtin_method") == 0;
    if (is_bound &&
        !lock_object_word(locks, object + lock_object_shifted(locks, BOUND_SELF), &object))
        return 0;
    return object;
}

static bool read_attribute(const struct locks *locks, remote_addr object, const char *name,
                           remote_addr *out)
{
    return !object_attribute(locks->codes->memory, locks->codes->layout, object, name, out);
}

static bool has_attributes(const struct locks *locks, remote_addr object,
                           const struct lock_kind *kind)
{
    remote_addr lock = object, mark;
    return (!kind->inner || read_attribute(locks, object, kind->inner, &lock)) &&
           (!kind->mark || read_attribute(locks, object, kind->mark, &mark)) &&
           (!kind->inner_mark || read_attribute(locks, lock, kind->inner_mark, &mark));
}

const struct lock_kind *lock_object_kind(const struct locks *locks, remote_addr object)
{
    char type[LOCK_TYPE_BYTES];
    lock_object_type(locks, object, type);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].type, type) == 0 && has_attributes(locks, object, &kinds[i]))
            return &kinds[i];
    return NULL;
}

const struct lock_kind *lock_object_import_kind(void)
{
    size_t i = 0;
    while (kinds[i].imports != IMPORTS_ALL)
        i++;
    return &kinds[i];
}

/* The thread with this ident. */
static int32_t tid_of(const struct locks *locks, uint64_t ident)
{
    for (size_t i = 0; i < locks->threads->count; i++)
        if (locks->threads->items[i]->head.ident == ident)
            return locks->threads->items[i]->host_tid;
    return 0;
}

void lock_object_read_owner(const struct locks *locks, remote_addr object,
                            const char *attribute, struct lock_use *use)
{
    uint64_t ident = 0;
    remote_addr owner;
    if (!read_attribute(locks, object, attribute, &owner))
        return;
    use->has_owner = true;
    if (!object_read_int(locks->codes->memory, locks->codes->layout, owner, &ident))
        use->owner_tid = tid_of(locks, ident);
}

void lock_object_name(const struct locks *locks, const struct lock_kind *kind,
                      const struct lock_use *use, char out[LOCK_NAME_BYTES])
{
    const struct code_table *const codes = locks->codes;
    struct object_bytes name = { 0 };
    remote_addr str;
    snprintf(out, LOCK_NAME_BYTES, "%s", kind->name);
    if (kind->imports == IMPORTS_MODULE && read_attribute(locks, use->lock, "name", &str) &&
        !object_read_str_start(codes->memory, codes->layout, str, LOCK_TYPE_BYTES, &name))
        snprintf(out, LOCK_NAME_BYTES, "%s %.*s", kind->name, (int)name.count,
                 (const char *)name.bytes);
    object_bytes_deinit(&name);
}

const char *lock_object_name_taken(const struct locks *locks, remote_addr object,
                                   const struct lock_kind *kind)
{
    uint64_t counts, recursion;
    if (kind->structure != OWNER_SEMAPHORE ||
        !lock_object_word(locks, object + lock_object_shifted(locks, SEMAPHORE_COUNTS),
                          &counts) ||
        !lock_object_word(locks, object + lock_object_shifted(locks, SEMAPHORE_KIND),
                          &recursion))
        return kind->name;
    return (uint32_t)recursion == 0 ? "multiprocessing.RLock"
           : counts >> 32 == 1      ? "multiprocessing.Lock"
                                    : "multiprocessing.Semaphore";
}

void lock_object_describe(const struct locks *locks, remote_addr object,
                          const struct lock_kind *kind, struct lock_use *use)
{
    uint64_t ident, counts;
    use->object = use->lock = object;
    if (kind && kind->imports == IMPORTS_ALL) {
        use->object = 0;
        use->lock = LOCK_OF_IMPORTS;
        return;
    }
    for (int i = 0; i < MAX_INNER && kind && kind->inner; i++) {
        remote_addr inner;
        if (!read_attribute(locks, use->lock, kind->inner, &inner))
            return;
        use->lock = inner;
        kind = lock_object_kind(locks, inner);
    }
    if (kind && kind->structure == OWNER_RECURSIVE &&
        lock_object_word(locks, use->lock + lock_object_shifted(locks, RECURSIVE_OWNER),
                         &ident)) {
        use->has_owner = true;
        use->owner_tid = ident ? tid_of(locks, ident) : 0;
    }
    if (kind && kind->structure == OWNER_SEMAPHORE &&
        !lock_object_word(locks, use->lock + lock_object_shifted(locks, SEMAPHORE_HANDLE),
                          &use->semaphore))
        use->semaphore = 0;
    /* One that can be had once is held by this thread, or by another process. */
    if (kind && kind->structure == OWNER_SEMAPHORE &&
        lock_object_word(locks, use->lock + lock_object_shifted(locks, SEMAPHORE_OWNER),
                         &ident) &&
        lock_object_word(locks, use->lock + lock_object_shifted(locks, SEMAPHORE_COUNTS),
                         &counts) &&
        counts >> 32 == 1) {
        use->has_owner = true;
        use->owner_tid = (uint32_t)counts ? tid_of(locks, ident) : 0;
    }
    if (kind && kind->owner)
        lock_object_read_owner(locks, use->lock, kind->owner, use);
}

bool lock_object_is_left(const struct locks *locks, const struct lock_use *use)
{
    uint64_t counts;
    return use->semaphore &&
           lock_object_word(locks, use->lock + lock_object_shifted(locks, SEMAPHORE_COUNTS),
                            &counts) &&
           (uint32_t)counts == 0;
}
