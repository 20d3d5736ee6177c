import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_runs_and_fits(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})  # noqa: S102 - our own text
    means, errors = capsys.readouterr().out.split("±")
    numbers = [
        list(map(float, re.findall(r"\d+\.\d*(?:e-\d+)?", text))) for text in (means, errors)
    ]
    wanted = [0.138, 0.080, 0.041]
    for mean, error, value in zip(numbers[0][:3], numbers[1][:3], wanted, strict=True):
        assert abs(mean - value) < 0.01 + 4 * error
    assert 0.0 < numbers[0][3] < numbers[0][1]  # an average varies less than the value at the end


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
