#include "server/access/admission.h"

#include <fnmatch.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum err_code admission_add_user(struct admission *admission, const char *name, struct err *err)
{
    const size_t digits = strspn(name, "0123456789");
    const struct passwd *const entry = getpwnam(name);
    const unsigned long long number = strtoull(name, NULL, 10);
    /* The largest number is nobody's. */
    const bool is_number = digits > 0 && name[digits] == '\0' && number < (uid_t)-1;
    if (admission->user_count == ADMISSION_MAX_USERS)
        return err_set(err, ERR_INVALID, "it is given more than %d times", ADMISSION_MAX_USERS);
    if (!entry && !is_number)
        return err_set(err, ERR_INVALID, "no such user");
    admission->users[admission->user_count++] = entry ? entry->pw_uid : (uid_t)number;
    return ERR_OK;
}

static bool has_user(const struct admission *admission, uid_t user)
{
    bool is_listed = admission->user_count == 0;
    for (size_t i = 0; i < admission->user_count; i++)
        is_listed |= admission->users[i] == user;
    return is_listed;
}

static enum err_code permits_candidate(const void *context,
                                       const struct permission_candidate *candidate,
                                       struct err *err)
{
    const struct admission *const admission = context;

    const char *const command = candidate->command;
    bool is_permitted = admission->commands.count == 0;
    for (size_t i = 0; i < admission->commands.count; i++)
        is_permitted |= fnmatch(admission->commands.items[i], command, 0) == 0;

    for (size_t i = 0; i < sizeof candidate->users.ids / sizeof *candidate->users.ids; i++)
        is_permitted &= has_user(admission, candidate->users.ids[i]);
    return is_permitted
               ? ERR_OK
               : err_set(err, ERR_PERM,
                         "profiling process %d is not permitted on this server (--allow-user, "
                         "--allow-command)",
                         (int)candidate->pid);
}

static bool is_open(const struct admission *admission)
{
    return admission->user_count + admission->commands.count == 0;
}

void admission_use(const struct admission *admission)
{
    if (!is_open(admission))
        permission_use(permits_candidate, admission);
}

void admission_ask(const struct admission *admission, permission_provider *provider)
{
    if (!is_open(admission))
        permission_provide(provider);
}
