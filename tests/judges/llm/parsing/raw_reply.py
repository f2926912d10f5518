from ragstone.judges.llm.parsing.json import RawReply
from ragstone.types.questions import VerifyClaims


def raw(text: str, question: VerifyClaims, *, strict_json: bool = False) -> RawReply:
    return RawReply(text, (*question.contexts, *question.claims), strict_json)
