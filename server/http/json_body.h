/*
 * json_body - reads the JSON object in the body of a request.
 *
 * body_read: the caller lists the members that it knows, and their types.  Any other member, another
 * type and trailing bytes are errors.  A member that is null counts as absent.
 * body_visit: calls the caller for each member that is not null.
 *
 * Ownership: the caller's storage, lists too; texts of body_visit are the body's.
 */
#ifndef SERVER_HTTP_JSON_BODY_H
#define SERVER_HTTP_JSON_BODY_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"

enum { BODY_MAX_TEXT = 1024, BODY_MAX_WORD = 60 };

enum body_kind { BODY_TEXT, BODY_NUMBER, BODY_FLAG, BODY_NUMBERS, BODY_WORDS };

struct body_member {
    const char *name;
    enum body_kind kind;
    bool is_present;
    bool flag;
    double number;
    double *numbers;                  /* `room` of them */
    char (*words)[BODY_MAX_WORD + 1]; /* so are these */
    size_t room, count;
    char text[BODY_MAX_TEXT];
};

/* ERR_INVALID: not an object of these members. */
MUST_CHECK enum err_code body_read(const char *data, size_t bytes, struct body_member *members,
                                   size_t count, struct err *err);

enum body_type { BODY_IS_TEXT, BODY_IS_NUMBER, BODY_IS_FLAG, BODY_IS_LIST, BODY_IS_OTHER };

struct body_value {
    const char *name; /* of the member */
    enum body_type type;
    bool is_item; /* of a list */
    const char *text;
    double number;
    bool flag;
};

typedef enum err_code body_visitor(void *context, const struct body_value *value,
                                   struct err *err);

struct body;

/* Visits each member, and each item after its list, until the visitor fails.  ERR_INVALID: not an
 * object.  *out is set in any case and owns the texts until body_destroy; NULL is fine there. */
MUST_CHECK enum err_code body_visit(const char *data, size_t bytes, body_visitor *visit,
                                    void *context, struct body **out, struct err *err);
void body_destroy(struct body *body);

#endif /* SERVER_HTTP_JSON_BODY_H */
