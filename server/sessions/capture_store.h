/*
 * capture_store - the captures in a folder, with their titles, notes and labels.
 *
 * A capture NAME is the file NAME.pyro; NAME.json holds its title, note and labels, NAME~notes.json the notes
 * about ranges of its time.  Files are opened relative to the descriptor of the folder, never by a path from
 * outside, and links are not followed.
 * The description of a capture comes from the start and the end of its file, which are read again only
 * if the file changes.  The program that records a capture locks its file (flock): other programs that
 * use the folder see the lock, and it disappears if the program is killed.
 *
 * Ownership: captures_open makes, captures_close frees; NULL is fine.
 * Threads: any.
 * Limits: CAPTURES_MAX files are listed; names of up to CAPTURES_NAME_BYTES - 1 bytes.
 */
#ifndef SERVER_SESSIONS_CAPTURE_STORE_H
#define SERVER_SESSIONS_CAPTURE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "server/sessions/capture_entry.h"

#define CAPTURES_KEEP_BYTES ((uint64_t)10 << 30)
#define CAPTURES_MAX_UPLOAD ((size_t)256 << 20)
/* For the tables of a profile of another tool, as --memory. */
#define CAPTURES_CONVERT_BYTES ((size_t)256 << 20)

struct captures;
struct files_folder;
struct range_notes;
struct request;

struct captures_settings {
    const char *folder; /* NULL: the default */
    uint64_t keep_ns;   /* older captures are removed; 0: none */
    uint64_t keep_bytes;
    size_t max_upload;
    bool hides_arguments; /* only the first word of a command line is shown */
};

struct captures_summary {
    size_t total; /* that match the query */
    uint64_t bytes;
};

struct captures_query {
    const char *search, *host, *label; /* NULL: any */
    uint64_t from_ns, to_ns;           /* of the start; 0: any */
};

MUST_CHECK enum err_code captures_open(const struct captures_settings *settings,
                                       struct captures **out, struct err *err);
void captures_close(struct captures *captures);

const char *captures_folder(const struct captures *captures);
const struct files_folder *captures_files(const struct captures *captures);
const struct captures_settings *captures_settings(const struct captures *captures);

/* Newest first; the rows are borrowed until `tell` returns, which must not list again. */
typedef void (*captures_tell)(void *context, const struct capture_entry *entry);
MUST_CHECK enum err_code captures_visit(struct captures *captures,
                                        const struct captures_query *query, captures_tell tell,
                                        void *context, struct captures_summary *out,
                                        struct err *err);
/* Gives one capture to `tell`. ERR_NOT_FOUND: there is none. */
MUST_CHECK enum err_code captures_tell_one(struct captures *captures, const char *name,
                                           captures_tell tell, void *context, struct err *err);

/* Opens the file for reading; changed_ns_out may be NULL.  ERR_NOT_FOUND: no such capture. */
MUST_CHECK enum err_code captures_open_file(struct captures *captures, const char *name,
                                            int *fd_out, uint64_t *bytes_out,
                                            uint64_t *changed_ns_out, struct err *err);
/* ERR_PERM: the file has arguments, and this server hides them.  ERR_NOT_FOUND: no such capture. */
MUST_CHECK enum err_code captures_check_file(struct captures *captures, const char *name,
                                             struct err *err);
/* Creates a capture, which is locked until fd is closed or captures_fail is called. */
MUST_CHECK enum err_code captures_make(struct captures *captures, int pid,
                                       char name_out[CAPTURES_NAME_BYTES], int *fd_out,
                                       struct err *err);
/* Marks a capture that cannot be written any further as incomplete, with the reason. */
void captures_fail(struct captures *captures, const char *name, int fd, const char *why);
/* Creates a file without a name, for captures_adopt. */
MUST_CHECK enum err_code captures_spool(struct captures *captures, int *fd_out,
                                        struct err *err);
/* Gives such a file a name; of a profile of another tool, a capture made of it has the name.  ERR_UNSUPPORTED, ERR_CORRUPT: it is
 * neither. */
MUST_CHECK enum err_code captures_adopt(struct captures *captures, int fd,
                                        const struct capture_words *words,
                                        char name_out[CAPTURES_NAME_BYTES], struct err *err);
MUST_CHECK enum err_code captures_describe(struct captures *captures, const char *name,
                                           const struct capture_words *words, struct err *err);
/* Notes about ranges of its time (wire/range_notes.h); a capture without any has none. */
void captures_read_notes(struct captures *captures, const char *name, struct range_notes *out);
MUST_CHECK enum err_code captures_write_notes(struct captures *captures, const char *name,
                                              const struct range_notes *notes, struct err *err);
/* ERR_LIMIT: it is being recorded. */
MUST_CHECK enum err_code captures_remove(struct captures *captures, const char *name,
                                         struct err *err);
/* Removes captures beyond the limits of the settings, oldest first.  Returns how many.  For a day after
 * a jump of the clock none counts as too old (steady.h). */
size_t captures_tidy(struct captures *captures);

#endif /* SERVER_SESSIONS_CAPTURE_STORE_H */
