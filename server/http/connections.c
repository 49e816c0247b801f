#include "server/http/connections.h"

#include "sampler/base/clock.h"

static bool is_counted(const struct connection *connection)
{
    return connection->phase != CONNECTION_FREE && connection->phase != CONNECTION_ENDING;
}

static size_t scale_limit(const struct connections *all, size_t usual)
{
    const size_t scaled = usual * all->most / CONNECTIONS_MAX;
    return all->most == 0 ? usual : scaled > 0 ? scaled : 1;
}

/* Connections counted by the standing of their clients. */
struct tally {
    size_t all[CLIENT_OPERATOR + 1];
    size_t of_network[CLIENT_OPERATOR + 1];
};

static struct tally count_connections(const struct connections *all,
                                      const struct network *network)
{
    struct tally out = { .all = { 0 } };
    for (size_t i = 0; i < CONNECTIONS_ROOM; i++) {
        const struct connection *const one = &all->items[i];
        if (!is_counted(one))
            continue;
        out.all[one->standing]++;
        out.of_network[one->standing] += network_equals(&one->network, network);
    }
    return out;
}

/* The connection that has waited longest; only_idle: among those between two requests. */
static size_t find_oldest(const struct connections *all, const struct network *network,
                          enum client_standing standing, bool only_idle, size_t but)
{
    size_t found = CONNECTIONS_NONE;
    for (size_t i = 0; i < CONNECTIONS_ROOM; i++) {
        const struct connection *const one = &all->items[i];
        if (i == but || !is_counted(one) || one->standing != standing ||
            (only_idle && one->phase != CONNECTION_IDLE) ||
            (network && !network_equals(&one->network, network)))
            continue;
        if (found == CONNECTIONS_NONE || one->since_ns < all->items[found].since_ns)
            found = i;
    }
    return found;
}

/* Who goes, so that the new one at `at` is not one too many. */
static size_t choose_to_end(const struct connections *all, size_t at)
{
    const struct network *const network = &all->items[at].network;
    const size_t most = network->kind == NETWORK_LOOPBACK
                            ? CONNECTIONS_MAX_STRANGERS_OF_LOOPBACK
                            : CONNECTIONS_MAX_STRANGERS_OF_NETWORK;
    const struct tally now = count_connections(all, network);
    if (now.of_network[CLIENT_STRANGER] > scale_limit(all, most))
        return find_oldest(all, network, CLIENT_STRANGER, false, at);
    if (now.all[CLIENT_STRANGER] > scale_limit(all, CONNECTIONS_MAX_STRANGERS))
        return find_oldest(all, NULL, CLIENT_STRANGER, false, at);
    if (now.all[CLIENT_STRANGER] + now.all[CLIENT_VIEWER] + now.all[CLIENT_OPERATOR] <=
        scale_limit(all, CONNECTIONS_MAX))
        return CONNECTIONS_NONE;
    size_t goes = find_oldest(all, NULL, CLIENT_STRANGER, false, at);
    if (goes == CONNECTIONS_NONE)
        goes = find_oldest(all, NULL, CLIENT_VIEWER, true, at);
    if (goes == CONNECTIONS_NONE)
        goes = find_oldest(all, NULL, CLIENT_OPERATOR, true, at);
    return goes != CONNECTIONS_NONE ? goes : at;
}

size_t connections_open(struct connections *all, const struct network *network, int fd,
                        uint64_t now_ns, size_t *goes_out)
{
    size_t at = 0;
    *goes_out = CONNECTIONS_NONE;
    while (at < CONNECTIONS_ROOM && all->items[at].phase != CONNECTION_FREE)
        at++;
    if (at == CONNECTIONS_ROOM)
        return CONNECTIONS_NONE;
    all->items[at] = (struct connection){ .network = *network,
                                          .phase = CONNECTION_HEADER,
                                          .fd = fd,
                                          .serial = all->items[at].serial + 1,
                                          .since_ns = now_ns };
    all->used++;
    *goes_out = choose_to_end(all, at);
    if (*goes_out != CONNECTIONS_NONE)
        all->items[*goes_out].phase = CONNECTION_ENDING;
    return at;
}

void connections_close(struct connections *all, size_t at)
{
    all->items[at].phase = CONNECTION_FREE;
    all->used--;
}

/* Chooses the connection to end, so that the one at `at`, which has just become known, is not one too many.  An operator
 * waits for no viewer's answer. */
static size_t choose_known(const struct connections *all, size_t at)
{
    const struct connection *const one = &all->items[at];
    const struct tally now = count_connections(all, &one->network);
    const bool is_operator = one->standing == CLIENT_OPERATOR;
    const bool is_near =
        now.of_network[CLIENT_VIEWER] + now.of_network[CLIENT_OPERATOR] >
            scale_limit(all, CONNECTIONS_MAX_KNOWN_OF_NETWORK) ||
        (!is_operator &&
         now.of_network[CLIENT_VIEWER] > scale_limit(all, CONNECTIONS_MAX_VIEWERS_OF_NETWORK));
    if (!is_near &&
        (is_operator || now.all[CLIENT_VIEWER] <= scale_limit(all, CONNECTIONS_MAX_VIEWERS)))
        return CONNECTIONS_NONE;
    const struct network *const network = is_near ? &one->network : NULL;
    size_t goes = find_oldest(all, network, CLIENT_VIEWER, true, at);
    if (goes == CONNECTIONS_NONE && is_operator)
        goes = find_oldest(all, network, CLIENT_VIEWER, false, at);
    if (goes == CONNECTIONS_NONE && is_operator)
        goes = find_oldest(all, network, CLIENT_OPERATOR, true, at);
    return goes != CONNECTIONS_NONE ? goes : at;
}

size_t connections_know(struct connections *all, size_t at, enum client_standing standing)
{
    struct connection *const one = &all->items[at];
    if (one->standing >= standing || one->phase == CONNECTION_ENDING)
        return CONNECTIONS_NONE;
    one->standing = standing;
    const size_t goes = choose_known(all, at);
    if (goes != CONNECTIONS_NONE)
        all->items[goes].phase = CONNECTION_ENDING;
    return goes;
}

void connections_enter(struct connections *all, size_t at, enum connection_phase phase,
                       uint64_t now_ns)
{
    struct connection *const one = &all->items[at];
    if (one->phase == CONNECTION_ENDING)
        return;
    one->phase = phase;
    one->since_ns = now_ns;
    one->body_bytes = 0;
}

void connections_begin(struct connections *all, size_t at, uint64_t now_ns)
{
    if (all->items[at].phase == CONNECTION_IDLE)
        connections_enter(all, at, CONNECTION_HEADER, now_ns);
}

void connections_finish(struct connections *all, size_t at, uint64_t now_ns)
{
    connections_enter(all, at,
                      all->items[at].standing != CLIENT_STRANGER ? CONNECTION_IDLE
                                                                 : CONNECTION_HEADER,
                      now_ns);
}

void connections_receive(struct connections *all, size_t at, size_t bytes)
{
    all->items[at].body_bytes += bytes;
}

void connections_halve(struct connections *all, size_t at, uint64_t now_ns)
{
    all->items[at].is_half = true;
    all->items[at].half_ns = now_ns;
}

/* UINT64_MAX: it may take as long as it likes. */
static uint64_t deadline_ns(const struct connection *one)
{
    switch (one->phase) {
    case CONNECTION_IDLE: return one->since_ns + CONNECTIONS_IDLE_S * NS_PER_S;
    case CONNECTION_HEADER: return one->since_ns + CONNECTIONS_HEADER_S * NS_PER_S;
    case CONNECTION_BODY:
        return one->since_ns + CONNECTIONS_BODY_S * NS_PER_S +
               one->body_bytes / CONNECTIONS_BODY_BYTES * NS_PER_S;
    case CONNECTION_ANSWER:
        return one->standing != CLIENT_STRANGER
                   ? UINT64_MAX
                   : one->since_ns + CONNECTIONS_STRANGER_S * NS_PER_S;
    case CONNECTION_FREE:
    case CONNECTION_ENDING: break;
    }
    return UINT64_MAX;
}

static void lower_time(uint64_t *again_ns, uint64_t at_ns)
{
    if (at_ns < *again_ns)
        *again_ns = at_ns;
}

enum connection_fate connections_judge(const struct connection *connection, uint64_t now_ns,
                                       uint64_t *again_ns)
{
    const uint64_t end_ns = deadline_ns(connection);
    const bool is_incomplete = connection->phase == CONNECTION_IDLE ||
                               connection->phase == CONNECTION_HEADER ||
                               connection->phase == CONNECTION_BODY;
    if (end_ns <= now_ns)
        return CONNECTION_IS_LATE;
    lower_time(again_ns, end_ns);
    if (!connection->is_half || !is_incomplete)
        return CONNECTION_STAYS;
    /* Bytes that came together with the end, or behind the last request, are read first. */
    const uint64_t begun_ns =
        connection->half_ns > connection->since_ns ? connection->half_ns : connection->since_ns;
    const uint64_t half_ns = begun_ns + CONNECTIONS_HALF_MS * NS_PER_MS;
    if (half_ns <= now_ns)
        return CONNECTION_IS_HALF;
    lower_time(again_ns, half_ns);
    return CONNECTION_STAYS;
}
