"""Shared links, as the tests make and use them."""

import json

MARK = {"X-Pyrometer": "1", "Content-Type": "application/json"}


def bearer(token):
    return {"Authorization": "Bearer " + token}


def share(live, **members):
    """A new shared link: what the API says of it."""
    answer = live.ask("/api/v1/shares", "POST", json.dumps(members), MARK)
    assert answer.status == 201, answer.body
    return answer.json()
