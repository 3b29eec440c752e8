// The eigenvectors of one eigenvalue span a plane, and any two orthogonal axes of it are a basis: a ring
// of nodes. `data` is what experiments/pictures.py writes; gtcourse.pictures.basis(n, degrees, flipped)
// gives the two columns.
(function (data) {
  "use strict";
  const { number } = gtcourse.layers;
  const { nodes: n } = data;
  const [REACH, SPOT, PLANE] = [62, 11, 70];  // the ring’s radius, a node’s, and the plane’s circle
  const LARGEST = Math.sqrt(2 / n);  // an entry of a unit vector on the ring

  /** The second and third eigenvector of a ring's Laplacian D − A, in a basis turned by some degrees. */
  function basis(count, degrees, flipped) {
    const turned = (i) => 2 * Math.PI * i / count - degrees * Math.PI / 180;
    const wave = (of, sign) => Array.from({ length: count }, (_, i) => sign * Math.sqrt(2 / count) * of(turned(i)));
    return { u2: wave(Math.cos, 1), u3: wave(Math.sin, flipped ? -1 : 1), eigenvalue: 2 - 2 * Math.cos(2 * Math.PI / count) };
  }

  gtcourse.pictures = { ...gtcourse.pictures, basis };
  const place = document.getElementById("basis");
  if (!place) return;

  let degrees = data.start;
  let flipped = false;
  const around = (i, radius) => [radius * Math.cos(2 * Math.PI * i / n), -radius * Math.sin(2 * Math.PI * i / n)];
  const every = Array.from({ length: n }, (_, i) => i);
  const ring = (entries) => `<path class="link" fill="none" d="${every.map((i) => `${i ? "L" : "M"}${around(i, REACH).map((x) => x.toFixed(1))}`).join("")}Z"/>
    ${every.map((i) => `<circle class="spot${i ? "" : " source"}" cx="${around(i, REACH)[0].toFixed(1)}" cy="${around(i, REACH)[1].toFixed(1)}" r="${SPOT}" fill="${shade(entries[i] / LARGEST)}"/>`).join("")}
    <text y="-8" text-anchor="middle" dominant-baseline="central">node 0</text><text y="9" text-anchor="middle" dominant-baseline="central">${signed(entries[0])}</text>`;
  const path = `<path class="link" d="M-99 0H99"/>${every.map((i) => `<circle class="spot" cx="${-99 + 18 * i}" r="8"/>`).join("")}`;

  place.innerHTML = `<p><b>One eigenvalue, many bases.</b> On a ring of ${n} nodes, λ<sub>2</sub> = λ<sub>3</sub> = ${number(basis(n, 0, false).eigenvalue, 2)}. Each node is a point of their plane, and its two
      coordinates are its entries in u<sub>2</sub> and u<sub>3</sub>.</p>
    <div class="question"></div>
    <div class="choices"><button type="button" data-flip aria-pressed="false">flip the sign of u<sub>3</sub></button><button type="button" data-back>start again</button></div>
    <div class="ride"><span class="which"></span><input type="range" min="0" max="360" step="5" aria-label="angle of the axes in degrees"></div>
    <p class="said" role="status"></p>
    <div class="views"><figure><b>the plane of the eigenvalue</b><svg class="plane" viewBox="-112 -104 224 208" role="img"></svg><figcaption>dashed: the axes before turning</figcaption></figure>
      <figure><b>u<sub>2</sub></b><svg viewBox="-84 -84 168 168" role="img" aria-label="the ring coloured by u2" data-column="u2"></svg><figcaption>the points’ coordinates on the axis u<sub>2</sub></figcaption></figure>
      <figure><b>u<sub>3</sub></b><svg viewBox="-84 -84 168 168" role="img" aria-label="the ring coloured by u3" data-column="u3"></svg><figcaption>the points’ coordinates on the axis u<sub>3</sub></figcaption></figure></div>
    <p class="scale">entry <span>−${number(LARGEST, 2)}</span> <i></i> <span>${number(LARGEST, 2)}</span></p>
    <div class="paths"><p>On a path of ${n} nodes, no eigenvalue repeats. The eigenspace of u<sub>2</sub> is a line, not a plane, so only the sign is free:</p>
      ${[1, -1].map((sign) => `<figure><svg viewBox="-110 -12 220 24" role="img" aria-label="the path coloured by ${sign > 0 ? "" : "minus "}u2" data-sign="${sign}">${path}</svg>
        <figcaption>${sign > 0 ? "" : "−"}u<sub>2</sub></figcaption></figure>`).join("")}</div>`;
  const find = (selector) => place.querySelector(selector);
  const all = (selector) => [...place.querySelectorAll(selector)];
  const shade = (share) => gtcourse.colors.css(gtcourse.colors.shade("number", 0.5 + share / 2));
  const signed = (x) => (x < 0 ? number(x, 2) : `+${number(x, 2)}`);

  /** An axis of the plane from end to end, with a name at its positive end. */
  function axis(angle, sign, name, kind) {
    const [x, y] = [sign * Math.cos(angle), -sign * Math.sin(angle)];
    const label = name && `<text x="${(98 * x).toFixed(1)}" y="${(95 * y).toFixed(1)}" text-anchor="middle" dominant-baseline="central">u<tspan dy="3" font-size="11">${name}</tspan></text>`;
    return `<path class="${kind}" d="M${(-86 * x).toFixed(1)} ${(-86 * y).toFixed(1)}L${(86 * x).toFixed(1)} ${(86 * y).toFixed(1)}"/>${label}`;
  }

  /** A node's point in the plane, with its number. */
  function point(i) {
    const [x, y] = around(i, PLANE);
    return `<circle class="point${i ? "" : " source"}" cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="5"/>
      <text class="number" x="${(0.8 * x).toFixed(1)}" y="${(0.8 * y).toFixed(1)}" text-anchor="middle" dominant-baseline="central">${i}</text>`;
  }

  function draw() {
    const columns = basis(n, degrees, flipped);
    const turned = degrees * Math.PI / 180;
    find("input").value = degrees;
    find(".which").textContent = `turned by ${degrees}°`;
    find("input").setAttribute("aria-valuetext", find(".which").textContent);
    find("[data-flip]").setAttribute("aria-pressed", flipped);
    find(".plane").setAttribute("aria-label", `twelve points on a circle, and axes turned by ${degrees} degrees`);
    find(".plane").innerHTML = `<circle class="round" r="${PLANE}"/>${axis(0, 1, "", "before")}${axis(Math.PI / 2, 1, "", "before")}
      ${axis(turned, 1, "2", "axis-2")}${axis(turned + Math.PI / 2, flipped ? -1 : 1, "3", "axis-3")}
      ${every.map(point).join("")}`;
    for (const column of ["u2", "u3"]) find(`[data-column=${column}]`).innerHTML = ring(columns[column]);
    all("[data-sign]").forEach((svg) => svg.querySelectorAll(".spot").forEach((spot, i) =>
      spot.setAttribute("fill", shade(svg.dataset.sign * Math.cos(Math.PI * (i + 0.5) / n)))));
    find(".scale i").style.background = gtcourse.colors.ramp("number");
    find(".said").innerHTML = `Both columns are eigenvectors with λ = ${number(columns.eigenvalue, 2)}, have length 1 and are orthogonal, at this angle as at any other. Node 0 reads <b>${entries(columns, 0)}</b> and
      node 1 reads <b>${entries(columns, 1)}</b>. <span class="answer">The dot product of these rows, an entry of the projector, is <b>${dot(columns, 0, 1)}</b> at every angle${flipped ? ", with either sign" : ""}.</span>`;
  }

  /** The entries of a node, and the dot product of its entries with another node's. */
  const entries = ({ u2, u3 }, i) => `(${signed(u2[i])}, ${signed(u3[i])})`;
  const dot = ({ u2, u3 }, i, j) => number(u2[i] * u2[j] + u3[i] * u3[j], 3);
  const ASKED = 60;  // degrees

  function ask() {
    const [before, after] = [basis(n, 0, false), basis(n, ASKED, false)];
    gtcourse.guess(find(".question"), {
      question: `If the axes turn by ${ASKED}°, what stays the same?`,
      answers: ["the entries of a node", "the dot product of two nodes’ entries", "both"],
      right: 1,
      about: "a turn of the axes",
      covered: true,
      show: () => {
        [degrees, flipped] = [ASKED, false];
        draw();
      },
      truth: () => `The entries of node 0 go from ${entries(before, 0)} to ${entries(after, 0)}, and its dot product with node 1 is ${dot(before, 0, 1)} before and ${dot(after, 0, 1)} after. A model that reads the
        entries reads an arbitrary choice. Turn the axes further, and flip u<sub>3</sub>.`,
    });
  }

  place.addEventListener("click", ({ target }) => {
    if (target.closest("[data-flip]")) flipped = !flipped;
    else if (target.closest("[data-back]")) [degrees, flipped] = [0, false];
    else return;
    draw();
  });
  place.addEventListener("input", ({ target }) => {
    degrees = Number(target.value);
    draw();
  });
  gtcourse.colors.watch(draw);
  draw();
  ask();
})
