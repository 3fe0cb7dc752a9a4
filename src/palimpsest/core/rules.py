"""Sentences in which a user lays down a rule, found by a table of words per language."""

from __future__ import annotations

import re

_WORDS: dict[str, tuple[str, ...]] = {
    "English": (
        "never", "always", "must", "must not", "mustn't", "do not", "don't", "only", "make sure",
        "ensure", "avoid", "instead of", "required", "not allowed", "without", "prefer", "remember",
        "keep in mind", "from now on", "no longer", "should not", "shouldn't",
    ),
    "German": (
        "nie", "niemals", "immer", "muss", "müssen", "darf nicht", "dürfen nicht", "nicht", "kein",
        "keine", "keinen", "nur", "stets", "vermeide", "bitte beachte", "achte darauf", "ab jetzt",
        "unbedingt", "ausschließlich", "statt",
    ),
    "French": ("jamais", "toujours", "doit", "ne pas", "seulement", "évite", "assure-toi"),
    "Spanish": ("nunca", "siempre", "debe", "debes", "solo", "evita", "asegúrate"),
}  # fmt: skip
_UNSPACED_WORDS: dict[str, tuple[str, ...]] = {
    "Chinese": (
        "不要", "不能", "不得", "不可", "禁止", "必须", "必須", "务必", "務必", "总是", "總是",
        "只能", "仅", "確保", "确保", "避免", "记住", "記住", "永远", "从不", "别再", "一定要",
    ),
    "Japanese": ("しないで", "必ず", "禁止", "なければ", "てはいけない", "のみ", "常に"),
}  # fmt: skip
_SPACED = "|".join(re.escape(word) for words in _WORDS.values() for word in words)
_UNSPACED = "|".join(re.escape(word) for words in _UNSPACED_WORDS.values() for word in words)
_RULE = re.compile(rf"\b(?:{_SPACED})\b|{_UNSPACED}".replace("'", "['’]"), re.IGNORECASE)
# "I don't think so" states something; "don't touch it" asks for something.
_STATEMENT = re.compile(r"\b(?:I|we|you|they|it|that|this) (?:don['’]t|do not)\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?])[ \t]+|[\r\n]+|(?<=[。！？])")
_FENCE = re.compile(r"^(?:```|~~~).*?(?:^(?:```|~~~)|\Z)", re.MULTILINE | re.DOTALL)
_MAX_RULE_CHARS = 500
_MAX_TEXT_CHARS = 20_000


def user_rules(text: str) -> tuple[str, ...]:
    """Give the sentences of a user's prompt that look like rules, verbatim, in order, once each.

    A sentence ends at a line break or a full stop and counts if it holds a word such as "never",
    "only", "nicht" or "必须". This is a pattern, not an understanding: say so wherever it is shown.
    Questions, fenced code, sentences over 500 characters and all behind 20,000 characters are
    passed over, since they are seldom rules.
    """
    prose = _FENCE.sub("\n", text[:_MAX_TEXT_CHARS])
    found = (sentence.strip(" \t-*>#") for sentence in _SENTENCE_END.split(prose))
    return tuple(
        dict.fromkeys(
            sentence
            for sentence in found
            if len(sentence) <= _MAX_RULE_CHARS and _is_rule(sentence)
        )
    )


def _is_rule(sentence: str) -> bool:
    return not sentence.endswith(("?", "？")) and bool(_RULE.search(_STATEMENT.sub("", sentence)))
