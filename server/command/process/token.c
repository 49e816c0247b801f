#include "server/command/process/token.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "server/command/process/exit.h"
#include "server/command/process/named_file.h"

enum { FILE_BYTES = 512 };

/* A group may be that of the service; what everybody can read is no secret. */
static enum err_code check_readers(mode_t mode, const char *path, struct err *err)
{
    if ((mode & S_IROTH) != 0)
        return err_set(
            err, ERR_PERM,
            "everybody may read the token file '%s': put another token into it after "
            "chmod 600",
            path);
    if ((mode & S_IRGRP) != 0)
        say("the group of '%s' may read the token in it", path);
    return ERR_OK;
}

enum err_code token_read(const char *path, char out[AUTH_MAX_TOKEN + 1], struct err *err)
{
    char text[FILE_BYTES];
    size_t bytes;
    mode_t mode;
    enum err_code rc =
        named_file_read(path, "the token file", text, sizeof text - 1, &bytes, &mode, err);
    if (rc == ERR_OK)
        rc = check_readers(mode, path, err);
    if (rc != ERR_OK)
        return rc;
    text[bytes] = '\0';
    char *const start = text + strspn(text, " \t\r\n");
    start[strcspn(start, " \t\r\n")] = '\0';
    if (*start == '\0')
        return err_set(err, ERR_INVALID, "there is no token in '%s'", path);
    if (!auth_token_is_sound(start))
        return err_set(err, ERR_INVALID,
                       "the token in '%s' must have %d to %d characters of A-Z a-z 0-9 - . _ ~",
                       path, AUTH_MIN_TOKEN, AUTH_MAX_TOKEN);
    snprintf(out, AUTH_MAX_TOKEN + 1, "%s", start);
    return ERR_OK;
}
