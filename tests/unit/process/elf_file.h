/* elf_file - a file in memory. */
#ifndef TESTS_UNIT_PROCESS_ELF_FILE_H
#define TESTS_UNIT_PROCESS_ELF_FILE_H

#include <stddef.h>

/* The descriptor of a new file with these bytes; the caller closes it. */
int elf_file(const void *bytes, size_t count);

#endif /* TESTS_UNIT_PROCESS_ELF_FILE_H */
