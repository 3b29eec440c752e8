// A stack of blocks with random weights: what becomes of six tokens with and without residual
// connections and norms. `data` is what experiments/pictures.py writes; gtcourse.pictures.stack(setting)
// gives the weights and the tokens after each block; a setting is {seed, factor, alone} and a kind.
//
// Shapes: T tokens, d channels, h is [T, d].
(function (data) {
  "use strict";
  const { dots, gather, layerNorm, linear, number, plus, relu, softmax } = gtcourse.layers;
  const { blocks, tokens: T, width: d, heads: H } = data;
  const KINDS = { plain: "no residuals", residual: "residuals", post: "residuals, post-LN", pre: "residuals, pre-LN" };
  const COLORS = { plain: "#d1495b", residual: "#b8962e", post: "#e8792f", pre: "#3b82c4" };
  const FIRST = 3;  // the blocks that are shown before the reader guesses what the others do
  const EPS = 1e-5;  // of the norms, as PyTorch has it
  const NORM = [{ data: new Float64Array(d).fill(1) }, { data: new Float64Array(d) }, EPS];  // as it is before training

  /** Random numbers from 0 to 1, the same for the same seed (mulberry32). */
  function random(seed) {
    let state = seed;
    return () => {
      state = (state + 0x6D2B79F5) | 0;
      let x = Math.imul(state ^ (state >>> 15), 1 | state);
      x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
      return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
    };
  }

  /** Weights as PyTorch draws those of a linear map, times a factor, and tokens from a normal distribution. */
  function drawn(seed, factor) {
    const uniform = random(seed);
    const map = (out, width) => {
      const limit = factor / Math.sqrt(width);
      const values = (shape) => ({ shape, data: Float64Array.from({ length: shape.reduce((a, b) => a * b) }, () => limit * (2 * uniform() - 1)) });
      return { weight: values([out, width]), bias: values([out]) };
    };
    const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
    const x = Float64Array.from({ length: T * d }, normal);
    return { x, layers: Array.from({ length: blocks }, () => ({ query: map(d, d), key: map(d, d), value: map(d, d), output: map(d, d),
      inner: map(2 * d, d), outer: map(d, 2 * d) })) };
  }

  const apply = (h, { weight, bias }) => linear(h, weight, bias);

  /** `alone`: each token attends to itself alone. */
  function attention(h, layer, alone) {
    const logits = dots(apply(h, layer.query), apply(h, layer.key), T, H)
      .map((logit, pair) => (alone && pair % T !== Math.floor(pair / T) % T ? -Infinity : logit));
    return apply(gather(softmax(logits, T), apply(h, layer.value), T), layer.output);
  }

  const feedForward = (h, layer) => apply(relu(apply(h, layer.inner)), layer.outer);

  const STEP = {
    plain: (h, sublayer) => sublayer(h),
    residual: (h, sublayer) => plus(h, sublayer(h)),
    post: (h, sublayer) => layerNorm(plus(h, sublayer(h)), ...NORM),
    pre: (h, sublayer) => plus(h, sublayer(layerNorm(h, ...NORM))),
  };

  function run({ seed, factor, alone }, kind) {
    const weights = drawn(seed, factor);
    const after = [weights.x];
    for (const layer of weights.layers) {
      const mixed = STEP[kind](after.at(-1), (h) => attention(h, layer, alone));
      after.push(STEP[kind](mixed, (h) => feedForward(h, layer)));
    }
    return { weights, after };
  }

  /** The standard deviation between tokens, the mean over channels. */
  function spread(h) {
    let total = 0;
    for (let c = 0; c < d; c++) {
      const column = Array.from({ length: T }, (_, t) => h[t * d + c]);
      const mean = column.reduce((a, b) => a + b) / T;
      total += Math.sqrt(column.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (T - 1));
    }
    return total / d;
  }

  /** The root of the mean square of the tokens' lengths. */
  const size = (h) => Math.sqrt(h.reduce((sum, x) => sum + x * x, 0) / T);

  gtcourse.pictures = { ...gtcourse.pictures, stack: Object.assign(run, { spread, size }) };
  const place = document.getElementById("stack");
  if (!place) return;

  let kind = "plain";
  let at = FIRST;
  let runs = null;
  const setting = { seed: 1, factor: 1, alone: false };
  const [HEIGHT, LEFT] = [140, 46];  // pixels of a chart, and of the numbers at its left
  const MEASURES = {  // powers of ten: the ends of the axis, and those with a number
    spread: { title: "how much the tokens differ", of: spread, ends: [-17, 3], powers: [0, -4, -8, -12, -16] },
    size: { title: "length of a token", of: size, ends: [-0.6, 4.8], powers: [4, 3, 2, 1, 0] },
  };

  const every = Object.keys(KINDS);
  place.innerHTML = `<p><b>Stack ${blocks} blocks.</b> Six random tokens pass through four stacks of ${blocks} blocks with the same random weights.
      Each strip shows the tokens, as rows, after one more block, with a scale of its own.</p>
    <div class="question"></div>
    <div class="stacks"><span class="head"></span><div class="strips head" aria-hidden="true">${Array.from({ length: blocks + 1 }, (_, block) => `<span data-at="${block}">${block || "in"}</span>`).join("")}</div>
      <span class="head">differ by</span><span class="head">length</span>${every.map((each) => `<button type="button" data-kind="${each}"><i style="background:${COLORS[each]}"></i>${KINDS[each]}</button>
      <div class="strips" aria-hidden="true">${Array.from({ length: blocks + 1 }, (_, block) => `<span data-at="${block}"><canvas></canvas></span>`).join("")}</div>
      <span data-differ="${each}"></span><span data-length="${each}"></span>`).join("")}</div>
    <div class="ride"><span class="which"></span><input type="range" min="0" max="${blocks}" aria-label="block"></div>
    <p class="said" role="status"></p>
    <div class="charts">${Object.entries(MEASURES).map(([key, { title }]) => `<figure><b>${title}</b><svg data-measure="${key}" role="img"></svg></figure>`).join("")}</div>
    <div class="choices"><button type="button" data-set="alone">each token attends only to itself</button><button type="button" data-set="factor">weights twice as large</button>
      <button type="button" data-set="seed">new weights</button><button type="button" data-set="start">start again</button></div>`;
  const find = (selector) => place.querySelector(selector);
  const all = (selector) => [...place.querySelectorAll(selector)];

  function compute() {
    runs = Object.fromEntries(Object.keys(KINDS).map((each) => [each, run(setting, each).after]));
    draw();
  }

  function draw() {
    all("[data-kind]").forEach((button) => button.setAttribute("aria-pressed", button.dataset.kind === kind));
    find('[data-set="alone"]').setAttribute("aria-pressed", setting.alone);
    find('[data-set="factor"]').setAttribute("aria-pressed", setting.factor === 2);
    all("canvas").forEach((canvas, which) => {
      const h = runs[every[Math.floor(which / (blocks + 1))]][which % (blocks + 1)];
      const limit = Math.max(...h.map(Math.abs));
      [canvas.width, canvas.height] = [d, T];
      const context = canvas.getContext("2d");
      const image = context.createImageData(d, T);
      h.forEach((x, pixel) => image.data.set([...gtcourse.colors.shade("number", 0.5 + x / limit / 2), 255], 4 * pixel));
      context.putImageData(image, 0, 0);
    });
    drawCharts();
    move();
  }

  function drawCharts() {
    for (const [key, { title, of: measure, ends: [low, high], powers }] of Object.entries(MEASURES)) {
      const svg = find(`[data-measure=${key}]`);
      const width = svg.clientWidth || 330;
      const x = (block) => LEFT + (width - LEFT - 10) * block / blocks;
      const y = (value) => 6 + (HEIGHT - 30) * (high - Math.min(high, Math.max(low, Math.log10(value)))) / (high - low);
      svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT + 18}`);
      svg.setAttribute("aria-label", `${title} after each block, on a logarithmic axis`);
      svg.innerHTML = `${powers.map((power) => `<path class="axis" d="M${LEFT} ${y(10 ** power).toFixed(1)}H${width - 10}"/>
        <text x="${LEFT - 6}" y="${y(10 ** power).toFixed(1)}" text-anchor="end" dominant-baseline="central">${power ? `10<tspan dy="-5" font-size="11">${String(power).replace("-", "−")}</tspan>` : 1}</text>`).join("")}
        ${[0, 4, 8, 12].map((block) => `<text x="${x(block)}" y="${HEIGHT - 4}" text-anchor="middle">${block}</text>`).join("")}
        ${Object.entries(runs).sort(([a]) => Number(a === kind)).map(([each, after]) => `<polyline class="curve of-${each}${each === kind ? " chosen" : ""}" stroke="${COLORS[each]}"
          data-curve="${each}"/><circle class="now" r="${each === kind ? 5 : 3.5}" fill="${COLORS[each]}" data-dot="${each}"/>`).join("")}
        <text x="${(x(0) + x(blocks)) / 2}" y="${HEIGHT + 13}" text-anchor="middle">block</text>`;
      svg.spots = (each) => runs[each].map((h, block) => [x(block).toFixed(1), y(measure(h)).toFixed(1)]);
    }
  }

  const shown = (x) => (x >= 100 ? Math.round(x).toLocaleString("en") : x >= 0.01 ? number(x, 2) : x.toExponential(0).replace("e-", "\u00a0·\u00a010<sup>−").concat("</sup>"));

  function move() {
    find("input").value = at;
    find(".which").textContent = at ? `after block ${at}` : "the input";
    find("input").setAttribute("aria-valuetext", find(".which").textContent);
    all("[data-at]").forEach((strip) => {
      const block = Number(strip.dataset.at);
      strip.className = block === at ? "now" : block > at ? "later" : "";
    });
    for (const each of every) {
      find(`[data-differ=${each}]`).innerHTML = shown(spread(runs[each][at]));
      find(`[data-length=${each}]`).innerHTML = shown(size(runs[each][at]));
      all("[data-measure]").forEach((svg) => {
        const spots = svg.spots(each).slice(0, at + 1);
        const dot = svg.querySelector(`[data-dot=${each}]`);
        svg.querySelector(`[data-curve=${each}]`).setAttribute("points", spots.map(String).join(" "));
        dot.setAttribute("cx", spots.at(-1)[0]);
        dot.setAttribute("cy", spots.at(-1)[1]);
      });
    }
    const [first, h] = [runs[kind][0], runs[kind][at]];
    const [differ, length] = [spread(h), size(h)];
    const alike = differ < spread(first) / 100;
    const verdicts = [
      alike && "The tokens have become nearly the same vector.",
      alike && kind === "plain" && (setting.alone ? "Nothing is averaged here: the maps of each block shrink the differences, but more slowly." : "Let each token attend only to itself to see how much of this is due to averaging."),
      kind === "post" && "The norm after each addition gives every token a length of √16 = 4.",
      kind === "residual" && length > 10 * size(first) && "The tokens stay different, but nothing limits their length.",
      kind === "pre" && "Each sub-layer reads normalised tokens, but nothing normalises the residual stream, so it grows slowly.",
    ];
    const beside = { post: "pre", pre: "post" }[kind];
    const other = beside && ` With ${beside}-LN the length is ${shown(size(runs[beside][at]))}.`;
    find(".said").innerHTML = at ? `<b>${KINDS[kind]}</b>: after block ${at} the standard deviation between tokens is <b>${shown(differ)}</b>, and their length is
      <b>${shown(length)}</b>. ${verdicts.filter(Boolean).join(" ")}${other ?? ""}` :
      `At the input all four stacks have the same tokens, with a standard deviation of <b>${shown(differ)}</b> between them and a length of <b>${shown(length)}</b>. Move the slider to
      follow them through the blocks, and choose a stack to read about it.`;
  }

  function startAgain() {
    [kind, at] = ["plain", FIRST];
    Object.assign(setting, { seed: 1, factor: 1, alone: false });
  }

  /** In which of the stacks with residuals the tokens still differ at the end. */
  function ask() {
    const ends = (measure) => every.map((each) => `${shown(measure(runs[each].at(-1)))} (${KINDS[each]})`).join(", ");
    gtcourse.guess(find(".question"), {
      question: `Without residuals, the tokens are nearly the same after ${FIRST} blocks. In which other stacks do they still differ after block ${blocks}?`,
      answers: ["in none", "in the two with norms", "in all three"],
      right: 2,
      about: "the last block",
      show: () => {
        startAgain();
        at = blocks;
        compute();
      },
      truth: () => `They differ by ${ends(spread)}. Their lengths are ${ends(size)}: post-LN holds them at √16 = 4. Make the weights twice as large, and compare the lengths again.`,
    });
  }

  place.addEventListener("click", ({ target }) => {
    const { kind: chosen, set } = target.closest("button")?.dataset ?? {};
    const strip = target.closest("[data-at]");
    if (chosen) {
      kind = chosen;
      draw();
    } else if (set) {
      if (set === "start") startAgain();
      else if (set === "alone") setting.alone = !setting.alone;
      else if (set === "factor") setting.factor = 3 - setting.factor;
      else setting.seed += 1;
      compute();
    } else if (strip) {
      at = Number(strip.dataset.at);
      move();
    }
  });
  place.addEventListener("input", ({ target }) => {
    at = Number(target.value);
    move();
  });
  let drawnAt = place.clientWidth;
  new ResizeObserver(() => {
    if (Math.abs(place.clientWidth - drawnAt) < 2) return;
    drawnAt = place.clientWidth;
    draw();
  }).observe(place);
  gtcourse.colors.watch(draw);
  compute();
  ask();
})
