// The containment metro: a train rides from a general layer to a special one; at each station the gap
// between their outputs has fallen to rounding. `data` is what book/_ext/pictures.py writes.
(function (data) {
  "use strict";
  const place = document.getElementById("metro");
  const { legs, atoms, atom, channels } = data;
  const COLORS = { CSA: "#3b82c4", GRPE: "#199e77", EGT: "#d97706" };
  const WHAT = { channels: "the channels of a head merge", values: "the value term fades", gates: "the gates open", bias: "the bias fades" };
  const STATIONS = { CSA: [30, 24], GRPE: [30, 92], EGT: [30, 160], "bias + value": [200, 58], Graphormer: [340, 92], Transformer: [480, 92] };
  const LINES = {
    CSA: [["CSA", "channels"], ["bias + value", "values"], ["Graphormer", "bias"], ["Transformer"]],
    GRPE: [["GRPE", "values"], ["Graphormer", "bias"], ["Transformer"]],
    EGT: [["EGT", "gates"], ["Graphormer", "bias"], ["Transformer"]],
  };
  const LAST = legs.bias.gaps.length - 1;
  const FLOOR = 1e-17;
  let [line, at] = ["CSA", 0];
  const steps = () => (LINES[line].length - 1) * LAST;

  const path = (name) => LINES[name].slice(1).map(([to], k) => {
    const [[x, y], [u, v]] = [STATIONS[LINES[name][k][0]], STATIONS[to]];
    return `M${x} ${y}L${u} ${v}`;
  }).join("");

  place.innerHTML = `<p><b>The containment metro.</b> Choose a line and drag the train. On the way one part of the layer is faded, by a factor
      from 1 to 10<sup>−12</sup> and last 0. At each station the layer is the one that the station names, up to rounding.</p>
    <div class="choices" role="group" aria-label="line">${Object.keys(LINES).map((name) => `<button type="button" data-line="${name}">from ${name}</button>`).join("")}</div>
    <svg viewBox="-15 0 580 190" aria-hidden="true">${Object.keys(LINES).map((name) =>
      `<path class="line" d="${path(name)}" stroke="${COLORS[name]}" data-path="${name}"/>`).join("")}
      ${Object.entries(STATIONS).map(([name, [x, y]]) => `<circle cx="${x}" cy="${y}" r="6" class="station"/><text x="${x}" y="${y + 22}" text-anchor="middle">${name}</text>`).join("")}
      <rect class="train" width="26" height="14" rx="4"/></svg>
    <label class="ride">train <input type="range" min="0" step="1"></label>
    <p class="said" role="status"></p>
    <div class="two"><figure><svg class="gap" viewBox="0 0 300 150" role="img" aria-label="gap between the outputs on a logarithmic axis"></svg>
      <figcaption>largest difference from the next station’s output</figcaption></figure>
      <figure><canvas width="${atoms.length}" height="${channels}" role="img" aria-label="weights of ${atom}"></canvas>
      <figcaption>weights of ${atom} after the gate: a row for each channel, a column for each atom</figcaption></figure></div>`;
  const find = (selector) => place.querySelector(selector);

  const leg = () => Math.min(Math.floor(at / LAST), LINES[line].length - 2);
  const within = () => at - leg() * LAST;

  function show() {
    const [from, what] = LINES[line][leg()];
    const [to] = LINES[line][leg() + 1];
    const [k, { gaps, weights }] = [within(), legs[what]];
    const [[x, y], [u, v]] = [STATIONS[from], STATIONS[to]];
    const train = find(".train");
    train.setAttribute("x", x + (u - x) * k / LAST - 13);
    train.setAttribute("y", y + (v - y) * k / LAST - 7);
    train.setAttribute("fill", COLORS[line]);
    const gap = gaps[k];
    const factor = k === LAST ? "0" : k === 0 ? "1" : `10<sup>−${k / 2}</sup>`;
    find(".said").innerHTML = `${from} → ${to}: ${WHAT[what]}, by a factor of ${factor}. The gap to ${to} is <b>${
      gap === 0 ? "0" : gap >= 0.01 ? gap.toFixed(2) : `${gap.toExponential(1).replace("e-", " · 10<sup>−")}</sup>`}</b>.`;
    const height = (value) => 8 - 7.6 * Math.log10(Math.max(value, FLOOR));
    const across = (step) => 36 + 250 * step / LAST;
    find(".gap").innerHTML = `${[0, -4, -8, -12, -16].map((power) => `<path class="axis" d="M36 ${height(10 ** power)}H290"/><text x="32" y="${height(10 ** power) + 4}"
        text-anchor="end">${power === 0 ? "1" : `10<tspan dy="-4" font-size="8">${String(power).replace("-", "−")}</tspan>`}</text>`).join("")}
      <polyline fill="none" stroke="${COLORS[line]}" stroke-width="2" points="${gaps.map((value, step) => `${across(step)},${height(value)}`).join(" ")}"/>
      <circle cx="${across(k)}" cy="${height(gap)}" r="5" fill="${COLORS[line]}"/>`;
    const context = find("canvas").getContext("2d");
    const image = context.createImageData(atoms.length, channels);
    weights[k].flat().forEach((value, cell) => image.data.set([232, 121, 47, 255 * Math.min(1, value / 100 * atoms.length / 4)], 4 * cell));
    context.putImageData(image, 0, 0);
    place.querySelectorAll("[data-line]").forEach((button) => button.setAttribute("aria-pressed", button.dataset.line === line));
    place.querySelectorAll("[data-path]").forEach((track) => track.setAttribute("opacity", track.dataset.path === line ? 1 : 0.3));
    const range = find("input");
    range.max = steps();
    range.value = at;
    range.setAttribute("aria-valuetext", find(".said").textContent);
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
  show();
})
