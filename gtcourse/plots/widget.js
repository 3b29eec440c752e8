// What the widgets of the chapters share: their look, fields with their errors, and where they are.
gtcourse.widget = (function () {
  "use strict";

  const CSS = (data) => `
    :host { display: block; color: ${data.ink}; font: inherit; line-height: 1.4; margin: .5rem 0;
      --line: color-mix(in srgb, currentColor 35%, transparent); }
    * { box-sizing: border-box; }
    button, select, input { font: inherit; color: inherit; background: transparent;
      border: 1px solid var(--line); border-radius: .3rem; padding: .2rem .5rem; max-width: 100%; }
    button { cursor: pointer; }
    option { color: CanvasText; background: Canvas; }
    input[aria-invalid="true"] { border-color: #d1495b; border-width: 2px; }
    input[type="range"] { padding: 0; width: 100%; height: 1.75rem; accent-color: ${data.mark}; }
    :focus-visible { outline: 2px solid ${data.mark}; outline-offset: 2px; }
    svg { display: block; overflow: visible; } svg text { fill: currentColor; font-size: 13px; }
    .fields { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: start; }
    .field { display: flex; flex-direction: column; font-size: .85em; min-width: 0; }
    .fault { max-width: 22rem; font-weight: 600; } .fault:not(:empty)::before { content: "⚠ "; }
    .number { font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }
    p { margin: .5rem 0 0; font-size: .9em; }`;

  /** Words as HTML. */
  const text = (words) => words.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

  /** An input under its label, with a place for its error. */
  const field = (name, label, attributes) => `<div class="field">
    <label for="${name}">${text(label)}</label>
    <input id="${name}" name="${name}" ${attributes} aria-describedby="${name}-fault">
    <span class="fault" id="${name}-fault" role="alert"></span></div>`;

  /** Shows an error at its field, or none; returns whether there is one. */
  function fault(input, words) {
    input.setAttribute("aria-invalid", Boolean(words));
    input.parentElement.querySelector(".fault").textContent = words;
    return Boolean(words);
  }

  /** Starts a widget wherever its key is on the page; it may be there twice. */
  function mount(kind, data, css, html, start) {
    for (const host of document.querySelectorAll(`[data-${kind}="${data.key}"]`)) {
      if (host.shadowRoot) continue;
      const root = host.attachShadow({ mode: "open" });
      root.innerHTML = `<style>${CSS(data)}${css}</style>${html}`;
      start(root, (selector) => root.querySelector(selector));
    }
  }

  return { text, field, fault, mount };
})();
