#include "server/settings/view_settings.h"

#include "sampler/profile/views/frame_filters.h"
#include "sampler/profile/views/request_choice.h"
#include "sampler/profile/views/view.h"
#include "server/settings/state_words.h"

enum err_code view_read_state(const struct setting *setting, void *query, const char *text,
                              struct err *why)
{
    struct view_query *const view = query;
    (void)setting;
    return state_words_read(text, &view->states, why);
}

enum err_code view_read_parts(const struct setting *setting, void *query, const char *text,
                              struct err *why)
{
    struct view_query *const view = query;
    (void)setting;
    return state_words_read_parts(text, &view->states.parts, why);
}

enum err_code view_read_filter(const struct setting *setting, void *filters, const char *text,
                               struct err *why)
{
    return frame_filters_add(filters, (enum frame_filter_kind)setting->which, text, why);
}

enum err_code view_read_context_value(const struct setting *setting, void *pattern,
                                      const char *text, struct err *why)
{
    const struct request_choice choice = { .pattern = text };
    const enum err_code rc = request_choice_check(&choice, why);
    (void)setting;
    if (!rc)
        *(const char **)pattern = text;
    return rc;
}
