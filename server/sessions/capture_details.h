/*
 * capture_details - the files beside a capture: one holds its title, note and labels, the other the notes about
 * ranges of its time.
 */
#ifndef SERVER_SESSIONS_CAPTURE_DETAILS_H
#define SERVER_SESSIONS_CAPTURE_DETAILS_H

#include <stdbool.h>

#include "sampler/base/err.h"
#include "server/sessions/capture_entry.h"

struct files_folder;
struct range_notes;

/* Missing or invalid members are empty. */
void captures_words_read(const struct files_folder *folder, const char *name,
                         struct capture_words *out);
/* Replaces the file whole or not at all. */
MUST_CHECK enum err_code captures_words_write(const struct files_folder *folder,
                                              const char *name,
                                              const struct capture_words *words,
                                              struct err *err);
void captures_notes_read(const struct files_folder *folder, const char *name,
                         struct range_notes *out);
MUST_CHECK enum err_code captures_notes_write(const struct files_folder *folder,
                                              const char *name, const struct range_notes *notes,
                                              struct err *err);
/* NAME of the file with its title, note and labels; false: it is another one. */
bool captures_name_of_words(const char *file, char out[CAPTURES_NAME_BYTES]);
/* Removes both files. */
void captures_words_remove(const struct files_folder *folder, const char *name);

#endif /* SERVER_SESSIONS_CAPTURE_DETAILS_H */
