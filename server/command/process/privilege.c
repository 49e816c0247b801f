#include "server/command/process/privilege.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/access/capabilities.h"
#include "server/command/options/options.h"
#include "server/command/process/exit.h"
#include "server/command/process/syscall_filter.h"
#include "server/sessions/capture_folder.h"

/* CAP_CHECKPOINT_RESTORE since Linux 5.9; headers may be older. */
enum { CHECKPOINT_RESTORE = 40 };

enum { NOBODY = 65534 };

struct identity {
    uid_t uid;
    gid_t gid;
    bool needs_override; /* uid alone cannot write into all of the folders */
};

#define BIT(capability) ((uint64_t)1 << (capability))
#define READING         (BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CHECKPOINT_RESTORE))

/* The rights that a command needs once everything is open. */
static const struct need {
    unsigned commands; /* COMMAND_* */
    uint64_t capabilities;
    unsigned calls; /* enum syscall_group */
    bool keeps_identity;
} needs[] = {
    { COMMAND_ATTACH, READING, SYSCALLS_READ | SYSCALLS_SERVE, false },
    { COMMAND_RUN, READING | BIT(CAP_KILL), SYSCALLS_READ | SYSCALLS_SERVE | SYSCALLS_CHILD,
      false },
    { COMMAND_RECORD | COMMAND_DUMP, READING, SYSCALLS_READ, false },
    { COMMAND_TOP, READING, SYSCALLS_READ | SYSCALLS_TERMINAL, false },
    /* A request may start a session that stops threads. */
    { COMMAND_SERVE, READING, SYSCALLS_READ | SYSCALLS_SERVE | SYSCALLS_STOP, false },
    { COMMAND_MCP, READING, SYSCALLS_READ | SYSCALLS_STOP, false },
    /* doctor reports the rights of its user, so that must not change. */
    { COMMAND_DOCTOR, READING, SYSCALLS_READ, true },
    { COMMAND_REPLAY | COMMAND_DIFF | COMMAND_MERGE | COMMAND_PUSH, BIT(CAP_DAC_READ_SEARCH),
      SYSCALLS_ANY, false },
};

static struct need need_of(const struct options *options)
{
    const bool is_shown =
        options->command->bit == COMMAND_REPLAY && options->opens_browser; /* by `serve` */
    const unsigned bit = is_shown ? COMMAND_SERVE : options->command->bit;
    struct need need = { .calls = SYSCALLS_ANY };
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (needs[i].commands & bit)
            need = needs[i];
    if (options->sampling.stop != SAMPLER_STOP_NEVER)
        need.calls |= SYSCALLS_STOP;
    if (options->push.endpoint_count > 0)
        need.calls |= SYSCALLS_PUSH;
    if ((bit & (SAMPLING | HOSTING)) && options->sampling.engine != SAMPLER_ENGINE_REMOTE)
        need.calls |= SYSCALLS_KERNEL;
    return need;
}

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

/* Adds the owner of the nearest folder that exists; the folders below it are created later. */
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

/* A link is followed.  Only regular files and new files are renamed into their folder. */
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

/* Reports with default names are written into the working folder. */
static void add_reports(struct owners *owners, const struct options *options)
{
    for (size_t i = 0; i < options->format_count; i++) {
        const char *const name = options->formats[i].output;
        add_file(owners, name ? name : options->output ? options->output : ".");
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
        !options->serve.no_data &&
        captures_folder_path(options->serve.data, folder, NULL) == ERR_OK)
        add_folder(owners, folder);
    if (options->access.shares_file)
        add_file(owners, options->access.shares_file);
}

/* Files that are only removed at the end.  A socket may remain, because the next server replaces it. */
static void add_removed(struct owners *owners, const struct options *options)
{
    if (options->wants_capture)
        add_file(owners, options->capture_file ? options->capture_file
                         : options->output     ? options->output
                                               : ".");
    if (!owners->is_any && options->has_listen && options->listen.is_unix)
        add_folder(owners, options->listen.host);
}

static void choose_identity(const struct options *options, struct identity *out)
{
    struct owners owners = { .is_any = false };
    *out = (struct identity){ .uid = NOBODY, .gid = NOBODY };
    if (getuid() != 0) {
        *out = (struct identity){ .uid = getuid(), .gid = getgid() };
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

bool privilege_is_held(void)
{
    uint64_t held;
    return geteuid() == 0 || geteuid() != getuid() || getegid() != getgid() ||
           !capabilities_held(&held) || held != 0;
}

/* Empties the bounding set and removes the special rights of user 0.  Without CAP_SETPCAP neither can
 * change, which does no harm because no_new_privs is set. */
static void narrow_bounds(bool keeps_all)
{
    const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED |
                               SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
    capabilities_bound(keeps_all ? UINT64_MAX : 0);
    (void)prctl(PR_SET_SECUREBITS, bits, 0, 0, 0);
    (void)prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
}

/* EINVAL: our user namespace does not map the identity. */
static enum err_code become(const struct identity *choice, uint64_t held, struct err *err)
{
    const uint64_t needed = BIT(CAP_SETUID) | BIT(CAP_SETGID);
    if (geteuid() != 0 || (held & needed) != needed)
        return ERR_OK;
    if (setresgid(choice->gid, choice->gid, choice->gid) != 0)
        return errno == EINVAL ? ERR_OK : err_sys(err, errno, "cannot change the group");
    if (setgroups(0, NULL) != 0 && getgroups(0, NULL) > 0)
        return err_sys(err, errno, "cannot leave the supplementary groups");
    if (setresuid(choice->uid, choice->uid, choice->uid) != 0)
        return errno == EINVAL ? ERR_OK : err_sys(err, errno, "cannot change the user");
    return ERR_OK;
}

static enum err_code drop(const struct options *options, const struct need *need,
                          struct err *err)
{
    struct identity choice;
    uint64_t held;
    if (!capabilities_held(&held))
        return err_sys(err, errno, "cannot read the capabilities");
    const bool reads = (need->calls & SYSCALLS_READ) != 0;
    const bool keeps_all = reads && !(held & BIT(CAP_SYS_PTRACE));
    choose_identity(options, &choice);
    narrow_bounds(keeps_all);
    enum err_code rc = keeps_all || need->keeps_identity ? ERR_OK : become(&choice, held, err);
    const uint64_t override = choice.needs_override ? BIT(CAP_DAC_OVERRIDE) : 0;
    if (rc == ERR_OK && !capabilities_keep(keeps_all ? held : need->capabilities | override))
        rc = err_sys(err, errno, "cannot drop capabilities");
    /* Other processes with our identity, such as nobody, cannot read our memory. */
    if (rc == ERR_OK && held != 0)
        (void)prctl(PR_SET_DUMPABLE, !syscall_filter_is_built(), 0, 0, 0);
    return rc;
}

/* The first lookup of a user name may load libraries, which the filter would prevent. */
static void load_user_names(void)
{
    char room[1024];
    struct passwd entry, *found = NULL;
    (void)getpwuid_r(NOBODY - 1, &entry, room, sizeof room, &found);
}

enum err_code privilege_drop(const struct options *options, struct err *err)
{
    const struct need need = need_of(options);
    load_user_names();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return err_sys(err, errno, "cannot set no_new_privs");
    enum err_code rc = drop(options, &need, err);
    if (rc == ERR_OK)
        rc = syscall_filter_install(need.calls, err);
    if (rc != ERR_UNSUPPORTED)
        return rc;
    say("system calls are not limited: %s", err->message);
    return ERR_OK;
}
