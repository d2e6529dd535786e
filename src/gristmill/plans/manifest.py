"""The modules that framework rooms may hold; one that is not listed keeps Gristmill from starting."""

from __future__ import annotations

__all__ = ["FRAMEWORK_MODULES"]

FRAMEWORK_MODULES: dict[str, frozenset[str]] = {
    "gristmill.plans": frozenset(
        {
            "compile",
            "definitions",
            "graph",
            "manifest",
            "names",
            "operator",
            "placement",
            "plan",
            "registry",
            "resources",
            "results",
            "signature",
        }
    ),
}
"""Room -> module names; `tests/tidy` holds it to what is there."""
