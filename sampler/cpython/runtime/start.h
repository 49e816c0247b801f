/*
 * start - the command line and environment that an interpreter was started with, from its own objects: for programs that
 * write a title over both.
 *
 * The words are sys.orig_argv, before 3.10 sys.argv; the environment is that of the module posix, which is not what
 * os.environ changes.
 *
 * Limits: START_MAX_WORDS words, of START_MAX_WORD characters; START_MAX_VARIABLES variables, of START_MAX_VARIABLE bytes.
 */
#ifndef SAMPLER_CPYTHON_RUNTIME_START_H
#define SAMPLER_CPYTHON_RUNTIME_START_H

#include "sampler/cpython/layout/layout.h"
#include "sampler/process/memory.h"
#include "sampler/process/service.h"

enum {
    START_MAX_WORDS = 64,
    START_MAX_WORD = 4096,
    START_MAX_VARIABLES = 4096,
    START_MAX_VARIABLE = 1 << 14
};

/* Fills the members of *service that are empty from the variables of OpenTelemetry. */
void start_read_service(struct memory *memory, const struct layout *layout, remote_addr interp,
                        struct service *service);
/* The name of the script or module, as a service; "": there is none. */
void start_read_script(struct memory *memory, const struct layout *layout, remote_addr interp,
                       char out[SERVICE_BYTES]);

#endif /* SAMPLER_CPYTHON_RUNTIME_START_H */
