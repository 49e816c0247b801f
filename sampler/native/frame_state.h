/*
 * frame_state - the registers of one frame, and the copied stack that its caller's registers are read
 * from.
 *
 * Ownership: the caller's storage; the stack stays the caller's.
 */
#ifndef SAMPLER_NATIVE_FRAME_STATE_H
#define SAMPLER_NATIVE_FRAME_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/native/machine/machine.h"
#include "sampler/native/rule.h"
#include "sampler/process/memory.h"

enum { UNWIND_MAX_SPANS = 8 };

struct native_span {
    remote_addr addr;
    const unsigned char *bytes;
    size_t count;
};

/* A copy of a thread's C stack: best from MACHINE_RED_ZONE_BYTES below its stack pointer on. */
struct native_stack {
    struct native_span spans[UNWIND_MAX_SPANS]; /* by address; they do not overlap */
    size_t span_count;
    remote_addr base; /* where the stack ends: no frame lies above; 0: unknown */
};

#define NATIVE_ENDS(X)                       \
    X(GOES_ON, "goes on")                    \
    X(COMPLETE, "complete")                  \
    X(CUT, "the copy ends")                  \
    X(FAULT, "not in the copy")              \
    X(NO_RULE, "no unwinding table")         \
    X(STRANGE_RULE, "unknown form of table") \
    X(NO_REGISTER, "register unknown")       \
    X(NO_IMAGE, "not in an image")           \
    X(DEEP, "too deep")                      \
    X(COSTLY, "tables take too long")        \
    X(CONTRADICTION, "contradiction")

/* Why a walk ended; GOES_ON is for the walk itself. */
enum native_end {
#define X(end, text) NATIVE_##end,
    NATIVE_ENDS(X)
#undef X
        NATIVE_ENDS_COUNT
};

const char *native_end_text(enum native_end end);

struct frame_state {
    const struct native_stack *stack;
    remote_addr ip, sp;
    uint64_t outer_sp;
    uint64_t saved[MACHINE_SAVED];
    uint16_t known; /* bit N: saved[N] is known */
    bool has_outer_sp;
    bool is_sp_below; /* sp is somewhere below the frame's stack pointer, or is it */
    bool is_exact;    /* ip is the next instruction, not a return address */
};

void frame_state_init(struct frame_state *state, const struct native_registers *registers,
                      const struct native_stack *stack);

/* A word of the stack.  GOES_ON: it was read. */
enum native_end frame_state_read(const struct frame_state *state, remote_addr addr,
                                 uint64_t *out);

/* The CFA by a rule of kind REGISTER, DEREFERENCE or STUB. */
enum native_end frame_state_cfa(const struct frame_state *state, const struct rule *rule,
                                remote_addr *cfa_out);

/* Can a frame of these registers end there? */
bool frame_state_may_end_at(const struct frame_state *state, remote_addr cfa);

/* The return address of a frame that ends at cfa, by a rule of one of these kinds. */
enum native_end frame_state_return_address(const struct frame_state *state,
                                           const struct rule *rule, remote_addr cfa,
                                           remote_addr *out);

/* Becomes the caller, whose frame begins at cfa, by a rule of one of these kinds. */
void frame_state_leave(struct frame_state *state, const struct rule *rule, remote_addr cfa,
                       remote_addr return_address);

/* Becomes what the signal interrupted, by the registers that the kernel saved at sp. */
enum native_end frame_state_leave_signal(struct frame_state *state);

#endif /* SAMPLER_NATIVE_FRAME_STATE_H */
