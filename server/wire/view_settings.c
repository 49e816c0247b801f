#include "server/wire/view_settings.h"

#include "sampler/profile/views/view.h"
#include "server/wire/state_words.h"

enum err_code view_read_state(const struct setting *setting, void *query, const char *text,
                              struct err *why)
{
    struct view_query *const view = query;
    (void)setting;
    return state_words_read(text, &view->require, &view->exclude, why);
}

enum err_code view_read_rule(const struct setting *setting, void *rules, const char *text,
                             struct err *why)
{
    return rules_add(rules, (enum rule)setting->which, text, why);
}
