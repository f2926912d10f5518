"""Forms: how each kind of question is put to a model, and how its reply is read."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import cast

from ragstone.judges.forms.about_claims import ClaimsForm, ExplainForm, TruthsForm, VerdictsForm
from ragstone.judges.forms.about_texts import (
    AbstentionForm,
    ContextsForm,
    QueriesForm,
    RatingForm,
    SentencesForm,
)
from ragstone.judges.forms.base import Form

_ALL = (
    ClaimsForm(),
    VerdictsForm(),
    TruthsForm(),
    ExplainForm(),
    ContextsForm(),
    SentencesForm(),
    QueriesForm(),
    AbstentionForm(),
    RatingForm(),
)

FORMS: Mapping[str, Form[object]] = MappingProxyType(
    {form.kind: cast("Form[object]", form) for form in _ALL}
)
"""Kind of question -> how it is put and read."""

__all__ = ["FORMS", "Form"]
