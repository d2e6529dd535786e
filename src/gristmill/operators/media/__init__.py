"""What can be found out about pictures: where they are, what they resemble, whether they are known. Pure."""

from gristmill.operators.media.match_list import ListHit, MatchList, read_match_list
from gristmill.operators.media.perceptual import (
    PerceptualHash,
    compute_hash,
    compute_hash_keys,
    count_differences,
)
from gristmill.operators.media.references import find_references, show_reference
from gristmill.operators.media.vectors import compute_vector_keys

__all__ = [
    "ListHit",
    "MatchList",
    "PerceptualHash",
    "compute_hash",
    "compute_hash_keys",
    "compute_vector_keys",
    "count_differences",
    "find_references",
    "read_match_list",
    "show_reference",
]
