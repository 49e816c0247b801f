#include "sampler/native/machine/machine.h"

#ifdef MACHINE_AARCH64

#include <string.h>

enum {
    /* struct rt_sigframe: the registers of uc_mcontext, behind 128 bytes about the signal, 176 of struct ucontext
     * and the address of the fault. */
    SIGNAL_REGISTERS = 128 + 176 + 8,
    ADDRESS_BITS = 48,
};

const struct machine_signal_frame machine_signal_frame = {
    .ip = SIGNAL_REGISTERS + 32 * 8,
    .sp = SIGNAL_REGISTERS + 31 * 8,
    .saved = {
        [MACHINE_X19] = SIGNAL_REGISTERS + 19 * 8,
        [MACHINE_X20] = SIGNAL_REGISTERS + 20 * 8,
        [MACHINE_X21] = SIGNAL_REGISTERS + 21 * 8,
        [MACHINE_X22] = SIGNAL_REGISTERS + 22 * 8,
        [MACHINE_X23] = SIGNAL_REGISTERS + 23 * 8,
        [MACHINE_X24] = SIGNAL_REGISTERS + 24 * 8,
        [MACHINE_X25] = SIGNAL_REGISTERS + 25 * 8,
        [MACHINE_X26] = SIGNAL_REGISTERS + 26 * 8,
        [MACHINE_X27] = SIGNAL_REGISTERS + 27 * 8,
        [MACHINE_X28] = SIGNAL_REGISTERS + 28 * 8,
        [MACHINE_FP] = SIGNAL_REGISTERS + 29 * 8,
        [MACHINE_RETURN_ADDRESS] = SIGNAL_REGISTERS + 30 * 8,
    },
};

enum machine_register machine_register_of(uint64_t number)
{
    if (number >= 19 && number <= 30)
        return (enum machine_register)(number - 19);
    return number == 31 ? MACHINE_SP : MACHINE_OTHER;
}

/* A program has larger addresses only where it asks for them. */
remote_addr machine_address(uint64_t word)
{
    return word & ((UINT64_C(1) << ADDRESS_BITS) - 1);
}

/* Signatures and landing pads change no register that is followed here. */
bool machine_ignores(unsigned instruction)
{
    return instruction == 0x2d || instruction == 0x2c; /* negate_ra_state, .._with_pc */
}

static uint32_t instruction_at(const unsigned char *code)
{
    uint32_t instruction;
    memcpy(&instruction, code, sizeof instruction);
    return instruction;
}

/* A number of so many bits, in units of four bytes. */
static uint64_t distance_of(uint32_t number, unsigned bits)
{
    const uint64_t sign = UINT64_C(1) << (bits - 1), value = number & (sign * 2 - 1);
    return ((value ^ sign) - sign) * 4;
}

/* bl; blr, and those that check a signature: blraaz, blrabz, blraa, blrab. */
bool machine_ends_with_call(const unsigned char code[MACHINE_CALL_BYTES])
{
    const uint32_t instruction = instruction_at(code);
    return instruction >> 26 == 0x25 || (instruction & 0xfffffc1f) == 0xd63f0000 ||
           (instruction & 0xfffff81f) == 0xd63f081f || (instruction & 0xfffff800) == 0xd73f0800;
}

remote_addr machine_called(const unsigned char code[MACHINE_CALL_BYTES], remote_addr addr)
{
    const uint32_t instruction = instruction_at(code);
    return instruction >> 26 == 0x25 ? addr - 4 + distance_of(instruction, 26) : 0;
}

remote_addr machine_jumped(const unsigned char code[MACHINE_JUMP_BYTES], remote_addr addr)
{
    const uint32_t instruction = instruction_at(code);
    return instruction >> 26 == 0x05 ? addr + distance_of(instruction, 26) : 0;
}

/* ret; svc #0 */
size_t machine_own_bytes(const unsigned char *code, size_t bytes)
{
    size_t returned = 0;
    for (size_t i = 0; i + 4 <= bytes; i += 4) {
        const uint32_t instruction = instruction_at(code + i);
        if (instruction == 0xd65f03c0)
            returned = i + 4;
        else if (instruction == 0xd4000001 && returned)
            return returned;
    }
    return bytes;
}

/* [bti c]; adrp x16, page; ldr x17, [x16, #offset] */
remote_addr machine_stub_slot(const unsigned char code[MACHINE_STUB_BYTES], remote_addr addr)
{
    static const uint32_t landing = 0xd503245f;
    const size_t at = instruction_at(code) == landing ? 4 : 0;
    const uint32_t adrp = instruction_at(code + at), ldr = instruction_at(code + at + 4);
    if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
        return 0;
    const uint32_t pages = (adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
    return ((addr + at) & ~UINT64_C(0xfff)) + (distance_of(pages, 21) << 10) +
           ((ldr >> 10 & 0xfff) << 3);
}

bool machine_is_signal_return(const unsigned char code[MACHINE_SIGNAL_RETURN_BYTES])
{
    /* mov x8, #139; svc #0 */
    return instruction_at(code) == 0xd2801168 && instruction_at(code + 4) == 0xd4000001;
}

bool machine_is_stub_expression(const unsigned char *expression, size_t bytes,
                                int32_t *pushed_from_out)
{
    (void)expression;
    (void)bytes;
    (void)pushed_from_out;
    return false;
}

#endif
