// A button for each eigenvector's sign. `data` is what gtcourse.course.plots.signs_widget writes: key,
// ink, mark, label (of the axis), numbers [k], places [N, 2], edges [[i, j]], vectors [k, N] (from
// -1 to 1), radius (of a node), shades (of -1, 0 and 1) and models, each with its name, color and
// answers [2^k], the first sign changing last; exact is the right answer, or null.
(function (data) {
  "use strict";
  const { number } = gtcourse.layers;
  const { text, mount } = gtcourse.widget;
  const LARGE = data.places.length > 30;
  const known = data.exact !== null;
  const all = data.models.flatMap((model) => model.answers).concat(known ? data.exact : []);
  const [lowest, highest] = [Math.min(...all), Math.max(...all)];
  const share = (value) => 100 * (value - lowest) / (highest - lowest || 1);
  const digits = highest - lowest < 0.1 ? 4 : 3;

  const CSS = `
    .signs { display: grid; gap: .5rem;
      grid-template-columns: repeat(auto-fill, minmax(max(6.4rem, ${LARGE ? 40 : 22}%), 1fr)); }
    .signs button { border-radius: .5rem; padding: .3rem; display: flex; flex-direction: column; gap: .2rem; }
    .signs [aria-pressed="true"] { border: 2px solid ${data.mark}; }
    .signs svg { width: 100%; height: ${LARGE ? 9 : 4}rem; overflow: hidden; pointer-events: none; }
    .sign { font-size: 1.1em; }
    line, circle { stroke: currentColor; }
    .model { margin-top: .7rem; font-size: .9em; }
    .model div:first-child { display: flex; justify-content: space-between; gap: 1rem; }
    .track { position: relative; height: 1.3rem; margin: 0 .5rem;
      border-bottom: 1px solid var(--line); }
    .track i { position: absolute; top: .15rem; height: 1rem; width: 2px; margin-left: -1px;
      background: color-mix(in srgb, var(--of) 60%, currentColor); }
    .track u { position: absolute; top: 0; height: 1.3rem; border-left: 2px dashed currentColor;
      margin-left: -1px; }
    .track b { position: absolute; top: .15rem; width: 1rem; height: 1rem; margin-left: -.5rem;
      border-radius: 50%; border: 2px solid currentColor; }
    .ends { display: flex; justify-content: space-between; gap: 1rem; font-size: .85em; }
    .reset { margin-top: .6rem; } .result { margin: .5rem 0 0; }`;

  /** The colour of an entry from -1 to 1. */
  function shade(value) {
    const part = Math.round(100 * Math.min(Math.abs(value), 1));
    return `color-mix(in srgb, ${data.shades[value < 0 ? 0 : 2]} ${part}%, ${data.shades[1]})`;
  }

  function picture(vector) {
    const [across, up] = [0, 1].map((axis) => data.places.map((place) => place[axis]));
    const [left, top] = [Math.min(...across), Math.min(...up)];
    const [width, height] = [Math.max(...across) - left, Math.max(...up) - top];
    const radius = data.radius;
    const lines = data.edges.map(([i, j]) => `<line x1="${across[i]}" y1="${up[i]}" x2="${
      across[j]}" y2="${up[j]}" stroke-width="${radius / 2}"/>`);
    const discs = vector.map((value, i) => `<circle cx="${across[i]}" cy="${up[i]}" r="${radius}"
      stroke-width="${radius / 6}" fill="${shade(value)}"/>`);
    const box = [left - 2 * radius, top - 2 * radius, width + 4 * radius, height + 4 * radius];
    const inside = [...lines, ...discs].join("");
    return `<svg viewBox="${box.join(" ")}" aria-hidden="true">${inside}</svg>`;
  }

  const LEAD = `<b>Flip the signs.</b> Each button flips the sign of one eigenvector. The graph stays the same.`;
  const HTML = `<div class="signs" role="group" aria-label="signs of the eigenvectors"></div>
    <button type="button" class="reset">all signs +</button>
    ${data.models.map((model) => `<div class="model"><div><span>${text(model.name)}</span>
      <span class="number"></span></div><div class="track" aria-hidden="true">${
      [...new Set(model.answers)].map((answer) =>
        `<i class="answer" style="left:${share(answer)}%;--of:${model.color}"></i>`).join("")}
      ${known ? `<u style="left:${share(data.exact)}%"></u>` : ""}
      <b style="background:${model.color}"></b></div></div>`).join("")}
    <div class="ends"><span>${number(lowest, digits)}</span>
    <span>${text(data.label)}</span><span>${number(highest, digits)}</span></div>
    <p class="result" role="status"></p>`;

  mount("signs", data, CSS, LEAD, HTML, (find, findAll) => {
    const signs = data.vectors.map(() => 1);
    find(".signs").innerHTML = signs.map((_, m) => `<button type="button" data-sign="${m}"></button>`).join("");
    const buttons = findAll("[data-sign]");

    function draw() {
      buttons.forEach((button, m) => {
        const words = `${signs[m] > 0 ? "+" : "−"}u<sub>${data.numbers[m]}</sub>`;
        button.innerHTML = `${picture(data.vectors[m].map((u) => signs[m] * u))}
          <span class="sign">${words}</span>`;
        button.setAttribute("aria-pressed", signs[m] < 0);
      });
      const at = signs.reduce((total, sign) => 2 * total + (sign < 0 ? 1 : 0), 0);
      const said = data.models.map(({ name, answers }, row) => {
        const answer = number(answers[at], digits);
        findAll(".number")[row].textContent = answer;
        findAll(".track b")[row].style.left = `${share(answers[at])}%`;
        return `${text(name)} ${answer}`;
      });
      find(".result").innerHTML = `${signs.map((sign) => (sign > 0 ? "+" : "−")).join(" ")}: ${
        said.join(", ")}. Marks: all ${data.models[0].answers.length} choices of signs.${
        known ? ` Dashed: the right answer, ${number(data.exact, digits)}.` : ""}`;
    }

    /** Which model's prediction depends most on the choice of signs. */
    function ask() {
      const ranges = data.models.map(({ answers }) => [Math.min(...answers), Math.max(...answers)]);
      const spreads = ranges.map(([least, most]) => most - least);
      const widest = spreads.indexOf(Math.max(...spreads));
      if (data.models.length < 2 || spreads.filter((spread) => spread === spreads[widest]).length > 1) return;
      const away = data.models[widest].answers.map((answer, _, [first]) => Math.abs(answer - first));
      gtcourse.guess(find(".question"), {
        question: `There are ${data.models[0].answers.length} choices of signs for one graph. Over all of them, which model’s prediction changes most?`,
        answers: data.models.map(({ name }) => text(name)),
        right: widest,
        about: "the signs",
        covered: true,
        show: () => {
          const farthest = away.indexOf(Math.max(...away));
          signs.forEach((_, m) => { signs[m] = farthest >> (signs.length - 1 - m) & 1 ? -1 : 1; });
          draw();
        },
        truth: () => `The predictions go ${data.models.map(({ name }, m) => `from ${number(ranges[m][0], digits)} to ${number(ranges[m][1], digits)} (${text(name)})`).join(", ")}.`,
      });
    }

    find(".signs").addEventListener("click", ({ target }) => {
      const button = target.closest("button");
      if (!button) return;
      signs[button.dataset.sign] *= -1;
      draw();
    });
    find(".reset").addEventListener("click", () => {
      signs.fill(1);
      draw();
    });
    draw();
    ask();
  });
})
