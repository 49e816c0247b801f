/*
 * body_settings - reads the JSON object of a request by a table of settings, as query reads a URL.
 *
 * A member that the table lacks, one that is given twice, another type and a value out of range are
 * errors that name the member.  A member that is null is as good as absent.  Numbers are plain, in
 * the unit that a text without one has; settings that may be repeated are lists.
 *
 * Ownership: texts in `out` are the body's until body_destroy.
 * Limits: BODY_SETTINGS_MAX rows.
 */
#ifndef SERVER_API_BODY_SETTINGS_H
#define SERVER_API_BODY_SETTINGS_H

#include <stddef.h>

#include "sampler/base/err.h"
#include "server/http/json_body.h"
#include "server/settings/setting.h"

struct request;

enum { BODY_SETTINGS_MAX = 32 };

/* Fills what the table says of `out`.  *body_out is set in any case: destroy it after use of `out`. */
MUST_CHECK enum err_code body_settings_read(const struct request *request,
                                            const struct setting *table, size_t count,
                                            void *out, struct body **body_out, struct err *err);

#endif /* SERVER_API_BODY_SETTINGS_H */
