// How the explainer looks and what it says of each model.
gtcourse.look = (function () {
  "use strict";

  const COLORS = { node: "#3b82c4", edge: "#d97706", bias: "#c2559b", gate: "#b8962e", value: "#199e77" };
  const ONE_SIDED = ["#bfb9ad", "#cfb184", "#dfa95c", "#e49145", "#e8792f"];
  const TWO_SIDED = ["#3f8fd0", "#7fa4be", "#bfb9ad", "#d4996d", "#e8792f"];

  /** Colours are of the weight over that of a uniform row, the same everywhere: full from 4 times on. */
  const FULL = 4;

  const rgb = (color) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  const [ONE, TWO] = [ONE_SIDED, TWO_SIDED].map((stops) => stops.map(rgb));

  /** The colour of a number from 0 to 1 between stops, [r, g, b]. */
  function shade(stops, share) {
    const place = Math.max(0, Math.min(share, 1)) * (stops.length - 1);
    const below = Math.min(Math.floor(place), stops.length - 2);
    return stops[below].map((x, c) => Math.round(x + (place - below) * (stops[below + 1][c] - x)));
  }

  /** The weight from which a colour is full: FULL times an even share, and no more than 1. */
  const fullWeight = (tokens) => Math.min(1, FULL / tokens);
  const ofWeight = (weight, tokens) => shade(ONE, weight / fullWeight(tokens));
  const ofNumber = (value, limit) => shade(TWO, 0.5 + value / limit / 2);
  const css = (parts) => `rgb(${parts.join(",")})`;

  /** Numbers as pixels in rows of S, each with its colour. */
  function pixels(canvas, values, S, color) {
    [canvas.width, canvas.height] = [S, values.length / S];
    const context = canvas.getContext("2d");
    const image = context.createImageData(canvas.width, canvas.height);
    values.forEach((value, at) => image.data.set([...color(value), 255], 4 * at));
    context.putImageData(image, 0, 0);
  }

  const ramp = (stops) => `<span class="ramp" style="background:linear-gradient(to right,${stops.join(",")})"></span>`;

  // A term has its colour, its formula and what it is. `into` is what the pairs do to a layer.
  const DOT = { kind: "node", text: "q<sub>i</sub> · k<sub>j</sub> / √K", name: "content" };
  const ABOUT = {
    graphormer: {
      title: "Graphormer", weights: "head", chapter: "06_graphormer", tokens: "[VNode] + atoms, with degrees",
      pairs: ["bias", "Pair bias b + c", "one number per pair and head, the same in every layer"], into: "▲ logits",
      terms: { dot: DOT, b: { kind: "bias", text: "b<sub>φ(i,j)</sub>", name: "distance" },
        c: { kind: "edge", text: "c<sub>ij</sub>", name: "bonds on the way" } },
      value: "v<sub>j</sub>", source: "Graphormer, Eqs. 6 and 7", end: "[VNode] → linear", reads: "vnode",
    },
    egt: {
      title: "EGT", weights: "head", chapter: "07_egt", tokens: "atoms, with singular vectors",
      pairs: ["edge", "Pair vectors e", "one vector per pair, which every layer reads and updates"], into: "▲ bias, gate ▼",
      terms: { dot: { ...DOT, text: `clip(${DOT.text})` }, E: { kind: "edge", text: "E<sub>ij</sub>", name: "pair" } },
      value: "v<sub>j</sub>", source: "EGT, Eqs. 4 and 5", end: "mean → MLP", reads: "mean",
    },
    grpe: {
      title: "GRPE", weights: "head", chapter: "08_grpe", tokens: "[VNode] + atoms",
      pairs: ["bias", "Relations r(i, j)", "one kind per pair, whose vectors meet every layer’s q, k and v"], into: "▲ q, k, v",
      terms: { dot: DOT, query: { kind: "bias", text: "q<sub>i</sub> · R<sup>key</sup><sub>r</sub> / √K", name: "query context" },
        key: { kind: "edge", text: "k<sub>j</sub> · R<sup>query</sup><sub>r</sub> / √K", name: "key context" } },
      value: "v<sub>j</sub> + R<sup>value</sup><sub>r</sub>", source: "GRPE, Eqs. 6 to 8", end: "[VNode] → linear", reads: "vnode",
    },
    csa: {
      title: "CSA", weights: "channel", chapter: "09_csa", tokens: "atoms, with random walks",
      pairs: ["edge", "Pair features E", "one number per pair and channel, the same in every layer"], into: "▲ logits, v",
      terms: { dot: DOT, E: { kind: "edge", text: "E<sub>ij,c</sub>", name: "pair, this channel" } },
      value: "v<sub>j,c</sub> + E<sup>value</sup><sub>ij,c</sub>", source: "CSA, Eqs. 5 to 7", end: "MLP → sum", reads: "sum",
    },
  };

  const CSS = `
    :host { display: block; color: inherit; font: inherit; line-height: 1.4; --line: color-mix(in srgb, currentColor 25%, transparent);
            --soft: color-mix(in srgb, currentColor 7%, transparent); --ink: var(--pst-color-text-base, CanvasText); --page: var(--pst-color-background, Canvas); }
    * { box-sizing: border-box; }
    [hidden] { display: none !important; }
    .page { container-type: inline-size; font-size: .92rem; }
    button, select, input { font: inherit; color: inherit; }
    button, select { background: none; border: 1px solid var(--line); border-radius: .4rem; padding: .2rem .55rem; cursor: pointer; max-width: 100%; }
    option { color: CanvasText; background: Canvas; }
    button:hover { background: var(--soft); }
    button:disabled { opacity: .6; cursor: default; }
    button[aria-pressed="true"] { background: #2a69a8; border-color: #2a69a8; color: #fff; }
    :focus-visible { outline: 2px solid ${COLORS.node}; outline-offset: 2px; }
    h2 { font-size: .92rem; font-weight: 600; margin: .55rem 0 .25rem; }
    h2 small { font-weight: 400; }
    small, .quiet { font-size: .8rem; }
    .quiet { opacity: .85; }
    .bar { display: flex; flex-wrap: wrap; gap: .4rem .6rem; align-items: center; margin-bottom: .5rem; font-size: .88rem; }
    .models { display: flex; flex-wrap: wrap; gap: .3rem; }
    .picker { position: relative; }
    .picker > summary { border: 1px solid var(--line); border-radius: .4rem; padding: .2rem .55rem; cursor: pointer; }
    .strip { position: absolute; z-index: 5; top: 100%; left: 0; width: min(44rem, 85cqw); max-height: 22rem; overflow: auto; display: grid; gap: .3rem;
      grid-template-columns: repeat(auto-fill, minmax(6rem, 1fr)); padding: .5rem; background: var(--page); border: 1px solid var(--line); border-radius: .4rem;
      box-shadow: 0 .4rem 1rem #0004; }
    .strip button { padding: .2rem; font-size: .75rem; }
    .strip svg { width: 100%; height: 3.2rem; display: block; pointer-events: none; }
    .strip button[aria-pressed="true"] { background: var(--soft); color: inherit; border: 2px solid ${COLORS.node}; }
    .small { stroke: var(--page); stroke-width: 8px; paint-order: stroke; }
    .made { display: flex; justify-content: space-between; align-items: flex-start; gap: .5rem; font-size: .85rem; }
    .made > button { flex: none; font-size: .8rem; }
    .own { display: flex; gap: .3rem; align-items: center; }
    .own input { background: none; border: 1px solid var(--line); border-radius: .4rem; padding: .2rem .45rem; min-width: 6rem; }
    .own input[aria-invalid="true"] { border-color: #d1495b; }
    .heard { flex: 1 0 100%; margin: 0; font-size: .88rem; border-left: 4px solid #d1495b; padding-left: .5rem; }
    .heard:empty { display: none; }
    .tour:empty { display: none; }
    .tour p { margin: 0 0 .35rem; }
    .tour:has(p) { flex: 1 0 100%; border-left: 5px solid ${COLORS.gate}; background: var(--soft); padding: .45rem .7rem; min-height: 6rem; font-size: .92rem; }
    .body { display: grid; grid-template-columns: minmax(18rem, 21.5rem) minmax(0, 1fr); gap: 1.2rem; }
    .prediction { margin: 0; font-variant-numeric: tabular-nums; min-height: 2rem; }
    .prediction b { font-size: 1.45rem; }
    .axis { width: 100%; max-width: 21.5rem; height: 2.4rem; display: block; overflow: visible; }
    .chips { display: flex; flex-wrap: wrap; gap: .3rem; min-height: 1.75rem; align-items: center; }
    .chips button { border-radius: 1rem; background: var(--soft); padding: .05rem .6rem; font-size: .8rem; }
    fieldset { border: 1px solid var(--line); border-radius: .5rem; margin: .3rem 0; padding: .15rem .6rem .5rem; min-width: 0; min-height: 6.4rem; }
    legend { font-size: .8rem; padding: 0 .3rem; }
    .row { display: flex; flex-wrap: wrap; gap: .3rem .5rem; align-items: center; margin-top: .3rem; font-size: .85rem; }
    output { min-width: 2.2rem; font-variant-numeric: tabular-nums; text-align: right; }
    input[type="range"] { flex: 1 1 6rem; min-width: 5rem; accent-color: ${COLORS.bias}; }
    .molecule svg { width: 100%; height: 16.5rem; display: block; }
    .molecule, .beside { color: color-mix(in srgb, currentColor 75%, transparent); }
    .name { fill: #1b1d20; pointer-events: none; }
    .atom { fill: transparent; cursor: pointer; outline: none; }
    .atom.chosen { stroke: ${COLORS.node}; stroke-width: 3; }
    .atom:focus-visible { stroke: ${COLORS.node}; stroke-width: 4; stroke-dasharray: 4 2; }
    .atom.other { stroke: ${COLORS.edge}; stroke-width: 3; }
    .atom.removed { fill: color-mix(in srgb, var(--page) 80%, transparent); stroke: #d1495b; stroke-width: 2; stroke-dasharray: 3 3; }
    .legend { margin: .2rem 0 0; min-height: 3.4rem; font-size: .8rem; }
    .scale { display: inline-grid; grid-template-columns: repeat(4, 3rem); font-size: .75rem; line-height: 1.2; vertical-align: top; margin-top: .2rem; }
    .scale .ramp { grid-column: 1 / -1; height: .6rem; border-radius: 2px; }
    .scale .uniform { border-left: 2px solid currentColor; padding-left: .2rem; margin-top: -.6rem; padding-top: .65rem; grid-column: 2 / 4; }
    .scale .most { text-align: right; }
    .flow { position: relative; display: grid; grid-template-columns: 4.6rem repeat(var(--layers), minmax(0, 1fr)) 4.2rem 4rem; column-gap: .7rem; align-items: stretch; }
    .flow::before { content: ""; position: absolute; left: 0; right: 1rem; top: 2.9rem; height: 4px; background: ${COLORS.node}; }
    .card { position: relative; background: var(--page); border: 1px solid var(--line); border-top: 4px solid ${COLORS.node}; border-radius: .4rem; padding: .25rem; font-size: .75rem;
      text-align: center; line-height: 1.3; display: flex; flex-direction: column; justify-content: center; align-items: center; min-width: 0; }
    .card canvas { width: 100%; max-width: 5rem; }
    button.card { justify-content: flex-start; gap: .15rem; cursor: zoom-in; }
    button.card:hover { background: var(--page); border-color: ${COLORS.node}; }
    button.card[aria-pressed="true"] { background: #2a69a8; border-color: #2a69a8; color: #fff; }
    .card.result { border-color: ${COLORS.node}; font-size: 1rem; font-weight: 600; }
    .into { font-size: .68rem; white-space: nowrap; text-align: center; color: var(--pairs); font-weight: 600; line-height: 1.3; padding: .1rem 0; }
    .into span { color: color-mix(in srgb, var(--pairs) 60%, var(--ink)); }
    .ribbon { align-content: center; grid-column: 1 / calc(var(--layers) + 2); border-radius: .4rem; padding: .1rem .5rem; min-height: 2.4rem; font-size: .76rem; background: color-mix(in srgb, var(--pairs) 22%, transparent);
      border-left: 4px solid var(--pairs); }
    [data-more] { -webkit-mask-image: linear-gradient(to right, #000 calc(100% - 2rem), transparent); mask-image: linear-gradient(to right, #000 calc(100% - 2rem), transparent); }
    .maps { display: grid; grid-auto-flow: column; grid-template-rows: repeat(var(--rows), auto); grid-auto-columns: var(--square); gap: .25rem; overflow-x: auto; padding: 2px 2px .3rem; }
    .maps button { padding: 2px; font-size: .7rem; line-height: 1.2; cursor: zoom-in; }
    .maps button[aria-pressed="true"] { background: #2a69a8; }
    canvas { image-rendering: pixelated; display: block; border-radius: 2px; width: 100%; }
    .maps canvas, .card canvas { aspect-ratio: 1; }
    .weight { display: grid; grid-template-columns: minmax(0, 6fr) minmax(0, 7fr); gap: 1rem; }
    .matrix { max-width: 25rem; cursor: crosshair; touch-action: manipulation; }
    .matrix svg { width: 100%; display: block; }
    .matrix text { fill: currentColor; }
    .mark { fill: none; stroke: currentColor; }
    .path { list-style: none; margin: 0; padding: 0; font-size: .82rem; }
    .path li { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: .5rem; align-items: center; border-left: 4px solid var(--of, transparent); padding: .06rem .4rem; margin: .1rem 0;
      background: var(--soft); font-variant-numeric: tabular-nums; min-height: 1.32rem; }
    .path li.total { background: none; font-weight: 600; border-top: 1px solid var(--line); }
    .path sub, .path sup { line-height: 0; }
    .path small { opacity: .85; margin-left: .3rem; }
    .path button { padding: 0 .4rem; }
    .vector { width: 6.4rem; height: .8rem; }
    .one { display: inline-block; width: 1rem; height: .8rem; vertical-align: middle; border-radius: 2px; margin-right: .3rem; }
    .amount { display: inline-block; position: relative; width: 4rem; height: .6rem; background: var(--soft); margin-right: .4rem; border-radius: 2px; }
    .amount i { position: absolute; inset: 0 auto 0 0; background: ${ONE_SIDED[4]}; border-radius: 2px; }
    .amount u { position: absolute; top: -2px; bottom: -2px; border-left: 2px solid currentColor; }
    .beside { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: .5rem; align-items: center; }
    .beside svg { width: 100%; height: 16.5rem; }
    .beside table { border-collapse: collapse; font-size: .8rem; }
    .beside :is(th, td) { padding: .2rem .35rem; text-align: right; font-variant-numeric: tabular-nums; }
    .beside th:first-child { text-align: left; }
    .right { min-width: 0; }
    .waiting { min-height: 20rem; display: grid; place-items: center; }
    @container (max-width: 820px) {
      .body { grid-template-columns: minmax(0, 1fr); }
    }
    @container (max-width: 560px) {
      .weight, .beside { grid-template-columns: minmax(0, 1fr); }
    }
    @container (max-width: 520px) {
      .flow { grid-template-columns: 3.6rem repeat(var(--layers), 4.6rem) 4rem 3.6rem; overflow-x: auto; }
      .tour:has(p) { min-height: 11rem; }
      .models button, .row button, .row label, .bar select, .own > *, .picker > summary, .chips button { min-height: 2.25rem; }
    }`;

  return { ABOUT, COLORS, CSS, FULL, ONE_SIDED, TWO_SIDED, css, fullWeight, ofNumber, ofWeight, pixels, ramp };
})();
