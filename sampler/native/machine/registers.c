#define _GNU_SOURCE
#include "sampler/native/machine/machine.h"

#if defined __x86_64__ && defined MACHINE_X86_64

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

enum { CODE_SEGMENT_64 = 0x33 };

bool machine_is_supported(void)
{
    return true;
}

enum err_code machine_take_registers(const void *words, uint64_t thread_pointer,
                                     struct native_registers *out,
                                     remote_addr *thread_pointer_out)
{
    struct user_regs_struct user;
    (void)thread_pointer;
    memcpy(&user, words, sizeof user);
    if (user.cs != CODE_SEGMENT_64)
        return ERR_UNSUPPORTED;
    *out = (struct native_registers){
        .ip = user.rip,
        .sp = user.rsp,
        .outer_sp = user.r10,
        .saved = { [MACHINE_BX] = user.rbx,
                   [MACHINE_FP] = user.rbp,
                   [MACHINE_R12] = user.r12,
                   [MACHINE_R13] = user.r13,
                   [MACHINE_R14] = user.r14,
                   [MACHINE_R15] = user.r15 },
    };
    *thread_pointer_out = user.fs_base;
    return ERR_OK;
}

enum err_code machine_read_registers(int32_t tid, struct native_registers *out,
                                     remote_addr *thread_pointer_out)
{
    struct user_regs_struct user;
    struct iovec place = { &user, sizeof user };
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &place) != 0)
        return err_code_of_errno(errno);
    return place.iov_len == sizeof user
               ? machine_take_registers(&user, 0, out, thread_pointer_out)
               : ERR_UNSUPPORTED;
}

#elif defined __aarch64__ && defined MACHINE_AARCH64

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

enum { FIRST_SAVED = 19 };

bool machine_is_supported(void)
{
    return true;
}

enum err_code machine_take_registers(const void *words, uint64_t thread_pointer,
                                     struct native_registers *out,
                                     remote_addr *thread_pointer_out)
{
    struct user_regs_struct user;
    memcpy(&user, words, sizeof user);
    *out = (struct native_registers){ .ip = user.pc, .sp = user.sp };
    for (size_t i = 0; i < MACHINE_SAVED; i++)
        out->saved[i] = user.regs[FIRST_SAVED + i];
    *thread_pointer_out = thread_pointer;
    return ERR_OK;
}

enum err_code machine_read_registers(int32_t tid, struct native_registers *out,
                                     remote_addr *thread_pointer_out)
{
    struct user_regs_struct user;
    uint64_t thread_pointer;
    struct iovec place = { &user, sizeof user };
    struct iovec pointer_place = { &thread_pointer, sizeof thread_pointer };
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &place) != 0)
        return err_code_of_errno(errno);
    /* A thread that runs 32-bit code has fewer of them. */
    if (place.iov_len != sizeof user)
        return ERR_UNSUPPORTED;
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_ARM_TLS, &pointer_place) != 0)
        return err_code_of_errno(errno);
    return machine_take_registers(&user, thread_pointer, out, thread_pointer_out);
}

#else

bool machine_is_supported(void)
{
    return false;
}

enum err_code machine_take_registers(const void *words, uint64_t thread_pointer,
                                     struct native_registers *out,
                                     remote_addr *thread_pointer_out)
{
    (void)words;
    (void)thread_pointer;
    (void)out;
    (void)thread_pointer_out;
    return ERR_UNSUPPORTED;
}

enum err_code machine_read_registers(int32_t tid, struct native_registers *out,
                                     remote_addr *thread_pointer_out)
{
    (void)tid;
    (void)out;
    (void)thread_pointer_out;
    return ERR_UNSUPPORTED;
}

#endif
