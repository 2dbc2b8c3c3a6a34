"""The profile of Hypothesis for a long search: `make test ARGS=--hypothesis-profile=thorough`."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("thorough", settings.get_profile("ci"), derandomize=False, max_examples=1000)
