/*
 * anonymize_names - what each text of a profile becomes where it is anonymized (anonymize.h says how).
 *
 * Ownership: the caller's storage; what a call gives stays until the next.
 * Errors: the first failure of a hash is kept in rc; its texts are without one.
 * Depends on: profile/reshape, digest, known_names.
 */
#ifndef SERVER_REPORT_ANONYMIZE_NAMES_H
#define SERVER_REPORT_ANONYMIZE_NAMES_H

#include "sampler/base/err.h"
#include "sampler/profile/views/reshape.h"

enum { ANONYMIZE_NAME_BYTES = 64 };

struct anonymize_names {
    char text[ANONYMIZE_NAME_BYTES];
    enum err_code rc;
    struct err err;
};

/* context: a struct anonymize_names, zeroed at first. */
struct strtab_string anonymize_names_text(void *context, enum reshape_text what,
                                          struct strtab_string text, struct strtab_string file);

#endif /* SERVER_REPORT_ANONYMIZE_NAMES_H */
