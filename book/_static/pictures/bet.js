// A bet against attention: which end atom's removal changes penalised logP most? `data` is what
// book/_ext/pictures.py writes; RDKit computed the exact changes.
(function (data) {
  "use strict";
  const place = document.getElementById("bet");
  const [LEAST, FINGER] = [12.2, 22];  // pixels, the radius of a place to touch
  const NAMED = 11.5;  // pixels, the radius of a disc that holds a name such as O17
  const NARROW = 380;  // pixels, the width of a drawing
  const { molecules } = data;
  const RIVALS = { attention: "attention", gradient: "gradient × input", edit: "the model’s own edit", table: "lookup table" };
  const number = (x) => `${x < 0 ? "−" : "+"}${Math.abs(x).toFixed(2)}`;
  const largest = (values) => values.reduce((best, value, at) => (Math.abs(value) > Math.abs(values[best]) ? at : best), 0);
  const isRight = (molecule, at) => Math.abs(molecule.worth[at]) > Math.abs(molecule.worth[largest(molecule.worth)]) - 1e-6;
  const choices = ({ attended, gradient, edit, table }) => ({ attention: largest(attended), gradient: largest(gradient),
    edit: largest(edit), table: largest(table) });
  const hits = { reader: 0, ...Object.fromEntries(Object.keys(RIVALS).map((name) => [name, 0])) };
  let round = 0;
  let guess = null;
  let played = 0;
  const record = Object.fromEntries(Object.keys(RIVALS).map((name) => [name, molecules.filter((each) => isRight(each, choices(each)[name])).length]));
  const chance = molecules.reduce((sum, each) => sum + each.atoms.filter((_, at) => isRight(each, at)).length / each.atoms.length, 0);
  let drawnAt = 0;

  place.innerHTML = `<p><b>Bet against attention.</b> Each outlined atom can be cut off. Which cut changes penalised logP most, up or
      down? The last layer of CSA (<a href="../book/models/csa-zinc.html"><code>csa/zinc</code></a>, section 11.1) attends most to the orange atoms and least to those with the faintest colour. ${
      matchMedia("(pointer: coarse)").matches ? "Tap an atom." : "Click an atom, or choose it with the arrow keys and Enter."}</p>
    <div class="two"><div class="drawing"></div><div><p class="said" role="status"></p>
    <table><thead><tr><td></td><th>here</th><th>so far</th><th>in all ${molecules.length}</th></tr></thead><tbody></tbody></table>
    <button type="button" data-next>Next molecule</button></div></div>`;
  const find = (selector) => place.querySelector(selector);
  const all = (selector) => [...place.querySelectorAll(selector)];

  function draw() {
    const molecule = molecules[round];
    const n = molecule.symbols.length;
    const edge = new Array(n * n).fill(-1);
    for (const [i, j, type] of molecule.bonds) edge[i * n + j] = edge[j * n + i] = type;
    const width = find(".drawing").clientWidth;
    const isNewWidth = width !== drawnAt;
    drawnAt = width;
    find(".drawing").innerHTML = gtcourse.molecule.drawing({ ...molecule, edge }, names(molecule, width), width, height(width));
    tint();
    const [discs, atoms] = [all(".disc"), all(".atom")];
    const apart = halfways(atoms);
    const reaches = reach(atoms, apart);
    atoms.forEach((atom, at) => {
      const which = molecule.atoms.indexOf(at);
      if (which < 0) {
        for (const name of ["role", "tabindex", "aria-pressed"]) atom.removeAttribute(name);
        atom.setAttribute("aria-hidden", "true");
        return;
      }
      atom.setAttribute("tabindex", which === 0 ? 0 : -1);
      atom.setAttribute("aria-label", `cut off ${molecule.symbols[at]}${at}`);
      atom.classList.add("end");
      atom.setAttribute("r", reaches[which].toFixed(1));
      discs[at].classList.add("outlined");
      discs[at].setAttribute("r", Math.max(Number(discs[at].getAttribute("r")), Math.min(NAMED, apart[which])).toFixed(1));
    });
    if (guess !== null) fall();
    if (isNewWidth) room();
  }

  /** What stands on the discs: in a narrow drawing, other carbons than the ends have no name. */
  function names({ symbols, atoms }, width) {
    return symbols.map((symbol, at) => {
      if (width >= NARROW || atoms.includes(at)) return `${symbol}${at}`;
      return symbol === "C" ? "" : `${symbol}${at}`;
    });
  }

  /** The height that the tallest of the drawings needs, for all of them, so that nothing moves. */
  function height(width) {
    return Math.ceil(Math.max(...molecules.map((molecule) => {
      const { at, bond } = gtcourse.molecule.layout(molecule, width, 330);
      const along = at.map(([, y]) => y);
      return Math.max(...along) - Math.min(...along) + 0.84 * bond + 12;
    })));
  }

  /** The radius of each end's place to click: for a finger, unless it would meet another end's. */
  function reach(atoms, apart) {
    const own = Number(atoms[0].getAttribute("r"));
    return apart.map((half) => Math.max(own, LEAST, Math.min(FINGER, half)));
  }

  /** Half of each end's distance to the nearest other end. */
  function halfways(atoms) {
    const ends = molecules[round].atoms.map((at) => ["cx", "cy"].map((name) => Number(atoms[at].getAttribute(name))));
    return ends.map(([x, y], which) => Math.min(...ends.filter((_, other) => other !== which)
      .map(([u, v]) => Math.hypot(x - u, y - v) / 2)));
  }

  /** The end that is nearest to a click: places to touch overlap where ends are close. */
  function nearest({ clientX, clientY, detail, target }) {
    if (!detail) return target;  // not a pointer's
    const away = (end) => {
      const { left, top, width, height } = end.getBoundingClientRect();
      return Math.hypot(left + width / 2 - clientX, top + height / 2 - clientY);
    };
    return all(".end").reduce((best, end) => (away(end) < away(best) ? end : best));
  }

  /** The question has the room of the longest answer, so that nothing moves. */
  function room() {
    const said = find(".said");
    const ruler = said.cloneNode();
    Object.assign(ruler.style, { position: "absolute", visibility: "hidden", minHeight: 0, width: `${said.clientWidth}px` });
    ruler.removeAttribute("role");
    said.after(ruler);
    const heights = molecules.map((molecule) => {
      ruler.innerHTML = outcome(molecule, 0);
      return ruler.getBoundingClientRect().height;
    });
    ruler.remove();
    said.style.minHeight = `${Math.max(...heights)}px`;
  }

  function tint() {
    const { attention } = molecules[round];
    const [least, most] = [Math.min(...attention), Math.max(...attention)];
    gtcourse.molecule.paint(find(".drawing"), attention.map((weight) => gtcourse.colors.shade("weight", (weight - least) / (most - least))));
  }

  function ask() {
    draw();
    find("[data-next]").disabled = true;
    find(".said").innerHTML = `<b>Molecule ${round + 1} of ${molecules.length}.</b> ${molecules[round].atoms.length} atoms can be cut off.
      The others have placed their bets. Which is yours?`;
    table();
  }

  /** The chosen atom falls off, and the atoms whose removal changes most are marked. */
  function fall() {
    const molecule = molecules[round];
    const atom = molecule.atoms[guess];
    [".disc", ".name", ".atom"].forEach((part) => all(part)[atom].classList.add("fallen"));
    all(".bonds path").forEach((bond) => bond.classList.toggle("fallen", bond.dataset.ends.split(",").map(Number).includes(atom)));
    all(".disc").forEach((each, at) => each.classList.toggle("best", molecule.atoms.includes(at) && isRight(molecule, molecule.atoms.indexOf(at))));
  }

  function table() {
    const molecule = molecules[round];
    const chosen = guess === null ? null : { reader: guess, ...choices(molecule) };
    const cell = (name) => {
      if (!chosen) return name === "reader" ? "?" : "placed";
      const atom = molecule.atoms[chosen[name]];
      return `${molecule.symbols[atom]}${atom} ${isRight(molecule, chosen[name]) ? "✓" : "✗"}`;
    };
    find("tbody").innerHTML = Object.entries({ reader: "you", ...RIVALS }).map(([name, words]) =>
      `<tr><td>${words}</td><td>${cell(name)}</td><td>${hits[name]} of ${played}</td><td>${record[name] ?? ""}</td></tr>`).join("") +
      `<tr><td>chance</td><td></td><td></td><td>${Math.round(chance)}</td></tr>`;
  }

  function outcome(molecule, which) {
    const name = (at) => `${molecule.symbols[molecule.atoms[at]]}${molecule.atoms[at]}`;
    const exact = molecule.atoms.map((_, at) => `${name(at)}\u00a0${number(-molecule.worth[at])}`);
    return `Without ${name(which)}, RDKit’s value changes by <b>${number(-molecule.worth[which])}</b>; the model
      predicts ${number(-molecule.edit[which])}. The exact changes for all cuts: ${exact.join(", ")}.${
      molecule === molecules.at(-1) ? " That was the last molecule." : ""}`;
  }

  function bet(which) {
    if (guess !== null) return;
    guess = which;
    played += 1;
    const molecule = molecules[round];
    for (const [name, at] of Object.entries({ reader: guess, ...choices(molecule) })) hits[name] += isRight(molecule, at);
    fall();
    const last = round + 1 === molecules.length;
    find(".said").innerHTML = outcome(molecule, guess);
    find("[data-next]").disabled = last;
    table();
    if (!last) find("[data-next]").focus({ preventScroll: true });
  }

  place.addEventListener("click", (event) => {
    const { target } = event;
    if (target.matches("[data-next]")) {
      round += 1;
      guess = null;
      ask();
      find(".end").focus({ preventScroll: true });
    } else if (target.matches(".end")) bet(molecules[round].atoms.indexOf(Number(nearest(event).dataset.atom)));
  });
  gtcourse.arrows(place, {
    of: (target) => [all(".end").indexOf(target), all(".end").length],
    go: (next) => {
      all(".end").forEach((end, at) => end.setAttribute("tabindex", at === next ? 0 : -1));
      all(".end")[next].focus({ preventScroll: true });
    },
    press: ({ dataset }) => bet(molecules[round].atoms.indexOf(Number(dataset.atom))),
  });
  new ResizeObserver(() => { if (Math.abs(find(".drawing").clientWidth - drawnAt) > 1) draw(); }).observe(place);
  gtcourse.colors.watch(tint);
  ask();
})
