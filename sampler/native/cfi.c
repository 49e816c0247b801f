#include "sampler/native/cfi.h"

#include <stdbool.h>

#include "sampler/native/cfi_program.h"
#include "sampler/native/table_reader.h"

enum {
    HEADER_VERSION = 1,
    FUNCTION_BYTES = 8,
    FUNCTION_ENCODING = 0x3b,   /* 32-bit offsets from the header */
    MAX_AUGMENTATION_BYTES = 8, /* compilers write up to four letters */
};

/* The part that entries of several functions share. */
struct common {
    struct cfi_program program;
    bool has_augmentation, is_signal_frame;
};

enum err_code cfi_open(struct blocks *blocks, remote_addr low, remote_addr high,
                       remote_addr header, uint64_t header_bytes, struct cfi_tables *out)
{
    if (header < low || header >= high || header_bytes > high - header)
        return ERR_CORRUPT;
    struct table_reader in = { .blocks = blocks, .at = header, .end = header + header_bytes };
    const uint64_t version = table_reader_fixed(&in, 1);
    const unsigned frames_encoding = (unsigned)table_reader_fixed(&in, 1);
    const unsigned count_encoding = (unsigned)table_reader_fixed(&in, 1);
    const unsigned table_encoding = (unsigned)table_reader_fixed(&in, 1);
    if (in.rc)
        return in.rc;
    if (version != HEADER_VERSION || table_encoding != FUNCTION_ENCODING ||
        count_encoding == TABLE_READER_OMITTED)
        return ERR_UNSUPPORTED;
    if (frames_encoding != TABLE_READER_OMITTED)
        (void)table_reader_encoded(&in, frames_encoding, header);
    const uint64_t count = table_reader_encoded(&in, count_encoding, header);
    if (in.rc)
        return in.rc;
    if (count > (in.end - in.at) / FUNCTION_BYTES || count > UINT32_MAX)
        return ERR_CORRUPT;
    *out = (struct cfi_tables){ .low = low,
                                .high = high,
                                .header = header,
                                .functions = in.at,
                                .function_count = (uint32_t)count };
    return ERR_OK;
}

/* Numbers of the table of functions: as many bytes above or below the header. */
static remote_addr offset_from(remote_addr header, uint32_t offset)
{
    return header + (uint64_t)(int64_t)(int32_t)offset;
}

/* The entry of the last function that begins at pc or below; 0: there is none. */
static enum err_code find_entry(struct blocks *blocks, const struct cfi_tables *tables,
                                remote_addr pc, remote_addr *out)
{
    remote_addr found = 0;
    for (size_t low = 0, high = tables->function_count; low < high;) {
        const size_t middle = low + (high - low) / 2;
        uint32_t pair[2]; /* a function, and its entry */
        const enum err_code rc =
            blocks_read(blocks, tables->functions + middle * FUNCTION_BYTES, pair, sizeof pair);
        if (rc)
            return rc;
        if (offset_from(tables->header, pair[0]) <= pc) {
            found = offset_from(tables->header, pair[1]);
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *out = found;
    return ERR_OK;
}

/* Opens an entry of .eh_frame behind its first two fields.  *common_out: the entry that it shares, 0: it
 * is such an entry itself. */
static enum err_code open_entry(struct blocks *blocks, const struct cfi_tables *tables,
                                remote_addr addr, struct table_reader *out,
                                remote_addr *common_out)
{
    if (addr < tables->low || addr >= tables->high)
        return ERR_CORRUPT;
    struct table_reader in = { .blocks = blocks, .at = addr, .end = tables->high };
    const uint64_t bytes = table_reader_fixed(&in, 4);
    if (in.rc)
        return in.rc;
    if (bytes > CFI_MAX_ENTRY_BYTES || bytes > in.end - in.at)
        return ERR_CORRUPT;
    in.end = in.at + bytes;
    const remote_addr here = in.at;
    const uint64_t back = table_reader_fixed(&in, 4);
    if (in.rc)
        return in.rc;
    if (back > here - tables->low)
        return ERR_CORRUPT;
    *common_out = back ? here - back : 0;
    *out = in;
    return ERR_OK;
}

/* The letters of an augmentation: what else an entry has. */
static enum err_code read_augmentation(struct table_reader *in, const char *letters,
                                       struct common *common)
{
    if (!*letters)
        return ERR_OK;
    if (*letters != 'z')
        return ERR_UNSUPPORTED;
    common->has_augmentation = true;
    const uint64_t bytes = table_reader_uleb(in);
    struct table_reader data = *in;
    table_reader_skip(in, bytes);
    data.end = in->at;
    for (letters++; *letters; letters++)
        switch (*letters) {
        case 'R': common->program.encoding = (unsigned)table_reader_fixed(&data, 1); break;
        case 'P': {
            const unsigned encoding = (unsigned)table_reader_fixed(&data, 1);
            if (encoding != TABLE_READER_OMITTED)
                (void)table_reader_encoded(&data, encoding & TABLE_READER_FORM, 0);
            break;
        }
        case 'L': table_reader_skip(&data, 1); break;
        case 'S': common->is_signal_frame = true; break;
        case 'B': /* which key signs return addresses, */
        case 'G': /* and whether memory on the stack is tagged */ break;
        default: return ERR_UNSUPPORTED;
        }
    return data.rc;
}

static enum err_code read_common(struct blocks *blocks, const struct cfi_tables *tables,
                                 remote_addr addr, struct common *out)
{
    char letters[MAX_AUGMENTATION_BYTES + 1];
    struct table_reader in;
    remote_addr none;
    enum err_code rc = open_entry(blocks, tables, addr, &in, &none);
    if (rc || none)
        return rc ? rc : ERR_CORRUPT;
    *out = (struct common){ 0 };
    const uint64_t version = table_reader_fixed(&in, 1);
    if (version != 1 && version != 3)
        return in.rc ? in.rc : ERR_UNSUPPORTED;
    for (size_t i = 0; (letters[i] = (char)table_reader_fixed(&in, 1)); i++)
        if (i == MAX_AUGMENTATION_BYTES)
            return ERR_UNSUPPORTED;
    out->program.code_factor = table_reader_uleb(&in);
    out->program.data_factor = table_reader_sleb(&in);
    const uint64_t return_address =
        version == 1 ? table_reader_fixed(&in, 1) : table_reader_uleb(&in);
    rc = read_augmentation(&in, letters, out);
    if (rc)
        return rc;
    if (machine_register_of(return_address) != MACHINE_RETURN_ADDRESS)
        return ERR_UNSUPPORTED;
    struct cfi_row row = { .rule = rule_initial };
    row.return_address = MACHINE_RETURN_BYTES ? CFI_RETURN_UNKNOWN : CFI_RETURN_KNOWN;
    /* These instructions hold for all addresses: none of them advances. */
    rc = cfi_program_run(&out->program, &in, 0, 0, &row);
    out->program.initial = row;
    return rc;
}

enum err_code cfi_find(struct blocks *blocks, const struct cfi_tables *tables, remote_addr pc,
                       struct rule *rule_out, remote_addr *function_out)
{
    remote_addr entry, common_addr;
    struct common common;
    struct table_reader in;
    *rule_out = rule_initial;
    *function_out = 0;
    enum err_code rc = find_entry(blocks, tables, pc, &entry);
    if (rc || !entry)
        return rc;
    rc = open_entry(blocks, tables, entry, &in, &common_addr);
    if (!rc)
        rc = common_addr ? read_common(blocks, tables, common_addr, &common) : ERR_CORRUPT;
    if (rc)
        return rc;
    const remote_addr start = table_reader_encoded(&in, common.program.encoding, 0);
    const uint64_t bytes =
        table_reader_encoded(&in, common.program.encoding & TABLE_READER_FORM, 0);
    if (common.has_augmentation)
        table_reader_skip(&in, table_reader_uleb(&in));
    if (in.rc || pc < start || pc - start >= bytes)
        return in.rc;
    struct cfi_row row = common.program.initial;
    rc = cfi_program_run(&common.program, &in, start, pc, &row);
    if (rc)
        return rc;

    struct rule rule = row.rule;
    const bool is_kernels = common.is_signal_frame && rule.kind == RULE_DEREFERENCE &&
                            rule.base == MACHINE_SP && rule.add == 0 &&
                            rule.offset == machine_signal_frame.sp;
    if (is_kernels || row.return_address != CFI_RETURN_KNOWN) {
        rule = rule_initial;
        rule.kind = is_kernels                              ? RULE_SIGNAL
                    : row.return_address == CFI_RETURN_NONE ? RULE_END
                                                            : RULE_NONE;
    } else if (rule.kind == RULE_NONE) {
        rule = rule_initial;
    }
    rule.is_interrupted = common.is_signal_frame;
    *rule_out = rule;

    *function_out = start;
    return ERR_OK;
}
