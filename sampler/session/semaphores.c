#include "sampler/session/semaphores.h"

#include <stdlib.h>

#include "sampler/base/clock.h"
#include "sampler/process/maps.h"
#include "sampler/session.h"

void semaphores_init(struct semaphores *semaphores)
{
    *semaphores = (struct semaphores){ .items = NULL };
    pthread_mutex_init(&semaphores->mutex, NULL);
}

void semaphores_deinit(struct semaphores *semaphores)
{
    free(semaphores->items);
    pthread_mutex_destroy(&semaphores->mutex);
}

static int by_address(const void *left, const void *right)
{
    const struct semaphore *const a = left, *const b = right;
    return a->pid != b->pid ? (a->pid > b->pid) - (a->pid < b->pid)
                            : (a->address > b->address) - (a->address < b->address);
}

static struct semaphore *find_semaphore(struct semaphore *items, size_t count, pid_t pid,
                                        uint64_t address)
{
    const struct semaphore key = { .pid = pid, .address = address };
    return count ? bsearch(&key, items, count, sizeof *items, by_address) : NULL;
}

/* Lists the semaphores of the locks, each once, by pid and address.  NULL: there are none, or there is no memory. */
static struct semaphore *list_semaphores(const struct session_locks *locks, size_t *count_out)
{
    struct semaphore *const items = malloc((locks->use_count + 1) * sizeof *items);
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < locks->thread_count && items; i++) {
        const struct session_lock_thread *const thread = &locks->threads[i];
        for (uint32_t k = 0; k < thread->use_count; k++) {
            const uint64_t address = locks->uses[thread->first_use + k].semaphore;
            if (address)
                items[count++] = (struct semaphore){ .pid = thread->pid, .address = address };
        }
    }
    if (count)
        qsort(items, count, sizeof *items, by_address);
    for (size_t i = 0; i < count; i++)
        if (!kept || by_address(&items[kept - 1], &items[i]) != 0)
            items[kept++] = items[i];
    *count_out = kept;
    return items;
}

/* Asks the kernel for the semaphores of one process of which nothing is known. */
static void ask_process(struct semaphore *items, size_t count, uint64_t now_ns)
{
    struct maps maps = { 0 };
    if (maps_read(&maps, items[0].pid, NULL))
        return;
    for (size_t i = 0; i < count; i++) {
        const struct mapping *const mapping = maps_find(&maps, items[i].address);
        if (items[i].asked_ns)
            continue;
        items[i].asked_ns = now_ns;
        if (mapping && mapping->shared)
            items[i].place = (struct lock_place){
                .device = (uint64_t)mapping->device_major << 32 | mapping->device_minor,
                .inode = mapping->inode,
                .offset = mapping->offset + (items[i].address - mapping->start)
            };
    }
    maps_deinit(&maps);
}

void semaphores_place(struct semaphores *semaphores, struct session_locks *locks)
{
    const uint64_t now_ns = clock_now_ns();
    size_t count = 0;
    struct semaphore *const items = list_semaphores(locks, &count);
    if (!items)
        return;
    pthread_mutex_lock(&semaphores->mutex);
    for (size_t i = 0, end; i < count; i = end) {
        bool is_known = true;
        for (end = i; end < count && items[end].pid == items[i].pid; end++) {
            const struct semaphore *const before = find_semaphore(
                semaphores->items, semaphores->count, items[end].pid, items[end].address);
            if (before && now_ns - before->asked_ns < SEMAPHORES_KEPT_S * NS_PER_S)
                items[end] = *before;
            is_known &= items[end].asked_ns != 0;
        }
        if (!is_known && clock_now_ns() - now_ns < SEMAPHORES_ASK_MS * NS_PER_MS)
            ask_process(items + i, end - i, now_ns);
    }
    free(semaphores->items);
    semaphores->items = items;
    semaphores->count = count;
    for (size_t i = 0; i < locks->thread_count; i++) {
        const struct session_lock_thread *const thread = &locks->threads[i];
        for (uint32_t k = 0; k < thread->use_count; k++) {
            struct lock_use *const use = &locks->uses[thread->first_use + k];
            const struct semaphore *const found =
                use->semaphore ? find_semaphore(items, count, thread->pid, use->semaphore)
                               : NULL;
            if (found)
                use->place = found->place;
        }
    }
    pthread_mutex_unlock(&semaphores->mutex);
}
