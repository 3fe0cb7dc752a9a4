"""Models: by name, with their limits, their failures and the summaries they write."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from palimpsest.models.cap import CappedRequest as CappedRequest
    from palimpsest.models.cap import cap_request as cap_request
    from palimpsest.models.limits import Limit as Limit
    from palimpsest.models.limits import LimitChoices as LimitChoices
    from palimpsest.models.limits import ModelLimits as ModelLimits
    from palimpsest.models.limits import model_limits as model_limits
    from palimpsest.models.limits import request_fixed_measure as request_fixed_measure
    from palimpsest.models.model_summarizer import ModelSummarizer as ModelSummarizer
    from palimpsest.models.model_summarizer import (
        ModelSummarizerSettings as ModelSummarizerSettings,
    )
    from palimpsest.models.overflow import Overflow as Overflow
    from palimpsest.models.overflow import classify_overflow as classify_overflow
    from palimpsest.models.overflow import silent_overflow as silent_overflow
    from palimpsest.models.resolve import CompatibleEndpoint as CompatibleEndpoint
    from palimpsest.models.resolve import ResolvedModel as ResolvedModel
    from palimpsest.models.resolve import resolve_model as resolve_model
    from palimpsest.models.summarizer import ExtractiveSummarizer as ExtractiveSummarizer
    from palimpsest.models.summarizer import GeneratedSummary as GeneratedSummary
    from palimpsest.models.summarizer import Summarizer as Summarizer
    from palimpsest.models.summarizer import SummaryJob as SummaryJob

_HOMES = {
    "CappedRequest": "palimpsest.models.cap",
    "CompatibleEndpoint": "palimpsest.models.resolve",
    "ExtractiveSummarizer": "palimpsest.models.summarizer",
    "GeneratedSummary": "palimpsest.models.summarizer",
    "Limit": "palimpsest.models.limits",
    "LimitChoices": "palimpsest.models.limits",
    "ModelLimits": "palimpsest.models.limits",
    "ModelSummarizer": "palimpsest.models.model_summarizer",
    "ModelSummarizerSettings": "palimpsest.models.model_summarizer",
    "Overflow": "palimpsest.models.overflow",
    "ResolvedModel": "palimpsest.models.resolve",
    "Summarizer": "palimpsest.models.summarizer",
    "SummaryJob": "palimpsest.models.summarizer",
    "cap_request": "palimpsest.models.cap",
    "classify_overflow": "palimpsest.models.overflow",
    "model_limits": "palimpsest.models.limits",
    "request_fixed_measure": "palimpsest.models.limits",
    "resolve_model": "palimpsest.models.resolve",
    "silent_overflow": "palimpsest.models.overflow",
}

__all__ = [
    "CappedRequest",
    "CompatibleEndpoint",
    "ExtractiveSummarizer",
    "GeneratedSummary",
    "Limit",
    "LimitChoices",
    "ModelLimits",
    "ModelSummarizer",
    "ModelSummarizerSettings",
    "Overflow",
    "ResolvedModel",
    "Summarizer",
    "SummaryJob",
    "cap_request",
    "classify_overflow",
    "model_limits",
    "request_fixed_measure",
    "resolve_model",
    "silent_overflow",
]


def __getattr__(name: str) -> object:
    """Resolve a public name on first use.

    Raises:
        AttributeError: the name is not in ``__all__``.
    """
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
