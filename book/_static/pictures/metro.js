// The containment metro: a dot rides from a general layer to a special one, while one term of the general
// layer is scaled down. Beside its weights and outputs are those of the layer where the ride ends, to which
// they become equal. `data` is what experiments/pictures.py writes.
(function (data) {
  "use strict";
  const place = document.getElementById("metro");
  const { legs, atoms, atom, channels } = data;
  const COLORS = gtcourse.models;
  // The equation of each leg, with the term that disappears and what that is.
  const fading = (term) => `<mark><i>f</i> · ${term}</mark>`;
  const WHAT = {
    channels: [`logit in channel <i>c</i> = <i>q · k</i> + <i>b</i><sub>head</sub> + ${fading("(<i>b<sub>c</sub></i> − <i>b</i><sub>head</sub>)")}`,
      "what a channel’s bias has beyond the mean of its head"],
    values: [`output = Σ<sub><i>j</i></sub> weight<sub><i>ij</i></sub> (<i>v<sub>j</sub></i> + ${fading("<i>r<sub>ij</sub></i>")})`, "the value of the pair, which is added to the value of the atom"],
    contexts: [`logit = <i>q · k</i> + <i>b</i> + ${fading("contexts")}`, "the contexts, which depend on the query and the key"],
    gates: [`weight = softmax · (1 − ${fading("(1 − <i>g</i>)")})`, "what the gate <i>g</i> holds back"],
    clip: [`logit = <i>q · k</i> − ${fading("(<i>q · k</i> beyond ±1)")} + <i>b</i>`, "what the clip cuts off"],
    bias: [`logit = <i>q · k</i> + ${fading("<i>b</i>")}`, "the bias of the pair"],
  };
  // Where each station stands: a share of the width, a height, and where its name begins.
  const STATIONS = { CSA: [0, 14, "middle", 0, 24], GRPE: [0, 66, "middle", 0, 24], EGT: [0, 118, "middle", 0, 24], "bias + value": [0.36, 40, "middle", 0, 32],
    "EGT-U": [0.36, 118, "middle", 0, 24], "bias attention": [0.68, 66, "start", -8, 34], Transformer: [1, 66, "middle", 0, -24] };
  // Lines side by side: how far below the station's middle each passes.
  const SHARED = { "bias attention": { CSA: -8, GRPE: 0, EGT: 8 }, Transformer: { CSA: -8, GRPE: 0, EGT: 8 }, "bias + value": { CSA: -4, GRPE: 4 } };
  const LINES = {
    CSA: [["CSA", "channels"], ["bias + value", "values"], ["bias attention", "bias"], ["Transformer"]],
    GRPE: [["GRPE", "contexts"], ["bias + value", "values"], ["bias attention", "bias"], ["Transformer"]],
    EGT: [["EGT", "gates"], ["EGT-U", "clip"], ["bias attention", "bias"], ["Transformer"]],
  };
  const LAST = legs.bias.gaps.length - 1;
  const { ofWeight, ofWeights, ramp, shade, watch } = gtcourse.colors;
  const LARGEST = 2;  // an output with the full colour
  let line = "CSA";
  let at = 0;
  let drawnAt = 0;
  const steps = () => (LINES[line].length - 1) * LAST;

  const panel = (side) => `<figure data-side="${side}"><b></b><div class="grid">
      <span class="rows" aria-hidden="true"><span>channel 1</span><span>channel ${channels}</span></span>
      <canvas class="weights" width="${atoms.length}" height="${channels}" role="img"></canvas><canvas class="outputs" width="1" height="${channels}" role="img"></canvas>
      <div class="atoms" aria-hidden="true">${atoms.map((name) => `<span>${name}</span>`).join("")}</div><span class="of-outputs" aria-hidden="true">output</span></div></figure>`;
  place.innerHTML = `<p><b>The containment metro.</b> Move the dot along a line. Between two stations, a factor <i>f</i> scales one term down from 1 to 0, and the layer becomes that of the next station.
      This map’s GRPE also has a bias for each pair, and its EGT clips <i>q · k</i> at ±1.</p>
    <div class="question"></div>
    <div class="choices" role="group" aria-label="line">${Object.keys(LINES).map((name) => `<button type="button" data-line="${name}">from ${name}</button>`).join("")}</div>
    <svg class="map" aria-hidden="true"></svg>
    <div class="ride"><span class="which"></span><input type="range" min="0" step="1" aria-label="place on the line"></div>
    <p class="equation"></p>
    <div class="sides">${panel("here")}${panel("there")}</div>
    <p class="key">The row of ${atom} in each channel: its weights, after the gate if there is one <span class="scale"></span>,
      and its output <span class="outputs-scale">−${LARGEST} <i></i> ${LARGEST}</span></p>
    <p class="said" role="status"></p>`;
  const find = (selector) => place.querySelector(selector);

  const leg = () => Math.min(Math.floor(at / LAST), LINES[line].length - 2);
  const within = () => at - leg() * LAST;

  const across = (share) => 26 + share * (find(".map").clientWidth - 26 - 48);
  const height = (name) => STATIONS[name][1];
  /** Where a line passes a station, beside the others. */
  const spot = (name, on = line) => [across(STATIONS[name][0]), height(name) + (SHARED[name]?.[on] ?? 0)];

  function map() {
    const width = find(".map").clientWidth;
    find(".map").setAttribute("viewBox", `0 0 ${width} 148`);
    const track = (name) => `<path class="line" stroke="${COLORS[name]}" opacity="${name === line ? 1 : 0.3}"
      d="M${LINES[name].map(([station]) => spot(station, name).map((x) => x.toFixed(1))).join("L")}"/>`;
    const tall = (name) => 7 + Math.max(0, ...Object.values(SHARED[name] ?? {}));
    find(".map").innerHTML = `${Object.keys(LINES).sort((one, two) => (one === line) - (two === line)).map(track).join("")}
      ${Object.entries(STATIONS).map(([name, [share, y, anchor, dx, dy]]) => `<rect class="station" x="${across(share) - 7}" y="${y - tall(name)}" width="14"
        height="${2 * tall(name)}" rx="7"/><text x="${across(share) + dx}" y="${y + dy}" text-anchor="${anchor}">${name}</text>`).join("")}
      <circle class="train" r="7" fill="${COLORS[line]}"/>`;
  }

  /** Colours of numbers, one for each cell of a canvas. */
  function paint(canvas, colors) {
    const context = canvas.getContext("2d");
    const image = context.createImageData(canvas.width, canvas.height);
    colors.forEach((color, cell) => image.data.set(color, 4 * cell));
    context.putImageData(image, 0, 0);
  }

  /** The weights and outputs at one step of a leg, beside a name. */
  function side(which, name, { weights, outputs }, k) {
    const part = find(`[data-side=${which}]`);
    part.querySelector("b").innerHTML = name;
    const [grid, column] = part.querySelectorAll("canvas");
    grid.setAttribute("aria-label", `weights of ${atom}: a row for each channel, a column for each atom`);
    column.setAttribute("aria-label", `output of ${atom} in each channel`);
    paint(grid, weights[k].flat().map((value) => [...ofWeight(value / 100), 255]));
    paint(column, outputs[k].map((value) => [...shade("number", 0.5 + value / 100 / LARGEST / 2), 255]));
  }

  function show() {
    find(".scale").innerHTML = ofWeights();
    find(".outputs-scale i").style.background = ramp("number");
    const [from, what] = LINES[line][leg()];
    const [to] = LINES[line][leg() + 1];
    const [k, found] = [within(), legs[what]];
    const [[x, y], [u, v]] = [spot(from), spot(to)];
    const [equation, term] = WHAT[what];
    const factor = ((LAST - k) / LAST).toFixed(1).replace(/\.0$/, "");
    map();
    find(".train").setAttribute("cx", x + (u - x) * k / LAST);
    find(".train").setAttribute("cy", y + (v - y) * k / LAST);
    find(".which").innerHTML = `<i>f</i> = ${factor}`;
    find(".equation").innerHTML = equation;
    find(".equation mark").style.opacity = 0.35 + 0.65 * (LAST - k) / LAST;
    find(".equation").classList.toggle("gone", k === LAST);
    side("here", k === LAST ? `${from}, without the marked term` : from, found, k);
    side("there", to, found, LAST);
    find(".said").innerHTML = `<b>${from} → ${to}</b>: the marked term is ${term}. ${differing(found, k, to)}`;
    place.querySelectorAll("[data-line]").forEach((button) => button.setAttribute("aria-pressed", button.dataset.line === line));
    const range = find("input");
    range.max = steps();
    range.value = at;
    range.setAttribute("aria-valuetext", `factor ${factor}. ${find(".said").textContent}`);
    drawnAt = place.clientWidth;
  }

  /** What differs from the layer of the next station. */
  function differing({ weights, outputs }, k, to) {
    if (k === LAST) return `Nothing of it is left, and the layer is ${to}: no output of any atom differs.`;
    const apart = (values) => Math.max(...values[k].flat().map((value, cell) => Math.abs(value - values[LAST].flat()[cell])));
    const most = apart(weights);
    return `${most ? `${atom}’s weights differ from those of ${to} by up to <b>${(most / 100).toFixed(2)}</b>` : `${atom}’s weights are those of ${to}`}, ${most ? "and" : "but"} its
      outputs ${most ? "" : "differ "}by up to <b>${(apart(outputs) / 100).toFixed(2)}</b>.`;
  }

  /** Whether the value of the pair has a part in the weights. */
  function ask() {
    const values = LINES.CSA.findIndex(([, what]) => what === "values");
    const [[from], [to]] = [LINES.CSA[values], LINES.CSA[values + 1]];
    gtcourse.guess(find(".question"), {
      question: `On the way from ${from} to ${to}, the value of the pair disappears. What changes?`,
      answers: ["the weights and the outputs", "only the weights", "only the outputs"],
      right: 2,
      about: "the value of the pair",
      show: () => {
        [line, at] = ["CSA", values * LAST + LAST / 2];
        show();
      },
      truth: () => `The value of the pair is added behind the softmax, so no weight can change: at <i>f</i> = 0.5 both grids are the same, and only the columns of outputs differ. That is why
        no bias can replace it. Which of the other terms change the weights?`,
    });
  }

  find("input").addEventListener("input", ({ target }) => {
    at = Number(target.value);
    show();
  });
  place.addEventListener("click", ({ target }) => {
    if (!target.dataset.line) return;
    line = target.dataset.line;
    at = 0;
    show();
  });
  new ResizeObserver(() => { if (place.clientWidth !== drawnAt) show(); }).observe(place);
  watch(show);
  show();
  ask();
})
