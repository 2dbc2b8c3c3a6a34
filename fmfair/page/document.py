"""The document: the sections in their order, set in one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from fmfair.errors import FmfairError
from fmfair.export import Frames
from fmfair.page.material import Material, material_of
from fmfair.page.section import Section
from fmfair.page.sections import (
    attributes,
    crosswalk,
    data,
    intersections,
    limits,
    methods,
    models,
    overall,
    plan,
    provenance,
    results,
    summary,
)
from fmfair.page.telling import results_of
from fmfair.render import visible
from fmfair.version import installed_version

if TYPE_CHECKING:
    from jinja2 import Environment

    from fmfair.page.plan import Plan

# Every section of the document in its order; one that does not apply gives None.
SECTIONS: Sequence[Callable[[Material], Section | None]] = (
    summary.section,
    plan.section,
    data.section,
    overall.section,
    attributes.section,
    intersections.section,
    models.section,
    limits.section,
    methods.section,
    results.section,
    provenance.section,
    crosswalk.section,
)
TITLE = "Performance by patient group"
# What HTML cannot hold, or what turns the reading direction of all that follows; line breaks and tabs stay.
_UNPRINTED = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def html_of(frames: Frames, notes: Sequence[str], metadata: Mapping[str, Any], stated: Plan) -> str:
    """The document of a report.

    Args:
        frames: The frames of the report.
        notes: Its notes.
        metadata: Its metadata.
        stated: What the user said of the evaluation.

    Raises:
        FmfairError: The packages that it needs are not installed.
    """
    environment = _environment()
    from fmfair.figures.theme import css

    material = material_of(frames, notes, metadata, stated)
    sections = [section for make in SECTIONS if (section := make(material)) is not None]
    script = _source(environment, "script.js")
    text = environment.get_template("page.html.j2").render(
        title=stated.title or TITLE,
        about=_about(material),
        asked=_asked(material),
        sections=sections,
        version=installed_version(),
        style=_ours(_source(environment, "style.css") + css()),
        script=_ours(script),
        script_hash=_hash_of(script),
    )
    return text + "\n"


def _environment() -> Environment:
    """Jinja2 with our templates, in which every text is escaped but what fmfair itself drew."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise FmfairError('the HTML report needs more packages: pip install "fmfair[report]"') from error
    environment = Environment(
        loader=PackageLoader("fmfair.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printed,
    )
    numbers = count(1)
    environment.globals["next_id"] = lambda: f"t{next(numbers)}"
    environment.filters["drawing"] = _ours
    return environment


def _printed(value: Any) -> Any:
    """What a template writes; characters that no page can show are escapes, as in the names of groups elsewhere."""
    from markupsafe import Markup

    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return _UNPRINTED.sub(lambda found: visible(found[0]), value)


def _source(environment: Environment, name: str) -> str:
    """The text of a file beside the templates."""
    if environment.loader is None:  # pragma: no cover
        raise FmfairError(f"no templates to take {name} from")
    return environment.loader.get_source(environment, name)[0].strip()


def _ours(text: str) -> str:
    """A text that fmfair made, as markup: the style, the script, and drawings, whose labels are escaped in them."""
    from markupsafe import Markup

    return Markup(text)


def _hash_of(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _asked(material: Material) -> list[tuple[str, str]]:
    """What was evaluated, against what and on what, as far as the plan says."""
    plan = material.plan
    said = {"Evaluated": plan.model, "Against": plan.reference_standard, "On": plan.data}
    return [(name, visible(text)) for name, text in said.items() if text]


def _about(material: Material) -> str:
    """One line on what was evaluated."""
    named = ", ".join(f"{name} {value}" for name, value in material.views[0].key.items())
    which = named if len(material.views) == 1 else results_of(material)
    what = ", ".join([material.task.capitalize(), *([which] if named else [])])
    groups = f"; groups by {', '.join(material.attributes)}" if material.attributes else ""
    return f"{what}{groups}"
