/*
 * folders - the folders that the program writes into by name: opened while it has all rights, and known by the paths that
 * led there.  Root's program follows no link to them that another user has made (trusted_path.h).
 *
 * Ownership: for the life of the program.
 * Threads: folders_add and those like it: the main one, before others start; the others: any.
 * Limits: FOLDERS_MAX, FOLDERS_MAX_PATHS, FOLDERS_MAX_FILES; further ones are left out.
 */
#ifndef SERVER_FILES_FOLDERS_H
#define SERVER_FILES_FOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { FOLDERS_MAX = 32, FOLDERS_MAX_PATHS = 64, FOLDERS_MAX_FILES = 64 };

/* The use of a folder says what may be done with files in it. */
enum folder_use {
    FOLDER_NAMED, /* those that folders_add_file names, and temporary ones beside them, are created, renamed and removed */
    FOLDER_STORE, /* they are listed and read, too */
    FOLDER_REPORTS, /* any are created, renamed and removed, but none is read */
};

struct folder {
    enum folder_use use;
    int fd; /* O_PATH */
    dev_t device;
    ino_t inode;
    uid_t uid;
    gid_t gid;
};

/* Adds the folder of this path; a folder that cannot be opened is left out. */
void folders_add(const char *path, enum folder_use use);
/* A file of this name, or of names that this pattern fits (fnmatch), as FOLDER_NAMED. */
void folders_add_file(const char *path, const char *name);
/* Adds the folder of a descriptor, which stays the caller's.  name: a file in it, as above; NULL: none. */
void folders_add_open(int fd, enum folder_use use, const char *name);
size_t folders_count(void);
const struct folder *folders_at(size_t index);
/* The descriptor of a folder has another number in this process. */
void folders_move(size_t index, int fd);

/* May a file of this name be created and removed there? */
bool folders_permit(const struct folder *folder, const char *name);

/* The folder with a path that was added, with or without a '/' at its end; -1: unknown. */
int folders_find(const char *path, size_t length);
/* The folder with this descriptor; -1: unknown. */
int folders_find_open(int fd);

#endif /* SERVER_FILES_FOLDERS_H */
