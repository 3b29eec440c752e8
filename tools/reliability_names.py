"""What a whole record names: today's models, encodings, attentions, jobs and mutants."""

from __future__ import annotations

Names = dict[tuple[str, str], set[str]]


def of_today() -> Names:
    """By part and by what is named."""
    from tests.faults.jobs import KINDS
    from tests.numerics.attentions import ATTENTIONS
    from tests.numerics.whole import WHOLE
    from tests.properties.encodings import EVERY
    from tests.properties.models import MODELS
    from tools.mutants.lists import read_models

    return {
        ("properties", "models"): {*MODELS, "Transformer"},
        ("properties", "encodings"): {*EVERY},
        ("faults", "kills"): {kind.name for kind in KINDS.values()},
        ("faults", "cases"): {"disk full", "read-only", "at once"},
        ("mutants", "mutants"): {mutant.id for model in read_models() for mutant in model.mutants},
        ("numerics", "gradients"): {*ATTENTIONS},
        ("numerics", "attentions"): {*ATTENTIONS},
        ("numerics", "models"): {*WHOLE},
    }


def of_records(found: dict[str, dict]) -> Names:
    """The same of those records that are there."""
    names = {
        ("properties", "models"): lambda record: record["models"],
        ("properties", "encodings"): lambda record: record["encodings"],
        ("faults", "kills"): lambda record: (kind["kind"] for kind in record["kills"]),
        ("faults", "cases"): lambda record: (case["kind"] for case in record["cases"]),
        ("mutants", "mutants"): lambda record: (mutant["id"] for mutant in record["mutants"]),
        ("numerics", "gradients"): lambda record: record["gradients"]["first"],
        ("numerics", "attentions"): lambda record: record["attentions"],
        ("numerics", "models"): lambda record: record["models"],
    }
    return {key: {*of(found[key[0]])} for key, of in names.items() if key[0] in found}


def missing(found: dict[str, dict], today: Names) -> list[str]:
    """What is there today and in no record, a sentence for each kind of thing."""
    return [
        f"{part}: the record's {what} lack {', '.join(sorted(today[part, what] - names))}"
        for (part, what), names in of_records(found).items()
        if not today[part, what] <= names
    ]
