"""``python -m tests.faults.record --out FILE``: every kill and every other fault, for the book."""

from __future__ import annotations

import json
import subprocess
import sys

from benchmarks.report import command_line, provenance_of, store
from tests.faults.cases import PARTS
from tests.faults.jobs import KINDS
from tests.faults.kills import SEED


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--moments", type=int, default=20, help="kills of each kind")
    parser.add_argument("--seed", type=int, default=SEED, help="of the moments")
    words = parser.parse_args()
    kills = asked("kills", *KINDS, "--moments", str(words.moments), "--seed", str(words.seed))
    cases = asked("cases", *PARTS)
    command = f"python -m tests.faults.record --moments {words.moments} --seed {words.seed}"
    faults = {"seed": words.seed, "kills": kills, "cases": cases}
    store({**provenance_of(command), **faults}, words.out)
    moments = [moment for kind in kills for moment in kind["moments"]]
    survived = sum(moment["same_result"] and not moment["rubbish"] for moment in moments)
    passed = sum(case["passed"] for case in cases)
    print(f"{survived} of {len(moments)} kills survived, {passed} of {len(cases)} other faults")
    raise SystemExit(int(survived < len(moments) or passed < len(cases)))


def asked(module: str, *words: str) -> list[dict]:
    """What a process of its own finds: one that forks is to have no threads."""
    command = [sys.executable, "-m", f"tests.faults.{module}", *words]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    main()
