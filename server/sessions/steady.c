#include "server/sessions/steady.h"

bool steady_is_trusted(struct steady *steady, uint64_t wall_ns, uint64_t boot_ns)
{
    const uint64_t expected_ns = steady->wall_ns + (boot_ns - steady->boot_ns);
    const uint64_t off_ns =
        wall_ns > expected_ns ? wall_ns - expected_ns : expected_ns - wall_ns;
    if (steady->boot_ns && off_ns > STEADY_JUMP_NS)
        steady->doubtful_until_ns = boot_ns + STEADY_NS;
    steady->wall_ns = wall_ns;
    steady->boot_ns = boot_ns;
    return boot_ns >= steady->doubtful_until_ns;
}
