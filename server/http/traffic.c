#include "server/http/traffic.h"

static const int statuses[TRAFFIC_STATUSES] = { 200, 201, 202, 204, 303, 304, 308, 400, 401,
                                                403, 404, 405, 408, 409, 410, 413, 414, 415,
                                                421, 422, 429, 431, 500, 501, 503, 507 };

void traffic_count(struct traffic *traffic, size_t route, int status)
{
    /* A status that has no count of its own counts as 500. */
    size_t index = 0;
    for (size_t i = 0; i < TRAFFIC_STATUSES; i++)
        if (statuses[i] == status || (statuses[i] == 500 && statuses[index] != status))
            index = i;
    atomic_fetch_add_explicit(&traffic->counts[route][index], 1, memory_order_relaxed);
}

int traffic_status(size_t index)
{
    return index < TRAFFIC_STATUSES ? statuses[index] : 0;
}

uint64_t traffic_read(const struct traffic *traffic, size_t route, size_t status_index)
{
    return atomic_load_explicit(&traffic->counts[route][status_index], memory_order_relaxed);
}
