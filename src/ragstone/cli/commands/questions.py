"""`ragstone questions`: test sets from documents, and checks for any test set."""

import sys
from collections import Counter
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import click

from ragstone._internal.concurrency import run_sync
from ragstone._internal.files import write_file
from ragstone._internal.rate_limit import Budget
from ragstone._internal.text import count, listing, one_line
from ragstone.cli import GATE_FAILED, INTERRUPTED, options, output, say
from ragstone.cli.options import option, setting
from ragstone.datasets import load
from ragstone.datasets.export import check_format, losses_in_file, write_samples
from ragstone.evaluation.recorder import VERSION, JudgeSetup
from ragstone.evaluation.scoring import estimate_calls, usage_of
from ragstone.judges.base import Judge
from ragstone.judges.factory import MOST, Guess, make_judge
from ragstone.judges.llm.prompt import Prompt
from ragstone.judges.offline.words import languages as known_languages
from ragstone.reports.format import dollars
from ragstone.reports.questions import check_document, print_check, write_check
from ragstone.reports.tables import STDOUT
from ragstone.testsets import check, generate
from ragstone.testsets.check import SetCheck, check_samples, rejected_samples, valid_samples
from ragstone.testsets.documents import CHUNK_WORDS, ChunkIndex, Corpus, read_documents
from ragstone.testsets.generate import Generated
from ragstone.types.config import Plan
from ragstone.types.questions import Question
from ragstone.types.reply import Usage
from ragstone.types.sample import Sample

OUT = Path("questions.jsonl")
SHOWN = 5  # documents without a question that are named

_CHUNK_WORDS = option(
    "--chunk-words",
    "Approximate chunk length in words. Rows of .jsonl and .parquet files are chunks already.",
    least=20,
    default=CHUNK_WORDS,
)
_JUDGE = (
    *(each for each in options.JUDGE if each.name in ("judge", "model")),
    setting("max_calls"),
    setting("max_cost"),
    options.CONFIG,
)
"""The options of the judge that people type; the config file has the other settings."""


@click.group(name="questions")
def command() -> None:
    """Write test sets from documents, and check test sets against them.

    \b
    ragstone questions generate docs/ --n 100 --model gpt-4o-mini -o questions.xlsx
    ragstone questions check questions.xlsx --docs docs/
    """


@command.command(
    name="generate",
    params=[
        click.Argument(["documents"], metavar="DOCS...", nargs=-1, required=True,
                       type=click.Path(path_type=Path)),
        option("-n --n", "Number of questions.", least=1, default=100),
        option(
            "--types",
            "Types with their shares.  [default: "
            + ",".join(f"{name}={share:g}" for name, share in generate.SHARES.items())
            + "]",
            metavar="TYPE=SHARE,...",
        ),
        option("--brief", "Who asks, and what the questions are about or for.", metavar="TEXT"),
        option(
            "--languages",
            "Languages of the questions, which take turns: en,de.  [default: that of the "
            "documents]",
            metavar="LANGUAGE,...",
        ),
        option("--seed draw", "Seed of all random choices.", type=int, default=0, metavar="N"),
        _CHUNK_WORDS,
        option("--chunks", "Write the chunks with their ids, to be indexed.", path="FILE.jsonl"),
        options.DRY_RUN,
        *_JUDGE,
        option("-o --output", f"The .jsonl or .xlsx file to write.  [default: {OUT}]", path="FILE"),
        options.JSON_FILE,
    ],
    epilog="Exit codes: 0 success; 2 usage or input error; 3 fewer questions than asked for, or "
    "over budget; 130 interrupted.",
)  # fmt: skip
def generate_command(**given: Any) -> None:
    """Write a test set from documents; a question is kept only if a judge verifies it.

    DOCS are files and folders of text, Markdown, HTML, PDF and docx, or .jsonl and .parquet files
    of chunks with ids. An LLM writes questions from chunks, with references. A question is kept if
    its quotes are verbatim, its reference is supported by them, multi-hop questions need both
    chunks, and no chunk answers an unanswerable one. The others are written to
    FILE-rejected.jsonl, with reasons.

    After an interruption, run the same command again: replies are cached.

    \b
    ragstone questions generate docs/ --n 100 --model gpt-4o-mini --dry-run
    ragstone questions generate docs/ --n 100 --model gpt-4o-mini -o questions.xlsx
    ragstone questions generate docs/ --model gpt-4o-mini --types single=6,multi=4 --languages en,de
    """
    plan = options.config_of(given["config"]).plan(options.typed_settings(given))
    out: Path = given["output"] or OUT
    chunks: Path | None = given["chunks"]
    check_format(out.suffix)
    output.check_lines("--chunks", chunks)
    rejected, record = out.with_name(f"{out.stem}-rejected.jsonl"), generate.provenance_path(out)
    output.check_files(out, chunks, rejected, record, json=given["file"], inputs=given["documents"])
    before = generate.check_replaceable(out)
    generate.check_generated_by_us(record, generate.RECORD_FIELDS)
    generate.check_generated_by_us(rejected, generate.REJECTED_FIELDS)
    generate.check_generated_by_us(chunks, generate.CHUNK_FIELDS)
    corpus = read_documents(given["documents"], chunk_words=given["chunk_words"])
    for note in corpus.notes:
        say(f"Note: {note}")
    languages = [name.strip() for name in (given["languages"] or "").split(",")]
    request = generate.QuestionRequest(
        given["n"],
        generate.parse_types(given["types"]) if given["types"] else generate.SHARES,
        brief=one_line(given["brief"] or ""),
        languages=tuple(dict.fromkeys(filter(None, languages))),
        seed=given["draw"],
    )
    known = sorted(known_languages())
    if other := [name for name in request.languages if name.lower() not in known]:
        say(
            f"Note: whether questions are in {', '.join(other)} is not checked; it is for "
            f"these codes: {', '.join(known)}"
        )
    index = ChunkIndex(corpus)
    estimate = estimate_generation(plan, index, request)
    output.announce(estimate, dry_run=given["dry_run"])
    if chunks is not None:
        generate.write_chunks(corpus.chunks, chunks)
    budget = Budget(plan.max_calls, plan.max_cost)
    judge = make_judge(plan, asked=[generate.KINDS], budget=budget)
    generator = generate.Generator(index, judge, request, plan=plan)
    interrupted = False
    with output.progress_bar(
        "verifying", line=lambda done, of: f"{done:,} of {count(of, 'candidate')} of this round"
    ) as update:
        try:
            run_sync(
                partial(
                    generator.run,
                    concurrency=plan.concurrency,
                    spent=lambda: budget.spent,
                    on_candidate=update,
                )
            )
        except KeyboardInterrupt:
            interrupted = True
    generated = generator.result(stopped="it was interrupted" if interrupted else budget.spent)
    written = generated.questions and (generated.complete or len(generated.questions) >= before)
    if written:
        provenance = _provenance(generated, plan, judge, chunk_words=given["chunk_words"])
        generate.write_dataset(generated.samples, out, provenance)
    elif generated.questions:
        say(f"{out} was not changed ({count(before, 'question')}).")
    if generated.rejected:
        generate.write_rejected(generated.rejected, rejected)
        rejects = count(len(generated.rejected), "rejected candidate")
        say(f"{rejects}, with reasons: {rejected}")
    else:
        rejected.unlink(missing_ok=True)  # of an earlier call
    document = {
        "questions": len(generated.questions),
        "requested": request.n,
        "types": dict(Counter(each.candidate.type for each in generated.questions)),
        "missing": generated.missing,
        "rejected": generated.reasons,
        "result": str(generated),
        "calls": generated.usage.calls,
        "cost_usd": generated.usage.cost_usd,
    }
    output.write_document(given["file"], document)
    action = f"wrote {out}" if written else "nothing was written"
    click.echo(f"{action}: {generated}", err=given["file"] == STDOUT)
    _print_details(generated)
    if interrupted:
        kept = "run the same command again to continue" if plan.cache else "replies are lost"
        say(f"Interrupted; {kept}.")
        sys.exit(INTERRUPTED)
    if written:
        say(f"Documents, judge and seed: {record}")
    if not generated.complete:
        sys.exit(output.undecided("fewer questions than asked for"))
    say(f"Evaluate with: ragstone run {out} --api-url URL")


def estimate_generation(plan: Plan, index: ChunkIndex, request: generate.QuestionRequest) -> str:
    def work(judge: Judge, guess: Guess) -> Coroutine[object, object, Usage]:
        generate.check_takes(judge)
        planned = generate.planned_questions(index, request, most=guess is MOST)
        return usage_of(judge, cast("Iterator[Question[object]]", planned))

    corpus = index.corpus
    return (
        f"{count(request.n, 'question')} from {count(len(corpus.chunks), 'chunk')} of "
        f"{count(len(corpus.documents), 'document')} with {plan.judge}: "
        f"{estimate_calls(plan, generate.KINDS, work)}"
    )


def _print_details(generated: Generated) -> None:
    if generated.empty:
        documents = count(len(generated.empty), "document")
        say(f"No question came from {documents}: {listing(generated.empty, SHOWN)}")
    if failed := [each for each in generated.rejected if each.reason == generate.NO_REPLY]:
        say(f"First {generate.NO_REPLY}: {failed[0].detail}")
    usage = generated.usage
    cached = f", {usage.cached:,} cached" if usage.cached else ""
    priced = "price unknown" if usage.cost_usd is None else f"about {dollars(usage.cost_usd)}"
    say(f"{count(usage.calls, 'call')}{cached}, {priced}")


def _provenance(
    generated: Generated, plan: Plan, judge: Judge, *, chunk_words: int
) -> Mapping[str, object]:
    request, corpus = generated.request, generated.corpus
    prompts = {
        kind: Prompt.read(kind, Path(plan.prompts[kind]))
        if kind in plan.prompts
        else Prompt.of(kind)
        for kind in generate.KINDS
    }
    return {
        "ragstone": VERSION,
        "n": request.n,
        "seed": request.seed,
        "chunk_words": chunk_words,
        "questions": len(generated.questions),
        "documents": [
            {"name": name, "sha256": each.sha256, "chunks": len(corpus.by_document[name])}
            for name, each in corpus.documents.items()
        ],
        "judge": judge.name,
        "judge_setups": {kind: JudgeSetup(plan, judge).hash([kind]) for kind in generate.KINDS},
        "prompts": {kind: prompt.fingerprint for kind, prompt in prompts.items()},
        "types": request.counts,
        "brief": request.brief,
        "languages": request.languages,
        "result": str(generated),
        "rejected": generated.reasons,
        "documents_without_questions": generated.empty,
    }


@command.command(
    name="check",
    params=[
        click.Argument(["data"], metavar="FILE"),
        option(
            "--docs",
            "A folder or file of the documents; repeat it for several.",
            multiple=True,
            required=True,
            metavar="PATH",
        ),
        _CHUNK_WORDS,
        setting("columns"),
        option("--limit", "Read only the first N rows.", least=1),
        options.DRY_RUN,
        *_JUDGE,
        option(
            "--write",
            "Write the valid rows, with corrected relevant ids, to a .xlsx or .jsonl file, and the "
            "others with the reasons to a second one.",
            path="FILE",
        ),
        options.written("html", description="Write a page with all findings and their evidence."),
        options.JSON_FILE,
    ],
    epilog="Exit codes: 0 no row has an error; 1 a row has an error; 2 usage or input error; "
    "3 the judge did not answer for a row; 130 interrupted.",
)
def check_command(**given: Any) -> None:
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
    config = options.config_of(given["config"])
    options.load_plugins(*config.plugins)
    plan = config.plan(options.typed_settings(given))
    fixed: Path | None = given["write"]
    rejected = fixed and fixed.with_stem(f"{fixed.stem}-rejected")
    if fixed is not None:
        check_format(fixed.suffix)
    inputs = [given["data"], *given["docs"]]
    output.check_files(fixed, rejected, json=given["file"], html=given["html"], inputs=inputs)
    dataset = load(given["data"], **plan.reading, **plan.selection, answers="reference")
    corpus = read_documents(given["docs"], chunk_words=given["chunk_words"])
    for note in (*dataset.source.notes, *corpus.notes):
        say(f"Note: {note}")
    if given["dry_run"]:
        text = f"Checking {count(len(dataset.samples), 'row')} with {plan.judge}"
        estimate = estimate_check(plan, dataset.samples, corpus)
        output.announce(f"{text}: {estimate}", dry_run=True)
    judge = make_judge(plan, asked=[check.KINDS], budget=Budget(plan.max_calls, plan.max_cost))
    with output.progress_bar("checking") as update:
        result = run_sync(
            partial(
                check_samples,
                dataset.samples,
                corpus,
                judge,
                name=dataset.source.name,
                concurrency=plan.concurrency,
                plan=plan,
                on_row=update,
            )
        )
    console = output.write_document(given["file"], given["file"] and check_document(result))
    if given["html"] is not None:
        write_file(given["html"], partial(write_check, result))
    if fixed is not None and rejected is not None:
        _write_rows(result, fixed, rejected)
    print_check(result, console)
    if unchecked := [f for f in result.findings if f.check == "not_checked"]:
        words = f"{count(len(unchecked), 'row')} of {len(result.rows):,} not checked"
        sys.exit(output.undecided(f"{words}; the first: {unchecked[0].message}"))
    sys.exit(GATE_FAILED if any(row.errors for row in result.rows) else 0)


def estimate_check(plan: Plan, samples: Sequence[Sample], corpus: Corpus) -> str:
    async def usage(judge: Judge, _: Guess) -> Usage:
        checked = check_samples(samples, corpus, judge, name="", concurrency=plan.concurrency)
        return (await checked).usage

    return str(estimate_calls(plan, check.KINDS, usage))


def _write_rows(result: SetCheck, fixed: Path, rejected: Path) -> None:
    files = {fixed: valid_samples(result), rejected: rejected_samples(result)}
    for path, samples in files.items():
        if not samples:
            which = "no row is valid" if path == fixed else "no row was rejected"
            say(f"{path} was not written: {which}")
            continue
        for loss in losses_in_file(samples, path):
            say(f"{path.suffix} cannot store: {loss}")
    for path, samples in files.items():
        if samples:
            write_file(path, partial(write_samples, samples, suffix=path.suffix))
            say(f"Wrote {path}")
