// One query among keys in the plane. `data` is what gtcourse.course.plots.attention_widget writes: key,
// ink, mark, other, names [N], keys and values [N, 2], query [2] and reach, the largest coordinate.
(function (data) {
  "use strict";
  const { dots, softmax, gather, number } = gtcourse.layers;
  const { text, mount } = gtcourse.widget;
  const N = data.keys.length;
  const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  const SCALE = 150 / data.reach;
  const place = ([x, y]) => [x * SCALE, -y * SCALE].map((at) => at.toFixed(1));
  const pair = (point) => `(${point[0].toFixed(2)}, ${point[1].toFixed(2)})`.replaceAll("-", "−");

  const CSS = `
    .views { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; align-items: center; }
    svg { flex: 1 1 15rem; max-width: 23rem; min-width: 0; }
    .side { flex: 1 1 16rem; min-width: 0; }
    .handle { cursor: grab; touch-action: none; outline: none; }
    .handle:focus-visible .ring { stroke: ${data.mark}; stroke-width: 3; }
    .axis { stroke: var(--line); }
    .result { min-height: 1lh; margin: .5rem 0 0; }
    .disc { fill: ${data.mark}; opacity: .45; }
    .value { fill: none; stroke: currentColor; }
    .query { fill: ${data.other}; stroke: ${data.other}; }
    .ring { fill: color-mix(in srgb, ${data.other} 25%, transparent); stroke: ${data.other}; }
    .ways { fill: none; stroke: ${data.other}; stroke-width: 2; }
    .handle:is(:hover, :focus-visible) .ring { fill: color-mix(in srgb, ${data.other} 50%, transparent); }
    .output { stroke: currentColor; stroke-width: 3; }
    .rows { display: grid; grid-template-columns: auto auto 1fr auto; gap: .15rem .7rem;
      align-items: center; font-size: .9em; margin-top: .5rem; }
    .bar { height: .7rem; background: ${data.mark}; border-radius: 0 .2rem .2rem 0; }
    label { font-size: .9em; }`;
  const LEAD = `<b>Drag the query.</b> Move <i>q</i> with the pointer or the arrow keys, and change the divisor of the logits.`;
  const HTML = `<div class="views">
    <svg viewBox="-165 -165 330 330" role="group" aria-label="keys, query and output in the plane">
      <path class="axis" d="M-150 0H150M0 -150V150"/><g class="scene"></g>
      <g class="handle" tabindex="0" role="slider" aria-label="query: arrow keys move it">
        <circle r="22" fill="transparent"/><circle class="ring" r="13"/>
        <path class="ways" d="M-4 -17l4 -4l4 4M-4 17l4 4l4 -4M-17 -4l-4 4l4 4M17 -4l4 4l-4 4"/>
        <circle class="query" r="6"/><text x="17" y="-15">q</text></g></svg>
    <div class="side"><label>divisor: <span class="divisor"></span>
      <input type="range" min="-4" max="4" step="0.25" value="0"></label>
    <div class="rows"></div><p class="result" role="status"></p></div></div>`;

  mount("attention", data, CSS, LEAD, HTML, (find) => {
    const handle = find(".handle");
    const WIDER = 2;  // the divisor of the guess is 2 to this power times √d_k

    /** The largest weight of the first query, with the divisor 2 to this power times √d_k. */
    const largest = (power) => Math.max(...softmax(dots(data.query, data.keys.flat(), 1, 1, N).map((logit) => logit / 2 ** power), N));

    function ask() {
      gtcourse.guess(find(".question"), {
        question: `What happens to the weights if the logits are divided by a number that is ${2 ** WIDER} times as large?`,
        answers: ["they become more equal", "the largest one grows", "they stay the same"],
        right: 0,
        about: "the divisor",
        show: () => {
          query = data.query;
          slider.value = WIDER;
          draw();
        },
        truth: () => `The largest weight falls from ${number(largest(0), 2)} to ${number(largest(WIDER), 2)}. If the divisor grows further, all logits approach 0, and all weights approach ${number(1 / N, 2)}.`,
      });
    }

    const slider = find("input");
    let query = data.query;

    function draw() {
      const stretch = 2 ** slider.value;
      const logits = dots(query, data.keys.flat(), 1, 1, N).map((logit) => logit / stretch);
      const weights = softmax(logits, N);
      const z = gather(weights, data.values.flat(), N, null, 1);
      drawPlane(weights, z);
      const cells = data.names.flatMap((name, j) => [text(name), number(logits[j], 2),
        `<div class="bar" style="width:${100 * weights[j]}%"></div>`, number(weights[j], 2)]);
      find(".rows").innerHTML = ["", "logit", "", "weight", ...cells].map((cell) =>
        `<div class="number">${cell}</div>`).join("");
      const divisor = `${number(stretch * Math.SQRT2, 2)} = ${number(stretch, 2)} × √d`;
      find(".divisor").innerHTML = `${divisor}<sub>k</sub>`;
      slider.setAttribute("aria-valuetext", divisor);
      handle.setAttribute("aria-valuenow", query[0].toFixed(2));
      handle.setAttribute("aria-valuetext", pair(query));
      find(".result").textContent = `The query ${pair(query)} gives z = ${pair(z)}.`;
    }

    function drawPlane(weights, z) {
      const [x, y] = place(z);
      find(".scene").innerHTML = data.keys.map((key, j) => {
        const [at, up] = place(key);
        const radius = 36 * Math.sqrt(weights[j]);
        const value = place(data.values[j]);
        const square = `<path class="value" d="M${value}m-5 -5h10v10h-10z"/>`;
        return `<circle class="disc" cx="${at}" cy="${up}" r="${radius.toFixed(1)}"/>
          <circle cx="${at}" cy="${up}" r="3" fill="currentColor"/>
          ${String(data.values[j]) === String(key) ? "" : square}
          <text x="${at}" y="${up - radius - 6}" text-anchor="middle">${
            text(data.names[j])}</text>`;
      }).join("") + `<path class="query" d="M0 0L${place(query)}"/>
        <path class="output" d="M${x} ${y}m-7 -7l14 14m0 -14l-14 14"/>
        <text x="${x}" y="${Number(y) + 22}" text-anchor="middle">z</text>`;
      handle.setAttribute("transform", `translate(${place(query)})`);
    }

    function move(point) {
      query = point.map((at) => Math.max(-data.reach, Math.min(data.reach, at)));
      draw();
    }

    handle.addEventListener("pointerdown", (event) => handle.setPointerCapture(event.pointerId));
    handle.addEventListener("pointermove", (event) => {
      if (!handle.hasPointerCapture(event.pointerId)) return;
      const toPlane = find("svg").getScreenCTM().inverse();
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(toPlane);
      move([at.x / SCALE, -at.y / SCALE]);
    });
    handle.addEventListener("keydown", (event) => {
      const step = STEPS[event.key];
      if (!step) return;
      event.preventDefault();
      move(query.map((at, axis) => at + step[axis] * data.reach / 20));
    });
    slider.addEventListener("input", draw);
    draw();
    ask();
  });
})
