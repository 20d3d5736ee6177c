import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_runs_and_fits(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})  # noqa: S102 - our own text
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    for line in lines:
        mean, error, wanted = map(
            float, re.findall(r"-?\d+\.\d+(?= ±)|(?<=± )[\d.]+(?=,)|[\d.]+$", line)
        )
        assert abs(mean - wanted) < 0.01 + 4 * error


DOCUMENTS = [
    "README.md",
    "CONTRIBUTING.md",
    *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md")),
]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_local_link_leads_somewhere(document):
    path = ROOT / document
    for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target


def test_every_make_target_that_documents_name_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for text in (README, (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")):
        for target in re.findall(r"^make (\S+)", text, flags=re.MULTILINE):
            assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target
