"""CSV files of molecules: text in, text out, and only targets become numbers."""

import bz2
import csv
import gzip
import lzma
import math
from collections import Counter

import pytest
import torch
from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

from gtcourse.csv_file import check_split, class_names, read_text_table
from gtcourse.graphs.batch import MISSING_LABEL
from gtcourse.graphs.tables import (
    fold_split,
    random_split,
    read_csv,
    read_table,
    scaffold_split,
)

# Ten ring systems, and chains.
RINGS = ["c1ccccc1", "c1ccncc1", "C1CCCCC1", "c1ccoc1", "c1ccsc1", "C1CC1", "C1CCC1", "C1CCNCC1"]
RINGS += ["c1cc[nH]c1", "c1ccc2ccccc2c1"]
MOLECULES = [f"{'C' * n}{ring}" for ring in RINGS for n in (1, 2)]


def written(folder, content, name="my.csv"):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def own(folder, content, targets=("y",), task="regression", **options):
    return read_csv(str(written(folder, content)), "smiles", targets, task, **options)


@pytest.mark.parametrize(
    "cells",
    [["1E5", "007", "NA", ""], [" a ", "1.50", "None", "0x1F"], ["a, b", 'say "x"', "-", "é"]],
)
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_table_cells_are_read_as_unchanged_text(tmp_path, cells, separator):
    quoted = ['"' + cell.replace('"', '""') + '"' for cell in cells]
    header = separator.join(["smiles", *"abcd"])
    path = written(tmp_path, f"{header}\nCCO{separator}{separator.join(quoted)}\n")
    table = read_table(path, "smiles")
    assert table.iloc[0].tolist() == ["CCO", *cells]
    assert table.attrs["separator"] == separator


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfsmiles,id\r\nCCO,1\r\n",
        b"smiles,id\rCCO,1\r",
        b"\nsmiles,id\n\nCCO,1",
        gzip.compress(b"smiles,id\nCCO,1\n"),
        bz2.compress(b"smiles,id\nCCO,1\n"),
        lzma.compress(b"smiles,id\nCCO,1\n"),
    ],
    ids=["byte_order_mark", "carriage_returns", "empty_lines", "gzip", "bzip2", "xz"],
)
def test_a_byte_order_mark_line_ends_and_compression_do_not_matter(tmp_path, content):
    table = read_table(written(tmp_path, content), "smiles", "id")
    assert table.to_numpy().tolist() == [["CCO", "1"]]


def test_rows_are_numbered_by_their_line_in_the_file(tmp_path):
    table = read_table(written(tmp_path, 'smiles,note\nC,"two\nlines"\n\nCC,x\n'), "smiles")
    assert table.index.tolist() == [2, 5]


def test_a_column_without_a_name_is_read(tmp_path):
    table = read_table(written(tmp_path, "smiles,id,\nCCO,1,\nCCN,2,\n"), "smiles")
    assert table.columns.tolist() == ["smiles", "id", ""]


def test_targets_are_read_as_numbers_or_missing_values(tmp_path):
    cells = ["1e2", "-.5", " 3 ", "", "NA", "nan", "None", "N/A"]
    rows = [f"{text},{cell},1" for text, cell in zip(MOLECULES, cells, strict=False)]
    data, skipped = own(
        tmp_path, "\n".join(["smiles,y,z", *rows]), ("y", "z"), split="random", features="any"
    )
    y = torch.cat([graph.y for graph in data])[:, 0].tolist()
    assert y[:3] == [100.0, -0.5, 3.0]
    assert all(math.isnan(value) for value in y[3:])
    assert not skipped


def test_rows_without_a_target_are_skipped(tmp_path):
    rows = [f"{text},{'' if i % 2 else i}" for i, text in enumerate(MOLECULES)]
    data, skipped = own(tmp_path, "\n".join(["smiles,y", *rows, "CCX,1"]), split="random")
    assert data.split_sizes == {"train": 8, "val": 1, "test": 1}
    assert len(skipped) == 11
    assert skipped[0] == "line 3: it has no target (y: empty)."
    assert skipped[-1] == "line 22: 'CCX' is not a molecule that RDKit can read."


def test_numeric_classes_are_ordered_by_value(tmp_path):
    words = ["10", "9", "-1", "", "10"]
    rows = [f"{text},{word}" for text, word in zip(MOLECULES, words, strict=False)]
    parts = {"task": "classes", "split": "random"}
    data, skipped = own(tmp_path, "\n".join(["smiles,y", *rows]), **parts)
    assert [graph.y.item() for graph in data] == [2, 1, 0, 2]
    assert MISSING_LABEL not in [graph.y.item() for graph in data]
    assert len(skipped) == 1


def test_true_and_false_are_read_as_1_and_0(tmp_path):
    words = ["True", "FALSE", "1", "0.0"]
    rows = [f"{text},{word}" for text, word in zip(MOLECULES, words, strict=False)]
    data, _ = own(tmp_path, "\n".join(["smiles,y", *rows]), task="binary", split="random")
    assert [graph.y.item() for graph in data] == [1, 0, 1, 0]


def test_splits_can_be_read_from_a_column(tmp_path):
    words = ["train", "Test", "VAL", "validation", "valid"]
    rows = [f"{text},1,{word}" for text, word in zip(MOLECULES, words, strict=False)]
    data, _ = own(tmp_path, "\n".join(["smiles,y,part", *rows]), split="part")
    assert data.split.tolist() == [0, 2, 1, 1, 1]


def test_largest_fragment_reduces_salts_and_max_atoms_skips_large_molecules(tmp_path):
    rows = [f"{text},1" for text in ("CC(=O)[O-].[Na+]", *MOLECULES)]
    content = "\n".join(["smiles,y", *rows])
    assert own(tmp_path, content)[0].graphs[0].num_nodes == 5
    assert own(tmp_path, content, largest_fragment=True)[0].graphs[0].num_nodes == 4
    data, skipped = own(tmp_path, content, max_atoms=8)
    assert max(graph.num_nodes for graph in data) == 8
    assert skipped[-1] == "line 22: it has 12 atoms; expected at most 8."


def test_all_smiles_of_a_molecule_give_the_same_graph(tmp_path):
    rows = [f"{text},1" for text in ("OCC", "C(O)C", "[H]OCC", "[CH3:7][CH2]O", *MOLECULES)]
    graphs = own(tmp_path, "\n".join(["smiles,y", *rows]))[0].graphs[:4]
    assert {graph.smiles for graph in graphs} == {"CCO"}
    for graph in graphs[1:]:
        for name in ("x", "edge_index", "edge_attr"):
            torch.testing.assert_close(graph[name], graphs[0][name], rtol=0, atol=0)


def test_scaffold_split_puts_each_scaffold_into_one_split():
    smiles = [f"{'C' * n}c1ccccc1" for n in range(1, 8)] + [f"{'C' * n}C1CC1" for n in range(1, 4)]
    smiles += ["C" * n for n in range(1, 21)]
    parts = scaffold_split(smiles, seed=0)
    assert len({*parts[:7]}) == len({*parts[7:10]}) == 1
    assert parts == scaffold_split(smiles, seed=0)


def test_a_random_split_has_a_tenth_for_validation_and_for_testing():
    parts = random_split(100, seed=0)
    assert Counter(parts) == {0: 80, 1: 10, 2: 10}
    assert parts == random_split(100, seed=0) != random_split(100, seed=1)


@pytest.mark.parametrize("by_scaffold", [True, False])
def test_each_molecule_is_tested_in_one_fold_and_validates_another(by_scaffold):
    folds = [fold_split(MOLECULES, k, 5, seed=3, by_scaffold=by_scaffold) for k in range(5)]
    for parts in zip(*folds, strict=True):
        assert Counter(parts) == {0: 3, 1: 1, 2: 1}
    for fold in folds:
        assert Counter(fold) == {0: 12, 1: 4, 2: 4}
        if by_scaffold:
            pairs = {
                (MurckoScaffoldSmiles(s), part) for s, part in zip(MOLECULES, fold, strict=True)
            }
            assert len(pairs) == len(RINGS)


def test_a_table_that_was_read_before_is_not_read_again(tmp_path):
    content = "smiles,y,part\nC,1,train\nN(,2,train\nO,,val\nCC,4,val\nCCC,5,test\n"
    path = written(tmp_path, content)
    expected, left_out = read_csv(path, "smiles", ["y"], "regression", "part")
    table = read_text_table(path, "smiles", "y", "part")
    path.unlink()
    found, skipped = read_csv(path, "smiles", ["y"], "regression", "part", table=table)
    assert skipped == left_out
    assert [text.partition(":")[0] for text in skipped] == ["line 3", "line 4"]
    assert [graph.smiles for graph in found.graphs] == [graph.smiles for graph in expected.graphs]
    assert found.split.tolist() == expected.split.tolist() == [0, 1, 2]


def test_a_table_that_lacks_a_column_is_rejected(tmp_path):
    path = written(tmp_path, "smiles,y,part\nC,1,train\n")
    table = read_text_table(path, "smiles", "y")
    with pytest.raises(ValueError, match="has no column 'x'; expected one of smiles, y, part"):
        read_csv(path, "smiles", ["x"], "regression", "part", table=table)


def test_a_table_without_rows_is_rejected(tmp_path):
    with pytest.raises(ValueError, match="has a header and no rows; expected a row for each"):
        read_text_table(written(tmp_path, "smiles,y\n"), "smiles", "y")


def test_a_column_without_parts_of_the_split_is_rejected(tmp_path):
    path = written(tmp_path, "smiles,part\nC,a\nCC,b\n")
    with pytest.raises(ValueError, match="line 2, column 'part' has 'a'; expected train, val or"):
        check_split(read_text_table(path, "smiles", "part"), path, "part")


def test_the_fold_is_part_of_the_data_sets_name(tmp_path):
    rows = [f"{text},1" for text in MOLECULES]
    data, _ = own(tmp_path, "\n".join(["smiles,y", *rows]), split="random", fold=(4, 5))
    assert data.name == "my-fold-5-of-5"
    assert data.split_sizes == {"train": 12, "val": 4, "test": 4}


def test_classes_that_only_look_like_numbers_are_ordered_alphabetically(tmp_path):
    """Python calls a superscript a digit, and reads no integer in it."""
    content = "smiles,y\n" + "".join(f"{m},{'²-1'[i % 3]}\n" for i, m in enumerate(MOLECULES))
    path = written(tmp_path, content)
    assert class_names(read_text_table(path, "smiles", "y"), path, "y") == ["-", "1", "²"]


@pytest.mark.parametrize("word", ["none", "None", "NULL"])
def test_a_class_that_can_also_mean_unknown_is_rejected(tmp_path, word):
    content = f"smiles,tox\nCCO,mild\nCCN,{word}\nCCC,severe\nCCCC,mild\n"
    with pytest.raises(ValueError, match=f"line 3, column 'tox' has '{word}', which can be a cl"):
        own(tmp_path, content, ("tox",), "classes")


def test_cells_without_a_class_are_empty_or_na(tmp_path):
    rows = "CCO,mild,train CCN,NA,train CCC,severe,val CCCC,,val CCCCC,mild,test C,severe,train"
    content = "smiles,tox,part\n" + rows.replace(" ", "\n") + "\n"
    data, skipped = own(tmp_path, content, ("tox",), "classes", split="part")
    assert data.split_sizes == {"train": 2, "val": 1, "test": 1}
    assert len(skipped) == 2


def test_a_first_line_of_spaces_does_not_hide_the_separator(tmp_path):
    path = written(tmp_path, "   \nsmiles;y\nCCO;1\n")
    assert read_table(path, "smiles", "y").attrs["separator"] == ";"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("smiles,y,y\nCCO,1,2\n", r"expected each name once in the header \(smiles, y, y\)"),
        ("smiles,a,b,c\nCCO,1,\n", "has 3 cells; expected 4.*the line lacks a cell, or its separ"),
        ("smiles,a\nCCO,1,\n", "has 3 cells; expected 2.*the line ends in a comma"),
    ],
)
def test_a_message_names_the_cause_that_fits_the_line(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        read_table(written(tmp_path, content), "smiles", content.split(",")[1].split()[0])


@pytest.mark.parametrize("word", ["", "NA", "N/A", "NaN", "#N/A", "<NA>"])
def test_cells_that_programs_write_for_a_missing_class_are_no_class(tmp_path, word):
    content = f"smiles,tox\nCCO,mild\nCCN,{word}\nCCC,severe\nCCCC,mild\n"
    path = written(tmp_path, content)
    assert class_names(read_text_table(path, "smiles", "tox"), path, "tox") == ["mild", "severe"]


def test_a_cell_may_be_longer_than_pythons_limit(tmp_path):
    limit = csv.field_size_limit()
    text = "x" * (limit + 1)
    table = read_text_table(written(tmp_path, f"smiles,{text}\nCCO,{text}\n"), "smiles")
    assert table[text] == {2: text}
    assert csv.field_size_limit() == limit  # which holds for all of Python


def test_a_hint_for_excel_before_the_header_is_skipped(tmp_path):
    path = written(tmp_path, "sep=;\nsmiles;y\nCCO;1,5\n")
    table = read_text_table(path, "smiles", "y")
    assert (table.separator, table["y"]) == (";", {3: "1,5"})


def test_several_byte_order_marks_are_skipped(tmp_path):
    """Programs that join files leave one for each."""
    table = read_text_table(written(tmp_path, "\ufeff\ufeffsmiles\nCCO\n"), "smiles")
    assert table["smiles"] == {2: "CCO"}
