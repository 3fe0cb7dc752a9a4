from __future__ import annotations

import importlib
from types import ModuleType

import pytest

import palimpsest.models
import palimpsest.testing

PUBLIC = {
    "palimpsest.models": [
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
    ],
    "palimpsest.testing": [
        "OVERFLOWS",
        "SAMPLE_HISTORIES",
        "Call",
        "FailingStore",
        "FrozenClock",
        "Gate",
        "Reply",
        "ScriptEndedError",
        "ScriptedModel",
        "SeenRequest",
        "image_history",
        "short_history",
        "tool_history",
        "unanswered_history",
    ],
}


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_resolve_on_first_use(name: str) -> None:
    module: ModuleType = importlib.import_module(name)
    assert sorted(module.__all__) == sorted(PUBLIC[name])
    for public in PUBLIC[name]:
        vars(module).pop(public, None)
        assert getattr(module, public) is getattr(module, public)
    assert set(PUBLIC[name]) <= set(dir(module))
    with pytest.raises(AttributeError, match="no attribute 'nothing_of_ours'"):
        _ = module.nothing_of_ours


def test_both_packages_are_imported() -> None:
    assert palimpsest.models.__doc__
    assert palimpsest.testing.__doc__
