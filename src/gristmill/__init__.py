"""Gristmill: streams of user content in; labels, scores and decisions out, stored with their cause."""

from gristmill.domain.contribution import Count, Join
from gristmill.domain.item import Item, Label
from gristmill.domain.outcome import Done, End, Fail, Park, Retry, Skip
from gristmill.domain.run import Effect
from gristmill.plans.operator import task
from gristmill.plans.plan import Flow, Generator, Plan
from gristmill.plans.resources import Role, RunScope, Situation
from gristmill.plans.results import cell, kept, transient
from gristmill.ports.cache import Cache
from gristmill.ports.models import LLM, Embedder

__all__ = [
    "LLM",
    "Cache",
    "Count",
    "Done",
    "Effect",
    "Embedder",
    "End",
    "Fail",
    "Flow",
    "Generator",
    "Item",
    "Join",
    "Label",
    "Park",
    "Plan",
    "Retry",
    "Role",
    "RunScope",
    "Situation",
    "Skip",
    "cell",
    "kept",
    "task",
    "transient",
]
