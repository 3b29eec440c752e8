// A bet against attention: which end atom's removal changes penalised logP most? `data` is what
// book/_ext/pictures.py writes; RDKit computed the exact changes.
(function (data) {
  "use strict";
  const place = document.getElementById("bet");
  const { molecules } = data;
  const RIVALS = { attention: "attention", gradient: "gradient × input", edit: "the model’s own edit", table: "lookup table" };
  const number = (x) => `${x < 0 ? "−" : "+"}${Math.abs(x).toFixed(2)}`;
  const largest = (values) => values.reduce((best, value, at) => (Math.abs(value) > Math.abs(values[best]) ? at : best), 0);
  const isRight = (molecule, at) => Math.abs(molecule.worth[at]) > Math.abs(molecule.worth[largest(molecule.worth)]) - 1e-6;
  const choices = ({ attended, gradient, edit, table }) => ({ attention: largest(attended), gradient: largest(gradient),
    edit: largest(edit), table: largest(table) });
  const hits = { reader: 0, ...Object.fromEntries(Object.keys(RIVALS).map((name) => [name, 0])) };
  let [round, guess, played] = [0, null, 0];
  const record = Object.fromEntries(Object.keys(RIVALS).map((name) => [name, molecules.filter((each) => isRight(each, choices(each)[name])).length]));
  const chance = molecules.reduce((sum, each) => sum + each.atoms.filter((_, at) => isRight(each, at)).length / each.atoms.length, 0);
  let drawnAt = 0;

  place.innerHTML = `<p><b>Bet against attention.</b> Each outlined atom can be cut off. Which cut changes penalised logP most, up or
      down? The last layer of the large CSA attends most to the orange atoms and least to those with the faintest colour. Click an atom, or choose it with the arrow keys and Enter.</p>
    <div class="two"><div class="drawing"></div><div><p class="said" role="status"></p>
    <table><thead><tr><th></th><th>here</th><th>so far</th><th>in all ${molecules.length}</th></tr></thead><tbody></tbody></table>
    <button type="button" data-next>Next molecule</button></div></div>`;
  const find = (selector) => place.querySelector(selector);
  const all = (selector) => [...place.querySelectorAll(selector)];

  function draw() {
    const molecule = molecules[round];
    const n = molecule.symbols.length;
    const edge = new Array(n * n).fill(-1);
    for (const [i, j, type] of molecule.bonds) edge[i * n + j] = edge[j * n + i] = type;
    const width = find(".drawing").clientWidth;
    drawnAt = width;
    find(".drawing").innerHTML = gtcourse.molecule.drawing({ ...molecule, edge }, molecule.symbols.map((symbol, at) => `${symbol}${at}`),
      width, width < 380 ? 290 : 330);
    tint();
    all(".atom").forEach((atom, at) => {
      const which = molecule.atoms.indexOf(at);
      if (which < 0) {
        for (const name of ["role", "tabindex", "aria-pressed"]) atom.removeAttribute(name);
        atom.setAttribute("aria-hidden", "true");
        return;
      }
      atom.setAttribute("tabindex", which === 0 ? 0 : -1);
      atom.setAttribute("aria-label", `cut off ${molecule.symbols[at]}${at}`);
      atom.classList.add("end");
    });
    if (guess !== null) fall();
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
    all(".atom").forEach((each, at) => each.classList.toggle("best", molecule.atoms.includes(at) && isRight(molecule, molecule.atoms.indexOf(at))));
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

  function bet(which) {
    if (guess !== null) return;
    guess = which;
    played += 1;
    const molecule = molecules[round];
    for (const [name, at] of Object.entries({ reader: guess, ...choices(molecule) })) hits[name] += isRight(molecule, at);
    const atom = molecule.atoms[guess];
    fall();
    const exact = molecule.atoms.map((each, at) => `${molecule.symbols[each]}${each} ${number(-molecule.worth[at])}`);
    const last = round + 1 === molecules.length;
    find(".said").innerHTML = `Without ${molecule.symbols[atom]}${atom}, RDKit’s value changes by <b>${number(-molecule.worth[guess])}</b>; the model
      predicts ${number(-molecule.edit[guess])}. The exact changes for all cuts: ${exact.join(", ")}.${last ? " That was the last molecule." : ""}`;
    find("[data-next]").disabled = last;
    table();
    if (!last) find("[data-next]").focus({ preventScroll: true });
  }

  place.addEventListener("click", ({ target }) => {
    if (target.matches("[data-next]")) {
      round += 1;
      guess = null;
      ask();
      find(".end").focus({ preventScroll: true });
    } else if (target.matches(".end")) bet(molecules[round].atoms.indexOf(Number(target.dataset.atom)));
  });
  place.addEventListener("keydown", (event) => {
    const ends = all(".end");
    const at = ends.indexOf(event.target);
    if (at < 0) return;
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) {
      const next = ends[(at + step + ends.length) % ends.length];
      ends.forEach((end) => end.setAttribute("tabindex", end === next ? 0 : -1));
      next.focus({ preventScroll: true });
    } else if (event.key === "Enter" || event.key === " ") bet(molecules[round].atoms.indexOf(Number(event.target.dataset.atom)));
    else return;
    event.preventDefault();
  });
  new ResizeObserver(() => { if (Math.abs(find(".drawing").clientWidth - drawnAt) > 1) draw(); }).observe(place);
  gtcourse.colors.watch(tint);
  ask();
})
