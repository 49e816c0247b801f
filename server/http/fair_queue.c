#include "server/http/fair_queue.h"

#include "sampler/base/clock.h"
#include "sampler/base/memory_limit.h"

static bool is_of_network(const struct fair_turn *turn, const struct client *client)
{
    return client_equals(&turn->client, client) &&
           network_equals(&turn->client.network, &client->network);
}

enum fair_answer fair_queue_enter(struct fair_queue *queue, struct fair_turn *turn)
{
    size_t of_client = 0;
    struct fair_turn **end = &queue->waiting;
    for (; *end; end = &(*end)->next)
        of_client += client_equals(&(*end)->client, &turn->client);
    if (of_client >= FAIR_QUEUE_WAITING_OF_CLIENT)
        return FAIR_CLIENT_IS_FULL;
    if (queue->waits[turn->client.standing] >= FAIR_QUEUE_WAITING)
        return FAIR_QUEUE_IS_FULL;

    /* Whoever is there already keeps its place among the others; a newcomer has just had its turn.
     * */
    struct fair_turn *const lists[] = { queue->waiting, queue->running };
    turn->client_turn = turn->network_turn = ++queue->turns;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const struct fair_turn *one = lists[i]; one; one = one->next) {
            if (client_equals(&one->client, &turn->client))
                turn->client_turn = one->client_turn;
            if (is_of_network(one, &turn->client))
                turn->network_turn = one->network_turn;
        }

    turn->next = NULL;
    *end = turn;
    queue->waits[turn->client.standing]++;
    return FAIR_WAITS;
}

static bool may_run(const struct fair_queue *queue, const struct fair_turn *turn)
{
    const bool is_operator = turn->client.standing == CLIENT_OPERATOR;
    size_t all = 0, viewers = 0, of_network = 0, of_client = 0, long_ones = 0;
    for (const struct fair_turn *one = queue->running; one; one = one->next) {
        const bool is_viewer = one->client.standing != CLIENT_OPERATOR;
        const bool is_own = client_equals(&one->client, &turn->client);
        all++;
        viewers += is_viewer;
        of_network += is_viewer && network_equals(&one->client.network, &turn->client.network);
        of_client += is_own;
        long_ones += is_own && one->is_long;
    }
    if (all >= FAIR_QUEUE_RUNNING)
        return false;
    if (is_operator)
        return of_client < FAIR_QUEUE_RUNNING_OF_OPERATOR &&
               (!turn->is_long || long_ones < FAIR_QUEUE_LONG_OF_OPERATOR);
    return viewers < memory_limit_scale(FAIR_QUEUE_RUNNING_OF_VIEWERS) &&
           of_network < FAIR_QUEUE_RUNNING_OF_NETWORK &&
           of_client < FAIR_QUEUE_RUNNING_OF_VIEWER &&
           (!turn->is_long || long_ones < FAIR_QUEUE_LONG_OF_VIEWER);
}

/* Says whether the later one of two turns goes first. */
static bool is_ahead(const struct fair_turn *later, const struct fair_turn *earlier)
{
    if (later->client.standing != earlier->client.standing)
        return later->client.standing > earlier->client.standing;
    if (later->client_turn != earlier->client_turn)
        return later->client_turn < earlier->client_turn;
    return later->network_turn < earlier->network_turn;
}

struct fair_turn *fair_queue_next(struct fair_queue *queue)
{
    struct fair_turn **best = NULL;
    for (struct fair_turn **at = &queue->waiting; *at; at = &(*at)->next)
        if ((!best || is_ahead(*at, *best)) && may_run(queue, *at))
            best = at;
    if (!best)
        return NULL;
    struct fair_turn *const turn = *best;
    *best = turn->next;
    turn->next = queue->running;
    queue->running = turn;
    queue->waits[turn->client.standing]--;
    queue->runs[turn->client.standing]++;

    struct fair_turn *const lists[] = { queue->waiting, queue->running };
    queue->turns++;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (struct fair_turn *one = lists[i]; one; one = one->next) {
            if (client_equals(&one->client, &turn->client))
                one->client_turn = queue->turns;
            if (is_of_network(one, &turn->client))
                one->network_turn = queue->turns;
        }
    return turn;
}

void fair_queue_leave(struct fair_queue *queue, struct fair_turn *turn)
{
    struct fair_turn **at = &queue->running;
    while (*at != turn)
        at = &(*at)->next;
    *at = turn->next;
    queue->runs[turn->client.standing]--;
}

bool fair_turn_is_late(const struct fair_turn *turn, uint64_t now_ns)
{
    return now_ns - turn->since_ns >= FAIR_QUEUE_DEADLINE_S * NS_PER_S;
}
