"""Makes docs/python-api.md and the docstrings of the stub from the docstrings of the package.

Rust doc comments become docstrings of the compiled classes. `stub_with_docstrings` copies them into the stub, so that an editor shows
them. `page` reads the sources, so that modules which need another package are on the page too.
"""

import ast
import inspect
import pathlib
import re
import textwrap

import veracity
import veracity._veracity as compiled

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "veracity"
STUB = SOURCE / "_veracity.pyi"
PAGE = SOURCE.parents[1] / "docs" / "python-api.md"
WIDTH = 140

INTRODUCTION = """
# Python API reference

Written by `cargo xtask test` with `VERACITY_BLESS=1`, from the docstrings of the package.

You find every public class, function and exception of the package `veracity` on this page. Your editor and `help(v.verify)` show the same
text, and `v.__version__` is the version. If you are new here, start with the [quickstart](python.md). All examples need this import:

```python
>>> import veracity as v
```
"""

#: Title, module, and names. `None` for the names stands for all constructors of mechanisms, and for all exceptions.
SECTIONS = [
    ("Mechanisms and accounting", "", ["Mechanism", "Interval", "Tradeoff", "calibrate", "Calibration", "from_dp_event"]),
    ("Explanations", "", ["explain", "Explanation", "Attack", "GroupPromise"]),
    ("Claims", "", ["read_claim", "verify", "Claim", "Verification", "VerifiedNumber"]),
    ("Audits", "", ["audit", "AuditResult"]),
    ("Private statistics", "", ["Session", "Groups", "Answer"]),
    ("Private SQL", "", ["query", "QueryResult", "preview_query", "QueryPreview"]),
    ("Ledgers", "", ["Ledger", "Charge", "BudgetShare"]),
    (
        "Estimators for scikit-learn",
        "sklearn",
        ["LogisticRegression", "LinearRegression", "Ridge", "MLPClassifier", "GaussianNB", "StandardScaler", "PCA", "KMeans"]
        + ["fits", "Fits", "forget_fits"],
    ),
    ("Opacus", "opacus", ["register", "VeracityAccountant", "audit"]),
    (
        "prv_accountant's interface",
        "prv",
        ["PRVAccountant", "DPSGDAccountant", "GaussianMechanism", "LaplaceMechanism", "PoissonSubsampledGaussianMechanism"]
        + ["PureDPMechanism", "ApproximateDPMechanism"],
    ),
    ("Executors", "executors", ["Ray"]),
    ("Constructors of mechanisms", "", None),
    ("Exceptions and warnings", "_errors", None),
]
#: Where the names of a module are defined, other than in the file of its name.
FILES = {
    "": ["_kinds.py", "_veracity.pyi", "_audit.py", "_events.py", "_session.py", "_answer.py", "_query.py", "_ledger.py"],
    "sklearn": ["sklearn/_linear.py", "sklearn/_network.py", "sklearn/_bayes.py", "sklearn/_decomposition.py", "sklearn/_cluster.py"]
    + ["sklearn/_fits.py"],
    "opacus": ["opacus.py", "_opacus_audit.py"],
}


def is_constructor(node):
    """Whether a function makes a mechanism; their docstrings are made from the table of kinds."""
    return isinstance(node, ast.FunctionDef) and node.returns is not None and ast.unparse(node.returns) == "Mechanism"


def is_property(node):
    return any(isinstance(one, ast.Name) and "property" in one.id for one in node.decorator_list)


def stub_with_docstrings(text):
    """The stub, with the docstring of every public class, function, method and property of the compiled module."""
    edits = []
    for node in ast.parse(text).body:
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef)) or node.name.startswith("_") or is_constructor(node):
            continue
        found = getattr(compiled, node.name)
        edits.append((node, found))
        for member in node.body if isinstance(node, ast.ClassDef) else []:
            if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
                edits.append((member, getattr(found, member.name)))
    lines = text.split("\n")
    for node, found in reversed(edits):
        indent = " " * (node.col_offset + 4)
        doc = inspect.getdoc(found)
        assert doc, f"{node.name} has no docstring"
        doc = textwrap.indent(f'"""{doc}', indent)
        doc += f"\n{indent}" if "\n" in doc else ""
        first, last = node.body[0], node.body[0 if isinstance(node, ast.ClassDef) else -1]
        before = lines[first.lineno - 1].encode()[: first.col_offset].decode().rstrip()
        lines[first.lineno - 1 : last.end_lineno] = ([before] if before else []) + [f'{doc}"""']
    return "\n".join(lines)


def page():
    """The text of docs/python-api.md."""
    parts = [INTRODUCTION.strip()]
    listed = {name for _, module, names in SECTIONS if not module for name in names or []}
    for title, module, names in SECTIONS:
        known = definitions(module)
        if names is None:
            rest = [name for name in known if name in veracity.__all__ and name not in listed]
            names = [name for name in rest if module or is_constructor(known[name])]
        parts.append(f"## {title}")
        for name in names:
            parts += described(module, name, known)
    return "\n\n".join(parts) + "\n"


def definitions(module):
    """The classes and functions of a module, by name."""
    files = [SOURCE / name for name in FILES.get(module, [f"{module}.py"])]
    nodes = [node for file in files if file.exists() for node in ast.parse(file.read_text()).body]
    known = {}
    for node in nodes:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            known.setdefault(node.name, node)
    return known


def described(module, name, known):
    """A class with its attributes and methods, or a function."""
    node = known[name]
    title = f"v.{module}.{name}" if module and not module.startswith("_") else f"v.{name}"
    doc = ast.get_docstring(node) or "See [Mechanisms](mechanisms.md)."
    # Examples that need Opacus are shown and not run.
    block = "text" if module == "opacus" else "python"
    parts = [f"### `{title}`"]
    if isinstance(node, ast.FunctionDef):
        return [*parts, signature(title, node), *rendered(doc, block)]
    members = members_of(node, known)
    if "__init__" in members and "Args:" in doc:
        parts.append(signature(title, members["__init__"]))
    parts += rendered(doc, block)
    public = [member for member in members.values() if not member.name.startswith("_")]
    if properties := [member for member in public if is_property(member)]:
        parts += ["**Properties**", "\n".join(bullet(member.name, ast.get_docstring(member)) for member in properties)]
    methods = [member for member in public if not is_property(member)]
    if methods and module == "sklearn":
        # As those of scikit-learn: one line for each.
        parts.append("**Methods**")
        parts.append("\n".join(bullet(call(one.name, one), ast.get_docstring(one).partition("\n")[0]) for one in methods))
        return parts
    for one in methods:
        parts += [f"#### `{name}.{one.name}`", signature(f"{name}.{one.name}", one), *rendered(ast.get_docstring(one), block)]
    return parts


def members_of(node, known):
    """The functions of a class by name, with those of its bases. Groups have the methods of a session, which are there already."""
    members = {}
    if node.name != "Groups":
        for base in node.bases:
            if isinstance(base, ast.Name) and base.id in known:
                members |= members_of(known[base.id], known)
    return members | {member.name: member for member in node.body if isinstance(member, ast.FunctionDef)}


def call(name, node):
    """A call without types."""
    given = node.args
    plain = ast.arguments(
        posonlyargs=[],
        args=[ast.arg(one.arg) for one in given.args if one.arg not in ("self", "cls")],
        vararg=given.vararg and ast.arg(given.vararg.arg),
        kwonlyargs=[ast.arg(one.arg) for one in given.kwonlyargs],
        kw_defaults=given.kw_defaults,
        kwarg=given.kwarg and ast.arg(given.kwarg.arg),
        defaults=given.defaults,
    )
    return f"{name}({ast.unparse(plain)})"


def signature(name, node):
    text = textwrap.fill(call(name, node), WIDTH - 20, subsequent_indent="    ", break_long_words=False)
    return f"```text\n{text}\n```"


def rendered(doc, block_of):
    """A docstring in Google style as Markdown."""
    parts = []
    for block in re.split(r"\n\n+", doc):
        head, _, rest = block.partition("\n")
        title, rest = head.removesuffix(":"), textwrap.dedent(rest)
        if title in ("Args", "Raises", "Attributes"):
            parts.append(f"**{title.replace('Args', 'Arguments')}**")
            items = re.split(r"\n(?! )", rest)
            parts.append("\n".join(bullet(*re.split(r": ", " ".join(item.split()), maxsplit=1)) for item in items))
        elif title == "Returns":
            parts.append(filled(f"**Returns** {rest}"))
        elif title == "Example" or block.startswith(">>>"):
            parts.append(f"```{block_of}\n{rest if title == 'Example' else block}\n```")
        else:
            parts.append(filled(block))
    return parts


def bullet(name, text):
    return filled(f"- `{name}`: {text}", indent="  ")


def filled(text, indent=""):
    return textwrap.fill(" ".join(text.split()), WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
