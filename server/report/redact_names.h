/*
 * redact_names - what each text of a profile becomes where it is redacted (redact.h says how).
 *
 * Ownership: the caller's storage; what a call gives stays until the next.
 * Errors: the first failure of a hash is kept in rc; its texts are without one.
 * Depends on: profile/reshape, digest, known_names.
 */
#ifndef SERVER_REPORT_REDACT_NAMES_H
#define SERVER_REPORT_REDACT_NAMES_H

#include "sampler/base/err.h"
#include "sampler/profile/views/reshape.h"

enum { REDACT_NAME_BYTES = 64 };

struct redact_names {
    char text[REDACT_NAME_BYTES];
    enum err_code rc;
    struct err err;
};

/* context: a struct redact_names, zeroed at first. */
struct strtab_string redact_names_text(void *context, enum reshape_text what,
                                       struct strtab_string text, struct strtab_string file);

#endif /* SERVER_REPORT_REDACT_NAMES_H */
