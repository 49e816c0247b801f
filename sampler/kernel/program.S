/* The object file of the BPF program, compressed, found through the include path. */
#ifdef __CET__
#include <cet.h> /* without its note no shadow stack for the whole program */
#endif
    .section .rodata
    .global kernel_program_start
    .global kernel_program_end
    .type kernel_program_start, %object
    .type kernel_program_end, %object
    .balign 8
kernel_program_start:
    .incbin "stacks.bpf.o.gz"
kernel_program_end:
    .byte 0

    .section .note.GNU-stack, "", %progbits
