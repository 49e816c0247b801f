/*
 * gecko_tables - what all threads of a Firefox profile share: stacks, frames, functions, strings.
 *
 * The rows are those of the profile without the root's, so an index is an id of the profile minus 1.
 * Strings keep their ids; the names of markers follow them, in the order of gecko_rows.h.
 */
#ifndef SERVER_REPORT_FORMATS_GECKO_TABLES_H
#define SERVER_REPORT_FORMATS_GECKO_TABLES_H

#include "sampler/base/err.h"

struct json;
struct profile_snapshot;

/* name, text, colour */
#define GECKO_CATEGORIES(X)                  \
    X(OTHER, "Other", "grey")                \
    X(PYTHON, "Python", "yellow")            \
    X(NATIVE, "Native", "blue")              \
    X(GC, "GC", "orange")                    \
    X(GIL, "GIL", "green")                   \
    X(CPU, "CPU", "purple")                  \
    X(CODE, "Code Type", "red")              \
    X(OPCODES, "Opcodes", "magenta")         \
    X(EXCEPTIONS, "Exceptions", "lightblue") \
    X(WAITS, "Waits", "brown")

enum gecko_category {
#define X(name, text, colour) GECKO_CATEGORY_##name,
    GECKO_CATEGORIES(X)
#undef X
        GECKO_CATEGORY_COUNT
};

/* The value of the key "libs". */
void gecko_put_libs(struct json *json, const struct profile_snapshot *snapshot);

/* The value of the key "shared". */
MUST_CHECK enum err_code gecko_put_shared(struct json *json,
                                          const struct profile_snapshot *snapshot,
                                          struct err *err);

#endif /* SERVER_REPORT_FORMATS_GECKO_TABLES_H */
