"""Parsing of replies: a value of the question's type, or a JudgeFailureError with the reason.

JSON comes first, then, unless `strict_json`, the plain text of older prompts. JSON that is cut off
is never completed.
"""
