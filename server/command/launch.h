/*
 * launch - the program that `run` or `record` starts, and sampling from its start on.
 *
 *     driver_open       first, with launcher_out (launch_init sets it)
 *     launch_start      starts the program, drops rights, finds its interpreter, starts sampling
 *     launch_wait       waits for a program that goes on after its sampling, or without any
 *     program_end       ends it
 *
 * A program that cannot be sampled is not ended for it, and its exit status counts.
 *
 * Ownership: the caller's storage; borrows options and driver.
 * Threads: the main one.
 */
#ifndef SERVER_COMMAND_LAUNCH_H
#define SERVER_COMMAND_LAUNCH_H

#include <stdbool.h>

#include "sampler/base/err.h"
#include "server/command/process/program.h"

struct driver;
struct options;

struct launch {
    const struct options *options;
    struct driver *driver;
    struct program program;
    bool is_unsampled; /* it goes on without being sampled */
};

void launch_init(struct launch *launch, struct driver *driver);

/* After a failure, is_unsampled says whether the program goes on. */
MUST_CHECK enum err_code launch_start(struct launch *launch, struct err *err);

/* Waits until the program or its launcher has ended, or the user stops pyrometer. */
void launch_wait(struct launch *launch);
/* Says that the program is not sampled, and why (`err`), and waits as launch_wait does. */
void launch_go_on(struct launch *launch, const struct err *err);

#endif /* SERVER_COMMAND_LAUNCH_H */
