/*
 * setting_readers - read what --push and its relatives say.
 */
#ifndef SERVER_PUSH_SETTING_READERS_H
#define SERVER_PUSH_SETTING_READERS_H

#include "sampler/base/err.h"

struct setting;

/* By value (base/enum_text.h). */
extern const char *const push_sample_labels_texts[];

/* Readers of the option table; `out` is a struct push_settings.  ERR_INVALID: `why` says what is wanted. */
MUST_CHECK enum err_code push_read_endpoint(const struct setting *setting, void *out,
                                            const char *text, struct err *why);
/* Both belong to the newest endpoint. */
MUST_CHECK enum err_code push_read_headers_file(const struct setting *setting, void *out,
                                                const char *text, struct err *why);
MUST_CHECK enum err_code push_read_ca_file(const struct setting *setting, void *out,
                                           const char *text, struct err *why);
MUST_CHECK enum err_code push_read_label(const struct setting *setting, void *out,
                                         const char *text, struct err *why);
MUST_CHECK enum err_code push_read_batch(const struct setting *setting, void *out,
                                         const char *text, struct err *why);

#endif /* SERVER_PUSH_SETTING_READERS_H */
