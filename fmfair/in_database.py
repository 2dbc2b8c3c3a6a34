"""An evaluation whose rows stay in files and in DuckDB."""

from __future__ import annotations

import atexit
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path

import polars as pl

from fmfair.assemble import Backend, build_frames
from fmfair.database import connection
from fmfair.database.connection import Database
from fmfair.database.engine import DatabaseEngine
from fmfair.database.in_memory import engine_in_memory
from fmfair.database.long import widened
from fmfair.database.outcomes import Table
from fmfair.database.row_counts import RowsInDatabase
from fmfair.database.samples import stored_samples
from fmfair.database.source import load, open_source
from fmfair.groupings import Grouping
from fmfair.metadata import describe, disclosed, rows_read, tested
from fmfair.notes import Notes
from fmfair.options import OVERALL
from fmfair.patients import Sizes, note_patients, unused_patients
from fmfair.place import Place
from fmfair.question import Question
from fmfair.report import Report
from fmfair.roles import Columns, find_columns


def open_database(place: Place) -> AbstractContextManager[Database]:
    """A database with what it may use."""
    return connection.open_database(memory_limit=place.memory_limit, temp_dir=place.temp_dir)


def kept_database(place: Place, on_failure: ExitStack) -> Database:
    """A database for a connection that is given away; its folder goes with the process, or `on_failure`."""
    folder = connection.new_folder(place.temp_dir)
    atexit.register(folder.cleanup)
    on_failure.callback(folder.cleanup)
    database = connection.connected(Path(folder.name), memory_limit=place.memory_limit)
    on_failure.callback(database.connection.close)
    return database


def evaluate_in(database: Database, question: Question) -> Report:
    """The report of a classification; the tables that it is made of stay in the database.

    Raises:
        FmfairError: The input cannot be used.
    """
    notes, options = Notes(question.options.suppress_below), question.options
    source = open_source(question.frame, question.metadata, question.on, notes)
    columns = find_columns(source.schema, question.given, notes)
    patients = unused_patients(source.schema, columns, options)
    names = load(source, [*columns.needed, *patients], database)
    told = [(patient, _sizes(database, columns, names, patient)) for patient in patients]
    table = widened(Table(database, source.schema, columns, names, options, notes, source.lazy))
    samples = stored_samples(table)
    for patient, sizes in told:
        note_patients(patient, sizes, notes)
    engine = DatabaseEngine(database, samples, options, notes)
    # The rows come into memory only for replicates, and where groups share rows or patients that are compared.
    resample = None
    if options.bootstrap is not None:
        from fmfair.bootstrap.classification import resampling

        resample = resampling(partial(engine_in_memory, table), options.bootstrap)
    in_memory = partial(engine_in_memory, table)

    def measure(groupings: Sequence[Grouping], listed: Sequence[pl.DataFrame]) -> pl.DataFrame:
        long = engine.measure(groupings, listed)
        if OVERALL not in options.reference.values():
            return long
        from fmfair.overlap import with_overlap

        return with_overlap(long, groupings, samples.attributes, options, in_memory)

    def together(groupings: Sequence[Grouping], wanted: Sequence[int]) -> pl.DataFrame:
        from fmfair.covariance import covariances

        return covariances(in_memory, groupings, wanted)

    curves = engine.curves if samples.scale is not None and samples.scale.is_probability else None
    rows = RowsInDatabase(database, samples)
    backend = Backend(measure, engine.compare, resample, rows, curves, together)
    frames = build_frames(samples, options, notes, "classification", backend)
    facts = describe("classification", samples, table.columns, options, "duckdb")
    facts |= tested(options, frames) | disclosed(options, frames["overall"])
    facts |= rows_read(columns, options, database.fetch("SELECT count(*) FROM source").item())
    return Report(**frames, notes=tuple(notes), metadata=facts)


def _sizes(database: Database, columns: Columns, names: Mapping[str, str], patient: str) -> Sizes:
    """The sizes of the patients in the view `source`, wide or long: the SQL twin of `patients.sizes_of`."""
    keys = ", ".join(names[name] for name in (*columns.by, patient))
    once = f"SELECT DISTINCT {keys}, {names[str(columns.sample_id)]} FROM source" if columns.long else "FROM source"
    counted = f"SELECT count(*) AS n FROM ({once}) WHERE {names[patient]} IS NOT NULL GROUP BY {keys}"
    query = f"SELECT coalesce(sum(n), 0)::BIGINT, count(*), coalesce(sum(n * n), 0)::DOUBLE FROM ({counted})"
    return Sizes(*database.fetch(query).row(0))
