#include "server/sessions/scan_pace.h"

uint64_t scan_pace_rest_ns(struct scan_pace *pace, uint64_t own_ns, uint64_t examined_ns,
                           double share)
{
    const uint64_t before_ns = examined_ns < pace->examined_ns ? 0 : pace->examined_ns;
    const uint64_t cost_ns = own_ns + (examined_ns - before_ns);
    const uint64_t usual_ns = cost_ns < pace->cost_ns ? cost_ns : pace->cost_ns;
    const double wanted_ns = share > 0 ? (double)usual_ns / share : 0;
    *pace = (struct scan_pace){ examined_ns, cost_ns };
    if (wanted_ns >= (double)SCAN_PACE_MOST_NS)
        return SCAN_PACE_MOST_NS;
    return wanted_ns > (double)SCAN_PACE_LEAST_NS ? (uint64_t)wanted_ns : SCAN_PACE_LEAST_NS;
}
