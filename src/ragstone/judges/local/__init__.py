"""Local models as judges: NLI, cross-encoders and token classifiers, run with onnxruntime."""

from ragstone.judges.local.judge import EntailmentJudge

__all__ = ["EntailmentJudge"]
