"""What stands in README and docs is what the committed records say."""

from benchmarks.render import rendered


def test_the_committed_documents_are_rendered_from_the_committed_records():
    for path, text in rendered().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run `make tables`"
