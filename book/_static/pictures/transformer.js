// The whole Transformer: encoder and decoder with their residual streams, and a batch that is followed
// through them, with shapes. `data` is what experiments/pictures.py writes, the sizes of the model in
// section 2.6; gtcourse.pictures.transformer(sizes) gives the stages of the way.
(function (data) {
  "use strict";
  const WORDS = { B: "B", N: "N", M: "M", d: "d", H: "H", hidden: "d<sub>hidden</sub>", words: "words" };

  /** The stages in the order of the computation: the part that is marked, and the shape that it gives. */
  function stages() {
    return [
      { part: "source", shape: ["B", "N"], name: "source", text: "Word numbers. Both sequences use the same vocabulary here." },
      { part: "source-embedding", shape: ["B", "N", "d"], name: "embedding", text: "A vector for each word, times √d, plus the vector of its position. The encoder’s residual stream begins." },
      { part: "self", shape: ["B", "H", "N", "N"], name: "self-attention", text: "One matrix of weights for each head: every source token attends to every other.", adds: "sum" },
      { part: "forward", shape: ["B", "N", "hidden"], name: "feed-forward", text: "Each token by itself, through a wider layer and back to d.", adds: "output" },
      { part: "memory", shape: ["B", "N", "d"], name: "memory", text: "The encoder’s output. Every block of the decoder reads it." },
      { part: "target", shape: ["B", "M"], name: "target, shifted", text: "The true words, beginning with “begin”. Position m holds the word that comes before the one to predict." },
      { part: "target-embedding", shape: ["B", "M", "d"], name: "embedding", text: "The decoder’s residual stream begins." },
      { part: "masked", shape: ["B", "H", "M", "M"], name: "masked self-attention", text: "The causal mask leaves the lower triangle: no position attends to a later one.", adds: "sum" },
      { part: "cross", shape: ["B", "H", "M", "N"], name: "cross-attention", text: "Queries come from the target’s stream, keys and values from the memory.", adds: "sum" },
      { part: "forward-target", shape: ["B", "M", "hidden"], name: "feed-forward", text: "The same network as in the encoder, with weights of its own.", adds: "output" },
      { part: "logits", shape: ["B", "M", "words"], name: "logits", text: "A linear map gives one logit for each word, at each position at once. The loss compares them with the target’s next words." },
    ];
  }

  gtcourse.pictures = { ...gtcourse.pictures, transformer: stages };
  const place = document.getElementById("transformer");
  if (!place) return;

  const way = stages();
  const HIDDEN = 'd<tspan dy="3" font-size="11">hidden</tspan><tspan dy="-3">&#8203;</tspan>';
  const ORDER = { post: "post-LN, as above", pre: "pre-LN (section 2.9)" };
  let norm = "post";
  let at = 0;
  let drawnAt = 0;

  place.innerHTML = `<p><b>The whole Transformer.</b> Read it from bottom to top. The thick lines are the residual streams of source and target.
      Each sub-layer reads a stream and adds its output to it.</p>
    <div class="question"></div>
    <div class="hold"><div class="ride"><span class="which"></span><input type="range" min="0" max="${way.length - 1}" aria-label="stage of the computation"></div>
      <p class="said" role="status"></p></div>
    <div class="parts"><svg class="whole" role="group" aria-label="parts of the Transformer"></svg>
      <div class="norms" role="group" aria-label="place of the norms">${Object.entries(ORDER).map(([kind, title]) => `<figure data-kind="${kind}"><button type="button" data-norm="${kind}">${title}</button><svg viewBox="0 0 150 152" aria-hidden="true">${small(kind)}</svg>
        <figcaption>${kind === "post" ? "x ← LN(x + f(x)): each norm lies on the stream" : "x ← x + f(LN(x)): the stream has no norm until its end"}</figcaption></figure>`).join("")}</div></div>`;
  const find = (selector) => place.querySelector(selector);
  const all = (selector) => [...place.querySelectorAll(selector)];

  function pill(x, y) {
    return `<rect class="norm" x="${x - 15}" y="${y - 9}" width="30" height="18" rx="9"/><text x="${x}" y="${y}" text-anchor="middle" dominant-baseline="central">LN</text>`;
  }

  function plus(x, y) {
    return `<circle class="sum" cx="${x}" cy="${y}" r="8"/><path class="wire" d="M${x - 4} ${y}h8M${x} ${y - 4}v8"/>`;
  }

  /** One sub-layer beside its stream, with the norm where it is in either kind of block. */
  function small(kind) {
    const [x, box] = [30, 100];
    return `<path class="stream" d="M${x} 148V8"/><path class="wire" d="M${x} 122H${box}V96"/><path class="wire" d="M${box} 66V48H${x + 8}"/>
      <path class="tip" d="M${box - 4} 103l4 -7l4 7z"/><path class="tip" d="M${x + 15} 44l-7 4l7 4z"/><path class="point" d="M${x - 6} 14l6 -12l6 12z"/>
      <rect class="operation" x="${box - 44}" y="66" width="88" height="30" rx="6"/><text x="${box}" y="81" text-anchor="middle" dominant-baseline="central">sub-layer f</text>
      ${plus(x, 48)}${kind === "post" ? pill(x, 26) : pill(x + 36, 122)}`;
  }

  /** A matrix for each head, with the cells that a mask leaves. */
  function heads(x, y, cell, columns, rows, causal) {
    const wide = cell * columns;
    const half = (data.H * wide + (data.H - 1) * cell) / 2;
    return Array.from({ length: data.H }, (_, head) => {
      const left = x - half + head * (wide + cell);
      const steps = Array.from({ length: rows }, (_, row) => `H${left + cell * (row + 1)}V${y + cell * (row + 1)}`).join("");
      return `<rect class="frame" x="${left}" y="${y}" width="${wide}" height="${cell * rows}"/><path class="weights" d="${
        causal ? `M${left} ${y}${steps}H${left}Z` : `M${left} ${y}h${wide}v${cell * rows}h${-wide}Z`}"/>`;
    }).join("");
  }

  const text = (x, y, words, anchor = "middle") => `<text x="${x}" y="${y}" text-anchor="${anchor}" dominant-baseline="central">${words}</text>`;

  /** What is chosen by pointer or key: a box with lines of text and, in attention, matrices before the last line. */
  function part(name, x, y, width, height, lines, kind, matrices) {
    const stage = way.findIndex((each) => each.part === name);
    const tall = matrices ? 24 : 0;
    const first = y + (height - tall) / 2 - 8 * (lines.length - 1);
    const row = (at) => first + 16 * at + (matrices && at === lines.length - 1 ? tall : 0);
    return `<g class="part" data-stage="${stage}" role="button" aria-label="${way[stage].name}"><rect class="${kind}" x="${x}" y="${y}" width="${width}" height="${height}" rx="6"/>
      ${lines.map((line, at) => text(x + width / 2, row(at), line)).join("")}${matrices ? matrices(x + width / 2, row(lines.length - 1) - tall - 7) : ""}</g>`;
  }

  function build() {
    const svg = find(".whole");
    const width = svg.clientWidth || 460;
    drawnAt = place.clientWidth;
    const column = (width - 22) / 2;
    const narrow = column < 190;
    const wide = column - 42;  // of a sub-layer’s box
    const cell = narrow ? 3 : 3.5;
    const attention = (columns, rows, causal) => (x, y) => heads(x, y, cell, columns, rows, causal);
    const masked = narrow ? ["masked", "self-attention"] : ["masked self-attention"];
    const ATTENTION = 57;  // heights: of a box with matrices
    const NETWORK = 36;
    const AROUND = 54;  // of what is around a box
    const END = 24;  // of the last norm
    const HEAD = 36;
    const maskedTall = ATTENTION + 16 * (masked.length - 1);
    const height = 84 + maskedTall + ATTENTION + NETWORK + 3 * AROUND + END + HEAD + 12;
    const base = height - 80;  // where the blocks begin
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.style.height = `${height}px`;
    const sides = { encoder: { stream: 20, box: 40, mark: 1, left: 0 }, decoder: { stream: width - 20, box: width - column + 2, mark: -1, left: width - column } };

    /** A sub-layer from y upwards: its wires, its box, the sum and the norm; gives the y above it. */
    function sublayer(side, y, name, tall, lines, matrices) {
      const { stream, box, mark } = sides[side];
      const near = mark > 0 ? box + 20 : box + wide - 20;  // where wires enter and leave the box
      const top = y - 18 - tall;
      const wires = `<path class="wire" d="M${stream} ${y - 9}H${near}V${y - 18}"/><path class="wire" d="M${near} ${top}V${top - 11}H${stream + 8 * mark}"/>
        <path class="tip" d="M${stream + 15 * mark} ${top - 15}l${-7 * mark} 4l${7 * mark} 4z"/>`;
      return [`${wires}${part(name, box, top, wide, tall, lines, "operation", matrices)}${plus(stream, top - 11)}${
        norm === "post" ? pill(stream, top - 29) : pill((stream + near) / 2, y - 9)}`, top - 36];
    }

    const [one, afterSelf] = sublayer("encoder", base - 4, "self", ATTENTION, ["self-attention", "[B, H, N, N]"], attention(6, 6, false));
    const [two, afterForward] = sublayer("encoder", afterSelf, "forward", NETWORK, ["feed-forward", `[B, N, ${HIDDEN}]`]);
    const [three, afterMasked] = sublayer("decoder", base - 4, "masked", maskedTall, [...masked, "[B, H, M, M]"], attention(4, 4, true));
    const [four, afterCross] = sublayer("decoder", afterMasked, "cross", ATTENTION, ["cross-attention", "[B, H, M, N]"], attention(6, 4, false));
    const [five, afterAll] = sublayer("decoder", afterCross, "forward-target", NETWORK, ["feed-forward", `[B, M, ${HIDDEN}]`]);
    const frame = ({ mark, left }, top, times) => `<rect class="block" x="${left}" y="${top}" width="${column}" height="${base - top}" rx="8"/>
      ${text(mark > 0 ? left + column - 8 : left + 8, top + 13, `× ${times} blocks`, mark > 0 ? "end" : "start")}`;
    const { encoder, decoder } = sides;
    const extra = norm === "pre" ? END : 0;  // one more norm after the last block
    const [encoderTop, decoderTop] = [afterForward, afterAll];
    const memoryY = encoderTop - 22 - extra;
    const headY = decoderTop - 10 - extra - HEAD;
    const crossY = afterMasked - 18 - ATTENTION / 2;
    const bottom = height - 29;
    const key = Math.max(16, memoryY - 118);
    svg.innerHTML = `${frame(encoder, encoderTop, data.layers[0])}${frame(decoder, decoderTop, data.layers[1])}
      <path class="stream" d="M${encoder.stream} ${bottom}V${memoryY + 13}"/><path class="stream" d="M${decoder.stream} ${bottom}V${headY + HEAD}"/>
      <path class="stream" d="M${column - 30} ${memoryY}H${column + 8}V${crossY}H${decoder.box - 8}"/><path class="point" d="M${decoder.box - 10} ${crossY - 6}l10 6l-10 6z"/>
      ${part("source", 0, bottom, column, 28, ["source [B, N]"], "tokens")}${part("target", decoder.left, bottom, column, 28, [narrow ? "shifted target [B, M]" : "target, shifted [B, M]"], "tokens")}
      ${part("source-embedding", 0, base + 8, column, 36, ["words + positions", "[B, N, d]"], "operation")}${part("target-embedding", decoder.left, base + 8, column, 36, ["words + positions", "[B, M, d]"], "operation")}
      ${one}${two}${three}${four}${five}${extra ? pill(encoder.stream, encoderTop - 13) + pill(decoder.stream, decoderTop - 13) : ""}
      ${part("memory", 0, memoryY - 13, column - 22, 26, ["memory [B, N, d]"], "tokens")}
      ${part("logits", decoder.left, headY, column, HEAD, ["linear map", "[B, M, words]"], "tokens")}
      <g class="key">${plus(16, key)}${text(36, key, "sum", "start")}${pill(16, key + 26)}${text(36, key + 26, "LayerNorm", "start")}
      <rect class="frame" x="8" y="${key + 44}" width="16" height="16"/><path class="weights" d="M8 ${key + 44}h16v16h-16z"/>${text(36, key + 52, "weights of a head", "start")}</g>
      ${text(0, memoryY - 30, narrow ? "keys and values →" : "read as keys and values →", "start")}`;
    mark();
  }

  function mark() {
    all("[data-norm]").forEach((button) => button.setAttribute("aria-pressed", button.dataset.norm === norm));
    all(".norms figure").forEach((figure) => figure.classList.toggle("now", figure.dataset.kind === norm));
    all(".part").forEach((each) => {
      const now = Number(each.dataset.stage) === at;
      each.classList.toggle("now", now);
      each.setAttribute("aria-pressed", now);
      each.setAttribute("tabindex", now ? 0 : -1);
    });
    const { name, shape, text, adds } = way[at];
    find("input").value = at;
    find("input").setAttribute("aria-valuetext", name);
    find(".which").textContent = `stage ${at + 1} of ${way.length}`;
    const added = { post: "Its output is added to the stream, and the norm of the sum replaces it.", pre: "It reads the norm of the stream, and its output is added to the stream itself." };
    find(".said").innerHTML = `<b>${name}</b> [${shape.map((axis) => WORDS[axis]).join(", ")}], in the model above [${shape.map((axis) => data[axis]).join(", ")}]. ${text}
      ${adds ? added[norm] : name === "memory" && norm === "pre" ? "In pre-LN it passes one more norm first." : ""}`;
  }

  /** The marked part is brought between the slider, which stays at the upper edge, and the lower edge. */
  function bringIntoView() {
    const [part, above] = [find(".part.now").getBoundingClientRect(), find(".hold").getBoundingClientRect().bottom + 8];
    const by = part.bottom > innerHeight - 8 ? part.bottom - innerHeight + 8 : Math.min(0, part.top - above);
    if (by) scrollBy({ top: by, behavior: "instant" });
  }

  /** The first stage that combines both sequences: its weights have an axis for each. */
  function ask() {
    const right = way.findIndex(({ shape }) => shape.includes("M") && shape.includes("N"));
    const names = ["masked self-attention", "cross-attention", "feed-forward", "logits"];
    const sizes = way[right].shape.map((axis) => data[axis]);
    gtcourse.guess(find(".question"), {
      question: "The decoder predicts the target’s next words. At which of its stages does a vector of the target first depend on the source?",
      answers: names,
      right: names.indexOf(way[right].name),
      about: "the decoder’s stages",
      show: () => {
        at = right;
        mark();
      },
      truth: () => `The masked self-attention before it reads the target alone. In ${way[right].name} the queries come from the target, and the keys and values from the encoder’s output, the
        memory. Its weights [${sizes.join(", ")}] have an axis of ${data.M} target positions and one of ${data.N} source tokens. Follow the batch with the slider, or choose a part.`,
    });
  }

  place.addEventListener("click", ({ target }) => {
    const chosen = target.closest(".part");
    if (chosen) {
      at = Number(chosen.dataset.stage);
      mark();
    } else if (target.dataset.norm) {
      norm = target.dataset.norm;
      build();
    }
  });
  place.addEventListener("input", ({ target }) => {
    at = Number(target.value);
    mark();
    bringIntoView();
  });
  gtcourse.arrows(place, {
    of: ({ dataset }) => [Number(dataset.stage), way.length],
    go: (next) => {
      at = next;
      mark();
      find(".part.now").focus();
    },
    up: 1,  // read from bottom to top
  });
  new ResizeObserver(() => { if (Math.abs(place.clientWidth - drawnAt) > 1) build(); }).observe(place);
  build();
  ask();
})
