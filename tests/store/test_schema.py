import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from ragstone.results.ranking_run import NOT_JUDGED
from ragstone.store import Store
from ragstone.store.engine import SCHEMA, WRITING, create_store_engine
from ragstone.store.schema import HEAD, METADATA, MIGRATIONS, upgrade

OLD = sorted((Path(__file__).parent / "older").glob("*.db"))
OPENING = "import sys\nfrom ragstone.store import Store\nprint(len(Store.open(sys.argv[1]).runs()))"


def test_the_tables_are_those_of_the_newest_migration(store: Store) -> None:
    with store.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, METADATA) == []
        assert context.get_current_revision() == HEAD


def test_there_is_one_newest_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    assert ScriptDirectory.from_config(config).get_heads() == [HEAD]


@pytest.mark.parametrize("old", OLD, ids=lambda path: path.stem)
def test_an_older_file_still_opens(old: Path, tmp_path: Path) -> None:
    copy = tmp_path / old.name
    shutil.copy(old, copy)
    with Store.open(copy) as store:
        assert ("r1", 2) in [(info.id, info.rows) for info in store.runs()]
        run = store.load("r1")
        assert [row.sample.id for row in run.rows] == ["q0", "q1"]
        assert run.summary()["hit@5"].mean == 0.5
        assert run.rows[0].exchanges[0].kind == "extract_claims"
        assert [list(row.failures) for row in run.rows] == [["contexts"], []]
    with Store.open(copy) as store, store.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []


@pytest.mark.parametrize("old", OLD[1:], ids=lambda path: path.stem)
def test_an_older_ranked_run_still_opens(old: Path, tmp_path: Path) -> None:
    copy = tmp_path / old.name
    shutil.copy(old, copy)
    with Store.open(copy) as store:
        assert store.info("r2").ranked
        run = store.load("r2")
        scores = {row.sample.id: row.scores["ndcg@5"] for row in run.rows}
        assert [score.value for score in scores.values()] == [0.25, None, None]
        assert (scores["q1"].reason, scores["ü"].reason) == (NOT_JUDGED, "it raised")
        assert [row.sample.query for row in run.rows] == ["q0", "why?", "ü"]


@pytest.mark.parametrize("old", OLD[3:], ids=lambda path: path.stem)
def test_the_labels_of_an_older_store_are_read(old: Path, tmp_path: Path) -> None:
    copy = tmp_path / old.name
    shutil.copy(old, copy)
    with Store.open(copy) as store:
        (label,) = store.labels("r1")
        assert (label.sample_id, label.claim, label.value) == ("q1", 0, True)


@pytest.mark.parametrize("version", [f"{n:04}" for n in range(1, int(HEAD))])
def test_a_store_of_an_older_version_is_brought_up_to_date(
    version: str, place: str, make: SimpleNamespace
) -> None:
    engine = create_store_engine(place)
    with engine.connect().execution_options(**WRITING) as connection, connection.begin():
        if "://" in place:
            connection.exec_driver_sql(f"CREATE SCHEMA {SCHEMA}")
        upgrade(connection, version)
    engine.dispose()
    with Store.open(place) as store:
        make.begin(store, "r1")
        assert [info.rows for info in store.runs()] == [0]
        with store.connect() as connection:
            assert compare_metadata(MigrationContext.configure(connection), METADATA) == []


def test_every_migration_has_an_older_file() -> None:
    assert [path.stem for path in OLD] == [f"{n:04}" for n in range(1, int(HEAD) + 1)]


def test_many_may_open_a_new_store_at_once(place: str) -> None:
    opening = [
        subprocess.Popen(
            [sys.executable, "-c", OPENING, place],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    said = [process.communicate(timeout=120) for process in opening]
    assert said == [("0\n", "")] * 4


def test_a_store_that_is_new_or_up_to_date_opens_without_alembic(tmp_path: Path) -> None:
    code = OPENING + "\nprint('alembic' in sys.modules)"
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "runs.db")],
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == "0\nFalse\n"
