#include "server/command/privilege.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Since Linux 5.9; a header may be older. */
enum { CHECKPOINT_RESTORE = 40, LAST_POSSIBLE = 63 };

static uint64_t bit(unsigned capability)
{
    return (uint64_t)1 << capability;
}

/* Of a program that we start.  Without CAP_SETPCAP it cannot be changed: then it stays. */
static void narrow_bounds(uint64_t kept)
{
    for (unsigned i = 0; i <= LAST_POSSIBLE; i++)
        if (!(kept & bit(i)) && prctl(PR_CAPBSET_READ, i, 0, 0, 0) == 1)
            (void)prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

static enum err_code keep_only(uint64_t kept, struct err *err)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capget, &header, sets) != 0)
        return err_sys(err, errno, "cannot read our capabilities");
    for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        const uint32_t part = (uint32_t)(kept >> (32 * i));
        sets[i].permitted &= part;
        sets[i].effective &= part;
        sets[i].inheritable = 0;
    }
    if (syscall(SYS_capset, &header, sets) != 0)
        return err_sys(err, errno, "cannot drop capabilities");
    return ERR_OK;
}

enum err_code privilege_drop(bool reads_source, struct err *err)
{
    uint64_t kept = bit(CAP_SYS_PTRACE) | bit(CAP_DAC_READ_SEARCH) | bit(CHECKPOINT_RESTORE);
    if (reads_source)
        kept |= bit(CAP_SETUID) | bit(CAP_SETGID);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return err_sys(err, errno, "cannot set no_new_privs");
    narrow_bounds(kept);
    return keep_only(kept, err);
}
