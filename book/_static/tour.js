// A short tour of the explainer: each step is a text and a state of the page.
// gtcourse.tour(place, visit) shows it; visit(step) sets the page and returns [prediction, without].
gtcourse.tour = (function () {
  "use strict";

  const { number } = gtcourse.layers;
  const STEPS = [
    {
      title: "The prediction", kind: "graphormer", level: "model", i: 2,
      text: (now) => `Graphormer reads aspirin's atoms and bonds and predicts its penalised logP: ${now}.
        Colours show what the outlined atom, C1, attends to. Choose other atoms and see the colours change.`,
    },
    {
      title: "A distance bias", kind: "graphormer", level: "model", i: 2, changes: { shift: { 1: 3 } },
      text: (now, before) => `Each logit contains a learned bias for the distance of its two atoms. Here 3 is added
        at distance 1, so atoms attend to their neighbours, and the prediction moves from ${before} to ${now}.
        Move the slider.`,
    },
    {
      title: "A gate", kind: "egt", level: "layer", channel: 1, i: 1, changes: { closed: new Set(["0,1"]) },
      text: (now, before) => `EGT multiplies each weight by a gate between 0 and 1. The gate of head 2 in this
        layer is closed, so its square is empty. Without that head's messages the prediction
        is ${now} instead of ${before}. Tick or untick the box.`,
    },
    {
      title: "One weight", kind: "csa", level: "weight", channel: 34, i: 1, j: 3,
      text: () => `This is one of the numbers behind a square: the weight of one pair of atoms in one channel of
        CSA. The terms of the paper's equation add up to the logit, and the softmax turns the row's logits into
        weights. In this channel the pair's own term decides. Choose other pairs in the matrix, with the pointer or the arrow
        keys.`,
    },
  ];

  return function (place, visit) {
    let at = -1;
    const start = `<button data-tour="1">Take a tour in ${STEPS.length} steps</button>`;
    const box = `<p role="status"></p><div class="row"><button data-tour="-1">Back</button>
      <button data-tour="1">Next</button><button data-tour="0">End the tour</button></div>`;
    place.innerHTML = start;
    place.addEventListener("click", async ({ target }) => {
      const turn = target.closest("[data-tour]")?.dataset.tour;
      if (turn === undefined) return;
      const before = at;
      at = turn === "0" ? -1 : at + Number(turn);
      if (at < 0 || at >= STEPS.length) {
        at = -1;
        place.innerHTML = start;
        place.querySelector("button").focus();
        return visit({});
      }
      const step = STEPS[at];
      const values = await visit(step);
      if (step !== STEPS[at]) return;  // the reader was faster than the model's file
      if (before < 0) place.innerHTML = box;
      place.querySelector("p").innerHTML = `<b>${at + 1} of ${STEPS.length} · ${step.title}.</b>
        ${step.text(...values.map((value) => number(value, 2)))}`;
      const [back, next] = place.querySelectorAll("button");
      back.disabled = !at;
      next.textContent = at + 1 < STEPS.length ? "Next" : "Finish";
      if (before < 0) next.focus();
    });
  };
})();
