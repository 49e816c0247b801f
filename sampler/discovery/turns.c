#include "sampler/discovery/turns.h"

#include <stdlib.h>

static int by_owner(const void *a, const void *b)
{
    const struct turn_item *const left = a, *const right = b;
    return left->uid != right->uid ? (left->uid > right->uid) - (left->uid < right->uid)
                                   : (left->pid > right->pid) - (left->pid < right->pid);
}

static int by_turn(const void *a, const void *b)
{
    const struct turn_item *const left = a, *const right = b;
    return left->rank != right->rank ? (left->rank > right->rank) - (left->rank < right->rank)
                                     : by_owner(a, b);
}

void turns_sort(struct turn_item *items, size_t count)
{
    if (count == 0)
        return;
    qsort(items, count, sizeof *items, by_owner);
    for (size_t i = 0; i < count; i++)
        items[i].rank = i > 0 && items[i].uid == items[i - 1].uid ? items[i - 1].rank + 1 : 0;
    qsort(items, count, sizeof *items, by_turn);
}

/* The debt at now_ns. */
static uint64_t left_of(const struct debt *debt, uint64_t now_ns)
{
    const uint64_t paid_ns = now_ns > debt->at_ns ? (now_ns - debt->at_ns) / TURNS_SHARE : 0;
    return debt->ns > paid_ns ? debt->ns - paid_ns : 0;
}

void debts_charge(struct debts *debts, unsigned uid, uint64_t cost_ns, uint64_t now_ns)
{
    struct debt *found = &debts->items[0];
    for (size_t i = 0; i < TURNS_OWNERS; i++) {
        struct debt *const debt = &debts->items[i];
        if (debt->ns && debt->uid == uid) {
            found = debt;
            break;
        }
        if (left_of(debt, now_ns) < left_of(found, now_ns))
            found = debt;
    }
    const uint64_t left_ns = found->uid == uid ? left_of(found, now_ns) : 0;
    *found = (struct debt){ .uid = uid, .ns = left_ns + cost_ns, .at_ns = now_ns };
}

uint64_t debts_rest_until_ns(const struct debts *debts, unsigned uid, uint64_t now_ns)
{
    for (size_t i = 0; i < TURNS_OWNERS; i++) {
        const struct debt *const debt = &debts->items[i];
        if (!debt->ns || debt->uid != uid)
            continue;
        const uint64_t left_ns = left_of(debt, now_ns);
        return left_ns <= TURNS_DEBT_NS ? 0 : now_ns + (left_ns - TURNS_DEBT_NS) * TURNS_SHARE;
    }
    return 0;
}
