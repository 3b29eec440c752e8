"""What `make checks` asks of the tools that write pages and notebooks: whether all agree.

In one process, because to import PyTorch takes longer than most of the checks.
"""

import sys

from tools import differs, ledger, model_cards, notebooks, result_figures, tables

CHECKED = [notebooks, tables, result_figures, differs, model_cards, ledger]


def main() -> int:
    sys.argv = ["tools.checks", "check"]  # what each of them reads
    faulty = 0
    for tool in CHECKED:
        print(f"{tool.__name__} check", flush=True)
        faulty += tool.main()
    return int(faulty > 0)


if __name__ == "__main__":
    sys.exit(main())
