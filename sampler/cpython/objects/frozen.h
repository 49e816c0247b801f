/*
 * frozen - which modules of a frozen program are Python's library.
 *
 * A program of PyInstaller or cx_Freeze has all modules in one file or folder, and their code has names without a
 * folder: json/encoder.py, shop/orders.py.  sys.stdlib_module_names, which Python has from 3.10 on, says which of them are of the
 * library; these get the name that Python gives to frozen modules of its own, <frozen json.encoder>.
 *
 * Ownership: the caller's storage; frozen_deinit accepts a zeroed one.
 * Threads: none.
 * Limits: FROZEN_MAX_MODULES, FROZEN_NAME_BYTES.
 */
#ifndef SAMPLER_CPYTHON_OBJECTS_FROZEN_H
#define SAMPLER_CPYTHON_OBJECTS_FROZEN_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/cpython/layout/layout.h"
#include "sampler/process/memory.h"

enum { FROZEN_MAX_MODULES = 1024, FROZEN_NAME_BYTES = 256, FROZEN_MAX_ASKED = 64 };

struct frozen {
    unsigned asked; /* how often; a program that starts does not say yet that it is frozen */
    size_t count;
    char **modules; /* of the library, in the order of strcmp */
};

void frozen_deinit(struct frozen *frozen);
/* "<frozen json.encoder>"; false: the file has a folder, or is not of the library of a frozen program.  interp: as for
 * notebook_name_cell. */
bool frozen_name_module(struct frozen *frozen, struct memory *memory,
                        const struct layout *layout, remote_addr interp, const char *file,
                        char out[FROZEN_NAME_BYTES]);

#endif /* SAMPLER_CPYTHON_OBJECTS_FROZEN_H */
