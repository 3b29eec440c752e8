// Turn the dial of the listener puzzle: the weights and the answer of a head with a bias, and of one with
// a query context. `data` is what experiments/pictures.py writes; gtcourse.pictures.dial(place, signs) is
// the attention of a head whose logit is large at one distance, or at none.
(function (data) {
  "use strict";
  const { number, softmax } = gtcourse.layers;
  const { css, ink, ofWeight, watch } = gtcourse.colors;
  const { strength, samples, start } = data;
  const N = samples[0].length;  // the distances from the query node are 1 to N
  const distances = samples[0].map((_, j) => j + 1);
  const SIGN = { 1: "+", "-1": "−" };

  /** Weights of the nodes at all distances, and the mean of their signs. */
  function attend(place, signs) {
    const weights = softmax(Float64Array.from(distances, (distance) => (distance === place ? strength : 0)), N);
    return { weights, z: weights.reduce((sum, weight, j) => sum + weight * signs[j], 0) };
  }

  gtcourse.pictures = { ...gtcourse.pictures, dial: attend };
  const place = document.getElementById("dial");
  if (!place) return;

  let dial = start;
  let preferred = start;  // by the bias; 0 for no distance
  let sample = 0;
  const heads = [
    { name: "bias", title: "bias", at: () => preferred },
    { name: "context", title: "query context", at: (set) => set },
  ];

  const sliders = [
    ["dial", "the dial of the query node", 1],
    ["preferred", "the distance that the bias prefers (0: none)", 0],
  ];
  place.innerHTML = `<p><b>Turn the dial.</b> A query node has a dial. Eight nodes with signs lie at the distances 1 to ${N} from it, and the answer is the sign
      at the distance to which the dial is set (outlined). Each head gives the signs weights and answers with the sign of their weighted mean.</p>
    <div class="question"></div>
    ${sliders.map(([name, words, least]) => `<label class="ride"><span>${words}</span>
      <input type="range" min="${least}" max="${N}" step="1" data-slider="${name}"><output></output></label>`).join("")}
    <div class="choices"><button type="button" data-other>other signs</button></div>
    <table><thead><tr><th scope="col">distance</th>${distances.map((distance) => `<th scope="col">${distance}</th>`).join("")}<th scope="col">mean</th><th scope="col">answer</th></tr></thead>
      <tbody><tr data-row="signs"><th scope="row">sign</th>${"<td></td>".repeat(N + 2)}</tr>${heads.map(({ name, title }) => `
      <tr data-row="${name}"><th scope="row">${title}</th>${"<td></td>".repeat(N + 2)}</tr>`).join("")}</tbody></table>
    <p class="said" role="status"></p>`;
  const find = (selector) => place.querySelector(selector);
  const cells = (row) => [...find(`[data-row=${row}]`).querySelectorAll("td")];

  /** Whether a head answers as it should when the dial is set to `set`. */
  function isRight(head, set, signs) {
    const { z } = attend(head.at(set), signs);
    return Math.sign(z) === signs[set - 1];
  }

  function draw() {
    const signs = samples[sample];
    for (const [name, value] of [["dial", dial], ["preferred", preferred]]) {
      const slider = find(`[data-slider=${name}]`);
      slider.value = value;
      slider.nextElementSibling.textContent = value;
    }
    cells("signs").forEach((cell, j) => {
      cell.textContent = SIGN[signs[j]] ?? "";
      cell.classList.toggle("asked", j + 1 === dial);
    });
    const sentences = heads.map((head) => {
      const { weights, z } = attend(head.at(dial), signs);
      const shown = cells(head.name);
      weights.forEach((weight, j) => {
        const color = ofWeight(weight);
        shown[j].textContent = number(weight, 2).replace(/^([01])\.00$/, "$1");  // 1.00 and 0.00 would touch on a phone
        shown[j].style.background = css(color);
        shown[j].style.color = ink(color);
        shown[j].classList.toggle("asked", j + 1 === dial);
      });
      const right = isRight(head, dial, signs);
      shown[N].textContent = number(z, 2);
      shown[N + 1].textContent = `${SIGN[Math.sign(z)]} ${right ? "✓" : "✗"}`;
      const count = distances.filter((set) => isRight(head, set, signs)).length;
      return `the ${head.title} is right ${count} times`;
    });
    find(".said").innerHTML = `The dial is set to ${dial}, so the answer is <b>${SIGN[signs[dial - 1]]}</b>.
      Over the ${N} settings of the dial, ${sentences.join(", and ")}.`;
  }

  function ask() {
    gtcourse.guess(find(".question"), {
      question: `The dial is turned from ${start} to 6. Which weights change?`,
      answers: ["only those of the bias", "only those of the query context", "both", "neither"],
      right: 1,
      about: "a turn of the dial",
      show: () => {
        [dial, preferred] = [6, start];
        draw();
      },
      truth: () => {
        const largest = number(Math.max(...attend(start, samples[sample]).weights));
        return `The bias depends on the distance alone, so it still gives ${largest} to distance ${start}. The query context depends on the dial as well,
          and its weight of ${largest} moves to distance 6.`;
      },
    });
  }

  place.addEventListener("input", ({ target }) => {
    if (target.dataset.slider === "dial") dial = Number(target.value);
    else preferred = Number(target.value);
    draw();
  });
  place.addEventListener("click", ({ target }) => {
    if (target.dataset.other === undefined) return;
    sample = (sample + 1) % samples.length;
    draw();
  });
  watch(draw);
  draw();
  ask();
})
