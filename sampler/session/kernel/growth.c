#include "sampler/session/kernel/growth.h"

/* Pages that a processor may keep to itself of a count, of anonymous memory and of files. */
enum { BATCH = 64, PART = 32 };

uint64_t growth_settle(struct growth *growth, uint64_t resident, unsigned processors,
                       bool is_last)
{
    const int64_t grown = (int64_t)(resident - growth->resident);
    const int64_t attributed = (int64_t)growth->attributed;
    const int64_t doubt = (int64_t)processors * BATCH + attributed / PART;
    const int64_t before = growth->balance;
    growth->resident = resident;
    growth->attributed = 0;
    if (!growth->is_known) {
        growth->is_known = true;
        return 0;
    }
    growth->balance += grown - attributed;
    if (growth->balance < -doubt)
        growth->balance = -doubt;
    const int64_t missing = is_last || growth->balance < before ? growth->balance : before;
    if (missing <= doubt)
        return 0;
    growth->balance -= missing;
    return (uint64_t)missing;
}
