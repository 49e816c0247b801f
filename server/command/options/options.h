/*
 * options - the command line as a struct, which the table of options fills (option_table.h).
 *
 * Ownership: texts are borrowed from argv.
 */
#ifndef SERVER_COMMAND_OPTIONS_OPTIONS_H
#define SERVER_COMMAND_OPTIONS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/profile/measure.h"
#include "sampler/profile/views/frame_filters.h"
#include "sampler/profile/views/request_choice.h"
#include "sampler/profile/views/view.h"
#include "sampler/session.h"
#include "server/access/admission.h"
#include "server/access/identity.h"
#include "server/http/listen.h"
#include "server/push/settings.h"
#include "server/report/report.h"
#include "server/sessions/trouble.h"
#include "server/settings/setting.h"

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
    COMMAND_MCP = 1 << 12,
    COMMAND_PUSH = 1 << 13,
    COMMAND_WATCH = 1 << 14,
};

/* Commands that take the same options. */
enum {
    LOGGING = COMMAND_ATTACH | COMMAND_RUN | COMMAND_RECORD,
    SAMPLING = LOGGING | COMMAND_TOP,
    BY_PID = COMMAND_ATTACH | COMMAND_RECORD | COMMAND_TOP | COMMAND_WATCH,
    LOADING = COMMAND_REPLAY | COMMAND_SERVE,
    HOSTING = COMMAND_SERVE | COMMAND_MCP,
    SERVING = COMMAND_ATTACH | COMMAND_RUN | LOADING,
    WRITING = COMMAND_RUN | COMMAND_RECORD | COMMAND_REPLAY,
    SELECTING = COMMAND_REPLAY | COMMAND_DIFF,
    FILTERING = LOGGING | SELECTING | COMMAND_PUSH,
    LINKING = SERVING | WRITING | COMMAND_DIFF,
    READING = LOADING | COMMAND_MERGE | COMMAND_DIFF | COMMAND_PUSH,
    PUSHING = LOGGING | COMMAND_SERVE,
};

enum { OPTIONS_MAX_FORMATS = 24, OPTIONS_MAX_FILES = 256, OPTIONS_MAX_BASE_PATH = 128 };

#define COMMAND_NONE (1u << 31)

struct command {
    const char *name;
    unsigned bit;
    const char *operands;
    const char *summary;
    const char *details;  /* what --help=all says below the summary */
    const char *examples; /* three lines of --help, after "pyrometer NAME" */
    const char *usual;    /* the options of --help, by name, each between spaces */
};

struct options {
    const struct command *command; /* NULL: only --help, --version or --completion was given */
    bool wants_help;
    unsigned help_form; /* of help_form_texts */
    bool wants_version;
    bool wants_completion;
    unsigned completion;             /* of completion_texts */
    struct session_options sampling; /* pid included */
    bool names_all_threads, only_main_thread;
    bool is_async_aware, names_async_mode;
    bool shows_native;      /* in a dump */
    const char *executable; /* of the cores of a dump; NULL: where they say */
    struct dump_settings {
        struct setting_texts commands; /* patterns of command lines */
        bool each;                     /* equal stacks are not merged */
        bool kernel;
        uint32_t repeat;
        uint64_t interval_ns;
        enum session_locals_mode locals;
    } dump;
    bool is_blocking, is_gil_only;
    bool has_listen;
    struct listen_address listen;
    struct setting_texts allowed_hosts;
    const char *token_file; /* NULL: a random token */
    bool no_token;
    struct access_settings {
        const char *tls_cert, *tls_key; /* files; both or neither */
        const char *shares_file;        /* NULL: shared links end with the program */
        const char *audit_file;         /* "-": standard error; NULL: not given */
        struct admission admission;
        bool allows_locals;
        struct process_user identity; /* of the HTTP process */
        bool has_identity;
        char base_path[OPTIONS_MAX_BASE_PATH + 1]; /* "/pyrometer"; "": none */
    } access;
    bool opens_browser;
    const char *python; /* NULL: python3 of PATH */
    bool runs_module;
    bool runs_command;  /* TARGET is a command, not Python source */
    char **target;      /* TARGET and its arguments; ends with NULL */
    const char *output; /* a file, or a folder for several formats */
    bool splits;        /* one file per process */
    bool has_memory;    /* --memory is given */
    bool wants_capture;
    const char *capture_file;             /* as in --binary=FILE; NULL: not given */
    const char *files[OPTIONS_MAX_FILES]; /* captures to read, or cores to dump */
    size_t file_count;
    size_t baseline_count; /* of diff: files before '--'; 0: only the first */
    struct options_view {
        struct view_query query;        /* without threads and processes */
        struct setting_texts threads;   /* names or native ids */
        struct setting_texts processes; /* names or ids */
        struct request_choice requests;
        struct frame_filters filters;
        unsigned filter_kinds; /* that were given, also as "": a bit each, 1 << kind */
    } view;
    bool chooses_parts, shows_idle; /* else a format or command has its usual parts of time */
    bool names_mode;
    const char *measure; /* of the reports, by its name; NULL: time, or the first one */
    struct options_format {
        const struct report_format *format;
        const char *output;         /* as in --collapsed=FILE; NULL: not given */
    } formats[OPTIONS_MAX_FORMATS]; /* each once, in the order they were given */
    size_t format_count;
    struct report_settings report;
    struct serve_settings {
        double max_rate_hz;
        uint32_t max_sessions;
        const char *data; /* the folder of captures; NULL: the default one */
        bool no_data;
        bool is_continuous, no_continuous; /* neither: where the kernel engine runs */
        double continuous_hz;
        uint64_t turn_ns;   /* length of a continuous session */
        uint32_t keep_days; /* 0: no limit */
        uint64_t keep_bytes, max_upload;
    } serve;
    struct push_settings push;
    const char *baseline; /* a capture to compare with; NULL: none */
    bool diff_by_time, writes_json, diff_markdown,
        diff_html;                 /* no form: the extension of the file selects it */
    const char *diff_before;       /* compare captures around this instant; NULL: not given */
    const char *diff_service;      /* and only processes of this service; NULL: all */
    uint64_t diff_span_ns;         /* at most so much of each side; 0: all there is */
    struct setting_texts fail_ifs; /* conditions of condition.h */
    struct watch_settings {
        struct trouble_limits limits; /* none: the usual ones */
        const char *exec;             /* for each event; NULL: nothing */
        uint32_t max_events;
    } watch;
    bool wants_stats;         /* a line every second */
    const char *quality_file; /* NULL: none; "-": standard output */
};

#endif /* SERVER_COMMAND_OPTIONS_OPTIONS_H */
