"""The notebook about private statistics runs from top to bottom, and says what it should."""

import json
import pathlib

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "examples/notebooks/private-statistics-of-adult.ipynb"


def shown(source, names):
    """Runs a cell; what its last line shows, if it is an expression."""
    import ast

    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_the_notebook_runs(monkeypatch, capsys):
    monkeypatch.delenv("ADULT", raising=False)
    notebook = json.loads(NOTEBOOK.read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    names = {}
    results = [shown(cell, names) for cell in cells]
    html = [result._repr_html_() for result in results if hasattr(result, "_repr_html_")]
    assert len(html) >= 5 and all("<" in one for one in html)
    printed = capsys.readouterr().out
    assert "over budget" in printed and "valid" in printed
    session, truth = names["s"], names["table"]
    assert session.spent.fraction <= 1
    assert abs(float(session.answers[0]) - len(truth)) < 6 * session.answers[0].error_bar
    assert abs(float(session.answers[1]) - truth["hours-per-week"].mean()) < 6 * session.answers[1].error_bar
    assert names["accuracy"] > truth["income"].value_counts(normalize=True).max() - 0.02
    # Nothing of a run is kept in the file.
    assert all(not cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code")
