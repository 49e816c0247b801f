#include "server/source/rights.h"

#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/owner.h"

enum { LAST_POSSIBLE = 63 };

/* Without CAP_SETPCAP the bounds stay; no_new_privs keeps an exec from using them. */
static void narrow_bounds(uint64_t kept)
{
    for (unsigned i = 0; i <= LAST_POSSIBLE; i++)
        if (!(kept >> i & 1) && prctl(PR_CAPBSET_READ, i, 0, 0, 0) == 1)
            (void)prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

bool rights_keep(uint64_t capabilities)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return false;
    narrow_bounds(capabilities);
    if (syscall(SYS_capget, &header, sets) != 0)
        return false;
    for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        sets[i].permitted &= (uint32_t)(capabilities >> (32 * i));
        sets[i].effective = sets[i].permitted;
        sets[i].inheritable = 0;
    }
    return syscall(SYS_capset, &header, sets) == 0;
}

static bool has_none(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capget, &header, sets) != 0)
        return false;
    for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
        if (sets[i].permitted | sets[i].effective | sets[i].inheritable)
            return false;
    return true;
}

bool rights_become(const struct owner *owner)
{
    struct owner own;
    if (owner_read(getpid(), &own, NULL) != ERR_OK)
        return false;
    if (!owner_same_identity(&own, owner) &&
        (setgroups(owner->group_count, owner->groups) != 0 ||
         setresgid(owner->gid, owner->gid, owner->gid) != 0 ||
         setresuid(owner->uid, owner->uid, owner->uid) != 0))
        return false;
    return rights_keep(0) && has_none() && owner_read(getpid(), &own, NULL) == ERR_OK &&
           owner_same_identity(&own, owner);
}
