#include "server/wire/usage.h"

#include "sampler/sampling_link.h"

void usage_read(struct usage *out)
{
    struct process_usage own, reader = { .rss_bytes = 0 };
    process_usage_read(&own);
    if (sampling_link_is_used())
        sampling_link_usage(&reader);
    *out = (struct usage){
        .cpu_user_s = own.cpu_user_s + reader.cpu_user_s,
        .cpu_sys_s = own.cpu_sys_s + reader.cpu_sys_s,
        .rss_bytes = own.rss_bytes + reader.rss_bytes,
        .rss_peak_bytes = own.rss_peak_bytes + reader.rss_peak_bytes,
    };
}
