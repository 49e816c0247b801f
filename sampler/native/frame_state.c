#include "sampler/native/frame_state.h"

#include <string.h>

enum { WORD_BYTES = 8, ALL_KNOWN = (1 << MACHINE_SAVED) - 1, STUB_BYTES = 16 };

void frame_state_init(struct frame_state *state, const struct native_registers *registers,
                      const struct native_stack *stack)
{
    *state = (struct frame_state){
        .stack = stack,
        .ip = registers->ip,
        .sp = registers->sp,
        .outer_sp = registers->outer_sp,
        .known = registers->has_only_sp ? 0 : ALL_KNOWN,
        .has_outer_sp = !registers->has_only_sp,
        .is_exact = true,
    };
    memcpy(state->saved, registers->saved, sizeof state->saved);
}

enum native_end frame_state_read(const struct frame_state *state, remote_addr addr,
                                 uint64_t *out)
{
    const struct native_stack *const stack = state->stack;
    for (size_t i = 0; i < stack->span_count; i++) {
        const struct native_span *const span = &stack->spans[i];
        if (addr < span->addr)
            return NATIVE_FAULT;
        if (span->count >= WORD_BYTES && addr - span->addr <= span->count - WORD_BYTES) {
            memcpy(out, span->bytes + (addr - span->addr), WORD_BYTES);
            return NATIVE_GOES_ON;
        }
    }
    return NATIVE_CUT;
}

static bool value_of(const struct frame_state *state, unsigned name, uint64_t *out)
{
    if (name == MACHINE_SP)
        *out = state->sp;
    else if (name == MACHINE_OUTER_SP)
        *out = state->outer_sp;
    else
        *out = state->saved[name];
    return name == MACHINE_SP ||
           (name == MACHINE_OUTER_SP ? state->has_outer_sp : state->known >> name & 1);
}

enum native_end frame_state_cfa(const struct frame_state *state, const struct rule *rule,
                                remote_addr *cfa_out)
{
    uint64_t base;
    if (state->is_sp_below && rule->base == MACHINE_SP) {
        /* A frame pointer leads to where the frame has saved its caller's, if the return address is saved next to it. */
        const int saved = rule->saved[MACHINE_FP];
        if (MACHINE_RETURN_BYTES > 0 || saved == RULE_UNCHANGED || saved == RULE_LOST ||
            rule->saved[MACHINE_RETURN_ADDRESS] != saved + WORD_BYTES ||
            !(state->known >> MACHINE_FP & 1))
            return NATIVE_NO_REGISTER;
        *cfa_out = state->saved[MACHINE_FP] - (uint64_t)(int64_t)saved;
        return NATIVE_GOES_ON;
    }
    if (!value_of(state, rule->base, &base))
        return NATIVE_NO_REGISTER;
    base += (uint64_t)(int64_t)rule->offset;
    if (rule->kind == RULE_DEREFERENCE) {
        const enum native_end end = frame_state_read(state, base, &base);
        if (end)
            return end;
        base += (uint64_t)(int64_t)rule->add;
    } else if (rule->kind == RULE_STUB && (state->ip % STUB_BYTES) >= (uint64_t)rule->add) {
        base += WORD_BYTES;
    }
    *cfa_out = base;
    return NATIVE_GOES_ON;
}

bool frame_state_may_end_at(const struct frame_state *state, remote_addr cfa)
{
    /* A signal handler may have a stack of its own, somewhere else. */
    const bool is_on_stack = state->stack->base && state->sp <= state->stack->base;
    const uint64_t bytes = cfa - state->sp;
    /* Without a return address on the stack a frame that has called nothing may have no bytes. */
    const bool is_empty = !MACHINE_RETURN_BYTES && bytes == 0 && state->is_exact;
    return cfa % WORD_BYTES == 0 && cfa >= state->sp && (bytes >= WORD_BYTES || is_empty) &&
           (!is_on_stack || cfa <= state->stack->base);
}

enum native_end frame_state_return_address(const struct frame_state *state,
                                           const struct rule *rule, remote_addr cfa,
                                           remote_addr *out)
{
    enum { NAME = MACHINE_RETURN_ADDRESS };
    if (MACHINE_RETURN_BYTES)
        return frame_state_read(state, cfa - MACHINE_RETURN_BYTES, out);
    const int saved = rule->saved[NAME];
    const remote_addr slot = cfa + (uint64_t)(int64_t)saved;
    if (saved == RULE_LOST || rule->from_fp >> NAME & 1)
        return NATIVE_NO_REGISTER;
    if (saved != RULE_UNCHANGED && slot >= state->sp) {
        uint64_t word;
        const enum native_end end = frame_state_read(state, slot, &word);
        if (!end)
            *out = machine_address(word);
        return end;
    }
    /* A register that was saved below the stack pointer was restored already. */
    *out = machine_address(state->saved[NAME]);
    return state->known >> NAME & 1 ? NATIVE_GOES_ON : NATIVE_NO_REGISTER;
}

/* A register that the frame has saved.  false: its value is lost. */
static bool restore_register(const struct frame_state *state, remote_addr slot, uint64_t *value)
{
    uint64_t word;
    const bool is_there = frame_state_read(state, slot, &word) == NATIVE_GOES_ON;
    if (slot >= state->sp) {
        if (is_there)
            *value = word;
        return is_there;
    }
    /* At an exact address only, the function has popped the register already, or it saved it without
     * moving sp.  In both cases the slot has the value while it is in the red zone.  Further
     * below it was popped. */
    if (is_there && state->sp - slot <= MACHINE_RED_ZONE_BYTES)
        *value = word;
    return state->is_exact;
}

void frame_state_leave(struct frame_state *state, const struct rule *rule, remote_addr cfa,
                       remote_addr return_address)
{
    const uint64_t fp = state->saved[MACHINE_FP];
    const bool is_fp_known = state->known >> MACHINE_FP & 1;
    for (unsigned i = 0; i < MACHINE_SAVED; i++) {
        const bool is_from_fp = rule->from_fp >> i & 1;
        bool is_known = rule->saved[i] != RULE_LOST && (!is_from_fp || is_fp_known);
        if (rule->saved[i] == RULE_UNCHANGED)
            continue;
        if (is_known)
            is_known = restore_register(
                state, (is_from_fp ? fp : cfa) + (uint64_t)(int64_t)rule->saved[i],
                &state->saved[i]);
        state->known =
            (uint16_t)(is_known ? state->known | 1u << i : state->known & ~(1u << i));
    }
    /* The call has changed the register, so the caller must have saved its own return address. */
    if (!MACHINE_RETURN_BYTES && !rule->is_interrupted)
        state->known &= (uint16_t) ~(1u << MACHINE_RETURN_ADDRESS);
    state->ip = return_address;
    state->sp = cfa;
    state->is_exact = rule->is_interrupted;
    state->has_outer_sp = state->is_sp_below = false;
}

enum native_end frame_state_leave_signal(struct frame_state *state)
{
    const struct machine_signal_frame *const at = &machine_signal_frame;
    struct frame_state before = *state;
    enum native_end end = frame_state_read(state, state->sp + (uint64_t)at->ip, &before.ip);
    if (!end)
        end = frame_state_read(state, state->sp + (uint64_t)at->sp, &before.sp);
    if (!end && at->outer_sp)
        end = frame_state_read(state, state->sp + (uint64_t)at->outer_sp, &before.outer_sp);
    for (unsigned i = 0; i < MACHINE_SAVED && !end; i++)
        end = frame_state_read(state, state->sp + (uint64_t)at->saved[i], &before.saved[i]);
    if (end)
        return end;
    before.known = ALL_KNOWN;
    before.has_outer_sp = before.is_exact = true;
    before.is_sp_below = false;
    *state = before;
    return NATIVE_GOES_ON;
}
