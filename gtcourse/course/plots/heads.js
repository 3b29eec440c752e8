// The heads of an encoder-decoder that runs in the page. `data` is what gtcourse.course.plots.heads_widget
// writes: key, ink, mark, label, words, pattern (of one word), begin and end (their places among
// the words), longest, start, heads, layers [encoder, decoder], and the weights: shapes by name,
// scales (of each row, float32) and numbers (int8), in base64.
//
// Shapes: N words read, M written, T queries, S keys, H heads, d width.
(function (data) {
  "use strict";
  const { linear, plus, relu, layerNorm, dots, softmax, gather, row, stack, number, paint } =
    gtcourse.layers;
  const { text, mount } = gtcourse.widget;
  const H = data.heads;
  const weights = unpack();
  const d = weights["head.weight"].shape[1];

  function unpack() {
    const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
    const scales = new Float32Array(bytes(data.scales));
    const numbers = new Int8Array(bytes(data.numbers));
    let [start, first] = [0, 0];
    return Object.fromEntries(Object.entries(data.shapes).map(([name, shape]) => {
      const width = shape[shape.length - 1];
      const rows = shape.length > 1 ? shape[0] : 1;
      const values = new Float64Array(rows * width).map((_, at) =>
        numbers[start + at] * scales[first + Math.floor(at / width)]);
      [start, first] = [start + rows * width, first + rows];
      return [name, { shape, data: values }];
    }));
  }

  const apply = (x, name) => linear(x, weights[`${name}.weight`], weights[`${name}.bias`]);
  const norm = (x, name) =>
    layerNorm(x, weights[`${name}.weight`], weights[`${name}.bias`], 1e-5);

  function embed(tokens, name) {
    return stack(tokens.map((token, t) =>
      row(weights[`${name}.embedding.weight`], token).map((x, c) => Math.sqrt(d) * x +
        (c % 2 ? Math.cos : Math.sin)(t / 10000 ** ((c - c % 2) / d)))));
  }

  /** x [T, d] attends to memory [S, d]; the weights [H, T, S] join the maps. */
  function attend(x, memory, name, maps, causal = false) {
    const [T, S] = [x.length / d, memory.length / d];
    const later = (at) => at % S > Math.floor(at / S) % T;
    const logits = dots(apply(x, `${name}.query`), apply(memory, `${name}.key`), T, H, S)
      .map((logit, at) => (causal && later(at) ? -Infinity : logit));
    const attention = softmax(logits, S);
    maps.push(attention);
    const z = gather(attention, apply(memory, `${name}.value`), S, null, T);
    return norm(plus(x, apply(z, `${name}.output`)), `${name}_norm`);
  }

  function feedForward(x, name) {
    const inner = relu(apply(x, `${name}.feed_forward.0`));
    return norm(plus(x, apply(inner, `${name}.feed_forward.3`)), `${name}.feed_forward_norm`);
  }

  function encode(source, maps) {
    let x = embed(source, "source_embedding");
    for (let l = 0; l < data.layers[0]; l++) {
      x = attend(x, x, `encoder.layers.${l}.attention`, maps);
      x = feedForward(x, `encoder.layers.${l}`);
    }
    return x;
  }

  /** The likeliest word after the target. */
  function next(target, memory, maps) {
    let y = embed(target, "target_embedding");
    for (let l = 0; l < data.layers[1]; l++) {
      y = attend(y, y, `decoder.layers.${l}.attention`, maps, true);
      y = attend(y, memory, `decoder.layers.${l}.cross_attention`, maps);
      y = feedForward(y, `decoder.layers.${l}`);
    }
    const logits = apply(y.subarray(y.length - d), "head");
    return logits.indexOf(Math.max(...logits));
  }

  /** Every attention for one source, {read, written, attentions}. */
  function run(read) {
    const maps = [];
    const memory = encode(read, maps);
    const target = [data.begin];
    let decoder = [];
    while (target.length <= data.longest && target[target.length - 1] !== data.end) {
      decoder = [];
      target.push(next(target, memory, decoder));
    }
    const written = target.slice(1);
    const attentions = maps.map((map, l) =>
      ({ name: `encoder, layer ${l + 1}`, queries: read, keys: read, map }));
    decoder.forEach((map, at) => attentions.push({
      name: `decoder${data.layers[1] > 1 ? `, layer ${Math.floor(at / 2) + 1}` : ""}, ${
        at % 2 ? "reading the input" : "reading what it wrote"}`,
      queries: written, keys: at % 2 ? read : target.slice(0, -1), map }));
    return { written, attentions };
  }

  const CSS = `
    .field { font-size: .85em; } .field input { width: 100%; font-family: monospace; }
    [aria-invalid="true"] { border: 2px solid #d1495b; }
    #fault { font-size: .85em; font-weight: 600; }
    .line { display: flex; flex-wrap: wrap; gap: .3rem; align-items: center; margin-top: .6rem; }
    .tokens label { position: relative; min-width: 1.8rem; padding: .1rem .3rem;
      text-align: center; cursor: pointer; border: 1px solid var(--line); border-radius: .3rem; }
    .tokens input { position: absolute; opacity: 0; }
    .tokens label:has(:checked) { border: 2px solid ${data.mark}; font-weight: bold; }
    .tokens label:has(:focus-visible) { outline: 2px solid ${data.mark}; outline-offset: 2px; }
    .head { display: flex; gap: .8rem; align-items: start; margin-top: .7rem; font-size: .85em; }
    figure { margin: 0; flex: none; width: 4.2rem; }
    canvas { width: 4.2rem; height: 4.2rem; image-rendering: pixelated; display: block;
      border: 1px solid var(--line); }
    .keys { display: flex; flex-wrap: wrap; row-gap: .2rem; }
    .word { min-width: 1.15rem; text-align: center; padding: 0 1px; }
    .stem { display: flex; align-items: end; justify-content: center; height: 2.4rem;
      border-bottom: 1px solid var(--line); }
    .stem i { width: .7rem; background: ${data.mark}; opacity: .55; }
    .result { margin: .5rem 0 0; }
    .most .stem i { opacity: 1; } .most { font-weight: bold; }`;
  const LEAD = `<b>Look at each head.</b> Type a text and the model runs on it. Choose an attention, and then a symbol to see where its heads look.`;
  const HTML = `<label class="field">${text(data.label)}
      <input autocomplete="off" spellcheck="false" aria-describedby="fault"></label>
    <div id="fault" role="alert"></div>
    <label class="line">attention of the <select></select></label>
    <div class="line tokens" role="radiogroup" aria-label="word"></div>
    <div class="heads"></div><p class="result" role="status"></p>`;

  mount("heads", data, CSS, LEAD, HTML, (find, findAll) => {
    const [input, select] = [find("input"), find("select")];
    let result = null;
    const name = (word) => text(data.words[word]);

    function drawTokens() {
      const { queries } = result.attentions[select.value];
      const words = queries.map((word, i) => `<label><input type="radio" name="word" value="${i}" ${
        i ? "" : "checked"}>${name(word)}</label>`);
      find(".tokens").innerHTML = `<span>${select.value < data.layers[0] ? "of the word" :
        "writing"}</span>${words.join("")}`;
      drawHeads();
    }

    function drawHeads() {
      const { queries, keys, map } = result.attentions[select.value];
      const [T, S] = [queries.length, keys.length];
      const at = Number(find(":checked[name=word]").value);
      const most = [];
      find(".heads").innerHTML = Array.from({ length: H }, (_, head) => {
        const of = map.subarray((head * T + at) * S, (head * T + at + 1) * S);
        const largest = of.indexOf(Math.max(...of));
        most.push(`head ${head + 1} ${name(keys[largest])} (word ${largest + 1}), ${
          number(of[largest], 2)}`);
        const words = keys.map((word, j) => `<span class="word${j === largest ? " most" : ""}"
          title="${number(of[j])}"><span class="stem"><i style="height:${
          100 * of[j]}%"></i></span>${name(word)}</span>`);
        return `<div class="head"><figure><canvas></canvas>head ${head + 1}</figure>
          <div class="keys" aria-hidden="true">${words.join("")}</div></div>`;
      }).join("");
      findAll("canvas").forEach((canvas, head) =>
        paint(canvas, map.subarray(head * T * S, (head + 1) * T * S), S));
      find(".result").innerHTML = `Largest weights of ${name(queries[at])} (word ${at + 1}): ${
        most.join("; ")}.`;
    }

    /** The words typed, or what is wrong with them. */
    function parse(typed) {
      const found = typed.match(new RegExp(data.pattern, "gu")) || [];
      const unknown = found.find((word) => data.words.indexOf(word, data.end + 1) < 0);
      if (!found.length) return { wrong: "Expected at least one symbol." };
      if (found.length > data.longest) {
        return { wrong: `${found.length} symbols; expected at most ${data.longest}.` };
      }
      if (unknown) return { wrong: `The model has never read “${unknown}”. It knows ${
        data.words.slice(data.end + 1).join(" ")}` };
      return { read: [...found.map((word) => data.words.indexOf(word, data.end + 1)), data.end] };
    }

    function read() {
      const { wrong, read: source } = parse(input.value.trim());
      input.setAttribute("aria-invalid", Boolean(wrong));
      find("#fault").textContent = wrong || "";
      if (wrong) return;
      const chosen = select.value;
      result = run(source);
      select.replaceChildren(...result.attentions.map((each, l) => new Option(each.name, l)));
      select.value = chosen || result.attentions.length - 1;
      drawTokens();
    }

    let timer = 0;
    input.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(read, 150);
    });
    select.addEventListener("change", drawTokens);
    find(".tokens").addEventListener("change", drawHeads);
    input.value = data.start;
    read();
  });
})
