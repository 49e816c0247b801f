/*
 * captures_words - the file beside a capture that has its title, note and labels.
 *
 * Depends on: captures, body, json.
 */
#ifndef SERVER_SESSIONS_CAPTURE_DETAILS_H
#define SERVER_SESSIONS_CAPTURE_DETAILS_H

#include "sampler/base/err.h"

struct capture_words;

/* What is missing or makes no sense is empty. */
void captures_words_read(int folder_fd, const char *name, struct capture_words *out);
/* Whole, or not at all. */
MUST_CHECK enum err_code captures_words_write(int folder_fd, const char *name,
                                              const struct capture_words *words,
                                              struct err *err);
void captures_words_remove(int folder_fd, const char *name);

#endif /* SERVER_SESSIONS_CAPTURE_DETAILS_H */
