/*
 * format - the numbers of a .pyro file (README.md says how they lie).
 *
 * Depends on: libc.
 */
#ifndef SAMPLER_CAPTURE_FORMAT_H
#define SAMPLER_CAPTURE_FORMAT_H

#define CAPTURE_EXTENSION "pyro"

/* A byte that is no text, the name, and line ends that a transfer as text would change. */
#define CAPTURE_MAGIC "\x89PYRO\r\n\n"

enum {
    CAPTURE_MAJOR = 3,
    CAPTURE_MINOR = 0,
    CAPTURE_PREAMBLE_BYTES = 16,
    CAPTURE_BLOCK_HEAD_BYTES = 20,
    CAPTURE_TRAILER_BYTES = 16,
    CAPTURE_MAX_BLOCK_BYTES = 1 << 23, /* before compression, and after it */
    CAPTURE_MAX_WINDOWS = 1 << 16,     /* of a block */
    CAPTURE_MAX_RUNS = 1 << 20,        /* of a block */
    CAPTURE_MAX_TEXTS = 1 << 12,       /* of a list in the facts: words of a command line */
    CAPTURE_MAX_INDEX = 1 << 20,       /* blocks named in an index; the file may have more */
};

/* A kind in small letters may be skipped by who does not know it. */
enum capture_kind {
    CAPTURE_METADATA = 'F', /* the first block */
    CAPTURE_ROWS = 'R',     /* new rows of the tables */
    CAPTURE_WINDOWS = 'W',  /* samples, and the counters of quality after them */
    CAPTURE_END = 'E',      /* the last block */
};

#endif /* SAMPLER_CAPTURE_FORMAT_H */
