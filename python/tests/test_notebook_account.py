"""The notebook about accounting runs from top to bottom, and says what it says in the file."""

import ast
import contextlib
import io
import json
from pathlib import Path

NOTEBOOK = Path(__file__).resolve().parents[2] / "examples" / "notebooks" / "account-and-calibrate.ipynb"


def said(source, names):
    """Runs a cell: what it prints, what its last line shows as a text, and as a picture."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, NOTEBOOK.name, "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), names)
    picture = value._repr_html_() if hasattr(value, "_repr_html_") else None
    return printed.getvalue(), None if value is None else repr(value), picture


def kept(cell):
    """The same as the file has it."""
    printed, text, picture = "", None, None
    for output in cell["outputs"]:
        printed += "".join(output.get("text", ""))
        if "data" in output:
            text = "".join(output["data"]["text/plain"])
            picture = "".join(output["data"]["text/html"]) if "text/html" in output["data"] else None
    return printed, text, picture


def test_the_notebook_says_what_it_said():
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    names = {"__name__": "notebook"}
    pictures = 0
    for number, cell in enumerate(cells, 1):
        found = said("".join(cell["source"]), names)
        assert found == kept(cell), number
        assert cell["execution_count"] == number
        pictures += "<svg" in (found[2] or "")
    assert pictures == 1 and len(cells) > 8
    printed = "".join(kept(cell)[0] for cell in cells)
    assert "valid: epsilon" in printed and "invalid: " in printed and "no theorem for " in printed


def test_the_notebook_is_small_and_names_no_place_of_a_machine():
    text = NOTEBOOK.read_text()
    assert len(text) < 50_000 and "/tmp" not in text and "/home" not in text and "Traceback" not in text
