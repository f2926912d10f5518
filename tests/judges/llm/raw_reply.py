from ragstone.judges.llm.replies import RawReply
from ragstone.types.questions import VerifyClaims


def raw(text: str, question: VerifyClaims, *, legacy_text: bool = False) -> RawReply:
    return RawReply(text, (*question.contexts, *question.claims), legacy_text)
