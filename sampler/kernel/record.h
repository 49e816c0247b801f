/*
 * record - what the BPF program and the profiler tell each other.
 *
 * The profiler fills two maps: processes by pid, threads by tid (both as the profiler's pid namespace
 * numbers them).  The program answers with records in a ring buffer: a head, and for the kinds that
 * carry a stack or a code object, spans of the process's memory: each a struct kernel_span and its bytes,
 * padded to 8.  All spans of a record are of one instant.
 *
 * The spans of a stack begin with the windows: the parts of the interpreter and of the runtime that say who
 * holds the GIL and who collects.  If all others are equal to those of the last record of the thread that had
 * them, a record has only the windows, and same_ns is the time of that record.  The program compares checksums
 * of 64 bits.  They are no secret: a target may make two stacks with one checksum, and so make its own profile
 * wrong, as any memory that it writes can; never that of another.  A stack that is not whole is not repeated, nor
 * is one with a native part, whose deadlines and buffers change with each call.
 *
 * If the value of a ContextVar is wanted, what leads to it from the thread state follows the windows and is counted among
 * them: contexts change while stacks stay.  So does what leads to a span that native code publishes for the thread.
 *
 * The outer frames of a deep stack seldom change, so their spans, which come last, are sent once: they are the tail.
 * Where it is left out, it is that of the record of tail_ns, the last one of the thread that had it.  What is compared
 * is where these frames lie and stand, by such a checksum too; their variables may have changed.  Of a stack that is
 * larger than a record, only the frames that there is room for are, so its tail is sent again now and then.  A tail
 * begins inside a chunk, whose bytes below are its first span.
 *
 * Of a process whose native stacks are wanted, the records of a stack go on after these spans with a native
 * part: a struct kernel_native, and spans of the thread's C stack.  They begin at the stack pointer, on x86-64
 * KERNEL_RED_ZONE_BYTES below it, and end at the base of the stack.  A stack of up to KERNEL_STACK_BYTES is copied whole, and so is a
 * deeper one that is full of calls: for each call of Python by C code it may have KERNEL_CALL_BYTES more, up to
 * KERNEL_MAX_STACK in all, unless records fill half the ring buffer.  Of another stack, the middle is missing: the
 * outermost KERNEL_STACK_PART bytes are copied, and the innermost ones that there is room for.  Where memory was never
 * touched, its neighbours up to there are copied.
 *
 * The outer part of a deep stack seldom changes, so it is sent once: from outer_from on, it is that of the record of
 * outer_ns, which is the last one of the thread that had it whole.  Its checksum was made of all its bytes.
 * Only x86-64 and aarch64 have this part.
 *
 * Records of a stack end with a kernel part, where the kernel stacks of the process are wanted: the return addresses of the
 * thread's kernel stack, innermost first, with or without a stack of its own.  A thread that runs code of its own has none.
 *
 * Python frees code objects and uses their addresses again, so a code object is described when it is first
 * met in a stack, and again when its fingerprint has changed: the description is a record of its own, before
 * that of the stack.  From 3.14 on a fingerprint is read again when the interpreter has freed code objects.
 * Before, it is read for the innermost frames every few milliseconds, for all frames once a second, and for all frames
 * of all stacks for a second after a change was seen.
 *
 * From 3.13 on a thread has a state of its own in each interpreter that it has entered, so the program searches it in
 * the sub-interpreters that it knows, and copies the innermost state that runs something.
 *
 * Memory becomes resident at a page fault.  The program is called at each one, or at one of several (fault_events.h), before
 * the kernel handles it, and sends a stack for as many pages as the thread has faulted since the last one that was
 * sampled, if that page was not there at all.  Where the kernel will give a huge page, the fault stands for as many pages.
 * A fault at a page that is there, but must not be written because a fork shares it, makes nothing resident: the process gets
 * a page of its own, which is a kind of record of its own.
 *
 * Memory is given back in calls that unmap it.  The kernel's count of resident pages is compared after each change of it
 * (returned.bpf.h), and a stack stands for the pages that the thread has given back since its last one.
 *
 * Included by the BPF program too, so it has neither types nor includes of libc.
 * Units: bytes; nanoseconds of CLOCK_MONOTONIC.
 */
#ifndef SAMPLER_KERNEL_RECORD_H
#define SAMPLER_KERNEL_RECORD_H

enum {
    KERNEL_MAX_PROCESSES = 4096,
    KERNEL_MAX_THREADS = 1 << 16,
    KERNEL_MAX_CPUS = 512,
    KERNEL_RING_BYTES = 1 << 22,
    KERNEL_AREA_BYTES = 1 << 18, /* spans of one record */
    KERNEL_MAX_SPAN = 1 << 16,   /* bytes of one of them */
    KERNEL_MAX_FRAMES = 4096,
    KERNEL_MAX_CHUNKS = 64,
    KERNEL_MAX_OFF_CHUNK = 1024,
    KERNEL_MAX_INTERPRETERS = 16,   /* of one process, in which threads are searched */
    KERNEL_MAX_FIELDS_AT = 1 << 11, /* of offsets in a thread state */
    KERNEL_MAX_INSTANTS = 1 << 16,
    KERNEL_MAX_PAGES = 1 << 30, /* that a fault stands for */
    KERNEL_RED_ZONE_BYTES =
        128, /* of x86-64: a function may use them without moving its stack pointer */
    KERNEL_MAX_SAVED = 12, /* registers that a function must preserve */
    KERNEL_STACK_BYTES = KERNEL_MAX_SPAN,
    KERNEL_STACK_PART = KERNEL_STACK_BYTES / 2,
    KERNEL_CALL_BYTES = 1 << 11,
    KERNEL_MAX_STACK = 1 << 19,
    KERNEL_INNER_BYTES = 1 << 14, /* of a deep stack, in front of its outer part, at first */
    KERNEL_MAX_STACK_SPANS = 2,
    KERNEL_NATIVE_BYTES = KERNEL_MAX_STACK + 512, /* the native part of a record */
    KERNEL_MAX_VARIABLES = 4,                     /* ContextVars of the name that is wanted */
    KERNEL_MAX_PUBLISHED = 4,    /* thread-local variables that publish spans */
    KERNEL_MAX_CODES = 1 << 14,  /* whose fingerprints are kept; of all processes */
    KERNEL_CODE_BYTES = 1 << 13, /* spans of a description; longer parts are left out */
    KERNEL_MAX_CALLS = 127,      /* in the kernel: what perf_event_max_stack is by default */
};

/* Events that a session has the program count; bits. */
enum kernel_events {
    KERNEL_EVENT_TIME = 1,      /* the clocks, and switches of threads */
    KERNEL_EVENT_FAULTS = 2,    /* page faults that make memory resident */
    KERNEL_EVENT_COPIES = 4,    /* page faults at pages that a fork shares */
    KERNEL_EVENT_RETURNED = 8,  /* memory that is given back */
    KERNEL_EVENT_SWITCHES = 16, /* switches of threads, without the clocks */
    KERNEL_EVENTS_OF_FAULTS = KERNEL_EVENT_FAULTS | KERNEL_EVENT_COPIES,
    KERNEL_EVENTS_OF_PAGES = KERNEL_EVENTS_OF_FAULTS | KERNEL_EVENT_RETURNED,
};

enum kernel_record_kind {
    KERNEL_TICK,     /* the thread runs; its stack */
    KERNEL_LEFT,     /* it leaves its processor; its stack */
    KERNEL_RETURNED, /* it is back; no stack */
    KERNEL_UNKNOWN,  /* a thread of a known process is not in the map; no stack */
    KERNEL_CODE,     /* a code object: the first span is it, the others are its parts */
    KERNEL_FAULT,    /* the thread makes memory resident; its stack */
    KERNEL_COPY,     /* it writes to memory that a fork shares; its stack */
    KERNEL_FREE,     /* it has given memory back; its stack */
};

/* Why a stack is not whole. */
enum kernel_record_flags {
    KERNEL_FAULTED = 1, /* some memory was not there */
    KERNEL_NO_ROOM = 2, /* it is too large; its outermost part is missing */
    KERNEL_RUNNABLE =
        4, /* of KERNEL_LEFT: the thread goes on as soon as there is a processor */
    KERNEL_STACK_CUT = 8,      /* the C stack is too large; its middle is missing */
    KERNEL_STACK_FAULTED = 16, /* some memory of the C stack was not there */
};

/* Why the profiler was called; bits. */
enum kernel_woken {
    KERNEL_WOKEN_URGENTLY = 1,
    KERNEL_WOKEN_BY_MANY = 2, /* records */
};

struct kernel_record {
    unsigned int kind, flags;
    unsigned int pid, tid;
    unsigned long long time_ns;
    unsigned long long left_ns; /* of KERNEL_RETURNED */
    int system_call;            /* of KERNEL_LEFT: its number; -1: none */
    unsigned int bytes;         /* of all spans */
    unsigned int
        instants; /* of KERNEL_TICK: how many it stands for; of the last kinds: pages */
    unsigned int native_bytes; /* of the native part, which follows the spans; 0: none */
    union {
        unsigned long long same_ns; /* 0: the stack is whole */
        /* KERNEL_RETURNED: when the thread began to lack only a processor; 0: unknown, or when it left. */
        unsigned long long woken_ns;
    };
    /* The state and the interpreter of a stack in an interpreter that the thread has entered;
     * 0: it is of the state of the struct kernel_thread. */
    unsigned long long tstate, interpreter;
    unsigned long long args[2]; /* of the system call: the first ones */
    /* The descriptor of a call that polls one, and what it is polled for. */
    int has_polled, polled;
    unsigned int events;
    unsigned int kernel_bytes; /* of the kernel part, which comes last; 0: none */
    unsigned int tail_at;      /* in the spans, where the tail begins; 0: there is none */
    unsigned int padding;
    unsigned long long tail_ns; /* 0: the record has the tail that it names */
};

struct kernel_span {
    unsigned long long addr;
    unsigned int bytes;
    unsigned int is_padded; /* the memory goes on after it, but nothing of it is in use */
};

/* The registers of a thread in its own code, and where its C stack ends: 0: unknown.  Those that a function must
 * preserve have the order of enum machine_register; there may be fewer of them. */
struct kernel_native {
    unsigned long long ip, sp, outer_sp;
    unsigned long long saved[KERNEL_MAX_SAVED];
    unsigned long long base;
    /* The beginning of the outer part of a deep stack that is whole, and the time of the record
     * that has it, 0: this one. Otherwise 0. */
    unsigned long long outer_from, outer_ns;
};

/* The outer part that was sent last of a thread; from 0: none. */
struct kernel_outer {
    unsigned long long from, base, sum, sent_ns;
    unsigned long long inner_bytes; /* in front of it, when it was sent */
    unsigned long long hits;        /* how often it was the same since */
};

/* The tail that was sent last of a thread: the frames below `from` in its chunk; from 0: none. */
struct kernel_tail {
    unsigned long long from, sum, sent_ns;
    unsigned long long inner_bytes; /* in front of it, when its place was chosen */
    unsigned int hits;              /* how often it was the same since */
    unsigned int misses; /* the records since then whose tail should begin elsewhere */
    unsigned int is_cut; /* its outermost frames were not compared, as there was no room */
};

/* The place of frames, by version. */
enum kernel_frames {
    KERNEL_HEAP_FRAMES, /* until 3.10 */
    KERNEL_CFRAMES,     /* 3.11 and 3.12 */
    KERNEL_CHUNKS,      /* since */
};

/* Offsets of fields, and where the fingerprint of a code object begins and how long it is. */
struct kernel_code_layout {
    unsigned int of_frame; /* the code object of a frame */
    unsigned int bytes, fingerprint, fingerprint_bytes;
    unsigned int name, file, line_table,
        instructions;       /* 0: instructions lie in the code object */
    unsigned int name_hash; /* in the name, the words that belong to the fingerprint; 0: none */
    unsigned int length, data; /* of a bytes object */
};

/* How a thread state leads to the value of a ContextVar: offsets of fields, and addresses. */
struct kernel_context {
    unsigned int place;          /* in a thread state; 0: none is wanted, or it is unknown */
    unsigned int object_type;    /* in every object; what else it has follows */
    unsigned int variable_bytes; /* of a variable, from its type on */
    unsigned int type_name, type_flags; /* in a type */
    unsigned int text_bytes;            /* before the characters of a str, at most */
    unsigned int variable_count;
    /* An OpenTelemetry context's span: offsets of fields, in a type or an object, and facts. */
    struct kernel_span_layout {
        unsigned int is_wanted;
        unsigned int length, ascii_bytes; /* of a str */
        unsigned int dict_keys, dict_values, values_bytes;
        unsigned int type_dict, type_size, type_keys;
        unsigned int words_before; /* to the pointer to the dictionary, in front of an object */
        unsigned int ids;          /* in a tuple */
        unsigned int has_plain_keys, has_managed_dicts, has_values_pointer, has_tagged_values,
            has_inline_values;
    } spans;
    unsigned long long bitmap, array, collision; /* types of nodes */
    struct {
        unsigned long long addr, hash;
    } variables[KERNEL_MAX_VARIABLES];
    /* The variables that hold the address of a record of the thread's span, as struct thread_local_trail has them. */
    unsigned long long published_count;
    struct kernel_published {
        unsigned long long slot, place, of_tid;
        unsigned long long of_generation, of_block; /* 0: the variable is at its place */
        unsigned long long offset;
    } published[KERNEL_MAX_PUBLISHED];
};

struct kernel_process {
    unsigned long long runtime_window;
    unsigned int runtime_window_bytes;
    unsigned int frames; /* enum kernel_frames */
    unsigned int tstate_bytes, tstate_frame, tstate_cframe, tstate_chunk, tstate_top;
    unsigned int cframe_bytes, cframe_frame, cframe_previous;
    unsigned int frame_bytes, frame_previous;
    unsigned int frame_instr;    /* 0: frames have no tail */
    unsigned int frame_is_entry; /* of frames in a chunk that C code has called; 0: unknown */
    unsigned int only_tid;       /* the only thread to sample; 0: all */
    unsigned int wants_native, wants_kernel;
    struct kernel_code_layout code;
    struct kernel_context context;
    /* Fields of a thread state: the native thread id, what pthread_self returns, the next state of the interpreter, and its frame
     * when it runs nothing. */
    unsigned int tstate_tid, tstate_pthread, tstate_next, tstate_base;
    unsigned int frame_owner, entry_owner; /* of a frame; of entry frames, at least */
    unsigned int interp_threads, interp_window, interp_generation; /* 0: no generation */
    unsigned int interpreter_count;
    unsigned long long interpreters[KERNEL_MAX_INTERPRETERS]; /* to be searched; newest first */
    unsigned int lends_states; /* a thread may run in a state that another one has made */
    unsigned int serial;       /* set by kernel_add_process */
    unsigned long long
        changed_ns; /* when the program last saw that a code object was another */
    unsigned long long descriptions; /* of code objects, by the program */
};

/* How often something of a thread is sampled: see pace.bpf.h. */
struct kernel_pace {
    unsigned long long sampled_ns; /* 0: never */
    unsigned long long room_ns;    /* that samples may still take in quick succession */
    unsigned long long gap;        /* what the next sample stands for, at least */
};

/* Pages that samples would have stood for. */
struct kernel_pages {
    unsigned long long grown, copied, returned;
};

struct kernel_thread {
    unsigned long long tstate;
    /* When it got its processor, or was counted since; if that is unknown, when it was added. */
    unsigned long long came_ns;
    long long uncounted_ns;    /* it had run before and was not counted for; see instants.h */
    unsigned long long window; /* of its interpreter */
    unsigned long long
        main_window; /* of the main one, if that is another: they may share its GIL */
    unsigned long long left_ns;  /* 0: it runs, or has not been seen to leave */
    unsigned long long woken_ns; /* 0: since it left, it has not been seen to wake up */
    unsigned long long
        generation; /* where its interpreter counts freed code objects; 0: nowhere */
    unsigned long long interpreter;
    unsigned int window_bytes, pid;
    unsigned long long pthread; /* what pthread_self returns */
    unsigned int native_tid;    /* as the interpreter names it */
    unsigned int
        is_inner; /* the state is one of a sub-interpreter, which the thread may leave */
    /* The last record with all its spans: its time, and checksums of its innermost frame and of all; 0: not
     * known. */
    unsigned long long sent_ns, frame_sum, sum;
    struct kernel_outer outer;
    struct kernel_tail tail;
    /* Instants at which it ran, and time that it was away, whose records were lost since it was added.  An absence that
     * is reported by chance is a period. */
    unsigned long long lost_instants, lost_away_ns;
    unsigned long long faults;   /* of the thread, up to the last one that was sampled */
    unsigned long long returned; /* pages, since the last sample of them */
    struct kernel_pace fault_pace, return_pace;
    struct kernel_pages lost; /* of records that were lost, or have no stack */
};

/* The kinds of resident pages, as the kernel numbers them, and those in swap, which are none. */
enum { KERNEL_SWAPPED = 2, KERNEL_RESIDENT_KINDS = 4 };

/* The resident pages of a process at the last change of each kind: what its processors have in common, the first one's
 * changes included.  See returned.bpf.h. */
struct kernel_resident {
    unsigned long long
        returned; /* all pages that were given back, whether they are sampled or not */
    long long common[KERNEL_RESIDENT_KINDS];
    unsigned int is_known; /* bits, by kind */
};

/* The program's variables, which the profiler sets while it runs. */
struct kernel_switches {
    unsigned long long min_away_ns; /* shorter absences are reported by chance */
    unsigned long long period_ns;
    unsigned long long forgets; /* how often the profiler has forgotten stacks */
    unsigned int is_on;         /* a session uses the engine */
    unsigned int is_woken;      /* the profiler, since it last took records: why */
    unsigned long long page_ns; /* between two samples of pages of a thread, in the long run */
    unsigned int fault_period;  /* of the events of page faults */
    unsigned int huge_pages;    /* pages of a huge one; 0: there are none */
    unsigned int is_huge_everywhere; /* not only where the process asks for it */
    unsigned int events;             /* KERNEL_EVENT_ bits of pages */
    unsigned int page_bytes;
};

enum kernel_counter {
    KERNEL_COUNT_TICKS,   /* of known processes */
    KERNEL_COUNT_LOST,    /* records of known threads that had no room in the ring buffer */
    KERNEL_COUNT_FAULTED, /* instants without a thread state */
    KERNEL_COUNT_NS,      /* that the program took of known processes */
    KERNEL_COUNT_FAULTS,  /* events of page faults, of all processes */
    KERNEL_COUNTERS,
};

#endif /* SAMPLER_KERNEL_RECORD_H */
