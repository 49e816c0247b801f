#include "server/command/options/access_options.h"

#include <string.h>

#include "server/command/options/options.h"

enum err_code access_set_tls_cert(struct options *options, const char *value, struct err *err)
{
    (void)err;
    options->access.tls_cert = value;
    return ERR_OK;
}

enum err_code access_set_tls_key(struct options *options, const char *value, struct err *err)
{
    (void)err;
    options->access.tls_key = value;
    return ERR_OK;
}

static enum err_code set_file(const char **file, const char *option, const char *value,
                              struct err *err)
{
    if (*value == '\0')
        return err_set(err, ERR_INVALID, "--%s needs a file name", option);
    *file = value;
    return ERR_OK;
}

enum err_code access_set_shares(struct options *options, const char *value, struct err *err)
{
    return set_file(&options->access.shares_file, "shares", value, err);
}

enum err_code access_set_audit(struct options *options, const char *value, struct err *err)
{
    return set_file(&options->access.audit_file, "audit", value, err);
}

/* "/a/b", with or without a '/' at the end; parts that no browser or proxy rewrites. */
enum err_code access_set_base_path(struct options *options, const char *value, struct err *err)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               "0123456789-_~./";
    size_t length = strlen(value);
    while (length > 0 && value[length - 1] == '/')
        length--;
    if ((length > 0 && value[0] != '/') || length > ACCESS_MAX_BASE_PATH ||
        strspn(value, safe) != strlen(value) || strstr(value, "//") || strstr(value, "/."))
        return err_set(err, ERR_INVALID, "bad base path '%.64s': use one such as /pyrometer",
                       value);
    memcpy(options->access.base_path, value, length);
    options->access.base_path[length] = '\0';
    return ERR_OK;
}

enum err_code access_add_user(struct options *options, const char *value, struct err *err)
{
    return admission_add_user(&options->access.admission, value, err);
}

enum err_code access_add_command(struct options *options, const char *value, struct err *err)
{
    return admission_add_command(&options->access.admission, value, err);
}
