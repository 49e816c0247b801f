#include "server/sessions/epoch_pace.h"

uint32_t epoch_pace_rows(struct epoch_pace *pace, uint32_t rows, uint64_t now_ns)
{
    if (rows == pace->rows || now_ns < pace->next_ns)
        return pace->rows;
    const uint64_t pause_ns = pace->pause_ns ? 2 * pace->pause_ns : EPOCH_PACE_LEAST_NS;
    pace->rows = rows;
    pace->pause_ns = pause_ns < EPOCH_PACE_MOST_NS ? pause_ns : EPOCH_PACE_MOST_NS;
    pace->next_ns = now_ns + pace->pause_ns;
    return rows;
}
