#include "sampler/session/memory_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/base/hash.h"
#include "sampler/base/memory_group.h"
#include "sampler/process/memory_stats.h"
#include "sampler/profile/memory_log.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/sink.h"
#include "sampler/session/target.h"

/* A reading stands for the time since the last one, if that is not longer. */
static const uint64_t MAX_STEP_NS = NS_PER_S;
static const uint64_t USUAL_STEP_NS = 250 * NS_PER_MS;

static uint32_t faults_since(uint64_t before, uint64_t now)
{
    const uint64_t faults = now > before ? now - before : 0;
    return faults < UINT32_MAX ? (uint32_t)faults : UINT32_MAX;
}

/* false: the process has ended, so that the pid may be that of another one. */
static bool read_target(struct target *target, bool has_turn, struct memory_use *out)
{
    const int pid = target->process.pid;
    struct memory_use use = { .process = target->fold.nodes.process };
    struct target_memory memory = target->memory;
    if (!memory_stats_rss(pid, &use.rss_bytes))
        return false;
    if (has_turn) {
        /* Faults are those since the turn before. */
        uint64_t minor = 0, major = 0;
        if (memory_stats_faults(pid, &minor, &major)) {
            if (memory.knows_faults) {
                use.minor_faults = faults_since(memory.minor_faults, minor);
                use.major_faults = faults_since(memory.major_faults, major);
            }
            memory.minor_faults = minor;
            memory.major_faults = major;
            memory.knows_faults = true;
        }
        if (!memory_stats_swap(pid, &memory.swap_bytes))
            memory.swap_bytes = 0;
        if (memory.turns++ % MEMORY_READER_LIMITS == 0) {
            char path[64];
            struct memory_group group;
            snprintf(path, sizeof path, "/proc/%d/cgroup", pid);
            memory_group_find(MEMORY_GROUP_FOLDER, path, &group);
            const uint64_t hash = hash_bytes(group.folder, strlen(group.folder), HASH_SEED);
            memory.limit_bytes = group.limit;
            memory.group = group.limit ? (uint32_t)(hash ^ hash >> 32) | 1 : 0;
        }
    }
    if (process_has_exited(&target->process))
        return false;
    target->memory = memory;
    use.peak_bytes = use.rss_bytes;
    use.swap_bytes = memory.swap_bytes;
    use.limit_bytes = memory.limit_bytes;
    use.group = memory.group;
    *out = use;
    return true;
}

enum err_code memory_reader_read(struct memory_reader *reader, struct target *const *targets,
                                 size_t count, struct profile *profile, const struct sink *sink,
                                 uint64_t now_ns, struct err *err)
{
    struct memory_step step = { .end_ns = now_ns };
    const size_t first = count > MEMORY_READER_TURN ? reader->next % count : 0;
    struct memory_use *const uses = malloc((count + 1) * sizeof *uses);
    if (!uses)
        return err_nomem(err);
    for (size_t i = 0; i < count; i++) {
        const size_t place = (i + count - first) % count;
        if (read_target(targets[i], place < MEMORY_READER_TURN, &uses[step.count]))
            step.peak_bytes += uses[step.count++].rss_bytes;
    }
    reader->next = first + MEMORY_READER_TURN;
    step.start_ns = reader->read_ns;
    if (now_ns - reader->read_ns > MAX_STEP_NS)
        step.start_ns = now_ns - USUAL_STEP_NS;
    reader->read_ns = now_ns;
    const enum err_code rc = profile_add_memory(profile, &step, uses, err);
    if (!rc && sink && sink->memory && step.count && step.end_ns > step.start_ns)
        sink->memory(sink->context, &step, uses);
    free(uses);
    return rc;
}
