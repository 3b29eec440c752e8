"""What is in the wheel, and that it is enough: README's ten lines run where nothing else is."""

import re
import tarfile
import zipfile
from email.parser import HeaderParser
from pathlib import PurePosixPath

import pytest
from markdown_it import MarkdownIt
from packaging.requirements import Requirement

import gtcourse
from tests.packaging.environments import environment, run
from tools.paths import README

NOT_IN_IT = {"tests", "tools", "book", "notebooks", "student", "benchmarks", "cluster"}


def names(wheel) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


@pytest.fixture(scope="module")
def metadata(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("METADATA")]
        return HeaderParser().parsestr(archive.read(name).decode())


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    tops = {PurePosixPath(name).parts[0] for name in names(wheel)}
    assert tops == {"gtcourse", f"gtcourse-{gtcourse.__version__}.dist-info"}
    assert wheel.name == f"gtcourse-{gtcourse.__version__}-py3-none-any.whl"


def test_every_file_of_the_package_is_in_the_wheel(wheel, sources):
    """Modules, records, weights, scripts of the figures, and the mark of type hints."""
    tracked = {
        path.relative_to(sources).as_posix()
        for path in (sources / "gtcourse").rglob("*")
        if path.is_file()
    }
    assert {name for name in names(wheel) if name.startswith("gtcourse/")} == tracked
    assert {PurePosixPath(name).suffix for name in tracked} >= {".py", ".json", ".pt", ".js"}
    assert "gtcourse/py.typed" in tracked


def test_the_source_archive_builds_the_same_wheel_as_the_tree(wheel, wheel_of_the_tree):
    def contents(path):
        with zipfile.ZipFile(path) as archive:
            return {info.filename: info.CRC for info in archive.infolist()}

    assert contents(wheel) == contents(wheel_of_the_tree)


def test_the_source_archive_holds_what_a_build_reads_and_the_licence(sdist):
    with tarfile.open(sdist) as archive:
        files = {
            PurePosixPath(name).relative_to(f"gtcourse-{gtcourse.__version__}")
            for name in archive.getnames()
        }
    held = {path.as_posix() for path in files}
    assert {"pyproject.toml", "README.md", "LICENSE", "gtcourse/__init__.py"} <= held
    assert not {path.parts[0] for path in files if path.parts} & NOT_IN_IT


def test_the_metadata_say_version_licence_python_and_where_to_read_on(metadata):
    assert metadata["Version"] == gtcourse.__version__
    assert metadata["License-Expression"] == "MIT AND CC-BY-4.0"
    assert metadata["License-File"] == "LICENSE"
    assert metadata["Requires-Python"] == ">=3.11"
    assert {*metadata.get_all("Provides-Extra")} >= {"chapters", "data", "cluster"}
    assert any(line.startswith("Development Status ::") for line in metadata.get_all("Classifier"))


def test_readme_is_the_long_description_and_renders(metadata):
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload() == README.read_text(encoding="utf-8")
    html = MarkdownIt().enable("table").render(metadata.get_payload())
    assert html.startswith("<h1>")
    assert html.count("<table>") >= 1
    assert html.count("<pre>") == metadata.get_payload().count("```") // 2


@pytest.fixture(scope="module")
def bare(wheel, metadata, tmp_path_factory):
    """An environment of base dependencies and wheel, and a folder far from the sources."""
    needed = [Requirement(line) for line in metadata.get_all("Requires-Dist")]
    folder = tmp_path_factory.mktemp("bare")
    python = environment(
        folder / "env", [need.name for need in needed if "extra" not in str(need.marker)]
    )
    install = ["-m", "pip", "install", "-q", "--no-deps", "--no-index", str(wheel)]
    installed = run(python, *install, cwd=folder)
    assert installed.returncode == 0, installed.stderr
    return python, folder


def test_the_readmes_ten_lines_run_from_the_wheel_alone(bare):
    python, folder = bare
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.S)
    done = run(python, "-c", code, cwd=folder)
    assert done.stdout == "torch.Size([2, 3, 32]) torch.Size([2, 4, 3, 3])\n", done.stderr


def test_the_command_says_its_version_and_lists_its_recipes(bare):
    python, folder = bare
    command = python.with_name("gtcourse")
    assert run(command, "--version", cwd=folder).stdout == f"gtcourse {gtcourse.__version__}\n"
    listed = run(command, "recipes", cwd=folder)
    assert "graphormer" in listed.stdout, listed.stderr


def test_recorded_runs_and_weights_are_read_from_the_wheel(bare):
    python, folder = bare
    code = """
from gtcourse.training.records import read_weights, recorded
print(len(read_weights(recorded("csa-100k/molecules")[0])) > 0)
"""
    assert run(python, "-c", code, cwd=folder).stdout == "True\n"
