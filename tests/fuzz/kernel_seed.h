/*
 * kernel_seed - the form of the inputs of fuzz_kernel_record.
 *
 * A byte: the minor version, counted from LAYOUT_OLDEST_MINOR.  Eight bytes: the address of the thread
 * state.  Then pieces: a byte of enum kernel_seed_piece, eight bytes of address (memory only), four bytes
 * of length, and the bytes.
 */
#ifndef TESTS_FUZZ_KERNEL_SEED_H
#define TESTS_FUZZ_KERNEL_SEED_H

enum kernel_seed_piece { KERNEL_SEED_RECORD, KERNEL_SEED_MEMORY };

enum {
    KERNEL_SEED_NEWEST = 15,
    KERNEL_SEED_FIRST_TABLE = 13, /* describes itself */
};

#endif /* TESTS_FUZZ_KERNEL_SEED_H */
