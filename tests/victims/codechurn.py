"""Creates, calls and frees code objects one after the other, so that addresses are reused all the time.

Usage: codechurn.py [SECONDS]

The K-th function is called f_K, lies in the file "<churn K>", and begins at line K % 50 + 1 of it. K runs from 0 to 4999
and starts over. A frame whose name, file and first line disagree mixes two code objects. The function is called from
K % 8 + 1 calls of down: another depth shows an older code object in place of the one that runs.

Answer:
    <module>:52 main:47-49
    <module>:52 main:48 down:38-41*
    <module>:52 main:48 down:39* down:41 churn:31-34
    <module>:52 main:48 down:39* down:41 churn:33 <module>:*
    <module>:52 main:48 down:39* down:41 churn:34 f_K:*
    <module>:52 main:48 down:41 churn:31-34
    <module>:52 main:48 down:41 churn:33 <module>:*
    <module>:52 main:48 down:41 churn:34 f_K:*
"""

import sys
import time

END = time.monotonic() + float(sys.argv[1]) if len(sys.argv) > 1 else float("inf")
SOURCE = """def f_{0}():
    for number in range(1000):
        pass
"""


def churn(number):
    source = "\n" * (number % 50) + SOURCE.format(number)
    names = {}
    exec(compile(source, "<churn %d>" % number, "exec"), names)
    names["f_%d" % number]()


def down(depth, number):
    if depth:
        down(depth - 1, number)
    else:
        churn(number)


def main():
    number = 0
    print("READY", flush=True)
    while time.monotonic() < END:
        down(number % 8, number)
        number = (number + 1) % 5000


main()
