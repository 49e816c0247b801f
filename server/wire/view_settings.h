/*
 * view_settings - rows of what of a profile is shown, for the tables of options and of parameters.
 *
 * Each is the members of a row that has a struct setting (setting.h).  `query` is where the type has
 * its struct view_query, `rules` where it has its struct rules.
 *
 * Depends on: setting, state_words, rules.
 */
#ifndef SERVER_WIRE_VIEW_SETTINGS_H
#define SERVER_WIRE_VIEW_SETTINGS_H

#include "server/wire/rules.h"
#include "server/wire/setting.h"

#define VIEW_FROM(type, query) SETTING("from", TIME, type, query.from_ns)
#define VIEW_TO(type, query)   SETTING("to", DURATION, type, query.to_ns)
#define VIEW_STATE(type, query) \
    SETTING("state", OTHER, type, query), .setting.read = view_read_state
#define VIEW_RULE(name, type, rules, rule)                             \
    SETTING(name, OTHER, type, rules), .setting.read = view_read_rule, \
                                       .setting.which = (rule), .setting.is_repeatable = true

MUST_CHECK enum err_code view_read_state(const struct setting *setting, void *query,
                                         const char *text, struct err *why);
MUST_CHECK enum err_code view_read_rule(const struct setting *setting, void *rules,
                                        const char *text, struct err *why);

#endif /* SERVER_WIRE_VIEW_SETTINGS_H */
