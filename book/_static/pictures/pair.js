// One pair in four papers: the weight from atom i to atom j in the first layer of four trained models,
// from its terms to the message. `data` is what book/_ext/pictures.py writes.
(function (data) {
  "use strict";
  const place = document.getElementById("pair");
  const { molecule, models } = data;
  const n = molecule.symbols.length;
  const { ofWeight, watch } = gtcourse.colors;
  const COLORS = gtcourse.models;
  const number = (x, digits = 2) => x.toFixed(digits).replace("-", "−");
  const names = molecule.symbols.map((symbol, at) => `${symbol}${at}`);
  const TERMS = Math.max(...models.map((model) => model.terms.length));
  const TABLE = { i: 4, j: 9 };  // the pair of the chapter's table
  const START = { i: 6, j: 9 };  // one for which the models' mean weights differ much
  const ends = { ...START };
  const LONGEST = 5;  // the message that fills its bar
  // How each arc is drawn, in the picture and below the model's name.
  const DASHES = { Graphormer: ["", "solid"], EGT: ["9 7", "dashed"], GRPE: ["3 4", "dotted"], CSA: ["", "double"] };
  const ROOM = 12;  // pixels between an arc and an atom that it passes

  /** Numbers of 16 bits as [C][n²]. */
  function unpack({ scale, data: text }) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const numbers = Float64Array.from(new Int16Array(bytes.buffer), (x) => x * scale);
    return Array.from({ length: numbers.length / n ** 2 }, (_, c) => numbers.subarray(c * n ** 2, (c + 1) * n ** 2));
  }

  for (const model of models) {
    model.terms = model.terms.map(([words, packed]) => [words, unpack(packed)]);
    for (const key of ["weight", "gate", "message"]) {
      if (model[key]) model[key] = unpack(model[key]);
    }
  }
  /** The head or channel in which the pair has the largest weight, unless the reader has chosen another. */
  function prefer(model) {
    const pair = ends.i * n + ends.j;
    if (!model.isChosen) model.head = model.weight.reduce((best, map, head) => (map[pair] > model.weight[best][pair] ? head : best), 0);
  }
  models.forEach(prefer);

  const edge = new Array(n * n).fill(-1);
  for (const [a, b, type] of molecule.bonds) edge[a * n + b] = edge[b * n + a] = type;
  place.innerHTML = `<p><b>One pair, four papers.</b> Drag <i>i</i> or <i>j</i> to another atom of ${molecule.name}, or use the arrow keys. The width of an arc is the weight that <i>i</i> gives to <i>j</i>
      in a trained model’s first layer, as a mean over heads. CSA has a line for each channel. Each column shows the head with the largest weight for the pair, until you choose another.</p>
    <div class="question"></div>
    <div class="choices" role="group" aria-label="pair">${[["differ", START], ["table", TABLE]].map(([name, { i, j }]) => `<button type="button" data-pair="${name}">${names[i]} and ${names[j]}, ${
      name === "table" ? "the pair of the table" : "where the models differ"}</button>`).join("")}</div>
    <div class="drawing"></div>
    <div class="four">${models.map((model, m) => `<section data-model="${m}"><h4 style="border-bottom: 5px ${DASHES[model.name][1]} ${COLORS[model.name]}">${model.name}</h4>
      <label class="ride"><span class="which"></span><input type="range" min="1" max="${model.weight.length}" value="${model.head + 1}"></label><div class="fall"></div></section>`).join("")}</div>
    <p class="said" role="status"></p>`;
  const find = (selector) => place.querySelector(selector);
  let svg;
  let layer;  // of the rings at both ends
  let drawn;  // where atoms stand
  let extent;  // width and height

  /** The molecule as wide as the page, with the arcs between its atoms and their names. */
  function build() {
    const width = find(".drawing").clientWidth;
    const height = width < 500 ? 190 : 180;
    drawn = gtcourse.molecule.layout(molecule, width, height);
    extent = [width, height];
    find(".drawing").innerHTML = gtcourse.molecule.drawing({ ...molecule, edge }, names, width, height);
    svg = find("svg");
    svg.querySelectorAll(".atom").forEach((atom) => atom.remove());
    const group = () => document.createElementNS("http://www.w3.org/2000/svg", "g");
    const above = group();
    above.setAttribute("class", "arcs");
    svg.querySelector(".name").before(above);
    layer = group();
    svg.append(layer);
    layer.innerHTML = ["i", "j"].map((end) => `<g class="end-of-pair" data-end="${end}" tabindex="0" role="slider" aria-label="atom ${end}"
      aria-valuemin="0" aria-valuemax="${n - 1}"><circle r="${(drawn.radius + 3).toFixed(1)}"/><text text-anchor="middle" dominant-baseline="central">${end}</text></g>`).join("");
    tint();
  }

  const tint = () => gtcourse.molecule.paint(svg, names.map(() => ofWeight(0)));
  const at = (atom) => drawn.at[atom];

  /** A point of the arc with this bend, from 0 at i to 1 at j. */
  function along(bend, t) {
    const [[x, y], [u, v]] = [at(ends.i), at(ends.j)];
    const length = Math.hypot(u - x, v - y) || 1;
    const [a, b, c] = [(1 - t) ** 2, 2 * t * (1 - t), t ** 2];
    return [a * x + b * ((x + u) / 2 - bend * (v - y) / length) + c * u, a * y + b * ((y + v) / 2 + bend * (u - x) / length) + c * v];
  }

  /** How far an arc passes from the nearest atom that is not its end. */
  function clearance(bend) {
    const others = drawn.at.filter((_, atom) => atom !== ends.i && atom !== ends.j);
    const spots = Array.from({ length: 21 }, (_, step) => along(bend, step / 20));
    return Math.min(...spots.flatMap(([x, y]) => others.map(([u, v]) => Math.hypot(x - u, y - v))));
  }

  /** How far an arc leaves the drawing, with room for CSA's channels on both sides. */
  function excess(bend) {
    const spots = Array.from({ length: 21 }, (_, step) => along(bend, step / 20));
    return Math.max(0, ...spots.flatMap((spot) => spot.map((each, axis) => Math.max(ROOM - each, each - extent[axis] + ROOM))));
  }

  /** A bend for each model, the least bent that leave the other atoms free, from one side to the other. */
  function bends() {
    const [[x, y], [u, v]] = [at(ends.i), at(ends.j)];
    const widest = Math.min(40, Math.max(14, 0.45 * Math.hypot(u - x, v - y)));
    let found;
    for (const gap of [widest, (widest + 14) / 2, 14, 8]) {  // closer together where they would leave the drawing
      found = spread(gap);
      if (found.every((bend) => excess(bend) === 0)) break;
    }
    return found;
  }

  /** Bends that lie a gap apart at least. */
  function spread(gap) {
    const wished = Array.from({ length: 49 }, (_, step) => (step - 24) * gap / 6);
    const free = wished.map((bend) => Math.min(clearance(bend), drawn.radius + ROOM) - 10 * excess(bend));
    const order = wished.map((_, which) => which).sort((a, b) => free[b] - free[a] || Math.abs(wished[a]) - Math.abs(wished[b]));
    const chosen = [];
    for (const which of order) {
      if (chosen.length < models.length && chosen.every((bend) => Math.abs(bend - wished[which]) >= gap - 1e-9)) chosen.push(wished[which]);
    }
    return chosen.sort((a, b) => a - b);
  }

  function arcs() {
    const arc = (bend, width, name, opacity) => {
      const spots = Array.from({ length: 21 }, (_, step) => along(bend, step / 20)).filter(outside);
      if (spots.length < 2) return "";  // the discs of its ends hide it
      return `<path fill="none" stroke="${COLORS[name]}" stroke-width="${width.toFixed(2)}" opacity="${opacity}"
        stroke-dasharray="${DASHES[name][0]}" d="M${spots.map((spot) => spot.map((each) => each.toFixed(1))).join("L")}"/>`;
    };
    const outside = (spot) => [ends.i, ends.j].every((end) => Math.hypot(spot[0] - at(end)[0], spot[1] - at(end)[1]) > drawn.radius + 3);
    const found = ends.i === ends.j ? [] : bends();
    find(".arcs").innerHTML = found.map((bend, m) => {
      const model = models[m];
      const weights = model.weight.map((map) => map[ends.i * n + ends.j]);
      if (model.name !== "CSA") return arc(bend, Math.max(1.5, 3 * n * mean(model)), model.name, 0.95);
      return weights.map((weight, c) => arc(bend + 0.4 * (c - weights.length / 2), Math.min(3, n * weight / 3), "CSA", 0.55)).join("");
    }).join("");
  }

  /** A model’s weight of the pair as a mean over its heads. */
  const mean = ({ weight }) => weight.reduce((sum, map) => sum + map[ends.i * n + ends.j], 0) / weight.length;

  /** Bars of the terms, each from where the last one ended, then weight and message. */
  function fall(model, m) {
    const pair = ends.i * n + ends.j;
    const { head } = model;
    const values = model.terms.map(([words, maps]) => [words, maps[Math.floor(head * maps.length / model.weight.length)][pair]]);
    const steps = values.map((_, k) => values.slice(0, k + 1).reduce((sum, [, value]) => sum + value, 0));
    const logit = steps.at(-1);
    const limit = 6;
    const spot = (x) => 50 + 48 * Math.max(-1, Math.min(1, x / limit));
    const bar = (from, to, color) => `<i style="left:${Math.min(spot(from), spot(to))}%;width:${Math.max(0.8, Math.abs(spot(to) - spot(from)))}%;background:${color}"></i>`;
    const row = (words, value, inside, kind = "") => `<div class="step ${kind}"><span>${words}</span><b>${value}</b><div class="track">${inside}</div></div>`;
    const weight = model.weight[head][pair];
    const share = (x) => `<i style="left:0;width:${Math.min(100, 25 * x * n)}%;background:${COLORS[model.name]}"></i><u style="left:25%"></u>`;
    const section = place.querySelector(`[data-model="${m}"]`);
    const rows = values.map(([words, value], k) => row(words.replace("q·k / √K, clipped", "clip(q·k / √K)"), number(value), bar(k ? steps[k - 1] : 0, steps[k], COLORS[model.name])));
    const blank = '<div class="step" aria-hidden="true"><span>&nbsp;</span></div>';  // so that weights stand beside weights
    const one = model.name === "CSA" ? "channel" : "head";
    section.querySelector(".which").textContent = `${one} ${head + 1}`;
    section.querySelector("input").value = head + 1;
    section.querySelector("input").setAttribute("aria-valuetext", `${one} ${head + 1}`);
    section.querySelector(".fall").innerHTML = `${rows.join("")}
      ${row("logit", number(logit), bar(0, logit, "#8a8f98"))}
      ${model.gate ? row("gate", number(model.gate[head][pair]), `<i style="left:0;width:${100 * model.gate[head][pair]}%;background:#8a8f98"></i>`) : ""}
      ${blank.repeat(TERMS - rows.length - (model.gate ? 1 : 0))}
      ${row(`${model.gate ? "gated" : "weight"}, ${one} ${head + 1}`, number(weight), share(weight))}
      ${row(`mean of all ${model.weight.length}`, number(mean(model)), share(mean(model)), "mean")}
      ${row(`message, 0 to ${LONGEST}`, number(model.message[head][pair]), `<i style="left:0;width:${Math.min(100, 100 * model.message[head][pair] / LONGEST)}%;background:#199e77"></i>`)}`;
  }

  function show() {
    for (const end of ["i", "j"]) {
      const group = layer.querySelector(`[data-end="${end}"]`);
      const [x, y] = at(ends[end]);
      group.setAttribute("transform", `translate(${x.toFixed(1)},${y.toFixed(1)})`);
      const outward = Math.atan2(y - svg.viewBox.baseVal.height / 2, x - svg.viewBox.baseVal.width / 2);
      const [letter, away] = [group.querySelector("text"), drawn.radius + 13];
      letter.setAttribute("x", (away * Math.cos(outward)).toFixed(1));
      letter.setAttribute("y", (away * Math.sin(outward)).toFixed(1));
      group.setAttribute("aria-valuenow", ends[end]);
      group.setAttribute("aria-valuetext", names[ends[end]]);
    }
    arcs();
    models.forEach(prefer);
    models.forEach(fall);
    const means = models.map((model) => `${model.name} ${number(mean(model))}`);
    const sizes = models.map(mean);
    const [least, most] = [Math.min(...sizes), Math.max(...sizes)].map((size) => models[sizes.indexOf(size)].name);
    const verdict = Math.max(...sizes) > 3 * Math.min(...sizes) ? `${most}’s is about ${Math.round(Math.max(...sizes) / Math.min(...sizes))} times ${least}’s.` : "They are within a factor of 3.";
    find(".said").innerHTML = `${names[ends.i]} gives ${names[ends.j]} a mean weight of <b>${means.join(", ")}</b>. ${verdict} The lines mark ${number(1 / n)}, the weight in a uniform row.`;
    for (const [name, pair] of [["differ", START], ["table", TABLE]])
      find(`[data-pair=${name}]`).setAttribute("aria-pressed", pair.i === ends.i && pair.j === ends.j);
  }

  /** The number of bonds between atoms, [n²]. */
  function distances() {
    const found = edge.map((type, pair) => (pair % (n + 1) === 0 ? 0 : type < 0 ? Infinity : 1));
    for (let k = 0; k < n; k++) {
      for (let pair = 0; pair < n * n; pair++) {
        const [a, b] = [Math.floor(pair / n), pair % n];
        found[pair] = Math.min(found[pair], found[a * n + k] + found[k * n + b]);
      }
    }
    return found;
  }

  /** In which model the mean weight falls most from a distance of one bond to one of two. */
  function ask() {
    const start = { ...ends };
    const away = distances();
    const meanAt = (model, distance) => {
      const weights = model.weight.flatMap((map) => [...map].filter((_, pair) => away[pair] === distance));
      return weights.reduce((a, b) => a + b, 0) / weights.length;
    };
    const means = models.map((model) => [1, 2].map((distance) => meanAt(model, distance)));
    const left = means.map(([bonded, farther]) => farther / bonded);
    gtcourse.guess(find(".question"), {
      question: `Over all heads and pairs of atoms, pairs two bonds apart have a smaller mean weight than bonded pairs. In which model does it fall most?`,
      answers: models.map(({ name }) => name),
      right: left.indexOf(Math.min(...left)),
      about: "distances",
      show: () => {
        Object.assign(ends, start);
        show();
      },
      truth: () => `The means for one and two bonds are ${models.map(({ name }, m) => `${number(means[m][0], 3)} and ${number(means[m][1], 3)} (${name})`).join(", ")}.
        From there on, none of them falls with every further bond. Move <i>j</i> away from <i>i</i>, bond by bond, and see which term changes.`,
    });
  }

  gtcourse.arrows(place, {
    of: ({ dataset }) => [ends[dataset.end], n],
    go: (next, { dataset }) => {
      ends[dataset.end] = next;
      show();
    },
  });
  gtcourse.drag.holds(place, "[data-end]");
  place.addEventListener("pointerdown", (event) => {
    const end = event.target.closest("[data-end]")?.dataset.end;
    if (!end) return;
    layer.querySelector(`[data-end="${end}"]`).focus({ preventScroll: true });
    gtcourse.drag(event, (now) => {
      const spot = new DOMPoint(now.clientX, now.clientY).matrixTransform(svg.getScreenCTM().inverse());
      const away = molecule.places.map((_, atom) => Math.hypot(at(atom)[0] - spot.x, at(atom)[1] - spot.y));
      ends[end] = away.indexOf(Math.min(...away));
      show();
    });
  });
  place.addEventListener("click", ({ target }) => {
    if (!target.dataset.pair) return;
    Object.assign(ends, target.dataset.pair === "table" ? TABLE : START);
    for (const model of models) model.isChosen = false;
    show();
  });
  place.addEventListener("input", ({ target }) => {
    const section = target.closest("[data-model]");
    const model = models[section.dataset.model];
    model.head = Number(target.value) - 1;
    model.isChosen = true;
    fall(model, Number(section.dataset.model));
  });
  new ResizeObserver(() => {
    if (Math.abs(find(".drawing").clientWidth - svg.viewBox.baseVal.width) < 2) return;
    build();
    show();
  }).observe(place);
  watch(tint);
  build();
  show();
  ask();
})
