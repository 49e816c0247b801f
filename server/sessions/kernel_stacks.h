/*
 * kernel_stacks - what threads do in the kernel, which the kernel shows to CAP_SYS_ADMIN alone: asked of a process that reads nothing
 * else.
 *
 * Neither side trusts the other.  A request is two numbers, and an answer the names of functions of the kernel.
 *
 * Threads: any; kernel_stacks_use comes before others start, and kernel_stacks_answer is for a process with one thread.
 */
#ifndef SERVER_SESSIONS_KERNEL_STACKS_H
#define SERVER_SESSIONS_KERNEL_STACKS_H

#include <stdbool.h>
#include <sys/types.h>

#include "sampler/base/err.h"
#include "sampler/process_tree.h"

/* Asks the process at the other end of this socket from now on. */
void kernel_stacks_use(int socket);

/* As process_kernel_stack, which it calls if there is no process to ask. */
MUST_CHECK enum err_code kernel_stacks_read(pid_t pid, pid_t tid,
                                            char out[PROCESS_TREE_STACK_BYTES]);

/* Answers a request that has come, or waits for one.  false: nobody is left to ask. */
bool kernel_stacks_answer(int socket);

#endif /* SERVER_SESSIONS_KERNEL_STACKS_H */
