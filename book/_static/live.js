// The picture of the first page: what each atom attends to in a trained model, as the pointer moves.
(function (data) {
  "use strict";
  const { drawing, attention } = data;
  const link = document.getElementById("live");
  const [LOW, HIGH] = [[191, 185, 173], [232, 121, 47]];

  link.innerHTML = `${drawing}<span>What one atom attends to in CSA, the model of chapter 09. Point at another,
    or open the explainer.</span>`;
  const svg = link.querySelector("svg");
  svg.setAttribute("aria-hidden", "true");
  const [discs, atoms] = [".disc", ".atom"].map((name) => [...svg.querySelectorAll(name)]);

  function show(i) {
    const [least, largest] = [Math.min(...attention[i]), Math.max(...attention[i])];
    discs.forEach((disc, j) => {
      const share = (attention[i][j] - least) / (largest - least);
      disc.setAttribute("fill", `rgb(${LOW.map((low, c) => Math.round(low + share * (HIGH[c] - low)))})`);
    });
    atoms.forEach((atom, j) => {
      for (const name of ["role", "tabindex", "aria-pressed", "aria-label"]) atom.removeAttribute(name);
      atom.setAttribute("fill", "transparent");
      atom.setAttribute("stroke", i === j ? "#3b82c4" : "none");
      atom.setAttribute("stroke-width", 3);
    });
  }

  atoms.forEach((atom, i) => atom.addEventListener("pointerenter", () => show(i)));
  show(4);
})
