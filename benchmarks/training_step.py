"""Time and memory of one SLiSDE training step, beside the figures published for it.

The shape is the paper's, B = 1024 paths and N = 512 steps of the L = 2 TOY cell, unless told
otherwise. Every engine runs in a process of its own, because peak memory belongs to a process.

    python benchmarks/training_step.py [--paths B] [--steps N] [--repeat R]
"""

import argparse
import sys

from slisde.errors import EngineError
from slisde.experiments.timing import in_fresh_process

PUBLISHED = {"published code": (16.9, 10.3), "plain batched lax.scan": (5.6, float("nan"))}
"""Seconds and gigabytes of the authors' code and of a sketch, on a two-core AMD EPYC with AVX-512."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--paths", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=512)
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    rows = dict(PUBLISHED)
    for engine in ("jax", "native"):
        try:
            result = in_fresh_process(given.paths, given.steps, repeat=given.repeat, engine=engine)
        except EngineError as error:
            print(f"{engine}: {error}", file=sys.stderr)
            continue
        rows[f"slisde, {engine} engine"] = result["alone_step_s"], result["peak_memory_gb"]
    print(f"{'training step':<26}{'seconds':>9}{'GB':>7}{'vs published':>14}")
    for name, (seconds, gigabytes) in rows.items():
        ratio = PUBLISHED["published code"][0] / seconds
        print(f"{name:<26}{seconds:>9.3f}{gigabytes:>7.2f}{ratio:>13.1f}x")


if __name__ == "__main__":
    main()
