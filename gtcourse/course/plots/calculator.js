// The calculator of a training step's costs. `data` is what gtcourse.course.plots.calculator writes: key,
// ink, mark, other, start and largest (graphs, nodes), and models, each with its name, bytes of
// parameters, gradients and optimizer, and polynomials [a, b, c] of the nodes for one graph.
(function (data) {
  "use strict";
  const { mount } = gtcourse.widget;
  const CSS = `
    .controls { display: flex; flex-wrap: wrap; gap: .5rem 1rem; }
    .controls > * { flex: 1 1 9rem; min-width: 0; font-size: .92em; }
    label { display: flex; flex-direction: column; }
    input[type="range"] { border: 0; }
    input[aria-invalid="true"] { border: 2px solid ${data.other}; }
    .error:not(:empty) { display: block; margin-top: .2rem; border-left: .25rem solid ${data.other}; padding-left: .4rem; }
    input[type="number"] { width: 100%; }
    .results { display: flex; flex-wrap: wrap; gap: .8rem 2rem; margin-top: .8rem; }
    table { border-collapse: collapse; font-size: .9em; flex: 0 1 auto; align-self: start; }
    :is(th, td) { padding: .15em 1em .15em 0; text-align: right; white-space: nowrap; }
    th { text-align: left; font-weight: inherit; }
    tr.sum > * { border-top: 1px solid ${data.ink}; font-weight: bold; }
    .bars { flex: 1 1 100%; min-width: 0; display: grid; gap: .15rem .5rem; align-items: center;
      grid-template-columns: auto 1fr auto; font-size: .85em; }
    .bars button { all: unset; cursor: pointer; text-align: left; grid-area: calc(var(--row) + 2) / 1; }
    .bars button[aria-pressed="true"] { font-weight: bold; text-decoration: underline; }
    .bars button:focus-visible { outline: 2px solid ${data.mark}; }
    /* On a logarithmic axis lengths mean nothing, so a dot at the end of a thin line shows the value. */
    .bar { grid-area: calc(var(--row) + 2) / 2; position: relative; height: 2px; --of: ${data.ink}; background: var(--of); opacity: .75; }
    .bar::after { content: ""; position: absolute; right: -.4rem; top: calc(1px - .4rem); width: .8rem; height: .8rem; border-radius: 50%; background: var(--of); }
    .chosen { --of: ${data.mark}; opacity: 1; }
    .over { --of: ${data.other}; opacity: 1; }
    .bars .number { grid-area: calc(var(--row) + 2) / 3; }
    .axis { grid-column: 2; position: relative; font-size: .9em; }
    .axis span { position: absolute; transform: translateX(-50%); white-space: nowrap; line-height: 1.1; }
    .axis .low { left: 0; transform: none; }
    .devices { grid-row: 1; height: 2.4em; }
    .ticks { grid-row: calc(var(--rows) + 2); height: 2.6em; }
    .ticks .title { left: 50%; top: 1.4em; }
    .lines { grid-area: 2 / 2 / calc(var(--rows) + 2) / 2; position: relative; align-self: stretch; pointer-events: none; }
    .lines i { position: absolute; top: 0; bottom: 0; border-left: 1px dashed ${data.ink}; }
    .lines i.tick { border-left: 1px solid ${data.ink}; opacity: .25; }
    .lines i.limit { border-left: 2px solid ${data.other}; }
    @media (max-width: 576px) {
      .bars { grid-template-columns: auto auto 1fr; }
      .bars button { grid-row: calc(2 * var(--row) + 2); min-height: 2.75rem; display: flex; align-items: center; }
      .bars .number { grid-area: calc(2 * var(--row) + 2) / 2 / auto / -1; align-self: stretch; display: grid; align-items: center; }
      .bars :is(button, .number) { position: relative; background: var(--pst-color-background, Canvas); }  /* over the lines */
      .bar { grid-area: calc(2 * var(--row) + 3) / 1 / auto / -1; margin-block: .4rem; }
      .axis { grid-column: 1 / -1; }
      .ticks { grid-row: calc(2 * var(--rows) + 2); }
      .lines { grid-area: 2 / 1 / calc(2 * var(--rows) + 2) / -1; }
    }
    .result { margin: .6rem 0 0; min-height: 3lh; }
    .stale :is(.results, .result) { opacity: .4; }`;
  const LABELS = { graphs: "graphs in a batch, B", nodes: "nodes of a graph, N",
    gigabytes: "device memory, GiB" };
  const GIB = 2 ** 30;
  const DEVICES = [16, 24, 80, 141];  // GiB of common GPUs: T4, RTX 4090, A100 and H100, H200
  const [LEAST, MOST] = [2 ** 26, 2 ** 39];  // bytes, the ends of the axis
  const TICKS = { "64 MiB": 2 ** 26, "1 GiB": GIB, "16 GiB": 2 ** 34, "256 GiB": 2 ** 38 };  // each 16 times the last
  const SLIDE = { ...data.largest, gigabytes: 256 };  // where the sliders end; all begin at 1

  /** Where so many bytes are on the logarithmic axis, in percent. */
  const place = (bytes) =>
    Math.min(100, Math.max(1, 100 * Math.log(bytes / LEAST) / Math.log(MOST / LEAST)));

  const at = ([a, b, c], nodes) => a + b * nodes + c * nodes * nodes;
  const held = (model, graphs, nodes) =>
    graphs * Math.max(...model.activations.map((moment) => at(moment, nodes)));
  const fixed = (model) => model.parameters + model.gradients + model.optimizer;
  const memory = (model, graphs, nodes) => fixed(model) + held(model, graphs, nodes);

  /** Three digits and a prefix, as gtcourse.course.plots.interactive.with_unit has it. */
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

  const slid = (name, value) => Math.round(200 * Math.log(value) / Math.log(SLIDE[name]));
  const unslid = (name, step) => Math.round(SLIDE[name] ** (step / 200));

  const cell = (text, column) => (column ? Object.assign(document.createElement("td"), { textContent: text })
    : Object.assign(document.createElement("th"), { textContent: text, scope: "row" }));

  const LEAD = `<b>What fits?</b> Choose a model, the size of a batch and the memory of the device.`;
  const fields = Object.entries(LABELS).map(([name, text]) =>
    `<div><label>${text}<input type="number" name="${name}" min="1" aria-describedby="${name}-error" step="${
      name === "gigabytes" ? "any" : 1}" value="${data.start[name]}"></label>
    <input type="range" data-of="${name}" aria-label="${text}, logarithmic" min="0" max="200" value="${
      slid(name, data.start[name])}"><span class="error" id="${name}-error" role="alert"></span></div>`);
  const HTML = `<div class="controls">
      <label>model<select name="model"></select></label>${fields.join("")}</div>
      <div class="results"><table><tbody></tbody></table>
      <div class="bars" role="group" aria-label="memory of all models"></div></div>
      <p class="result" role="status"></p>`;

  mount("calculator", data, CSS, LEAD, HTML, (find) => {
    const root = find(".widget");
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
        ["matrix products", "", withUnit(graphs * at(model.flops, nodes), "FLOP")],
      ];
      find("tbody").replaceChildren(...rows.map((row) => {
        const line = document.createElement("tr");
        line.className = row[0] === "memory" ? "sum" : "";
        line.append(...row.map(cell));
        return line;
      }));
    }

    function fillBars(chosen, graphs, nodes, limit) {
      const bars = data.models.flatMap((model, index) => {
        const bytes = memory(model, graphs, nodes);
        const [name, bar, number] = ["button", "div", "span"].map((tag) =>
          document.createElement(tag));
        name.textContent = model.name;
        name.dataset.model = index;
        name.setAttribute("aria-pressed", index === chosen);
        bar.className = `bar${index === chosen ? " chosen" : ""}${bytes > limit ? " over" : ""}`;
        bar.style.width = `${place(bytes)}%`;
        number.className = "number";
        number.textContent = withUnit(bytes, "B");
        [name, bar, number].forEach((each) => each.style.setProperty("--row", index));
        return [name, bar, number];
      });
      const at = (bytes) => `left:${place(bytes)}%`;
      const devices = DEVICES.map((gib, n) => `<span style="${at(gib * GIB)};top:${n % 2 ? 1.2 : 0}em">${gib}</span>`);
      const ticks = Object.entries(TICKS).map(([words, bytes]) =>
        `<span ${bytes === LEAST ? 'class="low"' : `style="${at(bytes)}"`}>${words}</span>`);
      const lines = [...Object.values(TICKS).map((bytes) => `<i class="tick" style="${at(bytes)}"></i>`),
        ...DEVICES.map((gib) => `<i style="${at(gib * GIB)}"></i>`), `<i class="limit" style="${at(limit)}"></i>`];
      find(".bars").style.setProperty("--rows", data.models.length);
      find(".bars").innerHTML = `<div class="axis devices"><span class="low">common GPUs, GiB:</span>${devices.join("")}</div>
        <div class="lines">${lines.join("")}</div><div class="axis ticks">${ticks.join("")}<span class="title">memory, on a logarithmic axis</span></div>`;
      find(".bars").append(...bars);
    }

    function say(model, { graphs, nodes, gigabytes }) {
      const limit = gigabytes * GIB;
      const fits = memory(model, graphs, nodes) <= limit;
      const wide = most((n) => memory(model, graphs, n) <= limit, data.largest.nodes);
      const many = most((b) => memory(model, b, nodes) <= limit, data.largest.graphs);
      const count = (number, top) => (number === top ? "more than " : "") +
        number.toLocaleString("en");
      find(".result").textContent = `${model.name}: ${graphs.toLocaleString("en")} graphs of ` +
        `${nodes.toLocaleString("en")} nodes ${fits ? "fit" : "do not fit"} into ${gigabytes} ` +
        `GiB. Limits: ${wide ? `${graphs.toLocaleString("en")} graphs of ` +
        `${count(wide, data.largest.nodes)} nodes` : `not ${graphs.toLocaleString("en")} graphs of any size`}, or ${
        many ? `${count(many, data.largest.graphs)} of ${nodes.toLocaleString("en")}` :
          `not one of ${nodes.toLocaleString("en")}`}.`;
    }

    /** What a logarithmic slider stands for; its own value is a step. */
    const UNITS = { graphs: "graphs", nodes: "nodes", gigabytes: "GiB" };
    const nameSteps = () => Object.entries(UNITS).forEach(([name, unit]) =>
      find(`[data-of="${name}"]`).setAttribute("aria-valuetext", `${state[name].toLocaleString("en")} ${unit}`));

    function draw() {
      const model = data.models[state.model];
      nameSteps();
      select.value = state.model;
      fillTable(model, state.graphs, state.nodes);
      fillBars(state.model, state.graphs, state.nodes, state.gigabytes * GIB);
      say(model, state);
    }

    select.addEventListener("change", () => {
      state.model = Number(select.value);
      draw();
    });

    /** A new value, or what is wrong with it, beside its field. */
    function enter(name, value) {
      const whole = name in data.largest;
      const largest = whole ? data.largest[name] : Infinity;
      const valid = value > 0 && value <= largest && (!whole || Number.isInteger(value));
      find(`input[name="${name}"]`).setAttribute("aria-invalid", !valid);
      find(`#${name}-error`).textContent = valid ? "" : whole
        ? `Expected a whole number from 1 to ${largest.toLocaleString("en")}.`
        : "Expected a number above 0.";
      root.classList.toggle("stale", Boolean(find('[aria-invalid="true"]')));  // the results are those of the last valid numbers
      if (!valid) return;
      state[name] = value;
      draw();
    }

    root.addEventListener("input", ({ target }) => {
      const slider = target.dataset.of;
      if (slider) {
        const value = unslid(slider, Number(target.value));
        find(`input[name="${slider}"]`).value = value;
        enter(slider, value);
      } else if (target.name in LABELS) {
        enter(target.name, Number(target.value));
        find(`[data-of="${target.name}"]`).value = slid(target.name, state[target.name]);
      }
    });
    root.addEventListener("click", (event) => {
      const button = event.target.closest("[data-model]");
      if (!button) return;
      state.model = Number(button.dataset.model);
      draw();
      find(`button[data-model="${state.model}"]`).focus();
    });

    /** By how much the activations grow with the nodes of a graph. */
    function ask() {
      const { graphs, nodes } = data.start;
      const sizes = [nodes, 2 * nodes].map((n) => held(data.models[0], graphs, n));
      const growth = sizes[1] / sizes[0];
      gtcourse.guess(find(".question"), {
        question: `${data.models[0].name} reads ${graphs.toLocaleString("en")} graphs of ${nodes} nodes. If each graph has twice as many nodes, how much memory do the activations need?`,
        answers: ["about twice as much", "about 3 times as much", "about 4 times as much"],
        right: growth < 2.5 ? 0 : growth > 3.5 ? 2 : 1,
        about: "larger graphs",
        show: () => {
          state.model = 0;
          const asked = { ...data.start, nodes: 2 * nodes };
          for (const name in LABELS) {
            find(`input[name="${name}"]`).value = asked[name];
            find(`[data-of="${name}"]`).value = slid(name, asked[name]);
            enter(name, asked[name]);
          }
        },
        truth: () => `They grow from ${withUnit(sizes[0], "B")} to ${withUnit(sizes[1], "B")}, ${growth.toFixed(1)} times as much. One part grows with N, such as the vectors of the nodes, and another with N², such as the attention weights.`,
      });
    }

    draw();
    ask();
  });
})
