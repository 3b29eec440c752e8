// Forget the rings: a trained CSA predicts with and without the feature that says which atoms share a ring.
// `data` is what experiments/pictures.py writes: for each molecule both predictions, the exact value, and
// the filters of the first layer, [channels, n, n], as whole numbers of 255.
(function (data) {
  "use strict";
  const { number } = gtcourse.layers;
  const { ofWeight, ofWeights, watch } = gtcourse.colors;
  const { channels, molecules } = data;
  const place = document.getElementById("forget");
  if (!place) return;

  const STATES = [["with", "which atoms share a ring"], ["without", "that no two atoms do"]];
  const filters = molecules.map((molecule) => Object.fromEntries(STATES.map(([state]) =>
    [state, Uint8Array.from(atob(molecule[state].filters), (letter) => letter.charCodeAt(0))])));
  let which = 0;
  let state = "with";
  let { atom, channel } = molecules[0];
  let drawnAt = 0;

  place.innerHTML = `<p><b>Forget the rings.</b> This is the package’s trained <code>csa-rings/zinc</code>. It predicts penalised logP, which is lower for molecules
      with a ring of more than six atoms. Here you can tell the model that no two atoms share a ring. It still reads the bonds and the random walks.</p>
    <div class="question"></div><div class="work">
    <div class="choices" role="group" aria-label="molecule">${molecules.map(({ name }, at) => `<button type="button" data-molecule="${at}">${name}</button>`).join("")}</div>
    <div class="choices" role="group" aria-label="ring feature"><span>the model is told</span>${STATES.map(([name, words]) => `<button type="button" data-state="${name}">${words}</button>`).join("")}</div>
    <div class="two"><figure><div class="drawing"></div>
      <figcaption><span class="who"></span> <span class="scale"></span></figcaption>
      <label class="ride"><span>channel</span><input type="range" min="1" max="${channels}" step="1" data-channel><output></output></label></figure>
      <figure><svg class="line" role="img"></svg><p class="said" role="status"></p></figure></div></div>`;
  const find = (selector) => place.querySelector(selector);
  const all = (selector) => [...place.querySelectorAll(selector)];
  const nameOf = (i) => `${molecules[which].symbols[i]}${i}`;

  /** The weights of one atom in one channel. */
  function row(of) {
    const n = molecules[which].symbols.length;
    const first = ((channel - 1) * n + atom) * n;
    return Array.from(filters[which][of].subarray(first, first + n), (share) => share / 255);
  }

  function choose(molecule) {
    which = molecule;
    ({ atom, channel } = molecules[which]);
    build();
  }

  function build() {
    const molecule = molecules[which];
    const width = find(".drawing").clientWidth || 330;
    drawnAt = place.clientWidth;
    find(".drawing").innerHTML = gtcourse.molecule.drawing(molecule, molecule.symbols.map((_, i) => nameOf(i)), width, width < 340 ? 220 : 260);
    draw();
  }

  function draw() {
    const molecule = molecules[which];
    const weights = row(state);
    gtcourse.molecule.paint(find(".drawing"), weights.map(ofWeight));
    all(".atom").forEach((each, i) => {
      each.setAttribute("stroke", i === atom ? "#3b82c4" : "none");
      each.setAttribute("stroke-width", 3.5);
      each.setAttribute("aria-pressed", i === atom);
      each.setAttribute("tabindex", i === atom ? 0 : -1);
    });
    find(".scale").innerHTML = ofWeights();
    find(".who").textContent = `attention of ${nameOf(atom)}, first layer`;
    find("[data-channel]").value = channel;
    find(".ride output").textContent = channel;
    all("[data-molecule]").forEach((button, at) => button.setAttribute("aria-pressed", at === which));
    all("[data-state]").forEach((button) => button.setAttribute("aria-pressed", button.dataset.state === state));
    drawLine();
    const off = Math.abs(molecule[state].prediction - molecule.value);
    find(".said").innerHTML = `${state === "with" ? "With" : "Without"} the ring feature, the prediction for ${molecule.name} is <b>${number(molecule[state].prediction, 2)}</b>.
      The exact value is <b>${number(molecule.value, 2)}</b>, so it is off by ${number(off, 2)}.`;
  }

  const isCovered = () => place.classList.contains("guessing");

  /** The two predictions as dots on a line, and the exact value as a bar through it. */
  function drawLine() {
    const molecule = molecules[which];
    const svg = find(".line");
    const width = svg.clientWidth || 300;
    const [low, high] = data.axis;
    const [LINE, HEIGHT] = [92, 134];
    const across = (x) => (14 + (width - 28) * (x - low) / (high - low)).toFixed(1);
    const anchor = (x) => (x < low + (high - low) / 4 ? "start" : x > high - (high - low) / 4 ? "end" : "middle");
    const ticks = Array.from({ length: Math.floor((high - low) / 2) + 1 }, (_, at) => low + 2 * at);
    const dot = ([of], at) => {
      const { prediction } = molecule[of];
      const x = across(prediction);
      const y = LINE - 22 - 24 * at;
      return `<g class="${of === state ? "now" : ""}${of === "without" ? " answer" : ""}"><path d="M${x} ${LINE}V${y + 4}"/><circle cx="${x}" cy="${LINE}" r="6"/>
        <text x="${x}" y="${y}" text-anchor="${anchor(prediction)}">${of} the feature ${number(prediction, 2)}</text></g>`;
    };
    svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    svg.setAttribute("aria-label", `Predictions for ${molecule.name}: ${STATES.filter(([of]) => of === state || !isCovered()).map(([of]) => `${of} the ring feature ${number(molecule[of].prediction, 2)}`).join(", ")}; exact ${number(molecule.value, 2)}`);
    svg.innerHTML = `<path class="axis" d="M${across(low)} ${LINE}H${across(high)}"/>${ticks.map((x) =>
      `<path class="axis" d="M${across(x)} ${LINE}v5"/><text x="${across(x)}" y="${LINE + 20}" text-anchor="middle">${number(x, 0)}</text>`).join("")}
      <path class="exact" d="M${across(molecule.value)} ${LINE - 12}v24"/><text class="exact" x="${across(molecule.value)}" y="${HEIGHT - 2}" text-anchor="${anchor(molecule.value)}">exact ${number(molecule.value, 2)}</text>
      ${STATES.map(dot).join("")}`;
  }

  function ask() {
    const asked = molecules[0];
    const shown = (x) => number(x, 1);
    gtcourse.guess(find(".question"), {
      question: `In ${asked.name}, eight atoms form a ring. The exact value is ${shown(asked.value)}, and the model predicts ${shown(asked.with.prediction)}. What does it predict if no two atoms share a ring?`,
      answers: ["almost the same", "a lower value", "a value above 0"],
      right: 2,
      about: asked.name,
      covered: true,
      show: () => {
        state = "without";
        choose(0);
      },
      truth: () => `It predicts ${number(asked.without.prediction, 2)}. So its prediction for this molecule depends strongly on the ring feature. It was never trained
        without it. The picture therefore does not show that a model without the feature could not find large rings in the walks.`,
    });
  }

  place.addEventListener("click", ({ target }) => {
    if (target.dataset.molecule !== undefined) choose(Number(target.dataset.molecule));
    if (target.dataset.state !== undefined) {
      state = target.dataset.state;
      draw();
    }
    if (target.dataset.atom !== undefined) {
      atom = Number(target.dataset.atom);
      draw();
    }
  });
  place.addEventListener("input", ({ target }) => {
    channel = Number(target.value);
    draw();
  });
  gtcourse.arrows(place, {
    of: ({ dataset }) => [Number(dataset.atom), molecules[which].symbols.length],
    go: (next) => {
      atom = next;
      draw();
      all(".atom")[atom].focus();
    },
  });
  new ResizeObserver(() => { if (Math.abs(place.clientWidth - drawnAt) > 1) build(); }).observe(place);
  watch(draw);
  ask();
  build();
})
