#include "sampler/session/adopted_child.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/personality.h>

#include "sampler/base/scoped.h"

void adopted_child_remember(struct adopted_child_forebears *forebears,
                            const struct procfs_identity *identity)
{
    forebears->gone[forebears->gone_count++ % ADOPTED_CHILD_MAX_GONE] = *identity;
}

static bool is_forked(const struct procfs_identity *from,
                      const struct procfs_identity *identity)
{
    return from->stack_start == identity->stack_start &&
           from->code_start == identity->code_start && from->start_time <= identity->start_time;
}

bool adopted_child_has_forebear(const struct adopted_child_forebears *forebears,
                                const struct child_table *table,
                                const struct procfs_identity *identity)
{
    if (!identity->stack_start || !identity->code_start)
        return false;
    for (size_t i = 0; i < table->count; i++)
        if (is_forked(&table->items[i].identity, identity))
            return true;
    for (size_t i = 0; i < forebears->gone_count && i < ADOPTED_CHILD_MAX_GONE; i++)
        if (is_forked(&forebears->gone[i], identity))
            return true;
    return false;
}

static bool host_is_random(void)
{
    int mode = 0;
    FILE *const f = fopen("/proc/sys/kernel/randomize_va_space", "re");
    if (!f)
        return false;
    if (fscanf(f, "%d", &mode) != 1)
        mode = 0;
    fclose(f);
    return mode > 0;
}

bool adopted_child_is_random(int pid)
{
    SCOPED_FREE char *text = NULL;
    size_t bytes;
    return procfs_read(pid, "personality", &text, &bytes, NULL) == ERR_OK &&
           !(strtoul(text, NULL, 16) & ADDR_NO_RANDOMIZE) && host_is_random();
}
