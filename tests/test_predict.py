"""Trained models: predictions, exports, and training on a CSV file of one's own."""

import json
import math
import pickle
import re
import shutil
import statistics
import subprocess
import sys
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.utils import to_dense_adj
from typer.testing import CliRunner

import gtcourse
from gtcourse import predict
from gtcourse.course.commands import app
from gtcourse.course.leaderboard import LEADERBOARD
from gtcourse.csv_file import read_text_table
from gtcourse.encodings import encode
from gtcourse.graphs import GraphBatch, GraphDataset
from gtcourse.graphs.molecules import (
    FEATURES,
    canonical_graph,
    fingerprints,
    nearest_similarity,
    own_data,
    zinc_data,
)
from gtcourse.models import csa_fused
from gtcourse.predict import available, fine_tuned, load, load_ensemble, vocabularies_of
from gtcourse.recipes import RECIPES
from gtcourse.recipes.adapt import own_recipe, recipe_for
from gtcourse.runs.run import train
from tests.process import InThisProcess
from tests.process import gtcourse as call
from tests.train.tiny_data import tiny
from tools.paths import ROOT

# Without symmetry of order three, whose eigenvectors would be any basis of their space.
SMILES = ["CC(=O)Oc1ccccc1C(=O)O", "C", "c1ccccc1O", "CCCN(C)CC", "CC1CCCCO1"]


@pytest.fixture(autouse=True)
def no_estimate(monkeypatch):
    """A run's estimate takes longer than a run of one epoch; test_cli.py looks at it."""
    monkeypatch.setattr("gtcourse.cli._say_estimate", lambda *given: None)


@pytest.mark.parametrize("name", available())
def test_every_shipped_model_predicts_the_same_alone_and_in_a_batch(name):
    predictor = load(name)
    together = predictor.predict(SMILES)
    alone = torch.cat([predictor.predict([text]) for text in SMILES])
    torch.testing.assert_close(together, alone, atol=1e-4, rtol=1e-4)


def test_csa_trained_on_zinc_predicts_the_penalized_logp_of_other_molecules(molecules):
    graphs = molecules.test[:64]
    predictor = gtcourse.load("csa/zinc")
    y = torch.cat([graph.y for graph in graphs])
    errors = (predictor.predict([graph.smiles for graph in graphs]) - y).abs()
    assert errors.mean() < 0.5 * (y - y.mean()).abs().mean()
    assert predictor.predict(graphs).equal(predictor.predict([graph.smiles for graph in graphs]))


@pytest.mark.parametrize("name", ["csa/zinc", "graphormer-100k/molecules", "egt-100k/molecules"])
def test_attention_is_returned_without_padding_in_the_order_of_the_molecules(name):
    values, attention = load(name).predict(SMILES, return_attention=True)
    torch.testing.assert_close(values, load(name).predict(SMILES), atol=1e-4, rtol=1e-4)
    assert [each.shape[-2:] for each in attention] == [(n, n) for n in (13, 1, 7, 7, 7)]


def ring(n: int, y: torch.Tensor, floats: bool) -> Data:
    """A directed ring: as many edges as nodes, so that the level of y has to be stated."""
    node = torch.arange(n)
    edge_index = torch.stack([node, (node + 1) % n])
    x = torch.randn(n, 3) if floats else node[:, None] % 2
    return Data(x=x, edge_index=edge_index, edge_attr=node[:, None] % 3, y=y)


def test_csv_rows_without_a_prediction_give_a_reason(tmp_path):
    table = tmp_path / "in.csv"
    table.write_text("name,smiles\na,CCO\nb,CCX\nc,\n")
    out = tmp_path / "out.csv"
    assert "2 of 3 rows" in call("predict", "csa/zinc", "--csv", table, "--out", out)
    head, first, second, third = out.read_text().splitlines()
    assert head == "name,smiles,prediction,similarity,reason"
    assert first.startswith("a,CCO,-1.0")
    assert second.startswith("b,CCX,,,'CCX' is not a molecule")
    assert third == "c,,,,'' has no atoms; expected at least one."


def test_rows_without_a_prediction_are_counted_on_stderr(tmp_path):
    words = ["predict", "csa-100k/molecules", "CCO", "CCX", "CCN"]
    with patch.object(sys, "argv", ["gtcourse", *words]):
        done = CliRunner().invoke(app, words)
    assert done.exit_code == 0
    assert "1 of 3 rows has no prediction; see column 'reason'." in done.stderr
    assert "no prediction" not in done.stdout
    assert "'CCX' is not a molecule" in done.stdout


def test_the_column_of_reasons_is_named_where_the_table_has_one_of_its_own(tmp_path):
    table = tmp_path / "in.csv"
    table.write_text("smiles,reason\nCCO,first\nCCX,second\n")
    words = ["predict", "csa-100k/molecules", "--csv", str(table), "--out", str(tmp_path / "o.csv")]
    with patch.object(sys, "argv", ["gtcourse", *words]):
        done = CliRunner().invoke(app, words)
    assert "1 of 2 rows has no prediction; see column 'reason 2'." in done.stderr
    assert "1 prediction: " in done.stdout
    head, _, second = (tmp_path / "o.csv").read_text().splitlines()
    assert head == "smiles,reason,prediction,similarity,reason 2"
    assert second.startswith("CCX,second,,,'CCX' is not a molecule")


def test_a_cell_with_a_carriage_return_can_be_read_again(tmp_path):
    table = tmp_path / "in.csv"
    table.write_bytes(b'smiles,note\nCCO,"one\rtwo"\n')
    call("predict", "csa-100k/molecules", "--csv", table, "--out", tmp_path / "out.csv")
    (row,) = read_text_table(tmp_path / "out.csv", "smiles").rows.values()
    assert row[:2] == ["CCO", "one\rtwo"]


@pytest.mark.parametrize("others", [["CCX"], ["CCO"]], ids=["no prediction", "a prediction"])
def test_a_salt_without_a_prediction_is_answered_with_the_largest_fragment_option(others):
    words = ["predict", "csa-100k/molecules", "CC(=O)[O-].[Na+]", *others]
    hint = "1 row without a prediction is a salt or a mixture: --largest-fragment keeps"
    with patch.object(sys, "argv", ["gtcourse", *words]):
        done = CliRunner().invoke(app, words)
    assert hint in (done.stderr if others == ["CCO"] else str(done.exception))
    with patch.object(sys, "argv", ["gtcourse", *words]):
        done = CliRunner().invoke(app, [*words, "--largest-fragment"])
    assert done.exit_code == 0
    assert hint not in done.stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("csa-rings/zinc", "expected one of csa-100k/molecules, egt-100k/molecules, grpe-100k/mol"),
        ("csa-100k/molecule", "is not a trained model"),
    ],
)
def test_an_ensemble_that_cannot_be_is_answered_without_pytorch(name, message):
    code = (
        "import sys; from gtcourse.cli import main\n"
        f"sys.argv = ['gtcourse', 'predict', {name!r}, 'CCO', '--ensemble']\n"
        "try: main()\n"
        "finally: print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert message in done.stderr
    assert done.stdout == "False\n"


def test_predictions_do_not_depend_on_targets(molecules):
    predictor = load("csa-100k/molecules")
    labelled, other = (graph.clone() for graph in molecules.test[:2])
    unlabelled = other.clone()
    del unlabelled.y
    other.y = torch.zeros(other.num_nodes)
    expected = predictor.predict([labelled, unlabelled])
    assert torch.equal(predictor.predict([labelled, other]), expected)
    assert labelled.y is not None


def test_a_missing_smiles_gives_a_reason():
    rows = load("csa-100k/molecules").predict_rows(["CCO", math.nan])
    assert rows["reason"] == ["", "it is nan; expected a SMILES string."]
    assert math.isnan(rows["prediction"][1])


def test_table_cells_are_copied_unchanged_and_new_prediction_columns_are_numbered(tmp_path):
    table, once, twice = (tmp_path / name for name in ("in.csv", "once.csv", "twice.csv"))
    table.write_text('smiles;well;cas;salt;note\nCCO;1E5;007;NA;"a; b"\nCCN;2E3;0012;;é\n')
    call("predict", "csa-100k/molecules", "--csv", table, "--out", once)
    call("predict", "csa/zinc", "--csv", once, "--out", twice)
    head, first, second = twice.read_text().splitlines()
    names = "prediction;similarity;reason;prediction 2;similarity 2;reason 2"
    assert head == f"smiles;well;cas;salt;note;{names}"
    assert first.startswith('CCO;1E5;007;NA;"a; b";-0.526')
    assert second.startswith("CCN;2E3;0012;;é;-0.62")


def test_a_model_not_trained_on_molecules_raises_for_smiles(tmp_path):
    graphs = [ring(n, torch.tensor([float(n)]), floats=False) for n in range(3, 13)]
    own = GraphDataset("rings", "rings", graphs, torch.tensor([0, 0, 0, 1, 2]).repeat(2))
    recipe = recipe_for("csa/zinc", graphs, "regression").at(epochs=1, batch_size=4)
    train(recipe, own, command="train", out=str(tmp_path / "run"), progress=False)
    with pytest.raises(ValueError, match="was not trained on molecules; expected PyG graphs"):
        load(tmp_path / "run").predict_rows(["CCO"])


def test_a_prediction_that_is_not_finite_gives_a_reason():
    predictor = load("csa-100k/molecules")
    with torch.no_grad():
        next(predictor.model.parameters()).fill_(float("inf"))
    rows = predictor.predict_rows(["CCO", "C1CC"])
    assert rows["reason"][0] == "the model's output is not a finite number; expected one."
    assert "not a molecule" in rows["reason"][1]


def test_predicting_uses_evaluation_mode_and_restores_training_mode():
    predictor = load("signnet-100k/molecules")
    expected = predictor.predict(SMILES)
    model = predictor.model
    model.train()
    frozen = next(module for module in model.modules() if isinstance(module, torch.nn.BatchNorm1d))
    frozen.eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    assert predictor.predict(SMILES).equal(expected)
    assert model.training
    assert not frozen.training
    for name, value in model.state_dict().items():
        assert value.equal(before[name])


# One molecule, one prediction.

WRITINGS = {
    "CO": ["OC", "[H]CO", "[CH3][OH]", "[CH3:1][OH:2]", "[H]C([H])([H])O[H]", " CO "],
    "CC(C)O": ["C[CH](C)O", "OC(C)C", "C[C@H](C)O"],
    "C[C@H](F)Cl": ["C[C@@H](Cl)F", "[C@@H](C)(Cl)F", "F[C@@H](C)Cl"],
    "CC(=O)Oc1ccccc1C(=O)O": ["O=C(O)c1ccccc1OC(C)=O", "OC(=O)C1=CC=CC=C1OC(C)=O"],
    "CC(=O)[O-].C[NH3+]": ["C[NH3+].CC(=O)[O-]"],
}


@pytest.mark.parametrize("name", available())
def test_predictions_do_not_depend_on_how_the_smiles_is_written(name):
    predictor = load(name)
    for smiles, writings in WRITINGS.items():
        values = predictor.predict([smiles, *writings])
        torch.testing.assert_close(values, values[:1].expand(len(values)), atol=1e-5, rtol=1e-5)


def test_the_canonical_graph_is_a_renumbering_of_the_graph_as_written():
    for featurize in (zinc_data, own_data):
        canonical, order = canonical_graph("OC(=O)c1ccccc1OC(C)=O", featurize)
        written = featurize("OC(=O)c1ccccc1OC(C)=O")
        assert canonical.smiles == "CC(=O)Oc1ccccc1C(=O)O"
        assert written.x[order].equal(canonical.x)
        dense = [to_dense_adj(g.edge_index, edge_attr=g.edge_attr)[0] for g in (written, canonical)]
        assert dense[0][order][:, order].equal(dense[1])
    assert zinc_data("[CH3][OH]").x.flatten().tolist() == [0, 1]  # C and O, not "C H3"


def test_attention_keeps_the_atom_order_of_the_smiles():
    predictor = load("csa/zinc")
    _, (one, other) = predictor.predict(["CCOC(C)=O", "O=C(C)OCC"], return_attention=True)
    order = torch.tensor([5, 3, 4, 2, 1, 0])  # of the second's atoms in the first
    torch.testing.assert_close(one[..., order[:, None], order], other, atol=1e-5, rtol=1e-4)


def test_a_salt_can_be_reduced_to_its_largest_fragment(tmp_path):
    predictor = load("csa/zinc")
    alone = predictor.predict(["CC(=O)[O-]"])
    assert not predictor.predict(["CC(=O)[O-].C[NH3+]"]).equal(alone)
    shown = call("predict", "csa/zinc", "CC(=O)[O-].[Na+]", "--largest-fragment")
    assert f"{alone.item():.4f}"[:6] in shown


# Own targets: their scale, probabilities and classes.


def own_run(folder, words: dict[str, object], task: str, *more: str):
    """A short run on a CSV file of molecules with these values, and its predictor."""
    table = folder / "my.csv"
    rows = [f"{smiles},{value}" for smiles, value in words.items()]
    table.write_text("\n".join(["smiles,y", *rows]))
    options = ["--csv", table, "--target", "y", "--task", task, "--split", "random", *more]
    options += ["--batch-size", "8", "--out", folder / "runs", "--learning-rate", "0.003"]
    shown = call("train", "egt-100k/zinc", *options)
    (run,) = (folder / "runs").iterdir()
    return shown, load(run)


def test_targets_are_standardised_in_training_and_predicted_in_their_own_unit(tmp_path, molecules):
    values = {graph.smiles: 250 + 10 * graph.y.item() for graph in molecules.train[:100]}
    _, predictor = own_run(tmp_path, values, "regression", "--epochs", "3")
    scale = predictor.record.config["changed"]["own_data"]["scale"]
    assert scale["mean"][0] == pytest.approx(250, abs=15)
    predictions = predictor.predict([*values])
    y = torch.tensor([*values.values()])
    assert (predictions - y).abs().mean() < 2 * (y - y.median()).abs().mean()
    assert predictor.record.result["test_mae"] < 40


def test_binary_targets_are_predicted_as_probabilities_or_logits(tmp_path, molecules):
    values = {graph.smiles: i % 2 for i, graph in enumerate(molecules.train[:60])}
    _, predictor = own_run(tmp_path, values, "binary", "--epochs", "1")
    rows, logits = (predictor.predict_rows(SMILES, logits=logits) for logits in (False, True))
    assert [*rows] == ["probability y", "similarity", "reason"]
    assert [*logits] == ["logit y", "similarity", "reason"]
    expected = torch.tensor(logits["logit y"]).sigmoid()
    torch.testing.assert_close(torch.tensor(rows["probability y"]), expected)


def test_each_class_gets_a_probability(tmp_path, molecules):
    words = ("low", "high", "middle")
    values = {g.smiles: words[i % 3] for i, g in enumerate(molecules.train[:60])}
    _, predictor = own_run(tmp_path, values, "classes", "--epochs", "1")
    rows = predictor.predict_rows(SMILES)
    names = [f"probability y = {word}" for word in ("high", "low", "middle")]
    assert [*rows] == [*names, "similarity", "reason"]
    sums = torch.tensor([rows[name] for name in names]).sum(dim=0)
    torch.testing.assert_close(sums, torch.ones(len(SMILES)))


def test_a_file_with_changed_labels_is_not_resumed(tmp_path, molecules):
    smiles = [graph.smiles for graph in molecules.train[:30]]
    own_run(tmp_path, {text: i for i, text in enumerate(smiles)}, "regression", "--epochs", "1")
    table = tmp_path / "my.csv"
    table.write_text(table.read_text().replace(",29", ",1029"))
    words = ["train", "egt-100k/zinc", "--csv", str(table), "--target", "y", "--split", "random"]
    words += ["--epochs", "1", "--batch-size", "8", "--learning-rate", "0.003", "--auto-resume"]
    with pytest.raises(ValueError, match="holds another run, different in changed, data"):
        app([*words, "--out", str(tmp_path / "runs")], standalone_mode=False)


def test_a_run_of_a_recipe_is_not_taken_for_the_small_model_with_the_same_first_name(tmp_path):
    data = replace(tiny("zinc", 6), name="molecules")
    recipe = RECIPES["gin-100k/zinc"].at(epochs=1, batch_size=6)
    record = train(recipe, data, command="", out=tmp_path / "run")
    assert record.name == "gin-100k/zinc-on-molecules"
    loaded = load(tmp_path / "run")
    assert sum(each.numel() for each in loaded.model.parameters()) == record.parameters
    assert loaded.predict(["CCO"]).isfinite().all()


@pytest.mark.slow
def test_each_fold_is_a_run_and_the_mean_over_folds_is_printed(tmp_path, molecules, monkeypatch):
    monkeypatch.setattr("gtcourse.cli.subprocess", SimpleNamespace(Popen=InThisProcess))
    table = tmp_path / "my.csv"
    rows = [f"{g.smiles},{g.y.item()}" for g in molecules.train[:30]]
    table.write_text("\n".join(["smiles,y", *rows]))
    words = ("train", "egt-100k/zinc", "--csv", table, "--target", "y", "--folds", "3")
    shown = call(*words, "--epochs", "1", "--batch-size", "8", "--out", tmp_path / "runs")
    assert "mean ± standard deviation of 3 runs:" in shown
    folders = sorted((tmp_path / "runs").iterdir())
    names = [f"egt-100k-zinc-on-my-fold-{k}-of-3-seed0" for k in (1, 2, 3)]
    assert [folder.name for folder in folders] == names
    _, baselines = shown.split("test mae of simple predictors in the same runs:")
    scores = [json.loads((folder / "baselines.json").read_text())["scores"] for folder in folders]
    for name in ("constant", "ridge on Morgan counts", "boosted trees on Morgan counts"):
        ((mean, deviation),) = re.findall(rf"^ *{name} ([\d.]+) ± ([\d.]+)$", baselines, re.M)
        values = [of_fold[name][0] for of_fold in scores]
        assert float(mean) == pytest.approx(sum(values) / 3, rel=1e-3)
        assert float(deviation) == pytest.approx(statistics.stdev(values), rel=0.05)
    together = load_ensemble(tmp_path / "runs").predict_rows(["CCO", "CCX"])
    alone = torch.stack([load(folder).predict(["CCO"])[0] for folder in folders])
    assert together["predicted y"][0] == pytest.approx(alone.mean().item(), abs=1e-5)
    assert together["predicted y sd"][0] == pytest.approx(alone.std().item(), abs=1e-5)
    assert "not a molecule" in together["reason"][1]
    with pytest.raises(ValueError, match="holds 1 finished run"):
        load_ensemble(folders[0])
    other = tmp_path / "other.csv"
    other.write_text(table.read_text())
    words = ("train", "egt-100k/zinc", "--csv", other, "--target", "y", "--split", "random")
    call(*words, "--epochs", "1", "--batch-size", "8", "--out", tmp_path / "runs")
    with pytest.raises(ValueError, match="cannot be one ensemble, because their data is"):
        load_ensemble(tmp_path / "runs")


def test_ensemble_of_a_shipped_model_averages_its_seeds():
    together = load_ensemble("egt-100k/molecules").predict_rows(["CCO"])
    alone = torch.stack(
        [load("egt-100k/molecules", seed=seed).predict(["CCO"])[0] for seed in range(3)]
    )
    (name,) = (name for name in together if name.endswith(" sd"))
    assert together[name.removesuffix(" sd")][0] == pytest.approx(alone.mean().item(), abs=1e-5)
    assert together[name][0] == pytest.approx(alone.std().item(), abs=1e-5)
    assert alone.std() > 0


def test_similarity_equals_1_for_training_molecules_and_a_hand_computed_value_otherwise():
    known = fingerprints(["CCO", "c1ccccc1"])
    one, two, none = nearest_similarity(fingerprints(["OCC", "CCCO", "[Na+]"]), known)
    assert one == 1
    bits = [set(np.flatnonzero(np.unpackbits(fingerprints([s])[0]))) for s in ("CCCO", "CCO")]
    assert two == pytest.approx(len(bits[0] & bits[1]) / len(bits[0] | bits[1]))
    assert none == 0


def test_predictions_include_the_similarity_to_the_training_molecules(tmp_path, molecules):
    values = {graph.smiles: i for i, graph in enumerate(molecules.train[:30])}
    _, predictor = own_run(tmp_path, values, "regression", "--epochs", "1")
    similarity = predictor.predict_rows([*values, "CC[Si](C)(C)C", "CCX"])["similarity"]
    assert sum(value == 1 for value in similarity[:30]) == 24  # the training split
    assert similarity[30] < predict.SIMILAR
    assert math.isnan(similarity[31])


def test_batches_of_large_molecules_are_smaller():
    pairs = predict.PAIRS_AT_ONCE["cuda"]
    batches = predict._batches([0, 1, 2, 3, 4], [10, 10, 300, 400, 2000], 2, pairs)
    assert batches == [[0, 1], [2], [3], [4]]
    assert predict._batches([0, 1, 2], [200, 250, 256], 64, pairs) == [[0, 1, 2]]


def test_large_molecules_warn_about_memory_and_time_before_prediction():
    predictor = load("csa-100k/molecules")
    small = predictor.memory_of(100)
    large = predictor.memory_of(200)
    assert 3 * small < large < 5 * small
    peptide = "NCC(=O)" * 30 + "O"
    says = (
        r"1 molecule has more than 100 atoms, the largest 121, and will take \d+ MiB of memory "
        r"and about \d+ s; max_atoms"
    )
    with pytest.warns(UserWarning, match=says):
        rows = predictor.predict_rows(["CCO", peptide])
    assert rows["reason"] == ["", ""]
    rows = predictor.predict_rows(["CCO", peptide], max_atoms=100)
    assert rows["reason"] == ["", "it has 121 atoms; expected at most 100."]
    assert load("signnet-100k/molecules").memory_of(100) is None


def test_many_molecules_use_the_fused_form_with_equal_predictions(monkeypatch):
    pytest.importorskip("numba")
    predictor = load("csa-rings/zinc")
    few = predictor.predict_rows([*SMILES, "CCX"])
    config = predictor.model.config
    monkeypatch.setattr(predict, "MANY", 2)
    monkeypatch.setattr(predict, "ROWS_AT_ONCE", 4)
    used = []
    original = csa_fused.encode
    monkeypatch.setattr(csa_fused, "encode", lambda *given: used.append(1) or original(*given))
    many = predictor.predict_rows([*SMILES, "CCX"])
    assert used
    assert predictor.model.config is config
    assert many["prediction"] == pytest.approx(few["prediction"], abs=1e-4, nan_ok=True)
    assert many["similarity"] == pytest.approx(few["similarity"], nan_ok=True)
    assert many["reason"] == few["reason"]


def test_hooks_of_layers_are_called_for_many_molecules_too(monkeypatch):
    """The fused form calls no layer."""
    pytest.importorskip("numba")
    predictor = load("csa-100k/molecules")
    monkeypatch.setattr(predict, "MANY", 2)
    called = []
    with predictor.model.layers[0].register_forward_hook(lambda *given: called.append(1)):
        predictor.predict(["CCO", "CCN"])
    assert called


@pytest.mark.parametrize("name", ["csa-100k/molecules", "egt-100k/molecules"])
def test_a_predictor_can_be_pickled_for_another_process(name):
    predictor = load(name)
    copied = pickle.loads(pickle.dumps(predictor))
    assert copied.predict(SMILES).equal(predictor.predict(SMILES))


def test_a_tsv_file_has_tabs(tmp_path):
    (tmp_path / "a.csv").write_text("smiles,name\nCCO,ethanol\n")
    words = ["--csv", str(tmp_path / "a.csv"), "--out", str(tmp_path / "b.tsv")]
    call("predict", "csa-100k/molecules", *words)
    assert (tmp_path / "b.tsv").read_text().startswith("smiles\tname\tprediction\t")


@pytest.mark.parametrize("name", ["csa-100k/molecules", "egt-100k/molecules"])
def test_a_shipped_model_includes_fingerprints_of_its_training_molecules(name, molecules):
    smiles = [molecules.train[i].smiles for i in (0, 3999, 4000)] + ["CC[Si](C)(C)C"]
    similarity = load(name).predict_rows(smiles)["similarity"]
    assert similarity[:2] == [1, 1]
    assert similarity[2] < 1  # the first that it was not trained on
    assert math.isnan(similarity[3])
    shown = call("predict", name, "FC(F)(F)C(F)(F)C(F)(F)F")
    assert "1 of 1 molecule is unlike all training molecules (similarity below 0.3)" in shown


def test_every_shipped_model_has_a_card():
    shown = call("models")
    for card in predict.available_models():
        assert f"{card.test_error:.3f}" in shown
        smallest, largest = card.atoms
        assert 0 < smallest < largest
    assert {card.name for card in predict.available_models()} == {*available()}


def test_the_explorer_is_one_page_that_loads_nothing_from_other_hosts(tmp_path):
    out = tmp_path / "page.html"
    call("explore", "csa/zinc,egt-100k/molecules", "CCO", "c1ccccc1O", "--out", out)
    page = out.read_text()
    assert "egt-100k/molecules" in page
    assert "src=" not in page
    assert "http" not in page.replace("http://www.w3.org", "").replace("http://www.rdkit.org", "")


@pytest.mark.parametrize(
    "recipe", ["csa-rings/zinc", "graphormer-slim/zinc", "grpe-small/zinc", "egt-100k/zinc"]
)
def test_a_run_trained_on_a_csv_can_be_loaded(recipe, tmp_path, molecules):
    table = tmp_path / "my.csv"
    graphs = molecules.train[:40]
    rows = [f"{g.smiles},{int(g.y.item() > 0)},{'' if i % 5 else 1}" for i, g in enumerate(graphs)]
    table.write_text("\n".join(["smiles,activity,other", *rows, "CCX,1,0"]))
    targets = ["--target", "activity"]
    targets += ["--target", "other"] if recipe.startswith("csa") else []
    few = ("--epochs", 1, "--batch-size", 16, "--out", tmp_path / "runs")
    assert "line 42: 'CCX'" in call("train", recipe, "--csv", table, *targets, *few)
    (folder,) = (tmp_path / "runs").iterdir()
    predictor = load(folder)
    assert len(predictor.targets) == len(targets) // 2
    values = predictor.predict(["CCO", "[U]", "c1ccccc1O"])
    assert values.shape == ((3, 2) if len(predictor.targets) == 2 else (3,))
    assert values.isfinite().all()


def test_fine_tuning_starts_from_the_trained_weights_with_a_new_head(tmp_path, molecules):
    table = tmp_path / "my.csv"
    rows = [f"{g.smiles},{g.y.item()}" for g in molecules.train[:40]]
    table.write_text("\n".join(["smiles,y", *rows]))
    words = f"train csa/zinc --csv {table} --target y --start csa/zinc --out {tmp_path}"
    words += " --epochs 1 --batch-size 8"
    call(*words.split())
    (folder,) = tmp_path.glob("csa-zinc-on-my-*")
    tuned = load(folder).model.state_dict()
    before = load("csa/zinc").model.state_dict()
    name = "layers.3.attention.query.weight"
    change = (tuned[name] - before[name]).norm() / before[name].norm()
    assert 0 < change < 0.1
    with pytest.raises(ValueError, match=r"num_node_types is .*; expected a trained model of the"):
        fine_tuned(own_recipe(RECIPES["csa/zinc"], "regression", ["y"]), "csa/zinc")


@pytest.mark.parametrize("name", available())
def test_a_shipped_model_is_fine_tuned_only_with_the_recipe_of_its_name(name):
    own = own_recipe(name, "regression", ["y"], predict.features_of(name))
    model = fine_tuned(own, name).build_model()
    trained = load(name).model
    head = {key for key in model.state_dict() if key.startswith("head.")}
    assert head
    for key, value in trained.state_dict().items():
        assert key in head or model.state_dict()[key].equal(value)
    other = own_recipe("csa/pattern", "regression", ["y"], predict.features_of(name))
    with pytest.raises(ValueError, match=f"{name} .* cannot start a model of the recipe"):
        fine_tuned(other, name)


def test_a_published_recipe_can_start_from_trained_weights():
    tuned = fine_tuned(RECIPES["csa/zinc"], "csa/zinc")
    assert tuned.changed["start"] == "csa/zinc"
    weights = tuned.build_model().state_dict()
    trained = load("csa/zinc").model.state_dict()
    for name, weight in weights.items():
        assert weight.equal(trained[name].cpu()) == (not name.startswith("head.")), name
    with pytest.raises(ValueError, match="cannot start a model of the recipe csa-rings/zinc"):
        fine_tuned(RECIPES["csa-rings/zinc"], "csa/zinc")


def test_fine_tuning_reads_a_csv_with_the_vocabularies_of_the_trained_model():
    """A model of OGB's molecules may know more categories than OGB's vocabulary has, or fewer."""
    assert vocabularies_of("csa/zinc") == ((28,), (4,))
    known = ((512,) * 9, (5, 3, 2))
    own = own_recipe(RECIPES["csa/zinc"], "regression", ["y"], "ogb", vocabularies=known)
    config = own.build_model.args[0]
    assert (config.num_node_types, config.num_edge_types) == known
    record = json.loads(json.dumps(own.changed["own_data"]))
    again = own_recipe(**record | {"recipe": RECIPES[record["recipe"]]})
    assert again.build_model.args[0] == config


def test_ogb_features_are_within_ogbs_vocabulary():
    featurize, atoms, bonds = FEATURES["ogb"]
    own = own_recipe(RECIPES["csa/zinc"], "regression", ["y"], "ogb").build_model.args[0]
    assert (own.num_node_types, own.num_edge_types) == (atoms, bonds)
    graph, _ = canonical_graph("C[C@H](N)C(=O)[O-].[Na+]", featurize)
    assert graph.x.shape == (7, 9)
    assert (graph.x < torch.tensor(atoms)).all()
    assert (graph.edge_attr < torch.tensor(bonds)).all()


def test_size_names_of_older_records_are_understood():
    old = {"node_columns": (5,), "edge_columns": (3,)}
    new = {"num_node_types": (5,), "num_edge_types": (3,)}
    configs = [
        own_recipe(RECIPES["csa/zinc"], "regression", ["y"], **sizes).build_model.args[0]
        for sizes in (old, new)
    ]
    assert configs[0] == configs[1] != RECIPES["csa/zinc"].build_model.args[0]


@pytest.mark.parametrize(
    "model",
    ["gin", "gat", "gatedgcn", "signnet", "graphormer-slim", "egt-100k", "grpe-small", "csa-rings"],
)
def test_a_recipe_adapted_to_graphs_reads_every_feature_column(model):
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    x = torch.tensor([[0, 3], [4, 1], [2, 0]])
    edge_attr = torch.tensor([[2, 1]] * 4)
    graph = Data(x=x, edge_index=edges, edge_attr=edge_attr, y=torch.tensor([0.5]))
    others = [graph.clone().update({"x": torch.where(torch.arange(2) == c, 1, x)}) for c in (0, 1)]
    if model not in ("gin", "gat"):  # they read no edge features
        others += [
            graph.clone().update({"edge_attr": edge_attr - torch.eye(2).long()[c]}) for c in (0, 1)
        ]
    recipe = recipe_for(RECIPES[f"{model}/zinc"], [graph], "regression")
    network = recipe.build_model().eval()
    for parameter in network.parameters():
        if parameter.dim() > 1:
            torch.nn.init.xavier_normal_(parameter)
    with torch.no_grad():
        batch = gtcourse.collate(encode([graph, *others], *recipe.transforms))
        assert network(batch).sort().values.diff().min() > 1e-5


@pytest.mark.parametrize("floats", [False, True])
@pytest.mark.parametrize(
    ("name", "level", "task"),
    [
        ("gin-100k/zinc", "graph", "classes"),
        ("gat-100k/zinc", "node", "classes"),
        ("gatedgcn-100k/zinc", "edge", "classes"),
        ("csa-rings/zinc", "node", "classes"),
        ("egt-100k/zinc", "node", "binary"),
        ("grpe-small/zinc", "node", "regression"),
        ("egt-100k/zinc", "edge", "classes"),
    ],
)
def test_targets_belong_to_graphs_nodes_or_edges(name, level, task, floats, tmp_path):
    sizes = [*range(3, 13)]
    of = {"graph": lambda n: torch.tensor([n % 3])}.get(level, lambda n: torch.arange(n) % 2)
    as_target = torch.Tensor.long if task == "classes" else torch.Tensor.float
    graphs = [ring(n, as_target(of(n)), floats) for n in sizes]
    split = torch.tensor([0, 0, 0, 1, 2]).repeat(2)
    own = GraphDataset("rings", "rings", graphs, split, target=level)
    recipe = recipe_for(RECIPES[name], graphs, task, level).at(epochs=1)
    train(recipe, own, command="train", out=tmp_path / "run", progress=False)
    predictions = load(tmp_path / "run").predict(graphs)
    classes = ((3,) if level == "graph" else (2,)) if task == "classes" else ()
    rows = [() if level == "graph" else (n,) for n in sizes]
    assert [tuple(p.shape) for p in predictions] == [row + classes for row in rows]
    if task != "regression":
        assert all(each.min() >= 0 and each.max() <= 1 for each in predictions)  # probabilities


# Compiled, exported, and as ONNX.

ON_EDGES = ("gin", "gat", "gatedgcn", "signnet")
SMALL = [name for name in LEADERBOARD if name.endswith("-100k")]
TRANSFORMERS = [name for name in SMALL if name.partition("-")[0] not in ON_EDGES]
OTHERS = ["CC(=O)Oc1ccccc1C(=O)O", "C", "O=C1CN=C(c2ccccc2)c2cc(Cl)ccc2N1", "CCO", "CCCCCCN"]
"""19 nodes at most: if it were 20, as many as the walks have steps, PyTorch would compile a program
for this number alone."""


def small(name):
    """The trained model where its weights are shipped, else one with random weights."""
    if f"{name}/molecules" in predict.available():
        return predict.load(f"{name}/molecules")
    torch.manual_seed(0)
    entry = LEADERBOARD[name]
    return predict.Predictor(name, entry.build_model().eval(), entry.transforms, zinc_data, None)


def shortened(name):
    """The small model with its first and its last layer.

    Those between are more of the same, and each takes a converter as long again. The page on ONNX
    converts a whole model, which is one of GRPE.
    """
    predictor = small(name)
    model = predictor.model
    stack = model.encoder if name == "transformer-100k" else model
    stack.layers = torch.nn.ModuleList([stack.layers[0], stack.layers[-1]])
    model.config = replace(model.config, num_layers=2)
    return predictor


@cache
def exported(name):
    """The predictor of a shortened model, and its program."""
    predictor = shortened(name)
    return predictor, predict.export(predictor)


class Compiled(predict.OnTensors):
    """Without the explicit form that an export needs."""

    def forward(self, tensors):
        given = {name: tensors.get(name) for name in predict.AXES}
        encodings = {name: value for name, value in tensors.items() if name not in predict.AXES}
        return self.model(GraphBatch(**given, encodings=encodings))


def cases(predictor, least=1):
    """Batches of other sizes than the example's, with the model's own outputs."""
    model = predict.OnTensors(predictor.model).eval()
    for graphs in (OTHERS, OTHERS[:least]):
        tensors = predict.tensors_of(predictor, graphs)
        with torch.no_grad():
            yield tensors, model(tensors)


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_compiled_and_exported_models_agree_on_other_sizes(name):
    predictor, program = exported(name)
    program = program.module()
    torch._dynamo.reset()
    model = Compiled(predictor.model).eval()
    compiled = torch.compile(model, fullgraph=True, dynamic=True, backend="eager")
    for tensors, expected in cases(predictor):
        torch.testing.assert_close(program(tensors), expected, atol=1e-5, rtol=1e-5)
    for tensors, expected in cases(predictor, least=2):  # for one graph PyTorch would compile again
        with torch.no_grad():
            torch.testing.assert_close(compiled(tensors), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.filterwarnings("ignore")  # of the converter
@pytest.mark.parametrize("name", [name for name in TRANSFORMERS if name != "grpe-100k"])
def test_onnx_models_agree_on_other_sizes(name, tmp_path, monkeypatch):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    predictor, program = exported(name)
    monkeypatch.setattr(predict, "export", lambda *_: program)  # the page on ONNX calls it
    path = tmp_path / "model.onnx"
    names = predict.save_onnx(predictor, path)
    assert names == [*predict.tensors_of(predictor, ["CCO"])]
    session = runtime.InferenceSession(str(path))
    for tensors, expected in cases(predictor):
        given = {own: value.numpy() for own, value in zip(names, tensors.values(), strict=True)}
        (values,) = session.run(None, given)
        torch.testing.assert_close(torch.from_numpy(values), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.filterwarnings("ignore")  # of the converter
def test_the_onnx_pages_code_predicts_as_the_package_does(tmp_path, monkeypatch):
    pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "book" / "onnx.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", page, re.S))
    page_names: dict = {}
    exec(code, page_names)
    smiles = [*SMILES, "OC(=O)c1ccccc1OC(C)=O", "CC(=O)[O-].C[NH3+]"]
    expected = load("grpe-100k/molecules").predict(smiles)
    for some in (smiles, smiles[1:2]):
        (values,) = page_names["session"].run(None, page_names["inputs"](some))
        rows = expected if len(some) > 1 else expected[1:2]
        torch.testing.assert_close(torch.from_numpy(values), rows, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", [f"{name}-100k" for name in ON_EDGES])
def test_exporting_a_model_on_edge_lists_raises(name):
    with pytest.raises(
        ValueError, match=f"{name}.* cannot be exported, because it runs on lists of edges"
    ):
        predict.export(small(name))


@pytest.mark.parametrize("precision", [torch.float64, torch.float16])
def test_rows_are_predicted_by_a_model_of_any_precision(precision):
    expected = load("csa-100k/molecules").predict_rows(["CCO", "CCX"])
    torch.set_default_dtype(precision)
    try:
        found = load("csa-100k/molecules").predict_rows(["CCO", "CCX"])
    finally:
        torch.set_default_dtype(torch.float32)
    tolerance = 1e-5 if precision == torch.float64 else 1e-2
    assert found["prediction"][0] == pytest.approx(expected["prediction"][0], abs=tolerance)
    assert found["similarity"][0] == expected["similarity"][0]
    assert math.isnan(found["prediction"][1])
    assert found["reason"] == expected["reason"]


def test_a_copy_of_a_run_is_no_second_member_of_an_ensemble(tmp_path):
    recipe = recipe_for("gin-100k/zinc", tiny("zinc", 6).graphs, "regression")
    recipe = recipe.at(epochs=1, batch_size=4)
    train(recipe, tiny("zinc", 6), command="none", out=tmp_path / "a", progress=False)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    with pytest.raises(ValueError, match=r"a and .*b hold the same run, whose predictions would"):
        load_ensemble(tmp_path)
