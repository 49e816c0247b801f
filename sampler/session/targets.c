#include "sampler/session/targets.h"

#include <malloc.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/cpython/python.h"
#include "sampler/profile/profile.h"

enum err_code crew_init(struct crew *crew, const struct sampler_options *options,
                        struct err *err)
{
    memset(crew, 0, sizeof *crew);
    crew->options = options;
    roster_init(&crew->roster);
    origins_init(&crew->origins);
    task_board_init(&crew->board);
    stopper_init(&crew->stopper);
    const enum err_code rc = profile_create(&crew->profile, err);
    if (rc)
        return rc;
    lanes_init(&crew->lanes, crew->profile);
    crew->lanes.mode = options->mode;
    crew->lanes.sink = options->sink;
    random_init_any(&crew->glance.random);
    if (options->blocking)
        crew->glance.stopper = &crew->stopper;
    return ERR_OK;
}

static void close_members(struct crew *crew)
{
    while (crew->count > 0)
        member_close(crew->members[--crew->count]);
    lanes_deinit(&crew->lanes);
}

void crew_dismiss(struct crew *crew)
{
    close_members(crew);
    malloc_trim(0);
}

void crew_deinit(struct crew *crew)
{
    if (!crew->options)
        return;
    close_members(crew);
    stopper_deinit(&crew->stopper);
    profile_destroy(crew->profile);
    task_board_deinit(&crew->board);
    roster_deinit(&crew->roster);
    origins_deinit(&crew->origins);
    memset(crew, 0, sizeof *crew);
}

void crew_begin(struct crew *crew, uint64_t created_ns)
{
    crew->created_ns = created_ns;
    crew->lanes.created_ns = created_ns;
}

static uint64_t since_begin(const struct crew *crew, uint64_t now_ns)
{
    return crew->created_ns && now_ns > crew->created_ns ? now_ns - crew->created_ns : 0;
}

enum err_code crew_add(struct crew *crew, struct member *member, struct err *err)
{
    const struct roster_facts facts = { .python = python_version(member->python),
                                        .validated = python_is_validated(member->python),
                                        .parent = member->parent,
                                        .from_ns = since_begin(crew, clock_now_ns()) };
    if (crew->count == SAMPLER_MAX_PROCESSES)
        return err_set(err, ERR_LIMIT, "%d processes at a time are enough",
                       SAMPLER_MAX_PROCESSES);
    if (crew->options->hides_arguments)
        process_hide_arguments(&member->process);
    enum err_code rc =
        member_join(member, crew->profile, &crew->lanes, &crew->origins, crew->options, err);
    if (!rc)
        rc = roster_add(&crew->roster, &member->process, &facts, &member->told, err);
    if (!rc)
        crew->members[crew->count++] = member;
    else
        origins_end(&crew->origins, member->fold.origin);
    return rc;
}

/* The last member takes the place of the one that leaves.  false: the session is over. */
static bool leave(struct crew *crew, size_t index, const struct ending *ending,
                  struct ending *out)
{
    struct member *const member = crew->members[index];
    const uint64_t now_ns = clock_now_ns();
    const uint64_t to_ns = since_begin(crew, now_ns);
    const bool is_counted = member_leave(member, now_ns) == ERR_OK;
    crew->members[index] = crew->members[--crew->count];
    crew->last = *ending;
    origins_end(&crew->origins, member->fold.origin);
    roster_end(&crew->roster, member->told, to_ns ? to_ns : 1, ending->reason);
    if (crew->left)
        crew->left(crew->context, &member->process);
    member_close(member);
    *out = is_counted ? *ending : (struct ending){ SAMPLER_FAILED, "out of memory", true };
    return !out->is_of_all;
}

/* Members that each one looked at stands for. */
static double weigh(const struct crew *crew)
{
    size_t looks = 0;
    if (crew->count == 1)
        return 1;
    for (size_t i = 0; i < crew->count; i++)
        looks += member_looks(crew->members[i]);
    return looks > PYTHON_MAX_LOOKS ? (double)looks / PYTHON_MAX_LOOKS : 1;
}

static bool is_chosen(struct glance *glance)
{
    if (glance->weight <= 1)
        return true;
    return random_fraction(&glance->random) * glance->weight < 1;
}

bool crew_look(struct crew *crew, bool *looked_out, struct ending *out)
{
    crew->glance.weight = weigh(crew);
    *looked_out = false;
    for (size_t i = crew->count; i-- > 0;) {
        struct member *const member = crew->members[i];
        struct ending ending;
        if (!is_chosen(&crew->glance))
            continue;
        const enum err_code rc = member_look(member, &crew->glance);
        *looked_out |= !rc;
        if (rc && !member_bears(member, rc, clock_now_ns(), &ending) &&
            !leave(crew, i, &ending, out))
            return false;
    }
    return true;
}

bool crew_check(struct crew *crew, struct ending *out)
{
    for (size_t i = crew->count; i-- > 0;) {
        struct ending ending;
        if (!member_runs(crew->members[i], &ending) && !leave(crew, i, &ending, out))
            return false;
    }
    return true;
}

enum err_code crew_tell_tasks(struct crew *crew)
{
    enum err_code rc = ERR_OK;
    task_board_begin(&crew->board);
    for (size_t i = 0; i < crew->count && !rc; i++)
        if (crew->members[i]->fold.tasks)
            rc = task_board_add(&crew->board, &crew->members[i]->tasks, crew->created_ns);
    if (!rc)
        task_board_show(&crew->board);
    return rc;
}

enum err_code crew_flush(struct crew *crew, uint64_t now_ns)
{
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < crew->count && !rc; i++)
        rc = member_flush(crew->members[i], now_ns);
    return rc ? rc : lanes_flush(&crew->lanes, now_ns);
}
