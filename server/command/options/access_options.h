/*
 * access - the options of who may do what, and of where the server is found.
 *
 * Ownership: texts are borrowed from argv.
 * Depends on: err, admission.
 */
#ifndef SERVER_COMMAND_OPTIONS_ACCESS_OPTIONS_H
#define SERVER_COMMAND_OPTIONS_ACCESS_OPTIONS_H

#include "sampler/base/err.h"
#include "server/access/admission.h"

struct options;

enum { ACCESS_MAX_BASE_PATH = 128 };

struct access_settings {
    const char *tls_cert, *tls_key; /* files; both or neither */
    const char *shares_file;        /* NULL: shared links end with the program */
    const char *audit_file;         /* "-": standard error; NULL: not given */
    struct admission admission;
    char base_path[ACCESS_MAX_BASE_PATH + 1]; /* "/pyrometer"; "": none */
};

/* Setters of the table of options. */
enum err_code access_set_tls_cert(struct options *options, const char *value, struct err *err);
enum err_code access_set_tls_key(struct options *options, const char *value, struct err *err);
enum err_code access_set_shares(struct options *options, const char *value, struct err *err);
enum err_code access_set_audit(struct options *options, const char *value, struct err *err);
enum err_code access_set_base_path(struct options *options, const char *value, struct err *err);
enum err_code access_add_user(struct options *options, const char *value, struct err *err);
enum err_code access_add_command(struct options *options, const char *value, struct err *err);

#endif /* SERVER_COMMAND_OPTIONS_ACCESS_OPTIONS_H */
