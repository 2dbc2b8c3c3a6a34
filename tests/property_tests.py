"""How many examples a property test takes."""

from __future__ import annotations

from typing import Any

from hypothesis import Phase, settings

# The examples of the profile `ci` are the same in every run; those of `thorough` are others each time, and more.
TIMES = 10 if settings.get_current_profile_name() == "thorough" else 1


def examples(count: int, **more: Any) -> settings:
    """So many examples, or as many times more as the profile says."""
    return settings(max_examples=count * TIMES, **more)


def unshrunk(count: int) -> settings:
    """The same; the first example that fails is shown as it is, since making it smaller takes minutes."""
    return examples(count, phases=[Phase.generate])
