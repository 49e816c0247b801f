#include "server/settings/setting.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sampler/base/buffer.h"
#include "sampler/base/enum_text.h"
#include "sampler/profile/measure.h"
#include "sampler/session.h"

struct unit {
    const char *name;
    double factor;
};

/* Each ends at the unit without a name. */
static const struct unit counts[] = { { "", 1 }, { NULL, 0 } };
static const struct unit rates[] = { { "", 1 },      { "hz", 1 },  { "k", 1e3 }, { "khz", 1e3 },
                                     { "mhz", 1e6 }, { "m", 1e6 }, { NULL, 0 } };
static const struct unit durations[] = { { "", 1e9 },   { "ms", 1e6 },   { "s", 1e9 },
                                         { "m", 60e9 }, { "h", 3600e9 }, { NULL, 0 } };
static const struct unit percents[] = { { "", 1 }, { "%", 1 }, { NULL, 0 } };
static const struct unit sizes[] = {
    { "", 1 },         { "b", 1 },       { "k", 0x1p10 },   { "kb", 0x1p10 },
    { "kib", 0x1p10 }, { "m", 0x1p20 },  { "mb", 0x1p20 },  { "mib", 0x1p20 },
    { "g", 0x1p30 },   { "gb", 0x1p30 }, { "gib", 0x1p30 }, { NULL, 0 },
};

/* A century: longer than anyone lets a profiler run, and far from the end of 64 bits. */
#define MAX_DURATION_NS (100.0 * 365 * 24 * 3600e9)

static const struct number {
    const struct unit *units;
    double least, most;
    const char *wanted;
} numbers[] = {
    [SETTING_NUMBER] = { counts, 0, UINT32_MAX, NULL },
    [SETTING_ID] = { counts, 0, UINT32_MAX, "a whole number" },
    [SETTING_IDS] = { counts, 0, UINT32_MAX, "a whole number" },
    [SETTING_RATE] = { rates, SESSION_MIN_RATE_HZ, SESSION_MAX_RATE_HZ,
                       "1 to 1mhz, such as 100, 1.5k or 10khz" },
    [SETTING_PERCENT] = { percents, DBL_MIN, 100, "a percentage up to 100, such as 5" },
    [SETTING_SIZE] = { sizes, 0x1p20, 0x1p40, "1mib to 1024gib, such as 64m or 1g" },
    [SETTING_DURATION] = { durations, 1, MAX_DURATION_NS,
                           "a time such as 10, 0.5, 500ms, 2m or 1h" },
    [SETTING_TIME] = { durations, 0, MAX_DURATION_NS,
                       "a time since the start, such as 0, 0.5, 500ms, 2m or 1h" },
};

/* strtod alone would take "inf", "nan" and "0x1p3". */
bool setting_number(enum setting_kind kind, const char *text, double *out)
{
    const struct number *const row = &numbers[kind];
    const struct unit *unit = row->units;
    const size_t length = strspn(text, unit == counts ? "0123456789" : "0123456789.");
    char *end = NULL, digits[33];
    if (length == 0 || length >= sizeof digits)
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    const double value = strtod(digits, &end);
    while (unit->name && strcasecmp(unit->name, text + length) != 0)
        unit++;
    *out = value * unit->factor;
    return end != digits && *end == '\0' && unit->name && *out >= row->least &&
           *out <= row->most;
}

static bool has_range(const struct setting *setting)
{
    return setting->kind == SETTING_NUMBER || setting->most > 0;
}

static bool is_in_range(const struct setting *setting, double number)
{
    return !has_range(setting) || (number >= setting->least && number <= setting->most);
}

static enum err_code read_number(const struct setting *setting, const char *text, double *out,
                                 struct err *why)
{
    if (setting_number(setting->kind, text, out) && is_in_range(setting, *out))
        return ERR_OK;
    if (has_range(setting))
        return err_set(why, ERR_INVALID, "want a whole number from %u to %u", setting->least,
                       setting->most);
    return err_set(why, ERR_INVALID, "want %s", numbers[setting->kind].wanted);
}

/* The first unit is the one of a number without a unit. */
static enum err_code check_number(const struct setting *setting, double *number,
                                  struct err *why)
{
    const struct number *const row = &numbers[setting->kind];
    const bool is_whole = row->units == counts;
    const double factor = row->units->factor, value = *number * factor;
    const double least = has_range(setting) ? setting->least : row->least;
    const double most = has_range(setting) ? setting->most : row->most;
    if (value >= least && value <= most && (!is_whole || value == (double)(uint32_t)value)) {
        *number = value;
        return ERR_OK;
    }
    const char *const what = is_whole ? "a whole number" : "a number";
    /* The least value of a duration or a share only excludes 0. */
    if (least > 0 && least / factor < 1e-6)
        return err_set(why, ERR_INVALID, "want %s above 0, up to %.10g", what, most / factor);
    return err_set(why, ERR_INVALID, "want %s from %.10g to %.10g", what, least / factor,
                   most / factor);
}

static enum err_code read_choice(const struct setting *setting, unsigned *out, const char *text,
                                 struct err *why)
{
    const char *const *const texts = setting->texts + setting->least;
    const int found = enum_find(texts, text);
    char list[128] = "";
    if (found >= 0) {
        *out = (unsigned)found + setting->least;
        return ERR_OK;
    }
    for (size_t i = 0, at = 0; texts[i] && at < sizeof list; i++) {
        const char *const between = i == 0 ? "" : texts[i + 1] ? ", " : " or ";
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", between, texts[i]);
    }
    return err_set(why, ERR_INVALID, "want %s", list);
}

static enum err_code read_flag(bool *out, const char *text, struct err *why)
{
    *out = !text || strcmp(text, "1") == 0;
    return *out || strcmp(text, "0") == 0 ? ERR_OK : err_set(why, ERR_INVALID, "want 1 or 0");
}

static enum err_code add_text(struct setting_texts *list, const char *text, struct err *why)
{
    if (list->count == SETTING_MAX_TEXTS)
        return err_set(why, ERR_INVALID, "want at most %d of them", SETTING_MAX_TEXTS);
    list->items[list->count++] = text;
    return ERR_OK;
}

static enum err_code add_id(struct setting_ids *list, uint32_t id, struct err *why)
{
    if (list->count == SETTING_MAX_IDS)
        return err_set(why, ERR_INVALID, "want at most %d of them", SETTING_MAX_IDS);
    list->items[list->count++] = id;
    return ERR_OK;
}

static enum err_code read_text(const struct setting *setting, const char **out,
                               const char *text, struct err *why)
{
    if (setting->most && strlen(text) > setting->most)
        return err_set(why, ERR_INVALID, "want at most %u bytes", setting->most);
    *out = text;
    return ERR_OK;
}

static void note_given(const struct setting *setting, void *out)
{
    if (setting->given)
        *(bool *)((char *)out + setting->given) = true;
}

bool setting_is_number(const struct setting *setting)
{
    return setting->kind < sizeof numbers / sizeof *numbers && numbers[setting->kind].units;
}

static enum err_code put_number(const struct setting *setting, void *value, double number,
                                struct err *why)
{
    switch (setting->kind) {
    case SETTING_NUMBER:
    case SETTING_ID: *(uint32_t *)value = (uint32_t)number; return ERR_OK;
    case SETTING_RATE:
    case SETTING_PERCENT: *(double *)value = number; return ERR_OK;
    case SETTING_SIZE:
    case SETTING_DURATION:
    case SETTING_TIME: *(uint64_t *)value = (uint64_t)number; return ERR_OK;
    case SETTING_IDS: return add_id(value, (uint32_t)number, why);
    case SETTING_FLAG:
    case SETTING_CHOICE:
    case SETTING_TEXT:
    case SETTING_TEXTS:
    case SETTING_OTHER: break;
    }
    return err_set(why, ERR_INVALID, "want a text");
}

enum err_code setting_read_number(const struct setting *setting, void *out, double number,
                                  struct err *why)
{
    note_given(setting, out);
    if (setting_is_number(setting) && check_number(setting, &number, why))
        return ERR_INVALID;
    return put_number(setting, (char *)out + setting->offset, number, why);
}

enum err_code setting_read(const struct setting *setting, void *out, const char *text,
                           struct err *why)
{
    void *const value = (char *)out + setting->offset;
    double number = 0;
    note_given(setting, out);
    if (!text && setting->kind != SETTING_FLAG)
        return ERR_OK;
    if (setting_is_number(setting)) {
        if (read_number(setting, text, &number, why))
            return ERR_INVALID;
        return put_number(setting, value, number, why);
    }
    if (setting->kind == SETTING_FLAG)
        return read_flag(value, text, why);
    if (setting->kind == SETTING_CHOICE)
        return read_choice(setting, value, text, why);
    if (setting->kind == SETTING_TEXT)
        return read_text(setting, value, text, why);
    if (setting->kind == SETTING_TEXTS)
        return add_text(value, text, why);
    return setting->read(setting, value, text, why);
}

enum err_code setting_read_context(const struct setting *setting, void *out, const char *text,
                                   struct err *why)
{
    (void)setting;
    if (*text && !context_variable_is_valid(text))
        return err_set(why, ERR_INVALID,
                       "want the name of a ContextVar, up to %d characters without blanks, "
                       "colons and angle brackets, " CONTEXT_OPENTELEMETRY
                       ", or " CONTEXT_GUESSED,
                       CONTEXT_MAX_VARIABLE - 1);
    snprintf(out, CONTEXT_MAX_VARIABLE, "%s", text);
    return ERR_OK;
}

enum err_code setting_read_events(const struct setting *setting, void *out, const char *text,
                                  struct err *why)
{
    measure_set *const measures = out;
    (void)setting;
    for (const char *at = text; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        const size_t length = strcspn(at, ",");
        enum measure measure = MEASURE_TIME;
        while (measure < MEASURE_KNOWN && (strlen(measure_texts[measure]) != length ||
                                           memcmp(measure_texts[measure], at, length) != 0))
            measure++;
        if (measure < MEASURE_KNOWN) {
            *measures |= MEASURE_SET(measure);
            continue;
        }
        struct buffer known = { 0 };
        for (enum measure i = MEASURE_TIME; i < MEASURE_KNOWN; i++)
            buffer_printf(&known, "%s%s", i > MEASURE_TIME ? ", " : "", measure_texts[i]);
        err_set(why, ERR_INVALID, "'%.*s' is no event: want some of %s",
                length < 32 ? (int)length : 32, at, buffer_string(&known));
        buffer_deinit(&known);
        return ERR_INVALID;
    }
    return ERR_OK;
}

bool setting_is_repeatable(const struct setting *setting)
{
    return setting->is_repeatable || setting->kind == SETTING_TEXTS ||
           setting->kind == SETTING_IDS;
}
