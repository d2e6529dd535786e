"""What can be said about a text without a model: form, links, phrases, words, keys; and a small head to train.

Each file holds one finding: a frozen result struct and the function that computes it. No IO but shipped tables, no
clock, no chance: equal texts give equal results in every process.
"""

from gristmill.operators.text.contacts import Contacts, find_contacts
from gristmill.operators.text.duplicates import TextKeys, compute_keys
from gristmill.operators.text.language import Language, detect_language
from gristmill.operators.text.normalise import Normalised, normalise
from gristmill.operators.text.profanity import Profanity, find_profanity, load_lexicon
from gristmill.operators.text.quality import Quality, measure_quality
from gristmill.operators.text.signals import SIGNALS, Findings, collect_evidence, collect_signals
from gristmill.operators.text.spam import SpamSignals, find_spam_signals

__all__ = [
    "SIGNALS",
    "Contacts",
    "Findings",
    "Language",
    "Normalised",
    "Profanity",
    "Quality",
    "SpamSignals",
    "TextKeys",
    "collect_evidence",
    "collect_signals",
    "compute_keys",
    "detect_language",
    "find_contacts",
    "find_profanity",
    "find_spam_signals",
    "load_lexicon",
    "measure_quality",
    "normalise",
]
