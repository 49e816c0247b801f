#include "server/push/ca_file.h"

#include <stddef.h>
#include <unistd.h>

/* In the order in which Go tries them. */
static const char *const places[] = {
    "/etc/ssl/certs/ca-certificates.crt",                /* Debian, Alpine, Arch */
    "/etc/pki/tls/certs/ca-bundle.crt",                  /* Fedora, RHEL */
    "/etc/ssl/ca-bundle.pem",                            /* openSUSE */
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* RHEL and Fedora, without links */
    "/etc/ssl/cert.pem",                                 /* Alpine without ca-certificates */
};

const char *ca_file_of_system(void)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (access(places[i], R_OK) == 0)
            return places[i];
    return NULL;
}
