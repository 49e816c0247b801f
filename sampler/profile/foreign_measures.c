#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/profile/profile_parts.h"

const struct measure_facts *profile_measure(const struct profile_snapshot *snapshot,
                                            enum measure measure)
{
    return measure < MEASURE_KNOWN ? measure_facts_of(measure)
                                   : &snapshot->profile->foreign[measure - MEASURE_KNOWN].facts;
}

/* Copies a text with other bytes than letters, digits and "_.-" as "_". */
static void put_plain_word(char out[MEASURE_NAME_BYTES], const char *text)
{
    size_t length = 0;
    for (; text[length] && length + 1 < MEASURE_NAME_BYTES; length++) {
        const char byte = text[length];
        const bool is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                              (byte >= '0' && byte <= '9') || byte == '.' || byte == '-';
        out[length] = is_plain ? byte : '_';
    }
    out[length] = '\0';
}

static bool is_measure_name(const struct profile *profile, const char *name)
{
    bool is_taken = false;
    for (size_t i = 0; i < MEASURE_KNOWN; i++)
        is_taken |= strcmp(measure_texts[i], name) == 0;
    for (size_t i = 0; i < profile->foreign_count; i++)
        is_taken |= strcmp(profile->foreign[i].name, name) == 0;
    return is_taken;
}

enum err_code profile_foreign_measure(struct profile *profile, const char *type,
                                      const char *unit, enum measure *out, struct err *err)
{
    struct foreign_measure row;
    put_plain_word(row.type, *type ? type : "_");
    put_plain_word(row.unit, *unit ? unit : "count");
    for (enum measure i = MEASURE_TIME + 1; i < MEASURE_KNOWN + profile->foreign_count; i++) {
        const struct profile_snapshot rows = { .profile = profile };
        const struct measure_facts *const facts = profile_measure(&rows, i);
        if (strcmp(facts->pprof_type, row.type) == 0 &&
            strcmp(facts->pprof_unit, row.unit) == 0) {
            *out = i;
            return ERR_OK;
        }
    }
    if (profile->foreign_count == MEASURE_MOST_FOREIGN)
        return err_set(err, ERR_LIMIT, "it counts more than %d things", MEASURE_MOST_FOREIGN);
    struct foreign_measure *const added = &profile->foreign[profile->foreign_count];
    *added = row;
    memcpy(added->name, row.type, sizeof added->name);
    /* Several of one name have their unit or their number behind it. */
    if (is_measure_name(profile, added->name))
        snprintf(added->name, sizeof added->name, "%.22s.%.22s", row.type, row.unit);
    if (is_measure_name(profile, added->name))
        snprintf(added->name, sizeof added->name, "%.22s.%.20s%u", row.type, row.unit,
                 profile->foreign_count);
    added->facts = (struct measure_facts){ .name = added->name,
                                           .title = added->name,
                                           .unit = added->unit,
                                           .pprof_type = added->type,
                                           .pprof_unit = added->unit,
                                           .what = "counted by another tool" };
    *out = (enum measure)(MEASURE_KNOWN + profile->foreign_count++);
    return ERR_OK;
}

enum measure profile_find_measure(const struct profile_snapshot *snapshot, measure_set set,
                                  const char *name)
{
    for (enum measure i = MEASURE_TIME; i < MEASURE_COUNT; i++)
        if (measure_set_has(set, i) && strcmp(profile_measure(snapshot, i)->name, name) == 0)
            return i;
    return MEASURE_COUNT;
}

void profile_put_measures(const struct profile_snapshot *snapshot, measure_set set,
                          struct buffer *out)
{
    const char *comma = "";
    for (enum measure i = MEASURE_TIME; i < MEASURE_COUNT; i++) {
        if (!measure_set_has(set, i))
            continue;
        buffer_printf(out, "%s%s", comma, profile_measure(snapshot, i)->name);
        comma = ", ";
    }
}
