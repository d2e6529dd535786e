"""Reads the part `map` of a Source file: which path fills which field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from gristmill.intake.sources.conversions import CONVERSIONS, WITH_ARGUMENT
from gristmill.intake.sources.definition import ConversionStep, FieldRule
from gristmill.intake.sources.kinds import describe_fields, required_fields
from gristmill.intake.sources.place import Place
from gristmill.intake.sources.validation import fits
from gristmill.plans.definitions.yaml_lines import line_of, without_lines
from gristmill.plans.names import advise_known

__all__ = ["read_field_rules"]

RULE_KEYS = ("to", "path", "required", "default", "convert", "many")
RULES_MAX = 500


def read_field_rules(
    place: Place, root: Mapping[str, Any], *, kind: str, tenant: str, extension: Mapping[str, Any]
) -> tuple[FieldRule, ...]:
    """Return the rules in the order of the file.

    Raises:
        ConfigError: an unknown field or conversion, a path that is none, a field that is filled twice.
    """
    own = extension.get("properties", {})
    known = {**describe_fields(kind), **{f"ext.{tenant}.{name}": schema for name, schema in own.items()}}
    rules: dict[str, FieldRule] = {}
    for fields in place.read_list(root, "map", most=RULES_MAX):
        if not isinstance(fields, dict):
            place.refuse("map", line_of(root, "map"), "has an entry without keys", 'write {to: FIELD, path: "$.x"}')
        rule = _read_rule(place, fields, known)
        if rule.to in rules:
            place.refuse(f"field {rule.to!r}", rule.line, "is filled twice", "keep one of the rules")
        rules[rule.to] = rule
    if not rules:
        place.refuse(
            "map", line_of(root, "map") or line_of(root), "fills no field", f"fields of {kind}: {', '.join(known)}"
        )
    for missing in sorted(required_fields(kind) - rules.keys()):
        place.refuse("map", line_of(root, "map"), f"does not fill {missing!r}", f"every {kind} has it")
    return tuple(rules.values())


def _read_rule(place: Place, fields: dict[str, Any], known: Mapping[str, Any]) -> FieldRule:
    place.check_keys("map", fields, RULE_KEYS)
    to = fields.get("to")
    line = line_of(fields, "to")
    if to not in known:
        _refuse_field(place, to, line, known)
    thing = f"field {to!r}"
    flags = {}
    for key in ("required", "many"):
        flags[key] = fields.get(key, False)
        if not isinstance(flags[key], bool):
            place.refuse(thing, line_of(fields, key), f"{key} is {flags[key]!r}", "write true or false")
    if flags["required"] and "default" in fields:
        place.refuse(thing, line_of(fields, "default"), "is required and has a default", "keep one of both")
    default = without_lines(fields.get("default"))
    if default is not None and not fits(default, known[str(to)]):
        line_of_default = line_of(fields, "default")
        place.refuse(thing, line_of_default, f"default {default!r} is no value of this field", "see its schema")
    return FieldRule(
        to=str(to),
        path=place.check_path(thing, line_of(fields, "path"), fields.get("path")),
        required=flags["required"],
        default=default,
        convert=_read_steps(place, thing, fields),
        many=flags["many"],
        line=line,
    )


def _refuse_field(place: Place, to: object, line: int, known: Mapping[str, Any]) -> NoReturn:
    if isinstance(to, str) and to.startswith("ext."):
        own = [name for name in known if name.startswith("ext.")]
        advice = f"declare it under extension:; {advise_known(to, own)}"
        place.refuse(f"field {to!r}", line, "is declared by no extension of this tenant", advice)
    place.refuse("map", line, f"unknown field {to!r}", advise_known(str(to), known))


def _read_steps(place: Place, thing: str, fields: dict[str, Any]) -> tuple[ConversionStep, ...]:
    entries = fields.get("convert", [])
    line = line_of(fields, "convert")
    steps: list[ConversionStep] = []
    for entry in entries if isinstance(entries, list) else [entries]:
        name, argument = entry, None
        if isinstance(entry, dict):
            plain = without_lines(entry)
            name, argument = next(iter(plain.items())) if len(plain) == 1 else (None, None)
        known = [*CONVERSIONS, *WITH_ARGUMENT]
        if name not in known:
            place.refuse(thing, line, f"unknown conversion {name!r}", advise_known(str(name), known))
        if isinstance(entry, dict) and (name not in WITH_ARGUMENT or not isinstance(argument, str) or not argument):
            place.refuse(thing, line, f"conversion {name!r} takes no {argument!r}", 'with a text: {split: ";"}')
        steps.append(ConversionStep(name, argument))
    return tuple(steps)
