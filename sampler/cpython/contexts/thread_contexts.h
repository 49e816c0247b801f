/*
 * thread_contexts - the span of OpenTelemetry that a thread says it works for: its thread context.
 *
 * SDKs and tracers with native code export a thread-local variable for profilers, otel_thread_ctx_v1: a pointer to a record
 * of the active span, or nothing.  The variable may be in any file, and in several; the first with a valid record counts.
 *
 *     bytes   of the record
 *     16      id of the trace
 *     8       id of the span; both are zero if none is active
 *     1       1: the record is valid; any other value: it is not, or it is being changed
 *     1       flags of the trace
 *     2       size of the attributes behind it
 *
 * Flags and attributes are not read.  So the process's context (OTEP 4719), which has the names of attributes, is not
 * asked for: the variable's name says the version of the record.
 *
 * The specification has readers stop the thread.  Here it may run, so all that led to a record, the variable and the
 * record included, is read again: a span counts if nothing has changed.  What has changed twice is unknown.  What led to a
 * thread's last span is kept with it, so the next sample in that span costs one call.
 *
 * Ownership: thread_contexts_destroy accepts NULL.
 * Threads: none.
 * Limits: those of thread_locals; THREAD_CONTEXTS_KEPT threads are kept.
 * Source: OTEP 4947, oteps/profiles/4947-thread-ctx.md of open-telemetry/opentelemetry-specification (pull request 4947), as
 * of commit 009fafa5e9f2; interpreter/threadcontext of open-telemetry/opentelemetry-ebpf-profiler asks the same of the
 * symbol: a thread-local one of 8 bytes.
 */
#ifndef SAMPLER_CPYTHON_CONTEXTS_THREAD_CONTEXTS_H
#define SAMPLER_CPYTHON_CONTEXTS_THREAD_CONTEXTS_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/process/memory.h"
#include "sampler/process/thread_locals.h"

struct context_value;
struct maps;
struct thread_contexts;

enum { THREAD_CONTEXTS_KEPT = 512 };

/* maps: of the process.  *out NULL: thread-local variables cannot be found in it.  Borrows the memory. */
MUST_CHECK enum err_code thread_contexts_create(const struct maps *maps, struct memory *memory,
                                                uint64_t now_ns, struct thread_contexts **out);
void thread_contexts_destroy(struct thread_contexts *contexts);

/* Finds the variable in files that were loaded since the last call, if it is time. */
void thread_contexts_refresh(struct thread_contexts *contexts, uint64_t now_ns);

/* How memory leads from a thread to its record, one way for each file that has the variable; returns how many. */
size_t thread_contexts_trails(const struct thread_contexts *contexts,
                              struct thread_local_trail out[THREAD_LOCALS_MAX]);

/* ident: what pthread_self returns in the thread.  NULL: it has no valid record.  UNSET: it has one, of no span.  Valid
 * until the next call.  memory: of the process, or a copy of one instant, made by the trails. */
struct context_value *thread_contexts_read(struct thread_contexts *contexts, uint64_t ident,
                                           struct memory *memory);

#endif /* SAMPLER_CPYTHON_CONTEXTS_THREAD_CONTEXTS_H */
