/*
 * view_settings - rows that select what a view shows, for the tables of options and of parameters.
 *
 * Each macro gives the members of a row with a struct setting (setting.h).  `query` and `filters` name
 * the members of the type that are its struct view_query and its struct frame_filters.
 */
#ifndef SERVER_SETTINGS_VIEW_SETTINGS_H
#define SERVER_SETTINGS_VIEW_SETTINGS_H

#include "sampler/profile/views/frame_filters.h"
#include "server/settings/setting.h"

#define VIEW_FROM(type, query) SETTING("from", TIME, type, query.from_ns)
#define VIEW_TO(type, query)   SETTING("to", DURATION, type, query.to_ns)
#define VIEW_STATE(type, query) \
    SETTING("state", OTHER, type, query), .setting.read = view_read_state
#define VIEW_PARTS(type, query) \
    SETTING("parts", OTHER, type, query), .setting.read = view_read_parts
#define VIEW_FILTER(name, type, filters, kind)                                 \
    SETTING(name, OTHER, type, filters), .setting.read = view_read_filter,     \
                                         .setting.which = FRAME_FILTER_##kind, \
                                         .setting.is_repeatable = true
/* The pattern of a choice of requests. */
#define VIEW_CONTEXT_VALUE(name, type, requests) \
    SETTING(name, OTHER, type, requests.pattern), .setting.read = view_read_context_value
/* A choice: do stacks end with why their threads wait? */
#define VIEW_WAITS(type, filters) \
    SETTING("waits", CHOICE, type, filters.waits), .setting.texts = wait_marks_texts
/* Which native frames are shown. */
#define VIEW_NATIVE(name, type, filters)                                                \
    SETTING(name, CHOICE, type, filters.native), .setting.least = NATIVE_FRAMES_HIDDEN, \
                                                 .setting.texts = native_frames_texts

MUST_CHECK enum err_code view_read_state(const struct setting *setting, void *query,
                                         const char *text, struct err *why);
MUST_CHECK enum err_code view_read_parts(const struct setting *setting, void *query,
                                         const char *text, struct err *why);
MUST_CHECK enum err_code view_read_filter(const struct setting *setting, void *filters,
                                          const char *text, struct err *why);
MUST_CHECK enum err_code view_read_context_value(const struct setting *setting, void *pattern,
                                                 const char *text, struct err *why);

#endif /* SERVER_SETTINGS_VIEW_SETTINGS_H */
