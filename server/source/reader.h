/*
 * reader - the process that reads one source file: as the process that named it, and no other.
 *
 * A path comes from the target and is hostile, and so is the file system it may lead to.
 *
 *     1  the process is the one that was sampled, and its owner the one it had then, or one that
 *        root has become since: then what it is now counts
 *     2  its root directory is held, and 1 is examined again
 *     3  this process becomes that owner, for good, without a capability
 *     4  the path is opened beneath that root, links included, without anything that opening could
 *        do; only regular files of ordinary file systems are read, up to SOURCE_MAX_BYTES
 *
 * Private to the folder.
 *
 * Depends on: owner, request, rights.
 */
#ifndef SERVER_SOURCE_READER_H
#define SERVER_SOURCE_READER_H

#include <stdnoreturn.h>

#include "server/source/request.h"

/* In a process of its own; fds are by source_descriptor.  Ends by itself after the deadline. */
noreturn void reader_run(const struct source_request *request, const int *fds);

#endif /* SERVER_SOURCE_READER_H */
