/*
 * anonymize_names - replaces each text of a profile as anonymize.h describes.
 *
 * Ownership: the caller's storage; a result is valid until the next call.
 * Errors: rc is the first failure of a hash; the texts then lack their hash.
 */
#ifndef SERVER_REPORT_ANONYMIZE_NAMES_H
#define SERVER_REPORT_ANONYMIZE_NAMES_H

#include "sampler/base/err.h"
#include "sampler/profile/views/reshape.h"

enum { ANONYMIZE_NAME_BYTES = 192 };

struct packages;

struct anonymize_names {
    const struct packages *packages; /* of the profile; NULL: none are known */
    char text[ANONYMIZE_NAME_BYTES];
    enum err_code rc;
    struct err err;
};

/* context: a struct anonymize_names, zeroed at first but for the packages. */
struct strtab_string anonymize_names_text(void *context, enum reshape_text what,
                                          struct strtab_string text, struct strtab_string file);

#endif /* SERVER_REPORT_ANONYMIZE_NAMES_H */
