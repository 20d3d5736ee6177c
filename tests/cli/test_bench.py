KEYS = {
    "slisde_step_s",
    "neural_sde_step_s",
    "slice_step_s",
    "speedup_vs_neural_sde",
    "speedup_vs_slice",
    "peak_gflops",
    "slisde_gflops",
    "peak_fraction",
    "peak_memory_gb",
}


def test_bench_reports_times_that_belong_together(slisde):
    outcome = slisde("bench", "--paths", "16", "--steps", "10", "--repeat", "1", "--json")
    result = outcome.json()
    assert result.keys() >= KEYS
    assert result["speedup_vs_slice"] == result["slice_step_s"] / result["slisde_step_s"]
    share = result["slisde_gflops"] / result["peak_gflops"]
    assert abs(result["peak_fraction"] - share) < 1e-12
    assert outcome.err == ""
