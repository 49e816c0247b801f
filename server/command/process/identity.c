#include "server/command/process/identity.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/command/options/options.h"
#include "server/sessions/capture_folder.h"

struct owners {
    bool is_any, differ;
    uid_t uid;
};

static void add_owner(struct owners *owners, uid_t uid)
{
    owners->differ |= owners->is_any && owners->uid != uid;
    owners->is_any = true;
    owners->uid = uid;
}

/* The nearest folder that is there: what lies below it is made by us. */
static void add_folder(struct owners *owners, const char *path)
{
    char name[PATH_MAX];
    struct stat status;
    snprintf(name, sizeof name, "%s", path);
    for (;;) {
        if (stat(name, &status) == 0 && S_ISDIR(status.st_mode)) {
            add_owner(owners, status.st_uid);
            return;
        }
        char *const slash = strrchr(name, '/');
        if (!slash || slash == name)
            break;
        *slash = '\0';
    }
    if (stat(*path == '/' ? "/" : ".", &status) == 0)
        add_owner(owners, status.st_uid);
}

/* A file is renamed to where a link leads; what is no regular file is written as it is. */
static void add_file(struct owners *owners, const char *path)
{
    struct stat status;
    char *const real = realpath(path, NULL);
    const char *const name = real ? real : path;
    const bool is_there = stat(name, &status) == 0;
    if (strcmp(path, "-") != 0 &&
        (!is_there || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)))
        add_folder(owners, name);
    free(real);
}

/* Reports that are named nowhere come into the present folder. */
static void add_reports(struct owners *owners, const struct options *options)
{
    for (size_t i = 0; i < options->format_count; i++) {
        const char *const own = options->formats[i].output;
        add_file(owners, own ? own : options->output ? options->output : ".");
    }
    if (options->format_count == 0 && options->output)
        add_file(owners, options->output);
    if (options->quality_file)
        add_file(owners, options->quality_file);
}

static void add_data(struct owners *owners, const struct options *options)
{
    const bool is_server = options->command->bit == COMMAND_SERVE || options->opens_browser;
    char folder[PATH_MAX];
    if (is_server && (options->command->bit & (COMMAND_SERVE | COMMAND_REPLAY)) &&
        !options->serve.keeps_nothing &&
        captures_folder_path(options->serve.data, folder, NULL) == ERR_OK)
        add_folder(owners, folder);
    if (options->access.shares_file)
        add_file(owners, options->access.shares_file);
}

/* What is only removed at the end; a socket that is left over is replaced by the next of us. */
static void add_removed(struct owners *owners, const struct options *options)
{
    if (options->wants_capture)
        add_file(owners, options->capture_file ? options->capture_file
                         : options->output     ? options->output
                                               : ".");
    if (!owners->is_any && options->has_listen && options->listen.is_unix)
        add_folder(owners, options->listen.host);
}

void identity_choose(const struct options *options, struct identity_choice *out)
{
    struct owners owners = { .is_any = false };
    *out = (struct identity_choice){ .uid = IDENTITY_NOBODY, .gid = IDENTITY_NOBODY };
    if (getuid() != 0) {
        *out = (struct identity_choice){ .uid = getuid(), .gid = getgid() };
        return;
    }
    add_reports(&owners, options);
    add_data(&owners, options);
    add_removed(&owners, options);
    if (!owners.is_any)
        return;
    out->needs_override = owners.differ;
    out->uid = owners.differ ? 0 : owners.uid;
    if (out->uid == 0)
        out->gid = getgid();
}
