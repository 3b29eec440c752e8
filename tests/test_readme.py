"""What README promises runs."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_layer_in_your_own_project_runs_and_prints_the_stated_shapes(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README, flags=re.S)
    assert len(code.strip().splitlines()) <= 12
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out == "torch.Size([2, 3, 32]) torch.Size([2, 4, 3, 3])\n"


def test_every_local_file_that_readme_links_to_exists():
    links = re.findall(r"\]\(([^)#]+)\)", README)
    missing = [x for x in links if "://" not in x and not (ROOT / x).exists()]
    assert not missing
