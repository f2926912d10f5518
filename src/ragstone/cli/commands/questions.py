"""`ragstone questions`: test sets from documents, and checks for any test set."""

import sys
from collections import Counter
from collections.abc import Coroutine, Iterator, Sequence
from functools import partial
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, cast

import click
from rich.console import Console

from ragstone._internal.concurrency import finish_in_thread
from ragstone._internal.files import write_file
from ragstone._internal.rate_limit import Budget
from ragstone._internal.text import count, listing, one_line
from ragstone.cli import GATE_FAILED, INTERRUPTED, TOO_MUCH_FAILED
from ragstone.cli.options import (
    CONFIG,
    JUDGE,
    LIMITS,
    PLUGIN,
    READING,
    Given,
    GroupedCommand,
    config_of,
    explicit_settings,
    json_file,
    load_plugins,
    option,
    pairs_of,
    typed_settings,
    written,
)
from ragstone.cli.output import (
    SECONDS_BETWEEN_LINES,
    check_extension,
    check_files,
    progress_bar,
    write_document,
)
from ragstone.datasets import load
from ragstone.datasets.export import check_format, losses, write_samples
from ragstone.errors import UnknownNameError, UsageError
from ragstone.evaluation.dry_run import Estimate, estimate_calls, usage_of
from ragstone.evaluation.fingerprint import VERSION, JudgeSetup
from ragstone.evaluation.preflight import check_judge_settings
from ragstone.judges.base import Judge
from ragstone.judges.dry_run import MOST, Guess
from ragstone.judges.factory import make_judge
from ragstone.judges.llm.prompt import Prompt
from ragstone.judges.offline.words import word_lists
from ragstone.judges.spec import OFFLINE, is_free
from ragstone.reports.format import dollars
from ragstone.reports.questions import (
    check_document,
    print_check,
    rejected_samples,
    valid_samples,
    write_check,
)
from ragstone.reports.tables import STDOUT
from ragstone.testsets.candidates import NOISY, SHARES, parse_types
from ragstone.testsets.check import KINDS, SetCheck, check_samples
from ragstone.testsets.documents import CHUNK_WORDS, Corpus, read_documents
from ragstone.testsets.generate import (
    NOISES,
    Generated,
    Generator,
    QuestionRequest,
    check_takes,
    planned_questions,
)
from ragstone.testsets.index import ChunkIndex
from ragstone.testsets.known_items import known_items
from ragstone.testsets.noise import MODEL_FREE
from ragstone.testsets.output import (
    CHUNK_FIELDS,
    RECORD_FIELDS,
    REJECTED_FIELDS,
    check_own,
    check_replaceable,
    document_hashes,
    provenance_path,
    samples_of_items,
    vary_samples,
    write_chunks,
    write_dataset,
    write_rejected,
)
from ragstone.testsets.proofs import NO_REPLY
from ragstone.types.config import Plan
from ragstone.types.questions import Question
from ragstone.types.reply import Usage
from ragstone.types.sample import Sample

OUT = Path("questions.jsonl")
SHOWN = 5
"""Documents without a question that are named."""

_CHUNK_WORDS = option(
    "--chunk-words",
    "Words of a chunk, about. Rows of .jsonl and .parquet files are chunks already.",
    least=20,
    default=CHUNK_WORDS,
)
_DOCUMENTS = (
    _CHUNK_WORDS,
    option("--chunks", "Write the chunks with their ids, to be indexed.", path="FILE.jsonl"),
)
_QUESTIONS = (
    option("-n --n", "Number of questions.", least=1, default=100),
    option(
        "--types",
        "Types with their shares.  [default: "
        + ",".join(f"{name}={share:g}" for name, share in SHARES.items())
        + "]",
        metavar="TYPE=SHARE,...",
    ),
    option("--brief", "What the questions are about, or for.", metavar="TEXT"),
    option(
        "--persona",
        "Who asks. Several personas take turns.",
        multiple=True,
        metavar="TEXT",
    ),
    option(
        "--languages",
        "Languages of the questions, which take turns: en,de.  [default: that of the documents]",
        metavar="LANGUAGE,...",
    ),
    option(
        "--noise",
        f"Kinds of noise of noisy questions: {','.join(NOISES)}.  [default: all]",
        metavar="KIND,...",
    ),
    option("--seed draw", "Seed of all random choices.", type=int, default=0, metavar="N"),
    CONFIG,
    option("--dry-run", "Estimate calls and cost; make no calls.", is_flag=True),
)
_RESULT = (
    option(
        "-o --output",
        f"The file to write: .jsonl, .json, .csv or .xlsx.  [default: {OUT}]",
        path="FILE",
    ),
    option(
        "--rejected",
        "Where to write rejected candidates with their reasons.  [default: FILE-rejected.jsonl]",
        path="FILE.jsonl",
    ),
    json_file("counts and reasons"),
)
_NEED_A_MODEL = ("types", "brief", "persona", "languages", "noise", "rejected")
"""Options without effect on known-item queries."""


@click.group(name="questions")
def command() -> None:
    """Write test sets from documents, and check test sets against them.

    \b
    ragstone questions generate docs/ --n 100 --model gpt-4o-mini -o questions.xlsx
    ragstone questions vary questions.xlsx -o noisy.xlsx
    ragstone questions check questions.xlsx --docs docs/
    """


@command.command(
    name="generate",
    cls=GroupedCommand,
    params=[
        click.Argument(["documents"], metavar="DOCS...", nargs=-1, required=True,
                       type=click.Path(path_type=Path)),
    ],
    groups={
        "Documents": _DOCUMENTS,
        "Questions": _QUESTIONS,
        "Judge": tuple(each for each in JUDGE if each.name != "embedding_model"),
        "Limits": LIMITS,
        "Result": _RESULT,
    },
    brief=True,
    epilog="Exit codes: 0 success; 2 usage or input error; 3 fewer questions than asked for, or "
    "over budget; 130 interrupted.",
)  # fmt: skip
def generate(**given: Any) -> None:
    """Write a test set from documents; each question is kept only with its proofs.

    DOCS are files and folders of text, Markdown, HTML, PDF and docx, or .jsonl and .parquet files
    of chunks with ids. An LLM writes questions from chunks, with references. A question is kept if
    its quotes are verbatim, its reference is supported by them, multi-hop questions need both
    chunks, and no chunk answers an unanswerable one. The other candidates are written to another
    file, with reasons.

    Without an LLM, the queries are rare words of one chunk each, for retrieval metrics only.
    After an interruption, run the same command again: replies are cached.

    \b
    ragstone questions generate docs/ --n 100 --model gpt-4o-mini --dry-run
    ragstone questions generate docs/ --n 100 --model gpt-4o-mini -o questions.xlsx
    ragstone questions generate docs/ --model gpt-4o-mini --types single=6,multi=4 --languages en,de
    ragstone questions generate docs/ --judge offline
    """
    plan = config_of(given["config"]).plan(typed_settings(given))
    check_judge_settings(explicit_settings(given), plan)
    out: Path = given["output"] or OUT
    check_format(out.suffix)
    idle = {"batch_api": plan.batch_api, "workers": plan.workers > 1}
    for name in filter(idle.__getitem__, idle):
        click.echo(f"Note: the setting {name} has no effect on this command", err=True)
    free = is_free(plan.judge)
    rejected = given["rejected"] or (None if free else out.with_name(f"{out.stem}-rejected.jsonl"))
    for name, path in ("--rejected", rejected), ("--chunks", given["chunks"]):
        if path is not None and path.suffix.lower() != ".jsonl":
            raise UsageError(f"{name} {path}: it is written as JSON Lines; name a .jsonl file")
    check_extension("json", given["file"] or STDOUT)
    record = provenance_path(out)
    files = (out, given["chunks"], given["file"], rejected, record)
    check_files(*files, inputs=given["documents"])
    before = check_replaceable(out)
    own = ((record, RECORD_FIELDS), (rejected, REJECTED_FIELDS), (given["chunks"], CHUNK_FIELDS))
    for path, fields in own:
        if path is not None:
            check_own(path, fields)
    corpus = read_documents(given["documents"], chunk_words=given["chunk_words"])
    for note in corpus.notes:
        click.echo(f"Note: {note}", err=True)
    if given["chunks"] and not given["dry_run"]:
        write_chunks(corpus.chunks, given["chunks"])
    command = _Generation(given, plan, corpus, out, rejected, before)
    sys.exit(command.known_items() if free else command.questions())


class _Generation:
    """One call of the command; `before` is the number of questions in the file now."""

    def __init__(
        self,
        given: Given,
        plan: Plan,
        corpus: Corpus,
        out: Path,
        rejected: Path | None,
        before: int,
    ) -> None:
        self.given, self.plan, self.corpus, self.before = given, plan, corpus, before
        self.out, self.rejected = out, rejected
        self.index = ChunkIndex(corpus)
        self.size = (
            f"{count(len(corpus.chunks), 'chunk')} of {count(len(corpus.documents), 'document')}"
        )

    def known_items(self) -> int:
        given, n = self.given, self.given["n"]
        typed = [f"--{name}" for name in _NEED_A_MODEL if given[name]]
        if typed or self.plan.judge != OFFLINE:
            where = f"{', '.join(typed)}: " if typed else ""
            raise UsageError(
                f"{where}the judge {self.plan.judge} writes no questions; name an LLM with "
                f"--model, or use --judge {OFFLINE} without these options to get known-item "
                "queries: rare words of a chunk"
            )
        if given["dry_run"]:
            click.echo(f"Dry run: known-item queries from {self.size} take no calls.")
            return 0
        items = known_items(self.index, n, seed=given["draw"])
        if not items:
            raise UsageError(
                f"{self.size} have no rare words for a query; add documents, or name an LLM"
            )
        used = {item.span.document for item in items}
        empty = [name for name in self.corpus.documents if name not in used]
        self._write(samples_of_items(items, self.corpus), {"known_items": len(items)})
        said = f"{len(items):,} of {n:,} known-item queries"
        write_document(given["file"], {"questions": len(items), "requested": n, "result": said})
        click.echo(
            f"wrote {self.out}: {said}. They are rare words of one chunk each, for retrieval "
            "metrics only: there are no references, and users ask differently.",
            err=given["file"] == STDOUT,
        )
        _print_empty(empty)
        if len(items) < n:
            more = f"the rare words of {self.size} are used up"
            click.echo(f"Exit code {TOO_MUCH_FAILED}: {more}", err=True)
            return TOO_MUCH_FAILED
        return 0

    def questions(self) -> int:
        given, plan = self.given, self.plan
        request = QuestionRequest(
            given["n"],
            parse_types(given["types"]) if given["types"] else SHARES,
            brief=one_line(given["brief"] or ""),
            personas=tuple(map(one_line, given["persona"])),
            languages=_names(given["languages"]),
            noises=_names(given["noise"]) or NOISES,
            seed=given["draw"],
        )
        if given["noise"] and not request.counts[NOISY]:
            raise UsageError(
                f"--noise: none of the {count(request.n, 'question')} is noisy; add a share of "
                "noisy to --types, ask for more questions, or remove --noise"
            )
        known = sorted(word_lists().keys() - {"any"})
        if other := [name for name in request.languages if name.lower() not in known]:
            click.echo(
                f"Note: whether questions are in {', '.join(other)} is not checked; it is for "
                f"these codes: {', '.join(known)}",
                err=True,
            )
        estimate = f"{count(request.n, 'question')} from {self.size} with {self.plan.judge}: "
        estimate += str(self._estimate(request))
        if given["dry_run"]:
            click.echo(f"Dry run: no calls were made. {estimate}")
            return 0
        click.echo(estimate, err=True)
        if not plan.cache:
            click.echo("With --no-cache, an interrupted command starts again.", err=True)
        budget = Budget(plan.max_calls, plan.max_cost)
        judge = make_judge(plan, asked=[request.kinds], budget=budget)
        generator = Generator(self.index, judge, request, plan=plan)
        interrupted, console, shown = False, Console(stderr=True), monotonic()

        def report(done: int, of: int) -> None:
            nonlocal shown
            update(completed=done, total=of)
            if not console.is_terminal and monotonic() - shown > SECONDS_BETWEEN_LINES:
                shown = monotonic()
                click.echo(f"{done:,} of {count(of, 'candidate')} of this round decided", err=True)

        with progress_bar(console, "proving") as update:
            try:
                finish_in_thread(
                    partial(
                        generator.run,
                        concurrency=plan.concurrency,
                        spent=lambda: budget.spent,
                        on_candidate=report,
                    )
                )
            except KeyboardInterrupt:
                interrupted = True
        stopped = "it was interrupted" if interrupted else budget.spent
        generated = generator.result(stopped=stopped)
        return self._finish(generated, judge, interrupted=interrupted)

    def _finish(self, generated: Generated, judge: Judge, *, interrupted: bool) -> int:
        given, request = self.given, generated.request
        made = len(generated.questions)
        writes = made > 0 and (generated.complete or made >= self.before)
        if writes:
            record: dict[str, object] = {
                "judge": judge.name,
                "judge_setups": {
                    kind: JudgeSetup(self.plan, judge).hash([kind]) for kind in request.kinds
                },
                "prompts": {kind: self._prompt(kind).fingerprint for kind in request.kinds},
                "types": request.counts,
                "brief": request.brief,
                "personas": request.personas,
                "languages": request.languages,
                "noises": request.noises,
                "result": str(generated),
                "rejected": generated.reasons,
                "documents_without_questions": generated.empty,
            }
            self._write(generated.samples, record)
        if self.rejected and generated.rejected:
            write_rejected(generated.rejected, self.rejected)
        elif self.rejected:
            self.rejected.unlink(missing_ok=True)  # of an earlier call
        document = {
            "questions": made,
            "requested": request.n,
            "types": dict(Counter(each.type for each in generated.questions)),
            "missing": generated.missing,
            "rejected": generated.reasons,
            "result": str(generated),
            "calls": generated.usage.calls,
            "cost_usd": generated.usage.cost_usd,
        }
        write_document(given["file"], document)
        to_error = given["file"] == STDOUT
        written = f"wrote {self.out}: " if writes else "nothing was written: "
        click.echo(f"{written}{generated}", err=to_error)
        if made and not writes:
            click.echo(f"{self.out} keeps its {count(self.before, 'question')}.", err=True)
        _print_empty(generated.empty)
        if generated.rejected and self.rejected:
            rejects = count(len(generated.rejected), "rejected candidate")
            click.echo(f"{rejects}, with reasons: {self.rejected}", err=True)
            failed = [each for each in generated.rejected if each.reason == NO_REPLY]
            if failed:
                click.echo(f"First {NO_REPLY}: {failed[0].detail}", err=True)
        cached = f", {generated.usage.cached:,} cached" if generated.usage.cached else ""
        cost = generated.usage.cost_usd
        priced = "price unknown" if cost is None else f"about {dollars(cost)}"
        click.echo(f"{count(generated.usage.calls, 'call')}{cached}, {priced}", err=True)
        if interrupted:
            kept = (
                "run the same command again to continue" if self.plan.cache else "replies are lost"
            )
            click.echo(f"Interrupted; {kept}.", err=True)
            return INTERRUPTED
        if writes:
            click.echo(f"Documents, judge and seed: {provenance_path(self.out)}", err=True)
        if generated.complete:
            click.echo(f"Evaluate with: ragstone run {self.out} --api-url URL", err=True)
            return 0
        click.echo(f"Exit code {TOO_MUCH_FAILED}: fewer questions than asked for", err=True)
        return TOO_MUCH_FAILED

    def _prompt(self, kind: str) -> Prompt:
        file = self.plan.prompts.get(kind)
        return Prompt.read(kind, Path(file)) if file else Prompt.of(kind)

    def _write(self, samples: Sequence[Sample], record: dict[str, object]) -> None:
        common = {
            "ragstone": VERSION,
            "n": self.given["n"],
            "seed": self.given["draw"],
            "chunk_words": self.given["chunk_words"],
            "questions": len(samples),
            "documents": document_hashes(self.corpus),
        }
        write_dataset(samples, self.out, {**common, **record})

    def _estimate(self, request: QuestionRequest) -> Estimate:
        def work(judge: Judge, guess: Guess) -> Coroutine[object, object, Usage]:
            check_takes(judge, request)
            questions = planned_questions(self.index, request, most=guess is MOST)
            return usage_of(judge, cast("Iterator[Question[object]]", questions))

        return estimate_calls(self.plan, request.kinds, work)


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for part in (text or "").split(",") if (name := part.strip())))


def _print_empty(names: Sequence[str]) -> None:
    if names:
        documents = f"{count(len(names), 'document')} gave no question"
        click.echo(f"{documents}: {listing(names, SHOWN)}", err=True)


@command.command(
    name="vary",
    params=[
        click.Argument(["data"]),
        option(
            "--noise",
            f"Kinds of noise: {','.join(MODEL_FREE)}.",
            default=",".join(MODEL_FREE),
            metavar="KIND,...",
        ),
        option("--seed draw", "Seed of all random choices.", type=int, default=0, metavar="N"),
        *(each for each in READING if each.name not in ("seed", "sample")),
        option("-o --output", "The file to write.", path="FILE", required=True),
    ],
)
def vary(**given: Any) -> None:
    """Add noisy variants to the questions in DATA: typing errors, keywords only. No model is used.

    A variant has its question's reference and relevance, and the tags `noise` and `variant_of`:
    compare the scores of pairs. Names and figures stay as they are.

    \b
    ragstone questions vary questions.xlsx --noise typos,keywords -o noisy.xlsx
    """
    out: Path = given["output"]
    check_format(out.suffix)
    check_files(out, inputs=[given["data"]])
    noises = _names(given["noise"])
    for noise in noises:
        if noise not in MODEL_FREE:
            raise UnknownNameError("kind of noise without a model", noise, MODEL_FREE)
    if not noises:
        raise UsageError(f"--noise is blank; use {','.join(MODEL_FREE)}")
    dataset = load(
        given["data"],
        sheet=given["sheet"],
        columns=pairs_of(given["columns"]),
        limit=given["limit"],
    )
    samples, without = vary_samples(dataset.samples, noises, seed=given["draw"])
    made = len(samples) - len(dataset.samples)
    for noise, rows in without.items():
        if rows:
            click.echo(f"{noise}: not possible for {count(rows, 'row')}", err=True)
    if not made:
        raise UsageError(f"{given['data']}: no row has a noisy variant; nothing was written")
    write_dataset(samples, out)
    click.echo(f"wrote {out}: {count(len(dataset.samples), 'row')} and {count(made, 'variant')}")


_CHECKED_AGAINST = (
    option(
        "--docs",
        "A folder or file of the documents; repeat it for several.",
        multiple=True,
        required=True,
        metavar="PATH",
    ),
    _CHUNK_WORDS,
)


@command.command(
    name="check",
    cls=GroupedCommand,
    params=[click.Argument(["data"], metavar="FILE")],
    groups={
        "Documents": _CHECKED_AGAINST,
        "Data": READING,
        "Check": (
            CONFIG,
            PLUGIN,
            option("--dry-run", "Estimate calls and cost; make no calls.", is_flag=True),
        ),
        "Judge": JUDGE,
        "Limits": LIMITS,
        "Result": (
            option(
                "--write",
                "Write the valid rows, with corrected relevant ids, and the others with the "
                "reasons to a second file: .xlsx, .csv, .json or .jsonl.",
                path="FILE",
            ),
            written("html", description="Write a page with all findings and their evidence."),
            json_file("result"),
            option("--show", "Findings of each kind to show.", least=0, default=3),
        ),
    },
    brief=True,
    epilog="Exit codes: 0 no row has an error; 1 a row has an error; 2 usage or input error; "
    "3 the judge did not answer for a row; 130 interrupted.",
)
def check(**given: Any) -> None:
    """Check the test set in FILE, from any tool, against its documents.

    For each row: do the documents support the reference, do the relevant chunks have the answer,
    and which others have it? Is an unanswerable question unanswerable in all documents, and does a
    question of type multi need several chunks? Is a query repeated, copied from its chunk, vague,
    or does it contain its answer? No model is needed: by default, words are compared. --judge
    openai:gpt-4o-mini decides what words cannot.

    \b
    ragstone questions check questions.xlsx --docs guides/
    ragstone questions check testset.jsonl --docs chunks.jsonl --html check.html
    ragstone questions check questions.xlsx --docs guides/ --write checked.xlsx --model gpt-4o-mini
    """
    config = config_of(given["config"])
    load_plugins(*config.plugins, *given["plugin"])
    plan = config.plan(typed_settings(given))
    check_judge_settings(explicit_settings(given), plan)
    fixed, rejected = given["write"], None
    if fixed is not None:
        check_format(fixed.suffix)
        rejected = fixed.with_stem(f"{fixed.stem}-rejected")
    check_files(
        given["file"], given["html"], fixed, rejected, inputs=[given["data"], *given["docs"]]
    )
    for name, path in (("json", given["file"]), ("html", given["html"])):
        if path is not None:
            check_extension(name, path)
    dataset = load(given["data"], sheet=plan.sheet, columns=plan.columns, **plan.selection)
    corpus = read_documents(given["docs"], chunk_words=given["chunk_words"])
    for note in (*dataset.source.notes, *corpus.notes):
        click.echo(f"Note: {note}", err=True)
    if given["dry_run"]:
        click.echo(f"Dry run: no calls were made. {estimate_check(plan, dataset.samples, corpus)}")
        return
    found = _check(plan, dataset.samples, corpus, dataset.source.name)
    console = write_document(given["file"], given["file"] and check_document(found))
    if given["html"] is not None:
        write_file(given["html"], partial(write_check, found))
    if fixed is not None and rejected is not None:
        _write_rows(found, fixed, rejected)
    print_check(found, console, most=given["show"])
    sys.exit(code_of(found))


def _check(plan: Plan, samples: Sequence[Sample], corpus: Corpus, name: str) -> SetCheck:
    judge = make_judge(plan, asked=[KINDS], budget=Budget(plan.max_calls, plan.max_cost))
    with progress_bar(Console(stderr=True), "checking", total=len(samples)) as update:
        return finish_in_thread(
            partial(
                check_samples,
                samples,
                corpus,
                judge,
                name=name,
                concurrency=plan.concurrency,
                plan=plan,
                on_row=lambda done, total: update(completed=done, total=total),
            )
        )


def estimate_check(plan: Plan, samples: Sequence[Sample], corpus: Corpus) -> str:
    async def usage(judge: Judge, _: Guess) -> Usage:
        check = check_samples(samples, corpus, judge, name="", concurrency=plan.concurrency)
        return (await check).usage

    cost = estimate_calls(plan, KINDS, usage)
    return f"Checking {count(len(samples), 'row')} with {plan.judge}: {cost}"


def _write_rows(found: SetCheck, fixed: Path, rejected: Path) -> None:
    made: dict[Path, Path] = {}
    with TemporaryDirectory() as folder:
        for path, samples in ((fixed, valid_samples(found)), (rejected, rejected_samples(found))):
            if not samples:
                which = "no row is valid" if path == fixed else "no row was rejected"
                click.echo(f"{path} was not written: {which}", err=True)
                continue
            made[path] = Path(folder) / path.name
            write_file(made[path], partial(write_samples, samples, suffix=path.suffix))
            for loss in losses(samples, load(made[path]).samples):
                click.echo(f"{path.suffix} cannot store: {loss}", err=True)
        for path, copy in made.items():
            write_file(path, partial(copyfile, copy))
            click.echo(f"Wrote {path}", err=True)


def code_of(found: SetCheck) -> int:
    unchecked = [f for f in found.findings if f.check == "not_checked"]
    if unchecked:
        words = f"{count(len(unchecked), 'row')} of {len(found.rows):,} not checked"
        click.echo(
            f"Exit code {TOO_MUCH_FAILED}: {words}; the first: {unchecked[0].message}", err=True
        )
        return TOO_MUCH_FAILED
    return GATE_FAILED if any(row.errors for row in found.rows) else 0
