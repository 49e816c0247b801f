/*
 * option_table - the one table of options.
 */
#ifndef SERVER_COMMAND_OPTIONS_OPTION_TABLE_H
#define SERVER_COMMAND_OPTIONS_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "server/settings/setting.h"

struct options;
struct report_format;

/* One row of the table.  The formats of report.h follow as rows of their own. */
struct option {
    struct setting setting; /* its name is without -- */
    char letter;            /* '\0': none */
    /* Name of the value in help; NULL: the option has no value; "=X": the value is optional, as in
     * --name=X. */
    const char *value;
    const char *bare; /* what it is without its optional value; NULL: stays as it was */
    const char
        *by_letter; /* what its letter stands for, if the value is optional; NULL: the same */
    unsigned commands; /* COMMAND_* bits; 0: all; COMMAND_NONE: without a command */
    const char *help;
    const char *heading;                /* in help, for this row and the following ones */
    const struct report_format *format; /* NULL: the option is not a format */
    bool names_format;                  /* its value is the name of one */
};

/* NULL: fewer than index + 1. */
const struct option *option_at(size_t index);

/* A process id, for `setting.read` and as a word of its own. */
MUST_CHECK enum err_code option_read_pid(const struct setting *setting, void *sampling,
                                         const char *text, struct err *why);
/* value: its file, or its baseline; NULL: none.  If a format is given twice, the later value counts. */
MUST_CHECK enum err_code option_add_format(struct options *options,
                                           const struct report_format *format,
                                           const char *value, struct err *err);

/* The forms of help (enum_text.h): HELP_TEXT has HELP_LINES at most, HELP_ALL everything; HELP_MAN is the manual page that
 * man_page.h prints. */
enum { HELP_TEXT, HELP_ALL, HELP_MAN, HELP_LINES = 30 };
extern const char *const help_form_texts[];
/* The supported shells (enum_text.h). */
extern const char *const completion_texts[];

#endif /* SERVER_COMMAND_OPTIONS_OPTION_TABLE_H */
