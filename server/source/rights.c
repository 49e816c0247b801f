#include "server/source/rights.h"

#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "sampler/owner.h"
#include "server/access/capabilities.h"
#include "server/access/identity.h"

bool rights_become_own(void)
{
    uint64_t held;
    /* Without it the kernel compares us with the process to be read: root may read more as root. */
    return !capabilities_held(&held) || !(held >> CAP_SYS_PTRACE & 1) ||
           !identity_become(IDENTITY_SOURCE, NULL);
}

bool rights_keep(uint64_t capabilities)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return false;
    /* Without CAP_SETPCAP the bounds stay; no_new_privs keeps an exec from using them. */
    capabilities_bound(capabilities);
    return capabilities_keep(capabilities) && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0;
}

bool rights_become(const struct owner *owner)
{
    struct owner own;
    uint64_t held;
    if (owner_read(getpid(), &own, NULL))
        return false;
    if (!owner_same_identity(&own, owner) &&
        (setgroups(owner->group_count, owner->groups) != 0 ||
         setresgid(owner->gid, owner->gid, owner->gid) != 0 ||
         setresuid(owner->uid, owner->uid, owner->uid) != 0))
        return false;
    return rights_keep(0) && capabilities_held(&held) && held == 0 &&
           !owner_read(getpid(), &own, NULL) && owner_same_identity(&own, owner);
}
