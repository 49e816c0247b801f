/*
 * rule - how to get from a frame of native code to its caller's, and a set of such rules.
 *
 * A frame's canonical address (CFA) is its caller's stack pointer.  The return address lies below it, and
 * so do the saved registers.  Many addresses of code share a rule, so each rule is kept once.
 *
 * Ownership: the caller's storage; rules_deinit frees the set.
 * Threads: one at a time.
 * Limits: RULES_MAX rules in a set, then ERR_LIMIT.
 */
#ifndef SAMPLER_NATIVE_RULE_H
#define SAMPLER_NATIVE_RULE_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/idmap.h"
#include "sampler/native/machine/machine.h"

enum { RULES_MAX = 1 << 11 };

enum rule_kind {
    RULE_NONE,    /* nothing describes the code */
    RULE_STRANGE, /* something does, but it makes no sense, or has a form that is unknown here */
    RULE_REGISTER,    /* CFA = register + offset */
    RULE_DEREFERENCE, /* CFA = the word at (register + offset), + add */
    RULE_STUB,   /* CFA = sp + offset, and 8 more from byte `add` of each 16 of the code on */
    RULE_SIGNAL, /* the kernel saved all registers to call a signal handler */
    RULE_END,    /* no caller: the first function of a thread */
};

enum {
    RULE_UNCHANGED = MACHINE_OFFSET_MIN, /* the register still has the caller's value */
    RULE_LOST = MACHINE_OFFSET_MIN + 1,  /* the caller's value is unknown */
};

struct rule {
    uint8_t kind; /* enum rule_kind */
    uint8_t base; /* enum machine_register */
    uint16_t
        from_fp : 15; /* bit N: saved[N] is relative to the frame pointer, not to the CFA */
    uint16_t is_interrupted : 1; /* the caller did not call: its ip is the next instruction */
    int32_t offset, add;
    /* Places of the caller's values; or RULE_UNCHANGED, RULE_LOST. */
    machine_offset saved[MACHINE_SAVED];
};

/* Nothing has changed yet: kind RULE_NONE, and the caller's value in each register. */
extern const struct rule rule_initial;
/* Nothing is known but the CFA, which the caller of these functions finds otherwise. */
extern const struct rule rule_lost;

struct rules {
    struct rule *items;
    size_t count, room;
    struct idmap index;
};

void rules_init(struct rules *rules);
void rules_deinit(struct rules *rules);
/* Forgets all rules and keeps the room. */
void rules_clear(struct rules *rules);
MUST_CHECK enum err_code rules_intern(struct rules *rules, const struct rule *rule,
                                      uint32_t *id_out);
size_t rules_bytes(const struct rules *rules);

#endif /* SAMPLER_NATIVE_RULE_H */
