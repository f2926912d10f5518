import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from ragstone.store import Store, StoreError


@pytest.fixture
async def beside(tmp_path: Path, make: SimpleNamespace) -> Path:
    """The file that locks the first run of a store."""
    place = tmp_path / "runs.db"
    with Store.open(place) as store:
        await make.put(store, make.full_row(0))
    return Path(f"{place}.run-1.lock")


def test_what_is_in_the_way_of_a_lock_is_told_and_is_no_other_process(tmp_path, beside) -> None:
    with Store.open(tmp_path / "runs.db") as store:
        beside.mkdir()
        with pytest.raises(StoreError, match=r"run-1\.lock: "):
            store.unfinished("f")
        beside.rmdir()
        beside.write_text("left by another program")
        assert store.unfinished("f") == "r1"
        assert not beside.exists()


def test_the_end_of_a_look_at_a_lock_is_waited_for(tmp_path: Path, beside: Path) -> None:
    looking = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from ragstone._internal.files import lock_file\n"
        "with lock_file(Path(sys.argv[1]), timeout=0):\n"
        "    print('held', flush=True)\n"
        "    time.sleep(0.2)\n"
    )
    beside.touch()
    command = [sys.executable, "-c", looking, str(beside)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process,
        Store.open(tmp_path / "runs.db") as store,
    ):
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        store.finish("r1", extras={})
        assert store.info("r1").finished
