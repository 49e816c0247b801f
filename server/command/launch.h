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
 * Depends on: driver, options, process.
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
    bool is_unsampled; /* for a reason that is not ours to mend */
};

void launch_init(struct launch *launch, struct driver *driver);

/* After a failure, is_unsampled says whether the program goes on. */
MUST_CHECK enum err_code launch_start(struct launch *launch, struct err *err);

/* Until the program has ended, its launcher has, or the user stops us. */
void launch_wait(struct launch *launch);
/* The same, for a program that is not sampled for the reason in `err`, and says so. */
void launch_go_on(struct launch *launch, const struct err *err);

#endif /* SERVER_COMMAND_LAUNCH_H */
