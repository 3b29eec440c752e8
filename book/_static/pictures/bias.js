// Shape a head: the scalars of a trained Graphormer's head, one for each distance, and what becomes of its
// attention and of the prediction. `data` is what experiments/pictures.py writes. The first layer's weights
// follow from it; for the prediction, the model's weights are fetched when a scalar is first changed.
// gtcourse.pictures.bias has {attend(molecule, head, scalars), predict(molecule, scalars)}.
//
// Shapes: n atoms, T = n + 1 tokens with [VNode] first, H heads; scalars are [H][distances].
(function (data) {
  "use strict";
  const { number, softmax } = gtcourse.layers;
  const { ofWeight, ofWeights, watch } = gtcourse.colors;
  const { molecules, scalars: trained } = data;
  const H = trained.length;
  const NAME = "bias.encodings.0.scalars.weight";  // in the model: a row for each distance, the first for none
  const FILES = new URL("../explainer/", document.currentScript?.src ?? location.href).href;
  const REACH = 3;  // of a bar, up and down
  const STEP = 0.1;  // what a key moves it by
  const ZERO = 106;  // pixels in the chart: where b is 0
  const TALL = 80;  // the largest bar
  const FLOOR = 300;  // where a share is 0
  const HIGH = 80;  // a share of 1
  const LEFT = 34;

  for (const molecule of molecules) {
    const bytes = Uint8Array.from(atob(molecule.rest.data), (letter) => letter.charCodeAt(0));
    molecule.terms = Float64Array.from(new Int16Array(bytes.buffer), (x) => x * molecule.rest.scale);
  }

  /** The weights of one head of the first layer, [T, T]. */
  function attend({ terms, distance, x }, head, scalars) {
    const n = x.length;
    const T = n + 1;
    const logits = terms.slice(head * T * T, (head + 1) * T * T);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) logits[(i + 1) * T + j + 1] += scalars[head][distance[i * n + j]];
    }
    return softmax(logits, T);
  }

  let model = null;

  /** The prediction of the whole model with other scalars in all of its layers. */
  async function predict(molecule, scalars) {
    if (!gtcourse.models?.run) await gtcourse.load(`${FILES}models.js`);
    model ??= { ...await gtcourse.weights(data.model, `${FILES}graphormer.js`) };
    if (!model.weights) gtcourse.models.run(model, molecule, {});  // unpacks them
    const table = model.weights[NAME];
    const changed = table.data.slice();
    scalars.forEach((row, head) => row.forEach((value, distance) => { changed[(distance + 1) * H + head] = value; }));
    const weights = { ...model.weights, [NAME]: { ...table, data: changed } };
    return gtcourse.models.run({ ...model, weights }, molecule, {}).prediction;
  }

  gtcourse.pictures = { ...gtcourse.pictures, bias: { attend, predict } };
  const place = document.getElementById("bias");
  if (!place) return;

  const copy = () => trained.map((row) => [...row]);
  const { atom, head: first } = data.start;
  const state = { molecule: molecules[0], atom, head: first, scalars: copy() };
  const predictions = new Map();  // of the trained model, by molecule
  let asked = 0;
  let drawnAt = 0;
  const PRESETS = { trained: (b) => b, "all 0": () => 0, "× 3": (b) => 3 * b, "sign flipped": (b) => -b };
  const ANSWERS = ["nothing", "about half of it", "all of it"];
  const RIGHT = 1;
  const ASKED = 3;  // the distance of the question

  place.innerHTML = `<p><b>Shape a head.</b> This is a trained Graphormer (section 10.7). Its ${data.layers} layers share the scalars: each head has one, b<sub>d</sub>, for each distance d. Colours show where
      an atom, with the blue ring, looks in one head of the first layer.</p>
    <div class="question"></div>
    <div class="choose"><div class="choices" role="group" aria-label="head"><span>head</span>${trained.map((_, head) => `<button type="button" data-head="${head}">${head + 1}</button>`).join("")}</div>
    <div class="choices" role="group" aria-label="molecule">${molecules.map(({ name }, which) => `<button type="button" data-molecule="${which}">${name}</button>`).join("")}</div></div>
    <div class="two"><figure><div class="drawing"></div><figcaption><span class="who"></span><span class="scale"></span></figcaption>
      <p class="said" role="status"></p></figure>
      <figure><svg class="bars" role="group" aria-label="scalars by distance, and the share of the atom’s weight at each distance"></svg>
      <div class="choices" role="group" aria-label="scalars"><span class="of-head"></span>${Object.keys(PRESETS).map((name) => `<button type="button" data-preset="${name}">${name}</button>`).join("")}
        <button type="button" data-reset>reset all heads</button></div></figure></div>`;
  const find = (selector) => place.querySelector(selector);
  const all = (selector) => [...place.querySelectorAll(selector)];
  const size = () => state.molecule.x.length;
  const nameOf = (i) => `${state.molecule.symbols[i]}${i}`;
  const signed = (x, digits = 2) => `${x > 0 ? "+" : ""}${number(Number(x.toFixed(digits)) || 0, digits)}`;

  /** The chosen atom’s weights on all tokens. */
  const row = (scalars) => attend(state.molecule, state.head, scalars).subarray((state.atom + 1) * (size() + 1), (state.atom + 2) * (size() + 1));

  /** How much of the atom's weight is at each distance, and on [VNode]. */
  function shares(weights) {
    const { distance } = state.molecule;
    const found = Array.from({ length: Math.max(...distance) + 1 }, () => 0);
    for (let j = 0; j < size(); j++) found[distance[state.atom * size() + j]] += weights[j + 1];
    return [...found, weights[0]];
  }

  const isHeadTrained = (head) => String(state.scalars[head]) === String(trained[head]);
  const isTrained = () => trained.every((_, head) => isHeadTrained(head));

  function build() {
    const { molecule } = state;
    const width = find(".drawing").clientWidth || 330;
    drawnAt = place.clientWidth;
    find(".drawing").innerHTML = gtcourse.molecule.drawing(molecule, molecule.symbols.map((_, i) => nameOf(i)), width, width < 340 ? 230 : 290);
    buildBars();
    draw();
  }

  /** A column for each distance: its bar above, with a handle, and below the share of the weight. */
  function buildBars() {
    const svg = find(".bars");
    const width = svg.clientWidth || 330;
    const D = Math.max(...state.molecule.distance) + 1;
    const column = (width - LEFT) / (D + 1);
    const x = (d) => LEFT + (d + 0.5) * column;
    const line = (y, words) => `<path class="axis" d="M${LEFT} ${y}H${width}"/><text x="${LEFT - 5}" y="${y}" text-anchor="end" dominant-baseline="central">${words}</text>`;
    svg.setAttribute("viewBox", `0 0 ${width} ${FLOOR + 40}`);
    const half = Math.min(12, 0.32 * column);
    svg.innerHTML = `<text x="0" y="12" class="title">scalar b<tspan dy="3" font-size="11">d</tspan><tspan dy="-3"> · drag, or arrow keys</tspan></text>
      ${[2, 0, -2].map((b) => line(ZERO - TALL * b / REACH, signed(b, 0))).join("")}
      <text x="0" y="${FLOOR - HIGH - 20}" class="title"></text>${[1, 0.5, 0].map((share) => line(FLOOR - HIGH * share, share)).join("")}
      ${Array.from({ length: D + 1 }, (_, d) => `<g transform="translate(${x(d).toFixed(1)})">${d < D ? `<rect class="bar" x="${-half}" width="${2 * half}"/><path class="trained-b" d="M${-half - 3} 0H${half + 3}"/>
        <g class="handle" role="slider" tabindex="0" data-distance="${d}" aria-label="scalar at distance ${d}" aria-valuemin="${-REACH}" aria-valuemax="${REACH}"><circle class="goal" r="${Math.min(22, column / 2).toFixed(1)}"/><circle class="knob" r="7"/></g>` : ""}
        <rect class="share" x="${-half}" width="${2 * half}"/><path class="trained-share" d="M${-half - 3} 0H${half + 3}"/><text class="amount" text-anchor="middle"></text>
        <text y="${FLOOR + 16}" text-anchor="middle">${d < D ? d : "VN"}</text></g>`).join("")}
      <text x="${(LEFT + width) / 2}" y="${FLOOR + 34}" text-anchor="middle">distance d in bonds; VN: [VNode]</text>`;
    svg.spot = (event) => {
      const y = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse()).y;
      return (ZERO - y) * REACH / TALL;
    };
  }

  function draw() {
    const { molecule, head, scalars } = state;
    const weights = row(scalars);
    const [now, was] = [shares(weights), shares(row(trained))];
    all("[data-head]").forEach((button, each) => {
      const changed = !isHeadTrained(each);
      button.setAttribute("aria-pressed", each === head);
      button.setAttribute("aria-label", `head ${each + 1}${changed ? ", changed" : ""}`);
      button.classList.toggle("changed", changed);
    });
    find(".of-head").textContent = `head ${head + 1}:`;
    find("[data-reset]").disabled = isTrained();
    all("[data-molecule]").forEach((button) => button.setAttribute("aria-pressed", molecules[button.dataset.molecule] === molecule));
    all("[data-preset]").forEach((button) => button.setAttribute("aria-pressed",
      String(trained[head].map((b) => bounded(PRESETS[button.dataset.preset](b)))) === String(scalars[head])));
    gtcourse.molecule.paint(find(".drawing"), molecule.x.map((_, j) => ofWeight(weights[j + 1])));
    all(".drawing .atom").forEach((each, i) => {
      each.setAttribute("tabindex", i === state.atom ? 0 : -1);
      each.setAttribute("aria-pressed", i === state.atom);
      each.classList.toggle("chosen", i === state.atom);
    });
    find(".who").innerHTML = `Attention of <b>${nameOf(state.atom)}</b> in head ${head + 1}:`;
    find(".scale").innerHTML = ofWeights();
    all(".bars .title")[1].textContent = `share of ${nameOf(state.atom)}’s weight at this distance`;
    const high = (b) => ZERO - TALL * b / REACH;
    const bar = (part, top, bottom) => {
      part.setAttribute("y", Math.min(top, bottom).toFixed(1));
      part.setAttribute("height", Math.abs(bottom - top).toFixed(1));
    };
    all(".bar").forEach((part, d) => bar(part, high(scalars[head][d]), ZERO));
    all(".trained-b").forEach((part, d) => part.setAttribute("transform", `translate(0,${high(trained[head][d]).toFixed(1)})`));
    all(".handle").forEach((handle, d) => {
      handle.setAttribute("transform", `translate(0,${high(scalars[head][d]).toFixed(1)})`);
      handle.setAttribute("aria-valuenow", scalars[head][d].toFixed(1));
      handle.setAttribute("aria-valuetext", `${signed(scalars[head][d])}, share ${number(now[d], 2)}`);
    });
    all(".share").forEach((part, d) => bar(part, FLOOR - HIGH * now[d], FLOOR));
    all(".trained-share").forEach((part, d) => part.setAttribute("transform", `translate(0,${(FLOOR - HIGH * was[d]).toFixed(1)})`));
    all(".amount").forEach((text, d) => {
      text.textContent = now[d] >= 0.005 ? number(now[d], 2) : "";
      // Above its own bar, or above the mark of the trained share where the two would touch.
      const mark = was[d] > now[d] && HIGH * (was[d] - now[d]) < 20 ? was[d] : now[d];
      text.setAttribute("y", (FLOOR - HIGH * mark - 5).toFixed(1));
    });
    say();
  }

  /** The question about the first head; its answer is what is left with the scalars at 0. */
  function ask() {
    const before = shares(row(trained))[ASKED];
    const far = state.molecule.distance.slice(atom * size(), (atom + 1) * size()).filter((distance) => distance === ASKED).length;
    const question = `In head ${first + 1}, ${nameOf(atom)} gives ${number(before, 2)} of its weight to the ${far} atoms that are ${ASKED} bonds away. If all scalars
      of this head were 0, how much of that would be left?`;
    const preset = (name) => shares(row(trained.map((each) => each.map(PRESETS[name]))))[ASKED];
    const truth = () => `${number(shares(row(state.scalars))[ASKED], 2)} of ${number(before, 2)} is left. If all ${size() + 1} tokens had equal weights, these atoms
      would get ${number(far / (size() + 1), 2)}. So most of this preference came from the scalars. Why is the share ${number(preset("× 3"), 2)}
      with ×\u00a03 and ${number(preset("sign flipped"), 2)} with “sign flipped”? Because b<sub>${ASKED}</sub> is the largest scalar: ×\u00a03 raises it further above the others, and its negative is the smallest.`;
    gtcourse.guess(find(".question"), { question, answers: ANSWERS, right: RIGHT, about: `${molecules[0].name}, head ${first + 1}`, show: showQuestion, truth });
  }

  function showQuestion() {
    Object.assign(state, { molecule: molecules[0], atom, head: first, scalars: copy() });
    state.scalars[first].fill(0);
    build();
  }

  /** A number before and after a change, to two decimals. */
  function step(was, now) {
    const [before, after] = [was, now].map((x) => number(x, 2));
    return before === after ? `<b>${after}</b>, unchanged to two decimals` : `${before} → <b>${after}</b>`;
  }

  /** What the scalars do to the prediction, once the model is there. */
  async function say() {
    const said = find(".said");
    const { molecule } = state;
    const exact = `RDKit’s exact value is ${number(molecule.value, 2)}.`;
    asked += 1;
    const mine = asked;
    if (isTrained() && !predictions.has(molecule)) {
      said.innerHTML = `These are the trained scalars. Change one: the dashes mark where it was, and the model predicts ${molecule.name}’s penalised logP again. ${exact}`;
      return;
    }
    if (!model) said.textContent = "Loading the trained model (0.6 MB) for the prediction …";
    try {
      if (!predictions.has(molecule)) predictions.set(molecule, await predict(molecule, trained));
      const before = predictions.get(molecule);
      const after = await predict(molecule, state.scalars);
      if (mine !== asked) return;  // the reader has moved on
      const [now, was] = [shares(row(state.scalars)), shares(row(trained))];
      const most = now.reduce((best, share, d) => (Math.abs(share - was[d]) > Math.abs(now[best] - was[best]) ? d : best), 0);
      const where = most === now.length - 1 ? "on [VNode]" : most === 0 ? "on itself" : `at distance ${most}`;
      said.innerHTML = `${isTrained() ? `With the trained scalars the model predicts a penalised logP of <b>${number(before, 2)}</b>.` :
        `${nameOf(state.atom)}’s weight ${where}: ${step(was[most], now[most])}. Predicted penalised logP: ${step(before, after)}.${others()}`} ${exact}`;
    } catch (error) {
      if (mine !== asked) return;
      said.textContent = `The prediction needs the model: ${error.message}.`;
    }
  }

  /** The heads that are not shown and are changed, too: the prediction depends on them. */
  function others() {
    const heads = trained.map((_, head) => head).filter((head) => head !== state.head && !isHeadTrained(head)).map((head) => head + 1);
    return heads.length ? ` Head${heads.length > 1 ? "s" : ""} ${heads.join(", ")} ${heads.length > 1 ? "are" : "is"} changed, too.` : "";
  }

  const bounded = (b) => Math.max(-REACH, Math.min(REACH, Math.round(b * 1e4) / 1e4));

  function set(distance, value) {
    state.scalars[state.head][distance] = bounded(value);
    draw();
  }

  place.addEventListener("click", ({ target }) => {
    const { head, molecule, preset, reset } = target.closest("button")?.dataset ?? {};
    const chosen = target.closest(".atom");
    if (chosen) state.atom = Number(chosen.dataset.atom);
    else if (head !== undefined) state.head = Number(head);
    else if (reset !== undefined) state.scalars = copy();
    else if (preset) state.scalars[state.head] = trained[state.head].map((b) => bounded(PRESETS[preset](b)));
    else if (molecule !== undefined) {
      state.molecule = molecules[molecule];
      state.atom = Math.min(state.atom, size() - 1);
      return build();
    } else return;
    draw();
  });
  place.addEventListener("keydown", (event) => {
    const handle = event.target.closest(".handle");
    const turn = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 10, PageDown: -10 }[event.key];
    const end = { Home: -1, End: 1 }[event.key];
    if (!handle || !(turn || end)) return;
    event.preventDefault();
    const distance = Number(handle.dataset.distance);
    set(distance, end ? end * REACH : state.scalars[state.head][distance] + turn * STEP);
  });
  gtcourse.arrows(place, {
    of: ({ dataset }) => [Number(dataset.atom), size()],
    go: (next) => {
      state.atom = next;
      draw();
      find('.drawing .atom[tabindex="0"]').focus({ preventScroll: true });
    },
  });
  gtcourse.drag.holds(place, ".handle");
  place.addEventListener("pointerdown", (event) => {
    const handle = event.target.closest(".handle");
    if (!handle) return;
    handle.focus({ preventScroll: true });
    gtcourse.drag(event, (now) => set(Number(handle.dataset.distance), find(".bars").spot(now)));
  });
  new ResizeObserver(() => { if (Math.abs(place.clientWidth - drawnAt) > 1) build(); }).observe(place);
  watch(draw);
  build();
  ask();
})
