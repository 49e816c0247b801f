#include "sampler/native/cfi_program.h"

#include <stdbool.h>
#include <stddef.h>

/* Names of the DWARF standard, chapter "Call Frame Information", and its section on expressions. */
enum {
    ADVANCE_LOC = 0x40, /* the lower 6 bits are an operand, as in the next two */
    OFFSET = 0x80,
    RESTORE = 0xc0,
    NOP = 0x00,
    SET_LOC = 0x01,
    ADVANCE_LOC1 = 0x02,
    ADVANCE_LOC2 = 0x03,
    ADVANCE_LOC4 = 0x04,
    OFFSET_EXTENDED = 0x05,
    RESTORE_EXTENDED = 0x06,
    UNDEFINED = 0x07,
    SAME_VALUE = 0x08,
    REGISTER = 0x09,
    REMEMBER_STATE = 0x0a,
    RESTORE_STATE = 0x0b,
    DEF_CFA = 0x0c,
    DEF_CFA_REGISTER = 0x0d,
    DEF_CFA_OFFSET = 0x0e,
    DEF_CFA_EXPRESSION = 0x0f,
    EXPRESSION = 0x10,
    OFFSET_EXTENDED_SF = 0x11,
    DEF_CFA_SF = 0x12,
    DEF_CFA_OFFSET_SF = 0x13,
    VAL_OFFSET = 0x14,
    VAL_OFFSET_SF = 0x15,
    VAL_EXPRESSION = 0x16,
    GNU_ARGS_SIZE = 0x2e,

    OP_DEREF = 0x06,
    OP_PLUS_UCONST = 0x23,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
};

struct run {
    const struct cfi_program *program;
    struct table_reader *in;
    remote_addr location, target;
    struct cfi_row *row;
    struct cfi_row remembered[CFI_MAX_REMEMBERED];
    size_t remembered_count;
    bool is_corrupt;
};

static void set_from_fp(struct rule *rule, unsigned name, bool is_from_fp)
{
    const unsigned bit = 1u << name, others = rule->from_fp & ~bit;
    rule->from_fp = (is_from_fp ? others | bit : others) & ((1u << MACHINE_SAVED) - 1);
}

static void set_register(struct run *run, uint64_t number, int64_t offset, bool is_from_fp)
{
    const enum machine_register name = machine_register_of(number);
    struct rule *const rule = &run->row->rule;
    if (name < MACHINE_SAVED) {
        const bool fits = offset > RULE_LOST && offset <= MACHINE_OFFSET_MAX;
        rule->saved[name] = (machine_offset)(fits ? offset : RULE_LOST);
        set_from_fp(rule, name, is_from_fp);
    }
    if (name == MACHINE_RETURN_ADDRESS) {
        const bool is_pushed = offset == -MACHINE_RETURN_BYTES && !is_from_fp;
        run->row->return_address =
            is_pushed || !MACHINE_RETURN_BYTES ? CFI_RETURN_KNOWN : CFI_RETURN_UNKNOWN;
    } else if (name == MACHINE_SP) {
        run->row->return_address = CFI_RETURN_UNKNOWN;
    }
}

/* The register's value cannot be found here. */
static void lose_register(struct run *run, uint64_t number)
{
    set_register(run, number, RULE_LOST, false);
}

static void restore_register(struct run *run, uint64_t number)
{
    const enum machine_register name = machine_register_of(number);
    const struct cfi_row *const initial = &run->program->initial;
    struct rule *const rule = &run->row->rule;
    if (name < MACHINE_SAVED) {
        rule->saved[name] = initial->rule.saved[name];
        set_from_fp(rule, name, initial->rule.from_fp >> name & 1);
    }
    if (name == MACHINE_RETURN_ADDRESS)
        run->row->return_address = initial->return_address;
}

/* offset * factor; what is too large cannot be an offset in a stack. */
static int64_t scale_offset(struct run *run, int64_t offset)
{
    int64_t product;
    if (__builtin_mul_overflow(offset, run->program->data_factor, &product)) {
        run->is_corrupt = true;
        return 0;
    }
    return product;
}

static void define_cfa(struct run *run, uint64_t number, int64_t offset)
{
    struct rule *const rule = &run->row->rule;
    const enum machine_register name = machine_register_of(number);
    const bool is_known =
        (name < MACHINE_SAVED || name == MACHINE_SP || name == MACHINE_OUTER_SP) &&
        offset >= INT32_MIN && offset <= INT32_MAX;
    rule->kind = is_known ? RULE_REGISTER : RULE_NONE;
    rule->base = (uint8_t)name;
    rule->offset = is_known ? (int32_t)offset : 0;
    rule->add = 0;
}

static void change_cfa_offset(struct run *run, int64_t offset)
{
    struct rule *const rule = &run->row->rule;
    if (rule->kind == RULE_REGISTER && offset >= INT32_MIN && offset <= INT32_MAX)
        rule->offset = (int32_t)offset;
    else
        rule->kind = RULE_NONE;
}

/* A register and an offset; false: the expression begins with something else. */
static bool take_base(struct table_reader *in, enum machine_register *name_out,
                      int64_t *offset_out)
{
    const uint64_t op = table_reader_fixed(in, 1);
    if (op < OP_BREG0 || op > OP_BREG31)
        return false;
    *name_out = machine_register_of(op - OP_BREG0);
    *offset_out = table_reader_sleb(in);
    return !in->rc;
}

/* The part of the instructions that an expression takes; they go on behind it. */
static struct table_reader take_expression(struct run *run)
{
    const uint64_t bytes = table_reader_uleb(run->in);
    struct table_reader expression = *run->in;
    table_reader_skip(run->in, bytes);
    expression.end = run->in->at;
    if (bytes > CFI_MAX_EXPRESSION_BYTES)
        expression.end = expression.at;
    return expression;
}

static bool take_dereference(struct table_reader in, struct rule *rule)
{
    enum machine_register name;
    int64_t offset, add = 0;
    if (!take_base(&in, &name, &offset) || table_reader_fixed(&in, 1) != OP_DEREF)
        return false;
    if (in.at < in.end) {
        if (table_reader_fixed(&in, 1) != OP_PLUS_UCONST)
            return false;
        add = (int64_t)table_reader_uleb(&in);
    }
    if (in.rc || in.at != in.end || (name >= MACHINE_SAVED && name != MACHINE_SP) ||
        offset < INT32_MIN || offset > INT32_MAX || add < 0 || add > INT32_MAX)
        return false;
    rule->kind = RULE_DEREFERENCE;
    rule->base = (uint8_t)name;
    rule->offset = (int32_t)offset;
    rule->add = (int32_t)add;
    return true;
}

static void define_cfa_expression(struct run *run)
{
    struct table_reader in = take_expression(run);
    struct rule *const rule = &run->row->rule;
    unsigned char raw[CFI_MAX_EXPRESSION_BYTES];
    const size_t bytes = (size_t)(in.end - in.at);
    rule->kind = RULE_NONE;
    rule->base = 0;
    rule->offset = rule->add = 0;
    if (take_dereference(in, rule))
        return;
    table_reader_bytes(&in, raw, bytes);
    if (!in.rc && machine_is_stub_expression(raw, bytes, &rule->add)) {
        rule->kind = RULE_STUB;
        rule->base = MACHINE_SP;
        rule->offset = 8;
    }
}

/* false: the row of the target is complete. */
static bool advance_location(struct run *run, uint64_t units)
{
    uint64_t bytes, to;
    if (__builtin_mul_overflow(units, run->program->code_factor, &bytes) ||
        __builtin_add_overflow(run->location, bytes, &to)) {
        run->is_corrupt = true;
        return false;
    }
    if (to > run->target)
        return false;
    run->location = to;
    return true;
}

static bool set_location(struct run *run)
{
    const remote_addr to = table_reader_encoded(run->in, run->program->encoding, 0);
    if (to < run->location)
        run->is_corrupt = true;
    if (to < run->location || to > run->target)
        return false;
    run->location = to;
    return true;
}

/* Instructions about a register.  false: it is not one of them. */
static bool run_register(struct run *run, unsigned op)
{
    struct table_reader *const in = run->in;
    if (op == EXPRESSION) {
        /* Functions that align their stack save registers at a distance from bp. */
        const uint64_t saved = table_reader_uleb(in);
        struct table_reader expression = take_expression(run);
        enum machine_register name;
        int64_t offset;
        if (take_base(&expression, &name, &offset) && name == MACHINE_FP &&
            expression.at == expression.end)
            set_register(run, saved, offset, true);
        else
            lose_register(run, saved);
        return true;
    }
    if (op < OFFSET_EXTENDED || op > VAL_EXPRESSION)
        return false; /* the instructions in between are those of run_instruction */
    const uint64_t number = table_reader_uleb(in);
    switch (op) {
    case OFFSET_EXTENDED:
        set_register(run, number, scale_offset(run, (int64_t)table_reader_uleb(in)), false);
        break;
    case OFFSET_EXTENDED_SF:
        set_register(run, number, scale_offset(run, table_reader_sleb(in)), false);
        break;
    case RESTORE_EXTENDED: restore_register(run, number); break;
    case UNDEFINED:
        if (machine_register_of(number) == MACHINE_RETURN_ADDRESS)
            run->row->return_address = CFI_RETURN_NONE;
        else
            lose_register(run, number);
        break;
    case SAME_VALUE: {
        const enum machine_register name = machine_register_of(number);
        if (name < MACHINE_SAVED)
            run->row->rule.saved[name] = RULE_UNCHANGED;
        if (name == MACHINE_RETURN_ADDRESS)
            run->row->return_address =
                MACHINE_RETURN_BYTES ? CFI_RETURN_UNKNOWN : CFI_RETURN_KNOWN;
        break;
    }
    case VAL_EXPRESSION:
        (void)take_expression(run);
        lose_register(run, number);
        break;
    default: /* in another register, or a value that is computed */
        (void)table_reader_uleb(in);
        lose_register(run, number);
    }
    return true;
}

/* false: the row of the target is complete, or the instructions make no sense. */
static bool run_instruction(struct run *run)
{
    struct table_reader *const in = run->in;
    struct rule *const rule = &run->row->rule;
    const unsigned op = (unsigned)table_reader_fixed(in, 1), operand = op & 0x3f;
    uint64_t number;
    switch (op & 0xc0) {
    case ADVANCE_LOC: return advance_location(run, operand);
    case OFFSET:
        set_register(run, operand, scale_offset(run, (int64_t)table_reader_uleb(in)), false);
        return true;
    case RESTORE: restore_register(run, operand); return true;
    default: break;
    }
    switch (op) {
    case NOP: return true;
    case SET_LOC: return set_location(run);
    case ADVANCE_LOC1: return advance_location(run, table_reader_fixed(in, 1));
    case ADVANCE_LOC2: return advance_location(run, table_reader_fixed(in, 2));
    case ADVANCE_LOC4: return advance_location(run, table_reader_fixed(in, 4));
    case REMEMBER_STATE:
        if (run->remembered_count == CFI_MAX_REMEMBERED)
            run->is_corrupt = true;
        else
            run->remembered[run->remembered_count++] = *run->row;
        return true;
    case RESTORE_STATE:
        if (run->remembered_count == 0)
            run->is_corrupt = true;
        else
            *run->row = run->remembered[--run->remembered_count];
        return true;
    case GNU_ARGS_SIZE: (void)table_reader_uleb(in); return true;
    case DEF_CFA:
        number = table_reader_uleb(in);
        define_cfa(run, number, (int64_t)table_reader_uleb(in));
        return !run->is_corrupt;
    case DEF_CFA_SF:
        number = table_reader_uleb(in);
        define_cfa(run, number, scale_offset(run, table_reader_sleb(in)));
        return !run->is_corrupt;
    case DEF_CFA_REGISTER:
        /* The offset stays: only a CFA that is a register and an offset has one. */
        number = table_reader_uleb(in);
        if (rule->kind == RULE_REGISTER)
            define_cfa(run, number, rule->offset);
        else
            rule->kind = RULE_NONE;
        return !run->is_corrupt;
    case DEF_CFA_OFFSET: change_cfa_offset(run, (int64_t)table_reader_uleb(in)); return true;
    case DEF_CFA_OFFSET_SF:
        change_cfa_offset(run, scale_offset(run, table_reader_sleb(in)));
        return !run->is_corrupt;
    case DEF_CFA_EXPRESSION: define_cfa_expression(run); return !run->is_corrupt;
    default: break;
    }
    if (!run_register(run, op) && !machine_ignores(op))
        run->is_corrupt = true;
    return !run->is_corrupt;
}

enum err_code cfi_program_run(const struct cfi_program *program,
                              struct table_reader *instructions, remote_addr location,
                              remote_addr target, struct cfi_row *row)
{
    struct run run;
    run.program = program;
    run.in = instructions;
    run.location = location;
    run.target = target;
    run.row = row;
    run.remembered_count = 0;
    run.is_corrupt = false;
    for (unsigned i = 0; instructions->at < instructions->end; i++) {
        if (i == CFI_MAX_INSTRUCTIONS)
            return ERR_CORRUPT;
        if (!run_instruction(&run) || run.is_corrupt)
            break;
    }
    return instructions->rc ? instructions->rc : run.is_corrupt ? ERR_CORRUPT : ERR_OK;
}
