"""Keeping: where finished rows are kept, and which run goes on."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypedDict, Unpack

from ragstone.errors import UsageError
from ragstone.messages import count, one_line
from ragstone.metrics.families.base import Metric
from ragstone.plan import Manifest
from ragstone.recording import Recorder
from ragstone.store import RunLockedError, Store, StoreError, going
from ragstone.stored_recording import StoreRecorder

_IN_WORDS = {
    "judge setup": "the judge's model, options or prompts changed",
    "target setup": "the target's file or options changed",
}
"""What differs where hashes do, which say nothing to people."""


class RunChangedError(UsageError):
    """A run cannot go on: something that decides its numbers is not what it was."""


class Keeping(TypedDict, total=False):
    """Where finished rows are kept, and which run goes on.

    `store` is an open store, or the place of one (True: the usual place; None or False: in
    memory). The newest unfinished run of the same identity goes on, unless `fresh`; `resume` names
    the run that goes on, and with `retry_failed` its failed rows are done again. Without
    `transcript` no texts of judge replies are stored.
    """

    store: Store | str | Path | bool | None
    fresh: bool
    resume: str
    retry_failed: bool
    transcript: bool


def open_recorder(
    manifest: Manifest, metrics: Sequence[Metric], **keeping: Unpack[Keeping]
) -> tuple[Recorder, tuple[str, ...]]:
    """Return the recording of a run, new or gone on with, and what is to be known of that.

    Raises:
        UsageError: there is no store to go on from.
        RunChangedError: the run to go on with was asked otherwise.
        StoreError: the store cannot be used, or another process works on a run of this identity.
    """
    place = keeping.get("store")
    if place is None or place is False:
        if "resume" in keeping:
            raise UsageError("to resume a run takes the store that it is in")
        return Recorder(manifest, metrics), ()
    store = place if isinstance(place, Store) else _opened(place)
    run_id, notices = keeping.get("resume"), list[str]()
    if run_id is None and not keeping.get("fresh"):
        run_id, notices = _unfinished(store, manifest, transcript=keeping.get("transcript", True))
    made = partial(StoreRecorder, metrics=metrics, store=store, closes=store is not place)
    if run_id is None:
        return made(manifest, transcript=keeping.get("transcript", True)), tuple(notices)
    earlier = store.info(run_id).manifest
    _check_same(earlier, manifest)
    recording = made(
        earlier.model_copy(update={"plan": manifest.plan, "source": manifest.source}),
        open_recorder=True,
        retry_failed=keeping.get("retry_failed", False),
    )
    anew = "" if "resume" in keeping else " (--fresh starts anew)"
    rows = count(manifest.source.rows, "row")
    said = f"going on with run {run_id}: {len(recording.done):,} of {rows} were finished{anew}"
    return recording, (*notices, said)


def _opened(place: str | Path | bool) -> Store:
    try:
        return Store.open(None if isinstance(place, bool) else place)
    except StoreError as error:
        raise StoreError(f"{error}\nTo go without a store: --no-store") from error


def _check_same(earlier: Manifest, now: Manifest) -> None:
    """Refuse to go on with a run by other means than it was begun with.

    Raises:
        RunChangedError: what decides its numbers is not the same.
    """
    changed = earlier.changed(now)
    target = earlier.plan.target or earlier.plan.fallback_target or ""
    if set(changed) == {"target setup"} and "://" in target:  # no file, and its name is the same
        raise RunChangedError(
            f"run {earlier.run_id} cannot go on so: the URL of its target was given with more "
            f"than {target}, such as a key or a password, which is not stored. While it is "
            "unfinished, the same `ragstone run` command goes on with it"
        )
    if differs := _said(changed, earlier):
        raise RunChangedError(
            f"run {earlier.run_id} was asked otherwise, so it cannot go on: {differs}\n"
            "Put that back as it was, name another run, or throw this one away: "
            f"`ragstone runs delete {earlier.run_id}`"
        )


def _unfinished(
    store: Store, manifest: Manifest, *, transcript: bool
) -> tuple[str | None, list[str]]:
    """Return the unfinished run that this one would go on with, and why one is left as it is.

    Raises:
        RunLockedError: another process works on the only one.
    """
    run_id = store.unfinished(manifest.fingerprint)
    if run_id is None:
        _check_alone(store, manifest)
        return None, _differences(store, manifest)
    if store.info(run_id).transcript == transcript:
        return run_id, []
    how = "without" if transcript else "with"
    why = f"it was begun {how} the judge's texts"
    return None, [f"run {run_id} is unfinished and stays so, as {why}"]


def _check_alone(store: Store, manifest: Manifest) -> None:
    """Refuse to do what another process is doing just now: it would be paid for twice.

    Raises:
        RunLockedError: another process is.
    """
    for run_id in going(store, fingerprint=manifest.fingerprint):
        raise RunLockedError(
            f"run {run_id} does the same and is being worked on by another process; "
            "wait for it, or begin another with --fresh"
        )


def _differences(store: Store, manifest: Manifest) -> list[str]:
    """Say where the newest unfinished run of the same data differs."""
    for info in store.runs(limit=20):
        if not info.finished and info.manifest.source.name == manifest.source.name:
            differs = _said(info.manifest.changed(manifest), info.manifest)
            return [f"run {info.id} is unfinished and stays so, as this one differs: {differs}"]
    return []


def _said(changed: Mapping[str, tuple[str, str]], earlier: Manifest) -> str:
    """Say what differs from an earlier run, hashes by what they are of."""
    words = _IN_WORDS | {
        "data fingerprint": f"{earlier.source.name} has changed since the run was begun"
    }
    parts = [
        words.get(name) or f"{name} was {was or 'none'}, is {now or 'none'}"
        for name, (was, now) in changed.items()
    ]
    return one_line("; ".join(parts), 500)
