/*
 * capture_details - the files beside a capture: one holds its title, note and labels, the other the notes about
 * ranges of its time.
 *
 * Depends on: capture_store, json_body, json, range_notes.
 */
#ifndef SERVER_SESSIONS_CAPTURE_DETAILS_H
#define SERVER_SESSIONS_CAPTURE_DETAILS_H

#include "sampler/base/err.h"

struct capture_words;
struct range_notes;

/* Missing or invalid members are empty. */
void captures_words_read(int folder_fd, const char *name, struct capture_words *out);
/* Replaces the file whole or not at all. */
MUST_CHECK enum err_code captures_words_write(int folder_fd, const char *name,
                                              const struct capture_words *words,
                                              struct err *err);
void captures_notes_read(int folder_fd, const char *name, struct range_notes *out);
MUST_CHECK enum err_code captures_notes_write(int folder_fd, const char *name,
                                              const struct range_notes *notes, struct err *err);
/* Removes both files. */
void captures_words_remove(int folder_fd, const char *name);

#endif /* SERVER_SESSIONS_CAPTURE_DETAILS_H */
