// What the widgets of the chapters share: their look, and where they are on the page.
// mount calls start(find, findAll) with what looks for selectors inside the widget.
gtcourse.widget = (function () {
  "use strict";

  const CSS = (data) => `
    :host { display: block; color: var(--pst-color-text-base, ${data.ink}); font: inherit; font-size: .92rem; line-height: 1.45;
      --line: color-mix(in srgb, currentColor 35%, transparent); --quiet: var(--pst-color-text-muted, ${data.ink}); }
    * { box-sizing: border-box; }
    button, select, input { font: inherit; color: inherit; background: transparent;
      border: 1px solid var(--line); border-radius: .3rem; padding: .2rem .5rem; max-width: 100%; }
    button { cursor: pointer; border-radius: 1rem; padding: .15rem .8rem; min-height: 2.1rem; }
    .choices { display: flex; flex-wrap: wrap; gap: .4rem; margin-bottom: .6rem; }
    .ask p { outline: none; } .ask .choices { margin: .4rem 0 .6rem; }
    .hint { color: var(--quiet); } .guessing .answer { visibility: hidden; }
    .again { border: 0; border-radius: .3rem; padding-inline: 0; text-align: left; }
    option { color: CanvasText; background: Canvas; }
    input[type="range"] { padding: 0; width: 100%; height: 1.75rem; accent-color: var(--gtcourse-accent, ${data.mark}); }
    :focus-visible { outline: 2px solid ${data.mark}; outline-offset: 2px; }
    svg { display: block; overflow: visible; } svg text { fill: currentColor; font-size: 13px; }
    .number { font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }
    p { margin: 0 0 .4rem; }
    @media (pointer: coarse), (max-width: 576px) { button, input[type="range"] { min-height: 2.75rem; } }`;

  /** Words as HTML. */
  const text = (words) => words.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

  /** Starts a widget wherever its key is on the page; it may be there twice. `lead` is its title and an instruction. */
  function mount(kind, data, css, lead, html, start) {
    for (const host of document.querySelectorAll(`[data-${kind}="${data.key}"]`)) {
      if (host.shadowRoot) continue;
      const root = host.attachShadow({ mode: "open" });
      root.innerHTML = `<style>${CSS(data)}${css}</style><div class="widget"><p>${lead}</p><div class="question"></div>${html}</div>`;
      start((selector) => root.querySelector(selector),
        (selector) => [...root.querySelectorAll(selector)]);
    }
  }

  return { text, mount };
})();
