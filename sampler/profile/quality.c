#include "sampler/profile/quality.h"

uint64_t quality_failed(const struct quality *quality)
{
    return quality->failed_gone + quality->failed_fault + quality->failed_perm +
           quality->failed_corrupt;
}

double quality_percent(uint64_t part, uint64_t whole)
{
    return whole > 0 ? 100 * (double)part / (double)whole : 0;
}
