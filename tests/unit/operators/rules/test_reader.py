"""A rule file is refused with file, line, rule and the nearest known name; a sound one is compiled."""

import pytest

from gristmill.domain.errors import ConfigError
from gristmill.operators.rules import RuleSet, read_rules

KNOWN = {"link_count": 0, "caps_share": 0.0, "is_loud": False, "language": "und"}

SOUND = """\
trusted_hosts: [Example.org]
labels:
  spam: {threshold: 0.6, score: "is_loud ? 1.0 : combined"}
  lang: {}
rules:
  - id: many-links
    when: link_count > 2 && caps_share > 0.5
    val: spam
    score: 0.7
    reason: many links
    evidence: [link_count]
  - id: language
    when: language != 'und'
    val: lang
    score: caps_share
    reason: language
"""


def read(text: str) -> RuleSet:
    return read_rules(text, file="my-rules.yaml", known=KNOWN)


def refusal(old: str, new: str) -> str:
    assert old in SOUND
    with pytest.raises(ConfigError) as caught:
        read(SOUND.replace(old, new, 1))
    return str(caught.value)


def test_a_sound_file_is_read() -> None:
    rules = read(SOUND)
    assert [rule.id for rule in rules.rules] == ["many-links", "language"]
    assert rules.rules[0].line == 7
    assert rules.trusted_hosts == {"example.org"}
    assert rules.names == ("caps_share", "is_loud", "language", "link_count")
    assert rules.labels["spam"].threshold == 0.6


def test_the_revision_follows_the_text() -> None:
    assert read(SOUND).revision == read(SOUND).revision != read(SOUND + "# note\n").revision


def test_a_mistake_of_syntax_names_file_line_rule_and_character() -> None:
    message = refusal("link_count > 2 &&", "link_count > &&")
    assert "my-rules.yaml:7: rule 'many-links'" in message
    assert "character 14" in message


def test_an_unknown_signal_names_the_nearest_known_one() -> None:
    message = refusal("caps_share > 0.5", "capz_share > 0.5")
    assert "my-rules.yaml:7: rule 'many-links': unknown signal 'capz_share' at character 19" in message
    assert "did you mean 'caps_share'" in message


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("link_count > 2", "link_count > 'two'", "compare integers"),
        ("link_count > 2 && caps_share > 0.5", "link_count", "must give a bool"),
        ("score: 0.7", "score: 7", "0.0 to 1.0"),
        ("score: 0.7", "score: caps_shar", "did you mean 'caps_share'"),
        ("score: 0.7", "score: link_count", "is no score"),
        ("evidence: [link_count]", "evidence: [links]", "did you mean 'link_count'"),
        ("evidence: [link_count]", "evidence: link_count", "no list"),
        ("val: spam", "val: spma", "did you mean 'spam'"),
        ("reason: many links", "reson: many links", "did you mean 'reason'"),
        ("reason: many links", "reason: ''", "reason is missing"),
        ("id: language", "id: many-links", "stands twice"),
        ("labels:", "label:", "did you mean 'labels'"),
        ("threshold: 0.6", "treshold: 0.6", "did you mean 'threshold'"),
        ("combined", "combind", "did you mean 'combined'"),
        ("combined", "'x'", "must give a float"),
        ("lang: {}", "lang: high", "has no fields"),
        ("[Example.org]", "[1]", "no list of hosts"),
        ("rules:", "rules: [", "no valid YAML"),
        ("    val: spam\n", "    val: spam\n    val: lang\n", "stands twice"),
    ],
)
def test_other_mistakes_are_refused(old: str, new: str, told: str) -> None:
    message = refusal(old, new)
    assert message.startswith("my-rules.yaml")
    assert told in message


@pytest.mark.parametrize("text", ["", "[]", "rules: []", "labels: {a: {}}\nrules: []", "labels: {a: {}}\nrules: [1]"])
def test_files_without_rules_are_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        read(text)


def test_names_bound_by_a_macro_are_no_signals() -> None:
    rules = read(SOUND.replace("language != 'und'", "\"['de', 'en'].exists(code, code == language)\""))
    assert "code" not in rules.names


def test_yaml_tags_run_no_code() -> None:
    with pytest.raises(ConfigError, match="no valid YAML"):
        read("labels: !!python/object/apply:os.getcwd []\n")
