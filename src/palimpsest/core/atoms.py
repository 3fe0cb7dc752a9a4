"""Atoms: the words of a text that nobody could guess, so nobody can work without.

Presence is not use: an atom that stands in a text is a chance to use it, not a proof.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from palimpsest.core.excerpt import Json

MIN_ATOM_CHARS = 6
MAX_ATOM_CHARS = 200

# Letters are ASCII, Latin, Greek and Cyrillic. Scripts written without spaces separate words: in
# running Chinese text there is no telling where a path would begin. A backslash is kept only
# behind a drive letter, since elsewhere in tool output it begins an escape far more often; the
# first alternatives keep the letter of an escape, and the slash of a closing tag, from becoming
# the beginning of a name.
_LETTER = r"A-Za-z\u00C0-\u024F\u0370-\u052F"
_TOKEN = re.compile(
    rf"\\[nrt]|</|[A-Za-z]:\\[{_LETTER}0-9_.\\~@-]+|[{_LETTER}0-9_./~@-]{{{MIN_ATOM_CHARS},}}"
)
_BREAK = re.compile(r"\s")
_SLICE_CHARS = 1 << 20
_EDGE = "-./~@\\"
_ANY_LETTER = re.compile(rf"[{_LETTER}]")
_SNAKE_DIGIT_OR_CAMEL = re.compile(r"_|[0-9]|[a-z][A-Z]|[A-Z]{2}[a-z]{2}")
_DOTTED = re.compile(rf"[{_LETTER}_][{_LETTER}0-9_]*(?:\.[{_LETTER}0-9_]+)+")
_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+){2,}")
_WORD = rf"(?:[A-Z]+|[{_LETTER}][a-z\u00C0-\u024F\u0370-\u052F]*)"
_TWO_WORDS = re.compile(rf"{_WORD}/{_WORD}")


def atoms(text: str) -> list[str]:
    """Give the atoms of ``text`` in text order, repeats included; time grows linearly.

    An atom is a token of 6 to 200 characters that is one of:

    * a path: a slash (or a drive letter and backslashes) between names; two plain words with one
      slash between them (``and/or``) are none, unless a slash or ``./`` leads;
    * a snake_case name (a letter or digit and an underscore);
    * a camelCase name (a capital behind a small letter, or ``HTTPServer``);
    * a dotted identifier (``os.path``) or file name (``main.py``), not a decimal number;
    * a version (``2.62.0``) or address of at least three numbers;
    * a number with letters (``utf16le``, ``9f2c1aa``, ``django-11299``): hashes fall under it.

    Plain words, capitalised or not, and words joined by hyphens are none. Punctuation at the end
    is cut off; at the start ``-``, ``@``, ``//``, ``./`` and an ellipsis are, while a leading
    dot, tilde, slash or ``../`` belongs to the name.
    """
    return [atom for atom in map(_as_atom, _TOKEN.findall(text)) if atom]


def count_atoms(text: str) -> dict[str, int]:
    """Count the atoms of ``text``, in the order of their first occurrence."""
    tokens, counts = Counter[str](), dict[str, int]()
    for start, end in _slices(text):
        tokens.update(_TOKEN.findall(text, start, end))
    for token, times in tokens.items():
        if atom := _as_atom(token):
            counts[atom] = counts.get(atom, 0) + times
    return counts


def _slices(text: str) -> Iterator[tuple[int, int]]:
    """Cut a text behind white space, which no token holds: a list of all tokens is many texts."""
    start = 0
    while start < len(text):
        found = _BREAK.search(text, start + _SLICE_CHARS)
        end = found.end() if found else len(text)
        yield start, end
        start = end


def string_leaves(value: Json) -> list[str]:
    """Give all strings inside a JSON value, in order; keys are no leaves."""
    leaves: list[str] = []
    pending: list[Json] = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            leaves.append(item)
        elif isinstance(item, list):
            pending.extend(reversed(item))
        elif isinstance(item, dict):
            pending.extend(reversed(item.values()))
    return leaves


def argument_atoms(arguments: Json) -> list[str]:
    """Give the atoms of a tool call's arguments: those of all its string leaves, in order."""
    return [atom for leaf in string_leaves(arguments) for atom in atoms(leaf)]


def is_path(atom: str) -> bool:
    """Say whether an atom names a place in a file tree (or a URL's host and path)."""
    return "/" in atom or "\\" in atom


def _as_atom(token: str) -> str:
    """Give the atom a token holds, or an empty string."""
    if token.isalpha() and token[1:].islower():
        return ""  # a plain word, as most tokens of a text are
    name = _trim(token) if token[0] in _EDGE or token[-1] in _EDGE else token
    if not MIN_ATOM_CHARS <= len(name) <= MAX_ATOM_CHARS or not _is_telling(name):
        return ""
    return name


def _trim(token: str) -> str:
    name = token.rstrip(_EDGE).lstrip("-@")
    if len(name) > 2 * MAX_ATOM_CHARS:  # what follows copies the name at each turn
        return ""
    while name.startswith(("./", "//", "-", "@")):
        name = name[1:].lstrip("/") if name[0] != "." else name[2:]
    if name.startswith("..") and not name.startswith("../"):
        return _trim(name.lstrip("."))
    return name


def _is_telling(name: str) -> bool:
    if "/" in name or "\\" in name:
        return _ANY_LETTER.search(name) is not None and not _TWO_WORDS.fullmatch(name)
    if _ANY_LETTER.search(name) is None:
        return _VERSION.fullmatch(name) is not None
    return bool(_SNAKE_DIGIT_OR_CAMEL.search(name) or _DOTTED.fullmatch(name.lstrip(".")))
