#include "server/wire/rules.h"

#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/profile/window.h"

const char *rules_text(enum rule rule)
{
    static const char *const texts[] = {
#define X(name, text) text,
        RULES(X)
#undef X
    };
    return texts[rule];
}

enum err_code rules_add(struct rules *rules, enum rule rule, const char *word, struct err *err)
{
    static const char function[] = "function:";
    const bool is_name = strncmp(word, function, sizeof function - 1) == 0;
    const char *const text = is_name ? word + sizeof function - 1 : word;
    size_t *const count = &rules->counts[rule];
    if (*text == '\0')
        return err_set(err, ERR_INVALID, "the end of a file's path, or function:NAME");
    if (*count == RULES_MAX_PATTERNS)
        return err_set(err, ERR_INVALID, "at most %d patterns", RULES_MAX_PATTERNS);
    rules->patterns[rule][(*count)++] = is_name ? (struct reshape_pattern){ .name = text }
                                                : (struct reshape_pattern){ .file = text };
    return ERR_OK;
}

bool rules_are_any(const struct rules *rules)
{
    size_t count = 0;
    for (size_t i = 0; i < RULE_COUNT; i++)
        count += rules->counts[i];
    return count > 0;
}

static uint64_t hash_text(const char *text, uint64_t hash)
{
    return hash_bytes(text ? text : "", text ? strlen(text) + 1 : 1, hash);
}

uint64_t rules_hash(const struct rules *rules, uint64_t hash)
{
    for (size_t i = 0; i < RULE_COUNT; i++) {
        hash = hash_bytes(&rules->counts[i], sizeof rules->counts[i], hash);
        for (size_t j = 0; j < rules->counts[i]; j++)
            hash = hash_text(rules->patterns[i][j].name,
                             hash_text(rules->patterns[i][j].file, hash));
    }
    return hash;
}

static struct reshape_patterns patterns_of(const struct rules *rules, enum rule rule)
{
    return (struct reshape_patterns){ rules->patterns[rule], rules->counts[rule] };
}

/* All of it as one window: half the time, a third of the memory. */
static enum err_code add_sum(struct reshaped *reshaped, const struct profile_snapshot *from,
                             const struct view_query *query, const struct reshape_rules *rules,
                             struct err *err)
{
    if (from->window_count)
        profile_set_period(reshaped->profile, from->windows[from->window_count - 1]->period_ns);
    *profile_quality(reshaped->profile) = from->quality;
    const enum err_code rc =
        reshape_add(reshaped->profile, from, query, rules, &reshaped->counts, err);
    return rc ? rc : profile_seal(reshaped->profile, from->end_ns, err);
}

enum err_code reshaped_init(struct reshaped *reshaped, const struct profile_snapshot *from,
                            const struct view_query *query, const struct rules *rules,
                            enum reshaped_time time, struct err *err)
{
    const struct reshape_rules wanted = { .omit = patterns_of(rules, RULE_OMIT),
                                          .below = patterns_of(rules, RULE_BELOW),
                                          .at = patterns_of(rules, RULE_AT),
                                          .hide = patterns_of(rules, RULE_HIDE) };
    memset(reshaped, 0, sizeof *reshaped);
    enum err_code rc = profile_create(&reshaped->profile, err);
    if (rc == ERR_OK && time == RESHAPED_SUM)
        rc = add_sum(reshaped, from, query, &wanted, err);
    else if (rc == ERR_OK)
        rc = reshape_windows(reshaped->profile, from, query, &wanted, &reshaped->counts, err);
    if (rc == ERR_OK) {
        profile_extend(reshaped->profile, from->end_ns);
        rc = profile_snapshot(reshaped->profile, &reshaped->snapshot, err);
    }
    if (rc != ERR_OK)
        reshaped_deinit(reshaped);
    return rc;
}

void reshaped_deinit(struct reshaped *reshaped)
{
    profile_snapshot_release(&reshaped->snapshot);
    profile_destroy(reshaped->profile);
    memset(reshaped, 0, sizeof *reshaped);
}
