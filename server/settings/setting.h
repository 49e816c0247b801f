/*
 * setting - one row of a table of options of the command line, parameters of a URL or members of a JSON
 * body: name, type, range, and where the value is stored.
 *
 * Only setting_read parses texts of such values and reports what is wrong with them;
 * setting_read_number does so for a number of JSON, in the unit that a text without one has.
 *
 * Ownership: texts and lists of texts are borrowed.
 * Limits: SETTING_MAX_TEXTS, SETTING_MAX_IDS.
 */
#ifndef SERVER_SETTINGS_SETTING_H
#define SERVER_SETTINGS_SETTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

enum { SETTING_MAX_TEXTS = 64, SETTING_MAX_IDS = 256 };

struct setting_texts {
    const char *items[SETTING_MAX_TEXTS];
    size_t count;
};

struct setting_ids {
    uint32_t items[SETTING_MAX_IDS];
    size_t count;
};

enum setting_kind {
    SETTING_FLAG,     /* bool: "1", "0", or the name alone */
    SETTING_NUMBER,   /* uint32_t within the range of the row */
    SETTING_ID,       /* uint32_t: any, or within the range of the row */
    SETTING_RATE,     /* double, Hz: "100", "100hz", "10khz", "1.5k", "1mhz" */
    SETTING_PERCENT,  /* double, above 0 and up to 100: "5", "0.5", "5%" */
    SETTING_SIZE,     /* uint64_t, bytes, 1 MiB to 1 TiB: "64mib", "256M", "1.5g", "1048576" */
    SETTING_DURATION, /* uint64_t, ns, above 0: "10", "0.5", "500ms", "10s", "2m", "1h" */
    SETTING_TIME,     /* uint64_t, ns since the start: the same, or 0 */
    SETTING_CHOICE,   /* an enum, by its texts */
    SETTING_TEXT,     /* const char * */
    SETTING_TEXTS,    /* struct setting_texts; repeatable */
    SETTING_IDS,      /* struct setting_ids; repeatable */
    SETTING_OTHER,    /* whatever `read` stores */
};

struct setting {
    const char *name;
    enum setting_kind kind;
    size_t offset;        /* of the value, in the struct */
    size_t given;         /* offset of a bool that is set if the setting is given; 0: none */
    uint32_t least, most; /* of a number, bytes of a text, and the first value of a choice */
    const char *const *texts; /* of a choice (enum_text.h) */
    bool is_repeatable;       /* if the kind is not repeatable anyway */
    unsigned which;           /* for `read` */
    enum err_code (*read)(const struct setting *setting, void *value, const char *text,
                          struct err *why);
};

/* Members of a row that has a struct setting. */
#define SETTING(name_, kind_, type_, member_)                 \
    .setting.name = (name_), .setting.kind = SETTING_##kind_, \
    .setting.offset = offsetof(type_, member_)

/* Stores the value in the struct at `out`.  text NULL: the name was given without a value.
 * ERR_INVALID: `why` says what is wanted, as in "want 1 to 1mhz"; put it after the name and the text. */
MUST_CHECK enum err_code setting_read(const struct setting *setting, void *out,
                                      const char *text, struct err *why);
/* Reads a number. ERR_INVALID too: the setting is a text. */
MUST_CHECK enum err_code setting_read_number(const struct setting *setting, void *out,
                                             double number, struct err *why);
/* A `read` for the name of a ContextVar, char[CONTEXT_MAX_VARIABLE]; "": none. */
MUST_CHECK enum err_code setting_read_context(const struct setting *setting, void *out,
                                              const char *text, struct err *why);
/* A `read` for names of measures, as in "time,page-faults": adds them to a measure_set. */
MUST_CHECK enum err_code setting_read_events(const struct setting *setting, void *out,
                                             const char *text, struct err *why);
bool setting_is_number(const struct setting *setting);
bool setting_is_repeatable(const struct setting *setting);

/* Reads a number with an optional unit of the kind.  false: it is malformed or out of range. */
bool setting_number(enum setting_kind kind, const char *text, double *out);

#endif /* SERVER_SETTINGS_SETTING_H */
