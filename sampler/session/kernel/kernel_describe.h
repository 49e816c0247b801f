/*
 * kernel_describe - what the kernel engine must know to copy stacks: of a process, of what its threads work
 * for, and of one thread.
 *
 * Threads: the profile's writer.
 */
#ifndef SAMPLER_SESSION_KERNEL_KERNEL_DESCRIBE_H
#define SAMPLER_SESSION_KERNEL_KERNEL_DESCRIBE_H

struct kernel_context;
struct kernel_process;
struct kernel_thread;
struct target;
struct thread;

void kernel_describe_process(const struct target *target, struct kernel_process *out);
/* The part of it that changes while the process runs.  All zero: no context is wanted, or none is found yet. */
void kernel_describe_context(const struct target *target, struct kernel_context *out);
void kernel_describe_thread(const struct target *target, const struct thread *thread,
                            struct kernel_thread *out);

#endif /* SAMPLER_SESSION_KERNEL_KERNEL_DESCRIBE_H */
