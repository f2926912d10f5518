import subprocess
import sys

import sqlalchemy as sa

from ragstone.store import Store
from ragstone.store.database import METADATA

OPENING = "import sys\nfrom ragstone.store import Store\nprint(len(Store.open(sys.argv[1]).runs()))"


def test_a_new_store_has_the_tables_and_their_version(place: str) -> None:
    for _ in range(2):
        with Store.open(place) as store, store.connect() as connection:
            assert set(sa.inspect(connection).get_table_names()) == set(METADATA.tables)
            found = connection.exec_driver_sql("SELECT version FROM schema_version").all()
            assert [tuple(line) for line in found] == [(1,)]


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


def test_names_of_rows_and_errors_do_not_load_sqlalchemy() -> None:
    code = """
import sys
from ragstone.store import StoreError
from ragstone.store.codec import EncodedRows, Record, RowIndexSet
from ragstone.store.errors import display_name
print(display_name("a.db"), "sqlalchemy" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "a.db False\n"
