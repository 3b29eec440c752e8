// The pictures of the first page: four trained models' predictions beside the exact value, and where each
// atom looks in them. What the pointer is on is shown; a click, a tap or an arrow key chooses an atom.
(function (data) {
  "use strict";
  const { models, symbols, value, ring, cycle, opens, why } = data;  // cycle: what each ring atom beyond six costs
  const place = document.getElementById("live");
  const { ofWeight, ofWeights, watch } = gtcourse.colors;
  const sizes = { 5: "five", 6: "six", 7: "seven", 8: "eight" };
  const number = (x, digits = 2) => x.toFixed(digits).replace("-", "−");
  const LARGEST_FREE = 6;  // the atoms of a ring that costs nothing
  let model = models[0];
  let chosen = opens;
  const width = place.clientWidth;

  place.innerHTML = `<div class="models" role="group" aria-label="model">${models.map((each, at) =>
    `<button type="button" data-model="${at}" data-predicts="${number(each.prediction)}">${each.title}</button>`).join("")}</div>
    ${gtcourse.molecule.drawing(data, symbols.map((symbol, at) => `${symbol}${at}`), width, Math.min(384, Math.round(0.75 * width)))}
    <p class="scale">weight <span></span></p>
    <p class="said"><b>Orange: where <span class="circled"></span> looks.</b> <span class="most"></span><br><span class="of"></span> of a trained
      <span class="which"></span>,<br class="narrow"> its most peaked <span class="kind"></span>. <span class="hint"></span></p>
    <p class="said result" role="status"></p><p class="said why"></p>`;
  const puzzle = document.getElementById("puzzle");
  puzzle.innerHTML = `<p class="hook">Predicting ${data.name}’s penalised logP, three models are off by about&nbsp;3, and CSA is not. <a href="explainer.html#model=csa&amp;molecule=${data.name}&amp;channel=${why.channel}&amp;atom=${why.atom}&amp;to=${why.to}&amp;open=one">Why?</a></p>
    <p>Penalised logP: <a href="../notebooks/data.html">a weighted sum of three terms</a>. They say how much better a molecule dissolves in oil than in water, how hard it is to make, and how far its largest ring exceeds six atoms.</p>
    <svg role="img" aria-label="Predictions on a line: ${models.map(({ title, prediction }) => `${title} ${number(prediction)}`).join(", ")}; the exact value is ${number(value)}"></svg>`;
  const find = (selector) => [...place.querySelectorAll(selector)];
  const atoms = find(".atom");
  find(".hint")[0].textContent = matchMedia("(pointer: coarse)").matches ? "Tap another atom." : "Point at another atom.";

  /** Each prediction as a dot with its name above it, and the exact value as a bar through the line. */
  function drawPuzzle() {
    const svg = puzzle.querySelector("svg");
    const width = puzzle.clientWidth;
    const LINE = 76;
    const ROW = 18;
    const HEIGHT = 118;
    const across = (x) => (12 + (width - 24) * (x + 2.5) / 5).toFixed(1);  // from −2.5 to 2.5
    const right = models.filter(({ prediction }) => prediction > 0).sort((a, b) => b.prediction - a.prediction);
    const named = (each, row, shift, anchor) => {
      const x = across(each.prediction);
      const y = LINE - 14 - ROW * row;
      return `<g class="${each === model ? "now" : ""}"><path d="M${x} ${LINE}V${y - 9}"/><circle cx="${x}" cy="${LINE}" r="6"/>
        <text x="${Number(x) + shift}" y="${y}" text-anchor="${anchor}">${each.title} <tspan>${number(each.prediction)}</tspan></text></g>`;
    };
    const namedAtLeft = (each) => named(each, right.length - 1 - right.indexOf(each), -5, "end");
    const namedAtRight = (each) => named(each, 0, 5, "start");
    svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    svg.innerHTML = `<path class="line" d="M0 ${LINE}H${width}"/>${[-2, -1, 0, 1, 2].map((x) => `<path class="line" d="M${across(x)} ${LINE}v5"/>
      <text class="tick" x="${across(x)}" y="${LINE + 20}" text-anchor="middle">${number(x, 0)}</text>`).join("")}
      <path class="exact" d="M${across(value)} ${LINE - 12}v28"/><text class="exact" x="${across(value)}" y="${HEIGHT - 2}" text-anchor="middle">exact ${number(value)}</text>
      ${models.map((each) => (right.includes(each) ? namedAtLeft(each) : namedAtRight(each))).join("")}`;
  }

  const nameOf = (atom) => `${symbols[atom]}${atom}`;

  /** The atom with the largest weight in an atom's row. */
  const mostOf = (row) => row.indexOf(Math.max(...row));

  function show(i) {
    const row = model.attention[i];
    gtcourse.molecule.paint(place, row.map(ofWeight));
    const most = mostOf(row);
    find(".circled")[0].textContent = nameOf(i);
    find(".most")[0].textContent = `${most === i ? "It" : nameOf(most)} gets ${number(row[most])} of its attention.`;
    find(".scale span")[0].innerHTML = ofWeights();
    atoms.forEach((atom, j) => {
      atom.setAttribute("stroke", i === j ? "#3b82c4" : "none");
      atom.setAttribute("stroke-width", 3.5);
    });
  }

  function choose(i) {
    chosen = i;
    atoms.forEach((atom, j) => {
      atom.setAttribute("aria-pressed", i === j);
      atom.setAttribute("tabindex", i === j ? 0 : -1);
    });
    show(i);
    const link = document.querySelector("a.play");
    if (link) link.hash = link.hash.replace(/&atom=.*|$/, `&atom=${nameOf(i)}&to=${nameOf(mostOf(model.attention[i]))}`);
  }

  function change(to) {
    model = to;
    find("[data-model]").forEach((button, at) => button.setAttribute("aria-pressed", models[at] === to));
    const readsRings = to.kind === "csa";
    find(".which")[0].textContent = to.title;
    find(".kind")[0].textContent = readsRings ? "channel" : "head";
    find(".of")[0].textContent = `${readsRings ? "Channel" : "Head"} ${to.head} of layer ${to.layer}`;
    gtcourse.molecule.outline(find("svg")[0], readsRings ? ring : []);
    find(".result")[0].innerHTML = `Penalised logP of ${data.name}<br>predicted <b>${number(to.prediction)}</b> · exact <b>${number(value)}</b>`;
    find(".why")[0].textContent = readsRings ? `Only CSA reads which atoms share a ring. The outlined ring of ${sizes[ring.length]} lowers the exact value by ${number(cycle * (ring.length - LARGEST_FREE), 1)}.` :
      `${to.title} does not read which atoms share a ring. CSA does. The ring of ${sizes[ring.length]} lowers the exact value by ${number(cycle * (ring.length - LARGEST_FREE), 1)}.`;
    const link = document.querySelector("a.play");
    drawPuzzle();
    if (link) link.hash = `model=${to.kind}&molecule=${data.name}&open=one&layer=${to.layer}&${readsRings ? "channel" : "head"}=${to.head}`;
    choose(chosen);
  }

  atoms.forEach((atom, i) => {
    atom.addEventListener("pointerenter", () => show(i));
    atom.addEventListener("click", () => choose(i));
    atom.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      choose((chosen + step + atoms.length) % atoms.length);
      atoms[chosen].focus();
    });
  });
  find("svg")[0].addEventListener("pointerleave", () => show(chosen));
  find(".models")[0].addEventListener("click", ({ target }) => target.dataset.model && change(models[target.dataset.model]));
  watch(() => show(chosen));
  new ResizeObserver(drawPuzzle).observe(puzzle);
  change(model);
})
