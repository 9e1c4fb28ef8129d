"""The scripts of examples/torch run, and leave a folder that verifies."""

import pathlib
import runpy
import sys

import pytest
import veracity as v

FOLDER = pathlib.Path(__file__).parents[3] / "examples/torch"


def sentences(path, count):
    lines = [f"{at % 2}\t{'good fine' if at % 2 else 'bad poor'} film number {at}" for at in range(count)]
    path.write_text("label\tsentence\n" + "\n".join(lines) + "\n")
    return str(path)


@pytest.mark.parametrize("name", ["text_lora", "image", "tabular"])
def test_an_example_runs_and_its_claim_verifies(name, tmp_path, monkeypatch, capsys):
    out = str(tmp_path / "out")
    arguments = {
        "text_lora": [sentences(tmp_path / "train.tsv", 300), sentences(tmp_path / "dev.tsv", 40), out, "--batch-size", "100", "--epochs", "1"],
        "image": [out, "--epochs", "0.3"],
        "tabular": [out, "--patients", "400", "--epochs", "1"],
    }[name]
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    assert v.verify(tmp_path / "out/claim.json").is_valid
    assert v.verify(tmp_path / "out/audit/certificate.json").is_valid
    assert "accuracy" in capsys.readouterr().out
