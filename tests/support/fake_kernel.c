#include "tests/support/fake_kernel.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/kernel/decode.h"
#include "sampler/kernel/engine.h"
#include "tests/support/test.h"

enum { MAX_RECORDS = 256, MAX_THREADS = 64 };

struct kernel {
    uint64_t period_ns, left_ns, woken_ns;
    struct kernel_losses losses;
    uint64_t returned_pages;
    size_t count, most, threads, descriptions, calls, forgets;
    int tids[MAX_THREADS];
    struct kernel_counts counts;
    struct fake_record {
        unsigned char *data;
        size_t bytes;
    } records[MAX_RECORDS];
    bool is_filling;
};

bool kernel_is_built(void)
{
    return true;
}

enum err_code kernel_open(const struct kernel *lender, struct kernel **out, struct err *err)
{
    struct kernel *const kernel = calloc(1, sizeof *kernel);
    (void)lender;
    if (!kernel)
        return err_nomem(err);
    *out = kernel;
    return ERR_OK;
}

enum err_code kernel_start(struct kernel *kernel, double rate_hz, unsigned events,
                           struct err *err)
{
    (void)events;
    (void)err;
    kernel_set_rate(kernel, rate_hz);
    return ERR_OK;
}

static void forget_first(struct kernel *kernel, size_t count)
{
    for (size_t i = 0; i < count; i++)
        guard_free(kernel->records[i].data, kernel->records[i].bytes);
    kernel->count -= count;
    memmove(kernel->records, kernel->records + count, kernel->count * sizeof *kernel->records);
}

static void forget_records(struct kernel *kernel)
{
    forget_first(kernel, kernel->count);
}

void kernel_stop(struct kernel *kernel)
{
    forget_records(kernel);
}

void kernel_close(struct kernel *kernel)
{
    if (kernel)
        forget_records(kernel);
    free(kernel);
}

void fake_kernel_put_bytes(struct kernel *kernel, const void *data, size_t bytes)
{
    assert_true(kernel->count < MAX_RECORDS);
    kernel->records[kernel->count++] = (struct fake_record){ guard_copy(data, bytes), bytes };
}

void fake_kernel_put(struct kernel *kernel, struct kernel_record *record, const void *spans,
                     size_t bytes)
{
    unsigned char *const both = malloc(sizeof *record + bytes);
    assert_non_null(both);
    record->bytes = (unsigned)bytes;
    memcpy(both, record, sizeof *record);
    if (bytes)
        memcpy(both + sizeof *record, spans, bytes);
    fake_kernel_put_bytes(kernel, both, sizeof *record + bytes);
    free(both);
}

void fake_kernel_set_counts(struct kernel *kernel, const struct kernel_counts *counts)
{
    const uint64_t damaged = kernel->counts.damaged;
    kernel->counts = *counts;
    kernel->counts.damaged = damaged;
}

size_t fake_kernel_threads(const struct kernel *kernel)
{
    return kernel->threads;
}

size_t fake_kernel_descriptions(const struct kernel *kernel)
{
    return kernel->descriptions;
}

void fake_kernel_set_left_ns(struct kernel *kernel, uint64_t left_ns)
{
    kernel->left_ns = left_ns;
}

void fake_kernel_set_woken_ns(struct kernel *kernel, uint64_t woken_ns)
{
    kernel->woken_ns = woken_ns;
}

void fake_kernel_lose(struct kernel *kernel, uint64_t instants, uint64_t away_ns)
{
    kernel->counts.lost++;
    kernel->losses.instants += instants;
    kernel->losses.away_ns += away_ns;
}

void fake_kernel_lose_pages(struct kernel *kernel, struct kernel_pages pages)
{
    kernel->counts.lost++;
    kernel->losses.pages.grown += pages.grown;
    kernel->losses.pages.copied += pages.copied;
    kernel->losses.pages.returned += pages.returned;
}

void fake_kernel_set_most(struct kernel *kernel, size_t records)
{
    kernel->most = records;
}

void fake_kernel_call(struct kernel *kernel)
{
    kernel->calls++;
}

enum err_code kernel_add_process(struct kernel *kernel, int pid,
                                 const struct kernel_process *process)
{
    (void)pid;
    (void)process;
    kernel->descriptions++;
    return ERR_OK;
}

void kernel_remove_process(struct kernel *kernel, int pid)
{
    (void)kernel;
    (void)pid;
}

enum err_code kernel_add_thread(struct kernel *kernel, int tid,
                                const struct kernel_thread *thread)
{
    (void)thread;
    kernel_remove_thread(kernel, tid);
    assert_true(kernel->threads < MAX_THREADS);
    kernel->tids[kernel->threads++] = tid;
    return ERR_OK;
}

void kernel_remove_thread(struct kernel *kernel, int tid)
{
    for (size_t i = kernel->threads; i-- > 0;)
        if (kernel->tids[i] == tid)
            kernel->tids[i] = kernel->tids[--kernel->threads];
}

uint64_t kernel_left_ns(const struct kernel *kernel, int tid)
{
    (void)tid;
    return kernel->left_ns;
}

uint64_t kernel_woken_ns(const struct kernel *kernel, int tid)
{
    (void)tid;
    return kernel->woken_ns;
}

struct kernel_losses kernel_losses(const struct kernel *kernel, int tid)
{
    (void)tid;
    return kernel->losses;
}

uint64_t kernel_returned_pages(const struct kernel *kernel, int pid)
{
    (void)pid;
    return kernel->returned_pages;
}

void fake_kernel_return_pages(struct kernel *kernel, uint64_t pages)
{
    kernel->returned_pages += pages;
}

void kernel_forget(struct kernel *kernel)
{
    kernel->forgets++;
}

size_t fake_kernel_forgets(const struct kernel *kernel)
{
    return kernel->forgets;
}

void kernel_set_rate(struct kernel *kernel, double rate_hz)
{
    kernel->period_ns = (uint64_t)((double)NS_PER_S / rate_hz);
}

uint64_t kernel_period_ns(const struct kernel *kernel)
{
    return kernel->period_ns;
}

uint64_t kernel_min_away_ns(const struct kernel *kernel)
{
    (void)kernel;
    return 10 * NS_PER_MS;
}

enum err_code kernel_drain(struct kernel *kernel, kernel_record_fn on_record, void *context)
{
    enum err_code rc = ERR_OK;
    const size_t taken =
        kernel->most && kernel->most < kernel->count ? kernel->most : kernel->count;
    for (size_t i = 0; i < taken && !rc; i++) {
        struct kernel_record record;
        const void *spans;
        if (kernel_decode(kernel->records[i].data, kernel->records[i].bytes, &record, &spans))
            rc = on_record(context, &record, spans);
        else
            kernel->counts.damaged++;
    }
    forget_first(kernel, taken);
    return rc;
}

void fake_kernel_set_filling(struct kernel *kernel, bool is_filling)
{
    kernel->is_filling = is_filling;
}

bool kernel_is_filling(const struct kernel *kernel)
{
    return kernel->is_filling;
}

bool kernel_is_behind(const struct kernel *kernel)
{
    return kernel->count > 0;
}

bool kernel_wait(struct kernel *kernel, uint64_t until_ns)
{
    (void)until_ns;
    return kernel->calls && kernel->calls--;
}

void kernel_count(const struct kernel *kernel, struct kernel_counts *out)
{
    *out = kernel->counts;
}
