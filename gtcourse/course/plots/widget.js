// What the widgets of the chapters share: their look, and where they are on the page.
// mount calls start(find, findAll) with what looks for selectors inside the widget.
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
    input[type="range"] { padding: 0; width: 100%; height: 1.75rem; accent-color: var(--gtcourse-accent, ${data.mark}); }
    :focus-visible { outline: 2px solid ${data.mark}; outline-offset: 2px; }
    svg { display: block; overflow: visible; } svg text { fill: currentColor; font-size: 13px; }
    .number { font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }
    p { margin: .5rem 0 0; font-size: .9em; }`;

  /** Words as HTML. */
  const text = (words) => words.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

  /** Starts a widget wherever its key is on the page; it may be there twice. */
  function mount(kind, data, css, html, start) {
    for (const host of document.querySelectorAll(`[data-${kind}="${data.key}"]`)) {
      if (host.shadowRoot) continue;
      const root = host.attachShadow({ mode: "open" });
      root.innerHTML = `<style>${CSS(data)}${css}</style>${html}`;
      start((selector) => root.querySelector(selector),
        (selector) => [...root.querySelectorAll(selector)]);
    }
  }

  return { text, mount };
})();
