"""``python -m tests.faults.record --out FILE``: every kill and every other fault, for the book."""

from __future__ import annotations

import json
import subprocess
import sys

from benchmarks.report import command_line, provenance_of, store
from tests.faults.cases import PARTS
from tests.faults.full import FULL_DISK
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
    mounted = any(case["what"].endswith(FULL_DISK) for case in cases)
    faults = {"seed": words.seed, "kills": kills, "mounted": mounted, "cases": cases}
    store({**provenance_of(command), **faults}, words.out)
    moments = [moment for kind in kills for moment in kind["moments"]]
    survived = sum(moment["same_result"] and not moment["rubbish"] for moment in moments)
    passed = sum(case["passed"] for case in cases)
    print(f"{survived} of {len(moments)} kills survived, {passed} of {len(cases)} other faults")
    raise SystemExit(int(survived < len(moments) or passed < len(cases)))


def asked(module: str, *words: str) -> list[dict]:
    """What a process of its own finds: one that forks is to have no threads."""
    command = [sys.executable, "-m", f"tests.faults.{module}", *words]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[1:])} ends with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
