// The containment metro: a dot rides from a general layer to a special one; at each station the gap
// between their outputs has fallen to rounding. `data` is what book/_ext/pictures.py writes.
(function (data) {
  "use strict";
  const place = document.getElementById("metro");
  const { legs, atoms, atom, channels } = data;
  const COLORS = gtcourse.models;
  // What happens on a leg, and of what a rest is left.
  const WHAT = { channels: ["the channels of a head merge", "of their differences"], values: ["the value term fades", "of it"],
    contexts: ["the contexts fade", "of them"], gates: ["the gates open", "of what they hold back"],
    clip: ["the clip opens", "of what it cuts off"], bias: ["the bias fades", "of it"] };
  // Where each station stands: a share of the width, a height, and where its name begins.
  const STATIONS = { CSA: [0, 20, "middle", 0, 24], GRPE: [0, 80, "middle", 0, 24], EGT: [0, 140, "middle", 0, 24], "bias + value": [0.36, 50, "middle", 0, 36],
    "EGT-U": [0.36, 140, "middle", 0, 24], "bias attention": [0.68, 80, "start", -8, 34], Transformer: [1, 80, "middle", 0, -24] };
  // Lines side by side: how far below the station's middle each passes.
  const SHARED = { "bias attention": { CSA: -8, GRPE: 0, EGT: 8 }, Transformer: { CSA: -8, GRPE: 0, EGT: 8 }, "bias + value": { CSA: -4, GRPE: 4 } };
  const LINES = {
    CSA: [["CSA", "channels"], ["bias + value", "values"], ["bias attention", "bias"], ["Transformer"]],
    GRPE: [["GRPE", "contexts"], ["bias + value", "values"], ["bias attention", "bias"], ["Transformer"]],
    EGT: [["EGT", "gates"], ["EGT-U", "clip"], ["bias attention", "bias"], ["Transformer"]],
  };
  const LAST = legs.bias.gaps.length - 1;
  const FLOOR = 1e-16;  // drawn as 0
  const FULL = 4;  // times an even share has the full colour
  let line = "CSA";
  let at = 0;
  let drawnAt = 0;
  const steps = () => (LINES[line].length - 1) * LAST;

  place.innerHTML = `<p><b>The containment metro.</b> Choose a line and move the dot along it. Between two stations, one part of the layer is scaled
      down by a factor that falls from 1 to 0. At each station, the layer equals the one named there, up to rounding. The GRPE of this map
      has a bias for each pair besides its contexts, and its EGT clips the products of queries and keys at ±1.</p>
    <div class="question"></div>
    <div class="choices" role="group" aria-label="line">${Object.keys(LINES).map((name) => `<button type="button" data-line="${name}">from ${name}</button>`).join("")}</div>
    <svg class="map" aria-hidden="true"></svg>
    <div class="ride"><span class="which"></span><input type="range" min="0" step="1" aria-label="place on the line"></div>
    <p class="said" role="status"></p>
    <div class="two"><figure><b>gap to the next station</b><svg class="gap" role="img" aria-label="largest difference between the outputs, by the factor, on logarithmic axes"></svg></figure>
      <figure><b>weights of ${atom}</b><div class="grid"><span class="rows" aria-hidden="true"><span>channel 1</span><span>channel ${channels}</span></span>
        <canvas width="${atoms.length}" height="${channels}" role="img" aria-label="weights of ${atom}: a row for each channel, a column for each atom"></canvas>
        <div class="atoms" aria-hidden="true">${atoms.map((name) => `<span>${name}</span>`).join("")}</div></div>
      <figcaption>to each atom, after the gate if there is one: <span class="scale">0 <i></i> ${(FULL / atoms.length).toFixed(2)} or more</span></figcaption></figure></div>`;
  const find = (selector) => place.querySelector(selector);

  const leg = () => Math.min(Math.floor(at / LAST), LINES[line].length - 2);
  const within = () => at - leg() * LAST;

  const across = (share) => 26 + share * (find(".map").clientWidth - 26 - 48);
  const height = (name) => STATIONS[name][1];
  /** Where a line passes a station, beside the others. */
  const spot = (name, on = line) => [across(STATIONS[name][0]), height(name) + (SHARED[name]?.[on] ?? 0)];

  function map() {
    const width = find(".map").clientWidth;
    find(".map").setAttribute("viewBox", `0 0 ${width} 172`);
    const track = (name) => `<path class="line" stroke="${COLORS[name]}" opacity="${name === line ? 1 : 0.3}"
      d="M${LINES[name].map(([station]) => spot(station, name).map((x) => x.toFixed(1))).join("L")}"/>`;
    const tall = (name) => 7 + Math.max(0, ...Object.values(SHARED[name] ?? {}));
    find(".map").innerHTML = `${Object.keys(LINES).sort((one, two) => (one === line) - (two === line)).map(track).join("")}
      ${Object.entries(STATIONS).map(([name, [share, y, anchor, dx, dy]]) => `<rect class="station" x="${across(share) - 7}" y="${y - tall(name)}" width="14"
        height="${2 * tall(name)}" rx="7"/><text x="${across(share) + dx}" y="${y + dy}" text-anchor="${anchor}">${name}</text>`).join("")}
      <circle class="train" r="7" fill="${COLORS[line]}"/>`;
  }

  function show() {
    const [from, what] = LINES[line][leg()];
    const [to] = LINES[line][leg() + 1];
    const [k, { gaps, weights }] = [within(), legs[what]];
    const [[x, y], [u, v]] = [spot(from), spot(to)];
    map();
    find(".train").setAttribute("cx", x + (u - x) * k / LAST);
    find(".train").setAttribute("cy", y + (v - y) * k / LAST);
    const gap = gaps[k];
    const left = k === 0 ? "Nothing has been changed yet." : `${k === LAST ? "Nothing" : `A fraction of 10<sup>−${k / 2}</sup>`} is left ${WHAT[what][1]}.`;
    find(".which").innerHTML = k === 0 || k === LAST ? `factor ${Number(k === 0)}` : `factor 10<sup>−${k / 2}</sup>`;
    find(".said").innerHTML = `<b>${from} → ${to}</b>: ${WHAT[what][0]}. ${left} The gap to ${to} is <b>${
      gap === 0 ? "0" : written(gap)}</b>.`;
    const wide = find(".gap").clientWidth;
    find(".gap").setAttribute("viewBox", `0 0 ${wide} 176`);
    const high = (value) => 12 - 7.8 * Math.log10(Math.max(value, FLOOR));
    const along = (step) => 50 + (wide - 66) * step / LAST;
    const factors = [0, 8, 16, LAST].map((step) => `<text x="${along(step)}" y="154" text-anchor="middle">${
      step === 0 ? "1" : step === LAST ? "0" : `10<tspan dy="-4" font-size="11">−${step / 2}</tspan>`}</text>`).join("");
    const tick = (power) => (power === 0 ? "1" : power === -16 ? "0" : `10<tspan dy="-4" font-size="11">${String(power).replace("-", "−")}</tspan>`);
    find(".gap").innerHTML = `${[0, -4, -8, -12, -16].map((power) => `<path class="axis" d="M50 ${high(10 ** power)}H${wide - 4}"/><text x="44" y="${high(10 ** power) + 4}"
        text-anchor="end">${tick(power)}</text>`).join("")}${factors}<text x="${(along(0) + along(LAST)) / 2}" y="173" text-anchor="middle">factor</text>
      <polyline fill="none" stroke="${COLORS[line]}" stroke-width="2" points="${gaps.map((value, step) => `${along(step).toFixed(1)},${high(value).toFixed(1)}`).join(" ")}"/>
      <circle cx="${along(k)}" cy="${high(gap)}" r="5.5" fill="${COLORS[line]}"/>`;
    const context = find("canvas").getContext("2d");
    const image = context.createImageData(atoms.length, channels);
    weights[k].flat().forEach((value, cell) => image.data.set([232, 121, 47, 255 * Math.min(1, value / 100 * atoms.length / FULL)], 4 * cell));
    context.putImageData(image, 0, 0);
    place.querySelectorAll("[data-line]").forEach((button) => button.setAttribute("aria-pressed", button.dataset.line === line));
    const range = find("input");
    range.max = steps();
    range.value = at;
    range.setAttribute("aria-valuetext", find(".said").textContent);
    drawnAt = place.clientWidth;
  }

  const written = (gap) => (gap >= 0.01 ? gap.toFixed(2) : `${gap.toExponential(1).replace("e-", " · 10<sup>−")}</sup>`);

  /** What is left of the gap when the factor is a hundredth. */
  function ask() {
    const [from, what] = LINES.CSA[0];
    const [to] = LINES.CSA[1];
    const { gaps } = legs[what];
    const [hundredth, millionth] = [4, 12];  // of the steps, each by the square root of 10
    gtcourse.guess(find(".question"), {
      question: `On the way from ${from} to ${to} the factor falls from 1 to 0.01. How large is the gap between their outputs then?`,
      answers: ["about as large as before", "about a hundredth of it", "0, up to rounding"],
      right: 1,
      show: () => {
        [line, at] = ["CSA", hundredth];
        show();
      },
      truth: () => `It falls from ${written(gaps[0])} to ${written(gaps[hundredth])}, and with a factor of 10<sup>−6</sup> to ${written(gaps[millionth])}. Every factor above 0 leaves a gap on this line. At 0 the two layers
        agree up to rounding. Move the dot on, and try the other lines.`,
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
  show();
  ask();
})
