// The explainer's page: the whole model, one layer, one weight, and beside them the molecule.
// gtcourse.explain(host, {models, molecules}); a model with `src` is fetched when it is chosen, by a
// script that calls gtcourse.deliver(name, model).
(function () {
  "use strict";

  const COLORS = { node: "#3b82c4", edge: "#d97706", bias: "#c2559b", gate: "#b8962e", value: "#199e77" };
  const ONE_SIDED = ["#bfb9ad", "#cfb184", "#dfa95c", "#e49145", "#e8792f"];
  const TWO_SIDED = ["#3f8fd0", "#7fa4be", "#bfb9ad", "#d4996d", "#e8792f"];

  // What the page says of each model. A term has its colour, its formula and what it is.
  const DOT = { kind: "node", text: "q<sub>i</sub> · k<sub>j</sub> / √K", name: "content" };
  const ABOUT = {
    graphormer: {
      title: "Graphormer", weights: "head", tokens: "[VNode] and the atoms, with their degrees",
      pairs: ["bias", "b + c", "a bias for each pair and head, from distance and bonds on the way. All layers add the same one"],
      terms: { dot: DOT, b: { kind: "bias", text: "b<sub>φ(i,j)</sub>", name: "distance" },
        c: { kind: "edge", text: "c<sub>ij</sub>", name: "bonds on the way" } },
      source: "Graphormer, Eqs. 6 and 7", end: "[VNode] → linear",
    },
    egt: {
      title: "EGT", weights: "head", tokens: "the atoms, with singular vectors",
      pairs: ["edge", "e<sub>ij</sub>", "a vector for each pair, which every layer updates"],
      terms: { dot: { ...DOT, text: `clip(${DOT.text})` }, E: { kind: "edge", text: "E<sub>ij</sub>", name: "pair" } },
      source: "EGT, Eqs. 4 and 5", end: "mean → MLP",
    },
    grpe: {
      title: "GRPE", weights: "head", tokens: "[VNode] and the atoms",
      pairs: ["bias", "r(i, j)", "a relation for each pair, whose vectors meet queries, keys and values in every layer"],
      terms: { dot: DOT, query: { kind: "bias", text: "q<sub>i</sub> · R<sup>key</sup><sub>r</sub> / √K", name: "query context" },
        key: { kind: "edge", text: "k<sub>j</sub> · R<sup>query</sup><sub>r</sub> / √K", name: "key context" } },
      source: "GRPE, Eqs. 6 to 8", end: "[VNode] → linear",
    },
    csa: {
      title: "CSA", weights: "channel", tokens: "the atoms, with random walks",
      pairs: ["edge", "E<sub>ij</sub>", "a number for each pair and channel, from bonds, rings and random walks. All layers share it"],
      terms: { dot: DOT, E: { kind: "edge", text: "E<sub>ij,c</sub>", name: "pair, this channel" } },
      source: "CSA, Eqs. 5 to 7", end: "MLP → sum",
    },
  };

  const CSS = `
    :host { display: block; color: inherit; font: inherit; line-height: 1.4; --line: color-mix(in srgb, currentColor 25%, transparent);
            --soft: color-mix(in srgb, currentColor 7%, transparent); }
    * { box-sizing: border-box; }
    button, select, input { font: inherit; color: inherit; }
    button { background: none; border: 1px solid var(--line); border-radius: .4rem; padding: .25rem .6rem; cursor: pointer; }
    button:hover { background: var(--soft); }
    button:disabled { opacity: .6; cursor: default; }
    button[aria-pressed="true"], button[aria-current="true"] { background: #2a69a8; border-color: #2a69a8; color: #fff; }
    :focus-visible { outline: 2px solid ${COLORS.node}; outline-offset: 2px; }
    .models { display: flex; flex-wrap: wrap; gap: .4rem; align-items: center; }
    .tour { margin-bottom: .6rem; } .tour p { margin: 0; }
    .tour:has(p) { border-left: 5px solid ${COLORS.gate}; background: var(--soft); padding: .5rem .7rem; }
    .strip { display: flex; gap: .4rem; overflow-x: auto; padding: .5rem 2px; }
    .strip button { flex: none; width: 7rem; padding: .2rem; font-size: .75rem; }
    .strip svg { width: 100%; height: 3.4rem; display: block; pointer-events: none; }
    .strip path { stroke: currentColor !important; stroke-width: 4px !important; }
    .strip path[class^="atom"] { fill: currentColor !important; stroke: none !important; }
    .strip button[aria-pressed="true"] { background: var(--soft); color: inherit; border-width: 2px; }
    .body { display: grid; grid-template-columns: minmax(17rem, 5fr) minmax(0, 8fr); gap: 1.2rem; }
    .page { container-type: inline-size; }
    @container (max-width: 680px) { .body { grid-template-columns: minmax(0, 1fr); } }
    .molecule svg { width: 100%; height: auto; max-height: 17rem; display: block; }
    .molecule .note { display: none; }
    .molecule .name { fill: #1b1d20; text-anchor: middle; dominant-baseline: central; }
    svg text { fill: currentColor; }
    .atom { fill: transparent; cursor: pointer; outline: none; }
    .atom.chosen { stroke: ${COLORS.node}; stroke-width: 3; }
    .atom:focus-visible { stroke: ${COLORS.node}; stroke-width: 4; stroke-dasharray: 4 2; }
    .atom.other { stroke: ${COLORS.edge}; stroke-width: 3; }
    .atom.removed { fill: color-mix(in srgb, Canvas 75%, transparent); stroke: #d1495b; stroke-width: 2; stroke-dasharray: 3 3; }
    .prediction { font-size: 1.05rem; margin: .3rem 0; }
    .prediction b { font-size: 1.5rem; font-variant-numeric: tabular-nums; }
    .quiet { font-size: .85rem; opacity: .8; }
    fieldset { border: 1px solid var(--line); border-radius: .5rem; margin: .6rem 0 0; padding: .4rem .7rem .7rem; min-width: 0; }
    legend { font-size: .85rem; padding: 0 .3rem; }
    .row { display: flex; flex-wrap: wrap; gap: .4rem .7rem; align-items: center; margin-top: .35rem; font-size: .9rem; }
    input[type="range"] { flex: 1 1 7rem; min-width: 6rem; accent-color: ${COLORS.bias}; }
    nav { display: flex; flex-wrap: wrap; gap: .3rem; align-items: center; margin-bottom: .5rem; }
    .flow { display: flex; flex-wrap: wrap; gap: .5rem; align-items: stretch; }
    .card { border: 1px solid var(--line); border-radius: .5rem; padding: .4rem; flex: 1 1 5.4rem; max-width: 7.2rem; text-align: center; font-size: .8rem;
            border-top: 5px solid ${COLORS.node}; }
    .card.pairs { border-bottom: 5px solid var(--pairs); }
    .card canvas { width: 100%; }
    .stream { border-left: 5px solid var(--pairs); padding: .2rem .6rem; margin: .6rem 0; font-size: .9rem; }
    .maps { display: grid; grid-template-columns: repeat(auto-fill, minmax(5.2rem, 1fr)); gap: .4rem; }
    .maps button { padding: .25rem; font-size: .75rem; }
    .maps canvas { width: 100%; }
    canvas { image-rendering: pixelated; display: block; border-radius: 2px; aspect-ratio: 1; background: var(--soft); }
    .matrix { position: relative; max-width: 22rem; cursor: crosshair; touch-action: manipulation; }
    .matrix canvas { width: 100%; }
    .mark { position: absolute; pointer-events: none; border: 2px solid; }
    .weight { display: grid; grid-template-columns: minmax(0, 5fr) minmax(0, 6fr); gap: 1rem; }
    @container (max-width: 880px) { .weight { grid-template-columns: minmax(0, 1fr); } }
    .equation { font-size: .95rem; }
    .term { display: grid; grid-template-columns: 1fr auto; gap: .6rem; border-left: 5px solid var(--of); padding: .15rem .5rem; margin: .2rem 0;
            background: var(--soft); font-variant-numeric: tabular-nums; }
    .term small, .equation sub, .equation sup { line-height: 0; }
    .term small { opacity: .8; margin-left: .4rem; }
    .share { font-size: .85rem; }
    .total { border-top: 1px solid var(--line); --of: transparent; background: none; font-weight: 600; }
    .scale { white-space: nowrap; }
    .ramp { display: inline-block; width: 5rem; height: .6rem; vertical-align: middle; }
    .level { animation: zoom .25s ease-out; }
    @keyframes zoom { from { opacity: 0; transform: scale(.96); } }
    @media (prefers-reduced-motion: reduce) { .level { animation: none; } }`;

  const { number, paint } = gtcourse.layers;
  const rgb = (color) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  const css = (parts) => `rgb(${parts.join(",")})`;

  /** The colour of a number from 0 to 1 between stops, [r, g, b]. */
  function shade(stops, share) {
    const place = Math.max(0, Math.min(share, 1)) * (stops.length - 1);
    const below = Math.min(Math.floor(place), stops.length - 2);
    const [low, high] = [rgb(stops[below]), rgb(stops[below + 1])];
    return low.map((x, c) => Math.round(x + (place - below) * (high[c] - x)));
  }

  function meanMap(attention, T) {
    const mean = new Float64Array(T * T);
    attention.forEach((value, at) => { mean[at % (T * T)] += value * T * T / attention.length; });
    return mean;
  }

  gtcourse.waiting = {};
  gtcourse.deliver = (name, model) => gtcourse.waiting[name](model);

  function fetched(model) {
    if (!model.src) return Promise.resolve(model);
    return new Promise((resolve, reject) => {
      gtcourse.waiting[model.name] = (found) => resolve(Object.assign(model, found, { src: null }));
      const script = document.createElement("script");
      Object.assign(script, { src: model.src, onerror: () => reject(new Error(`${model.src} cannot be read`)) });
      document.head.append(script);
    });
  }

  gtcourse.explain = function (host, data) {
    const root = host.attachShadow({ mode: "open" });
    const state = { model: null, molecule: data.molecules[0], level: "model", layer: 0, channel: 0, i: 0, j: 1,
      effects: false, changes: gtcourse.models.unchanged() };
    let [result, before] = [null, null];
    const worth = new WeakMap();  // what each atom adds to a result's prediction, once it is known
    root.innerHTML = `<style>${CSS}</style>
      <div class="page"><div class="tour"></div><div class="models" role="group" aria-label="model"></div>
      <div class="strip" role="group" aria-label="molecule"></div>
      <div class="body"><div><p class="prediction" role="status"></p><div class="molecule"></div>
        <p class="quiet legend"></p><fieldset></fieldset></div>
        <div><nav aria-label="level of detail"></nav><div class="view"></div></div></div></div>`;
    const find = (selector) => root.querySelector(selector);
    const about = () => ABOUT[state.model.kind];
    const tokens = () => state.molecule.x.length + result.first;
    const name = (token) => (token < result.first ? "[VNode]" :
      `${state.molecule.symbols[token - result.first]}${token - result.first}`);
    const layer = () => result.layers[state.layer];
    const mapOf = (values, T = tokens()) => values.subarray(state.channel * T * T, (state.channel + 1) * T * T);
    const channels = () => layer().attention.length / tokens() ** 2;

    find(".models").innerHTML = data.models.map((model, at) =>
      `<button data-model="${at}">${ABOUT[model.kind].title} <small>${model.error ? `test MAE ${number(model.error, 2)}` : ""}</small></button>`).join("");
    find(".strip").innerHTML = data.molecules.map((molecule, at) =>
      `<button data-molecule="${at}" title="${molecule.smiles}">${molecule.drawing
        .replace(/<circle[^>]*>/g, "").replace(/<path class='note'[^>]*>/g, "").replace("role='group'", "aria-hidden='true'")}
        ${molecule.name.length > 16 ? `molecule ${at + 1}` : molecule.name}</button>`).join("");

    async function choose(model) {
      if (state.model === model) return;
      state.model = await fetched(model);
      Object.assign(state, { layer: 0, channel: 0, changes: { ...gtcourse.models.unchanged(), removed: state.changes.removed } });
      if (state.level !== "model") state.level = "layer";
      calculate();
      start();
    }

    /** After another model or molecule: everything is drawn again. */
    function start() {
      const first = result.first;
      [state.i, state.j] = [Math.min(Math.max(state.i, first), tokens() - 1), Math.min(Math.max(state.j, first), tokens() - 1)];
      root.querySelectorAll("[data-model]").forEach((button) =>
        button.setAttribute("aria-pressed", data.models[button.dataset.model] === state.model));
      root.querySelectorAll("[data-molecule]").forEach((button) =>
        button.setAttribute("aria-pressed", data.molecules[button.dataset.molecule] === state.molecule));
      find(".molecule").innerHTML = state.molecule.drawing;
      nameAtoms();
      drawChanges();
      draw();
    }

    /** Every atom's name on its disc, above the bonds, in place of the drawing's own letters. */
    function nameAtoms() {
      const svg = find(".molecule svg");
      const [discs, atoms] = [".disc", ".atom"].map((each) => [...svg.querySelectorAll(each)]);
      const names = discs.map((disc, at) => {
        const text = document.createElementNS(svg.namespaceURI, "text");
        [["x", "cx"], ["y", "cy"]].forEach(([to, from]) => text.setAttribute(to, disc.getAttribute(from)));
        text.setAttribute("font-size", disc.getAttribute("r") * 0.72);
        text.setAttribute("class", "name");
        text.textContent = name(at + result.first);
        return text;
      });
      svg.append(...discs, ...names, ...atoms);
    }

    function calculate() {
      before = gtcourse.models.run(state.model, state.molecule, {});
      result = gtcourse.models.run(state.model, state.molecule, state.changes);
    }

    function draw() {
      drawPrediction();
      drawMolecule();
      drawTrail();
      const view = find(".view");
      view.style.setProperty("--pairs", COLORS[about().pairs[0]]);
      ({ model: drawModel, layer: drawLayer, weight: drawWeight })[state.level](view);
    }

    function drawPrediction() {
      const change = result.prediction - before.prediction;
      const moved = Math.abs(change) > 5e-4 ? ` (${change > 0 ? "+" : "−"}${number(Math.abs(change), 2)} by your changes)` : "";
      find(".prediction").innerHTML = `predicted penalised logP <b>${number(result.prediction, 2)}</b>${moved}<br>
        <span class="quiet">${state.molecule.smiles} · computed by RDKit: ${number(state.molecule.value, 2)}</span>`;
    }

    /** The row of the chosen atom, as its level shows it: one head, a layer's mean, or all layers'. */
    function shownRow() {
      const T = tokens();
      const maps = state.level === "weight" ? [mapOf(layer().attention)] :
        (state.level === "layer" ? [layer()] : result.layers).map((each) => meanMap(each.attention, T));
      return Array.from({ length: T }, (_, j) =>
        maps.reduce((total, map) => total + map[state.i * T + j], 0) / maps.length);
    }

    function drawMolecule() {
      const row = shownRow().slice(result.first);
      if (state.effects && !worth.has(result)) findEffects();
      const found = state.effects ? worth.get(result) ?? row.map(() => 0) : row;
      const largest = Math.max(...found.map(Math.abs), 1e-9);
      const color = (value) => css(state.effects ? shade(TWO_SIDED, 0.5 + value / largest / 2) : shade(ONE_SIDED, value / largest));
      root.querySelectorAll(".molecule .disc").forEach((disc, at) => disc.setAttribute("fill", color(found[at])));
      root.querySelectorAll(".molecule .atom").forEach((atom, at) => {
        const token = at + result.first;
        atom.setAttribute("class", ["atom", token === state.i && "chosen", token === state.j && state.level === "weight" && "other",
          state.changes.removed.has(at) && "removed"].filter(Boolean).join(" "));
        atom.setAttribute("aria-pressed", token === state.i);
        atom.setAttribute("tabindex", token === state.i || (state.i < result.first && !at) ? 0 : -1);
      });
      const ramp = (low, stops) => `<span class="scale">${low} <span class="ramp" style="background:linear-gradient(to right,${
        stops.join(",")})"></span> ${number(largest, 2)}</span>`;
      const what = { model: "mean over all layers", layer: `mean of layer ${state.layer + 1}`,
        weight: `layer ${state.layer + 1}, ${about().weights} ${state.channel + 1}` }[state.level];
      find(".legend").innerHTML = state.effects ?
        `What each atom adds to the prediction: ${ramp(`−${number(largest, 2)}`, TWO_SIDED)}` :
        `What <b>${name(state.i)}</b> attends to (${what}): ${ramp(0, ONE_SIDED)}`;
    }

    /** The prediction less that without the atom, atom by atom, so that the page answers meanwhile. */
    async function findEffects() {
      const [of, model, molecule, changes] = [result, state.model, state.molecule, state.changes];
      const found = [];
      worth.set(of, molecule.x.map(() => 0));
      for (const atom of molecule.x.keys()) {
        const removed = new Set([...changes.removed, atom]);
        found.push(of.prediction - gtcourse.models.run(model, molecule, { ...changes, removed }).prediction);
        await new Promise((done) => setTimeout(done));
        if (of !== result) return worth.delete(of);
      }
      worth.set(of, found);
      if (state.effects) drawMolecule();
    }

    function drawTrail() {
      const steps = [["model", "The model"], ["layer", `Layer ${state.layer + 1}`],
        ["weight", `${about().weights} ${state.channel + 1}, one weight`]];
      const shown = steps.slice(0, { model: 1, layer: 2, weight: 3 }[state.level]);
      find("nav").innerHTML = shown.map(([level, words]) =>
        `<button data-level="${level}" aria-current="${level === state.level}">${words}</button>`).join(" › ");
    }

    function drawModel(view) {
      const T = tokens();
      const [, symbol, words] = about().pairs;
      view.innerHTML = `<div class="level">
        <p class="quiet">Blue: a vector for each token, ${about().tokens}. ${about().weights === "channel" ? "Each channel has its own attention." : ""}
        Choose a layer to look inside.</p>
        <div class="stream"><b>${symbol}</b>: ${words}.</div><div class="flow">
        <div class="card pairs"><b>input</b><br>${T} tokens<br>${T} × ${T} pairs</div>
        ${result.layers.map((_, at) => `<button class="card pairs" data-layer="${at}"><canvas></canvas>layer ${at + 1}</button>`).join("")}
        <div class="card"><b>read-out</b><br>${about().end}<br>→ ${number(result.prediction, 2)}</div></div>
        <p class="quiet">Each square is a layer's attention, the mean over its ${about().weights}s: row i is the token that attends, column j the one
        it attends to${result.first ? "; [VNode] comes first" : ""}.</p></div>`;
      view.querySelectorAll("canvas").forEach((canvas, at) => paint(canvas, meanMap(result.layers[at].attention, T), T));
    }

    function drawLayer(view) {
      const T = tokens();
      const kind = about().weights;
      view.innerHTML = `<div class="level"><p class="quiet">The ${channels()} ${kind}s of layer ${state.layer + 1}. Choose one to see its weights.
        ${kind === "channel" ? `Every ${channels() / state.model.heads} channels share a dot product.` : ""}</p><div class="maps">
        ${Array.from({ length: channels() }, (_, c) => `<button data-channel="${c}"><canvas></canvas>${kind} ${c + 1}</button>`).join("")}</div></div>`;
      view.querySelectorAll("canvas").forEach((canvas, c) =>
        paint(canvas, layer().attention.subarray(c * T * T, (c + 1) * T * T), T));
    }

    function drawWeight(view) {
      const T = tokens();
      const old = view.querySelector(".matrix");
      if (!old) {
        view.innerHTML = `<div class="level weight"><div><div class="matrix" tabindex="0" role="group"
          aria-label="attention matrix: arrow keys choose a pair"><canvas></canvas><div class="mark"></div></div>
          <p class="quiet"></p></div><div class="equation"></div></div>`;
      }
      const largest = paint(view.querySelector("canvas"), mapOf(layer().attention), T);
      const mark = view.querySelector(".mark").style;
      [mark.left, mark.top] = [`${100 * state.j / T}%`, `${100 * state.i / T}%`];
      [mark.width, mark.height, mark.borderColor] = [`${100 / T}%`, `${100 / T}%`, "currentColor"];
      view.querySelector(".quiet").innerHTML = `Row: ${name(state.i)} attends; column: to ${name(state.j)}. Largest weight ${number(largest, 2)}.`;
      view.querySelector(".equation").innerHTML = equation(T);
    }

    /** The paper's equation for the chosen pair, with its numbers. */
    function equation(T) {
      const at = state.i * T + state.j;
      const line = (kind, text, label, value) => `<div class="term" style="--of:${COLORS[kind]}"><span>${text}<small>${label}</small></span><span>${value}</span></div>`;
      const terms = layer().terms.map(([key, map]) => {
        const { kind, text, name: label } = about().terms[key];
        return line(kind, text, label, number(mapOf(map)[at]));
      });
      const logit = mapOf(layer().logits)[at];
      const total = Array.from({ length: T }, (_, j) => (state.changes.removed.has(j - result.first) ? 0 :
        Math.exp(mapOf(layer().logits)[state.i * T + j]))).reduce((a, b) => a + b, 0);
      const gone = state.changes.removed.has(state.j - result.first);
      const share = gone ? 0 : Math.exp(logit) / total;
      const gate = layer().gates ? line("gate", "σ(G<sub>ij</sub>)", "gate", number(mapOf(layer().gates)[at])) : "";
      const weight = mapOf(layer().attention)[at];
      return `<p><b>${name(state.i)} → ${name(state.j)}</b>, layer ${state.layer + 1}, ${about().weights} ${state.channel + 1}
        <small>(${about().source})</small></p>${terms.join("")}
        <div class="term total"><span>logit s<sub>ij</sub></span><span>${number(logit)}</span></div>
        <div class="term share"><span>exp s<sub>ij</sub> / Σ<sub>m</sub> exp s<sub>im</sub>${gone ? "<small>removed</small>" : ""}</span>
        <span>${gone ? "0" : `${number(Math.exp(logit), 2)} / ${number(total, 2)}`} = ${number(share)}</span></div>${gate}
        <div class="term total"><span>weight of v<sub>j</sub></span><span>${number(weight)}</span></div>
        <p class="quiet">An even share of ${T - state.changes.removed.size} tokens would be ${number(1 / (T - state.changes.removed.size))}.</p>`;
    }

    /** What can be changed in this model. */
    function drawChanges() {
      const { changes } = state;
      const atom = state.i - result.first;
      const farthest = Math.max(...state.molecule.distance);
      const check = (key, words, on) => `<label><input type="checkbox" data-change="${key}" ${on ? "checked" : ""}> ${words}</label>`;
      const own = {
        graphormer: () => `<div class="row"><label>Add to the bias at distance <select data-distance>${Array.from({ length: farthest + 1 }, (_, d) =>
          `<option ${d === (state.distance ?? 1) ? "selected" : ""}>${d}</option>`).join("")}</select></label>
          <input type="range" min="-4" max="4" step="0.1" value="${changes.shift[state.distance ?? 1] || 0}" aria-label="added to the bias"><output></output></div>`,
        egt: () => `<div class="row">${check("gate", `close the gate of head ${state.channel + 1} in layer ${state.layer + 1}`,
          changes.closed.has(`${state.layer},${state.channel}`))}</div>
          <div class="row">Flip the sign of singular pair ${Array.from({ length: 8 }, (_, m) =>
            `<button data-flip="${m}" aria-pressed="${changes.flips.has(m)}">${m + 1}</button>`).join("")}</div>`,
        grpe: () => `<div class="row">Terms: ${["query", "key", "value"].map((term) => check(term, term, !changes.off.has(term))).join("")}</div>`,
        csa: () => `<div class="row">${check("perHead", "one weight per head (each channel gets its head's mean E<sub>ij</sub>)", changes.perHead)}</div>`,
      };
      find("fieldset").innerHTML = `<legend>Change it and watch the prediction</legend><div class="row">
        <button data-act="remove" ${atom < 0 ? "disabled" : ""}>${atom < 0 ? "Choose an atom to remove" : `${changes.removed.has(atom) ? "Restore" : "Remove"} ${name(state.i)}`}</button>
        <button data-act="effects" aria-pressed="${state.effects}">What each atom adds</button>
        <button data-act="reset">Undo all</button></div>${own[state.model.kind]()}`;
    }

    function recalculate() {
      result = gtcourse.models.run(state.model, state.molecule, state.changes);
      draw();
    }

    function toggle(set, value) {
      if (!set.delete(value)) set.add(value);
    }

    function go(level, more) {
      Object.assign(state, more, { level });
      if (level !== "weight") find(".view").replaceChildren();
      drawChanges();
      draw();
      find('nav [aria-current="true"]').focus({ preventScroll: true });  // the button that was pressed is gone
    }

    function select(i, j = state.j) {
      Object.assign(state, { i, j });
      drawChanges();
      draw();
    }

    root.addEventListener("click", (event) => {
      const target = event.target.closest("button, .atom, .matrix");
      if (!target) return;
      const { model, molecule, level, layer: at, channel, act, flip, atom } = target.dataset;
      if (model) choose(data.models[model]);
      else if (molecule) {
        Object.assign(state, { molecule: data.molecules[molecule], effects: false });
        state.changes.removed = new Set();
        calculate();
        start();
      } else if (level) go(level);
      else if (at) go("layer", { layer: Number(at), channel: 0 });
      else if (channel) go("weight", { channel: Number(channel) });
      else if (atom) select(Number(atom) + result.first);
      else if (flip) {
        toggle(state.changes.flips, Number(flip));
        drawChanges();
        recalculate();
        find(`[data-flip="${flip}"]`).focus();
      } else if (act === "remove" && state.i >= result.first) {
        toggle(state.changes.removed, state.i - result.first);
        drawChanges();
        recalculate();
        find('[data-act="remove"]').focus();
      } else if (act === "effects") {
        state.effects = !state.effects;
        target.setAttribute("aria-pressed", state.effects);
        drawMolecule();
      } else if (act === "reset") {
        state.changes = gtcourse.models.unchanged();
        drawChanges();
        recalculate();
        find('[data-act="reset"]').focus();
      } else if (target.className === "matrix") {
        const box = target.getBoundingClientRect();
        const place = (x, size) => Math.max(0, Math.min(tokens() - 1, Math.floor(x / size * tokens())));
        select(place(event.clientY - box.top, box.height), place(event.clientX - box.left, box.width));
      }
    });

    root.addEventListener("input", (event) => {
      const { target } = event;
      const slider = find('input[type="range"]');
      if (target === slider) {
        state.changes.shift = { ...state.changes.shift, [state.distance ?? 1]: Number(slider.value) };
        find("output").textContent = number(Number(slider.value), 1);
        recalculate();
      } else if (target.matches("[data-distance]")) {
        state.distance = Number(target.value);
        slider.value = state.changes.shift[state.distance] || 0;
        find("output").textContent = number(Number(slider.value), 1);
      } else if (target.dataset.change) {
        const key = target.dataset.change;
        if (key === "gate") toggle(state.changes.closed, `${state.layer},${state.channel}`);
        else if (key === "perHead") state.changes.perHead = target.checked;
        else toggle(state.changes.off, key);
        recalculate();
      }
    });

    root.addEventListener("keydown", (event) => {
      const [down, right] = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key] || [0, 0];
      if (!down && !right) return;
      const T = tokens();
      if (event.target.closest(".matrix")) {
        event.preventDefault();
        select((state.i + down + T) % T, (state.j + right + T) % T);
      } else if (event.target.closest(".atom")) {
        event.preventDefault();
        const n = state.molecule.x.length;
        select((state.i - result.first + down + right + n) % n + result.first);
        find('.molecule .atom[tabindex="0"]').focus();
      }
    });

    /** A step of the tour, or with nothing in it the page without changes. */
    async function visit({ kind, changes, ...place }) {
      if (kind) await choose(data.models.find((model) => model.kind === kind));
      Object.assign(state, { molecule: data.molecules[0], level: "model", layer: 0, channel: 0, distance: 1, effects: false },
        place, { changes: { ...gtcourse.models.unchanged(), ...structuredClone(changes) } });
      find(".view").replaceChildren();
      calculate();
      start();
      return [result.prediction, before.prediction];
    }

    gtcourse.tour?.(find(".tour"), visit);  // in the book
    return choose(data.models.find((model) => model.kind === host.dataset.start) || data.models[0]);
  };
})();
