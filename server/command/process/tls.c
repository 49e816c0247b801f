#include "server/command/process/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/scoped.h"
#include "server/command/process/exit.h"

static void wipe(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

static enum err_code read_rest(int fd, const char *path, char *text, struct err *err)
{
    size_t length = 0;
    ssize_t bytes = 0;
    while (length <= TLS_MAX_BYTES &&
           (bytes = read(fd, text + length, TLS_MAX_BYTES + 1 - length)) > 0)
        length += (size_t)bytes;
    if (bytes < 0) {
        err_sys(err, errno, "cannot read '%s'", path);
        return ERR_SYS;
    }
    if (length == 0 || length > TLS_MAX_BYTES)
        return err_set(err, ERR_INVALID, "'%s' is empty or larger than 1 MiB", path);
    text[length] = '\0';
    return ERR_OK;
}

static enum err_code read_text(const char *path, char **out, struct err *err)
{
    SCOPED_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    char *const text = calloc(1, TLS_MAX_BYTES + 2);
    if (fd < 0) {
        err_sys(err, errno, "cannot read '%s'", path);
        free(text);
        return ERR_SYS;
    }
    const enum err_code rc = text ? read_rest(fd, path, text, err)
                                  : err_set(err, ERR_NOMEM, "no memory for '%s'", path);
    if (rc == ERR_OK)
        *out = text;
    else
        wipe(text);
    return rc;
}

static void warn_if_readable(const char *path)
{
    struct stat status;
    if (stat(path, &status) == 0 && (status.st_mode & S_IROTH) != 0)
        say("others may read the TLS key in '%s'", path);
}

enum err_code tls_read(const char *cert_file, const char *key_file, struct tls *out,
                       struct err *err)
{
    memset(out, 0, sizeof *out);
    if (!cert_file)
        return ERR_OK;
    enum err_code rc = read_text(cert_file, &out->cert, err);
    if (rc == ERR_OK)
        rc = read_text(key_file, &out->key, err);
    if (rc == ERR_OK)
        warn_if_readable(key_file);
    else
        tls_deinit(out);
    return rc;
}

void tls_deinit(struct tls *tls)
{
    wipe(tls->cert);
    wipe(tls->key);
    memset(tls, 0, sizeof *tls);
}
