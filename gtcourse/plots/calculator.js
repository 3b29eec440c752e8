// The calculator of a training step's costs. `data` is what gtcourse.plots.calculator writes: key,
// ink, mark, other, start and largest (graphs, nodes), and models, each with its name, bytes of
// parameters, gradients and optimizer, and polynomials [a, b, c] of the nodes for one graph.
(function (data) {
  "use strict";
  const CSS = `
    :host { display: block; color: ${data.ink}; font: inherit; margin: .5rem 0; }
    .controls { display: flex; flex-wrap: wrap; gap: .5rem 1rem; }
    label { display: flex; flex-direction: column; font-size: .85em; min-width: 0; }
    select, input { font: inherit; color: inherit; background: transparent; max-width: 100%;
      border: 1px solid ${data.ink}; border-radius: .3rem; padding: .2rem .4rem; }
    input { width: 6.5em; }
    option { color: CanvasText; background: Canvas; }
    :is(select, input, button):focus-visible { outline: 2px solid ${data.mark}; }
    .results { display: flex; flex-wrap: wrap; gap: .8rem 2rem; margin-top: .8rem; }
    table { border-collapse: collapse; font-size: .9em; flex: 0 1 auto; align-self: start; }
    td { padding: .15em 1em .15em 0; text-align: right; white-space: nowrap; }
    td:first-child { text-align: left; }
    tr.sum td { border-top: 1px solid ${data.ink}; font-weight: bold; }
    .bars { flex: 1 1 15rem; min-width: 0; display: grid; gap: .15rem .5rem; align-items: center;
      grid-template-columns: auto 1fr auto; font-size: .85em; align-content: start; }
    .bars button { all: unset; cursor: pointer; text-align: left; }
    .bars button[aria-pressed="true"] { font-weight: bold; text-decoration: underline; }
    .bars button:focus-visible { outline: 2px solid ${data.mark}; }
    .bar { height: .7rem; background: ${data.ink}; opacity: .55; border-radius: 0 .2rem .2rem 0; }
    .chosen { background: ${data.mark}; opacity: 1; }
    .over { background: ${data.other}; }
    .number { text-align: right; white-space: nowrap; }
    p { margin: .6rem 0 0; min-height: 4.5em; }`;
  const LABELS = { graphs: "graphs in a batch, B", nodes: "nodes of a graph, N",
    gigabytes: "memory of the device, GiB" };
  const GIB = 2 ** 30;

  const at = ([a, b, c], nodes) => a + b * nodes + c * nodes * nodes;
  const held = (model, graphs, nodes) =>
    graphs * Math.max(...model.activations.map((moment) => at(moment, nodes)));
  const fixed = (model) => model.parameters + model.gradients + model.optimizer;
  const memory = (model, graphs, nodes) => fixed(model) + held(model, graphs, nodes);

  /** Three digits and a prefix, as gtcourse.plots.interactive.with_unit has it. */
  function withUnit(value, unit) {
    const [step, prefixes] = unit === "B" ? [1024, ["", "Ki", "Mi", "Gi", "Ti", "Pi"]]
      : [1000, ["", "k", "M", "G", "T", "P", "E"]];
    let power = 0;
    for (; value >= 999.5 && power < prefixes.length - 1; power += 1) value /= step;
    const digits = value >= 99.95 || power === 0 ? 0 : value >= 9.995 ? 1 : 2;
    return `${value.toFixed(digits)} ${prefixes[power]}${unit}`;
  }

  /** The largest whole number, up to a limit, for which `fits` holds; 0 if it never does. */
  function most(fits, limit) {
    let [low, high] = [0, limit + 1];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (fits(middle)) low = middle;
      else high = middle;
    }
    return low;
  }

  const cell = (text) => {
    const td = document.createElement("td");
    td.textContent = text;
    return td;
  };

  function start(host) {
    const root = host.attachShadow({ mode: "open" });
    const fields = Object.entries(LABELS).map(([name, text]) =>
      `<label>${text}<input type="number" name="${name}" min="1" step="${
        name === "gigabytes" ? "any" : 1}" value="${data.start[name]}"></label>`);
    root.innerHTML = `<style>${CSS}</style><div class="controls">
      <label>model<select name="model"></select></label>${fields.join("")}</div>
      <div class="results"><table><tbody></tbody></table>
      <div class="bars" role="group" aria-label="memory of all models"></div></div>
      <p role="status"></p>`;
    const find = (selector) => root.querySelector(selector);
    const select = find("select");
    select.replaceChildren(...data.models.map((model, index) => new Option(model.name, index)));
    const state = { model: 0, ...data.start };

    function fillTable(model, graphs, nodes) {
      const rows = [
        ["parameters", (model.parameters / 4).toLocaleString("en"),
          withUnit(model.parameters, "B")],
        ["gradients", "", withUnit(model.gradients, "B")],
        ["optimiser", "", withUnit(model.optimizer, "B")],
        ["activations", "", withUnit(held(model, graphs, nodes), "B")],
        ["memory", "", withUnit(memory(model, graphs, nodes), "B")],
        ["products", "", withUnit(graphs * at(model.flops, nodes), "FLOP")],
      ];
      find("tbody").replaceChildren(...rows.map((row) => {
        const line = document.createElement("tr");
        line.className = row[0] === "memory" ? "sum" : "";
        line.append(...row.map(cell));
        return line;
      }));
    }

    function fillBars(chosen, graphs, nodes, limit) {
      const bytes = data.models.map((model) => memory(model, graphs, nodes));
      const largest = Math.max(...bytes);
      find(".bars").replaceChildren(...data.models.flatMap((model, index) => {
        const [name, bar, number] = ["button", "div", "span"].map((tag) =>
          document.createElement(tag));
        name.textContent = model.name;
        name.dataset.model = index;
        name.setAttribute("aria-pressed", index === chosen);
        bar.className = `bar${index === chosen ? " chosen" : ""}${
          bytes[index] > limit ? " over" : ""}`;
        bar.style.width = `${Math.max(1, 100 * bytes[index] / largest)}%`;
        number.className = "number";
        number.textContent = withUnit(bytes[index], "B");
        return [name, bar, number];
      }));
    }

    function say(model, { graphs, nodes, gigabytes }) {
      const limit = gigabytes * GIB;
      const fits = memory(model, graphs, nodes) <= limit;
      const wide = most((n) => memory(model, graphs, n) <= limit, data.largest.nodes);
      const many = most((b) => memory(model, b, nodes) <= limit, data.largest.graphs);
      const count = (number, top) => (number === top ? "more than " : "") +
        number.toLocaleString("en");
      find("p").textContent = `${model.name}: ${graphs.toLocaleString("en")} graphs of ` +
        `${nodes.toLocaleString("en")} nodes ${fits ? "fit" : "do not fit"} into ${gigabytes} ` +
        `GiB. As many would fit ${wide ? `with up to ${count(wide, data.largest.nodes)} nodes ` +
        "each" : "at no size"}; of this size, ${many ? `${count(many, data.largest.graphs)} at ` +
        "most" : "not a single one"}.`;
    }

    function draw() {
      const model = data.models[state.model];
      select.value = state.model;
      fillTable(model, state.graphs, state.nodes);
      fillBars(state.model, state.graphs, state.nodes, state.gigabytes * GIB);
      say(model, state);
    }

    select.addEventListener("change", () => {
      state.model = Number(select.value);
      draw();
    });
    root.addEventListener("input", ({ target }) => {
      const value = Number(target.value);
      const whole = target.name in data.largest;
      const largest = whole ? data.largest[target.name] : Infinity;
      const valid = value > 0 && value <= largest && (!whole || Number.isInteger(value));
      if (!(target.name in LABELS)) return;
      target.setAttribute("aria-invalid", !valid);
      if (!valid) {
        find("p").textContent = whole
          ? `Expected a whole number from 1 to ${largest.toLocaleString("en")}.`
          : "Expected a number above 0.";
        return;
      }
      state[target.name] = value;
      draw();
    });
    root.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      state.model = Number(button.dataset.model);
      draw();
      find(`button[data-model="${state.model}"]`).focus();
    });
    draw();
  }

  // By its key, and not by an id: the same calculator may be on a page twice.
  for (const host of document.querySelectorAll(`[data-calculator="${data.key}"]`)) {
    if (!host.shadowRoot) start(host);
  }
})
