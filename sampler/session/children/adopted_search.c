#include "sampler/session/children/adopted_search.h"

#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/process/procfs.h"
#include "sampler/session/children/child_table.h"

/* Between the first two scans; each pause is twice the one before. */
static const uint64_t FIRST_PAUSE_NS = 30 * NS_PER_MS;

enum { SHARE = 100, SETTLING_SCANS = 2 };

void adopted_search_init(struct adopted_search *search, int newest)
{
    *search = (struct adopted_search){ 0 };
    for (int i = 0; i < ADOPTED_SEARCH_ATTEMPTS; i++)
        search->known[i] = newest;
}

static uint64_t pause_of(const struct adopted_search *search)
{
    const uint64_t pause_ns = FIRST_PAUSE_NS
                              << (ADOPTED_SEARCH_ATTEMPTS - search->attempts_left);
    return pause_ns < search->cost_ns * SHARE ? search->cost_ns * SHARE : pause_ns;
}

void adopted_search_begin(struct adopted_search *search)
{
    search->attempts_left = ADOPTED_SEARCH_ATTEMPTS;
    search->next_ns = search->last_ns + pause_of(search);
}

void adopted_search_settle(struct adopted_search *search)
{
    search->settling = SETTLING_SCANS;
    adopted_search_begin(search);
}

bool adopted_search_is_due(const struct adopted_search *search, uint64_t now_ns)
{
    return search->attempts_left && now_ns >= search->next_ns;
}

/* The kernel gives ids in ascending order and wraps around. */
static bool is_newer(const struct adopted_search *search, int newest, int pid)
{
    const int known = search->known[ADOPTED_SEARCH_ATTEMPTS - 1];
    return known <= newest ? pid > known && pid <= newest : pid > known || pid <= newest;
}

bool adopted_search_finds(const struct adopted_search *search,
                          const struct child_table *children, int newest, int pid)
{
    struct procfs_identity identity;
    return is_newer(search, newest, pid) && !child_table_find(children, pid) &&
           !procfs_identify(pid, &identity, NULL) &&
           child_table_has_parent_of(children, &identity) && procfs_has_random_addresses(pid);
}

void adopted_search_end(struct adopted_search *search, int newest, uint64_t now_ns,
                        uint64_t cost_ns)
{
    memmove(search->known + 1, search->known, sizeof search->known - sizeof *search->known);
    search->known[0] = newest;
    search->cost_ns = cost_ns;
    search->last_ns = now_ns;
    search->attempts_left--;
    search->settling -= search->settling > 0;
    search->next_ns = now_ns + pause_of(search);
}
