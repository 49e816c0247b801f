#include "sampler/native/machine/machine.h"

#ifdef MACHINE_X86_64

#include <string.h>

/* struct ucontext: uc_mcontext is at 40, and holds r8 to r15, di, si, bp, bx, dx, ax, cx, sp, ip. */
const struct machine_signal_frame machine_signal_frame = {
    .ip = 40 + 16 * 8,
    .sp = 40 + 15 * 8,
    .outer_sp = 40 + 2 * 8,
    .saved = {
        [MACHINE_BX] = 40 + 11 * 8,
        [MACHINE_FP] = 40 + 10 * 8,
        [MACHINE_R12] = 40 + 4 * 8,
        [MACHINE_R13] = 40 + 5 * 8,
        [MACHINE_R14] = 40 + 6 * 8,
        [MACHINE_R15] = 40 + 7 * 8,
    },
};

enum machine_register machine_register_of(uint64_t number)
{
    static const uint8_t names[] = {
        MACHINE_OTHER,
        MACHINE_OTHER,
        MACHINE_OTHER,
        MACHINE_BX,
        MACHINE_OTHER,
        MACHINE_OTHER,
        MACHINE_FP,
        MACHINE_SP,
        MACHINE_OTHER,
        MACHINE_OTHER,
        MACHINE_OUTER_SP,
        MACHINE_OTHER,
        MACHINE_R12,
        MACHINE_R13,
        MACHINE_R14,
        MACHINE_R15,
        MACHINE_RETURN_ADDRESS,
    };
    return number < sizeof names ? (enum machine_register)names[number] : MACHINE_OTHER;
}

remote_addr machine_address(uint64_t word)
{
    return word;
}

bool machine_ignores(unsigned instruction)
{
    (void)instruction;
    return false;
}

/* FF /2: the length of a call through a register or memory follows from the byte after FF. */
static bool is_indirect_call(const unsigned char *code, size_t bytes)
{
    const unsigned mod = code[1] >> 6, rm = code[1] & 7;
    const size_t address = rm == 4 && mod != 3 ? 1 : 0;
    const size_t offset = mod == 1 ? 1 : mod == 2 || (mod == 0 && rm == 5) ? 4 : 0;
    if (code[0] != 0xff || ((code[1] >> 3) & 7) != 2)
        return false;
    /* Without a base register an address has a 32-bit offset. */
    if (address && mod == 0 && bytes > 2 && (code[2] & 7) == 5)
        return bytes == 7;
    return bytes == 2 + address + offset;
}

bool machine_ends_with_call(const unsigned char code[MACHINE_CALL_BYTES])
{
    if (code[MACHINE_CALL_BYTES - 5] == 0xe8)
        return true;
    for (size_t bytes = 2; bytes <= MACHINE_CALL_BYTES; bytes++)
        if (is_indirect_call(code + MACHINE_CALL_BYTES - bytes, bytes))
            return true;
    return false;
}

remote_addr machine_called(const unsigned char code[MACHINE_CALL_BYTES], remote_addr addr)
{
    int32_t distance;
    memcpy(&distance, code + MACHINE_CALL_BYTES - sizeof distance, sizeof distance);
    return code[MACHINE_CALL_BYTES - 5] == 0xe8 ? addr + (uint64_t)(int64_t)distance : 0;
}

remote_addr machine_jumped(const unsigned char code[MACHINE_JUMP_BYTES], remote_addr addr)
{
    int32_t distance;
    memcpy(&distance, code + 1, sizeof distance);
    return code[0] == 0xe9 ? addr + MACHINE_JUMP_BYTES + (uint64_t)(int64_t)distance : 0;
}

size_t machine_own_bytes(const unsigned char *code, size_t bytes)
{
    size_t returned = 0;
    for (size_t i = 0; i + 1 < bytes; i++) {
        if (code[i] == 0xc3)
            returned = i + 1;
        else if (code[i] == 0x0f && code[i + 1] == 0x05 && returned)
            return returned;
    }
    return bytes;
}

remote_addr machine_stub_slot(const unsigned char code[MACHINE_STUB_BYTES], remote_addr addr)
{
    static const unsigned char landing[] = { 0xf3, 0x0f, 0x1e, 0xfa }; /* endbr64 */
    size_t at = memcmp(code, landing, sizeof landing) == 0 ? sizeof landing : 0;
    at += code[at] == 0xf2;
    int32_t distance;
    memcpy(&distance, code + at + 2, sizeof distance);
    return code[at] == 0xff && code[at + 1] == 0x25
               ? addr + at + 6 + (uint64_t)(int64_t)distance
               : 0;
}

bool machine_is_signal_return(const unsigned char code[MACHINE_SIGNAL_RETURN_BYTES])
{
    /* mov $15,%rax; syscall */
    static const unsigned char known[MACHINE_SIGNAL_RETURN_BYTES] = { 0x48, 0xc7, 0xc0, 0x0f, 0,
                                                                      0,    0,    0x0f, 0x05 };
    return memcmp(code, known, sizeof known) == 0;
}

bool machine_is_stub_expression(const unsigned char *expression, size_t bytes,
                                int32_t *pushed_from_out)
{
    /* sp + 8 + (((ip & 15) >= N) << 3); byte 6 is DW_OP_litN */
    static const unsigned char known[] = { 0x77, 8,    0x80, 0,    0x3f, 0x1a,
                                           0,    0x2a, 0x33, 0x24, 0x22 };
    if (bytes != sizeof known || memcmp(expression, known, 6) != 0 ||
        memcmp(expression + 7, known + 7, sizeof known - 7) != 0 || expression[6] < 0x30 ||
        expression[6] > 0x3f)
        return false;
    *pushed_from_out = expression[6] - 0x30;
    return true;
}

#endif
