"""Parsing of replies: a value of the question's type, or the reason why there is none.

JSON comes first, then, unless `strict_json`, the plain text of older prompts. JSON that is cut off
is never completed.
"""
