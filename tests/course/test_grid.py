"""The model of the grid in every cell: what it reads, what it must not read, and its holes."""

from dataclasses import replace

import pytest
import torch

from gtcourse import collate
from gtcourse.course.grid import LAYERS, Cell, GridModel, PairRelations, cells
from gtcourse.course.records import recorded
from gtcourse.encodings import encode
from gtcourse.graphs.batch import GraphBatch
from gtcourse.graphs.molecules import zinc_data
from gtcourse.train.loop import count_parameters

CELLS = list(cells())
SMILES = ["C1CC1CCO", "CC(=O)Nc1ccccc1", "CCO", "C"]
ALL_INPUTS = Cell("csa", "structure", "sum").transforms


def name_of(cell: Cell) -> str:
    return cell.name


def batch_of(smiles: list[str]) -> GraphBatch:
    graphs = encode([zinc_data(text) for text in smiles], *ALL_INPUTS)
    batch = collate(graphs)
    walks = batch.encodings["rwse"].double()
    return replace(batch, encodings=batch.encodings | {"rwse": walks})


def model_of(cell: Cell) -> GridModel:
    torch.manual_seed(0)
    return GridModel(cell, d_model=8, num_heads=2, num_layers=2).double()


@pytest.mark.parametrize("cell", CELLS, ids=name_of)
def test_other_molecules_and_padding_do_not_change_a_prediction(cell):
    model = model_of(cell)
    together = model(batch_of(SMILES))
    alone = torch.cat([model(batch_of([smiles])) for smiles in SMILES])
    torch.testing.assert_close(together, alone, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("cell", CELLS, ids=name_of)
def test_the_order_of_the_atoms_does_not_change_a_prediction(cell):
    model = model_of(cell)
    batch = batch_of(["C1CC1CCO"])
    order = torch.tensor([5, 2, 0, 3, 1, 4])
    pairs = {name: batch.encodings[name][:, order][:, :, order] for name in ("ring", "distance")}
    turned = replace(
        batch,
        x=batch.x[:, order],
        adjacency=batch.adjacency[:, order][:, :, order],
        edge_attr=batch.edge_attr[:, order][:, :, order],
        encodings={"rwse": batch.encodings["rwse"][:, order], **pairs},
    )
    torch.testing.assert_close(model(turned), model(batch), rtol=1e-10, atol=1e-10)


def with_another(batch: GraphBatch, name: str) -> GraphBatch:
    """The same molecules, with other values for one of the inputs."""
    if name == "bonds":
        return replace(batch, edge_attr=(batch.edge_attr + 1) % 4)
    if name == "walks":
        changed = {"rwse": batch.encodings["rwse"] + 1}
    elif name == "rings":
        is_pair = ~torch.eye(batch.x.shape[1], dtype=torch.bool)
        changed = {"ring": ~batch.encodings["ring"] & is_pair}
    else:
        distance = batch.encodings["distance"]
        changed = {"distance": torch.where(distance > 1, 5 - distance, distance)}
    return replace(batch, encodings=batch.encodings | changed)


@pytest.mark.parametrize("name", ["bonds", "walks", "rings", "distances"])
@pytest.mark.parametrize("cell", CELLS, ids=name_of)
def test_a_cell_reads_its_inputs_and_no_others(cell, name):
    model = model_of(cell)
    batch = batch_of(["C1CC1CCO"])
    is_equal = torch.allclose(model(with_another(batch, name)), model(batch), rtol=0, atol=1e-9)
    is_read = name == "bonds" or cell.has_structure
    if cell.layer == "gatedgcn" and name == "distances":
        is_read = False  # it reads bonded pairs alone, whose distance is 1
    assert is_equal != is_read


@pytest.mark.parametrize("cell", CELLS, ids=name_of)
def test_the_transforms_compute_all_inputs_of_a_cell(cell):
    graphs = encode([zinc_data("C1CC1CCO")], *cell.transforms)
    assert torch.isfinite(model_of(cell).float()(collate(graphs))).all()


def test_relations_of_a_ring_with_a_chain_equal_those_found_by_hand():
    cell = Cell("csa", "structure", "virtual node")
    relations = PairRelations(cell)
    relation = relations(batch_of(["C1CC1CCO"]))[0]
    single = relation[1, 2].item() - (relations.itself + 1)  # of the ring
    itself = relations.itself
    last = relations.num_relations - 1
    assert itself == 4 + 5
    assert (relation[0] == last).all()
    assert (relation[:, 0] == last).all()
    assert relation.diagonal()[1:].tolist() == [itself] * 6
    # From atom 3, which closes the ring, to the chain of three atoms: distances 1, 2 and 3.
    assert relation[3, 4:].tolist() == [single, 4, 5]
    assert relation[1, 4:].tolist() == [4, 5, 6]


@pytest.mark.parametrize("layer", ["graphormer", "grpe", "csa"])
def test_cells_that_differ_only_in_the_readout_start_with_equal_weights(layer):
    weights = model_of(Cell(layer, "structure", "mean")).state_dict()
    assert weights
    for readout in ("sum", "virtual node"):
        others = model_of(Cell(layer, "structure", readout)).state_dict()
        assert others.keys() - weights.keys() <= {"virtual_node"}
        assert all(torch.equal(others[name], values) for name, values in weights.items())


def test_impossible_cells_of_the_grid_raise_with_a_reason():
    for layer in LAYERS:
        assert Cell(layer, "structure", "mean") in CELLS
    assert len(CELLS) == 22
    with pytest.raises(ValueError, match="reach all pairs in two steps"):
        Cell("gatedgcn", "bonds", "virtual node")
    with pytest.raises(ValueError, match="inputs is 'colours'; expected one of"):
        Cell("csa", "colours", "sum")


def test_recorded_runs_differ_only_in_cell_and_seed():
    runs = [run for cell in CELLS for run in recorded(cell.name)]
    first = runs[0]
    of_cell = ("layer", "inputs", "readout")
    for run in runs:
        cell = Cell(*(run.config[name] for name in of_cell))
        assert run.name == cell.name
        assert run.parameters == count_parameters(GridModel(cell))
        assert run.config == first.config | {name: run.config[name] for name in of_cell}
        assert run.data["sizes"] == first.data["sizes"]
    for cell in CELLS:
        assert [run.seed for run in recorded(cell.name)] == [0, 1, 2]


@pytest.mark.parametrize("bond", [-1, 4])
def test_an_unknown_bond_raises(bond):
    batch = batch_of(["CCO"])
    edge_attr = torch.full_like(batch.edge_attr, bond)
    with pytest.raises(ValueError, match=f"edge_attr.*{bond}"):
        model_of(CELLS[0]).check_features(batch.x, edge_attr)
