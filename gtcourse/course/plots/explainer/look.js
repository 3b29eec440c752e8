// How the explainer looks and what it says of each model.
gtcourse.look = (function () {
  "use strict";

  const COLORS = { node: "#3b82c4", edge: "#d97706", bias: "#c2559b", gate: "#b8962e", value: "#199e77" };

  const { scale, shade } = gtcourse.colors;

  const ofNumber = (value, limit) => shade("number", 0.5 + value / limit / 2);
  const scaleOfNumbers = (limit) => {
    const of = scale("number");
    return (value) => of(0.5 + value / limit / 2);
  };

  /** Numbers as pixels in rows of S, each with its colour. */
  function pixels(canvas, values, S, color) {
    [canvas.width, canvas.height] = [S, values.length / S];
    const context = canvas.getContext("2d");
    const image = context.createImageData(canvas.width, canvas.height);
    const { data } = image;
    values.forEach((value, at) => {
      const [r, g, b] = color(value);
      data[4 * at] = r;
      data[4 * at + 1] = g;
      data[4 * at + 2] = b;
      data[4 * at + 3] = 255;
    });
    context.putImageData(image, 0, 0);
  }

  const ramp = (kind) => `<span class="ramp" style="background:${gtcourse.colors.ramp(kind)}"></span>`;

  // A term has its colour, its formula and what it is. `into` is what the pairs do to a layer. In a model that `clips`,
  // a bound is one of the sums of the terms. A model with a norm `after` each residual names it; the others have it before.
  const DOT = { kind: "node", text: "q<sub>i</sub> · k<sub>j</sub> / √K", name: "content" };
  // A name may depend on the pair {edge, ring, itself} and on whether rings are read. Of a term that `scales`, the factor is written with which it multiplies e^s.
  const ofBond = ({ edge, itself }) => (itself ? "same atom" : edge < 0 ? "no bond" : `${["", "single", "double", "triple"][edge] ?? "other"} bond`);
  const ABOUT = {
    graphormer: {
      title: "Graphormer", weights: "head", chapter: "06_graphormer", tokens: "[VNode] + atoms, with degrees",
      pairs: ["bias", "Pair bias b + c", "one number per pair and head, the same in every layer"], into: "▲ logits",
      terms: { dot: DOT, b: { kind: "bias", text: "b<sub>φ(i,j)</sub>", name: "distance" },
        c: { kind: "edge", text: "c<sub>ij</sub>", name: "bonds on the path" } },
      value: "v<sub>j</sub>", source: "Graphormer, Eqs. 6 and 7", end: "[VNode] → linear", reads: "vnode",
    },
    egt: {
      title: "EGT", weights: "head", chapter: "07_egt", tokens: "atoms, with singular vectors",
      pairs: ["edge", "Pair vectors e", "one vector per pair, which every layer reads and updates"], into: "⇅ bias, gate",
      terms: { dot: { ...DOT, text: `clip(${DOT.text})` }, E: { kind: "edge", text: "E<sub>ij</sub>", name: "pair" } },
      value: "v<sub>j</sub>", source: "EGT, Eqs. 4 and 5", end: "mean → MLP", reads: "mean",
    },
    grpe: {
      title: "GRPE", weights: "head", chapter: "08_grpe", tokens: "[VNode] + atoms",
      pairs: ["bias", "Relations r(i, j)", "one relation per pair, whose vectors enter each layer’s q, k and v"], into: "▲ q, k, v",
      terms: { dot: DOT, query: { kind: "bias", text: "q<sub>i</sub> · R<sup>key</sup><sub>r</sub> / √K", name: "query context" },
        key: { kind: "edge", text: "k<sub>j</sub> · R<sup>query</sup><sub>r</sub> / √K", name: "key context" } },
      value: "v<sub>j</sub> + R<sup>value</sup><sub>r</sub>", source: "GRPE, Eqs. 6 to 8", end: "[VNode] → linear", reads: "vnode",
    },
    csa: {
      title: "CSA", weights: "channel", chapter: "09_csa", tokens: "atoms, with random walks",
      pairs: ["edge", "Pair features E", "one number per pair and channel, the same in every layer"], into: "▲ logits, v",
      terms: { dot: DOT, bond: { kind: "edge", text: "E<sup>bond</sup><sub>ij,c</sub>", name: ofBond, scales: true },
        walks: { kind: "bias", text: "E<sup>walks</sup><sub>ij,c</sub>", name: () => "random walks", scales: true },
        ring: { kind: "gate", text: "E<sup>ring</sup><sub>ij,c</sub>", name: ({ ring, read }) => (!read ? "not read" : ring ? "share a ring" : "no shared ring"), scales: true } },
      value: "v<sub>j,c</sub> + E<sup>value</sup><sub>ij,c</sub>", source: "CSA, Eqs. 5 to 7", clips: true, end: "MLP → sum", reads: "sum", after: "norm",
    },
  };

  // No text is smaller than 12 px but subscripts, of 11. On a laptop of 800 px everything that changes is in view at once.
  const CSS = `
    :host { display: block; color: inherit; font: inherit; line-height: 1.4; --line: color-mix(in srgb, currentColor 25%, transparent);
            --soft: color-mix(in srgb, currentColor 7%, transparent); --ink: var(--pst-color-text-base, CanvasText); --page: var(--pst-color-background, Canvas); }
    * { box-sizing: border-box; }
    [hidden] { display: none !important; }
    .page { container-type: inline-size; font-size: .90625rem; --gold: ${COLORS.gate}; --second: color-mix(in srgb, #ae419c 75%, var(--ink)); }
    .frame { position: relative; display: flex; flex-wrap: wrap; gap: .4rem .6rem; align-items: center; }
    button, select, input { font: inherit; color: inherit; }
    button, select { background: none; border: 1px solid var(--line); border-radius: .4rem; padding: .2rem .55rem; cursor: pointer; max-width: 100%; }
    option { color: CanvasText; background: Canvas; }
    button:hover { background: var(--soft); }
    button:disabled { opacity: .6; cursor: default; }
    button[aria-pressed="true"] { background-color: #2a69a8; border-color: #2a69a8; color: #fff; }
    :focus-visible { outline: 2px solid ${COLORS.node}; outline-offset: 2px; }
    h2 { font-size: .90625rem; font-weight: 600; line-height: 1.3; margin: .45rem 0 .25rem; }
    h2 small { font-weight: 400; }
    .of-layer { min-height: 1.3em; }
    .levels > .intro + h2, .weight h2 { margin-top: 0; }
    small, .quiet { font-size: .8125rem; }
    .quiet { opacity: .85; }
    sub, sup { font-size: .6875rem; line-height: 0; }

    .bar { position: relative; display: flex; flex-wrap: wrap; gap: .4rem .6rem; align-items: center; font-size: .875rem; }
    .models { display: flex; flex-wrap: wrap; gap: .3rem; }
    .models [data-predicts]::after { content: attr(data-predicts); margin-left: .4rem; font-size: .78125rem; font-variant-numeric: tabular-nums; opacity: .85; }
    .picker > summary { display: flex; gap: .4rem; align-items: center; list-style: none; border: 1px solid var(--line); border-radius: .4rem; padding: .2rem .55rem; cursor: pointer; }
    .picker > summary::after { content: "▾"; }
    .picker > summary::-webkit-details-marker { display: none; }
    .more, .phone { display: none; }
    /* What a newcomer sees first: the prediction, the molecule and one weight with its path. */
    .begin, .intro { display: none; }
    .short .intro { display: block; margin: 0 0 .5rem; min-height: 4.2em; }
    .no-model [data-part="model"], .no-changes [data-part="changes"] { display: inline-block; }
    .no-model :is(.flow, .of-layer, .maps, .count, h2 [data-part] + small), .no-changes :is(.made, .edit, .left > .changed) { display: none; }
    .begin { font-size: .84375rem; font-weight: 400; border-style: dashed; }
    .left > .begin { margin: .4rem 0 .2rem; }
    .short:not(.all) .extra { display: none; }
    .short .more { display: block; }
    .ghost { position: absolute; z-index: 8; pointer-events: none; image-rendering: pixelated; transform-origin: 0 0; border: 2px solid ${COLORS.edge}; border-radius: 3px; }
    .strip { position: absolute; z-index: 7; left: 0; right: 0; margin-top: .3rem; max-height: 22rem; overflow: auto; display: grid; gap: .3rem;
      grid-template-columns: repeat(auto-fill, minmax(7rem, 1fr)); padding: .5rem; background: var(--page); border: 1px solid var(--line); border-radius: .4rem;
      box-shadow: 0 .4rem 1rem #0004; }
    .strip button { padding: .2rem; font-size: .78125rem; }
    .strip svg { width: 100%; height: 3.2rem; display: block; pointer-events: none; }
    .strip button[aria-pressed="true"] { background: var(--soft); color: inherit; border: 2px solid ${COLORS.node}; }
    .own { display: flex; gap: .3rem; align-items: center; }
    .own input { background: none; border: 1px solid var(--line); border-radius: .4rem; padding: .2rem .45rem; min-width: 6rem; }
    .own input[aria-invalid="true"] { border-color: #d1495b; }
    .heard { flex: 1 0 100%; min-height: 1.3rem; margin: 0; font-size: .8125rem; line-height: 1.3rem; }
    .heard span:not(:empty) { display: block; border-left: 4px solid #d1495b; padding-left: .5rem; background: var(--page); }

    .tour:empty { display: none; }
    .tour button { white-space: nowrap; }
    .tour:not(:has(p)) button { background: var(--ink); border-color: var(--ink); color: var(--page); font-weight: 600; }
    .tour:not(:has(p)) button:hover { text-decoration: underline; }
    .tour p { margin: 0; }
    .tour:has(p) { flex: 1 0 100%; display: grid; grid-template-columns: minmax(0, 1fr) minmax(11rem, auto); gap: .4rem 1.2rem; align-items: center; min-height: 6.4rem;
      border: 1px solid var(--line); border-left: 5px solid ${COLORS.gate}; border-radius: .4rem; background: var(--page); padding: .45rem .7rem; }
    .tour .steps, .tour .answers { display: flex; flex-wrap: wrap; gap: .35rem; }
    .tour .answers { margin-top: .4rem; }
    .tour .answers button { border-color: ${COLORS.node}; border-width: 2px; }
    .tour .answers button:focus-visible { outline: 2px dashed var(--ink); outline-offset: 3px; }
    .tour .next { background: #2a69a8; border-color: #2a69a8; color: #fff; }
    .tour .end { border-color: transparent; text-decoration: underline; padding-inline: .2rem; }

    .changed { display: block; margin: .2rem 0 0; min-height: 2.5rem; font-size: .8125rem; line-height: 1.15rem; }
    .tour .changed { margin-top: .15rem; min-height: 0; }
    .frame:has(.tour p) .left > .changed { visibility: hidden; }
    .left > .changed:empty::after { content: "Change the model above, and you will read here how its prediction and its weights have changed."; opacity: .85; }
    .changed:not(:empty)::before { content: ""; display: inline-block; width: .7rem; height: .7rem; margin-right: .35rem; border: 3px solid var(--gold); border-radius: 3px; vertical-align: -.08rem; }

    /* What differs from the trained model has a golden frame, or a golden triangle beside it; what the
       tour asks about has a dashed one. */
    .differs { outline: 3px solid var(--gold); outline-offset: -2px; }
    .triangle { fill: var(--gold); stroke: var(--page); stroke-width: 1.5; paint-order: stroke; pointer-events: none; }
    .was { font-weight: 400; opacity: .85; }
    .path mark { color: inherit; background: color-mix(in srgb, var(--gold) 32%, transparent); border-radius: 3px; padding: 0 .2rem; margin-right: -.2rem; font-weight: 600; }
    ${["axis", "molecule", "flow", "maps", "path", "fieldset", "made"].map((part) =>
      `[data-look~="${part}"] ${part === "fieldset" ? part : `.${part}`}`).join(", ")}, [data-look~="models"] .models [aria-pressed="true"] { outline: 2px dashed var(--gold); outline-offset: -1px; border-radius: .4rem; }
    @media (prefers-reduced-motion: no-preference) {
      .differs, .triangle, .chips button { animation: seen .7s ease-out 2; }
      .arrow.fresh > path:first-child { stroke-dasharray: 1; animation: sent .3s ease-out; }
      .arrow.fresh > .tip { animation: seen .3s; }
      @keyframes sent { from { stroke-dashoffset: 1; } }
      @keyframes seen { from { outline-color: transparent; opacity: .25; } }
    }

    ${["flow", "maps", "weight", "edit", "molecule"].map((part) => `[data-dim~="${part}"] .${part}`).join(", ")} { opacity: .45; }
    ${["flow", "maps", "weight", "edit", "molecule"].map((part) => `[data-dim~="${part}"] .${part}:is(:hover, :focus-within)`).join(", ")} { opacity: 1; }
    [data-cover~="molecule"] .molecule .disc { fill: var(--page); }
    [data-cover~="molecule"] .molecule .name { fill: var(--ink); }
    [data-cover~="maps"] :is(.maps, .flow) canvas, [data-cover~="channels"] .maps canvas { opacity: 0; }
    [data-cover~="maps"] :is(.maps button, button.card), [data-cover~="channels"] .maps button { background-image: repeating-linear-gradient(45deg, var(--hatch, var(--soft)) 0 4px, transparent 4px 8px); }
    [data-cover] button[aria-pressed="true"] { --hatch: #ffffff30; }
    [data-cover~="onward"] .trail > *, [data-cover~="path"] .trail > * { visibility: hidden; }
    [data-cover~="onward"] .path :is(.onward, .without) small { visibility: hidden; }
    [data-cover~="matrix"] .cells, [data-cover~="path"] .path :is(.steps, li > span:last-child, :is(.from-row, .without) small) { visibility: hidden; }

    .body { flex: 1 0 100%; min-width: 0; display: grid; grid-template-columns: minmax(18rem, 22.5rem) minmax(0, 1fr); gap: 1.6rem; margin-top: .2rem; }
    .left, .right { min-width: 0; }
    .prediction { margin: 0; font-variant-numeric: tabular-nums; line-height: 1.75rem; min-height: 1.75rem; }
    .prediction b { font-size: 1.4375rem; line-height: 1; }
    .axis { width: 100%; height: 34px; display: block; overflow: visible; }
    .under { display: flex; justify-content: space-between; align-items: center; gap: .5rem; }
    .under button { border: 0; padding: 0 .2rem; min-height: 24px; font-size: .8125rem; text-decoration: underline; white-space: nowrap; }
    .key { display: flex; min-width: 0; gap: .9rem; min-height: 1.1rem; font-size: .8125rem; line-height: 1.1rem; white-space: nowrap; }
    .key i { display: inline-block; width: .65rem; height: .65rem; border-radius: 50%; margin-right: .3rem; background: ${COLORS.node}; }
    .of-other { fill: var(--page); stroke: currentColor; stroke-width: 1.5; opacity: .75; }
    .key .others i { background: none; width: .55rem; height: .55rem; border: 1.5px solid currentColor; opacity: .75; }
    .key .old i { background: none; border: 1.5px solid currentColor; }
    .key .second i { width: .6rem; height: .6rem; border-radius: 0; transform: rotate(45deg); background: var(--page); border: 2px solid var(--second); }
    .of-exact { stroke: ${COLORS.value}; stroke-width: 3; }
    .of-exact.of-whole { stroke: currentColor; opacity: .35; }
    .key .exact.of-whole { overflow: hidden; text-overflow: ellipsis; }
    .key .exact.of-whole i { background: currentColor; opacity: .35; }
    .prediction .of-whole { opacity: .75; }
    .key .exact i { width: 3px; height: .8rem; border-radius: 0; background: ${COLORS.value}; vertical-align: -.1rem; }
    .made { display: flex; justify-content: space-between; align-items: center; gap: .5rem; margin-top: .3rem; }
    .made > button { flex: none; font-size: .8125rem; }
    .chips { display: flex; flex-wrap: wrap; gap: .2rem .3rem; min-height: 1.75rem; align-items: center; min-width: 0; padding: 2px; }
    .chips button { border-radius: 1rem; border: 2px solid var(--gold); background: var(--soft); padding: .05rem .45rem; font-size: .8125rem; }
    .edit { min-height: 8.85rem; padding: .2rem 0 .3rem; min-width: 0; }
    fieldset { border: 1px solid var(--line); border-radius: .5rem; margin: 0; padding: 0 .6rem .45rem; min-width: 0; }
    legend { font-size: .8125rem; padding: 0 .3rem; }
    .row { display: flex; flex-wrap: wrap; gap: .3rem .4rem; align-items: center; margin-top: .3rem; font-size: .84375rem; }
    .row:first-of-type { margin-top: .1rem; }
    .row button { padding-inline: .45rem; }
    .says-flip { flex: 1 0 100%; margin-bottom: -.2rem; }
    .row .flip { padding: .1rem .3rem; margin-left: -.15rem; min-width: 24px; }
    .row label { min-height: 24px; display: inline-flex; gap: .4rem; align-items: center; }
    output { min-width: 2.2rem; font-variant-numeric: tabular-nums; text-align: right; }
    .slide { flex: 1 1 8.5rem; min-width: 0; display: flex; gap: .4rem; align-items: center; }
    input[type="range"] { flex: 1 1 6rem; min-width: 5rem; min-height: 24px; accent-color: color-mix(in srgb, ${COLORS.bias} 65%, var(--ink)); }
    :is(.molecule, .drawing, .bars) svg { width: 100%; height: auto; display: block; }
    .molecule, .drawing { color: color-mix(in srgb, currentColor 75%, transparent); }
    .name { pointer-events: none; }
    .atom { fill: transparent; cursor: pointer; outline: none; }
    .atom.chosen { stroke: ${COLORS.node}; stroke-width: 3.5; }
    .atom:focus-visible { stroke: ${COLORS.node}; stroke-width: 4; stroke-dasharray: 4 2; }
    .atom.other { stroke: ${COLORS.edge}; stroke-width: 3; }
    .arrow { fill: none; stroke: ${COLORS.edge}; stroke-width: 2.5; pointer-events: none; }
    .arrow .tip { fill: ${COLORS.edge}; stroke: none; }
    .atom.removed { fill: color-mix(in srgb, var(--page) 80%, transparent); stroke: #d1495b; stroke-width: 2; stroke-dasharray: 3 3; }
    .legend { margin: .2rem 0 0; min-height: 3.3rem; font-size: .84375rem; }
    .legend select { padding: 0 .2rem; min-height: 24px; margin-left: .2rem; }
    .scale { position: relative; display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); font-size: .78125rem; line-height: 1.3; margin-top: .25rem; width: min(16rem, 100%); }
    .scale .ramp { grid-column: 1 / -1; height: .6rem; border-radius: 2px; box-shadow: inset 0 0 0 1px var(--line); }
    .scale .uniform { position: absolute; left: var(--at); top: 0; border-left: 2px solid currentColor; padding: .65rem 0 0 .25rem; }
    .scale .most { grid-column: 4; text-align: right; }

    .flow { position: relative; display: grid; grid-template-columns: minmax(4.8rem, .8fr) repeat(var(--layers), minmax(0, 1fr)) minmax(4.4rem, .7fr) minmax(4rem, .6fr); column-gap: clamp(.6rem, 1.4cqw, 1.1rem); align-items: stretch; }
    .flow::before { content: ""; position: absolute; left: 0; right: 1rem; top: 2.9rem; height: 4px; background: ${COLORS.node}; }
    .card { position: relative; background: var(--page); border: 1px solid var(--line); border-top: 4px solid ${COLORS.node}; border-radius: .4rem; padding: .2rem; font-size: .8125rem;
      text-align: center; line-height: 1.3; display: flex; flex-direction: column; justify-content: center; align-items: center; min-width: 0; }
    .card canvas { width: 100%; max-width: 4.6rem; }
    button.card { justify-content: flex-start; gap: .1rem; cursor: zoom-in; }
    button.card:hover { background: var(--page); border-color: ${COLORS.node}; }
    button.card[aria-pressed="true"] { background-color: #2a69a8; border-color: #2a69a8; color: #fff; }
    .card.result { border-color: ${COLORS.node}; font-size: 1rem; font-weight: 600; }
    .into { position: relative; font-size: .78125rem; white-space: nowrap; text-align: center; font-weight: 600; line-height: 1.3; padding: .05rem 0; }
    .into span { color: color-mix(in srgb, var(--pairs) 60%, var(--ink)); }
    .into i { font-style: normal; }
    .deep .into i { display: none; }
    .band { display: none; }
    .ribbon { grid-row: 3; grid-column: 1 / calc(var(--layers) + 2); border-radius: .4rem; padding: .15rem .5rem; font-size: .8125rem; white-space: nowrap; min-width: max-content;
      background: color-mix(in srgb, var(--pairs) 22%, transparent); border-left: 4px solid var(--pairs); }
    @container (min-width: 51.3125rem) {
      /* What the layers read of pairs: named at the right of the heading, and a band with arrows below the layers. */
      .ribbon { grid-area: auto; position: absolute; right: 0; bottom: calc(100% + .2rem); }
      .band { display: block; grid-area: 2 / 1 / 3 / calc(var(--layers) + 2); margin-top: .15rem; border-radius: .3rem; background: color-mix(in srgb, var(--pairs) 22%, transparent); }
    }
    [data-more] { -webkit-mask-image: linear-gradient(to right, #000 calc(100% - 2rem), transparent); mask-image: linear-gradient(to right, #000 calc(100% - 2rem), transparent); }
    .maps { display: grid; width: fit-content; max-width: 100%; grid-template-columns: var(--columns); gap: .2rem; overflow-x: auto; padding: 2px 2px .2rem; scrollbar-width: thin; }
    .maps button { padding: 2px; min-width: 0; font-size: .78125rem; line-height: 1.15; cursor: zoom-in; }
    .maps button:not(:hover, [aria-pressed="true"]) { border-color: transparent; }
    .maps button[aria-pressed="true"] { background-color: #2a69a8; }
    canvas { image-rendering: pixelated; display: block; border-radius: 2px; width: 100%; }
    .maps canvas, .card canvas { aspect-ratio: 1; }
    .weight { position: relative; display: grid; grid-template-columns: minmax(0, 9fr) minmax(0, 11fr); gap: .9rem; margin-top: .35rem; }
    .picks, [data-switch], .counted { display: none; }
    .left > .now { display: contents; }
    .short .counted { display: block; margin: .5rem 0 0; }
    .matrix { cursor: crosshair; touch-action: manipulation; }
    .matrix svg { display: block; max-width: 100%; }
    .matrix text { fill: currentColor; font-size: 12px; }
    .matrix .dense :is(.at-row, .at-column) { font-size: 11px; }
    .matrix .gone { text-decoration: line-through; }
    .mark { fill: none; stroke: var(--ink); }
    .path { list-style: none; margin: 0; padding: 0; font-size: .84375rem; }
    .path li { display: grid; grid-template-columns: 8rem minmax(0, 1fr) auto; gap: .4rem; align-items: center; border-left: 4px solid var(--of, transparent); padding: .02rem .4rem; margin: .07rem 0;
      background: var(--soft); font-variant-numeric: tabular-nums; min-height: 1.05rem; line-height: 1.2; }
    .path .trail { display: block; background: none; border: 0; padding: 0 0 .1rem; }
    .bars-row { display: flex; gap: .3rem; align-items: center; font-size: .78125rem; line-height: 1.1rem; margin-top: 2px; border-left: 4px solid var(--of); padding-left: .4rem; }
    .bars-row > span:first-child { flex: 0 0 6.9rem; white-space: nowrap; }
    .share { position: relative; flex: 1 1 0; min-width: 0; padding: 0 .25rem; background: var(--soft); border-radius: 2px; text-align: right; overflow: hidden; white-space: nowrap; }
    .share i { position: absolute; inset: 0 auto 0 0; background: color-mix(in srgb, var(--of) 45%, transparent); }
    .share b { position: absolute; left: .25rem; font-weight: 400; opacity: .75; }
    .path .steps { display: block; padding: .2rem .4rem .3rem 1rem; font-size: .78125rem; line-height: 1.35; }
    .path .later { padding-block: 0; }
    .steps span { display: inline-block; min-width: 4.6rem; opacity: .85; }
    .path .steps .fold { margin-left: -.9rem; padding: .1rem .3rem; font: inherit; }
    .path .step { margin-left: .7rem; }
    .path .fold { border: 0; padding: 0 .3rem 0 0; min-width: 24px; margin-block: -4px; font-weight: 400; text-align: left; }
    .fold::after { content: " ▸"; }
    .fold[aria-expanded="true"]::after { content: " ▾"; }
    .path li.total { background: none; font-weight: 600; border-top: 1px solid var(--line); }
    .path small { opacity: .85; font-size: .78125rem; font-weight: 400; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
    .frame .path li.wide { grid-template-columns: 4.8rem minmax(0, 1fr) auto; }
    .path :is(sub, sup) { line-height: 0; vertical-align: -.2em; }
    .path sup { vertical-align: .35em; }
    .path small sup { font-size: .6875rem; vertical-align: .3em; }
    .path small sub { font-size: .6875rem; vertical-align: -.15em; }
    .path button { padding: 0 .4rem; min-height: 24px; line-height: 1.2; margin-block: -3px; }
    .vector { width: 5.6rem; height: .8rem; display: inline-block; vertical-align: middle; }
    .one { display: inline-block; width: 1rem; height: .8rem; vertical-align: middle; border-radius: 2px; margin-right: .3rem; }
    .amount { display: inline-block; position: relative; width: 3.2rem; height: .6rem; background: var(--soft); margin-right: .4rem; border-radius: 2px; }
    .amount i { position: absolute; inset: 0 auto 0 0; background: #e8792f; border-radius: 2px; }
    .amount u { position: absolute; top: -2px; bottom: -2px; border-left: 2px solid currentColor; }
    .signed { display: inline-block; position: relative; width: 5.6rem; height: .6rem; background: var(--soft); margin-right: .5rem; border-radius: 2px; }
    .path .number { display: inline-block; min-width: 3.1rem; text-align: right; }
    .signed i { position: absolute; inset: 0 auto 0 0; }
    .signed u { position: absolute; left: calc(50% - .5px); top: -2px; bottom: -2px; border-left: 1px solid currentColor; opacity: .6; }
    @media (forced-colors: active) {
      button[aria-pressed="true"] { forced-color-adjust: none; background: Highlight !important; border-color: Highlight !important; color: HighlightText !important; }
      .ramp, .scale i, .key i, i:empty { forced-color-adjust: none; color: CanvasText; }
    }
    .connector { position: absolute; inset: 0; width: 100%; height: 100%; pointer-events: none; overflow: visible; }
    .connector path { fill: none; stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 5 3; opacity: .7; }
    .length { font-size: .78125rem; }

    /* Two models side by side: what they share is above, and each has a panel of the same size. */
    .comparing .body { grid-template-columns: minmax(0, 1fr); gap: .5rem; }
    .comparing .left { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); grid-template-rows: auto auto auto auto auto; gap: 0 1.2rem; align-content: start; }
    .comparing .left > :is(.molecule, .changed) { display: none; }
    .comparing .made { grid-area: 1 / 2; }
    .comparing .edit { grid-area: 2 / 2 / 5 / 2; min-height: 0; align-self: start; }
    .comparing .beyond { grid-area: 5 / 1 / 6 / 3; margin-bottom: .3rem; }
    .two { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0 1.2rem; }
    .panel { display: grid; grid-template-rows: subgrid; grid-row: span 5; min-width: 0; border-top: 4px solid ${COLORS.node}; }
    .panel + .panel { border-color: var(--second); }
    .panel h2 b { font-size: 1rem; }
    .choose { display: flex; flex-wrap: wrap; gap: .3rem .4rem; align-items: center; font-size: .84375rem; margin-bottom: .3rem; }
    .choose button { position: absolute; top: .2rem; right: 0; min-width: 1.8rem; padding: 0 .4rem; font-size: 1.125rem; line-height: 1.4; }
    .panel + .panel { position: relative; }
    .panel + .panel h2 { padding-right: 3rem; }
    .halves { display: grid; grid-template-columns: minmax(0, 5fr) minmax(0, 7fr); gap: .6rem; align-items: start; }
    .panel .path li { grid-template-columns: 7.2rem minmax(0, 1fr) auto; }
    .path .whole { display: block; padding: .3rem .4rem; }
    .path .none { opacity: .85; background: none; }
    .path .none small { opacity: 1; }
    .panel .vector { width: 3.2rem; display: inline-block; vertical-align: middle; }
    .panel .path .long { display: none; }
    .panel :is(.amount, .signed) { display: none; }
    .says-row { margin: .3rem 0 .1rem; font-size: .8125rem; font-variant-numeric: tabular-nums; }
    .bars { cursor: pointer; touch-action: manipulation; }
    .bars text { fill: var(--ink); font-size: 12px; pointer-events: none; }
    .bars .now { stroke: var(--ink); stroke-width: 2; }
    .bars .base { stroke: var(--line); }
    .bars .even { stroke: var(--ink); stroke-dasharray: 3 3; opacity: .7; }
    .beyond { margin: .3rem 0 0; border-left: 4px solid var(--gold); padding-left: .5rem; font-size: .8125rem; line-height: 1.2rem; }
    .beyond:empty { display: none; }
    .beyond button { padding: 0 .4rem; min-height: 24px; line-height: 1.2; }
    .heard.hint span:not(:empty) { border-color: ${COLORS.node}; }
    /* Where the window is wide, the sentence on a SMILES string is laid over the page below its field, and takes no room. */
    @container (min-width: 51.3125rem) {
      .path li:has(.was) .factor { display: none; }
      .own { position: relative; }
      .own input { width: 9.2rem; }
      /* Until its molecule is read, it grows over what is beside it, so that nothing moves. */
      .own:not(.read):focus-within { z-index: 5; margin-right: -11rem; }
      .own:not(.read):focus-within input { width: 20.2rem; }
      .own:not(.read):focus-within > * { background: var(--page); }
      .heard { position: absolute; z-index: 6; min-height: 0; top: var(--below); left: var(--left); max-width: min(34rem, calc(100% - var(--left))); }
      .heard span:not(:empty) { padding: .3rem .6rem; border: 1px solid #d1495b; border-left-width: 4px; border-radius: .4rem; box-shadow: 0 .3rem .8rem #0003; }
    }
    @container (min-width: 51.3125rem) and (max-width: 62.5rem) {
      .factor { display: none; }
    }
    /* One weight alone: its matrix has half of the width. */
    @container (min-width: 62.5625rem) {
      .path:has(.was) .signed { width: 3.2rem; }
      .no-model .weight { grid-template-columns: repeat(2, minmax(0, 1fr)); }
      .no-model .path li { grid-template-columns: 5.4rem minmax(0, 1fr) auto; min-height: 1.45rem; }
      .no-model .path li.broad { grid-template-columns: 7rem minmax(0, 1fr) auto; }
      .no-model .path .later { padding-block: .15rem; }
    }
    .loading :is(.axis, .under, .made, fieldset, .legend, .changed) { visibility: hidden; }
    [inert] :is(button, summary, input, select) { opacity: .6; }
    @container (max-width: 51.25rem) {
      .bar { display: contents; }
      .body { display: flex; flex-direction: column; gap: 0; }
      .left, .comparing .left { display: contents; }
      .molecule, .legend, .comparing .right { order: 1; }
      .molecule { margin-top: .4rem; }
      .left > .begin { order: 2; align-self: flex-start; }
      .made, .edit, .left > .changed { order: 2; }
      .frame:has(.tour p) .left > .changed { display: none; }
      .right { order: 3; }
      .left > .now { display: flex; gap: .5rem; align-items: center; position: sticky; top: var(--pst-header-height, 0px); z-index: 3; background: var(--page); box-shadow: 0 -.5rem 0 var(--page), 0 1px 0 var(--line); }
      .now .prediction { flex: 1 1 0; min-width: 0; }
      [data-switch] { display: block; flex: none; min-height: 2.75rem; margin: 2px 0; }
      .by-row [data-switch] { visibility: hidden; }
      .counted { order: 1; }
      .tour:has(p) { position: sticky; bottom: 0; order: 1; z-index: 6; box-shadow: 0 -.4rem 1rem #0003; }
      .levels > .intro + h2 { margin-top: .8rem; }
      .short .intro { margin-top: .8rem; }
      .short .intro + h2 { margin-top: 0; }
      .ribbon { white-space: normal; min-width: 0; }
    }
    @media (max-height: 53.75em) {
      .card canvas { max-width: 3.3rem; }
    }
    @container (max-width: 71.875rem) {
      .short .intro { min-height: 7em; }
      .tour:has(p) { min-height: 7.8rem; }
    }
    @container (max-width: 62.5rem) {
      .bar [data-beside] { max-width: 11.5rem; } /* so that the row does not break for longer names and numbers */
      .halves { grid-template-columns: minmax(0, 1fr); }
      .path li { grid-template-columns: 6rem minmax(0, 1fr) auto; }
      .signed { width: 3rem; }
      .vector { width: 3.6rem; }
      .panel .path li { grid-template-columns: 6.6rem minmax(0, 1fr) auto; }
    }
    @container (max-width: 38.75rem) {
      .two { grid-template-columns: minmax(0, 1fr); }
      .panel + .panel { margin-top: .8rem; }
      .panel h2 { min-height: 2.5rem; }
    }
    @container (max-width: 35rem) {
      .path small { white-space: normal; }
      .weight { grid-template-columns: minmax(0, 1fr); }
      .tour:has(p) { grid-template-columns: minmax(0, 1fr); }
    }
    @container (max-width: 32.5rem) {
      .flow { grid-template-columns: 4.4rem repeat(var(--layers), 5.7rem) 4.2rem 3.6rem; overflow-x: auto; }
      .flow:not(.deep) { grid-template-columns: 1.5rem repeat(var(--layers), minmax(0, 1fr)) 1.5rem 3rem; column-gap: .35rem; }  /* all layers are in view */
      .flow:not(.deep) .card:not(button, .result) { writing-mode: vertical-rl; padding: 0; }
      .flow:not(.deep) .result { font-size: .875rem; }
      .flow:not(.deep) .card b { font-size: .78125rem; font-weight: 400; }
      .flow:not(.deep) .into i { display: none; }
      .flow:not(.deep) button.card { font-size: .75rem; padding: .1rem; white-space: nowrap; }
      .deep .into i { display: inline; }
      .edit { min-height: 0; padding-bottom: .2rem; }
      .ribbon { grid-column: 1 / -1; }
      .ribbon span { position: sticky; left: .5rem; display: inline-block; max-width: calc(100cqw - 3rem); }  /* in view however far the row is scrolled */
      .row :is(button, select), .chips button { min-height: 2.25rem; }
      .row label { min-height: 1.9rem; }
      /* A finger is 44 pixels wide; the tour leaves less room. */
      .frame:not(:has(.tour p)) :is(.row button, .row label, .row select, .chips button, .legend select, .made > button, .path button), .models button, .bar select, .own > *, .picker > summary, .tour button, .more, .begin, .under button, .picks select, .choose :is(select, button) { min-height: 2.75rem; min-width: 2.75rem; }
      .choose small { flex-basis: 100%; }
      .choose select { flex: 1 1 5.4rem; min-width: 0; }
      .choose [data-model-of] { flex: 1.3 1 7rem; }
      .choose [data-which="channel"] { flex-basis: 7.4rem; }
      .frame:not(:has(.tour p)) .path li:not(.trail, .steps) { min-height: 1.75rem; }  /* nearer to the rows that a finger presses */
      .frame:not(:has(.tour p)) .row .flip { min-width: 2.75rem; margin: 0; }
      .path button, .path .fold { margin-block: 0; }
      .picks { display: flex; flex-wrap: wrap; gap: .3rem .8rem; align-items: center; margin-top: .3rem; font-size: .84375rem; }
      /* Two rows of controls; what is needed less often unfolds below them. */
      .models { flex: 1 0 100%; order: -2; justify-content: space-between; }
      .models button { flex: 1 0 auto; line-height: 1.2; }
      .models [data-predicts]::after { display: block; margin: 0; }
      .tour:not(:has(p)), .picker, .more { order: -1; }
      .picker { flex: 1 1 4rem; min-width: 0; }
      .picker > summary { justify-content: space-between; }
      .more { display: block; flex: 0 1 7.4rem; font-size: .8125rem; line-height: 1.15; padding-inline: .4rem; }
      .tour:not(:has(p)) button { white-space: normal; width: 5.2rem; line-height: 1.15; }
      .long { display: none; }
      .phone { display: inline; }
      .tour.folded :is(.rest, .answers) { display: none; }
      .tour .low { margin-left: auto; min-width: 2.6rem; }
      .low::before { content: "▾"; }
      .folded .low::before { content: "▴"; }
      .legend { font-size: .8125rem; }
      .chips { min-height: 2.4rem; padding-block: 1px; }
      .frame:not(:has(.tour p)) .chips { min-height: 2.9rem; }
      .changed { min-height: 3.7rem; }
      .prediction { line-height: 1.6rem; min-height: 2.75rem; white-space: nowrap; }
      /* The exact value in the small line above, so that a change has room beside the menu of the models. */
      .now .prediction:has(.what) { display: flex; flex-wrap: wrap; align-items: baseline; align-content: center; column-gap: .3rem; }
      .now .prediction:has(.what)::before { content: ""; order: -1; flex-basis: 100%; }
      .prediction .what, .prediction .what ~ span { order: -2; font-size: .75rem; line-height: 1rem; }
      .comparing .prediction { min-height: 0; }
      .comparing [data-switch] { display: none; }
      .comparing .prediction { font-size: .75rem; white-space: nowrap; }
      .comparing .prediction b { font-size: 1rem; }
      .comparing .key { gap: .5rem; font-size: .75rem; }
      .heard { min-height: 3.9rem; order: -1; }
      .heard:has(span:empty)::after { content: attr(data-hint); }
      .frame:not(.all) .heard:has(span:empty) { display: none; }
      .extra { order: -1; flex: 1 0 auto; }
      .own input { flex: 1 1 6rem; }
      .own button { min-width: 2.75rem; }
      .frame:not(.all) .extra { display: none; }
      .path li { grid-template-columns: 6.6rem minmax(0, 1fr) auto; gap: .25rem; }
      .of-weight:has(.was) .amount { display: none; }
      .bars-row { gap: .2rem; }
      .bars-row > span:first-child { flex-basis: 6.5rem; }
      .share b { display: none; }
      .vector { width: 2.6rem; }
      .amount { width: 1.8rem; margin-right: .2rem; }
      .signed { width: 2rem; margin-right: .2rem; }
      .path .number { min-width: 2.7rem; }
    }
    @container (max-width: 18rem) { /* enlarged text on a phone */
      .now .prediction { white-space: normal; }
      .now .prediction span { white-space: nowrap; }
      .now [data-switch] { padding-inline: .3rem; font-size: .8125rem; }
      .under, .key { flex-wrap: wrap; }
      .frame .path :is(li, li.wide) { grid-template-columns: minmax(0, 1fr) auto; }
      .path li > small { grid-column: 1 / -1; order: 1; }
      .path :is(.signed, .amount) { display: none; }
    }`;

  return { ABOUT, COLORS, CSS, ofNumber, pixels, ramp, scaleOfNumbers };
})();
