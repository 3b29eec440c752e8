// Move a score: the query's entry for each of four colours, the softmax, and the weighted mean. `data`
// is what experiments/pictures.py writes; gtcourse.pictures.score(scores, values) is the attention.
(function (data) {
  "use strict";
  const { number, softmax } = gtcourse.layers;
  const { tokens, reach, axis } = data;
  const d_k = tokens.length;  // the keys are the colours, 1 for a token's own and 0 for the others
  const COLORS = { red: "#d1495b", green: "#199e77", blue: "#4fa8d8", gold: "#b8962e" };
  const [LARGEST, BAR] = [34, 16];  // pixels: the radius of a disc of weight 1, the height of the sum's bar

  /** Weights and weighted mean of one query's scores. */
  function attend(scores, values) {
    const weights = softmax(Float64Array.from(scores, (score) => score / Math.sqrt(d_k)), d_k);
    return { weights, z: weights.reduce((sum, weight, j) => sum + weight * values[j], 0) };
  }

  gtcourse.pictures = { ...gtcourse.pictures, score: attend };
  const place = document.getElementById("score");
  if (!place) return;

  const own = tokens.map(({ value }) => value);
  const swapped = [own[1], own[0], ...own.slice(2)];
  let scores = [...data.start];
  let values = own;
  let drawnAt = 0;
  const names = tokens.map(({ color }) => color);
  const asking = names.slice(0, 2).map((_, wanted) => names.map((_, j) => (j === wanted ? data.start[0] : 0)));

  /** What a token gets whose score is the first, beside others with a score of 0, if there are so many colours. */
  const weightOf = (colors) => softmax(Float64Array.from({ length: colors }, (_, j) => (j ? 0 : data.start[0] / Math.sqrt(colors))), colors)[0];

  place.innerHTML = `<p><b>Move a score, or swap two numbers.</b> Each token has a colour, its key, and a number, its value. The query has an entry for each colour: the token’s
      score <i>q · k</i>. A softmax of the scores, divided by √d<sub>k</sub> = 2, gives the weights of the numbers. The text above
      has two tokens. Here there are four, so a score of ${data.start[0]} gives ${names[0]} a weight of ${number(weightOf(4), 3)} and not of ${number(weightOf(2), 4)}.</p>
    <div class="question"></div><div class="work">
    <div class="choices">${asking.map((_, at) => `<button type="button" data-ask="${at}">ask for ${names[at]}</button>`).join("")}
      <button type="button" data-ask="none">ask for nothing</button><button type="button" data-swap aria-pressed="false">swap the numbers of ${names[0]} and ${names[1]}</button></div>
    <div class="rows"><span></span><span>score</span><span></span><span>weight</span><span></span>${names.map((name, j) => `
      <svg viewBox="-17 -17 34 34" aria-hidden="true"><circle r="16" fill="${COLORS[name]}"/><text class="name" text-anchor="middle" dominant-baseline="central"></text></svg>
      <input type="range" min="${-reach}" max="${reach}" step="0.5" aria-label="score of the ${name} token" data-score="${j}"><output></output>
      <span class="amount"><i style="background:${COLORS[name]}"></i></span><span class="weight"></span>`).join("")}</div>
    <svg class="beam" role="img"></svg><p class="said" role="status"></p></div>`;
  const find = (selector) => place.querySelector(selector);
  const all = (selector) => [...place.querySelectorAll(selector)];

  function draw() {
    const { weights, z } = attend(scores, values);
    all(".rows .name").forEach((text, j) => { text.textContent = values[j]; });
    all("[data-score]").forEach((slider, j) => { slider.value = scores[j]; });
    all(".rows output").forEach((output, j) => { output.textContent = number(scores[j], 1); });
    all(".rows i").forEach((bar, j) => { bar.style.width = `${100 * weights[j]}%`; });
    all(".rows .weight").forEach((text, j) => { text.textContent = number(weights[j], 3); });
    all("[data-ask]").forEach((button) => button.setAttribute("aria-pressed",
      String(asking[button.dataset.ask] ?? names.map(() => 0)) === String(scores)));
    find("[data-swap]").setAttribute("aria-pressed", values === swapped);
    drawBeam(weights, z);
    const sum = Array.from(weights, (weight, j) => `${number(weight, 3)} · ${values[j]}`).join(" + ");
    const equal = scores.every((score) => score === scores[0]);
    const before = attend(scores, own).z;
    find(".said").innerHTML = `z = ${sum} = <b>${number(z, 2)}</b>. ${equal ? "All scores are equal, so this is the plain mean. " : ""}${
      values === own ? "" : `Before the swap it was <b>${number(before, 2)}</b>.`}`;
  }

  /** Above the axis a disc for each value, its area the weight; below it the sum, part by part. */
  function drawBeam(weights, z) {
    const width = place.querySelector(".beam").clientWidth || 600;
    drawnAt = width;
    const x = (value) => LARGEST + (width - 2 * LARGEST) * value / axis;
    const [line, bar] = [2 * LARGEST + 22, 2 * LARGEST + 48];
    let end = 0;
    const parts = Array.from(weights, (weight, j) => {
      const begin = end;
      end += weight * values[j];
      return `<rect x="${x(begin).toFixed(1)}" width="${Math.max(0, x(end) - x(begin)).toFixed(1)}" y="${bar}" height="${BAR}" fill="${COLORS[names[j]]}"/>`;
    });
    const discs = Array.from(weights, (weight, j) => {
      const radius = LARGEST * Math.sqrt(weight);
      return `<circle cx="${x(values[j]).toFixed(1)}" cy="${line - 4 - radius}" r="${radius.toFixed(1)}" fill="${COLORS[names[j]]}"/>
        <text x="${x(values[j]).toFixed(1)}" y="${line - 10 - 2 * radius}" text-anchor="middle">${names[j]}</text>`;
    });
    const svg = find(".beam");
    svg.setAttribute("viewBox", `0 0 ${width} ${bar + BAR + 26}`);
    svg.setAttribute("aria-label", `an axis of the values; the weighted mean is at ${number(z, 2)}`);
    svg.innerHTML = `<path class="axis" d="M${x(0)} ${line}H${x(axis)}"/>${Array.from({ length: axis + 1 }, (_, value) =>
      `<path class="axis" d="M${x(value)} ${line}v5"/><text x="${x(value)}" y="${line + 19}" text-anchor="middle">${value}</text>`).join("")}
      ${discs.join("")}${parts.join("")}<path d="M${x(z)} ${line}V${bar + BAR + 4}" stroke="currentColor" stroke-width="2"/>
      <path d="M${x(z)} ${line}l-7 -9h14z" fill="currentColor"/><text class="z" x="${x(z)}" y="${bar + BAR + 19}" text-anchor="middle">z = ${number(z, 2)}</text>`;
  }

  /** What a swap of two numbers changes: with a query that asks for one of them, and with none. */
  function ask() {
    const [wanted, nothing] = [asking[0], names.map(() => 0)];
    const z = (query, numbers) => number(attend(query, numbers).z, 2);
    gtcourse.guess(find(".question"), {
      question: `Suppose that we swap the numbers of ${names[0]} and ${names[1]}. When does z change?`,
      answers: [`only if the query asks for ${names[0]}`, "only if it asks for nothing", "in both cases", "in neither"],
      right: 0,
      about: "swapped numbers",
      show: () => {
        [scores, values] = [[...wanted], swapped];
        draw();
      },
      truth: () => `If the query asks for ${names[0]}, z goes from ${z(wanted, own)} to ${z(wanted, swapped)}, because the large weight stays with ${names[0]} and its number does not.
        If it asks for nothing, all weights are equal, and the mean of the same numbers is ${z(nothing, own)} before and after.`,
    });
  }

  place.addEventListener("input", ({ target }) => {
    scores[target.dataset.score] = Number(target.value);
    draw();
  });
  place.addEventListener("click", ({ target }) => {
    const { ask, swap } = target.dataset;
    if (ask !== undefined) scores = [...(asking[ask] ?? names.map(() => 0))];
    else if (swap !== undefined) values = values === own ? swapped : own;
    else return;
    draw();
  });
  new ResizeObserver(() => { if (Math.abs(find(".beam").clientWidth - drawnAt) > 1) draw(); }).observe(place);
  draw();
  ask();
})
