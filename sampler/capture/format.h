/*
 * format - the constants of a .pyro file; README.md describes the format.
 */
#ifndef SAMPLER_CAPTURE_FORMAT_H
#define SAMPLER_CAPTURE_FORMAT_H

#define CAPTURE_EXTENSION "pyro"

/* A byte that is not text, the name, and line ends that a transfer as text would change. */
#define CAPTURE_MAGIC "\x89PYRO\r\n\n"

enum {
    CAPTURE_MAJOR = 4,
    CAPTURE_MINOR = 6,
    CAPTURE_PREAMBLE_BYTES = 16,
    CAPTURE_BLOCK_HEAD_BYTES = 20,
    CAPTURE_TRAILER_BYTES = 16,
    CAPTURE_MAX_BLOCK_BYTES = 1 << 23, /* before compression, and after it */
    CAPTURE_MAX_WINDOWS = 1 << 16,     /* of a block */
    CAPTURE_MAX_RUNS = 1 << 20,        /* of a block */
    CAPTURE_MAX_TEXTS =
        1 << 12, /* of a list in the metadata, such as the words of a command line */
    CAPTURE_MAX_INDEX = 1 << 20, /* blocks in an index; the file may have more */
};

/* A reader may skip a block of an unknown kind if the kind is a small letter. */
enum capture_kind {
    CAPTURE_METADATA = 'F', /* the first block */
    CAPTURE_ROWS = 'R',     /* new rows of the tables */
    CAPTURE_WINDOWS = 'W',  /* samples, and the counters of quality after them */
    CAPTURE_MEASURED = 'M', /* samples of another measure than time */
    CAPTURE_END = 'E',      /* the last block */
    CAPTURE_SOURCE = 't',   /* texts of source files, before the end */
    CAPTURE_MEMORY = 'm',   /* the memory of processes along time */
    CAPTURE_STATE = 's',    /* after each window of a live capture; no file has it */
};

#endif /* SAMPLER_CAPTURE_FORMAT_H */
