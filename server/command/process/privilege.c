#include "server/command/process/privilege.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <pwd.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "server/command/options/options.h"
#include "server/command/process/exit.h"
#include "server/command/process/identity.h"
#include "server/command/process/syscall_filter.h"

/* Since Linux 5.9; a header may be older. */
enum { CHECKPOINT_RESTORE = 40, LAST_POSSIBLE = 63 };

#define BIT(capability) ((uint64_t)1 << (capability))
#define READING         (BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CHECKPOINT_RESTORE))

/* What a command needs once all is open. */
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
    /* Sessions that stop their target are started by HTTP too. */
    { COMMAND_SERVE, READING, SYSCALLS_READ | SYSCALLS_SERVE | SYSCALLS_STOP, false },
    /* Tells what its user may do. */
    { COMMAND_DOCTOR, READING, SYSCALLS_READ, true },
    { COMMAND_REPLAY | COMMAND_DIFF | COMMAND_MERGE, BIT(CAP_DAC_READ_SEARCH), SYSCALLS_ANY,
      false },
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
    if (options->sampling.blocking)
        need.calls |= SYSCALLS_STOP;
    return need;
}

struct capabilities {
    struct __user_cap_header_struct header;
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
};

static bool read_capabilities(struct capabilities *out)
{
    *out = (struct capabilities){ .header.version = _LINUX_CAPABILITY_VERSION_3 };
    return syscall(SYS_capget, &out->header, out->sets) == 0;
}

static uint64_t permitted(const struct capabilities *of)
{
    return of->sets[0].permitted | (uint64_t)of->sets[1].permitted << 32;
}

bool privilege_is_held(void)
{
    struct capabilities now;
    return geteuid() == 0 || geteuid() != getuid() || getegid() != getgid() ||
           !read_capabilities(&now) || permitted(&now) != 0;
}

/* What a program could have that we started, and what identity 0 is worth.  Without CAP_SETPCAP
 * neither can be changed, nor matters: no_new_privs is set. */
static void narrow_bounds(bool keeps)
{
    const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED |
                               SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
    for (unsigned i = 0; !keeps && i <= LAST_POSSIBLE; i++)
        if (prctl(PR_CAPBSET_READ, i, 0, 0, 0) == 1)
            (void)prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    (void)prctl(PR_SET_SECUREBITS, bits, 0, 0, 0);
    (void)prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
}

/* EINVAL: the user namespace we are in does not have the identity. */
static enum err_code become(const struct identity_choice *choice, uint64_t held,
                            struct err *err)
{
    const uint64_t needed = BIT(CAP_SETUID) | BIT(CAP_SETGID);
    if (geteuid() != 0 || (held & needed) != needed)
        return ERR_OK;
    if (setresgid(choice->gid, choice->gid, choice->gid) != 0)
        return errno == EINVAL ? ERR_OK : err_sys(err, errno, "cannot change our group");
    if (setgroups(0, NULL) != 0 && getgroups(0, NULL) > 0)
        return err_sys(err, errno, "cannot leave our groups");
    if (setresuid(choice->uid, choice->uid, choice->uid) != 0)
        return errno == EINVAL ? ERR_OK : err_sys(err, errno, "cannot change our user");
    return ERR_OK;
}

static enum err_code keep_only(uint64_t kept, struct capabilities *now, struct err *err)
{
    for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        const uint32_t part = (uint32_t)(kept >> (32 * i));
        now->sets[i].permitted &= part;
        now->sets[i].effective = now->sets[i].permitted;
        now->sets[i].inheritable = 0;
    }
    if (syscall(SYS_capset, &now->header, now->sets) != 0)
        return err_sys(err, errno, "cannot drop capabilities");
    return ERR_OK;
}

static enum err_code drop(const struct options *options, const struct need *need,
                          struct err *err)
{
    struct identity_choice choice;
    struct capabilities now;
    if (!read_capabilities(&now))
        return err_sys(err, errno, "cannot read our capabilities");
    const uint64_t held = permitted(&now);
    const bool reads = (need->calls & SYSCALLS_READ) != 0;
    const bool keeps = reads && !(held & BIT(CAP_SYS_PTRACE));
    identity_choose(options, &choice);
    narrow_bounds(keeps);
    enum err_code rc = keeps || need->keeps_identity ? ERR_OK : become(&choice, held, err);
    const uint64_t override = choice.needs_override ? BIT(CAP_DAC_OVERRIDE) : 0;
    if (rc == ERR_OK)
        rc = keep_only(keeps ? held : need->capabilities | override, &now, err);
    /* Whoever has our identity, or shares it as nobody, cannot look into us. */
    if (rc == ERR_OK && held != 0)
        (void)prctl(PR_SET_DUMPABLE, !syscall_filter_is_built(), 0, 0, 0);
    return rc;
}

/* Names of users may come from libraries that are loaded at the first question. */
static void load_user_names(void)
{
    char room[1024];
    struct passwd entry, *found = NULL;
    (void)getpwuid_r(IDENTITY_NOBODY - 1, &entry, room, sizeof room, &found);
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
