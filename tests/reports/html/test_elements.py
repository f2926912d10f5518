import re

from ragstone.reports.facts import LABELS
from ragstone.reports.html.templates import read_asset

LABEL = re.compile(r'^  ([A-Z_]+): \{ kind: "\w+", sign: ".", words: "([^"]+)" \},$', re.MULTILINE)


def test_the_script_calls_labels_as_every_report_does() -> None:
    told = dict(LABEL.findall(read_asset("elements.js")))
    assert told == {label.value: words for label, words in LABELS.items()}
