#include "server/command/process/privilege.h"

#include <errno.h>
#include <fcntl.h>
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

#include "sampler/base/trusted_path.h"
#include "sampler/capture/format.h"
#include "server/access/capabilities.h"
#include "server/access/identity.h"
#include "server/command/options/options.h"
#include "server/command/process/exit.h"
#include "server/command/process/file_process.h"
#include "server/command/process/landlock.h"
#include "server/command/process/stack_process.h"
#include "server/command/process/syscall_filter.h"
#include "server/files/files.h"
#include "server/files/folders.h"
#include "server/push/ca_file.h"
#include "server/sessions/capture_folder.h"

/* CAP_CHECKPOINT_RESTORE since Linux 5.9, the others since 5.8; headers may be older. */
enum { PERFMON = 38, BPF = 39, CHECKPOINT_RESTORE = 40 };

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
    { COMMAND_RECORD | COMMAND_DUMP | COMMAND_WATCH, READING, SYSCALLS_READ, false },
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
    if (options->sampling.stop != SESSION_STOP_NEVER)
        need.calls |= SYSCALLS_STOP;
    if ((bit & (SAMPLING | HOSTING)) && options->sampling.engine != SESSION_ENGINE_REMOTE)
        need.calls |= SYSCALLS_KERNEL;
    return need;
}

/* The folder that a path is in. */
static void folder_of(const char *path, char out[PATH_MAX])
{
    const char *const slash = strrchr(path, '/');
    const int length = slash == path ? 1 : slash ? (int)(slash - path) : 1;
    snprintf(out, PATH_MAX, "%.*s", length, slash ? path : ".");
}

/* A file that is made beside itself and renamed to this name, without following it. */
static void add_named(const char *path)
{
    char folder[PATH_MAX];
    const char *const slash = strrchr(path, '/');
    folder_of(path, folder);
    folders_add_file(folder, slash ? slash + 1 : path);
}

/* A temporary file lies beside the file whose name it gets, unless that is no regular file.  A command that does not serve
 * may write files beside it whose names it learns later. */
static void add_file(const char *path, bool serves)
{
    char folder[PATH_MAX];
    struct trusted_path at;
    struct stat status;
    const size_t length = strlen(path);
    if (strcmp(path, "-") == 0)
        return;
    if ((length > 0 && path[length - 1] == '/') ||
        (stat(path, &status) == 0 && S_ISDIR(status.st_mode))) {
        /* Reports in it have default names. */
        if (length > 1 && path[length - 1] == '/')
            (void)trusted_path_make_folder(path, S_IRWXU | S_IRWXG | S_IRWXO, NULL);
        if (serves)
            folders_add_file(path, "pyrometer-*." CAPTURE_EXTENSION);
        else
            folders_add(path, FOLDER_REPORTS);
        return;
    }
    if (trusted_path_find(path, &at, NULL))
        return;
    const bool is_there = fstatat(at.folder_fd, at.name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (!at.is_opened && (!is_there || S_ISREG(status.st_mode))) {
        folders_add_open(at.folder_fd, serves ? FOLDER_NAMED : FOLDER_REPORTS,
                         serves ? at.name : NULL);
        folder_of(path, folder);
        if (!serves)
            folders_add(folder, FOLDER_REPORTS);
    }
    close(at.folder_fd);
}

/* A folder that cannot be made is reported when it is opened. */
static void add_data(const struct options *options)
{
    /* Captures, what stands beside them (capture_details.h), and large exports. */
    static const char *const names[] = { ("*." CAPTURE_EXTENSION), "*.json", "*.json.new",
                                         "pyrometer.??????" };
    char folder[PATH_MAX];
    if (bit_of(options) == COMMAND_SERVE && !options->serve.no_data &&
        !captures_folder_make(options->serve.data, folder, NULL)) {
        folders_add(folder, FOLDER_STORE);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            folders_add_file(folder, names[i]);
    }
    if (options->access.shares_file)
        add_named(options->access.shares_file);
    if (options->has_listen && options->listen.is_unix)
        add_named(options->listen.host);
}

bool privilege_is_held(void)
{
    uint64_t held;
    return identity_is_chosen() || geteuid() == 0 || geteuid() != getuid() ||
           getegid() != getgid() || !capabilities_held(&held) || held != 0;
}

/* A setuid program becomes the user who started it. */
static enum err_code become_user(enum identity_role role, uint64_t held, struct err *err)
{
    const uint64_t needed = BIT(CAP_SETUID) | BIT(CAP_SETGID);
    if (geteuid() != 0 || getuid() == 0 || (held & needed) != needed)
        return identity_become(role, err);
    if (setresgid(getgid(), getgid(), getgid()) != 0)
        return err_sys(err, errno, "cannot change the group");
    if (setgroups(0, NULL) != 0 && getgroups(0, NULL) > 0)
        return err_sys(err, errno, "cannot leave the supplementary groups");
    if (setresuid(getuid(), getuid(), getuid()) != 0)
        return err_sys(err, errno, "cannot change the user");
    return ERR_OK;
}

static enum err_code drop_rights(const struct need *need, enum identity_role role,
                                 struct err *err)
{
    uint64_t held;
    if (!capabilities_held(&held))
        return err_sys(err, errno, "cannot read the capabilities");
    const bool reads = (need->calls & SYSCALLS_READ) != 0;
    const bool keeps_all = reads && !(held & BIT(CAP_SYS_PTRACE));

    /* Empties the bounding set and removes the special rights of user 0.  Without CAP_SETPCAP
     * neither can change, which does no harm because no_new_privs is set. */
    const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED |
                               SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
    capabilities_bound(keeps_all ? UINT64_MAX : 0);
    (void)prctl(PR_SET_SECUREBITS, bits, 0, 0, 0);
    (void)prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);

    enum err_code rc =
        keeps_all || need->keeps_identity ? ERR_OK : become_user(role, held, err);
    if (!rc && !capabilities_keep(keeps_all ? held : need->capabilities))
        rc = err_sys(err, errno, "cannot drop capabilities");
    /* Other processes with our identity cannot read our memory. */
    if (!rc && held != 0)
        (void)prctl(PR_SET_DUMPABLE, !syscall_filter_is_built(), 0, 0, 0);
    return rc;
}

/* Files that the C library reads, and our own in /proc. */
static const struct landlock_folder common_folders[] = {
    { "/etc/passwd", LANDLOCK_READ },         { "/etc/group", LANDLOCK_READ },
    { "/etc/nsswitch.conf", LANDLOCK_READ },  { "/etc/localtime", LANDLOCK_READ },
    { "/usr/share/zoneinfo", LANDLOCK_READ }, { "/sys/devices/system/cpu", LANDLOCK_READ },
    { "/proc/self", LANDLOCK_READ },          { "/dev/null", LANDLOCK_FILES },
};

/* Folders for large exports without a folder of captures. */
static const struct landlock_folder temporary_folders[] = { { "/var/tmp", LANDLOCK_FILES },
                                                            { "/tmp", LANDLOCK_FILES } };

/* Files that it takes to find and to trust another host. */
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

/* The file process opens what root's program writes. */
static enum err_code limit_files(const struct options *options, struct err *err)
{
    struct landlock_folder
        folders[COMMON + FOLDERS_MAX + TEMPORARY + 1 + NETWORK + 1 + PUSH_MAX_ENDPOINTS];
    const char *const temporary = getenv("TMPDIR"), *const trusted = ca_file_of_system();
    const bool has_data = bit_of(options) == COMMAND_SERVE && !options->serve.no_data;
    char paths[FOLDERS_MAX][32];
    size_t count = COMMON;
    memcpy(folders, common_folders, sizeof common_folders);
    for (size_t i = 0; i < folders_count() && !files_is_used(); i++) {
        snprintf(paths[i], sizeof paths[i], "/proc/self/fd/%d", folders_at(i)->fd);
        folders[count++] = (struct landlock_folder){ paths[i], LANDLOCK_WRITE };
    }
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

enum err_code privilege_prepare(const struct options *options, struct err *err)
{
    static bool is_prepared;
    const bool serves = (need_of(options).calls & SYSCALLS_SERVE) != 0;
    if (is_prepared)
        return ERR_OK;
    is_prepared = true;

    /* Reports with default names are written into the working folder. */
    for (size_t i = 0; i < options->format_count; i++) {
        const char *const name = options->formats[i].output;
        add_file(name ? name : options->output ? options->output : ".", serves);
    }
    if (options->format_count == 0 && options->output)
        add_file(options->output, serves);
    if (options->quality_file)
        add_file(options->quality_file, serves);
    if (options->wants_capture)
        add_file(options->capture_file ? options->capture_file
                 : options->output     ? options->output
                                       : ".",
                 serves);

    add_data(options);
    const struct access_settings *const access = &options->access;
    const enum err_code rc =
        identity_choose(access->has_identity ? &access->identity : NULL, err);
    if (!rc && access->has_identity && !identity_is_chosen())
        return err_set(err, ERR_PERM, "only root can change the user: leave out --user");
    return rc;
}

static enum err_code begin_drop(struct err *err)
{
    /* The first lookup of a user name may load libraries, which the filter would prevent. */
    char room[1024];
    struct passwd entry, *found = NULL;
    (void)getpwuid_r(IDENTITY_LAST + 1, &entry, room, sizeof room, &found);
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
               ? ERR_OK
               : err_sys(err, errno, "cannot set no_new_privs");
}

enum err_code privilege_drop(const struct options *options, struct err *err)
{
    const struct need need = need_of(options);
    enum err_code rc = privilege_prepare(options, err);
    if (!rc && file_process_is_needed() && !files_is_used() && !need.keeps_identity)
        rc = file_process_start(err);
    if (!rc && options->dump.kernel)
        rc = stack_process_start(err);
    if (!rc)
        rc = begin_drop(err);
    if (!rc)
        rc = drop_rights(&need, IDENTITY_MAIN, err);
    if (!rc && (need.calls & (SYSCALLS_SERVE | SYSCALLS_READ)) == SYSCALLS_SERVE)
        rc = limit_files(options, err);
    return rc ? rc : limit_calls(&need, err);
}

enum err_code privilege_drop_reader(const struct options *options, struct err *err)
{
    struct need need = { .capabilities = READING, .calls = SYSCALLS_READ | SYSCALLS_STOP };
    if (options->sampling.engine != SESSION_ENGINE_REMOTE)
        need.calls |= SYSCALLS_KERNEL;
    if (bit_of(options) != COMMAND_SERVE && options->sampling.stop == SESSION_STOP_NEVER)
        need.calls &= ~(unsigned)SYSCALLS_STOP;
    enum err_code rc = begin_drop(err);
    if (!rc)
        rc = drop_rights(&need, IDENTITY_READER, err);
    if (!rc && prctl(PR_SET_DUMPABLE, !syscall_filter_is_built(), 0, 0, 0) != 0)
        rc = err_sys(err, errno, "cannot protect the memory of this process");
    if (!rc)
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    return rc ? rc : limit_calls(&need, err);
}

static bool keeps_calls(enum err_code rc)
{
    return !rc || rc == ERR_UNSUPPORTED;
}

bool privilege_keep_reader(void)
{
    const uint64_t kept = READING | BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_KILL) |
                          BIT(CAP_SETPCAP) | BIT(BPF) | BIT(PERFMON);
    uint64_t held;
    if (!capabilities_held(&held))
        return false;
    if (held & BIT(CAP_SYS_PTRACE)) {
        capabilities_bound(kept);
        if (identity_become(IDENTITY_KEEPER, NULL) || !capabilities_keep(kept))
            return false;
    }
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 &&
           prctl(PR_SET_DUMPABLE, !syscall_filter_is_built(), 0, 0, 0) == 0 &&
           keeps_calls(syscall_filter_install_wide(NULL));
}

bool privilege_keep_launcher(void)
{
    uint64_t held;
    /* Without it only the user of the program may end it. */
    if (identity_is_chosen() && capabilities_held(&held) && held & BIT(CAP_KILL)) {
        capabilities_bound(0);
        if (identity_become(IDENTITY_LAUNCHER, NULL) || !capabilities_keep(BIT(CAP_KILL)))
            return false;
    }
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_DUMPABLE, !syscall_filter_is_built(), 0, 0, 0) == 0 &&
           keeps_calls(syscall_filter_install_wide(NULL));
}
