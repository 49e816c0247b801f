"""Creates, calls and frees code objects one after the other, so that addresses are reused all the time.

Usage: codechurn.py [SECONDS]

The K-th function is called f_K, lies in the file "<churn K>", and begins at line K % 50 + 1 of it. K runs from 0 to 4999
and starts over. A frame whose name, file and first line disagree mixes two code objects.

Answer:
    <module>:39 main:32-36 churn:25-28
    <module>:39 main:32-36 churn:27 <module>:*
    <module>:39 main:32-36 churn:28 f_K:*
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


def main():
    number = 0
    print("READY", flush=True)
    while time.monotonic() < END:
        churn(number)
        number = (number + 1) % 5000


main()
