import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cases import each_case

from ragstone._internal.plugins import import_plugin
from ragstone.errors import UsageError


@pytest.fixture(autouse=True)
def imports_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "my_plugin_here.py"
    path.write_text("ANSWER = 42\n", encoding="utf-8")
    return path


def test_a_file_or_module_is_imported(plugin: Path) -> None:
    module = import_plugin(str(plugin))
    assert sys.modules[module.__name__] is module
    folder = plugin.parent / "my_package_here"
    folder.mkdir()
    (folder / "inner.py").write_text("ANSWER = 42\n", encoding="utf-8")
    for name in (str(plugin), plugin.name, "my_plugin_here", "my_package_here.inner"):
        assert import_plugin(name).ANSWER == 42
    assert import_plugin("json").loads("1") == 1


def test_a_file_finds_its_neighbours_and_the_working_folder(plugin: Path) -> None:
    away = plugin.parent / "away"
    away.mkdir()
    (away / "my_neighbour_here.py").write_text("ANSWER = 1", encoding="utf-8")
    text = "import my_neighbour_here, my_plugin_here\n"
    text += "ANSWER = my_neighbour_here.ANSWER + my_plugin_here.ANSWER"
    (away / "my_other_plugin.py").write_text(text, encoding="utf-8")
    assert import_plugin("away/my_other_plugin.py").ANSWER == 43
    (away / plugin.name).write_text("ANSWER = 44", encoding="utf-8")  # two files of one name
    paths = (plugin, away / plugin.name)
    assert [import_plugin(str(path)).ANSWER for path in paths] == [42, 44]


@each_case("name", ["nowhere.py", "no/such/file.py", ".py", "folder.py"])
def test_a_file_that_is_not_there(plugin: Path, name: str) -> None:
    (plugin.parent / "folder.py").mkdir(exist_ok=True)
    with pytest.raises(UsageError, match="there is no file"):
        import_plugin(name)


@each_case("name", ["no_such_module_here", "json.no_such_module", "", ".x"])
def test_a_module_that_is_not_there(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be imported"):
        import_plugin(name)


@each_case(
    ("text", "told"),
    [
        ("import no_such_module_here", "ModuleNotFoundError: No module named"),
        ("def f(:", "SyntaxError: "),
        ("import sys; sys.exit('no key')", "SystemExit: no key"),
    ],
)
def test_a_module_that_raises_says_what(plugin: Path, text: str, told: str) -> None:
    plugin.write_text(text, encoding="utf-8")
    before = set(sys.modules)
    for name in (plugin.name, plugin.stem):
        with pytest.raises(UsageError, match=f"{name}'? cannot be imported: {told}"):
            import_plugin(name)
    assert set(sys.modules) == before


def test_a_usage_error_of_the_module_comes_through_as_it_is(plugin: Path) -> None:
    text = "from ragstone.metrics import register\nregister('Not A Name')"
    plugin.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"^invalid metric name 'Not A Name'"):
        import_plugin(str(plugin))
