#include <stddef.h>

#include "sampler/kernel/engine.h"

/* The engine of a build without libbpf: it cannot be opened, so nothing else is ever called. */

bool kernel_is_built(void)
{
    return false;
}

enum err_code kernel_open(const struct kernel *lender, struct kernel **out, struct err *err)
{
    (void)lender;
    (void)out;
    return err_set(err, ERR_UNSUPPORTED,
                   "this build has no kernel engine: it was built without libbpf 1.0 or later");
}

void kernel_close(struct kernel *kernel)
{
    (void)kernel;
}

enum err_code kernel_start(struct kernel *kernel, double rate_hz, unsigned events,
                           struct err *err)
{
    (void)kernel;
    (void)rate_hz;
    (void)events;
    (void)err;
    return ERR_UNSUPPORTED;
}

void kernel_stop(struct kernel *kernel)
{
    (void)kernel;
}

enum err_code kernel_add_process(struct kernel *kernel, int pid,
                                 const struct kernel_process *process)
{
    (void)kernel;
    (void)pid;
    (void)process;
    return ERR_UNSUPPORTED;
}

void kernel_remove_process(struct kernel *kernel, int pid)
{
    (void)kernel;
    (void)pid;
}

enum err_code kernel_add_thread(struct kernel *kernel, int tid,
                                const struct kernel_thread *thread)
{
    (void)kernel;
    (void)tid;
    (void)thread;
    return ERR_UNSUPPORTED;
}

void kernel_remove_thread(struct kernel *kernel, int tid)
{
    (void)kernel;
    (void)tid;
}

uint64_t kernel_left_ns(const struct kernel *kernel, int tid)
{
    (void)kernel;
    (void)tid;
    return 0;
}

uint64_t kernel_woken_ns(const struct kernel *kernel, int tid)
{
    (void)kernel;
    (void)tid;
    return 0;
}

struct kernel_losses kernel_losses(const struct kernel *kernel, int tid)
{
    (void)kernel;
    (void)tid;
    return (struct kernel_losses){ 0 };
}

uint64_t kernel_returned_pages(const struct kernel *kernel, int pid)
{
    (void)kernel;
    (void)pid;
    return 0;
}

void kernel_forget(struct kernel *kernel)
{
    (void)kernel;
}

void kernel_set_rate(struct kernel *kernel, double rate_hz)
{
    (void)kernel;
    (void)rate_hz;
}

uint64_t kernel_period_ns(const struct kernel *kernel)
{
    (void)kernel;
    return 1;
}

uint64_t kernel_min_away_ns(const struct kernel *kernel)
{
    (void)kernel;
    return 0;
}

enum err_code kernel_drain(struct kernel *kernel, kernel_record_fn on_record, void *context)
{
    (void)kernel;
    (void)on_record;
    (void)context;
    return ERR_OK;
}

bool kernel_is_behind(const struct kernel *kernel)
{
    (void)kernel;
    return false;
}

bool kernel_wait(struct kernel *kernel, uint64_t until_ns)
{
    (void)kernel;
    (void)until_ns;
    return false;
}

bool kernel_is_filling(const struct kernel *kernel)
{
    (void)kernel;
    return false;
}

void kernel_count(const struct kernel *kernel, struct kernel_counts *out)
{
    (void)kernel;
    *out = (struct kernel_counts){ 0 };
}
