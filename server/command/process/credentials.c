#include "server/command/process/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/scoped.h"
#include "sampler/base/trusted_path.h"
#include "server/command/process/exit.h"
#include "server/command/process/signals.h"

enum { TOKEN_FILE_BYTES = 512 };

/* Returns ERR_SYS even for EPERM, because ERR_PERM is about a target. */
static enum err_code refuse_file(const char *what, const char *path, struct err *err)
{
    (void)err_sys(err, errno, "cannot read %s '%s'", what, path);
    return ERR_SYS;
}

/* false: a signal asks the program to stop.  A pipe is not readable until a writer has opened it. */
static bool wait_readable(int fd)
{
    enum { WAIT_MS = 100 };
    struct pollfd wanted = { .fd = fd, .events = POLLIN };
    while (poll(&wanted, 1, WAIT_MS) == 0)
        if (signals_are_pending())
            return false;
    return true;
}

static enum err_code read_whole(int fd, const char *path, const char *what, char *out,
                                size_t bytes, size_t *length_out, struct err *err)
{
    *length_out = 0;
    while (*length_out < bytes) {
        if (!wait_readable(fd))
            return err_set(err, ERR_SYS, "stopped before anything was written to %s '%s'", what,
                           path);
        const ssize_t got = read(fd, out + *length_out, bytes - *length_out);
        if (got == 0)
            break;
        if (got > 0)
            *length_out += (size_t)got;
        else if (errno != EAGAIN && errno != EINTR)
            return refuse_file(what, path, err);
    }
    return ERR_OK;
}

/* Reads a whole file or pipe, up to `bytes`.  Waits for the writer of a pipe until a signal comes.
 * Refuses devices: reading one may have effects, or never end. */
static enum err_code read_named(const char *path, const char *what, char *out, size_t bytes,
                                size_t *length_out, mode_t *mode_out, struct err *err)
{
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode))
        return err_set(err, ERR_SYS, "cannot read %s '%s': it is not a file or a pipe", what,
                       path);
    SCOPED_FD int fd = -1;
    if (trusted_path_open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0, &fd, err))
        return err_wrap(err, ERR_SYS, "cannot read %s '%s'", what, path);
    if (fstat(fd, &status) != 0)
        return refuse_file(what, path, err);
    *mode_out = status.st_mode;
    return read_whole(fd, path, what, out, bytes, length_out, err);
}

enum err_code credentials_read_token(const char *path, char out[AUTH_MAX_TOKEN + 1],
                                     struct err *err)
{
    char text[TOKEN_FILE_BYTES];
    size_t bytes;
    mode_t mode;
    enum err_code rc =
        read_named(path, "the token file", text, sizeof text - 1, &bytes, &mode, err);

    if (rc)
        return rc;
    /* A token that everyone can read is not secret.  The group may be that of the service. */
    if ((mode & S_IROTH) != 0)
        return err_set(
            err, ERR_PERM,
            "everyone can read the token file '%s': run chmod 600 on it, then write a new token "
            "into it",
            path);
    if ((mode & S_IRGRP) != 0)
        say("the group of '%s' can read the token in it", path);
    text[bytes] = '\0';
    char *const start = text + strspn(text, " \t\r\n");
    start[strcspn(start, " \t\r\n")] = '\0';
    if (*start == '\0')
        return err_set(err, ERR_INVALID, "the token file '%s' has no token in it", path);
    if (!auth_token_is_sound(start))
        return err_set(err, ERR_INVALID,
                       "the token in '%s' must have %d to %d characters of A-Z a-z 0-9 - . _ ~",
                       path, AUTH_MIN_TOKEN, AUTH_MAX_TOKEN);
    snprintf(out, AUTH_MAX_TOKEN + 1, "%s", start);
    return ERR_OK;
}

enum err_code credentials_read_headers(const char *path, char **out, struct err *err)
{
    char text[CREDENTIALS_MAX_HEADERS_BYTES + 1];
    size_t bytes;
    mode_t mode;
    enum err_code rc =
        read_named(path, "the file of headers", text, sizeof text, &bytes, &mode, err);
    if (!rc && (mode & S_IROTH) != 0)
        rc = err_set(err, ERR_PERM,
                     "everyone can read the file of headers '%s': run chmod 600 on it", path);
    if (!rc && (bytes == sizeof text || memchr(text, '\0', bytes)))
        rc = err_set(err, ERR_INVALID,
                     "the file of headers '%s' is larger than 16 KiB, or no text", path);
    if (!rc) {
        *out = strndup(text, bytes);
        rc = *out ? ERR_OK : err_nomem(err);
    }
    explicit_bzero(text, sizeof text);
    return rc;
}

static void wipe_text(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

void credentials_wipe_headers(char *headers)
{
    wipe_text(headers);
}

static enum err_code read_text(const char *path, const char *what, char **out, mode_t *mode_out,
                               struct err *err)
{
    size_t length;
    char *const text = calloc(1, CREDENTIALS_MAX_TLS_BYTES + 2);
    enum err_code rc = text ? read_named(path, what, text, CREDENTIALS_MAX_TLS_BYTES + 1,
                                         &length, mode_out, err)
                            : err_nomem(err);
    if (!rc && (length == 0 || length > CREDENTIALS_MAX_TLS_BYTES))
        rc = err_set(err, ERR_INVALID, "'%s' is empty or larger than 1 MiB", path);
    if (!rc)
        *out = text;
    else
        wipe_text(text);
    return rc;
}

enum err_code credentials_read_tls(const char *cert_file, const char *key_file, struct tls *out,
                                   struct err *err)
{
    memset(out, 0, sizeof *out);
    if (!cert_file)
        return ERR_OK;
    mode_t mode;
    enum err_code rc = read_text(cert_file, "the certificate", &out->cert, &mode, err);
    if (!rc)
        rc = read_text(key_file, "the TLS key", &out->key, &mode, err);
    if (rc)
        credentials_wipe_tls(out);
    else if ((mode & S_IROTH) != 0)
        say("everyone can read the TLS key in '%s': run chmod 600 on it", key_file);
    return rc;
}

void credentials_wipe_tls(struct tls *tls)
{
    wipe_text(tls->cert);
    wipe_text(tls->key);
    memset(tls, 0, sizeof *tls);
}
