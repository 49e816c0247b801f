/*
 * thread_context - publishes the span of a thread as tracers with native code do (OTEP 4947).
 *
 * Loaded with ctypes; so it needs no header of any version of Python.  BIG: its block of thread-local variables is too large
 * for the room that the C library keeps for files that are loaded later.
 */
#include <stdint.h>
#include <string.h>

struct record {
    uint8_t trace_id[16], span_id[8], valid, flags;
    uint16_t attributes_bytes;
};

#ifdef BIG
__thread char thread_context_block[1 << 14];
#endif
__thread struct record *volatile otel_thread_ctx_v1;
/* They take turns. */
static __thread struct record records[2];
static __thread unsigned used;

void thread_context_attach(const uint8_t *trace_id, const uint8_t *span_id);
void thread_context_rewrite(const uint8_t *trace_id, const uint8_t *span_id);
void thread_context_detach(void);

static void fill(struct record *record, const uint8_t *trace_id, const uint8_t *span_id)
{
    memcpy(record->trace_id, trace_id, sizeof record->trace_id);
    memcpy(record->span_id, span_id, sizeof record->span_id);
    record->flags = 1;
}

/* Publishes another record. */
void thread_context_attach(const uint8_t *trace_id, const uint8_t *span_id)
{
    struct record *const record = &records[used++ % 2];
    fill(record, trace_id, span_id);
    record->valid = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    otel_thread_ctx_v1 = record;
}

/* Changes the one that it has published. */
void thread_context_rewrite(const uint8_t *trace_id, const uint8_t *span_id)
{
    struct record *const record = &records[0];
    volatile uint8_t *const valid = &record->valid;
    *valid = 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    fill(record, trace_id, span_id);
    otel_thread_ctx_v1 = record;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    *valid = 1;
}

void thread_context_detach(void)
{
    otel_thread_ctx_v1 = NULL;
}
