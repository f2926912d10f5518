"""The layers: the import contracts name every package, and nothing imports around them."""

import ast
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

DEFERRED = {
    *("__init__.py", "__main__.py", "cli/__init__.py", "integrations/pytest/plugin.py"),
    *("datasets/__init__.py", "evaluation/config_file.py", "metrics/registry.py"),
    *("results/run.py", "results/comparison.py", "evaluation/runner.py", "store/__init__.py"),
}
"""Where our own modules may be imported late: the public API, the commands, the plugin, `Run`.

Also readers of data files, YAML and metrics, and the store: many commands start without them.
"""
OTHERS = {
    *("_internal/plugins.py", "judges/local/model.py", "datasets/frames.py"),
}
"""Where modules of users, and libraries of an extra, are imported by name."""


def inner(node: ast.AST) -> list[ast.AST]:
    """Return all nodes inside the functions of a module."""
    functions = [n for n in ast.walk(node) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [below for function in functions for below in ast.walk(function)]


def test_the_layers_are_exhaustive(root: Path) -> None:
    with (root / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    layers = next(contract for contract in contracts if contract["type"] == "layers")
    assert layers["exhaustive"] is True
    assert layers["exhaustive_ignores"] == ["__main__"]


def test_our_own_imports_are_deferred_only_where_the_design_allows_it(
    source_files: list[Path], root: Path
) -> None:
    late = set()
    for path in source_files:
        for node in inner(ast.parse(path.read_text(encoding="utf-8"))):
            named = isinstance(node, ast.Name) and node.id in ("import_module", "__import__")
            named |= isinstance(node, ast.Attribute) and node.attr == "import_module"
            ours = isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ragstone")
            ours |= isinstance(node, ast.Import) and any(
                alias.name.startswith("ragstone") for alias in node.names
            )
            if ours or named:
                late.add(path.relative_to(root / "src/ragstone").as_posix())
    assert late == {*DEFERRED, *OTHERS}


def test_nothing_inside_imports_the_public_api(source_files: list[Path]) -> None:
    for path in source_files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert node.module != "ragstone", path
                assert node.level == 0, f"{path}: relative import"
            elif isinstance(node, ast.Import):
                assert "ragstone" not in [alias.name for alias in node.names], path


def test_no_modules_import_each_other_not_even_late(source_files: list[Path], root: Path) -> None:
    paths = {
        ".".join(path.relative_to(root / "src").with_suffix("").parts).removesuffix(
            ".__init__"
        ): path
        for path in source_files
    }
    imports = {name: set[str]() for name in paths}
    for name, path in paths.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module in paths:
                within = {f"{node.module}.{alias.name}" for alias in node.names}
                imports[name] |= (within & paths.keys()) or {node.module}
    for name in ("ragstone.results.run", "ragstone.results.comparison"):
        imports[name].remove("ragstone.reports.notebook")  # a run shows itself in a notebook
    TopologicalSorter(imports).prepare()  # raises if there is a cycle
