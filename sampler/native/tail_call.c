#include "sampler/native/tail_call.h"

#include "sampler/base/hash.h"
#include "sampler/native/cfi.h"
#include "sampler/native/machine/machine.h"

/* A function, and the code that is searched for jumps. */
struct search {
    const struct image *image;
    struct blocks *blocks;
    remote_addr from, to;
};

static bool has_jump(const struct search *search)
{
    unsigned char code[TAIL_CALL_CODE_BYTES];
    const struct image *const image = search->image;
    const uint64_t left = image->end - search->from;
    const size_t bytes = left < sizeof code ? left : sizeof code;
    if (blocks_read(search->blocks, search->from, code, bytes))
        return false;
    for (size_t i = 0; i + MACHINE_JUMP_BYTES <= bytes; i += MACHINE_CODE_ALIGNMENT) {
        const remote_addr at = search->from + i;
        const remote_addr jumped = machine_jumped(code + i, at);
        if (jumped < image->start || jumped >= image->end)
            continue;
        struct rule rule;
        remote_addr function;
        if ((jumped == search->to ||
             blocks_stub_target(search->blocks, jumped) == search->to) &&
            !cfi_find(search->blocks, &image->tables, at, &rule, &function) &&
            function == search->from)
            return true;
    }
    return false;
}

bool tail_call_leads_to(struct tail_calls *known, const struct images *images,
                        struct blocks *blocks, remote_addr from, remote_addr to)
{
    const struct image *const image = images_find(images, from);
    if (!image || !image->has_tables)
        return false;
    struct tail_call *const place =
        &known->items[hash_mix(from, (uint32_t)hash_word(to, HASH_SEED)) % TAIL_CALLS_MAX];
    if (place->image == image->id && place->from == from && place->to == to)
        return place->answer;
    blocks->budget = TAIL_CALL_BUDGET;
    const struct search search = { image, blocks, from, to };
    *place = (struct tail_call){ from, to, image->id, has_jump(&search) };
    return place->answer;
}
