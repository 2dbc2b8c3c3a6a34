"""What holds for all tests: their threads, the garbage of their imports, and the profile for a long search.

`make test ARGS=--hypothesis-profile=thorough` tries ten times as many examples.
"""

from __future__ import annotations

import gc
import os

from hypothesis import settings

# Several workers share the cores; with a thread per core each, they would wait for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")

settings.register_profile("thorough", settings.get_profile("ci"), derandomize=False, max_examples=1000)


def pytest_collection_finish() -> None:
    """What was imported stays; it is not looked through for garbage again and again."""
    gc.collect()
    gc.freeze()
