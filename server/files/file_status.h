/*
 * file_status - how a file is opened, and what is known of it.
 */
#ifndef SERVER_FILES_FILE_STATUS_H
#define SERVER_FILES_FILE_STATUS_H

#include <stdint.h>

enum { FILES_MAX_LISTED = 1 << 18 };

enum files_use {
    FILES_READ,    /* a regular file; does not wait for another program that holds it */
    FILES_CREATE,  /* for reading and writing; EEXIST */
    FILES_REPLACE, /* for writing, from its start; created if it does not exist */
    FILES_UNNAMED, /* for reading and writing, without a name */
    FILES_USES
};

struct files_status {
    uint64_t device, inode, bytes, changed_ns;
    uint32_t mode; /* as in struct stat */
};

#endif /* SERVER_FILES_FILE_STATUS_H */
