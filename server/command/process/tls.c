#include "server/command/process/tls.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "server/command/process/exit.h"
#include "server/command/process/named_file.h"

static void wipe(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

static enum err_code read_text(const char *path, const char *what, char **out, mode_t *mode_out,
                               struct err *err)
{
    size_t length;
    char *const text = calloc(1, TLS_MAX_BYTES + 2);
    enum err_code rc =
        text ? named_file_read(path, what, text, TLS_MAX_BYTES + 1, &length, mode_out, err)
             : err_nomem(err);
    if (rc == ERR_OK && (length == 0 || length > TLS_MAX_BYTES))
        rc = err_set(err, ERR_INVALID, "'%s' is empty or larger than 1 MiB", path);
    if (rc == ERR_OK)
        *out = text;
    else
        wipe(text);
    return rc;
}

enum err_code tls_read(const char *cert_file, const char *key_file, struct tls *out,
                       struct err *err)
{
    memset(out, 0, sizeof *out);
    if (!cert_file)
        return ERR_OK;
    mode_t mode;
    enum err_code rc = read_text(cert_file, "the certificate", &out->cert, &mode, err);
    if (rc == ERR_OK)
        rc = read_text(key_file, "the TLS key", &out->key, &mode, err);
    if (rc != ERR_OK)
        tls_deinit(out);
    else if ((mode & S_IROTH) != 0)
        say("others may read the TLS key in '%s'", key_file);
    return rc;
}

void tls_deinit(struct tls *tls)
{
    wipe(tls->cert);
    wipe(tls->key);
    memset(tls, 0, sizeof *tls);
}
