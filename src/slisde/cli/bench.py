"""`slisde bench`: training-step times of all families and the engine's share of the peak."""

import sys
from typing import Annotated, Any

import typer

from slisde.cli.output import Json, Progress, reporter, show

FAMILIES = {"slisde": "SLiSDE", "neural_sde": "Neural SDE", "slice": "SLiCE"}


def bench(
    paths: Annotated[int, typer.Option(help="Paths per step.", min=2)] = 1024,
    steps: Annotated[int, typer.Option(help="Time steps.", min=10)] = 512,
    repeat: Annotated[int, typer.Option(help="Runs per entry.", min=1)] = 5,
    json: Json = False,
    progress: Progress = False,
) -> None:
    """Time a training step of every family, interleaved, with the machine's peak beside it.

    Example: slisde bench --paths 256 --steps 128
    """
    from slisde.experiments.timing import bench as measure

    with reporter(progress) as report:
        result = measure(paths, steps, repeat, report)
    if json:
        show(result, as_json=True)
        return
    _show_times(result)
    labels = {
        "speedup_vs_neural_sde": "faster than the Neural SDE (times)",
        "speedup_vs_slice": "faster than SLiCE (times)",
        "peak_gflops": "matrix-product peak (GFLOP/s)",
        "slisde_gflops": "SLiSDE training step (GFLOP/s)",
        "peak_fraction": "share of the peak",
        "peak_memory_gb": "peak memory (GB)",
        "first_step_after_s": "start to first step (s)",
    }
    show(result, as_json=False, labels=labels)


def _show_times(result: dict[str, Any]) -> None:
    print(f"{'':<24}{'forward (s)':>12}{'step (s)':>10}")
    for key in (name.removesuffix("_step_s") for name in result if name.endswith("_step_s")):
        family, _, evaluation = key.partition("_")
        label = FAMILIES.get(key, f"{FAMILIES.get(family, family)}, {evaluation}")
        if key == "slisde":
            label = f"SLiSDE, {result['evaluation']}"
        print(f"{label:<24}{result[f'{key}_forward_s']:>12.3f}{result[f'{key}_step_s']:>10.3f}")
    sys.stdout.flush()
