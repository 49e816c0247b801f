/*
 * confine - leaves a process nothing but computing: it can allocate memory, read and write what it has open,
 * and end.
 *
 * For a process that reads hostile data with a library that was not made for it.  Whoever takes over such
 * a process can give a wrong answer, and nothing else.
 *
 * Private to the folder.
 *
 * Threads: only for processes with one thread that have given up the right to gain others (rights.h).
 * Limits: CONFINE_MEMORY_BYTES of address space, CONFINE_TIME_MS, and the limits that it has already.
 */
#ifndef SERVER_SOURCE_CONFINE_H
#define SERVER_SOURCE_CONFINE_H

#include <stdbool.h>

enum { CONFINE_MEMORY_BYTES = 640 << 20, CONFINE_TIME_MS = 1500 };

/* The numbers that the two descriptors get, behind those of the C library. */
enum { CONFINE_INPUT = 3, CONFINE_OUTPUT, CONFINE_FIRST_FREE };

/* Keeps only these two descriptors.  For good.
 * false: it is not confined, and must end. */
bool confine(int input, int output);

#endif /* SERVER_SOURCE_CONFINE_H */
