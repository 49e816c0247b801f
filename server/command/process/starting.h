/*
 * starting - starts sampling so that a signal ends the command meanwhile, whatever the process does.
 *
 * Threads: the main one.
 * Depends on: sampler.h, signals, startup, leave.
 */
#ifndef SERVER_COMMAND_PROCESS_STARTING_H
#define SERVER_COMMAND_PROCESS_STARTING_H

#include "sampler/base/err.h"

struct sampler;
struct sampler_options;
struct signals;

/* Errors as of sampler_start; ERR_SYS also where the user stopped it: signals->stopped_by says so. */
MUST_CHECK enum err_code starting_sampler(const struct sampler_options *options,
                                          struct signals *signals, struct sampler **out,
                                          struct err *err);

#endif /* SERVER_COMMAND_PROCESS_STARTING_H */
