"""Keys and passwords of this process, and their removal from everything that it writes.

`remember` collects them where they are read: from the environment, headers, URLs and files.
`redact` cleans messages and logs; all exceptions of ragstone pass through it. `redact_known` cleans
replies of servers, in which nothing else may change. A secret is found as it is, as JSON and URLs
write it, and in base64: those are the forms in which servers and libraries send it back by
accident. A model that wants to give away a secret has endless others.
"""

import base64
import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from string import ascii_letters, digits
from typing import cast
from urllib.parse import quote, unquote

HIDDEN = "[hidden]"

_WORDS = "token|secret|pass(?:word|wd|phrase)|authorization|cookie|signature"
_NAME = re.compile(
    rf"(?:{_WORDS}|auth|key|bedrock)(?:_?\d+)?$", re.IGNORECASE
)  # its value is a secret
# scheme, user and password of a URL, even if it is mistyped
_URL = re.compile(r"\s*(?!\w:[\\/])([\w+.-]*)([:;]?/*)([^:@]*)(?::(.*))?@", re.DOTALL)
_PORT = re.compile(r"\d{1,5}/")  # of a URL that has an @ in its path
_PARAMETER = re.compile(r"(?:^|[?&;\s])([^=&;?\s]+)=([^&;#\s]+)")
_CREDENTIALS = re.compile(r"\b([A-Za-z][\w+.-]{1,30}(?:[:;]/{1,3}|/{2,3}))(\S{0,500})@")
_BEARER = re.compile(r"(?i)\b(bearer|basic) (?=\S*[\d=_-])[^\s\"',;<>]{8,}")
_NAMED = re.compile(  # `api_key=...` or `"api_key": "..."`
    rf"""(?i)((?:[?&]|api[_-]?)key=|(?:api[_-]?key|{_WORDS})(?:=|\\*["']\s*:\s*\\*["'])"""
    r"(?:(?:bearer|basic) )?+)"
    r"""(?!\[hidden)[^\s"'\\,;&<>)}\]]+"""
)
_SHORTEST = 8  # characters of a secret; local servers accept words such as `EMPTY`

_BASE64 = ascii_letters + digits + "+/-_"
_REST = re.compile(r"^(?:[\w+/-]|%2[BbFf])*(?:=|%3[Dd])*", re.ASCII)

_known = dict[str, bool]()  # secret -> whether no reply contains it by chance


def known_secrets() -> Mapping[str, bool]:
    return dict(_known)


def remember_secrets(known: Mapping[str, bool]) -> None:
    _known.update(known)


def remember(value: object, name: str = "", *, in_replies: bool = True) -> None:
    """Keep the secrets in a value from messages, and from replies unless `in_replies` is off.

    These are texts with the name of a secret, and credentials in URLs; headers of any name only in
    messages.
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


def is_secret(name: str) -> bool:
    return _NAME.search(name) is not None


VARIABLE = re.compile(r"\$\{(\w+)\}")  # an environment variable in a setting


def tells_secret(name: str, value: object) -> bool:
    """Whether a setting has a secret as it is, and not as `${NAME}`."""
    if isinstance(value, Mapping):
        fields = cast("Mapping[object, object]", value)
        return any(tells_secret(str(key), each) for key, each in fields.items())
    if isinstance(value, list | tuple):
        return any(tells_secret(name, each) for each in cast("Sequence[object]", value))
    if not isinstance(value, str):
        return False
    rest = re.sub(r"(?i)\A\s*(?:bearer|basic|token)\b", "", VARIABLE.sub("", value)).strip()
    named = is_secret(name) and not name.lower().endswith("cache_key")
    return bool(rest) and (named or _BEARER.search(value) is not None)


def _remember_text(text: str, name: str, in_replies: bool) -> None:
    if is_secret(name):
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
    text = _CREDENTIALS.sub(_without_credentials, text)
    text = _BEARER.sub(rf"\1 {HIDDEN}", text)
    return _NAMED.sub(rf"\1{HIDDEN}", text)


def _replaced(text: str, secrets: Iterable[str]) -> str:
    written = [
        (form, coded) for secret in secrets for form, coded in _forms(secret) if form in text
    ]
    for form, coded in sorted(written, key=lambda each: -len(each[0])):
        first, *rest = text.split(form)
        if coded and rest:  # what stands around the secret in the same token tells a part of it
            *between, last = (_REST.sub("", part, count=1) for part in rest)
            before = [part.rstrip(_BASE64) for part in (first, *between)]
            text = HIDDEN.join((*before, last))
        else:
            text = HIDDEN.join((first, *rest))
    return text


@cache
def _forms(secret: str) -> Sequence[tuple[str, bool]]:
    """Return how a secret is written, and whether that is base64: as it is, in JSON, in URLs."""
    plain = {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    plain |= {_in_url(secret), _in_url(secret, "/"), _in_url(secret).replace("%20", "+")}
    plain |= {_in_url(secret, "!$'()*,/:;@"), _in_url(secret, "!$&'()*+,/:;=?@")}
    for form in tuple(plain):  # quoted again, such as a URL in an error's text
        plain |= {_in_url(form), json.dumps(form)[1:-1], repr(form)[1:-1], html.escape(form)}
        plain.add(form.replace("'", "\\'"))
    coded: set[str] = set()
    raw = secret.encode("utf-8", "surrogatepass")
    for shift in range(3):  # base64 has three ways to write a text, depending on what precedes it
        whole = base64.b64encode(bytes(shift) + raw).decode()
        core = whole[-(-8 * shift // 6) : 8 * (shift + len(raw)) // 6]
        coded |= {core, core.replace("+", "-").replace("/", "_"), _in_url(core)}
    return [*((form, False) for form in plain), *((form, True) for form in coded)]


def _in_url(text: str, safe: str = "") -> str:
    return quote(text, safe=safe, errors="surrogatepass")


def _without_credentials(found: re.Match[str]) -> str:
    scheme, user = found.groups()
    _, colon, password = user.partition(":")
    named = scheme.lower().startswith("http") and "/" not in user
    secret = named or (colon and not _PORT.match(password))
    return f"{scheme}{HIDDEN}@" if secret else found[0]
