// Flip the sign of an eigenvector u: a trained φ gives other outputs, and SignNet's sum φ(u) + φ(−u) stays.
// `data` is what experiments/pictures.py writes: for each molecule its eigenvectors, [k, n], and what φ makes
// of each and of its negative, [k, channels, n], in hundredths.
(function (data) {
  "use strict";
  const { number } = gtcourse.layers;
  const { ramp, shade, watch } = gtcourse.colors;
  const { channels, molecules } = data;
  const place = document.getElementById("flip");
  if (!place) return;

  const FIRST = 2;  // u_1 is constant, and SignNet leaves it out
  const PARTS = ["u", "plus", "minus", "sum"];
  let which = 0;  // which molecule
  let column = 0;  // which of its eigenvectors
  let channel = data.start;  // from 1
  let atom = 0;
  const flipped = molecules.map(({ u }) => u.map(() => false));
  let drawnAt = 0;

  const shown = (hundredths) => number(hundredths / 100, 2);
  const digit = (m) => String.fromCharCode(0x2080 + m);  // below the line
  const nameOf = (at = column) => `u${digit(at + FIRST)}`;
  const titles = () => ({ u: nameOf(), plus: `φ(${nameOf()})`, minus: `+ φ(−${nameOf()})`, sum: "= SignNet’s sum" });

  place.innerHTML = `<p><b>Flip a sign.</b> φ is the GIN in the package’s trained <code>signnet-100k/molecules</code>. It reads one eigenvector and gives each atom ${channels} numbers,
      one in each channel. A flipped eigenvector describes the same molecule.</p>
    <div class="question"></div><div class="work">
    <div class="choices" role="group" aria-label="molecule">${molecules.map(({ name }, at) => `<button type="button" data-molecule="${at}">${name}</button>`).join("")}</div>
    <div class="choices"><button type="button" data-flip></button><span class="columns" role="group" aria-label="eigenvector"></span></div>
    <div class="ride"><span class="which"></span><input type="range" min="1" max="${channels}" aria-label="channel" data-channel></div>
    <div class="parts">${PARTS.map((part) => `<figure data-part="${part}"><b class="title"></b><div class="drawing"></div>
      <figcaption><span class="value"></span><span class="change"></span></figcaption></figure>`).join("")}</div>
    <p class="scale"></p>
    <p class="said" role="status"></p></div>`;
  const find = (selector) => place.querySelector(selector);
  const all = (selector) => [...place.querySelectorAll(selector)];

  /** The numbers of all atoms in each part, in hundredths, with the eigenvector as it is or flipped. */
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

  /** Another molecule, from its first eigenvector on. */
  function choose(molecule) {
    which = molecule;
    column = 0;
    atom = mostChanged();
    build();
  }

  /** The drawings. Keys and screen readers meet the atoms of the first one; in the others they are for the pointer. */
  function build() {
    const molecule = molecules[which];
    drawnAt = place.clientWidth;
    find(".columns").innerHTML = molecule.u.map((_, at) => `<button type="button" data-column="${at}">${nameOf(at)}</button>`).join("");
    for (const box of all(".drawing")) {
      const width = box.clientWidth || 160;
      box.innerHTML = gtcourse.molecule.drawing(molecule, molecule.symbols.map((symbol, i) => `${symbol}${i}`), width, 150);
    }
    for (const drawing of all(".parts figure:not([data-part=u]) svg")) {
      drawing.setAttribute("role", "img");
      for (const each of drawing.querySelectorAll(".atom"))
        for (const name of ["role", "tabindex", "aria-pressed", "aria-label"]) each.removeAttribute(name);
    }
    draw();
  }

  function draw() {
    const molecule = molecules[which];
    const isFlipped = flipped[which][column];
    const [before, now] = [rows(false), rows(isFlipped)];
    const largest = (parts) => Math.max(1, ...parts.flatMap((part) => now[part].map(Math.abs)));
    const [ofEntries, ofOutputs] = [largest(["u"]), largest(["plus", "minus", "sum"])];
    const differing = (part) => now[part].filter((x, i) => x !== before[part][i]).length;
    const who = `${molecule.symbols[atom]}${atom}`;
    for (const [part, title] of Object.entries(titles())) {
      const figure = find(`[data-part=${part}]`);
      const scale = part === "u" ? ofEntries : ofOutputs;
      figure.querySelector(".title").textContent = title;
      gtcourse.molecule.paint(figure, now[part].map((x) => shade("number", 0.5 + x / scale / 2)));
      figure.querySelector("svg").setAttribute("aria-label", `${title}, on the atoms of ${molecule.name}`);
      figure.querySelectorAll(".atom").forEach((each, i) => {
        each.setAttribute("stroke", i === atom ? "#3b82c4" : "none");
        each.setAttribute("stroke-width", 3.5);
        if (part !== "u") return;
        each.setAttribute("aria-pressed", i === atom);
        each.setAttribute("tabindex", i === atom ? 0 : -1);
      });
      figure.querySelector(".value").textContent = `${who}: ${shown(now[part][atom])}`;
      const change = figure.querySelector(".change");
      change.textContent = !isFlipped ? "" : differing(part) ? "changed" : "unchanged";
      figure.classList.toggle("same", isFlipped && !differing(part));
    }
    find("[data-flip]").textContent = `flip the sign of ${nameOf()}`;
    find("[data-flip]").setAttribute("aria-pressed", isFlipped);
    find("[data-channel]").value = channel;
    find(".which").textContent = `channel ${channel} of ${channels}`;
    find("[data-channel]").setAttribute("aria-valuetext", find(".which").textContent);
    all("[data-molecule]").forEach((button, at) => button.setAttribute("aria-pressed", at === which));
    all("[data-column]").forEach((button, at) => button.setAttribute("aria-pressed", at === column));
    find(".scale").innerHTML = [[nameOf(), ofEntries], ["outputs", ofOutputs]].map(([name, scale]) =>
      `<span>${name} −${shown(scale)} <i></i> ${shown(scale)}</span>`).join("");
    all(".scale i").forEach((bar) => { bar.style.background = ramp("number"); });
    const n = molecule.symbols.length;
    find(".said").innerHTML = `Atom ${who} gets <b>${shown(now.plus[atom])}</b> from φ(${nameOf()}) and <b>${shown(now.minus[atom])}</b> from φ(−${nameOf()}). The sum is <b>${shown(now.sum[atom])}</b>.
      ${isFlipped ? `The flip has changed φ(${nameOf()}) at ${differing("plus")} of ${n} atoms, and the sum at ${differing("sum")}.` : `${nameOf()} has the sign that the package’s convention chooses.`}`;
  }

  /** Chooses an atom, which gets the focus in the first drawing. */
  function point(at) {
    atom = at;
    draw();
    all("[data-part=u] .atom")[atom].focus({ preventScroll: true });
  }

  function ask() {
    const [was, will] = [rows(false), rows(true)];
    const who = `${molecules[0].symbols[atom]}${atom}`;
    gtcourse.guess(find(".question"), {
      question: `In channel ${channel}, SignNet’s sum is ${shown(was.sum[atom])} at atom ${who} of ${molecules[0].name}. What does it become if ${nameOf()} is flipped?`,
      answers: ["its negative", "it stays the same", "another number"],
      right: 1,
      about: `${molecules[0].name}, channel ${channel}`,
      show: () => {
        flipped[0][0] = true;
        channel = data.start;
        choose(0);
      },
      truth: () => `The two outputs only change places: at ${who}, φ(${nameOf()}) goes from ${shown(was.plus[atom])} to ${shown(will.plus[atom])}, and φ(−${nameOf()}) from ${shown(was.minus[atom])} to ${shown(will.minus[atom])}. The sum stays at ${shown(will.sum[atom])}. A model that reads φ(${nameOf()}) alone
        gets other numbers for the same molecule. SignNet gets the same sum.`,
    });
  }

  place.addEventListener("click", (event) => {
    const target = gtcourse.nearest(event, ".atom");
    const { molecule, column: chosen, atom: at } = target.dataset;
    if (molecule !== undefined) return choose(Number(molecule));
    if (chosen !== undefined) column = Number(chosen);
    else if (at !== undefined) return point(Number(at));
    else if (target.dataset.flip !== undefined) flipped[which][column] = !flipped[which][column];
    else return undefined;
    return draw();
  });
  place.addEventListener("input", ({ target }) => {
    channel = Number(target.value);
    draw();
  });
  gtcourse.arrows(place, {
    of: ({ dataset }) => [Number(dataset.atom), molecules[which].symbols.length],
    go: point,
  });
  new ResizeObserver(() => { if (Math.abs(place.clientWidth - drawnAt) > 1) build(); }).observe(place);
  watch(draw);
  choose(0);
  ask();
})
