"""Calls that are few enough for a tool that writes down each of them: a recursion that two functions begin, and a thread."""

import threading


def fall(depth):
    return sum(range(200 * depth)) if depth == 0 else fall(depth - 1) + sum(range(100 * depth))


def left():
    return fall(5)


def right():
    return fall(9)


def main():
    thread = threading.Thread(target=right, name="worker")
    thread.start()
    for _ in range(8):
        left()
        right()
    thread.join()


main()
