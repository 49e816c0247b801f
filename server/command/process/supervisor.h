/*
 * supervisor - starts the processes that hold the rights to read others, for a command that serves HTTP.
 *
 *     this process       serves HTTP, and asks through a socket
 *     the supervisor         starts the next three, and each again when it ends or hangs; it opens and reads nothing
 *     the reader         reads other processes (process_reader.h)
 *     the source helper  becomes the owner of a target to read its source files (source/helper.h)
 *     the file process   opens files, if root has started the program (file_process.h)
 *     the launcher       of `run`: starts the user's program (process_launcher.h)
 *
 * One hangs if it is stopped, or takes no message that was sent to it (sampler/base/pulse.h).  It is killed then, and another one
 * takes its place, also if the kernel holds the killed one.
 *
 * When this process ends, the others end.
 *
 * Call it before the program has threads, opens files or drops rights.
 */
#ifndef SERVER_COMMAND_PROCESS_SUPERVISOR_H
#define SERVER_COMMAND_PROCESS_SUPERVISOR_H

#include <stddef.h>

#include "sampler/base/err.h"

struct options;

/* engines: how many sessions may have a kernel engine at a time.  launcher_out: a socket to the launcher; NULL: there is none. */
MUST_CHECK enum err_code supervisor_start(const struct options *options, size_t engines,
                                          int *launcher_out, struct err *err);

/* Checks the supervisor; call it when a child of this process has ended.  ERR_SYS, once: the supervisor has. */
MUST_CHECK enum err_code supervisor_check(struct err *err);

#endif /* SERVER_COMMAND_PROCESS_SUPERVISOR_H */
