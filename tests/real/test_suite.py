"""A suite for pytest."""

import pytest

import work


@pytest.fixture
def prepared():
    work.work(20)
    yield 1
    work.work(20)


@pytest.mark.parametrize("number", range(400))
def test_something(number, prepared):
    work.work(20)
    assert number >= 0
