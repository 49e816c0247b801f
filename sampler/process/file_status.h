/*
 * file_status - the type, inode and device of an open file, as the kernel knows them without asking anyone: a
 * network file system answers from its cache, so a dead server does not block the caller.
 *
 * It makes the system call itself, because not every C library has a function for it.
 * Threads: any.
 * Needs Linux 4.11.
 */
#ifndef SAMPLER_PROCESS_FILE_STATUS_H
#define SAMPLER_PROCESS_FILE_STATUS_H

#include <stdbool.h>
#include <sys/stat.h>

/* Fills STATX_TYPE, STATX_INO and the device.  fd may be O_PATH. */
bool file_status(int fd, struct statx *out);

#endif /* SAMPLER_PROCESS_FILE_STATUS_H */
