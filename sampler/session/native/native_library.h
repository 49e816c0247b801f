/*
 * native_library - one file of native code of a process: its symbols, and the names of its functions.
 *
 * Private to native_names.
 *
 * Ownership: the caller's storage; native_library_deinit frees what native_library_open allocated.
 * Threads: one.
 */
#ifndef SAMPLER_SESSION_NATIVE_NATIVE_LIBRARY_H
#define SAMPLER_SESSION_NATIVE_NATIVE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/base/clock.h"
#include "sampler/base/err.h"
#include "sampler/native/images.h"
#include "sampler/process/elf_tables.h"

enum {
    NATIVE_LIBRARY_NAME_BYTES = 600,
    NATIVE_LIBRARY_BUILD_ID_BYTES = 2 * ELF_MAX_BUILD_ID_BYTES + 1,
};

struct function_names;

struct native_library {
    char *path; /* without the kernel's " (deleted)" */
    uint64_t inode;
    uint32_t device_major, device_minor;
    uint32_t id; /* library_id of the profile */
    bool is_interpreter, is_c_library;
    bool is_switcher; /* it switches C stacks, each of which is that of a coroutine */
    char build_id[NATIVE_LIBRARY_BUILD_ID_BYTES];
    struct function_names *names; /* NULL: not read */
};

struct native_function_name {
    char text[NATIVE_LIBRARY_NAME_BYTES];
    bool is_evaluation, is_wrapper, is_cython;
    bool is_call_step, is_c_caller, is_instruction, is_jit_entry; /* see native_names.h */
    bool is_start, is_main;                                       /* of a program */
    bool is_coroutine_start; /* of a part of a C stack that a coroutine has for itself */
    bool is_switch;          /* from one such part to another */
    bool is_gpu_wait;        /* returns when the GPU has done its work */
    uint32_t
        module_bytes; /* of a function that mypyc compiled: its module; 0: another function */
};

/* Only the identity, without symbols.  ERR_NOMEM. */
MUST_CHECK enum err_code native_library_init(struct native_library *library,
                                             const struct image *image);
void native_library_deinit(struct native_library *library);
bool native_library_is_of(const struct native_library *library, const struct image *image);

/* Reads build id and symbols, as far as they can be read until the deadline.  root_fd: the root directory of
 * the process; user: its user, who limits which other files are read.  ERR_NOMEM. */
MUST_CHECK enum err_code native_library_open(struct native_library *library, int pid,
                                             int root_fd, uid_t user, const struct image *image,
                                             struct deadline deadline);
size_t native_library_bytes(const struct native_library *library);

/* vaddr: in the function, as linked.  false: there is no symbol. */
bool native_library_name(const struct native_library *library, uint64_t vaddr,
                         struct native_function_name *out);

/* Makes text of a target fit to be shown: UTF-8 without control characters. */
void native_library_clean(char *text);

#endif /* SAMPLER_SESSION_NATIVE_NATIVE_LIBRARY_H */
