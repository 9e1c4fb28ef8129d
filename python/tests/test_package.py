"""The package as such: what importing it loads, what it exports, and that its types hold."""

import ast
import inspect
import pathlib
import subprocess
import sys

import veracity as v
import veracity._veracity as compiled

PACKAGE = pathlib.Path(v.__file__).parent
SOURCE = pathlib.Path(__file__).resolve().parents[1] / "veracity"


def test_importing_loads_none_of_the_heavy_packages():
    heavy = ["torch", "sklearn", "pandas", "polars", "pyarrow", "opacus", "scipy", "ray", "dask", "matplotlib", "tqdm"]
    told = subprocess.run(
        [sys.executable, "-c", "import sys, veracity; print(*sorted(sys.modules))"], capture_output=True, text=True, check=True
    )
    assert not set(heavy) & set(told.stdout.split())


def test_every_public_name_is_exported_and_documented():
    public = {name for name, value in vars(v).items() if not name.startswith("_") and not inspect.ismodule(value)}
    assert public == {name for name in v.__all__ if name != "__version__"}
    for name in public:
        assert inspect.getdoc(getattr(v, name)), name


def test_the_stubs_name_what_is_compiled_and_nothing_else():
    stub = ast.parse(PACKAGE.joinpath("_veracity.pyi").read_text())
    classes = {one.name: one for one in stub.body if isinstance(one, ast.ClassDef)}
    functions = {one.name: one for one in stub.body if isinstance(one, ast.FunctionDef)}
    there = {name: value for name, value in vars(compiled).items() if not name.startswith("__") and not inspect.ismodule(value)}
    assert set(there) == set(classes) | set(functions)
    for name, one in functions.items():
        arguments = one.args.posonlyargs + one.args.args + one.args.kwonlyargs
        assert [given.arg for given in arguments] == list(inspect.signature(there[name]).parameters), name
    for name, one in classes.items():
        members = {member.name for member in one.body if isinstance(member, ast.FunctionDef) and not member.name.startswith("_")}
        assert members == {member for member in vars(there[name]) if not member.startswith("_")}, name


PROGRAM = """
import veracity as v

run: v.Mechanism = v.dp_sgd(sampling_rate=0.01, noise_multiplier=1.0, steps=1000)
upper: float = float(run.epsilon(1e-5))
lower: float | None = run.epsilon(1e-5).lower
plan = v.gaussian(noise_multiplier=5) * 3 + v.laplace(scale=10, sensitivity=1)
plan.claim(delta=1e-5).save("claim.json")
wrong: int = run.epsilon(1e-5)
"""


def test_types_hold(tmp_path):
    """mypy --strict over the package and over a program that uses it, whose one mistake is found."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", sys.prefix + "/mypy"]
        + ["--config-file", str(SOURCE.parents[1] / "pyproject.toml"), str(SOURCE), str(program)],
        capture_output=True,
        text=True,
        cwd=SOURCE.parent,
    )
    told = [line for line in checked.stdout.splitlines() if ": error: " in line]
    assert checked.returncode == 1 and len(told) == 1, checked.stdout + checked.stderr
    assert 'program.py:9: error: Incompatible types in assignment (expression has type "Interval"' in told[0]
