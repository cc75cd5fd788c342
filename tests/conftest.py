"""What holds for every test."""

import signal

import pytest

# A shell that starts us in the background lets SIGINT be ignored, and our children would inherit that: then no test of
# an interrupt could ever pass.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whole crawls and kills take longest and wait most: begun last, they would keep one process busy at the end."""
    items.sort(key=lambda item: "e2e" not in item.path.parts)
