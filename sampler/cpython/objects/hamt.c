#include "sampler/cpython/objects/hamt.h"

#include "sampler/cpython/objects/object.h"

enum {
    WORD = sizeof(uint64_t),
    BITS = 5, /* of the hash, for each level */
    BRANCHES = 1 << BITS,
    MAX_WORDS = 2 * BRANCHES, /* of a bitmap or a collision node */
};

enum node_kind { NODE_BITMAP, NODE_ARRAY, NODE_COLLISION };

/* The head of a node.  An array has no size; its children begin where others have theirs. */
struct node {
    enum node_kind kind;
    uint32_t bits;     /* of a bitmap */
    uint64_t words;    /* in `items` */
    remote_addr items; /* keys and values, or children */
};

/* Does the object have a type of this name?  *known is its address, once seen. */
static bool is_of_type(struct memory *memory, const struct layout *layout, remote_addr type,
                       const char *name, remote_addr *known)
{
    if (*known)
        return type == *known;
    if (!object_type_is(memory, layout, type, name))
        return false;
    *known = type;
    return true;
}

/* From the type of the object on. */
static enum err_code read_head(struct memory *memory, const struct layout *layout,
                               remote_addr addr, uint64_t *words, size_t bytes)
{
    return addr ? memory_read(memory, addr + layout->object_type, words, bytes) : ERR_CORRUPT;
}

enum err_code hamt_open(struct memory *memory, const struct layout *layout,
                        struct hamt_types *types, remote_addr addr, struct hamt *out)
{
    /* The root, a list of weak references, and the number of pairs. */
    uint64_t words[4];
    const enum err_code rc = read_head(memory, layout, addr, words, sizeof words);
    if (rc)
        return rc;
    if (!is_of_type(memory, layout, words[0], "hamt", &types->map))
        return ERR_CORRUPT;
    *out = (struct hamt){ words[1], words[3] };
    return ERR_OK;
}

static enum err_code read_node(struct memory *memory, const struct layout *layout,
                               struct hamt_types *types, remote_addr addr, struct node *out)
{
    /* Its type, its size, and a bitmap or a hash. */
    uint64_t words[3];
    const remote_addr fields = addr + object_first_field(layout);
    const enum err_code rc = read_head(memory, layout, addr, words, sizeof words);
    if (rc)
        return rc;
    if (is_of_type(memory, layout, words[0], "hamt_array_node", &types->array)) {
        *out = (struct node){ .kind = NODE_ARRAY, .words = BRANCHES, .items = fields };
        return ERR_OK;
    }
    const bool is_bitmap =
        is_of_type(memory, layout, words[0], "hamt_bitmap_node", &types->bitmap);
    if (!is_bitmap &&
        !is_of_type(memory, layout, words[0], "hamt_collision_node", &types->collision))
        return ERR_CORRUPT;
    *out = (struct node){ .kind = is_bitmap ? NODE_BITMAP : NODE_COLLISION,
                          .bits = (uint32_t)words[2],
                          .words = words[1],
                          .items = fields + 2 * WORD };
    return out->words > MAX_WORDS || out->words % 2 != 0 ? ERR_CORRUPT : ERR_OK;
}

static enum err_code find_collision(struct memory *memory, const struct node *node,
                                    remote_addr key, remote_addr *out)
{
    uint64_t words[MAX_WORDS];
    const enum err_code rc = memory_read(memory, node->items, words, node->words * WORD);
    for (size_t i = 0; i < node->words && !rc; i += 2)
        if (words[i] == key) {
            *out = words[i + 1];
            return ERR_OK;
        }
    return rc ? rc : ERR_NOT_FOUND;
}

/* A pair without a key has the next node as its value. */
static enum err_code read_pair(struct memory *memory, const struct node *node, uint32_t branch,
                               struct hamt_pair *out)
{
    const uint32_t bit = UINT32_C(1) << branch;
    const unsigned before = (unsigned)__builtin_popcount(node->bits & (bit - 1));
    if (!(node->bits & bit))
        return ERR_NOT_FOUND;
    if (2 * before + 2 > node->words)
        return ERR_CORRUPT;
    return memory_read(memory, node->items + 2 * before * WORD, out, sizeof *out);
}

enum err_code hamt_find(struct memory *memory, const struct layout *layout,
                        struct hamt_types *types, remote_addr root, remote_addr key,
                        uint64_t hash, remote_addr *out)
{
    const uint32_t folded = (uint32_t)hash ^ (uint32_t)(hash >> 32);
    uint32_t rest = folded == UINT32_MAX ? UINT32_MAX - 1 : folded;
    remote_addr addr = root;
    for (int depth = 0; depth < HAMT_MAX_DEPTH; depth++, rest >>= BITS) {
        const uint32_t branch = rest % BRANCHES;
        struct node node;
        struct hamt_pair pair = { 0 };
        enum err_code rc = read_node(memory, layout, types, addr, &node);
        if (rc)
            return rc;
        if (node.kind == NODE_COLLISION)
            return find_collision(memory, &node, key, out);
        rc = node.kind == NODE_BITMAP
                 ? read_pair(memory, &node, branch, &pair)
                 : memory_read_u64(memory, node.items + branch * WORD, &pair.value);
        if (rc)
            return rc;
        if (pair.key) {
            *out = pair.value;
            return pair.key == key ? ERR_OK : ERR_NOT_FOUND;
        }
        if (!pair.value)
            return node.kind == NODE_ARRAY ? ERR_NOT_FOUND : ERR_CORRUPT;
        addr = pair.value;
    }
    return ERR_CORRUPT;
}

/* The pairs that a walk has found, and the nodes that are still to be read. */
struct walk {
    struct hamt_pair *pairs;
    size_t room, count;
    remote_addr nodes[HAMT_MAX_NODES];
    size_t node_count;
};

static enum err_code add_pair(struct walk *walk, uint64_t key, uint64_t value)
{
    if (key && walk->count < walk->room) {
        walk->pairs[walk->count++] = (struct hamt_pair){ key, value };
        return ERR_OK;
    }
    if (key || walk->node_count == HAMT_MAX_NODES)
        return ERR_LIMIT;
    if (value)
        walk->nodes[walk->node_count++] = value;
    return ERR_OK;
}

static enum err_code walk_node(struct memory *memory, const struct layout *layout,
                               struct hamt_types *types, remote_addr addr, struct walk *walk)
{
    uint64_t words[MAX_WORDS];
    struct node node;
    enum err_code rc = read_node(memory, layout, types, addr, &node);
    if (!rc && node.words)
        rc = memory_read(memory, node.items, words, node.words * WORD);
    if (rc)
        return rc;
    const size_t step = node.kind == NODE_ARRAY ? 1 : 2;
    for (size_t i = 0; i < node.words && !rc; i += step)
        rc = add_pair(walk, step == 1 ? 0 : words[i], words[i + step - 1]);
    return rc;
}

/* Each node is read once, so a trie that contains itself ends at HAMT_MAX_NODES. */
enum err_code hamt_list(struct memory *memory, const struct layout *layout,
                        struct hamt_types *types, remote_addr root, struct hamt_pair *pairs,
                        size_t room, size_t *count_out)
{
    struct walk walk = { .pairs = pairs,
                         .room = room < HAMT_MAX_PAIRS ? room : HAMT_MAX_PAIRS,
                         .nodes = { root },
                         .node_count = 1 };
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < walk.node_count && !rc; i++)
        rc = walk_node(memory, layout, types, walk.nodes[i], &walk);
    *count_out = walk.count;
    return rc;
}
