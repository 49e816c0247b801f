/*
 * lock_objects - which kind of lock an object is, by the name of its type and by its attributes, and who has it.
 *
 * Everything read is untrusted.
 *
 * Private to the folder.
 */
#ifndef SAMPLER_CPYTHON_LOCKS_LOCK_OBJECTS_H
#define SAMPLER_CPYTHON_LOCKS_LOCK_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/cpython/locks/lock_state.h"

enum {
    LOCK_TYPE_BYTES = 64,
    LOCK_NAME_BYTES = 5 * LOCK_TYPE_BYTES /* with the name of a module */
};

/* The lock of all imports, which is no object. */
enum { LOCK_OF_IMPORTS = 1 };

/* The bits of a pointer that the interpreter may use as tags. */
#define LOCK_TAG_MASK UINT64_C(7)

struct lock_kind {
    const char *type, *name; /* of the type in the target, and as it is called here */
    const char *inner;       /* the attribute with the lock that it takes; NULL: it is one */
    const char *owner;       /* the attribute that says who has it; NULL: none */
    const char *mark; /* an attribute that others of that name lack; NULL: none is needed */
    const char *inner_mark; /* the same of the lock that it takes */
    enum { IMPORTS_NOTHING, IMPORTS_MODULE, IMPORTS_ALL } imports; /* whose import it guards */
    enum {
        OWNER_NONE,
        OWNER_RECURSIVE,
        OWNER_SEMAPHORE
    } structure; /* in C, with the owner's number */
};

uint32_t lock_object_shifted(const struct locks *locks, uint32_t offset);
bool lock_object_word(const struct locks *locks, remote_addr addr, uint64_t *out);
/* The name of an object's type; *out is empty if there is none. */
void lock_object_type(const struct locks *locks, remote_addr object, char out[LOCK_TYPE_BYTES]);
/* The object that a function of the value stack is bound to, or the value itself; 0: it cannot be read. */
remote_addr lock_object_bound(const struct locks *locks, uint64_t value);
/* NULL: it is no lock. */
const struct lock_kind *lock_object_kind(const struct locks *locks, remote_addr object);

/* The kind of the lock of all imports. */
const struct lock_kind *lock_object_import_kind(void);
/* Names a lock: that of a module by the module. */
void lock_object_name(const struct locks *locks, const struct lock_kind *kind,
                      const struct lock_use *use, char out[LOCK_NAME_BYTES]);
/* The name of a lock that a C function takes: a semaphore does not say by which class of multiprocessing the program made it. */
const char *lock_object_name_taken(const struct locks *locks, remote_addr object,
                                   const struct lock_kind *kind);
/* Fills in the lock that threads take by the object, and its owner if it says who that is. */
void lock_object_describe(const struct locks *locks, remote_addr object,
                          const struct lock_kind *kind, struct lock_use *use);
/* Does this process not have the semaphore, although a `with` block of it is active?  So it is in a child that was forked in the block. */
bool lock_object_is_left(const struct locks *locks, const struct lock_use *use);
/* Fills in the thread whose number is an attribute of the object. */
void lock_object_read_owner(const struct locks *locks, remote_addr object,
                            const char *attribute, struct lock_use *use);

#endif /* SAMPLER_CPYTHON_LOCKS_LOCK_OBJECTS_H */
