"""Scores of texts; mypyc compiles it.  compiled.py runs it."""

import time


def distance(one: str, other: str) -> int:
    """How many letters differ, at the least, after insertions and removals."""
    row: list[int] = list(range(len(other) + 1))
    for i in range(len(one)):
        corner: int = row[0]
        row[0] = i + 1
        for j in range(len(other)):
            above: int = row[j + 1]
            row[j + 1] = corner if one[i] == other[j] else 1 + min(row[j], min(above, corner))  # the answer
            corner = above
    return row[-1]


def tidy(text: str) -> str:
    found: list[str] = []
    for word in text.split(" "):
        found.append(word.strip().lower())
    return " ".join(found)


def work(seconds: float) -> float:
    """-> seconds of the processor in `distance`"""
    spent: float = 0.0
    end: float = time.monotonic() + seconds
    one: str = "the quick brown fox " * 40
    other: str = "a lazy dog jumps over " * 40
    while time.monotonic() < end:
        begun: float = time.thread_time()
        distance(one, other)
        spent += time.thread_time() - begun
        for _ in range(200):
            tidy(one)
    return spent
