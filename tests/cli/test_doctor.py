import jax
import pytest

from slisde.flow import native


def test_doctor_names_version_devices_and_engine(slisde):
    facts = slisde("doctor", "--json").json()
    assert facts["jax"] == jax.__version__
    assert len(facts["devices"]) == len(jax.devices())
    assert facts["engine"] == ("native" if native.available() else "jax")
    assert facts["engine_reason"]


def test_an_engine_can_be_forced_and_doctor_says_so(slisde, monkeypatch):
    monkeypatch.setenv("SLISDE_ENGINE", "jax")
    facts = slisde("doctor", "--json").json()
    assert (facts["engine"], facts["engine_reason"]) == ("jax", "SLISDE_ENGINE=jax asks for it")


def test_without_compiled_kernels_doctor_says_why_jax_is_used(slisde, monkeypatch):
    monkeypatch.setattr(native, "reason", lambda: "not built: no compiler")
    facts = slisde("doctor", "--json").json()
    assert (facts["engine"], facts["engine_reason"]) == ("jax", "not built: no compiler")


@pytest.mark.parametrize("wanted", ["native", "cuda"])
def test_an_engine_that_cannot_be_had_is_an_error(slisde, monkeypatch, wanted):
    monkeypatch.setattr(native, "reason", lambda: "not built: no compiler")
    monkeypatch.setenv("SLISDE_ENGINE", wanted)
    outcome = slisde("doctor")
    assert outcome.code == 2
    assert outcome.err.startswith("slisde: error: SLISDE_ENGINE")
