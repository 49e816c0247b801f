#include "server/access/capabilities.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LAST_POSSIBLE = 63 };

struct sets {
    struct __user_cap_header_struct header;
    struct __user_cap_data_struct words[_LINUX_CAPABILITY_U32S_3];
};

static bool read_sets(struct sets *out)
{
    *out = (struct sets){ .header.version = _LINUX_CAPABILITY_VERSION_3 };
    return syscall(SYS_capget, &out->header, out->words) == 0;
}

bool capabilities_held(uint64_t *out)
{
    struct sets now;
    if (!read_sets(&now))
        return false;
    *out = now.words[0].permitted | (uint64_t)now.words[1].permitted << 32;
    return true;
}

bool capabilities_keep(uint64_t kept)
{
    struct sets now;
    if (!read_sets(&now))
        return false;
    for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        now.words[i].permitted &= (uint32_t)(kept >> (32 * i));
        now.words[i].effective = now.words[i].permitted;
        now.words[i].inheritable = 0;
    }
    return syscall(SYS_capset, &now.header, now.words) == 0;
}

void capabilities_bound(uint64_t kept)
{
    for (unsigned i = 0; i <= LAST_POSSIBLE; i++)
        if (!(kept >> i & 1) && prctl(PR_CAPBSET_READ, i, 0, 0, 0) == 1)
            (void)prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}
