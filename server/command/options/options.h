/*
 * options - the command line, as one table of options and one struct.
 *
 * Ownership: texts are borrowed from argv.
 * Depends on: sampler.h, listen, hosts (limits), report, units, suggest.
 */
#ifndef SERVER_COMMAND_OPTIONS_OPTIONS_H
#define SERVER_COMMAND_OPTIONS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/sampler.h"
#include "server/access/hosts.h"
#include "server/command/options/access_options.h"
#include "server/command/options/serve_options.h"
#include "server/http/listen.h"
#include "server/report/diff/comparison.h"
#include "server/report/report.h"
#include "server/wire/rules.h"

struct options;

enum {
    COMMAND_ATTACH = 1 << 0,
    COMMAND_RUN = 1 << 1,
    COMMAND_RECORD = 1 << 2,
    COMMAND_REPLAY = 1 << 3,
    COMMAND_SERVE = 1 << 4,
    COMMAND_MERGE = 1 << 5,
    COMMAND_DIFF = 1 << 6,
    COMMAND_DOCTOR = 1 << 7,
    COMMAND_DUMP = 1 << 8,
    COMMAND_TOP = 1 << 9,
};

enum { OPTIONS_MAX_FORMATS = 16, OPTIONS_MAX_FILES = 256, OPTIONS_MAX_THREADS = 64 };

enum diff_form { DIFF_AS_NAMED, DIFF_TEXT, DIFF_JSON, DIFF_HTML };

#define COMMAND_NONE (1u << 31)

struct command {
    const char *name;
    unsigned bit;
    const char *operands;
    const char *summary;
    const char *details;                           /* what --help says below the summary */
    int (*execute)(const struct options *options); /* returns the exit status */
};

struct options {
    const struct command *command; /* NULL: only help or version was asked for */
    bool wants_help;
    bool wants_version;
    const char *completion;          /* a shell's name; NULL: not asked for */
    struct sampler_options sampling; /* pid included */
    bool names_async_mode;
    bool has_listen;
    struct listen_address listen;
    const char *allowed_hosts[HOSTS_MAX_NAMES / 2];
    size_t allowed_host_count;
    const char *token_file; /* NULL: a random token */
    bool no_token;
    struct access_settings access;
    bool opens_browser;
    const char *python; /* NULL: python3 of PATH */
    bool runs_module;
    bool runs_command;  /* not Python source but a command of its own */
    char **target;      /* what to run, and its arguments; ends with NULL */
    const char *output; /* a file, or a folder for several formats */
    bool splits;        /* a file for each process */
    bool wants_capture;
    const char *capture_file;             /* as in --binary=FILE; NULL: not given */
    const char *files[OPTIONS_MAX_FILES]; /* captures to read */
    size_t file_count;
    struct options_view {
        uint64_t from_ns, to_ns;                  /* since the session began; to_ns 0: no end */
        const char *threads[OPTIONS_MAX_THREADS]; /* names or native ids */
        size_t thread_count;
        const char *processes[OPTIONS_MAX_THREADS]; /* names or ids */
        size_t process_count;
        const char *states; /* words; NULL: any */
        struct rules rules;
    } view;
    struct options_format {
        const struct report_format *format;
        const char *output;         /* as in --collapsed=FILE; NULL: not given */
    } formats[OPTIONS_MAX_FORMATS]; /* each once, in the order they were given */
    size_t format_count;
    struct report_settings report;
    struct serve_settings serve;
    const char *baseline; /* a capture to compare with; NULL: none */
    enum diff_form diff_form;
    enum comparison_basis diff_basis;
    bool wants_stats;         /* a line every second */
    const char *quality_file; /* NULL: none; "-": standard output */
};

/* ERR_INVALID, with a sentence for the user. */
MUST_CHECK enum err_code options_parse(char **argv, struct options *out, struct err *err);

/* One row of the table; help walks it.  The formats of report.h are rows too, behind all others:
 * --NAME or --NAME=FILE; --NAME BASELINE where a format compares. */
struct option {
    char letter;      /* '\0': none */
    const char *name; /* without -- */
    /* What to call it in help; NULL: takes none; "=X": as in --name=X, or none. */
    const char *value;
    const char *help;
    unsigned commands; /* COMMAND_* bits; 0: all; COMMAND_NONE: without a command */
    enum err_code (*set)(struct options *options, const char *value, struct err *err);
    const struct report_format *format; /* NULL: an option like any other */
};

/* NULL: fewer than index + 1. */
const struct option *option_at(size_t index);

#endif /* SERVER_COMMAND_OPTIONS_OPTIONS_H */
