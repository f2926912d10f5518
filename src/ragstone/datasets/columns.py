"""Which column of a file is which field of a Sample, and the names that fields may have."""

import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from ragstone._internal.documents import by_name
from ragstone._internal.text import listing, plain_name
from ragstone.errors import Problem, UnknownNameError, UsageError, nearest

_SURE: Mapping[str, str] = {
    "id": "sample_id query_id qid",
    "query": "user_input question user_question user_query user_prompt frage pregunta domanda "
    "pytanie 質問",
    "history": "chat_history conversation_history",
    "response": "actual_output actual_response agent_answer bot_answer rag_answer rag_output "
    "chatbot_answer system_answer system_response ai_answer ai_response chatbot_antwort "
    "ist_antwort antwort_des_systems antwort_des_chatbots respuesta_del_asistente "
    "réponse_du_chatbot 回答 generated_answer generated_response generated_texts llm_response "
    "llm_answer model_answer model_response model_output predicted_answer bot_response",
    "contexts": "retrieved_contexts retrieved_context retrieval_context retrieved_chunks "
    "retrieved_documents retrieved_docs retrieved_passages retrieved_contents source_documents "
    "gefundene_textstellen extraits_retournés 検索結果",
    "ranking": "results retrieved_ids retrieved_doc_ids retrieved_chunk_ids retrieved_context_ids",
    "reference": "expected_output expected_answer expected_response ground_truth ground_truths "
    "ground_truth_answer gt_answer reference_answer reference_answers reference_output "
    "reference_outputs reference_response reference_responses gold_answer gold_answers "
    "golden_answer golden_answers soll_antwort musterantwort respuesta_correcta "
    "oczekiwana_odpowiedź 正解 correct_answer right_answer true_answer target_answer best_answer "
    "ideal_answer possible_answers label_answer generation_gt erwartete_antwort "
    "respuesta_esperada réponse_attendue risposta_attesa",
    "reference_claims": "expected_facts key_facts",
    "relevance": "point_ids reference_context_ids relevant_ids relevant_doc_ids gold_doc_ids "
    "expected_doc_ids gold_chunk_ids relevant_chunk_ids expected_chunk_ids relevant_passage_ids",
    "tags": "metadata",
}
WEAK: Mapping[str, str] = {
    "query": "input inputs prompt q questions instruction human",
    "response": "prediction predictions predicted completion assistant answer output outputs "
    "antwort respuesta réponse risposta",
    "contexts": "context documents docs passages chunks ctxs sources evidence kontext kontexte "
    "contexto contexte contesto",
    "ranking": "doc_ids gefundene_dokumente gefundene_dokumentnummern documents_retrouvés",
    "reference": "answers expected gold golden truth ideal target targets",
    "relevance": "context_doc_ids relevant_docs relevant_documents gold_doc gold_docs "
    "reference_doc reference_docs expected_sources relevant_sources ground_truth_sources "
    "correct_chunks source_files retrieval_gt positive_ctxs qrels relevant dok.-nr. soll_dokument "
    "relevante_dokumente relevante_dokumentnummern documents_de_référence documentos_relevantes",
}
"""Names that have other meanings too: used if no other column is the field and the values fit."""
ALIASES: Mapping[str, tuple[str, ...]] = {
    field: (*names.split(), *WEAK.get(field, "").split()) for field, names in _SURE.items()
}
"""Sample field -> its other names. A column with any other name becomes a tag."""
EITHER = ("answer", "output", "outputs", "antwort", "respuesta", "réponse", "risposta")
"""Names of a response or of a reference: the other columns decide."""
NOT_RETRIEVED = ("evolution_type", "episode_done", "scenario")
"""Columns of test sets whose `contexts` were not retrieved: the answers were written from them."""

CONVERSATIONS = ("messages", "conversation", "conversations", "turns")  # a row for each turn
MOST_COMPARED = 1000  # how many columns are compared with the names of fields that are missing
ALMOST = 0.87  # similarity of names: `respnse` is a response; `response_id` and `content` are not

FIELD_OF = by_name(ALIASES)  # plain name -> Sample field
WEAK_OF: Mapping[str, str] = {
    plain_name(name): field for field, names in WEAK.items() for name in names.split()
}


def field_of(name: str) -> str | None:
    return FIELD_OF.get(plain_name(name))


_TURNS = frozenset(map(plain_name, CONVERSATIONS))


def mapping(field: str, column: str) -> str:
    """Return how messages write that a column is mapped to a field."""
    return f"map {field}={shlex.quote(column)}"


def used_columns(chosen: Mapping[str, str]) -> set[str]:
    """Return the columns that are mapped, as a whole or in part."""
    paths = (path for path in chosen.values() if re.search(r"[.[|]", path))
    return {*chosen.values(), *chain.from_iterable(re.split(r"\W+", path) for path in paths)}


@dataclass(frozen=True)
class Layout:
    fields: Mapping[str, str]  # Sample field -> column
    ambiguous: Mapping[str, tuple[str, ...]]  # Sample field -> the columns that may be it
    tags: tuple[str, ...]
    conversations: tuple[str, ...]

    @classmethod
    def of(cls, columns: Sequence[str], chosen: Mapping[str, str]) -> "Layout":
        matches: dict[str, list[str]] = {}
        taken = used_columns(chosen)
        for column in (name for name in columns if name not in taken):
            plain = plain_name(column)
            if (field := FIELD_OF.get(plain)) and plain not in WEAK_OF and field not in chosen:
                names = matches.setdefault(field, [])
                names.insert(0 if plain == field else len(names), column)
        fields = {field: column for field, column in chosen.items() if column in columns}
        fields |= {of: names[0] for of, names in matches.items() if len(names) == 1 or of == "tags"}
        unclear = {of: tuple(names) for of, names in matches.items() if of not in fields}
        used = {*fields.values(), *chain.from_iterable(unclear.values())}
        free = [name for name in columns if name not in used]
        return cls(
            fields=fields,
            ambiguous=unclear,
            tags=tuple(name for name in free if plain_name(name) not in _TURNS),
            conversations=tuple(name for name in free if plain_name(name) in _TURNS),
        )


def resolve_columns(mapped: Mapping[str, str], columns: Sequence[str]) -> dict[str, str]:
    """Return Sample field -> column of a user's mapping, which may use aliases of fields."""
    found: dict[str, str] = {}
    for name, column in mapped.items():
        if (field := field_of(name)) is None:
            raise UnknownNameError("field", name, ALIASES)
        if field in found:
            raise UsageError(f"{mapping(name, column)}: {field} is already mapped to a column")
        similar = [other for other in columns if plain_name(other) == plain_name(column)]
        if column not in columns and len(similar) != 1:
            near = nearest(column, columns)
            offer = f"; did you mean {mapping(field, near)}?" if near else ""
            raise UsageError(
                f"{mapping(field, column)}: there is no column {column!r}{offer} "
                f"(the columns are {listing(columns)})"
            )
        found[field] = column if column in columns else similar[0]
    return found


def ambiguous(field: str, names: Sequence[str], *, row: int | None = None) -> Problem:
    seen = f"the columns {' and '.join(map(repr, names))} all match {field}"
    return Problem(seen, f"choose one: {mapping(field, 'COLUMN')}", row=row)


def no_query(columns: Sequence[str], hint: str = "") -> Problem:
    seen = listing(columns) or "none"
    return Problem(
        f"no query column found; the columns are {seen}", hint or mapping("query", "COLUMN")
    )


_OTHERS = ("referencecontext", "referencecontexts", "references", "sourcedocument")  # no fields


def misspelt(names: Iterable[str], missing: Iterable[str]) -> dict[str, str]:
    """Return Sample field without a column -> one whose name is almost a name of the field."""
    sure = ((field, n) for field in missing for n in (field, *_SURE.get(field, "").split()))
    known = {name: field for field, name in sure if len(name) > 7}
    found: dict[str, str] = {}
    for name in islice(names, MOST_COMPARED):
        near = nearest(name.replace(" ", "_"), known, cutoff=ALMOST)
        if near and field_of(name) is None and plain_name(name) not in _OTHERS:
            found.setdefault(known[near], name)
    return found


def unused_columns(fields: Collection[str], tags: Iterable[str]) -> tuple[str, ...]:
    missing = ALIASES.keys() - {"id", "query", "tags", *fields}
    return tuple(
        f"column {name!r} is not used; did you mean {field}? Use {mapping(field, name)}"
        for field, name in sorted(misspelt(tags, missing).items())
    )
