#include "server/command/process/privilege.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <pwd.h>
#include <signal.h>
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
#include "server/command/process/landlock.h"
#include "server/command/process/syscall_filter.h"
#include "server/push/ca_file.h"
#include "server/sessions/capture_folder.h"

/* CAP_CHECKPOINT_RESTORE since Linux 5.9, the others since 5.8; headers may be older. */
enum { PERFMON = 38, BPF = 39, CHECKPOINT_RESTORE = 40 };

enum { NOBODY = 65534, MAX_FOLDERS = 24 };

struct identity {
    uid_t uid;
    gid_t gid;
    bool needs_override; /* uid alone cannot write into all of the folders */
};

#define BIT(capability) ((uint64_t)1 << (capability))
#define READING         (BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CHECKPOINT_RESTORE))

struct need {
    unsigned commands; /* COMMAND_* */
    uint64_t capabilities;
    unsigned calls; /* enum syscall_group */
    bool keeps_identity;
};

/* The rights that a command needs once everything is open. */
static const struct need needs[] = {
    { COMMAND_ATTACH | COMMAND_RUN | COMMAND_SERVE, 0, SYSCALLS_SERVE, false },
    { COMMAND_RECORD | COMMAND_DUMP, READING, SYSCALLS_READ, false },
    { COMMAND_TOP, READING, SYSCALLS_READ | SYSCALLS_TERMINAL, false },
    /* A request may start a session that stops threads. */
    { COMMAND_MCP, READING, SYSCALLS_READ | SYSCALLS_STOP, false },
    /* doctor reports the rights of its user, so that must not change. */
    { COMMAND_DOCTOR, READING, SYSCALLS_READ, true },
    { COMMAND_REPLAY | COMMAND_DIFF | COMMAND_MERGE | COMMAND_PUSH, BIT(CAP_DAC_READ_SEARCH),
      SYSCALLS_ANY, false },
};

/* As which command it runs: `serve` shows what replay opens in a browser. */
static unsigned bit_of(const struct options *options)
{
    const bool is_shown = options->command->bit == COMMAND_REPLAY && options->opens_browser;
    return is_shown ? (unsigned)COMMAND_SERVE : options->command->bit;
}

static struct need need_of(const struct options *options)
{
    const unsigned bit = bit_of(options);
    struct need need = { .calls = SYSCALLS_ANY };
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (needs[i].commands & bit)
            need = needs[i];
    if (options->push.endpoint_count > 0)
        need.calls |= SYSCALLS_PUSH;
    if (!(need.calls & SYSCALLS_READ))
        return need;
    if (options->sampling.stop != SAMPLER_STOP_NEVER)
        need.calls |= SYSCALLS_STOP;
    if ((bit & (SAMPLING | HOSTING)) && options->sampling.engine != SAMPLER_ENGINE_REMOTE)
        need.calls |= SYSCALLS_KERNEL;
    return need;
}

/* Of the folders that are written into. */
struct owners {
    bool is_any, differ;
    uid_t uid;
    size_t count;
    char *folders[MAX_FOLDERS]; /* the first of them */
};

static void add_owner(struct owners *owners, uid_t uid, const char *folder)
{
    char *const copy = owners->count < MAX_FOLDERS ? strdup(folder) : NULL;
    if (copy)
        owners->folders[owners->count++] = copy;
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
            add_owner(owners, status.st_uid, name);
            return;
        }
        char *const slash = strrchr(name, '/');
        if (!slash || slash == name)
            break;
        *slash = '\0';
    }
    const char *const top = *path == '/' ? "/" : ".";
    if (stat(top, &status) == 0)
        add_owner(owners, status.st_uid, top);
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

static void find_owners(const struct options *options, struct owners *owners)
{
    add_reports(owners, options);
    add_data(owners, options);
    add_removed(owners, options);
}

/* owners: NULL: nothing is written. */
static void choose_identity(const struct owners *owners, struct identity *out)
{
    *out = (struct identity){ .uid = NOBODY, .gid = NOBODY };
    if (getuid() != 0) {
        *out = (struct identity){ .uid = getuid(), .gid = getgid() };
        return;
    }
    if (!owners || !owners->is_any)
        return;
    out->needs_override = owners->differ;
    out->uid = owners->differ ? 0 : owners->uid;
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

static enum err_code drop(const struct need *need, const struct owners *owners, struct err *err)
{
    struct identity choice;
    uint64_t held;
    if (!capabilities_held(&held))
        return err_sys(err, errno, "cannot read the capabilities");
    const bool reads = (need->calls & SYSCALLS_READ) != 0;
    const bool keeps_all = reads && !(held & BIT(CAP_SYS_PTRACE));
    choose_identity(owners, &choice);
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

/* What the C library reads, and our own files in /proc. */
static const struct landlock_folder common_folders[] = {
    { "/etc/passwd", LANDLOCK_READ },         { "/etc/group", LANDLOCK_READ },
    { "/etc/nsswitch.conf", LANDLOCK_READ },  { "/etc/localtime", LANDLOCK_READ },
    { "/usr/share/zoneinfo", LANDLOCK_READ }, { "/sys/devices/system/cpu", LANDLOCK_READ },
    { "/proc/self", LANDLOCK_READ },          { "/dev/null", LANDLOCK_FILES },
};

/* Where large exports are made without a folder of captures. */
static const struct landlock_folder temporary_folders[] = { { "/var/tmp", LANDLOCK_FILES },
                                                            { "/tmp", LANDLOCK_FILES } };

/* What finding and trusting another host takes. */
static const struct landlock_folder network_folders[] = {
    { "/etc/resolv.conf", LANDLOCK_READ },
    { "/etc/hosts", LANDLOCK_READ },
    { "/etc/host.conf", LANDLOCK_READ },
    { "/etc/gai.conf", LANDLOCK_READ },
    { "/etc/ssl", LANDLOCK_READ },
    { "/etc/gnutls", LANDLOCK_READ },
    { "/etc/pki", LANDLOCK_READ },
    { "/usr/share/ca-certificates", LANDLOCK_READ },
    { "/etc/ca-certificates", LANDLOCK_READ },
    { "/var/lib/ca-certificates", LANDLOCK_READ },
    { "/dev/urandom", LANDLOCK_READ },
};

enum { COMMON = sizeof common_folders / sizeof *common_folders };
enum { NETWORK = sizeof network_folders / sizeof *network_folders };
enum { TEMPORARY = sizeof temporary_folders / sizeof *temporary_folders };

static enum err_code limit_files(const struct options *options, const struct owners *owners,
                                 struct err *err)
{
    struct landlock_folder
        folders[COMMON + MAX_FOLDERS + TEMPORARY + 1 + NETWORK + 1 + PUSH_MAX_ENDPOINTS];
    const char *const temporary = getenv("TMPDIR"), *const trusted = ca_file_of_system();
    const bool has_data = bit_of(options) == COMMAND_SERVE && !options->serve.no_data;
    size_t count = COMMON;
    memcpy(folders, common_folders, sizeof common_folders);
    for (size_t i = 0; i < owners->count; i++)
        folders[count++] = (struct landlock_folder){ owners->folders[i], LANDLOCK_WRITE };
    for (size_t i = 0; i < TEMPORARY && !has_data; i++)
        folders[count++] = temporary_folders[i];
    if (temporary && *temporary && !has_data)
        folders[count++] = (struct landlock_folder){ temporary, LANDLOCK_FILES };
    for (size_t i = 0; i < NETWORK && options->push.endpoint_count > 0; i++)
        folders[count++] = network_folders[i];
    /* It may be a link to none of these folders. */
    if (trusted && options->push.endpoint_count > 0)
        folders[count++] = (struct landlock_folder){ trusted, LANDLOCK_READ };
    for (size_t i = 0; i < options->push.endpoint_count; i++)
        if (options->push.endpoints[i].ca_file)
            folders[count++] =
                (struct landlock_folder){ options->push.endpoints[i].ca_file, LANDLOCK_READ };
    const enum err_code rc = landlock_limit(folders, count, err);
    return rc == ERR_UNSUPPORTED ? ERR_OK : rc;
}

static enum err_code limit_calls(const struct need *need, struct err *err)
{
    const enum err_code rc = syscall_filter_install(need->calls, err);
    if (rc != ERR_UNSUPPORTED)
        return rc;
    say("system calls are not limited: %s", err->message);
    return ERR_OK;
}

static enum err_code begin_drop(struct err *err)
{
    load_user_names();
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
               ? ERR_OK
               : err_sys(err, errno, "cannot set no_new_privs");
}

enum err_code privilege_drop(const struct options *options, struct err *err)
{
    struct owners owners = { .is_any = false };
    const struct need need = need_of(options);
    find_owners(options, &owners);
    enum err_code rc = begin_drop(err);
    if (rc == ERR_OK)
        rc = drop(&need, &owners, err);
    if (rc == ERR_OK && (need.calls & (SYSCALLS_SERVE | SYSCALLS_READ)) == SYSCALLS_SERVE)
        rc = limit_files(options, &owners, err);
    for (size_t i = 0; i < owners.count; i++)
        free(owners.folders[i]);
    return rc == ERR_OK ? limit_calls(&need, err) : rc;
}

enum err_code privilege_drop_reader(const struct options *options, struct err *err)
{
    struct need need = { .capabilities = READING, .calls = SYSCALLS_READ | SYSCALLS_STOP };
    if (options->sampling.engine != SAMPLER_ENGINE_REMOTE)
        need.calls |= SYSCALLS_KERNEL;
    if (bit_of(options) != COMMAND_SERVE && options->sampling.stop == SAMPLER_STOP_NEVER)
        need.calls &= ~(unsigned)SYSCALLS_STOP;
    enum err_code rc = begin_drop(err);
    if (rc == ERR_OK)
        rc = drop(&need, NULL, err);
    if (rc == ERR_OK && prctl(PR_SET_DUMPABLE, !syscall_filter_is_built(), 0, 0, 0) != 0)
        rc = err_sys(err, errno, "cannot protect the memory of this process");
    /* It must not outlive the process that holds the same rights. */
    if (rc == ERR_OK)
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    return rc == ERR_OK ? limit_calls(&need, err) : rc;
}

static bool keeps_calls(enum err_code rc)
{
    return rc == ERR_OK || rc == ERR_UNSUPPORTED;
}

bool privilege_keep_reader(void)
{
    const uint64_t kept = READING | BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_KILL) |
                          BIT(CAP_SETPCAP) | BIT(BPF) | BIT(PERFMON);
    uint64_t held;
    if (capabilities_held(&held) && held & BIT(CAP_SYS_PTRACE))
        capabilities_bound(kept);
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_DUMPABLE, !syscall_filter_is_built(), 0, 0, 0) == 0 &&
           capabilities_held(&held) &&
           (!(held & BIT(CAP_SYS_PTRACE)) || capabilities_keep(kept)) &&
           keeps_calls(syscall_filter_install_wide(NULL));
}
