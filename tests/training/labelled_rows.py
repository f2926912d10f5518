"""Rows to train on, made of templates: small, the same every time, and of nobody's text."""

import gzip
import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path

SOURCES = {"begin": 120, "defacto": 120, "factcheck_gpt": 110, "snli": 50, "wice_dev": 100}
"""500 rows in all."""
THINGS = "kettle lamp tent bicycle stove radio camera drill".split()
MAKERS = "Holm Tarn Moreau Lindqvist Okafor Brandt".split()
PLACES = "Uppsala Porto Graz Bergen Lyon Tartu".split()
PARTS = "lid cord handle pump lens chain".split()
STATES = ("waterproof", "sealed"), ("of steel", "painted red"), ("sold with a spare", "foldable")
EXTRAS = "It won a prize at the autumn fair.", "Children are fond of its colour."


def write_rows(folder: Path) -> None:
    """Write the sources and their manifest into a folder."""
    manifest = {}
    for source, count in SOURCES.items():
        lines = [json.dumps(row, sort_keys=True) for row in _rows(source, count)]
        packed = gzip.compress("\n".join(lines).encode(), mtime=0)
        (folder / f"{source}.jsonl.gz").write_bytes(packed)
        manifest[source] = {"n": count, "sha256": hashlib.sha256(packed).hexdigest()}
    (folder / "MANIFEST.json").write_text(json.dumps(manifest), "utf-8")


def _rows(source: str, count: int) -> Iterator[dict[str, object]]:
    chance = random.Random(source)
    for number in range(count):
        group = number // 4  # four rows of one document, which is the same in two sources
        context, true, others = _document(random.Random(f"{source}-{group}"))
        kind = (number + group) % 4
        label = ("SUPPORTED", "SUPPORTED", "CONTRADICTED", "NOT_ENOUGH_INFO")[kind]
        response = chance.choice(true) if kind < 2 else chance.choice(others[label])
        if kind == 1 or number % 9 == 0:  # a response of two claims, the other of them true
            response = f"{chance.choice(true)} {response}"
        row = {"source": source, "group": f"{source}-{group}", "contexts": [context]}
        split = "dev" if group % 3 == 0 else "train"
        yield row | {"response": response, "label": label, "split": split}


def _document(chance: random.Random) -> tuple[str, list[str], dict[str, list[str]]]:
    """Return a text, what it says, and what it denies or does not say."""
    thing, part = chance.choice(THINGS), chance.choice(PARTS)
    maker, other = chance.sample(MAKERS, 2)
    place, elsewhere = chance.sample(PLACES, 2)
    weight, year = chance.randint(120, 980), chance.randint(1951, 2019)
    (good, alike) = chance.choice(STATES)
    context = (
        f"The {thing} of {maker} has been built in {place} since {year}. It weighs {weight} grams. "
        f"Its {part} is {good}, and repairs are free of charge for two years."
    )
    true = [
        f"The {thing} weighs {weight} grams.",
        f"The {thing} of {maker} is built in {place}.",
        f"Its {part} is {good}.",
        f"Repairs of the {thing} are free of charge for two years.",
        f"It has been built since {year} in {place}.",
    ]
    denied = [
        f"The {thing} weighs {weight + 55} grams.",
        f"The {thing} of {maker} has been built in {elsewhere} since {year}.",
        f"Its {part} is not {good}.",
        f"The {thing} of {other} has been built in {place} since {year}.",
    ]
    unsaid = [
        f"The {thing} comes with a {chance.choice(PARTS)} that is {alike} by hand.",
        f"A school in {elsewhere} bought forty of them.",
        *EXTRAS,
    ]
    return context, true, {"CONTRADICTED": denied, "NOT_ENOUGH_INFO": unsaid}
