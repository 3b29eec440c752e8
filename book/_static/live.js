// The picture of the first page: where each atom looks in four trained models. What the pointer is
// on is shown; a click, a tap or an arrow key chooses an atom.
(function (data) {
  "use strict";
  const { models, symbols, value } = data;
  const place = document.getElementById("live");
  const { ramp, shade, watch } = gtcourse.colors;
  const number = (x, digits = 2) => x.toFixed(digits).replace("-", "−");
  let model = models[0];
  let chosen = 4;
  const width = place.clientWidth;

  place.innerHTML = `<div class="models" role="group" aria-label="model">${models.map((each, at) =>
    `<button type="button" data-model="${at}" data-predicts="${number(each.prediction)}">${each.title}</button>`).join("")}</div>
    ${gtcourse.molecule.drawing(data, symbols.map((symbol, at) => `${symbol}${at}`), width, Math.min(384, Math.round(0.75 * width)))}
    <p class="scale">weight 0 <i></i> <span class="most"></span></p>
    <p class="said"><b>Orange: where the outlined atom looks</b>,<br>in a trained <span class="which"></span>.
      <span class="hint"></span></p>
    <p class="said result" role="status"></p>
    <p class="said">Penalised logP says how much better a molecule dissolves in oil than in water, minus penalties. Three models are
      off by about 3, and CSA is not. <a href="explainer.html#things-to-try">Why?</a></p>`;
  const find = (selector) => [...place.querySelectorAll(selector)];
  const atoms = find(".atom");
  find(".hint")[0].textContent = matchMedia("(pointer: coarse)").matches ? "Tap another atom." : "Point at another atom.";

  function show(i) {
    const largest = Math.max(...model.attention.flat());  // one scale for all atoms of a model
    gtcourse.molecule.paint(place, model.attention[i].map((weight) => shade("weight", weight / largest)));
    find(".scale i")[0].style.background = ramp("weight");
    atoms.forEach((atom, j) => {
      atom.setAttribute("stroke", i === j ? "#3b82c4" : "none");
      atom.setAttribute("stroke-width", 3.5);
    });
    find(".most")[0].textContent = number(largest);
  }

  function choose(i) {
    chosen = i;
    atoms.forEach((atom, j) => {
      atom.setAttribute("aria-pressed", i === j);
      atom.setAttribute("tabindex", i === j ? 0 : -1);
    });
    show(i);
  }

  function change(to) {
    model = to;
    find("[data-model]").forEach((button, at) => button.setAttribute("aria-pressed", models[at] === to));
    find(".which")[0].textContent = to.title;
    find(".result")[0].innerHTML = `Penalised logP of ${data.name}<br>predicted <b>${number(to.prediction)}</b> · exact <b>${number(value)}</b>`;
    const link = document.querySelector("a.play");
    if (link) link.hash = `model=${to.kind}&molecule=${data.name}`;
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
  change(model);
})
