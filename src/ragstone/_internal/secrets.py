"""Keys and passwords of this process, and their removal from everything that it writes.

`remember` collects them where they are read: from the environment, headers, URLs and files.
`redact` cleans messages and logs; all exceptions of ragstone pass through it. `redact_known` cleans
replies of servers, in which nothing else may change.
"""

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from html import unescape
from html.entities import codepoint2name
from string import ascii_letters, digits
from typing import cast
from urllib.parse import unquote

HIDDEN = "[hidden]"

_WORDS = "token|secret|pass(?:word|wd|phrase)|authorization|cookie|signature"
_NAME = re.compile(rf"(?:{_WORDS}|key|bedrock)(?:_?\d+)?$", re.IGNORECASE)
"""The name of a variable, header, parameter or setting whose value is a secret."""
_URL = re.compile(r"\s*(?!\w:[\\/])([\w+.-]*)([:;]?/*)([^:@]*)(?::(.*))?@", re.DOTALL)
"""A URL with credentials, even if it is mistyped: its scheme, user and password."""
_PORT = re.compile(r"\d{1,5}/")
"""The port of a URL that has an @ in its path."""
_PARAMETER = re.compile(r"(?:^|[?&;\s])([^=&;?\s]+)=([^&;#\s]+)")
_SHORTEST = 8
"""Characters of a secret; local servers accept words such as `EMPTY`."""

_ESCAPES = r"(?:\\|%(?:25)*5[cC]){0,9}"
"""Backslashes, in a URL too."""

_BASE64 = ascii_letters + digits + "+/-_"
_REST = r"(?:[\w+/-]|%(?:25)*2[BbFf])*(?:=|%(?:25)*3[Dd])*"
"""The end of a token in base64."""
_CODE = re.compile(r"(?:\\[ux]|%u)(?:00)?([0-9a-f]{2})", re.IGNORECASE)
_SIGNS = re.compile(r"[\W_]+")

_known = dict[str, bool]()
"""Secret -> whether no reply contains it by chance."""


def known_secrets() -> Mapping[str, bool]:
    return dict(_known)


def remember_secrets(known: Mapping[str, bool]) -> None:
    _known.update(known)


def remember(value: object, name: str = "", *, in_replies: bool = True) -> None:
    """Keep the secrets in a value from messages, and from replies unless `in_replies` is off.

    These are texts with the name of a secret, and credentials in URLs; headers of any name only in
    messages. Names of mappings replace `name`; a list's items share it.
    """
    if isinstance(value, Mapping):
        for key, item in cast("Mapping[object, object]", value).items():
            remember(item, str(key), in_replies=in_replies)
            if name.lower().endswith("headers") and not re.search("[/{]", str(item)):
                remember(item, "key", in_replies=False)
    elif isinstance(value, str):
        _remember_text(value, name, in_replies)
    elif isinstance(value, Sequence):
        for item in cast("Sequence[object]", value):
            remember(item, name, in_replies=in_replies)


def _remember_text(text: str, name: str, in_replies: bool) -> None:
    if _NAME.search(name):
        _add(text, in_replies)
    elif name.endswith("_HEADERS"):  # OpenTelemetry's, such as `api-key=abc,x=y`
        remember(dict(part.split("=", 1) for part in text.split(",") if "=" in part))
    for parameter, value in _PARAMETER.findall(text) if "=" in text else ():
        remember(unquote(value), "key" if parameter == "code" else parameter)
    if "@" in text and (found := _URL.match(text)):
        scheme, between, user, password = found.groups()
        if password and not _PORT.match(password):
            _add(password, in_replies)
            sent = f"{unquote(user)}:{unquote(password)}".encode("utf-8", "surrogateescape")
            _add(base64.b64encode(sent).decode(), in_replies)
        elif not password and (between == ":" or scheme.lower().startswith("http")):
            _add(user, in_replies)


def _add(value: str, in_replies: bool) -> None:
    texts = [value, unquote(value)]
    texts += [text.split()[-1] for text in texts if text.strip()]  # without `Bearer`
    with suppress(ValueError):  # unless it is the value of `Basic`
        texts.append(base64.b64decode(texts[-1], validate=True).decode().partition(":")[2])
    for text in (text.strip() for text in texts):
        if len(text) >= _SHORTEST:
            rare = len(text) >= 12 or re.search("[0-9].*[A-Za-z]|[A-Za-z].*[0-9]", text)
            _known[text] = bool(in_replies and rare) or _known.get(text, False)


def redact_known(text: str) -> str:
    return _replaced(text, (secret for secret, rare in _known.items() if rare))


def redact(text: str) -> str:
    """Return a message without secrets: those of this process, and what must be one."""
    text = _replaced(text, _known)
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def is_disguised(text: str) -> bool:
    decoded = unescape(unquote(_CODE.sub(lambda found: chr(int(found[1], 16)), text)))
    letters = _letters(decoded)
    shown = (_letters(secret) for secret, rare in _known.items() if rare)
    return any(len(secret) >= _SHORTEST and secret in letters for secret in shown)


def _letters(text: str) -> str:
    return _SIGNS.sub("", text).lower()


def _replaced(text: str, secrets: Iterable[str]) -> str:
    lower = text.lower()
    found = [
        (anchor, pattern, coded)
        for secret in secrets
        for anchor, pattern, coded in _forms(secret)
        if anchor in (text if coded else lower)
    ]
    for _, pattern, coded in sorted(found, key=lambda form: -len(form[0])):
        *before, rest = pattern.split(text)
        before = [each.rstrip(_BASE64) for each in before] if coded else before
        text = HIDDEN.join((*before, rest))
    return text


@cache
def _forms(secret: str) -> Sequence[tuple[str, re.Pattern[str], bool]]:
    """Return a part that no way of quoting changes, a pattern, and whether it is in base64.

    As text, a secret is found in any case, and its part is in lower case. In base64, the pattern
    includes what follows the secret in the same token.
    """
    raw = secret.encode("utf-8", "surrogateescape")
    pattern = re.compile("".join(map(_quoted, secret)), re.IGNORECASE)
    forms = [(_plain_part(secret.lower()), pattern, False)]
    for shift in range(3):  # base64 has three ways to write a text, depending on what precedes it
        coded = base64.b64encode(bytes(shift) + raw).decode()
        text = coded[-(-8 * shift // 6) : 8 * (shift + len(raw)) // 6]
        pattern = re.compile("".join(map(_quoted, text)) + _REST)
        forms.append((_plain_part(text), pattern, True))
    return forms


def _plain_part(text: str) -> str:
    return max(re.findall("[A-Za-z0-9]*", text), key=len)


def _quoted(char: str) -> str:
    if re.fullmatch("[A-Za-z0-9]", char):
        return char
    code, raw = ord(char), char.encode("utf-8", "surrogateescape")
    units = char.encode("utf-16-be", "surrogatepass")
    ways = [
        re.escape(char),
        _ESCAPES.join(f"u(?i:{units[at : at + 2].hex()})" for at in range(0, len(units), 2)),
        "".join(f"%(?:25)*(?i:{byte:02x})" for byte in raw),
        f"&(?:amp;)*(?:#0*{code}|#[xX]0*(?i:{code:x})|{codepoint2name.get(code, '#')});",
        *([r"\+"] if char == " " else ["-"] if char == "+" else ["_"] if char == "/" else []),
    ]
    return f"{_ESCAPES}(?:{'|'.join(ways)})"


def _without_credentials(found: re.Match[str]) -> str:
    scheme, user = found.groups()
    _, colon, password = user.partition(":")
    named = scheme.lower().startswith("http") and "/" not in user
    secret = named or (colon and not _PORT.match(password))
    return f"{scheme}{HIDDEN}@" if secret else found[0]


_PATTERNS = (
    (
        re.compile(r"\b([A-Za-z][\w+.-]{1,30}(?:[:;]/{1,3}|/{2,3}))(\S{0,500})@"),
        _without_credentials,
    ),
    (re.compile(r"(?i)\b(bearer|basic) (?=\S*[\d=_-])[^\s\"',;<>]{8,}"), rf"\1 {HIDDEN}"),
    (
        re.compile(
            rf"""(?i)((?:[?&]|api[_-]?)key=|(?:api[_-]?key|{_WORDS})(?:=|\\*["']\s*:\s*\\*["'])"""
            r"(?:(?:bearer|basic) )?+)"
            r"""(?!\[hidden)[^\s"'\\,;&<>)}\]]+"""
        ),
        rf"\1{HIDDEN}",
    ),
)
"""Credentials in URLs, `Bearer ...`, and `api_key=...` or `"api_key": "..."`."""
