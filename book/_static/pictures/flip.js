// Flip the sign of an eigenvector u: a trained φ gives other outputs, and SignNet's sum φ(u) + φ(−u) stays.
// `data` is what experiments/pictures.py writes: for each molecule its eigenvectors, [k, n], and what φ makes
// of each and of its negative, [k, channels, n], in hundredths.
(function (data) {
  "use strict";
  const { number } = gtcourse.layers;
  const { ramp, shade, watch } = gtcourse.colors;
  const { channels, molecules, start } = data;
  const place = document.getElementById("flip");
  if (!place) return;

  const FIRST = 2;  // u_1 is constant, and SignNet leaves it out
  const shown = (hundredths) => number(hundredths / 100, 2);
  let which = 0;
  let column = 0;  // which eigenvector
  let channel = start;
  let atom = 0;
  const flipped = molecules.map(({ u }) => u.map(() => false));
  let drawnAt = 0;

  const PARTS = ["u", "plus", "minus", "sum"];
  const digit = (m) => String.fromCharCode(0x2080 + m);
  const nameOf = (at = column) => `u${digit(at + FIRST)}`;
  const titles = () => ({ u: nameOf(), plus: `φ(${nameOf()})`, minus: `+ φ(−${nameOf()})`, sum: "= SignNet’s sum" });

  place.innerHTML = `<p><b>Flip a sign.</b> φ is the GIN in the package’s trained <code>signnet-100k/molecules</code>. It reads one eigenvector and gives each atom ${channels} numbers,
      one in each channel. A flipped eigenvector describes the same molecule.</p>
    <div class="question"></div>
    <div class="choices" role="group" aria-label="molecule">${molecules.map(({ name }, at) => `<button type="button" data-molecule="${at}">${name}</button>`).join("")}</div>
    <div class="choices"><button type="button" data-flip></button><span class="columns" role="group" aria-label="eigenvector"></span></div>
    <label class="ride"><span>channel</span><input type="range" min="1" max="${channels}" step="1" data-channel><output></output></label>
    <div class="parts">${PARTS.map((part) => `<figure data-part="${part}"><b class="title"></b><div class="drawing"></div>
      <figcaption><span class="value"></span><span class="change"></span></figcaption></figure>`).join("")}</div>
    <p class="scale"></p>
    <p class="said" role="status"></p>`;
  const find = (selector) => place.querySelector(selector);
  const all = (selector) => [...place.querySelectorAll(selector)];

  /** The numbers of all atoms in each part, with the eigenvector as it is or flipped. */
  function rows(isFlipped) {
    const molecule = molecules[which];
    const [one, other] = [molecule.plus, molecule.minus].map((outputs) => outputs[column][channel - 1]);
    const [plus, minus] = isFlipped ? [other, one] : [one, other];
    return { u: molecule.u[column].map((x) => (isFlipped ? -x : x)), plus, minus, sum: plus.map((x, i) => x + minus[i]) };
  }

  /** The atom at which the flip changes φ(u) most. */
  function mostChanged() {
    const { plus, minus } = rows(false);
    const changes = plus.map((x, i) => Math.abs(x - minus[i]));
    return changes.indexOf(Math.max(...changes));
  }

  function choose(molecule) {
    which = molecule;
    column = 0;
    atom = mostChanged();
    build();
  }

  function build() {
    const molecule = molecules[which];
    drawnAt = place.clientWidth;
    find(".columns").innerHTML = molecule.u.map((_, at) => `<button type="button" data-column="${at}">${nameOf(at)}</button>`).join("");
    for (const box of all(".drawing")) {
      const width = box.clientWidth || 160;
      box.innerHTML = gtcourse.molecule.drawing(molecule, molecule.symbols.map((symbol, i) => `${symbol}${i}`), width, 150);
    }
    draw();
  }

  function draw() {
    const molecule = molecules[which];
    const isFlipped = flipped[which][column];
    const [before, now] = [rows(false), rows(isFlipped)];
    const largest = (parts) => Math.max(1, ...parts.flatMap((part) => now[part].map(Math.abs)));
    const scales = { entries: largest(["u"]), outputs: largest(["plus", "minus", "sum"]) };
    const differing = (part) => now[part].filter((x, i) => x !== before[part][i]).length;
    const who = `${molecule.symbols[atom]}${atom}`;
    for (const part of PARTS) {
      const figure = find(`[data-part=${part}]`);
      const scale = part === "u" ? scales.entries : scales.outputs;
      const title = titles()[part];
      figure.querySelector(".title").textContent = title;
      gtcourse.molecule.paint(figure, now[part].map((x) => shade("number", 0.5 + x / scale / 2)));
      figure.querySelector("svg").setAttribute("aria-label", `${title}, on the atoms of ${molecule.name}`);
      figure.querySelectorAll(".atom").forEach((each, i) => {
        each.setAttribute("stroke", i === atom ? "#3b82c4" : "none");
        each.setAttribute("stroke-width", 3.5);
        each.setAttribute("aria-pressed", i === atom);
        each.setAttribute("tabindex", i === atom && part === "u" ? 0 : -1);
      });
      figure.querySelector(".value").textContent = `${who}: ${shown(now[part][atom])}`;
      const change = figure.querySelector(".change");
      change.textContent = !isFlipped ? "" : differing(part) ? "changed" : "unchanged";
      figure.classList.toggle("same", isFlipped && !differing(part));
    }
    find("[data-flip]").textContent = `flip the sign of ${nameOf()}`;
    find("[data-flip]").setAttribute("aria-pressed", isFlipped);
    find("[data-channel]").value = channel;
    find(".ride output").textContent = channel;
    all("[data-molecule]").forEach((button, at) => button.setAttribute("aria-pressed", at === which));
    all("[data-column]").forEach((button, at) => button.setAttribute("aria-pressed", at === column));
    find(".scale").innerHTML = [[nameOf(), scales.entries], ["outputs", scales.outputs]].map(([name, scale]) =>
      `<span>${name} −${shown(scale)} <i></i> ${shown(scale)}</span>`).join("");
    all(".scale i").forEach((bar) => { bar.style.background = ramp("number"); });
    const n = molecule.symbols.length;
    find(".said").innerHTML = `Atom ${who}: <b>${shown(now.plus[atom])}</b> from φ(${nameOf()}) and <b>${shown(now.minus[atom])}</b> from φ(−${nameOf()}), in sum <b>${shown(now.sum[atom])}</b>.
      ${isFlipped ? `The flip has changed φ(${nameOf()}) at ${differing("plus")} of ${n} atoms, and the sum at ${differing("sum")}.` : `The sign of ${nameOf()} is that of the convention.`}`;
  }

  function ask() {
    const [was, will] = [rows(false), rows(true)];
    gtcourse.guess(find(".question"), {
      question: `In channel ${channel}, atom ${molecules[0].symbols[atom]}${atom} gets ${shown(was.plus[atom])} from φ(${nameOf()}) and ${shown(was.minus[atom])} from φ(−${nameOf()}), in sum ${shown(was.sum[atom])}. What is the sum if ${nameOf()} is flipped?`,
      answers: [shown(-was.sum[atom]), shown(was.sum[atom]), "another number"],
      right: 1,
      show: () => {
        flipped[0][0] = true;
        channel = start;
        choose(0);
      },
      truth: () => `The two outputs only change places: φ(${nameOf()}) is now ${shown(will.plus[atom])}, and φ(−${nameOf()}) is ${shown(will.minus[atom])}. A model that reads φ(${nameOf()}) alone
        gets other numbers for the same molecule. SignNet gets the same sum.`,
    });
  }

  place.addEventListener("click", ({ target }) => {
    const { molecule, column: chosen, atom: at } = target.dataset;
    if (molecule !== undefined) return choose(Number(molecule));
    if (chosen !== undefined) column = Number(chosen);
    else if (at !== undefined) atom = Number(at);
    else if (target.dataset.flip !== undefined) flipped[which][column] = !flipped[which][column];
    else return undefined;
    return draw();
  });
  place.addEventListener("input", ({ target }) => {
    channel = Number(target.value);
    draw();
  });
  place.addEventListener("keydown", (event) => {
    if (event.target.dataset.atom === undefined) return;
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const n = molecules[which].symbols.length;
    atom = (atom + step + n) % n;
    draw();
    find("[data-part=u]").querySelectorAll(".atom")[atom].focus();
  });
  new ResizeObserver(() => { if (Math.abs(place.clientWidth - drawnAt) > 1) build(); }).observe(place);
  watch(draw);
  choose(0);
  ask();
})
