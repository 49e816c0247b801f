/*
 * reader - the process that reads one source file, with the rights of the target that named it.
 *
 * A path comes from the target and is hostile, and so is the file system it may lead to.
 *
 *     1  check that the process is the one that was sampled, with the same owner; if its owner was root,
 *        its present owner counts
 *     2  open its root directory, and repeat the check
 *     3  become that owner, for good and without capabilities
 *     4  open the path beneath that root, also through links, without side effects of opening; read
 *        only regular files of ordinary file systems, up to SOURCE_MAX_BYTES
 *
 * If the path is that of a library, its debug information names the path of the source file (native_place.h).
 *
 * A request for the checkout of a source file ends instead with what git's files say (checkout.h), one for its distribution with what
 * metadata beside it say (distribution.h).
 *
 * Private to the folder.
 */
#ifndef SERVER_SOURCE_READER_H
#define SERVER_SOURCE_READER_H

#include <stdnoreturn.h>

#include "server/source/request.h"

/* Runs in a process of its own; fds: by source_descriptor.  Ends the process after the deadline. */
noreturn void reader_run(const struct source_request *request, const int *fds);

#endif /* SERVER_SOURCE_READER_H */
