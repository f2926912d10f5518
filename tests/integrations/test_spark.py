from types import SimpleNamespace

import pytest

from ragstone.errors import UsageError
from ragstone.integrations import spark


def test_what_prevents_scoring_is_reported_before_any_row_is_read(monkeypatch) -> None:
    frame = SimpleNamespace(schema=SimpleNamespace(names=["id", "query", "Scores"]))
    monkeypatch.setattr(spark, "find_spec", {"pyspark": True}.get)
    with pytest.raises(UsageError, match="has a column scores already; rename or drop it"):
        spark.score(frame, metrics="faithfulness")
    with pytest.raises(UsageError, match="limit is for a whole run"):
        spark.score(frame, limit=3)
    monkeypatch.setattr(spark, "find_spec", {}.get)
    with pytest.raises(UsageError, match=r"Spark needs an extra: pip install 'ragstone\[spark\]'"):
        spark.score(frame)
