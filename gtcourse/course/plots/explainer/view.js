// The explainer's page: the whole model, one layer and one weight, and beside them the molecule; or two
// models side by side, each with the same molecule, the same pair and the path of one of its weights.
// gtcourse.explain(host, {models, molecules, opens}); `opens` is what is shown first: a molecule and, of the
// first model, a head or channel and the tokens i and j; `opens.of` has the same of other models, by kind, and
// perhaps a ring of atoms to outline. A model with `src` is fetched when it is chosen, by a
// script that calls gtcourse.deliver(name, model).
//
// What the pointer is on is previewed, what is clicked stays. Everything has its place from the
// start, so that nothing moves. What is chosen and changed stands in the page's address.
(function () {
  "use strict";

  const number = (x, digits = 3) => gtcourse.layers.number(Number(x.toFixed(digits)) || 0, digits);  // no −0.00
  const { ABOUT, COLORS, CSS, ofNumber, pixels, ramp, scaleOfNumbers } = gtcourse.look;
  const { css, ofWeight, onScale, scaleOfWeights } = gtcourse.colors;
  const EFFECT = 1;  // the contribution of an atom whose colour is full
  const HEIGHT = 250;  // of a molecule
  const SCOPES = ["weight", "layer", "model"];  // of what the molecule shows the weights
  const FIRST = { graphormer: 4, csa: 34 };  // the head or channel that is shown first: one that follows bonds
  const LEAST = 0.01;  // of a weight: a smaller difference is not marked
  const NARROW = 520;  // pixels of a phone, where squares to tap are as wide as a finger
  const FINGER = 22;  // pixels from the middle of an atom within which it is meant
  const NAMED = 2;  // at most so many atoms are named in the sentence on what has changed
  const MOST_SHIFT = 4;  // of a bias, up and down
  const LONG_NAME = 24;  // letters of a SMILES string in a sentence
  const MANY = 1000;  // from here on, exponentials are written without decimals
  const ALWAYS = 3;  // so many of the largest weights of a row are named
  const TALL = 4;  // times the uniform weight: no smaller weight has a bar of full height
  // The rows of the path that are folded at first.
  const LATER = new Set(["value", "message", "gathered", "before", "output", "joined", "network", "after", "next", "trail"]);
  const COMPONENTS = 4;  // so many of a query and a key are written

  async function fetched(model) {
    if (!model.src) return model;
    return Object.assign(model, await gtcourse.weights(model.name, model.src), { src: null });
  }

  const means = new WeakMap();  // of a layer over its heads or channels, [T, T]
  function meanMap(layer, T) {
    if (!means.has(layer)) {
      const mean = new Float64Array(T * T);
      layer.attention.forEach((value, at) => { mean[at % (T * T)] += value * T * T / layer.attention.length; });
      means.set(layer, mean);
    }
    return means.get(layer);
  }

  /** Which labels are written, of those with the places `at` in a row: the chosen one, those of the largest
      values, and then all that are far enough from those before; `gap` of two labels is how far. */
  function spaced(at, gap, chosen, values) {
    const written = new Set(chosen in at ? [chosen] : []);
    for (const which of [...largestOf(values), ...at.keys()]) {
      if ([...written].every((other) => other === which || Math.abs(at[other] - at[which]) >= gap(other, which))) written.add(which);
    }
    return written;
  }

  /** Where the largest values of a row stand, largest first. */
  const largestOf = (values) => [...values.keys()].sort((a, b) => values[b] - values[a]).slice(0, ALWAYS).filter((at) => values[at] > 0);

  const toggle = (set, value) => set.delete(value) || set.add(value);

  gtcourse.explain = function (host, data) {
    const root = host.attachShadow({ mode: "open" });
    const state = { model: null, molecule: data.molecules[0], scope: "weight", layer: 0, channel: 0, i: 1, j: 3,
      open: null, distance: 1, effects: false, outline: [], beside: null, second: { layer: 0, channel: 0 }, changes: gtcourse.models.unchanged(), removed: new Map() };
    let result = null;
    let before = null;
    let hover = null;
    let other = null;  // the results of the model beside, where there is one
    let otherBefore = null;
    const worth = new WeakMap();  // what each atom adds to a result's prediction, once it is known
    const HINT = "SMILES: a line of text with the atoms and bonds, such as CCO for ethanol. A name from the list works, too.";
    root.innerHTML = `<style>${CSS}</style>
      <div class="page"><div class="frame loading"><div class="tour" inert></div><div class="bar" inert><div class="models" role="group" aria-label="model"></div>
        <details class="picker"><summary></summary><div class="strip" role="group" aria-label="molecule"></div></details>
        <button class="more fold" data-act="more" aria-expanded="false">Your molecule, two models</button><form class="own extra"><input aria-label="your own molecule, as SMILES" size="14" placeholder="or your SMILES" title="${HINT}" autocomplete="off" autocapitalize="off" spellcheck="false">
          <button aria-label="Read this SMILES">↵</button></form>
        <select class="extra" data-beside aria-label="compare with"><option value="">compare with …</option></select></div><p class="heard" data-hint="${HINT}" role="status"><span></span></p>
      <div class="body"><div class="left"><div class="now"><p class="prediction" role="status"><span class="waiting">loading the model …</span></p><select data-switch aria-label="change to another model"></select></div><svg class="axis" aria-hidden="true"></svg><div class="under"><div class="key"></div><button data-act="link">Copy link</button></div><p class="beyond" role="status"></p>
        <button class="begin fold" data-part="changes" aria-expanded="false">Change the model</button><div class="made"><div class="chips" role="group" aria-label="changes" tabindex="-1"></div><button data-act="reset">Undo all</button></div><div class="edit"><fieldset></fieldset></div>
        <div class="molecule"></div><p class="legend"><span class="says"></span> <select data-scope aria-label="what the molecule shows"></select><span class="scale"></span></p><p class="counted quiet"></p><p class="changed" role="status"></p></div>
        <div class="right"><div class="two" hidden></div><div class="levels" hidden><p class="intro"></p>
          <h2><span class="count">1 · </span>The model <button class="begin fold" data-part="model" aria-expanded="false"></button><small class="quiet">choose a layer</small></h2><div class="flow" role="group" aria-label="layers: arrow keys choose one"></div>
          <h2 class="of-layer"></h2><div class="maps" role="group"></div>
          <div class="weight"><div><h2><span class="count">3 · </span>One weight</h2><div class="matrix" tabindex="0" role="group"
            aria-label="attention matrix: arrow keys choose a pair"></div><div class="picks"><select data-pick="i" aria-label="the atom that attends"></select> looks at <select data-pick="j" aria-label="the atom that it attends to"></select></div></div><div><h2 class="of-pair"></h2><ol class="path"></ol></div><svg class="connector" aria-hidden="true"></svg></div></div></div></div></div></div>`;
    const find = (selector) => root.querySelector(selector);
    const all = (selector) => [...root.querySelectorAll(selector)];
    const about = () => ABOUT[state.model.kind];
    const n = () => state.molecule.x.length;
    const tokens = () => n() + result.first;
    const nameOf = (token, first = result.first) => (token < first ? "[VNode]" :
      `${state.molecule.symbols[token - first]}${token - first}`);
    const short = (token, first) => nameOf(token, first).replace("[VNode]", "VN");
    const layer = () => result.layers[state.layer];
    const slab = (values, channel, T) => values.subarray(channel * T * T, (channel + 1) * T * T);
    const mapOf = (values, T = tokens()) => slab(values, state.channel, T);
    const channels = () => layer().attention.length / tokens() ** 2;
    const [i, j] = [() => hover?.i ?? state.i, () => hover?.j ?? state.j];
    const removed = () => state.removed.get(state.molecule) ?? new Set();
    const isRemoved = (token, first = result.first) => removed().has(token - first);
    const changes = () => ({ ...state.changes, removed: removed() });
    const drawn = (molecule, width, height = HEIGHT) => gtcourse.molecule.drawing(molecule,
      molecule.symbols.map((symbol, at) => `${symbol}${at}`), width || 340, height);
    const widthOf = (element, otherwise) => element.clientWidth || otherwise;
    /** What is shown of the model, and of the one beside it: what it computes now, what it computed as it
        was trained, and which of its weights is chosen. */
    const one = () => ({ model: state.model, run: result, was: before, layer: state.layer, channel: state.channel });
    const two = () => ({ model: state.beside, run: other, was: otherBefore, ...state.second });

    find(".models").innerHTML = data.models.map((model, at) => `<button data-model="${at}">${ABOUT[model.kind].title}</button>`).join("");
    find("[data-switch]").innerHTML = data.models.map((model, at) => `<option value="${at}">${ABOUT[model.kind].title}</option>`).join("");
    find(".strip").innerHTML = data.molecules.map((molecule, at) =>
      `<button data-molecule="${at}" title="${molecule.smiles}">${gtcourse.molecule.small(molecule)}
        ${molecule.name.length > 16 ? `molecule ${at + 1}` : molecule.name}</button>`).join("");
    find("[data-scope]").innerHTML = SCOPES.map((scope) => `<option value="${scope}"></option>`).join("");
    find("[data-beside]").innerHTML += data.models.map((model, at) => `<option value="${at}">compare with ${ABOUT[model.kind].title}</option>`).join("");

    /** What needs no model, while the first one is fetched. */
    function drawWaiting() {
      all("[data-model], [data-molecule]").forEach(press);
      showMolecule();
      gtcourse.molecule.paint(find(".molecule"), state.molecule.x.map(() => ofWeight(0)));
    }

    function press(button) {
      const pressed = button.dataset.model ? data.models[button.dataset.model] === state.model :
        data.molecules[button.dataset.molecule] === state.molecule;
      button.setAttribute("aria-pressed", pressed);
    }

    /** Beside the name of each model, what it predicts as it was trained, if the page was made with that. */
    function showPredictions() {
      all("[data-model]").forEach((button) => {
        const value = state.molecule.predictions?.[data.models[button.dataset.model].kind];
        if (typeof value === "number") button.dataset.predicts = number(value, 2);
        else if (value === undefined && state.molecule.predictions) button.dataset.predicts = "…";  // it is being computed
        else delete button.dataset.predicts;
      });
      placeHeard();  // the row's fields have moved
    }

    // On a phone, a menu of the models stays at the upper edge once the row of their buttons is out of view.
    new IntersectionObserver(([row]) => find(".now").classList.toggle("by-row", row.isIntersecting), { rootMargin: "-110px 0px 0px" }).observe(find(".models"));

    find("[data-switch]").addEventListener("change", async ({ target }) => {
      const held = find([".of-pair", ".matrix", ".molecule"].find((part) => find(part).getBoundingClientRect().top < innerHeight) ?? ".molecule");
      const top = held.getBoundingClientRect().top;
      await choose(data.models[target.value]);
      target.value = data.models.indexOf(state.model);  // the one before, if this one could not be loaded
      scrollBy({ top: held.getBoundingClientRect().top - top, behavior: "instant" });  // what is read stays where it is
    });

    /** Of the reader's own molecule, what the other models predict, one after the other while the page is idle. */
    async function predictWithAll(molecule) {
      if (!molecule.own || molecule.predictions || new Set(data.models.map(({ kind }) => kind)).size < data.models.length) return;
      molecule.predictions = {};
      showPredictions();
      for (const model of [state.model, ...data.models.filter((each) => each !== state.model)]) {
        await new Promise((idle) => (window.requestIdleCallback ?? setTimeout)(idle));
        const ready = await fetched(model).catch(() => null);  // the reader can still choose it
        if (molecule !== state.molecule) return void delete molecule.predictions;
        molecule.predictions[model.kind] = ready ? computeTrained(ready, molecule).prediction : null;
        showPredictions();
        drawPrediction();
      }
    }

    function showMolecule() {
      showPredictions();
      find(".picker > summary").textContent = state.molecule.like ?? (state.molecule.own ? "your molecule" : state.molecule.name);
      const note = find(".beyond").offsetHeight;  // what it takes, the drawing gives, so that all is in view
      find(".molecule").innerHTML = drawn(state.molecule, find(".molecule").clientWidth, HEIGHT - note);
    }

    /** Another molecule, without the cuts: their atoms are those of the last one. */
    function takeMolecule(molecule) {
      state.changes = { ...state.changes, cut: new Set() };
      Object.assign(state, { molecule, effects: false, outline: [], i: null, j: null });
    }

    /** Of the molecule with which the page opens, what is shown first of a model. */
    const openingOf = (kind, molecule) => (molecule && molecule === data.opens?.molecule ? data.opens.of?.[kind] : null);

    let requests = 0;

    /** A model that the reader asks for; null if it cannot be loaded, which is said, or if another request has come since. */
    async function requested(model) {
      requests += 1;
      const request = requests;
      try {
        const loaded = await fetched(model);
        return request === requests ? loaded : null;
      } catch {
        tell(`${ABOUT[model.kind].title} could not be loaded. Choose it again to try once more.`);
        return null;
      }
    }

    async function choose(model) {
      const wanted = await requested(model);
      if (!wanted) return;
      if (state.model !== wanted) {
        Object.assign(state, { model: wanted, layer: Math.min(state.layer, wanted.layers - 1), channel: FIRST[wanted.kind] ?? 0, i: null, j: null, outline: [],
          ...openingOf(wanted.kind, state.molecule.name) });
      }
      start();
    }

    /** The two atoms with the largest weight in the chosen head or channel. */
    function strongest() {
      const [map, T, { first }] = [mapOf(layer().attention), tokens(), result];
      const pair = { i: first, j: first };
      let most = -1;
      for (let i = first; i < T; i++) {
        for (let j = first; j < T; j++) {
          if (i === j || map[i * T + j] <= most) continue;
          most = map[i * T + j];
          Object.assign(pair, { i, j });
        }
      }
      return pair;
    }

    /** After another model or molecule: everything is drawn again. Without a chosen pair, it is the strongest. */
    function start() {
      calculate();
      state.channel = Math.min(state.channel, channels() - 1);
      const inside = (token) => Math.max(0, Math.min(token, tokens() - 1));
      Object.assign(state, state.i === null || state.j === null ? strongest() : { i: inside(state.i), j: inside(state.j) });
      find(".frame").classList.remove("loading");
      showParts();
      nameParts();
      all("[inert]").forEach((part) => { part.inert = false; });
      find(".levels").hidden = Boolean(state.beside);  // what is hidden has no width to be drawn in
      find(".two").hidden = !state.beside;
      find(".frame").classList.toggle("comparing", Boolean(state.beside));
      find("[data-beside]").value = state.beside ? data.models.indexOf(state.beside) : "";
      find("[data-switch]").value = data.models.indexOf(state.model);
      find("[data-beside]").options[0].textContent = state.beside ? "one model alone" : "compare with …";
      all("[data-model], [data-molecule]").forEach(press);
      showBeyond();
      showMolecule();
      buildChanges();
      buildFlow();
      buildMaps();
      buildMatrix();
      buildTwo();
      draw();
      host.dataset.drawn = "";  // from here on it takes its own room
      predictWithAll(state.molecule);
    }

    // A newcomer sees one weight and its path. The model's layers, what can be changed, a molecule of one's own
    // and a second model unfold. An address that says nothing else, a chapter and the tour show all.
    const PARTS = { model: ".flow [data-layer]", changes: "fieldset button" };  // each with its first control

    function showParts() {
      for (const part of Object.keys(PARTS)) find(".frame").classList.toggle(`no-${part}`, Boolean(state.open && !state.beside && !state.open.has(part)));
      find(".frame").classList.toggle("short", Boolean(state.open && !state.beside));
    }

    function nameParts() {
      find('[data-part="model"]').textContent = `${result.layers.length} layers of ${channels()} ${about().weights}s`;
    }

    function showPart(part) {
      state.open?.add(part);
      if (state.open?.size === Object.keys(PARTS).length) state.open = null;  // nothing is left to unfold
      start();
      find(`${PARTS[part]}[tabindex="0"], ${PARTS[part]}:not([tabindex])`).focus({ preventScroll: true });
    }

    // What is chosen is seen to go where it is shown next: an outline moves there. It lies above the page and
    // takes no room, and readers who want no motion see none.
    const still = matchMedia("(prefers-reduced-motion: reduce)");
    const FLIGHT = 380;  // milliseconds

    function fly(from, to, background = "none") {
      const end = to?.getBoundingClientRect();
      if (still.matches || !from?.width || !end?.width) return;
      const frame = find(".frame").getBoundingClientRect();
      find(".ghost")?.remove();  // arrow keys are faster than it
      const ghost = Object.assign(document.createElement("div"), { className: "ghost" });
      ghost.setAttribute("aria-hidden", "true");
      const px = (x) => `${x.toFixed(1)}px`;
      Object.assign(ghost.style, { left: px(end.left - frame.left), top: px(end.top - frame.top), width: px(end.width), height: px(end.height), background });
      find(".frame").append(ghost);
      const away = `translate(${px(from.left - end.left)}, ${px(from.top - end.top)}) scale(${from.width / end.width}, ${from.height / end.height})`;
      ghost.animate([{ transform: away, opacity: 1 }, { transform: "none", opacity: 1, offset: 0.75 }, { transform: "none", opacity: 0 }], { duration: FLIGHT, easing: "ease-in-out" })
        .finished.finally(() => ghost.remove());
    }

    const boxOf = (part) => part?.getBoundingClientRect();

    /** From a layer to its heads, from a head to its matrix, from a weight to its path. */
    const pictureOf = (canvas) => `center / 100% 100% url(${canvas.toDataURL()})`;
    const flyToMaps = (canvas) => fly(boxOf(canvas), find(".maps"));
    const flyToMatrix = (canvas) => fly(boxOf(canvas), find(".cells"), pictureOf(canvas));
    const flyToPath = (from) => fly(from, find(".path .of-weight") ?? find(".of-pair"), css(ofWeight(mapOf(layer().attention)[state.i * tokens() + state.j])));

    /** What a model computes of the molecule as it was trained; what it has computed once of the molecule shown is kept. */
    let trained = { molecule: null, runs: new Map() };
    function computeTrained(model, molecule = state.molecule) {
      if (trained.molecule !== molecule) trained = { molecule, runs: new Map() };
      if (!trained.runs.has(model)) trained.runs.set(model, gtcourse.models.run(model, molecule, {}));
      return trained.runs.get(model);
    }

    const isChanged = ({ removed, shift, closed, flips, off, perHead, cut }) => perHead || Object.values(shift).some(Boolean) ||
      [removed, closed, flips, off, cut].some((set) => set.size > 0);

    /** What a model computes. Nothing reads the row of a removed atom, so it is empty, as its column is. */
    function compute(model, changes) {
      if (!isChanged(changes)) return computeTrained(model);
      const found = gtcourse.models.run(model, state.molecule, changes);
      const T = n() + found.first;
      for (const { attention } of found.layers) {
        for (const atom of changes.removed ?? []) {
          for (let at = (atom + found.first) * T; at < attention.length; at += T * T) attention.fill(0, at, at + T);
        }
      }
      return found;
    }

    function calculate() {
      before = computeTrained(state.model);
      dropUnknown();
      result = compute(state.model, changes());
      hover = null;
      calculateBeside();
    }

    /** An address may name weights and gates that this model, with this molecule, does not have. */
    function dropUnknown() {
      const { kind, layers, heads } = state.model;
      const T = n() + before.first;
      const sizes = [layers, before.layers[0].attention.length / T ** 2, T, T];
      const inside = (numbers, limits) => numbers.every((x, at) => x < limits[at]);
      const { cut, closed } = state.changes;
      for (const each of cut) {
        const [of, ...place] = each.split(",");
        if (of === kind && !inside(place.map(Number), sizes)) cut.delete(each);
      }
      if (kind === "egt") {
        for (const gate of closed) {
          if (!inside(gate.split(",").map(Number), [layers, heads])) closed.delete(gate);
        }
      }
    }

    /** The model beside is as it was trained; what it shares with the other is the molecule. */
    function calculateBeside() {
      if (!state.beside) {
        [other, otherBefore] = [null, null];
        return;
      }
      otherBefore = computeTrained(state.beside);
      other = compute(state.beside, { ...gtcourse.models.unchanged(), removed: removed() });
      const channels = other.layers[0].attention.length / (n() + other.first) ** 2;
      state.second = { layer: Math.min(state.second.layer, other.layers.length - 1), channel: Math.min(state.second.channel, channels - 1) };
    }

    function recalculate() {
      result = compute(state.model, changes());
      calculateBeside();
      draw();
    }

    function draw() {
      drawPrediction();
      drawChips();
      drawChanges();
      if (!state.beside) {
        drawFlow();
        drawMaps();
        drawMatrix();
      }
      drawPair();
      remember();
    }

    /** What depends on the pair that is chosen or that the pointer is on. */
    function drawPair() {
      drawMolecule();
      if (state.beside) return drawTwo();
      drawMark();
      drawPath();
      drawIntro();
    }

    /** What a newcomer sees first, in words. */
    function drawIntro() {
      if (!state.open) return;
      const weight = mapOf(layer().attention)[i() * tokens() + j()];
      find(".intro").innerHTML = `In ${about().weights} ${state.channel + 1} of layer ${state.layer + 1}, <b>${nameOf(i())}</b> gives ${
        i() === j() ? "itself" : `<b>${nameOf(j())}</b>`} the weight <b>${number(weight)}</b> (framed). ${
        aboutRing() || "The rows show where it comes from, and what the prediction is without it. "}Choose another square or atom.`;
      find(".counted").textContent = `${nameOf(result.first)} is the first atom of the molecule’s SMILES string: the atoms are numbered from 0.`;
    }

    /** Of a pair on a common ring, in a model that reads rings: what its row does to the weight, and what all such rows do to the prediction. */
    function aboutRing() {
      const T = tokens();
      const ring = layer().terms.find(([name]) => name === "ring");
      const by = ring ? mapOf(ring[1])[i() * T + j()] : 0;
      if (!by || !mapOf(layer().attention)[i() * T + j()]) return "";  // no common ring, or cut
      const [here, logits] = [i() * T + j(), mapOf(layer().logits)];
      const all = logits.subarray(i() * T, (i() + 1) * T).reduce((sum, x, to) => sum + (isRemoved(to) ? 0 : Math.exp(x)), 0);
      const without = Math.exp(logits[here] - by);
      const bonded = state.molecule.edge[(i() - result.first) * n() + j() - result.first] >= 0;
      return `They share ${bonded ? "a bond and a" : "no bond, but a"} ring${ringDrawn().length ? " (outlined)" : ""}: its row adds ${number(by, 2)} to the logit, and without it the weight would be ${
        number(without / (all - Math.exp(logits[here]) + without))}. With rings switched off (under <i>Change the model</i>), CSA predicts ${number(ringless(result, state.changes), 2)}. `;
    }

    /** The ring that is outlined: while the chosen atoms are both on it. */
    const ringDrawn = () => (!state.changes.off.has("ring") && [i(), j()].every((token) => state.outline.includes(token - result.first)) ? state.outline : []);

    function drawPrediction() {
      const { value } = state.molecule;
      const now = result.prediction;
      const moved = Math.abs(now - before.prediction) > 5e-4;
      const heading = state.beside ? `<span class="long">penalised logP · </span>${about().title}` : '<span class="what">penalised logP</span>';
      find(".prediction").innerHTML = `${heading} ${moved ? `${number(before.prediction, 2)} → ` : ""}<b>${number(now, 2)}</b>
        ${state.beside ? `· ${ABOUT[state.beside.kind].title} <b>${number(other.prediction, 2)}</b>` : ""}
        ${value === null ? '<small class="long">· exact: needs RDKit</small>' : `<span class="${isWhole() ? "" : "of-whole"}">· exact ${number(value, 2)}</span>`}`;
      const values = data.molecules.map((molecule) => molecule.value);
      const others = moved || state.beside ? [] : Object.entries(state.molecule.predictions ?? {}).filter(([kind, by]) => kind !== state.model.kind && by !== null);
      const shown = [now, before.prediction, other?.prediction ?? now, ...others.map(([, by]) => by)];  // of the reader's molecules and changes, some lie beyond the others
      const low = Math.min(...values.map((x) => x - 1.5), ...shown.map((x) => x - 0.5));
      const high = Math.max(...values.map((x) => x + 1.5), ...shown.map((x) => x + 0.5));
      const axis = find(".axis");
      const width = axis.clientWidth || 340;
      const place = (x) => (8 + (width - 16) * Math.max(0, Math.min(1, (x - low) / (high - low)))).toFixed(1);
      const step = high - low > 20 ? 10 : 2;
      const ticks = Array.from({ length: 81 }, (_, at) => at - 40).filter((x) => x % step === 0 && x > low && x < high);
      axis.setAttribute("viewBox", `0 0 ${width} 34`);
      axis.innerHTML = `<path d="M0 12H${width}" stroke="currentColor" opacity=".4"/>
        ${ticks.map((x) => `<path d="M${place(x)} 9v6" stroke="currentColor" opacity=".5"/><text x="${place(x)}" y="29" text-anchor="middle"
          font-size="11.5" fill="currentColor" opacity=".85">${number(x, 0)}</text>`).join("")}
        ${value === null ? "" : `<path class="of-exact${isWhole() ? "" : " of-whole"}" d="M${place(value)} 1v22"/>`}
        ${others.map(([kind, by]) => `<circle class="of-other" cx="${place(by)}" cy="12" r="4"><title>${ABOUT[kind].title}</title></circle>`).join("")}
        ${moved ? `<circle cx="${place(before.prediction)}" cy="12" r="5" fill="none" stroke="currentColor" stroke-width="1.5"/>` : ""}
        <circle cx="${place(now)}" cy="12" r="5.5" fill="${COLORS.node}"/>
        ${state.beside ? `<rect x="-5.5" y="-5.5" width="11" height="11" transform="translate(${place(other.prediction)},12) rotate(45)" fill="var(--page)" stroke="var(--second)" stroke-width="2"/>` : ""}`;
      find(".key").innerHTML = `<span><i></i>${state.beside ? about().title : "predicted"}</span>${
        state.beside ? `<span class="second"><i></i>${ABOUT[state.beside.kind].title}</span>` : ""}${moved && isWhole() ? '<span class="old"><i></i>before</span>' : ""}${others.length ? '<span class="others"><i></i>others</span>' : ""}${
        keyOfExact(value)}`;
    }

    /** Without an atom it is another molecule, of which the exact value is not known here. */
    const isWhole = () => !removed().size;

    function keyOfExact(value) {
      if (value === null) return "";  // which the line above says
      if (isWhole()) return '<span class="exact"><i></i>exact<span class="long"> (RDKit)</span></span>';
      return `<span class="exact of-whole"><i></i>exact for whole<span class="long"> ${state.molecule.like ?? state.molecule.name}</span></span>`;
    }

    /** In what the molecule is unlike all that the model was trained on; "" if in nothing. */
    function beyond() {
      if (!state.model.trained_on) return "";  // the data are not known here
      const { atoms: [fewest, most], types } = state.model.trained_on;
      const strange = types ? [...state.molecule.x.keys()].filter((atom) => !types.includes(state.molecule.x[atom])) : [];
      const size = n() < fewest || n() > most;
      const named = strange.slice(0, NAMED).map((atom) => nameOf(atom + result.first));
      const [verb, more] = [strange.length > 1 ? "are" : "is", strange.length > NAMED ? ` and ${strange.length - NAMED} more` : ""];
      const reasons = [size && `the molecule has ${n()} atom${n() > 1 ? "s" : ""}, and those in the training data have ${fewest} to ${most}`,
        strange.length && `${named.join(" and ")}${more} ${verb} of a type (element, charge and hydrogens) that the training data do not contain`];
      const found = reasons.filter(Boolean);
      return found.length ? `Do not rely on this prediction: ${found.join("; and ")}.` : "";
    }

    /** A SMILES string without its marks of mirror images: "[C@@H]" is "C", "[N@+]" is "[N+]". */
    const withoutMarks = (smiles) => smiles.replace(/\[([BCNOPSFI])@{1,2}H?\]/g, "$1").replace(/@/g, "");

    /** In square brackets, as the marks need them, an atom counts as another type: that can be undone. */
    function showBeyond() {
      const said = beyond();
      find(".beyond").textContent = said;
      if (!said || !state.molecule.own || !state.molecule.name.includes("@")) return;
      find(".beyond").append(" An atom in square brackets, as [C@H], counts as another type than C. The models do not read the marks @. ");
      find(".beyond").insertAdjacentHTML("beforeend", '<button data-act="marks">Leave out the marks</button>');
    }

    const mine = {
      graphormer: () => Object.entries(state.changes.shift).filter(([, by]) => by).map(([distance, by]) =>
        [`shift:${distance}`, `${by > 0 ? "+" : "−"}${number(Math.abs(by), 1)} at distance ${distance}`]),
      egt: () => [...[...state.changes.closed].map((gate) => [`closed:${gate}`,
        `gate of head ${Number(gate.split(",")[1]) + 1}, layer ${Number(gate.split(",")[0]) + 1} closed`]),
      ...[...state.changes.flips].map((pair) => [`flips:${pair}`, `pair ${pair + 1} flipped`])],
      grpe: () => [...state.changes.off].filter((term) => term !== "ring").map((term) => [`off:${term}`, `no ${term} term`]),
      csa: () => [...(state.changes.perHead ? [["perHead:", "one weight per head"]] : []), ...(state.changes.off.has("ring") && readsRings() ? [["off:ring", "no rings"]] : [])],
    };

    function drawChips() {
      const list = [...[...removed()].map((atom) => [`removed:${atom}`, `without ${nameOf(atom + result.first)}`]), ...cuts(), ...mine[state.model.kind]()];
      find(".chips").innerHTML = list.length ? list.map(([undo, text, words = text]) =>
        `<button data-undo="${undo}" aria-label="undo: ${words}" title="${words}">${text} ×</button>`).join("") :
        "<span class='quiet'>The model as it was trained.</span>";
      find('[data-act="reset"]').disabled = !list.length;
    }

    const readsRings = () => state.model.shapes["edge_encoding.bonds.no_edge.weight"]?.[0] > 1;

    /** The weights of this model that are cut, each with the words of its chip, short and complete. */
    const cuts = () => [...state.changes.cut].filter((cut) => cut.startsWith(`${state.model.kind},`)).map((cut) => {
      const [at, channel, from, to] = cut.split(",").slice(1).map(Number);
      const pair = `${nameOf(from)} → ${nameOf(to)}`;
      const unit = about().weights === "head" ? "H" : "channel ";
      return [`cut:${cut}`, `no ${pair}, L${at + 1} ${unit}${channel + 1}`, `no weight ${pair}, layer ${at + 1}, ${about().weights} ${channel + 1}`];
    });
    const chosenCut = () => [state.model.kind, state.layer, state.channel, state.i, state.j].join(",");

    function undo(what) {
      const [kind, value] = what.split(":");
      if (kind === "removed") removed().delete(Number(value));
      else if (kind === "shift") state.changes.shift = { ...state.changes.shift, [value]: 0 };
      else if (kind === "perHead") state.changes.perHead = false;
      else if (kind === "flips") state.changes.flips.delete(Number(value));
      else state.changes[kind].delete(value);
    }

    /** The largest difference between two maps. */
    function apart(one, two) {
      let largest = 0;
      for (let at = 0; at < one.length; at++) largest = Math.max(largest, Math.abs(one[at] - two[at]));
      return largest;
    }

    /** The weights that the molecule shows, now and in the model as it was trained. */
    function rows() {
      const now = shownRow(one(), i());
      const was = shownRow({ ...one(), run: before }, i());
      const away = now.map((weight, at) => Math.abs(weight - was[at]));
      return { now, was, differs: away.map((by) => by > LEAST), away };
    }

    const otherLayers = () => result.layers.map((each, at) =>
      apart(meanMap(each, tokens()), meanMap(before.layers[at], tokens())) > LEAST);

    /** What the changes have changed, in words: what it was and what it is now. */
    function differences() {
      const others = otherLayers();
      if (Math.abs(result.prediction - before.prediction) < 5e-4 && !others.some(Boolean)) return "";
      const { now, was, differs, away } = rows();
      const atoms = [...away.keys()].filter((at) => differs[at]).sort((a, b) => away[b] - away[a]).slice(0, NAMED)
        .map((token) => `on ${nameOf(token)} ${number(was[token], 2)} → ${number(now[token], 2)}`);
      const layers = [...others.keys()].filter((at) => others[at]).map((at) => at + 1);
      const parts = [`prediction ${number(before.prediction, 2)} → ${number(result.prediction, 2)}`];
      if (atoms.length && !state.effects) parts.push(`${nameOf(i())}’s weight ${atoms.join(", ")}`);
      const inRow = layers.at(-1) - layers[0] === layers.length - 1;
      const which = layers.length > 2 && inRow ? `${layers[0]} to ${layers.at(-1)}` : layers.join(" and ");
      if (layers.length === others.length) parts.push("all maps");
      else parts.push(layers.length ? `the maps of layer${layers.length > 1 ? "s" : ""} ${which}` : "no map");
      return `Changed: ${parts.join("; ")}.`;
    }

    /** Marks what differs from the model as it was trained. */
    const markDiffering = (all, differs) => all.forEach((each, at) => each.classList.toggle("differs", Boolean(differs[at])));

    /** The row of an atom as the molecule shows it: of one head, of a layer's mean, or of all layers. */
    function shownRow({ run, layer: at, channel }, token, scope = state.scope) {
      const T = n() + run.first;
      const maps = scope === "weight" ? [slab(run.layers[at].attention, channel, T)] :
        (scope === "layer" ? [run.layers[at]] : run.layers).map((each) => meanMap(each, T));
      return Array.from({ length: T }, (_, to) => maps.reduce((total, map) => total + map[token * T + to], 0) / maps.length);
    }

    function drawMolecule() {
      const row = shownRow(one(), i());
      const found = state.effects ? effectsOf(one()) : row.slice(result.first);
      gtcourse.molecule.paint(find(".molecule"), found.map((value) => (state.effects ? ofNumber(value, EFFECT) : ofWeight(value))));
      all(".molecule .atom").forEach((atom, at) => {
        const token = at + result.first;
        atom.setAttribute("class", ["atom", token === i() && "chosen", token === j() && state.scope === "weight" && "other",
          removed().has(at) && "removed"].filter(Boolean).join(" "));
        atom.setAttribute("aria-pressed", token === state.i);
        atom.setAttribute("tabindex", token === state.i || (state.i < result.first && !at) ? 0 : -1);
      });
      gtcourse.molecule.outline(find(".molecule svg"), ringDrawn());
      drawArrow();
      drawTriangles();
      drawLegend(tokens());
      const said = differences();
      if (find(".left > .changed").textContent !== said) find(".left > .changed").textContent = said;  // it is read out
    }

    const circleOf = (disc) => ({
      x: Number(disc.getAttribute("cx")),
      y: Number(disc.getAttribute("cy")),
      r: Number(disc.getAttribute("r")),
    });

    let arrowOf = "";  // the pair for which the arrow was drawn last

    /** From the atom that is looked at to the one that looks: the way of the message. It grows when a pair is chosen. */
    function drawArrow() {
      const svg = find(".molecule svg");
      svg.querySelectorAll(".arrow").forEach((arrow) => arrow.remove());
      const discs = svg.querySelectorAll(".disc");
      const to = discs[i() - result.first];
      const from = discs[j() - result.first];
      if (state.effects || state.scope !== "weight" || !from || !to || from === to || isRemoved(i()) || isRemoved(j())) return;
      const { x, y, r } = circleOf(from);
      const { x: u, y: v } = circleOf(to);
      const across = u - x;
      const down = v - y;
      const { width, height } = svg.viewBox.baseVal;
      const outward = ((x + u - width) * -down + (y + v - height) * across) < 0 ? -1 : 1;
      const bow = outward * (0.3 + 0.6 * r / Math.hypot(across, down));
      const a = (x + u) / 2 - bow * down;  // (a, b) is the point that the curve bends to
      const b = (y + v) / 2 + bow * across;
      const besideDisc = (left, top, off) => {
        const far = Math.hypot(a - left, b - top);
        return [left + off * (a - left) / far, top + off * (b - top) / far];
      };
      const start = besideDisc(x, y, r + 1);
      const end = besideDisc(u, v, r + 9);
      const angle = Math.atan2(v - b, u - a) * 180 / Math.PI;
      const pair = [state.model.kind, i(), j()].join();
      const fresh = !hover && pair !== arrowOf ? " fresh" : "";
      if (!hover) arrowOf = pair;
      svg.querySelector(".name").insertAdjacentHTML("beforebegin", `<g class="arrow${fresh}"><path pathLength="1" d="M${start}Q${a} ${b} ${end}"/>
        <path class="tip" transform="translate(${end}) rotate(${angle})" d="M-1 -5L8 0L-1 5z"/></g>`);
    }

    /** Beside an atom whose weight differs from the trained model's: up if it is larger now, down if smaller. */
    function drawTriangles() {
      const svg = find(".molecule svg");
      svg.querySelectorAll(".triangle").forEach((triangle) => triangle.remove());
      if (state.effects) return;
      const { now, was, differs } = rows();
      svg.querySelectorAll(".disc").forEach((disc, at) => {
        const token = at + result.first;
        if (!differs[token]) return;
        const { x, y, r } = circleOf(disc);
        const half = Math.min(7, 0.45 * r);
        const left = x + 0.8 * r;
        const top = y - 0.8 * r;
        const up = now[token] > was[token] ? -1 : 1;
        svg.insertAdjacentHTML("beforeend", `<path class="triangle" d="M${left - half} ${top - 0.7 * half * up}h${2 * half}l${-half} ${1.6 * half * up}z"/>`);
      });
    }

    function drawLegend(tokens) {
      const T = state.beside ? n() : tokens;  // two models have one scale, with [VNode] or without
      const row = isRemoved(i()) ? `<b>${nameOf(i())}</b> has been removed.` : `Orange: where <b>${nameOf(i())}</b> looks.`;
      find(".says").innerHTML = state.effects ? "What each atom adds to the prediction:" : row;
      find(".scale").innerHTML = state.effects ?
        `${ramp("number")}<span>−${EFFECT}</span><span></span><span></span><span class="most">+${EFFECT}</span>` :
        `${ramp("weight")}<span>0</span><span class="uniform" style="--at:${(100 * onScale(1 / T)).toFixed(1)}%">uniform ${number(1 / T, 2)}</span><span class="most">1</span>`;
      const scopes = find("[data-scope]");
      const words = state.beside ? { weight: "the chosen weights", layer: "the mean of the chosen layers", model: "the mean over all layers" } :
        { weight: `layer ${state.layer + 1}, ${about().weights} ${state.channel + 1}`, layer: `mean of layer ${state.layer + 1}`, model: "mean over all layers" };
      Object.values(words).forEach((text, at) => { scopes.options[at].text = text; });
      scopes.value = state.scope;
      scopes.hidden = state.effects;
    }

    /** What each atom adds to a prediction; zeros until that is known. */
    function effectsOf({ model, run }) {
      if (!worth.has(run)) {
        worth.set(run, state.molecule.x.map(() => 0));
        findEffects(model, run, run === result ? changes() : { removed: removed() });
      }
      return worth.get(run);
    }

    /** The prediction less that without the atom, atom by atom, so that the page answers meanwhile. */
    async function findEffects(model, run, now) {
      const { molecule } = state;
      const found = worth.get(run);
      for (const atom of molecule.x.keys()) {
        const without = new Set([...now.removed, atom]);
        found[atom] = run.prediction - gtcourse.models.run(model, molecule, { ...now, removed: without }).prediction;
        await new Promise((done) => setTimeout(done));
        if (run !== result && run !== other) return worth.delete(run);
      }
      if (state.effects) drawPair();
    }

    function buildFlow() {
      const { pairs: [kind, title, words], into, tokens: given, end } = about();
      const flow = find(".flow");
      const enters = (what, at) => `<div class="into" style="grid-area:2/${at + 2}"><span>${what[0]}<i>${what.slice(1)}</i></span></div>`;  // an arrow and words
      flow.classList.toggle("deep", result.layers.length > 6);
      flow.style.setProperty("--layers", result.layers.length);
      flow.style.setProperty("--pairs", COLORS[kind]);
      flow.innerHTML = `<div class="card"><b>input</b><span class="long">${given}</span></div>
        ${result.layers.map((_, at) => `<button class="card" data-layer="${at}"><canvas></canvas>layer ${at + 1}</button>`).join("")}
        <div class="card"><b>read-out</b><span class="long">${end}</span></div><div class="card result"></div>
        <div class="band"></div>${result.layers.map((_, at) => enters(state.model.kind === "egt" && at + 1 === result.layers.length ? "▲ bias, gate" : into, at)).join("")}
        <div class="ribbon"><span><b>${title}</b>: ${words}.</span></div>`;
    }

    /** While a row of squares goes on at the right, its edge fades. */
    const fade = (row) => row.toggleAttribute("data-more", row.scrollLeft + row.clientWidth < row.scrollWidth - 8);
    for (const row of [find(".flow"), find(".maps")]) {
      row.addEventListener("scroll", () => fade(row), { passive: true });
      new ResizeObserver(() => fade(row)).observe(row);
    }

    function drawFlow() {
      const T = tokens();
      const color = scaleOfWeights();
      all(".flow canvas").forEach((canvas, at) => pixels(canvas, meanMap(result.layers[at], T), T, color));
      pressOne(all(".flow [data-layer]"), state.layer);
      markDiffering(all(".flow [data-layer]"), otherLayers());
      find(".result").classList.toggle("differs", Math.abs(result.prediction - before.prediction) > 5e-4);
      find(".result").textContent = number(result.prediction, 2);
      fade(find(".flow"));
    }

    const rowsOfMaps = () => (channels() > 16 ? 2 : 1);

    /** Of channels: a row has those of half of the heads, with a gap between two heads. */
    function columnsOfMaps() {
      const C = channels();
      if (rowsOfMaps() === 1) return { count: C, perHead: C };
      const perHead = C / state.model.heads;
      return { count: perHead * Math.ceil(state.model.heads / 2), perHead };
    }

    /** Of buttons of which one is chosen, the Tab key reaches that one. */
    const pressOne = (buttons, chosen) => buttons.forEach((button, at) => {
      button.setAttribute("aria-pressed", at === chosen);
      button.tabIndex = at === chosen ? 0 : -1;
    });

    function buildMaps() {
      const [C, { weights }] = [channels(), about()];
      const maps = find(".maps");
      maps.setAttribute("aria-label", `${weights}s of the layer: arrow keys choose one`);
      const { count, perHead } = columnsOfMaps();
      const high = innerHeight >= LOW_WINDOW;
      const narrow = host.clientWidth < NARROW && !find(".tour p");  // the tour leaves less room
      const [least, most] = C > 16 ? (narrow ? ["44px", "44px"] : ["1.65rem", "2.6rem"]) : ["4.4rem", high ? "6.4rem" : "4.4rem"];
      maps.style.setProperty("--columns", Array.from({ length: count / perHead }, () => `repeat(${perHead}, minmax(${least}, ${most}))`).join(" .45rem "));
      maps.innerHTML = Array.from({ length: C }, (_, c) => {
        const at = c % count;
        const column = at + Math.floor(at / perHead) + 1;
        const of = C > count ? ` of head ${Math.floor(c / perHead) + 1}` : "";
        return `<button data-channel="${c}" aria-label="${weights} ${c + 1}${of}" style="grid-area:${Math.floor(c / count) + 1}/${column}"><canvas></canvas>${c + 1}</button>`;
      }).join("");
    }

    function drawMaps() {
      const T = tokens();
      const { weights } = about();
      find(".of-layer").innerHTML = `2 · Layer ${state.layer + 1} <small class="quiet">its ${channels()} ${weights}s${
        weights === "channel" ? `, ${channels() / state.model.heads} to a head` : ""}; choose one<span class="long">. Rows attend to columns</span></small>`;
      const color = scaleOfWeights();
      all(".maps canvas").forEach((canvas, c) => pixels(canvas, slab(layer().attention, c, T), T, color));
      pressOne(all("[data-channel]"), state.channel);
      const was = before.layers[state.layer].attention;
      markDiffering(all("[data-channel]"), Array.from({ length: channels() }, (_, c) =>
        apart(layer().attention.subarray(c * T * T, (c + 1) * T * T), was.subarray(c * T * T, (c + 1) * T * T)) > LEAST));
      fade(find(".maps"));
    }

    // The matrix is drawn in pixels, so that its labels are as large in a narrow column as in a wide one.
    const [MARGIN, LABEL, SMALL_LABEL, LOW_WINDOW, HEADING] = [41, 12, 11, 860, 88];
    const ABOVE = [202, 226];  // at most, of what stands above the tool's body, in a wide and in a less wide window: the page's head or the tour
    const WIDE = 1150;
    const LARGEST = 520;  // of a matrix beside its path
    const LEAST_ROOM = 240;  // in a low window, too
    const HALF = 7;  // of a label's height: the last one may reach beyond its row
    let cell = 10;  // of a pair
    let side = 100;  // of the matrix with its labels

    function buildMatrix() {
      const T = tokens();
      const across = (find(".matrix").clientWidth || 280) - HALF;
      const alone = across > 0.8 * find(".weight").clientWidth;  // on a phone, the path is below and the page scrolls
      const down = find(".matrix").getBoundingClientRect().top - find(".body").getBoundingClientRect().top;
      const below = innerHeight - ABOVE[host.clientWidth > WIDE ? 0 : 1] - down - HALF - 2;
      const room = alone ? across : Math.min(across, Math.max(LEAST_ROOM, Math.min(LARGEST, below)));
      cell = Math.max(4, Math.min(26, Math.floor((room - MARGIN - 1) / T)));
      side = MARGIN + Math.max(T * cell, HEADING) + HALF;  // a small matrix leaves room for its headings
      const center = MARGIN + Math.max(T * cell, HEADING) / 2;
      find(".matrix").innerHTML = `<svg viewBox="0 0 ${side} ${side}" width="${side}" height="${side}">
        <text x="${center}" y="11" text-anchor="middle">attended to →</text>
        <text transform="rotate(-90)" x="${-center}" y="11" text-anchor="middle">← attends</text>
        ${Array.from({ length: T }, (_, token) => `<text class="at-row" x="${MARGIN - 3}" y="${MARGIN + (token + 0.5) * cell}" text-anchor="end"
          dominant-baseline="central"></text><text class="at-column" dominant-baseline="central"
          transform="translate(${MARGIN + (token + 0.5) * cell},${MARGIN - 3}) rotate(-90)"></text>`).join("")}
        <g class="cells">${Array.from({ length: T * T }, (_, at) => `<rect x="${MARGIN + at % T * cell}" y="${MARGIN + Math.floor(at / T) * cell}"
          width="${cell - 1}" height="${cell - 1}"/>`).join("")}</g><rect class="mark" width="${cell + 1}" height="${cell + 1}" stroke-width="2"/></svg>`;
    }

    function drawMatrix() {
      const T = tokens();
      const map = mapOf(layer().attention);
      const color = scaleOfWeights();
      find(".cells").childNodes.forEach((cell, at) => cell.setAttribute("fill", css(color(map[at]))));
    }

    /** On a phone the squares are smaller than a finger: the row and the column are menus, too, with every weight of the row. */
    function drawPicks() {
      if (hover) return;
      const T = tokens();
      const row = mapOf(layer().attention).subarray(state.i * T, (state.i + 1) * T);
      const choices = (chosen, words) => Array.from({ length: T }, (_, token) =>
        `<option value="${token}" ${token === chosen ? "selected" : ""}>${nameOf(token)}${words(token)}</option>`).join("");
      find('[data-pick="i"]').innerHTML = choices(state.i, () => "");
      find('[data-pick="j"]').innerHTML = choices(state.j, (token) => ` · ${number(row[token])}`);
    }

    function drawMark() {
      drawPicks();
      const mark = find(".mark");
      mark.setAttribute("x", MARGIN + j() * cell - 1);
      mark.setAttribute("y", MARGIN + i() * cell - 1);
      const T = tokens();
      const places = Array.from({ length: T }, (_, token) => token * cell);
      const gap = () => (cell < SMALL_LABEL ? LABEL + 1 : cell);  // where some are left out, the others do not touch
      const map = mapOf(layer().attention);
      const inRow = map.subarray(i() * T, (i() + 1) * T);
      const inColumn = places.map((_, token) => map[token * T + j()]);
      find(".matrix svg").classList.toggle("dense", cell < LABEL);
      [[".at-row", i(), inColumn], [".at-column", j(), inRow]].forEach(([which, chosen, weights]) => {
        const written = spaced(places, gap, chosen, weights);
        all(which).forEach((text, token) => {
          text.textContent = written.has(token) ? short(token) : "";
          text.setAttribute("font-weight", token === chosen ? 700 : 400);
          text.classList.toggle("gone", isRemoved(token));
        });
      });
    }

    /** A row of the path, as HTML. */
    function line(row) {
      const { kind, text, label, value, more = "", steps } = row;
      if (steps) return `<li class="steps ${more}">${steps}</li>`;
      if (row.trail) return drawTrail(row);
      return `<li class="${more}" style="--of:${COLORS[kind] ?? "transparent"}"><span>${text}</span><small>${label}</small><span>${value}</span></li>`;
    }
    const largest = (values) => values.reduce((most, x) => Math.max(most, Math.abs(x)), 0);

    /** A bar from one number to another, with 0 in the middle. */
    function signed(from, to, limit, color) {
      const [start, end] = [from, to].map((x) => 50 + 50 * Math.max(-1, Math.min(1, x / limit)));
      return `<span class="signed"><i style="left:${Math.min(start, end).toFixed(1)}%;width:${Math.abs(end - start).toFixed(1)}%;background:${color}"></i><u></u></span>`;
    }

    const length = (values) => Math.sqrt(values.reduce((sum, x) => sum + x * x, 0));

    const unfolded = new Set();  // of the path: "content", "later", "steps"
    let unfoldedByTour = null;  // what its last step unfolded, and the next visit folds
    const folds = (what, words) => (state.beside ? words : `<button class="fold" data-unfold="${what}" aria-expanded="${unfolded.has(what)}">${words}</button>`);

    /** The dot product of a query and a key, with its first components. */
    function contentOf({ model, run, layer: at, channel }, from, to, dot) {
      const here = run.layers[at];
      const d = here.query.length / (n() + run.first);
      const K = d / model.heads;
      const head = Math.floor(channel / (here.attention.length / (n() + run.first) ** 2 / model.heads));
      const part = (values, token) => values.subarray(token * d + head * K, token * d + (head + 1) * K);
      const [query, key] = [part(here.query, from), part(here.key, to)];
      const product = query.map((x, k) => x * key[k]);
      const sum = product.reduce((a, b) => a + b);
      const first = (values) => `${[...values.subarray(0, COMPONENTS)].map((x) => number(x, 2)).join(", ")}${K > COMPONENTS ? ", …" : ""}`;
      const clipped = Math.abs(sum / Math.sqrt(K) - dot) > 1e-6 ? `, clipped to ${number(dot)}` : "";
      const row = (name, values, after = "") => `<div><span>${name}</span> ${first(values)}${after}</div>`;
      return { steps: `${row(`q<sub>i</sub> of ${nameOf(from, run.first)}`, query)}${row(`k<sub>j</sub> of ${nameOf(to, run.first)}`, key)}
        ${row("products", product, `; the sum of all ${K} is ${number(sum)}`)}<div><span>÷ √K</span> ${number(sum)} / √${K} = <b>${number(sum / Math.sqrt(K))}</b>${clipped}</div>` };
    }

    /** What is known of two atoms: their bond, whether they share a ring, and whether they are one. */
    const pairAs = (i, j) => ({ edge: state.molecule.edge[i * n() + j], ring: state.molecule.ring[i * n() + j], itself: i === j });

    /** The complete path of a weight, from the scores to the prediction: {rows by name, vectors}. A row is
        {kind, text, label, value, more}; `vectors` are drawn into the rows' canvases, in order. */
    function pathOf({ model, run, was, layer: at, channel }, from, to) {
      const T = n() + run.first;
      const pair = from * T + to;
      const here = run.layers[at];
      const of = ABOUT[model.kind];
      const name = (token) => nameOf(token, run.first);
      const mine = (values) => slab(values, channel, T);
      const d = here.value.length / T;
      const wide = d * T * T / here.attention.length;
      const vectors = [];
      /** A number of the path and, where a change has changed it, what it was in the trained model. */
      const compared = (find, digits = 3) => {
        const [now, then] = [run, was].map((each) => number(find(each, each.layers[at]), digits));
        return now === then ? now : `<span class="was">${then} → </span><mark>${now}</mark>`;
      };
      /** The numbers of a vector as colours, and its length; a single number as it is. */
      const vector = (find, limit) => {
        const values = find(here, run);
        if (values.length === 1) return `<i class="one" style="background:${css(ofNumber(values[0], limit))}"></i>${compared((each, layer) => find(layer, each)[0])}`;
        vectors.push([values, limit]);
        return `<canvas class="vector" role="img" title="${[...values].slice(0, 8).map((x) => number(x, 2)).join(", ")}${values.length > 8 ? ", …" : ""}"></canvas>
          <span class="length"><span class="long">length </span>${compared((each, layer) => length(find(layer, each)), 2)}</span>`;
      };
      const slice = (values, token) => values.subarray(token * d + channel * wide, token * d + (channel + 1) * wide);
      const valueIn = (layer) => slice(layer.value, to).map((x, k) => x + (layer.extra ? layer.extra(channel * wide + k, from, to) : 0));
      // Vectors have one scale in a layer, whatever is changed: full colour at twice what is usual.
      const usual = (values) => 2 * Math.sqrt(values.reduce((sum, x) => sum + x * x, 1e-9) / values.length);
      const [ofValues, ofTokens] = [usual(was.layers[at].value), usual(was.layers[at].after)];
      const gone = isRemoved(to, run.first);
      const totalOf = (each, layer) => Array.from({ length: T }, (_, m) =>
        (each !== was && isRemoved(m, run.first) ? 0 : Math.exp(mine(layer.logits)[from * T + m]))).reduce((a, b) => a + b, 0);
      const shareOf = (each, layer) => (each !== was && gone ? 0 : Math.exp(mine(layer.logits)[pair]) / totalOf(each, layer));
      const weight = mine(here.attention)[pair];
      const token = (layer, which) => layer[which].subarray(from * d, (from + 1) * d);
      const last = at + 1 === run.layers.length;
      const counts = { vnode: "[VNode] alone is read", mean: `the mean of ${T - removed().size} atoms is read`,
        sum: from >= run.first && run.parts ? `${name(from)} adds ${number(run.parts[from], 2)}` : "" }[of.reads];
      const rows = {};
      // The terms as bars on one scale for all pairs of the trained map: each begins where the last one ends.
      const trained = was.layers[at];
      const widest = Math.max(1e-9, ...[trained.logits, ...trained.terms.map(([, map]) => map)].map((map) => largest(mine(map))));
      let sum = 0;
      here.terms.forEach(([key, map], which) => {
        const { kind, text, name: words, scales } = of.terms[key];
        const term = mine(map)[pair];
        const said = typeof words === "string" ? words : words({ ...pairAs(from - run.first, to - run.first), read: !(run === result && state.changes.off.has("ring")) });
        const factor = Math.exp(term);
        const label = scales ? `${said}<span class="long factor">: × ${number(factor, factor < 9.995 ? 2 : factor < 99.95 ? 1 : 0)}</span>` : said;
        rows[`term ${which}`] = { kind, text, label: key === "dot" ? folds("content", words) : label,
          value: `${signed(sum, sum + term, widest, COLORS[kind])}<span class="number">${compared((_, layer) => mine(layer.terms[which][1])[pair])}</span>` };
        sum += term;
        if (key === "dot" && !state.beside && unfolded.has("content")) rows.content = contentOf({ model, run, layer: at, channel }, from, to, term);
      });
      rows.logit = { text: "logit s<sub>ij</sub>", label: of.clips && model.clip ? `the sum, within ±${model.clip}` : "the sum", more: "total",
        value: `${signed(0, mine(here.logits)[pair], widest, "currentColor")}<span class="number">${compared((_, layer) => mine(layer.logits)[pair])}</span>` };
      const [power, total] = [mine(here.logits)[pair], totalOf(run, here)];
      const places = total < MANY ? 2 : 0;
      const first = Math.min(4, Math.ceil(-power / Math.LN10));  // where the first digit of a small number stands
      const [share, all] = [number(Math.exp(power), Math.max(places, first)), number(total, places)];
      rows.softmax = { text: "softmax", value: compared(shareOf), more: "from-row wide",
        label: gone ? `${name(to)} is removed` : `e<sup>${number(power, 2)}</sup> / Σ e<sup>s</sup> = ${share} / ${all}` };
      if (here.gates) rows.gate = { kind: "gate", text: "× σ(G<sub>ij</sub>)", label: "gate", value: compared((_, layer) => mine(layer.gates)[pair]) };
      rows.weight = { text: "weight a<sub>ij</sub>", label: `${number(weight * T, weight * T < 0.095 ? 2 : 1)} × uniform`, more: "total from-row of-weight",
        value: `<span class="amount"><i style="width:${(100 * Math.min(1, weight)).toFixed(1)}%"></i><u style="left:${(100 / T).toFixed(1)}%"></u></span>${
          compared((_, layer) => mine(layer.attention)[pair])}` };
      if (!state.beside) rows.later = { steps: folds("later", "from the weight to the prediction"), more: "later" };
      rows.value = { kind: "value", text: of.value, label: `value of ${name(to)}`, value: vector(valueIn, ofValues), more: "broad" };
      rows.message = { kind: "value", text: "a<sub>ij</sub> × value", label: "message",
        value: vector((layer) => valueIn(layer).map((x) => x * mine(layer.attention)[pair]), ofValues) };
      rows.gathered = { kind: "node", text: "Σ<sub>j</sub> messages", label: `at ${name(from)}`, value: vector((layer) => slice(layer.z, from), ofValues) };
      rows.before = { kind: "node", text: "h<sub>i</sub> before", label: folds("steps", `${d} numbers`), value: vector((layer) => token(layer, "before"), ofTokens) };
      const showsSteps = !state.beside && unfolded.has("steps");
      const residual = of.after ? `residual, batch ${of.after}` : "residual";
      if (showsSteps) {
        const step = (which) => vector((layer) => token(layer.steps, which), ofTokens);
        const joined = of.after ? `${of.after}(h<sub>i</sub> + W<sub>O</sub> z)` : "h<sub>i</sub> + W<sub>O</sub> z";
        rows.output = { kind: "node", text: "W<sub>O</sub> z", label: `output projection of all ${of.weights}s`, value: step("output"), more: "step" };
        rows.joined = { kind: "node", text: joined, label: residual, value: step("joined"), more: "step" };
        rows.network = { kind: "node", text: of.after ? "FFN" : "FFN(norm)", label: "feed-forward network of that", value: step("network"), more: "step" };
      }
      rows.after = { kind: "node", text: "h<sub>i</sub> after", label: showsSteps ? residual : "output", value: vector((layer) => token(layer, "after"), ofTokens) };
      rows.next = last ? { kind: "node", text: "read-out", label: counts, value: of.end } :
        { kind: "node", text: "next layer", label: readerOf(from, run.first, of.reads, name), value: onward(run, at, from, of.weights, name), more: "onward" };
      const view = { model, run, layer: at, channel };
      const cut = cutting(view, from, to);
      if (!state.beside) rows.trail = { trail: cut?.trail ?? run.layers.map(() => null), from, reads: of.reads };
      rows.prediction = { text: "prediction", value: compared((each) => each.prediction, 2), more: "total wide without",
        label: cut ? withoutWeight(run, cut) : "" };
      return { rows, vectors };
    }

    /** Which tokens of the next layer read what a token has received. */
    function readerOf(token, first, reads, name) {
      if (token < first) return `${name(token)} reads itself`;
      return reads === "vnode" ? `[VNode] reads ${name(token)}` : `all atoms read ${name(token)}`;
    }

    /** What leads on to the next layer, as HTML. */
    function onward(run, at, from, weights, name) {
      if (state.beside) return `layers ${at + 2} to ${run.layers.length}`;
      const next = onwardOf(run, at, from);
      return `<button data-onward="${[at + 1, next.channel, next.row, from]}" title="the largest weight with which ${name(next.row)} reads ${name(from)} there">layer ${at + 2}<span class="long">, ${weights} ${next.channel + 1}</span> →</button>`;
    }

    /** Where the path of what token `from` has received goes on in the next layer: {row, channel}. The row is that
        of [VNode], or, where all atoms are read out, that of the other atom that attends to it most; the head or
        channel is the one with the largest weight there. */
    function onwardOf(run, at, from) {
      const T = n() + run.first;
      const { attention } = run.layers[at + 1];
      const found = { row: run.first ? 0 : from, channel: 0 };
      let most = -1;
      for (let channel = 0; channel < attention.length / T ** 2; channel++) {
        for (let row = 0; row < (run.first || T); row++) {
          const weight = attention[(channel * T + row) * T + from];
          const isRead = run.first > 0 || (row !== from && !removed().has(row));
          if (!isRead || weight <= most) continue;
          most = weight;
          Object.assign(found, { row, channel });
        }
      }
      return found;
    }

    const cuttings = new WeakMap();  // of a run: for each weight that was asked for, what differs without it

    /** What differs without the message of a weight: {isCut, prediction, trail}. For a weight that is cut already,
        the model with it is compared. For a weight that the pointer passes over nothing is computed: null. */
    function cutting({ model, run, layer: at, channel }, from, to) {
      const cut = [model.kind, at, channel, from, to].join(",");
      const now = run === result ? changes() : { ...gtcourse.models.unchanged(), removed: removed() };
      if (!cuttings.has(run)) cuttings.set(run, new Map());
      const known = cuttings.get(run);
      if (!known.has(cut)) {
        if (hover) return null;
        const isCut = now.cut.has(cut);
        const others = new Set(now.cut);
        toggle(others, cut);
        const other = gtcourse.models.run(model, state.molecule, { ...now, cut: others });
        const [whole, without] = isCut ? [other, run] : [run, other];
        known.set(cut, { isCut, prediction: other.prediction, trail: trailOf(ABOUT[model.kind].reads, whole, without, from) });
      }
      return known.get(cut);
    }

    /** In the last row of a path: what the model predicts without the message of this weight. */
    function withoutWeight(run, { isCut, prediction }) {
      if (isCut) return "a<sub>ij</sub> is cut";
      const by = prediction - run.prediction;
      const moved = Math.abs(by) < 5e-4 ? "no change" : `${by > 0 ? "+" : ""}${number(by, 3)}`;
      return `without a<sub>ij</sub>: ${number(prediction, 2)} (${moved})`;
    }

    /** After each layer, how far a token and what is read out differ between two runs, as a share of their length
        in the first: {chosen, readOut}. Read out is [VNode], the mean of the atoms or each atom by itself. */
    function trailOf(reads, whole, without, from) {
      const T = n() + whole.first;
      const relative = (x, y) => length(x.map((value, k) => value - y[k])) / (length(x) || 1);
      return whole.layers.map(({ after }, at) => {
        const d = after.length / T;
        const both = [after, without.layers[at].after];
        const [x, y] = both.map((all) => all.subarray(from * d, (from + 1) * d));
        return { chosen: relative(x, y), readOut: relative(...both.map((rows) => readOut(reads, rows, d))) };
      });
    }

    /** What is read out of rows of d numbers: [VNode]'s, the sum of the atoms' for their mean, because a factor
        does not matter where lengths are compared, or all atoms' one after the other. Removed atoms are not read. */
    function readOut(reads, rows, d) {
      if (reads === "vnode") return rows.subarray(0, d);
      const kept = rows.map((value, at) => (removed().has(Math.floor(at / d)) ? 0 : value));
      if (reads === "sum") return kept;
      const sum = new Float64Array(d);
      kept.forEach((value, at) => {
        sum[at % d] += value;
      });
      return sum;
    }

    const share = (x) => (x < 5e-5 ? "0" : x < 0.0995 ? `${number(100 * x, 1)} %` : `${number(100 * x, 0)} %`);

    /** Two rows of bars below a path, one bar for each layer: how far the token and what is read out differ
        without this weight. */
    function drawTrail({ trail, from, reads }) {
      const first = from < result.first;
      const named = { vnode: "[VNode]", mean: "mean of atoms", sum: "all atoms" }[reads];
      const row = (name, of, kind) => `<div class="bars-row" style="--of:${COLORS[kind]}"><span>${name}</span>${trail.map((each, at) => {
        const x = each?.[of] ?? 0;
        return `<span class="share" data-share="${x.toFixed(4)}" title="${name} after layer ${at + 1}: ${share(x)} of its length"><i style="width:${Math.min(100, 100 * x).toFixed(1)}%"></i><b>L${at + 1}</b>${each ? share(x) : ""}</span>`;
      }).join("")}</div>`;
      return `<li class="trail"><div class="bars-rows" role="group" aria-label="how far vectors differ without this weight, layer by layer">${
        first ? "" : row(`${nameOf(from)} changes by`, "chosen", "edge")}${row(`${named} ${first ? "changes by" : "by"}`, "readOut", "node")}</div></li>`;
    }

    /** Draws the vectors of paths into the canvases of a place, in order. */
    const paintVectors = (place, vectors) => place.querySelectorAll(".vector").forEach((canvas, which) => {
      const [values, limit] = vectors[which];
      pixels(canvas, values, values.length, scaleOfNumbers(limit));
    });

    const noPath = (words) => `<li class="none whole">${words}</li>`;
    const pathOfRemoved = () => noPath(`${nameOf(i())} has been removed. It attends to no atom, and no atom attends to it.`);

    function drawPath() {
      const { rows, vectors } = pathOf(one(), i(), j());
      find(".of-pair").innerHTML = `${nameOf(i())} looks at ${nameOf(j())} <small class="quiet">${about().source}</small>`;
      const shown = Object.entries(rows).filter(([key]) => unfolded.has("later") || !LATER.has(key));
      find(".path").innerHTML = isRemoved(i()) ? pathOfRemoved() : shown.map(([, row]) => line(row)).join("");
      if (!isRemoved(i())) paintVectors(find(".path"), vectors);
      drawConnector();
    }

    /** A line from the chosen cell of the matrix to the row of the path that has its weight. */
    function drawConnector() {
      const connector = find(".connector");
      connector.replaceChildren();
      const place = find(".weight").getBoundingClientRect();
      const from = find(".mark")?.getBoundingClientRect();
      const to = find(".path .of-weight")?.getBoundingClientRect();
      if (!to || to.left <= from.right) return;  // on a phone, the path is below
      const x = from.right - place.left;
      const y = (from.top + from.bottom) / 2 - place.top;
      const u = to.left - place.left;
      const v = (to.top + to.bottom) / 2 - place.top;
      const bend = x + 0.75 * (u - x);
      connector.innerHTML = `<path d="M${x} ${y}C${bend} ${y} ${bend} ${v} ${u - 1} ${v}"/>`;
    }

    /** What can be changed in this model; drawChanges says how it is. */
    function buildChanges() {
      const check = (key, words) => `<label><input type="checkbox" data-change="${key}"> <span>${words}</span></label>`;
      const distances = Array.from({ length: Math.max(...state.molecule.distance) + 1 }, (_, d) => `<option>${d}</option>`).join("");
      const own = {
        graphormer: `<label>Bias at distance <select data-distance>${distances}</select></label>
          <span class="slide"><input type="range" min="${-MOST_SHIFT}" max="${MOST_SHIFT}" step="0.1" aria-label="added to the bias"><output></output></span>`,
        egt: `${check("gate", "")}</div><div class="row"><span class="says-flip">Flip the sign of singular pair</span> ${Array.from({ length: 8 }, (_, m) =>
          `<button class="flip" data-flip="${m}" aria-label="flip singular pair ${m + 1}">${m + 1}</button>`).join("")}`,
        grpe: `Terms: ${["query", "key", "value"].map((term) => check(term, term)).join("")}`,
        csa: `${check("perHead", "Average E over each head’s channels")}${readsRings() ? `</div><div class="row">${check("ring", "Read which atoms share a ring")}` : ""}`,
      };
      state.distance = Math.min(state.distance, Math.max(...state.molecule.distance));
      find("fieldset").innerHTML = `<legend>Change it</legend><div class="row"><button data-act="remove"></button>
        ${result.first ? "<button data-token='0'>Choose [VNode]</button>" : ""}
        <button data-act="effects">Contributions</button><button data-act="cut">Cut weight</button></div><div class="row">${own[state.model.kind]}</div>`;
    }

    function drawChanges() {
      const atom = state.i - result.first;
      const remove = find('[data-act="remove"]');
      remove.disabled = atom < 0;
      remove.textContent = atom < 0 ? "Remove an atom" : `${removed().has(atom) ? "Restore" : "Remove"} ${nameOf(state.i)}`;
      find("legend").textContent = state.beside ? `Change ${about().title}; an atom is removed from both` : "Change it";
      find('[data-act="effects"]').setAttribute("aria-pressed", state.effects);
      find('[data-act="cut"]').setAttribute("aria-pressed", state.changes.cut.has(chosenCut()));
      find("[data-token]")?.setAttribute("aria-pressed", state.i === 0);
      const slider = find('input[type="range"]');
      if (slider) {
        const by = state.changes.shift[state.distance] || 0;
        find("[data-distance]").value = state.distance;
        slider.value = by;
        find("output").textContent = `${by > 0 ? "+" : ""}${number(by, 1)}`;
        slider.setAttribute("aria-valuetext", find("output").textContent);
      }
      all("[data-flip]").forEach((button) => button.setAttribute("aria-pressed", state.changes.flips.has(Number(button.dataset.flip))));
      const on = { gate: state.changes.closed.has(`${state.layer},${state.channel}`), perHead: state.changes.perHead };
      all("[data-change]").forEach((box) => { box.checked = on[box.dataset.change] ?? !state.changes.off.has(box.dataset.change); });
      const gate = find('[data-change="gate"] + span');
      if (gate) gate.textContent = `Close the gate of head ${state.channel + 1}, layer ${state.layer + 1}`;
    }

    /** Two models, each with a panel: the molecule, the chosen pair and the path of one of its weights. */
    function buildTwo() {
      const place = find(".two");
      if (!state.beside) {
        place.innerHTML = "";
        return;
      }
      const choice = (which, name, count, panel) => `<select data-panel="${panel}" data-which="${which}" aria-label="${name} of ${panel ? "the second" : "the first"} model">${
        Array.from({ length: count }, (_, at) => `<option value="${at}">${name} ${at + 1}</option>`).join("")}</select>`;
      const models = (panel) => `<select data-model-of="${panel}" aria-label="${panel ? "the second" : "the first"} model">${
        data.models.map((model, at) => `<option value="${at}">${ABOUT[model.kind].title}</option>`).join("")}</select>`;
      place.innerHTML = [one(), two()].map(({ model, run }, panel) => {
        const count = run.layers[0].attention.length / (n() + run.first) ** 2;
        return `<section class="panel" aria-label="${ABOUT[model.kind].title}"><h2></h2>
          <div class="choose">${models(panel)}${choice("layer", "layer", run.layers.length, panel)}${choice("channel", ABOUT[model.kind].weights, count, panel)}${
            panel ? '<button data-act="alone" aria-label="show one model alone" title="Show one model alone">×</button>' : ""}<small class="quiet">${ABOUT[model.kind].source}</small></div>
          <div class="halves"><div class="drawing"></div><ol class="path"></ol></div>
          <p class="says-row"></p><div class="bars" tabindex="0" role="group" aria-label="weights of the chosen atom: arrow keys choose the atom that it attends to"></div></section>`;
      }).join("");
      place.querySelectorAll(".drawing").forEach((drawing) => { drawing.innerHTML = drawn(state.molecule, widthOf(drawing, 260)); });
    }

    /** The tokens i and j of the first model in a model that may have [VNode] or not; −1 if it lacks them. */
    const inModel = (run) => [i(), j()].map((token) => token - result.first + run.first);

    function drawTwo() {
      const views = [one(), two()];
      const paths = views.map((view) => {
        const [from, to] = inModel(view.run);
        return from < 0 || to < 0 || isRemoved(i()) ? null : pathOf(view, from, to);
      });
      // Terms and gates of one model have an empty line in the other, so that equal steps stand beside each other.
      const names = [...new Set(paths.flatMap((path) => (path ? Object.keys(path.rows) : [])))];
      const order = (name) => (name.startsWith("term") ? -1 : ["logit", "softmax", "gate", "weight"].indexOf(name) + 1 || 9);
      names.sort((a, b) => order(a) - order(b));
      const empty = (name) => ({ text: name === "gate" ? "no gate" : "no further term", label: name === "gate" ? "weight = softmax" : "", value: "", more: "none" });
      const rows = views.map((view) => (inModel(view.run)[0] < 0 ? null : shownRow(view, inModel(view.run)[0])));
      const most = Math.max(Math.min(1, TALL / n()), ...rows.flatMap((row) => row ?? []));  // of the bars of both
      all(".panel").forEach((panel, which) => {
        drawPanel(panel, views[which], paths[which], names.map((name) => paths[which]?.rows[name] ?? empty(name)), rows[which]);
        drawBars(panel.querySelector(".bars"), rows[which], views[which].run.first, inModel(views[which].run)[1], most);
      });
    }

    function drawPanel(panel, view, path, lines, row) {
      const { model, run, layer: at, channel } = view;
      const of = (selector) => panel.querySelector(selector);
      const [from, to] = inModel(run);
      const { value } = state.molecule;
      const { title, weights } = ABOUT[model.kind];
      const off = value === null || !isWhole() ? "" : `, off by ${number(Math.abs(run.prediction - value), 2)}`;
      const changed = view.run === result && Math.abs(result.prediction - before.prediction) > 5e-4 ? " (changed)" : "";
      of("h2").innerHTML = `${title}${changed} <small class="quiet">predicts <b>${number(run.prediction, 2)}</b>${off}${
        model.error ? `; test MAE ${number(model.error, 2)}` : ""}</small>`;
      of("[data-model-of]").value = data.models.indexOf(model);
      of('[data-which="layer"]').value = at;
      of('[data-which="channel"]').value = channel;
      const found = state.effects ? effectsOf(view) : row?.slice(run.first) ?? [];
      const color = (x) => (state.effects ? ofNumber(x, EFFECT) : ofWeight(x));
      gtcourse.molecule.paint(panel, state.molecule.x.map((_, atom) => color(found[atom] ?? 0)));
      panel.querySelectorAll(".atom").forEach((atom, at) => {
        const token = at + run.first;
        atom.setAttribute("class", ["atom", token === from && "chosen", token === to && "other", removed().has(at) && "removed"].filter(Boolean).join(" "));
        atom.setAttribute("aria-pressed", token === from);
        atom.setAttribute("tabindex", token === from || (from < run.first && !at) ? 0 : -1);
      });
      const nothing = () => (isRemoved(i()) ? pathOfRemoved() : noPath(`${title} has no [VNode]. Choose an atom to compare the two.`));
      of(".path").innerHTML = path ? lines.map(line).join("") : nothing();
      if (path) paintVectors(panel, path.vectors);
      const said = { weight: `layer ${at + 1}, ${weights} ${channel + 1}`, layer: `the mean of layer ${at + 1}`, model: "the mean over all layers" }[state.scope];
      of(".says-row").innerHTML = row ? `Row of <b>${nameOf(i())}</b>, ${said}: ${
        to < 0 ? "" : `<b>${number(row[to], 3)}</b> on ${nameOf(j())}`}. Largest: ${largestOf(row).map((token) => `${nameOf(token, run.first)} ${number(row[token], 2)}`).join(", ")}` : "";
    }

    // The bars of both models have one scale, and the same atom stands at the same place.
    const [BARS, TICK_ROW, TURNED_ROW, GAP] = [34, 17, 35, 3];

    const pen = document.createElement("canvas").getContext("2d");
    const family = getComputedStyle(host).fontFamily;
    /** The width of a label as drawn; the chosen one is bold. */
    function widthOfLabel(text, bold) {
      pen.font = `${bold ? 700 : 400} ${LABEL}px ${family}`;
      return pen.measureText(text).width;
    }

    function drawBars(place, row, first, to, most) {
      const width = widthOf(place, 340);
      const slots = n() + Math.max(result.first, other.first);
      const lead = slots - n();
      const slot = width / slots;
      const high = (x) => BARS * Math.min(1, x / most);
      const shown = row ? [...row.keys()] : [];
      const wide = (token) => widthOfLabel(short(token, first), token === to) + GAP;
      const middle = (token) => (token - first + lead + 0.5) * slot;
      // Where the labels would touch, all are turned; where even then there is no room for all, some are left out.
      const turned = slots > 1 && Array.from({ length: n() }, (_, atom) => widthOfLabel(`${state.molecule.symbols[atom]}${atom}`, true) + GAP).some((each) => each > slot);
      const labels = shown.map((token) => {
        const half = turned ? 0.7 * LABEL : (wide(token) - GAP) / 2;  // nothing of a label lies beyond the edges
        return Math.max(half, Math.min(middle(token), width - half));
      });
      const gap = (one, other) => (turned ? Math.min(LABEL + 1, Math.max(slot, SMALL_LABEL)) : (wide(one) + wide(other)) / 2);
      const written = spaced(labels, gap, to, row ?? []);
      const bars = shown.map((token) => {
        const at = token - first + lead;
        const marked = token === to;
        const label = written.has(token) ? short(token, first) : "";
        const spot = turned ? `transform="translate(${labels[token].toFixed(1)},${BARS + 4}) rotate(-90)" text-anchor="end" dominant-baseline="central"` :
          `x="${labels[token].toFixed(1)}" y="${BARS + 13}" text-anchor="middle"`;
        return `<rect x="${(at * slot + 1).toFixed(1)}" y="${(BARS - high(row[token])).toFixed(1)}" width="${Math.max(1, slot - 2).toFixed(1)}" height="${Math.max(1, high(row[token])).toFixed(1)}"
          fill="${css(ofWeight(row[token]))}" class="${marked ? "now" : ""}"/><text ${spot} font-weight="${marked ? 700 : 400}">${label}</text>`;
      });
      const even = BARS - high(1 / n());
      place.innerHTML = `<svg viewBox="0 0 ${width} ${BARS + (turned ? TURNED_ROW : TICK_ROW)}" data-slots="${slots}">${bars.join("")}
        <path class="base" d="M0 ${BARS}H${width}"/><path class="even" d="M0 ${even.toFixed(1)}H${width}"/></svg>`;
    }

    /** The token of the first model whose bar is under the pointer, or null. */
    function barAt(event) {
      const svg = event.target.closest(".bars svg");
      if (!svg) return null;
      const box = svg.getBoundingClientRect();
      const atom = Math.floor((event.clientX - box.left) / box.width * svg.dataset.slots) - (svg.dataset.slots - n());
      const token = atom + result.first;
      return token >= 0 && token < tokens() ? token : null;
    }

    // What is chosen and changed, as the page's address has it: atoms by their names, and layers, heads, channels
    // and pairs of vectors counted from 1, as on the page. Links from before version 0.15 counted from 0 and
    // still work: `i` and `j` were tokens, `weight` the head, and `cut`, `closed`, `flips` and `without` had numbers.
    const firstOf = (kind) => (ABOUT[kind]?.reads === "vnode" ? 1 : 0);
    const AN_ATOM = /^[A-Z][a-z]?\d+$/;
    const atomOf = (text) => (/^\d+$/.test(text) ? Number(text) : AN_ATOM.test(text) ? Number(text.replace(/\D+/, "")) : null);
    const named = (token, kind) => (token < firstOf(kind) ? "VNode" : `${state.molecule.symbols[token - firstOf(kind)] ?? "X"}${token - firstOf(kind)}`);

    /** The token of a name in a model, or null. */
    function tokenOf(name, kind) {
      if (name === "VNode" && firstOf(kind)) return 0;
      return AN_ATOM.test(name ?? "") ? atomOf(name) + firstOf(kind) : null;
    }

    /** For each list of changes: how the address has an entry, and what an entry of the address is in the state. */
    const LISTS = {
      closed: {
        write: (gate) => gate.split(",").map((at, which) => `${"LH"[which]}${Number(at) + 1}`).join(),
        read: (text) => (A_PLACE.test(text) ? text.match(/\d+/g).map((at) => at - 1).join() : /^(0|[1-9]\d*),(0|[1-9]\d*)$/.test(text) ? text : null),
      },
      flips: { key: "flip", write: (pair) => pair + 1, read: (text) => (/^[1-8]$/.test(text) ? text - 1 : null) },
      off: { write: String, read: (text) => (/^(query|key|value|ring)$/.test(text) ? text : null) },
      cut: { write: writtenCut, read: readCut },
    };
    const A_PLACE = /^L[1-9]\d*,H[1-9]\d*$/;

    function writtenCut(cut) {
      const [kind, at, channel, from, to] = cut.split(",");
      return [kind, `L${Number(at) + 1}`, `${kind === "csa" ? "C" : "H"}${Number(channel) + 1}`, named(Number(from), kind), named(Number(to), kind)].join();
    }

    function readCut(text) {
      if (/^(graphormer|egt|grpe|csa)(,(0|[1-9]\d*)){4}$/.test(text)) return text;
      const [, kind, at, channel, from, to] = text.match(/^(graphormer|egt|grpe|csa),L([1-9]\d*),[HC]([1-9]\d*),(\w+),(\w+)$/) ?? [];
      const tokens = [from, to].map((name) => tokenOf(name, kind));
      return kind && !tokens.includes(null) ? [kind, at - 1, channel - 1, ...tokens].join() : null;
    }

    const A_SHIFT = /^\d{1,2}:-?\d+(\.\d+)?$/;

    function remember() {
      if (host.dataset.start !== undefined) return;
      const which = state.molecule.own ? "smiles" : "molecule";
      const said = new URLSearchParams({ model: state.model.kind, [which]: state.molecule.name, show: state.scope,
        layer: state.layer + 1, [about().weights]: state.channel + 1, atom: named(state.i, state.model.kind), to: named(state.j, state.model.kind) });
      if (removed().size) said.set("without", [...removed()].map((atom) => named(atom + result.first, state.model.kind)));
      const shifts = Object.entries(state.changes.shift).filter(([, by]) => by).map((pair) => pair.join(":"));
      if (shifts.length) said.set("shift", shifts);
      for (const [name, { key = name, write }] of Object.entries(LISTS)) {
        if (state.changes[name].size) said.set(key, [...state.changes[name]].map(write).join(";"));
      }
      if (state.changes.perHead) said.set("perHead", 1);
      if (state.effects) said.set("effects", 1);
      if (state.open) said.set("open", ["one", ...state.open]);
      if (state.beside) said.set("beside", [state.beside.kind, state.second.layer + 1, state.second.channel + 1]);
      history.replaceState(null, "", `#${said}`);
    }

    /** The state that an address names; what it does not name, or names wrongly, is as at the start. */
    function remembered() {
      const said = new URLSearchParams(location.hash.slice(1));
      if (!said.has("model") || host.dataset.start !== undefined) return null;
      const given = (name) => (/^\d+$/.test(said.get(name) ?? "") ? Number(said.get(name)) : null);
      const whole = (name) => Math.max(0, (given(name) ?? 1) - 1);
      const split = (name, sign) => (said.get(name) ?? "").split(sign).filter(Boolean);
      const kind = said.get("model");
      const older = split("flips", ";").filter((pair) => /^[0-7]$/.test(pair)).map(Number);
      const lists = Object.entries(LISTS).map(([name, { key = name, read }]) =>
        [name, new Set([...split(key, ";").map(read).filter((each) => each !== null), ...(name === "flips" ? older : [])])]);
      const shifts = split("shift", ",").filter((pair) => A_SHIFT.test(pair)).map((pair) => pair.split(":").map(Number));
      const [besideKind, ...ofSecond] = split("beside", ",");
      const [secondLayer, secondChannel] = ofSecond.map((at) => Math.max(0, Math.floor(Number(at)) - 1 || 0));
      return {
        kind, molecule: said.get("molecule"), smiles: said.get("smiles"), layer: whole("layer"), outline: openingOf(kind, said.get("molecule"))?.outline ?? [],
        channel: whole(["head", "channel"].find((name) => said.has(name)) ?? "weight"),
        scope: SCOPES.find((scope) => scope === said.get("show")) ?? "weight", i: tokenOf(said.get("atom"), kind) ?? given("i"), j: tokenOf(said.get("to"), kind) ?? given("j"),
        open: split("open", ",")[0] === "one" ? new Set(split("open", ",").filter((part) => part in PARTS)) : null,
        effects: said.has("effects"), beside: besideKind, second: ofSecond.length ? { layer: secondLayer, channel: secondChannel ?? 0 } : null, without: split("without", ",").map(atomOf).filter((atom) => atom !== null),
        changes: { ...Object.fromEntries(lists), perHead: said.has("perHead"), shift: Object.fromEntries(shifts.filter(([, by]) => Math.abs(by) <= MOST_SHIFT)) },
      };
    }

    /** The layer, and the head or channel, that are shown first of a model beside another. */
    const startOf = (model) => ({ layer: 0, channel: FIRST[model?.kind] ?? 0 });

    /** A step of the tour, or what an address says; of what is not given, the start. */
    async function visit({ kind, molecule, smiles, changes: changed, without, beside, second, unfold, ...place }) {
      const model = data.models.find((each) => each.kind === kind) ?? state.model ?? data.models[0];
      const listed = data.molecules.find((each) => each.name === molecule) ?? data.molecules[0];
      const shown = (smiles && heard(smiles, `Showing ${listed.name} instead.`)) || listed;
      if (!result) {
        Object.assign(state, { model, molecule: shown, open: place.open ?? null });
        showParts();
        drawWaiting();
      }
      try {
        await fetched(model);
      } catch (error) {
        if (!result) find(".waiting").textContent = "The model cannot be read. Reload the page to try again.";
        throw error;
      }
      const against = data.models.find((each) => each.kind === beside) ?? null;
      if (against) await fetched(against);
      const first = ABOUT[model.kind].reads === "vnode" ? 1 : 0;
      Object.assign(state, { model, molecule: shown,
        scope: "weight", layer: 0, channel: FIRST[model.kind] ?? 0, distance: 1, i: 1 + first, j: 3 + first, effects: false, outline: [], beside: against, second: second ?? startOf(against), open: null }, place,
      { changes: { ...gtcourse.models.unchanged(), ...structuredClone(changed) } });
      state.layer = Math.min(state.layer, model.layers - 1);
      unfolded.delete(unfoldedByTour);
      unfoldedByTour = unfolded.has(unfold) ? null : unfold;
      if (unfold) unfolded.add(unfold);
      state.removed.set(state.molecule, new Set((without ?? []).filter((atom) => atom < state.molecule.x.length)));
      start();
      scrollToChannel();
      return seen();
    }

    /** The molecule of a SMILES string, with what the list knows of it; of what cannot be read, null, and a
        sentence below the field, which ends with what is shown `instead`. */
    function heard(smiles, instead) {
      const field = find(".own input");
      field.value = smiles;
      try {
        const molecule = { ...gtcourse.smiles.read(smiles), own: true };
        const listed = data.molecules.find((each) => gtcourse.molecule.same(each, molecule));
        tell("");
        return listed ? { ...molecule, like: listed.name, value: listed.value } : molecule;
      } catch (error) {
        const reason = A_NAME.test(smiles) ? `“${smiles}” looks like a name. Type its SMILES, or choose a name from the list.` : error.message;
        tell(`${reason} ${instead}`);
        return null;
      }
    }

    const nameOfMolecule = ({ like, name }) => like ?? (name.length > LONG_NAME ? `${name.slice(0, LONG_NAME)} …` : name);

    const A_NAME = /^[A-Za-z][a-z]{3,}([ -][A-Za-z]+)*$/;
    const listedAs = (text) => data.molecules.find(({ name }) => name.toLowerCase() === text.toLowerCase());

    function tell(sentence) {
      find(".heard span").textContent = sentence;
      find(".heard").classList.toggle("hint", sentence === HINT);
      find(".own input").setAttribute("aria-invalid", sentence !== "" && sentence !== HINT);
      placeHeard();
    }

    /** In a wide window, the sentence is laid over the page right below the field, so that nothing moves. */
    function placeHeard() {
      const [field, frame] = [find(".own"), find(".frame")].map((part) => part.getBoundingClientRect());
      find(".heard").style.setProperty("--below", `${field.bottom - frame.top + 3}px`);
      find(".heard").style.setProperty("--left", `${field.left - frame.left}px`);
    }

    // What stands before the field in the bar, such as the models' predictions, moves it.
    const bar = new ResizeObserver(placeHeard);
    for (const part of find(".bar").children) bar.observe(part);

    find(".own").addEventListener("input", () => {
      find(".own").classList.remove("read");
      tell("");
    });
    find(".own").addEventListener("focusin", () => { if (!find(".own input").value) tell(HINT); });
    find(".own").addEventListener("focusout", () => { if (find(".heard").matches(".hint")) tell(""); });
    find(".own").addEventListener("submit", (event) => {
      event.preventDefault();
      const text = find(".own input").value.trim();
      const molecule = result && (listedAs(text) ?? heard(text, `Still showing ${nameOfMolecule(state.molecule)}.`));
      if (!molecule) return;
      if (!molecule.own) tell("");
      find(".own").classList.add("read");
      takeMolecule(molecule);
      start();
      if (state.model.kind === "egt" && molecule.open) {
        tell("Two singular values of this molecule are equal, so its singular vectors are not unique. EGT in Python may predict a different value.");
      }
    });

    /** E of pairs on a common ring, at least, and of all other pairs, at most; and the
        share of its weight that the chosen atom puts on its rings. */
    function ofRings() {
      const terms = layer().terms.slice(1).map(([, map]) => mapOf(map));
      const T = tokens();
      const found = { inside: Infinity, outside: -Infinity, share: 0 };
      const weights = mapOf(layer().attention);
      for (let i = 0; i < n(); i++) {
        for (let j = 0; j < n(); j++) {
          if (i === j) continue;
          const value = terms.reduce((sum, term) => sum + term[(i + result.first) * T + j + result.first], 0);
          if (state.molecule.ring[i * n() + j]) {
            found.inside = Math.min(found.inside, value);
            if (i + result.first === state.i) found.share += weights[state.i * T + j + result.first];
          } else found.outside = Math.max(found.outside, value);
        }
      }
      return found;
    }

    /** Of a run with these changes, or of the one as trained: what the model predicts if no two atoms are marked as sharing a ring. */
    const ringlessOf = new WeakMap();
    function ringless(run = before, changes = {}) {
      if (!ringlessOf.has(run)) {
        const off = new Set([...changes.off ?? [], "ring"]);
        ringlessOf.set(run, gtcourse.models.run(state.model, state.molecule, { ...changes, off }).prediction);
      }
      return ringlessOf.get(run);
    }

    /** What the tour says numbers of. */
    function seen() {
      const T = tokens();
      const row = shownRow(one(), state.i);
      const most = row.indexOf(Math.max(...row));
      return {
        now: result.prediction, before: before.prediction, exact: state.molecule.value, error: state.model.error, uniform: 1 / T,
        changed: differences(),
        most: { name: nameOf(most), weight: row[most],
          distance: state.molecule.distance[(state.i - result.first) * n() + most - result.first] },
        trace: trailOf(ABOUT[state.model.kind].reads, before, result, state.i),
        sum: mapOf(layer().attention).subarray(state.i * T, (state.i + 1) * T).reduce((a, b) => a + b, 0),
        ring: ofRings(),
        ringless: () => ringless(),
        terms: layer().terms.map(([, map]) => mapOf(map)[state.i * T + state.j]),
      };
    }

    function scrollToChannel() {
      const [maps, button] = [find(".maps"), find(`[data-channel="${state.channel}"]`)];
      const away = button.offsetLeft - maps.offsetLeft;
      if (away < maps.scrollLeft || away > maps.scrollLeft + maps.clientWidth - 60) maps.scrollLeft = away - maps.clientWidth / 2;
    }

    /** The atom nearest to the pointer in a drawing, if a finger would cover it: in a large molecule the
        discs are smaller than a finger. */
    function atomNear(event) {
      const drawing = event.target.closest(":is(.molecule, .drawing) svg");
      if (!drawing) return null;
      if (event.target.dataset.atom) return Number(event.target.dataset.atom);
      const away = [...drawing.querySelectorAll(".atom")].map((atom) => {
        const box = atom.getBoundingClientRect();
        return Math.hypot(event.clientX - box.left - box.width / 2, event.clientY - box.top - box.height / 2);
      });
      const nearest = away.indexOf(Math.min(...away));
      return away[nearest] <= FINGER ? nearest : null;
    }

    function select(from, to = state.j) {
      const isAnother = from !== state.i || to !== state.j;
      const atom = boxOf(all(".molecule .disc")[from - result.first]);
      const byAtom = to === state.j && from !== state.i;
      Object.assign(state, { i: from, j: to });
      hover = null;
      drawChanges();
      drawPair();
      remember();
      if (!isAnother || state.beside) return;
      if (byAtom) fly(atom, find(".mark"));
      else flyToPath(boxOf(find(".mark")));
    }

    /** The pair under the pointer in the matrix. */
    function pairAt(event) {
      const box = find(".matrix svg").getBoundingClientRect();
      const unit = side / box.width;
      const [to, from] = [event.clientX - box.left, event.clientY - box.top].map((at) => Math.floor((at * unit - MARGIN) / cell));
      return [from, to].every((token) => token >= 0 && token < tokens()) ? { i: from, j: to } : null;
    }

    root.addEventListener("click", (event) => {
      const target = event.target.closest("button, .matrix");
      if (!event.target.closest(".picker")) find(".picker").open = false;
      if (!event.target.closest(".own") && find(".heard span").textContent) {
        if (find(".own input").getAttribute("aria-invalid") === "true") find(".own input").value = "";
        tell("");
      }
      if (!result) return;
      if (barAt(event) !== null) return select(state.i, barAt(event));
      if (atomNear(event) !== null) return select(atomNear(event) + result.first);
      if (!target) return;
      const { model, molecule, layer: at, channel, act, flip, token, undo: what, onward, unfold, part } = target.dataset;
      if (model) choose(data.models[model]);
      else if (molecule) {
        takeMolecule(data.molecules[molecule]);
        find(".own input").value = "";
        tell("");
        find(".picker").open = false;
        find(".picker > summary").focus();
        start();
      } else if (at) {
        Object.assign(state, { layer: Number(at), scope: state.scope === "layer" ? "layer" : "weight" });
        draw();
        flyToMaps(target.querySelector("canvas"));
      } else if (onward) {
        const [layer, channel, i, j] = onward.split(",").map(Number);
        const from = boxOf(target);
        Object.assign(state, { layer, channel, i, j, scope: "weight" });
        hover = null;
        draw();
        scrollToChannel();
        fly(from, find(`[data-layer="${layer}"]`));
        (find(".path [data-onward]") ?? find(".path [data-unfold]"))?.focus({ preventScroll: true });
      } else if (unfold) {
        toggle(unfolded, unfold);
        drawPath();
        find(`[data-unfold="${unfold}"]`).focus({ preventScroll: true });
      } else if (channel) {
        Object.assign(state, { channel: Number(channel), scope: "weight" });
        draw();
        flyToMatrix(target.querySelector("canvas"));
      } else if (part) showPart(part);
      else if (token) select(Number(token));
      else if (what) {
        undo(what);
        recalculate();
        (find(".chips button") ?? find(".chips")).focus({ preventScroll: true });
      } else if (flip) {
        toggle(state.changes.flips, Number(flip));
        recalculate();
      } else if (act === "cut") {
        toggle(state.changes.cut, chosenCut());
        recalculate();
      } else if (act === "remove" && state.i >= result.first) remove(state.i - result.first);
      else if (act === "effects") {
        state.effects = !state.effects;
        draw();
      } else if (act === "reset") {
        state.changes = gtcourse.models.unchanged();
        state.removed.delete(state.molecule);
        recalculate();
        find(".chips").focus({ preventScroll: true });
      } else if (act === "alone") {
        compareWith(null);
        find(".of-pair").scrollIntoView({ block: "nearest" });
        find("[data-beside]").focus({ preventScroll: true });
      } else if (act === "more") target.setAttribute("aria-expanded", find(".frame").classList.toggle("all"));
      else if (act === "link") copyLink(target);
      else if (act === "marks") {
        takeMolecule(heard(withoutMarks(state.molecule.name), ""));
        start();
        find(".own input").focus({ preventScroll: true });
      }
      else if (target.className === "matrix") {
        const pair = pairAt(event);
        if (!pair) return;
        state.scope = "weight";
        select(pair.i, pair.j);
      }
    });

    /** A removed atom looks nowhere, so its neighbour is chosen instead. */
    function remove(atom) {
      const set = new Set(removed());
      toggle(set, atom);
      state.removed.set(state.molecule, set);
      const left = [...Array(n()).keys()].filter((each) => !set.has(each));
      if (set.has(atom) && left.length) {
        const away = (each) => state.molecule.distance[atom * n() + each];
        state.i = result.first + left.reduce((best, each) => (away(each) >= 0 && away(each) < away(best) ? each : best));
      }
      recalculate();
    }

    async function copyLink(button) {
      try {
        await navigator.clipboard.writeText(location.href);
        button.textContent = "Copied";
      } catch {
        button.textContent = "See the address";  // a page from the disk may not use the clipboard
      }
      setTimeout(() => { button.textContent = "Copy link"; }, 2000);
    }

    function preview(pair) {
      if (!result || (pair?.i === hover?.i && pair?.j === hover?.j)) return;
      hover = pair;
      drawPair();
    }

    /** A mouse at rest over which the page scrolls points at nothing. */
    const points = (event) => event.pointerType === "mouse" && Boolean(event.movementX || event.movementY);

    root.addEventListener("pointermove", (event) => {
      if (!points(event)) return;
      const atom = event.target.closest(":is(.molecule, .drawing) .atom");
      if (atom) preview({ i: Number(atom.dataset.atom) + result.first });
      else if (!event.target.closest(".matrix")) preview(null);
    });
    find(".matrix").addEventListener("pointermove", (event) => points(event) && preview(pairAt(event)));
    host.addEventListener("pointerleave", () => preview(null));

    root.addEventListener("input", ({ target }) => {
      if (target.matches('input[type="range"]')) {
        state.changes.shift = { ...state.changes.shift, [state.distance]: Number(target.value) };
        recalculate();
      } else if (target.matches("[data-distance]")) {
        state.distance = Number(target.value);
        drawChanges();
      } else if (target.dataset.change) {
        const key = target.dataset.change;
        if (key === "gate") toggle(state.changes.closed, `${state.layer},${state.channel}`);
        else if (key === "perHead") state.changes.perHead = target.checked;
        else toggle(state.changes.off, key);
        recalculate();
      }
    });

    find(".two").addEventListener("change", ({ target }) => {
      const { panel, which, modelOf } = target.dataset;
      if (modelOf !== undefined) return changeModel(Number(modelOf), data.models[target.value]);
      if (which === undefined) return;
      const of = panel === "0" ? state : state.second;
      of[which] = Number(target.value);
      drawChanges();
      draw();
    });

    /** Another model in the panel of one of two; what the reader sees of this panel stays where it is. */
    async function changeModel(panel, model) {
      const part = () => find(`[data-model-of="${panel}"]`);
      const top = part().getBoundingClientRect().top;
      if (panel) await compareWith(model);
      else await choose(model);
      if (!part()) return;  // closed while the model was loaded
      part().value = data.models.indexOf(panel ? state.beside : state.model);  // the one before, if this one could not be loaded
      part().focus({ preventScroll: true });
      scrollBy({ top: part().getBoundingClientRect().top - top, behavior: "instant" });
    }

    async function compareWith(model) {
      if (!model) requests += 1;  // one that is being loaded is not wanted any more
      const against = model ? await requested(model) : null;
      if (model && !against) return;
      Object.assign(state, { beside: against, second: startOf(against) });
      start();
    }

    find(".picks").addEventListener("change", ({ target }) => {
      state.scope = "weight";
      if (target.dataset.pick === "i") select(Number(target.value), state.j);
      else select(state.i, Number(target.value));
    });

    find("[data-scope]").addEventListener("change", ({ target }) => {
      state.scope = target.value;
      drawPair();
      remember();
    });

    find("[data-beside]").addEventListener("change", async ({ target }) => {
      await compareWith(data.models[target.value]);
      if (!state.beside) target.value = "";  // it could not be loaded
    });

    root.addEventListener("keydown", (event) => {
      const [down, right] = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key] || [0, 0];
      if (event.key === "Escape") find(".picker").open = false;
      if (!down && !right) return;
      const T = tokens();
      if (event.target.closest(".matrix")) {
        event.preventDefault();
        state.scope = "weight";
        select((state.i + down + T) % T, (state.j + right + T) % T);
      } else if (event.target.closest(".bars")) {
        event.preventDefault();
        select(state.i, (state.j + down + right + T) % T);
      } else if (event.target.closest(".flow, .maps")) {
        event.preventDefault();
        const buttons = [...event.target.closest(".flow, .maps").querySelectorAll("button")];
        const step = right + down * (event.target.closest(".maps") && rowsOfMaps() > 1 ? columnsOfMaps().count : 1);
        const next = buttons[(buttons.indexOf(event.target) + step + buttons.length) % buttons.length];
        next.click();
        next.focus();
      } else if (event.target.closest(".atom")) {
        event.preventDefault();
        const drawing = event.target.closest(".molecule, .drawing");
        select((state.i - result.first + down + right + n()) % n() + result.first);
        drawing.querySelector('.atom[tabindex="0"]').focus();
      }
    });

    /** In another width, what is drawn in pixels is drawn again; in another mode, all colours. */
    let width = host.clientWidth;
    new ResizeObserver(() => {
      if (Math.abs(host.clientWidth - width) < 2) return;
      width = host.clientWidth;
      placeHeard();
      if (!result) return drawWaiting();
      showMolecule();
      buildMaps();
      buildMatrix();
      buildTwo();
      draw();
    }).observe(host);
    gtcourse.colors.watch(() => (result ? draw() : drawWaiting()));

    addEventListener("hashchange", () => {  // a link below the explainer, or the browser's Back
      const said = remembered();
      if (!said) return;
      visit(said);
      host.scrollIntoView();
    });

    gtcourse.tour?.(find(".tour"), visit, remembered);  // in the book
    const { of, ...first } = data.opens ?? {};
    const opening = host.dataset.start === undefined && data.opens ? { i: null, j: null, open: new Set(), ...first } : {};
    return visit(remembered() ?? { kind: host.dataset.start, ...opening });
  };
})();
