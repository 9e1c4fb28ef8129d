"""The notebook that audits an Opacus training runs from top to bottom, and what it shows can be shown."""

import ast
import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).resolve().parents[2] / "examples" / "notebooks" / "audit-an-opacus-training.ipynb"


def shown(source, names):
    """Runs a cell; what its last line is, as a notebook would show it."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, NOTEBOOK.name, "exec"), names)
    if last is None:
        return None
    value = eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), names)
    return value._repr_html_() if hasattr(value, "_repr_html_") else repr(value)


@pytest.mark.peers
def test_the_notebook_runs(capsys):
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    names = {"__name__": "notebook"}
    pictures = [shown("".join(cell["source"]), names) for cell in cells]
    assert sum("<svg" in (picture or "") for picture in pictures) == 2
    said = capsys.readouterr().out
    assert "trials is 250, expected about" in said and "REFUTED: " in said


def test_the_notebook_holds_no_output():
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    assert len(cells) > 8 and not any(cell.get("outputs") for cell in cells)
