// What the pages do themselves; everything can be read without it.
"use strict";

// The theme's own script comes last. Until then a page has both logos and no colours of a mode.
if (document.documentElement.dataset.theme === "auto")
  document.documentElement.dataset.theme =
    matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";

// A reader who wants the core of the chapters alone has said so on an earlier page. The class is there before
// the page is drawn; book.css folds the sections that go deeper (core.py) to their headings.
const CORE_ONLY = "core-only";
let storage = null;
try {
  storage = localStorage;
} catch { /* a browser that keeps nothing */ }
const coreOnlyAtStart = Boolean(storage?.getItem(CORE_ONLY));
document.documentElement.classList.toggle(CORE_ONLY, coreOnlyAtStart);

// The theme opens the search at Ctrl+K and at a button, once its script is there. Until then this does.
const early = new AbortController();

function searchEarly(event) {
  const isKey = (event.ctrlKey || event.metaKey) && event.key?.toLowerCase() === "k";
  if (!isKey && !(event.type === "click" && event.target.closest(".search-button__button"))) return;
  event.preventDefault();
  const field = document.querySelector(".bd-search-container input[name=q]");
  const dialog = document.getElementById("pst-search-dialog");
  if (field && !dialog?.contains(field)) field.focus();
  else if (dialog && !dialog.open) dialog.showModal();
}

addEventListener("keydown", searchEarly, { signal: early.signal });
addEventListener("click", searchEarly, { signal: early.signal });

const PHONE = matchMedia("(max-width: 576px)");

const element = (tag, properties) => Object.assign(document.createElement(tag), properties);

// A formula that is copied becomes its TeX: its letters are drawn by styles, which no clipboard takes.
function copyFormulas() {
  document.addEventListener("copy", (event) => {
    const chosen = getSelection();
    if (chosen.isCollapsed) return;
    const copied = element("div", {});
    copied.append(chosen.getRangeAt(0).cloneContents());
    copied.querySelectorAll(`[data-on=${PHONE.matches ? "laptop" : "phone"}]`).forEach((hidden) => hidden.remove());
    const formulas = copied.querySelectorAll("mjx-container[data-tex]");
    if (!formulas.length) return;
    for (const formula of formulas) {
      const mark = formula.hasAttribute("display") ? "$$" : "$";
      formula.replaceWith(mark + formula.dataset.tex + mark);
    }
    copied.style.cssText = "position: absolute; opacity: 0; pointer-events: none";
    document.body.append(copied);  // what has no place in the page has no lines
    event.clipboardData.setData("text/plain", copied.innerText);
    copied.remove();
    event.preventDefault();
  });
}

// What scrolls sideways is reached with the keyboard, and nothing else becomes a stop on the way.
// While there is more at the right, its edge fades (book.css). Above a table, and on a phone above everything
// that scrolls, words say so as well until it is scrolled; they take no room.
const SCROLLING = `.bd-article :is(pre, .highlight, .output, div.math, mjx-container[display], table,
  .pst-scrollable-table-container, .cell_output div[style*="overflow-x"])`;

function reachScrolling() {
  const all = [...document.querySelectorAll(SCROLLING)];
  const fade = (place) => {
    place.toggleAttribute("data-more", place.tabIndex === 0 &&
      place.clientWidth > 100 && place.scrollLeft + place.clientWidth < place.scrollWidth - 8);
    place.toggleAttribute("data-before", place.scrollLeft > 4);  // under a column that stays in view
  };
  const reach = (places) => {
    const scrolls = places.map((place) => place.scrollWidth > place.clientWidth &&
      getComputedStyle(place).overflowX !== "visible");
    places.forEach((place, at) => {
      if (scrolls[at]) place.tabIndex = 0;
      else if (place.tabIndex === 0) place.removeAttribute("tabindex");
    });
    places.forEach(fade);
  };
  all.forEach(fitTable);
  reach(all);
  const said = PHONE.matches ? "[data-more]" : "table[data-more], .pst-scrollable-table-container[data-more]";
  all.filter((place) => place.matches(said)).forEach(sayMore);
  const sizes = new ResizeObserver((changes) => {
    const places = changes.map((change) => change.target);
    places.forEach(fitTable);  // those of a folded section have no width at first
    reach(places);
    places.filter((place) => place.matches(said)).forEach(sayMore);
  });
  all.forEach((place) => sizes.observe(place));
  all.forEach((place) => place.addEventListener("scroll", () => fade(place), { passive: true }));
  document.fonts.addEventListener("loadingdone", () => reach(all));
  if (PHONE.matches) {
    reachFormulas();
    document.fonts.addEventListener("loadingdone", reachFormulas);
  }
}

// On a phone, a formula in a line of text scrolls if it is wider than the line. A short one whose last sign
// leans out of its box does not.
function reachFormulas() {
  const formulas = [...document.querySelectorAll(".bd-article span.math")]
    .map((formula) => [formula, formula.scrollWidth - formula.clientWidth, formula.clientWidth]).filter(([, over]) => over > 0);
  for (const [formula, over, width] of formulas)
    if (width < 100 && over <= 8) formula.style.overflow = "visible";
    else if (over > 1) formula.tabIndex = 0;
}

const saidOf = new WeakSet();  // places of which words have said that they scroll

function sayMore(place) {
  if (saidOf.has(place)) return;
  saidOf.add(place);
  const words = element("span", { className: "more", textContent: "scroll →", ariaHidden: "true" });
  let outermost = place;  // what clips, would clip the words as well; what is folded, folds them
  for (let above = place; !above.matches(".bd-article, details"); above = above.parentElement)
    if (getComputedStyle(above).overflowX !== "visible") outermost = above;
  if (outermost.previousElementSibling?.matches(".more")) return;
  outermost.before(words);
  place.addEventListener("scroll", () => words.remove(), { once: true, passive: true });
}

// On a phone, the column with a table's result stands beside the names of its rows, and next to it how
// far this is from the published one, or with how much of its training.
const RESULT = /^(test|validation )?\s*(mae|error|ours|accuracy|f1|ours, mae|this\srun|our mae, .*)$/i;
const OF_PAPERS = /^(paper|published)$/i;  // beside such a column, "test" is the result as well
const GAP = /^(difference|share)$/i;

function resultFirst() {
  if (!PHONE.matches) return;
  for (const table of document.querySelectorAll(".bd-article table:has(thead)")) {
    if (table.querySelector("[colspan], [rowspan]")) continue;
    const heads = [...[...table.tHead.rows].at(-1).cells].map((head) => head.textContent.trim());
    const results = heads.some((head) => OF_PAPERS.test(head)) && heads.includes("test") ? /^test$/ : RESULT;
    [results, GAP].forEach((wanted, place) => {
      const column = heads.findIndex((head) => wanted.test(head));
      if (column < place + 2) return;
      for (const row of table.rows) row.cells[place]?.after(row.cells[column] ?? "");
    });
  }
}

// A table that is too wide gets smaller letters, on a laptop after the names of its rows may break. What
// still does not fit scrolls, on a phone beside names of rows that take neither much of its width nor many lines.
const FITTING = ["names", "names small"];
const FITTING_ON_PHONE = ["small", "smaller"];
const fittedTo = new WeakMap();  // the width that a table was last fitted to

function fitTable(frame) {
  const table = frame.tagName === "TABLE" ? frame : frame.querySelector(":scope > table");
  if (frame === table && frame.parentElement.matches(".pst-scrollable-table-container")) return;  // fitted by that
  if (!table || fittedTo.get(frame) === frame.clientWidth) return;
  fittedTo.set(frame, frame.clientWidth);
  delete table.dataset.fit;  // in a wider window it may fit without
  if (frame.scrollWidth <= frame.clientWidth) return;
  for (const step of PHONE.matches ? FITTING_ON_PHONE : FITTING) {
    table.dataset.fit = step;
    if (frame.scrollWidth <= frame.clientWidth) return;
  }
  delete table.dataset.fit;
  if (PHONE.matches) fitNames(frame, table);
}

const MOST_OF_NAMES = 0.4;  // of a phone's column
const NARROW_NAMES = 88;  // pixels that they may be narrowed to where the table then fits

function fitNames(frame, table) {
  const names = [...table.querySelectorAll("tbody td:first-child")];
  if (names.length < 2 || names.some((name) => name.querySelector("code"))) return;
  table.dataset.fit = "measured";  // each name in one line
  const widths = names.map((name) => {
    const range = document.createRange();
    range.selectNodeContents(name);
    return range.getBoundingClientRect().width;
  });
  const { paddingLeft, paddingRight } = getComputedStyle(names[0]);
  const beside = parseFloat(paddingLeft) + parseFloat(paddingRight) + 2;
  const formulas = names.flatMap((name) => [...name.querySelectorAll("mjx-container")]);  // these do not break
  const least = beside + Math.max(0, ...formulas.map((formula) => formula.getBoundingClientRect().width));
  const width = Math.ceil(Math.max(least, Math.min(beside + Math.max(...widths), MOST_OF_NAMES * frame.clientWidth)));
  const set = (pixels) => table.style.setProperty("--names", `${pixels}px`);
  set(width);
  table.dataset.fit = "scrolls";
  const narrower = width - (frame.scrollWidth - frame.clientWidth);
  if (narrower < width && narrower >= Math.max(least, NARROW_NAMES)) set(narrower);
  if (frame.scrollWidth > frame.clientWidth) set(width);
}

// A click on a figure, or the button below it (figures.py), opens it with its scale and its caption: at its own
// size or, where the window has more room, as large as fits. A drawing's viewBox is in points, of which a pixel
// is three quarters. A click on a diagram chooses a box, so only its button opens it.
function enlargeFigures() {
  for (const button of document.querySelectorAll(".bd-article .enlarge")) {
    const drawing = button.parentElement.querySelector(DRAWING);
    const width = drawing.viewBox ? drawing.viewBox.baseVal.width * 4 / 3 : Number(drawing.getAttribute("width"));
    button.addEventListener("click", () => show(drawing, width));
    if (!drawing.closest(".diagram")) drawing.addEventListener("click", () => show(drawing, width));
  }
}

const DRAWING = ":is(img, svg[role=img])";  // there is one in a figure that can be enlarged
const ROOM = [40, 125];  // pixels beside an enlarged figure, and above and below it

function show(drawing, own) {
  const { width: shown, height } = drawing.getBoundingClientRect();
  const figure = drawing.closest("figure");
  const below = figure.getBoundingClientRect().bottom - drawing.getBoundingClientRect().bottom;
  const width = Math.max(own, Math.min(innerWidth - ROOM[0], (innerHeight - ROOM[1] - below) * shown / height));
  const dialog = Object.assign(document.createElement("dialog"), { className: "enlarged",
    ariaLabel: figure.querySelector("figcaption strong")?.textContent.trim() || "Figure" });
  const copy = figure.cloneNode(true);
  copy.removeAttribute("id");
  copy.querySelectorAll(".enlarge, .said").forEach((part) => part.remove());
  const picture = copy.querySelector(DRAWING);
  picture.style.cssText = `width: ${Math.round(width)}px; max-width: none !important; height: auto; margin-inline: auto`;
  const close = Object.assign(document.createElement("button"), { textContent: "Close", type: "button" });
  close.addEventListener("click", () => dialog.close());
  const frame = document.createElement("div");
  frame.tabIndex = 0;
  frame.append(copy);
  dialog.append(close, frame);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

// The theme's arrows that unfold a part of the contents say nothing to a screen reader.
function nameArrows() {
  for (const arrow of document.querySelectorAll(".bd-sidebar-primary summary"))
    arrow.setAttribute("aria-label", `pages of ${
      arrow.closest("li")?.querySelector("a")?.textContent.trim() ?? "this part"}`);
}

// The list of the book's pages opens where this page is, or else at its top. The theme leaves it where it was
// on the page before.
function showPageInList() {
  document.getElementById("pst-secondary-sidebar-modal")?.addEventListener("click", closeForLink);
  const show = () => {
    const entry = [...document.querySelectorAll(".bd-links a.current")].at(-1);
    const list = entry?.closest(".bd-sidebar-primary, dialog");
    if (!list) {
      document.querySelector(".bd-sidebar-primary")?.scrollTo(0, 0);
      return;
    }
    const [at, seen] = [entry.getBoundingClientRect(), list.getBoundingClientRect()];
    if (at.top < seen.top || at.bottom > Math.min(seen.bottom, innerHeight))
      list.scrollTop += at.top - seen.top - list.clientHeight / 3;
    showWholeLines(list);
  };
  setTimeout(show);  // after the theme's own, which the same event begins
  const dialog = document.getElementById("pst-primary-sidebar-modal");  // on a phone
  if (dialog) new MutationObserver(show).observe(dialog, { attributeFilter: ["open"] });
}

// The search field stays above the list. A line that its lower edge would cut comes into view.
function showWholeLines(list) {
  const field = list.querySelector(".sidebar-primary-item:has(.search-button-field)");
  if (!field || !list.scrollTop) return;
  const edge = field.getBoundingClientRect().bottom;
  const cut = [...list.querySelectorAll(".caption, .bd-links a")].map((line) => line.getBoundingClientRect())
    .find(({ top, bottom, height }) => height && top < edge && bottom > edge);
  if (cut) list.scrollTop -= edge - cut.top;
}

// Which section the reader is in: the last whose heading has passed a line below the upper edge or, at the
// end of the page, the last on the screen. A section that a link has led to is it until the reader moves
// on: it may be too near the end to reach the line. `tell` gets its entry in the contents, or null.
const LINE = 72;
const MOVES = ["wheel", "touchmove", "keydown", "pointerdown"];

function watchSections(tell) {
  const links = [...document.querySelectorAll(".bd-sidebar-secondary .nav-link[href^='#']")];
  const entries = links.map((link) => [link, document.getElementById(decodeURIComponent(link.hash.slice(1)))])
    .filter(([, section]) => section);
  if (!entries.length) return;
  let ledTo = null;
  const top = ([, section]) => (section.offsetParent ? section.getBoundingClientRect().top : Infinity);  // or folded
  const update = () => {
    const { scrollHeight } = document.documentElement;
    const line = scrollY > 0 && scrollY + innerHeight > scrollHeight - 4 ? innerHeight - LINE : LINE;
    tell((ledTo ?? entries.filter((entry) => top(entry) < line).at(-1))?.[0] ?? null);
  };
  let asked = false;
  const ask = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      update();
    });
  };
  const followLink = () => {
    ledTo = entries.find(([link]) => link.hash === location.hash) ?? null;
    ask();
  };
  for (const move of MOVES) addEventListener(move, () => { ledTo = null; }, { passive: true });
  addEventListener("hashchange", followLink);
  addEventListener("click", ({ target }) => target.closest("a")?.hash && setTimeout(followLink));
  addEventListener("scroll", ask, { passive: true });
  addEventListener("resize", ask);
  followLink();
  update();
}

// The theme's own marking of the contents, of the list with this name, loses the reader who scrolls fast or
// jumps. Its script runs once the page is parsed, so the name is gone by then.
document.addEventListener("readystatechange", () =>
  document.querySelector(".bd-sidebar-secondary #pst-page-toc-nav")?.removeAttribute("id"), { once: true });

// The list of a page's contents marks the entry of the section that is read, and keeps it in view.
function followReader() {
  const list = document.querySelector(".bd-sidebar-secondary");
  let active = [];  // the entry and the items of the list that contain it
  const keepInView = () => {
    if (!active.length) return;
    const at = active[0].getBoundingClientRect();
    const seen = list.getBoundingClientRect();
    if (at.top < seen.top || at.bottom > seen.bottom) list.scrollTop += at.top - (seen.top + seen.bottom) / 2;
  };
  if (list) new ResizeObserver(keepInView).observe(list);
  watchSections((entry) => {
    if (entry === (active[0] ?? null)) return;
    active[0]?.removeAttribute("aria-current");
    active.forEach((each) => each.classList.remove("active"));
    active = [];
    if (!entry) return;
    for (let part = entry; part; part = part.parentElement.closest(".toc-entry")) active.push(part);
    active.forEach((each) => each.classList.add("active"));
    entry.setAttribute("aria-current", "true");
    keepInView();
  });
}

// On a phone, the theme's bar of buttons goes away with the top of the page. Further down there is a lower
// one, with the section that is read; its title opens the page's contents.
function showWhere() {
  const theirs = document.querySelector(".bd-header-article");
  const contents = theirs?.querySelector(".secondary-toggle");
  if (!contents || !document.querySelector(".bd-sidebar-secondary .nav-link[href^='#']")) return;
  const bar = element("nav", { className: "where d-print-none", ariaLabel: "Where you are", hidden: true });
  const button = (name, label, toggle) => {
    const made = element("button", { type: "button", className: name, ariaLabel: label });
    made.addEventListener("click", () => theirs.querySelector(toggle).click());
    return made;
  };
  const title = button("section", "", ".secondary-toggle");
  const pages = button("pages", "Pages of the book", ".primary-toggle");
  const search = button("find", "Search", ".search-button");
  const next = element("button", { type: "button", className: "next" });
  const back = element("button", { type: "button", className: "back", hidden: true });
  pages.innerHTML = '<span class="fa-solid fa-bars"></span>';
  search.innerHTML = '<span class="fa-solid fa-magnifying-glass"></span>';
  next.innerHTML = '<span class="fa-solid fa-chevron-down"></span>';
  back.textContent = "↩";
  title.removeAttribute("aria-label");
  title.append(element("span", {}), element("span", { className: "fa-solid fa-list", ariaHidden: "true" }));
  bar.append(back, pages, title, next, search);
  theirs.append(bar);  // beside it, the styles of the whole article would be computed again
  document.documentElement.classList.add("has-where");
  const links = [...document.querySelectorAll(".bd-sidebar-secondary .nav-link[href^='#']")];
  let here = null;
  // The place that a link has led away from: its section, where that was, and what the reader sees instead. What
  // the link unfolds may lie above it.
  let left = null;
  const isLeftOut = (section) => document.documentElement.classList.contains(CORE_ONLY) && section.closest("section.deeper:not(.open)");
  const nextOf = (entry) => links.slice(links.indexOf(entry) + 1).find((link) => {
    const section = document.getElementById(decodeURIComponent(link.hash.slice(1)));
    return section?.offsetParent && !isLeftOut(section);
  });
  const setLeft = (place) => {
    left = place;
    back.hidden = !left;
    if (left) back.ariaLabel = `Back to where you were: ${left.name}`;
  };
  const moved = () => left.section.getBoundingClientRect().top - left.top;
  next.addEventListener("click", () => {
    const following = nextOf(here);
    if (following) location.replace(following.hash);
  });
  back.addEventListener("click", () => {
    scrollBy({ top: moved() });
    setLeft(null);
    title.focus({ preventScroll: true });
  });
  addEventListener("click", ({ target }) => {
    const link = target.closest("a");
    if (!link?.hash || link.href.split("#")[0] !== location.href.split("#")[0] || !here) return;
    const section = document.getElementById(decodeURIComponent(here.hash.slice(1)));
    setLeft({ section, top: section.getBoundingClientRect().top, name: here.textContent.trim() });
  }, { capture: true });
  watchSections((entry) => {
    bar.hidden = !entry || theirs.getBoundingClientRect().bottom > 0;
    const words = entry?.textContent.trim() ?? "Contents";  // hidden then, but a button has a name
    if (title.firstChild.textContent !== words) title.firstChild.textContent = words;
    here = entry;
    const following = nextOf(entry);
    next.hidden = !following;
    if (following) next.ariaLabel = `Next section: ${following.textContent.trim()}`;
    if (!left) return;
    left.to ??= entry;
    if (entry !== left.to || Math.abs(moved()) < innerHeight / 2) setLeft(null);  // the reader has gone on, or back
  });
}

// A reader who comes back to a long page is offered the section that was left. The offer goes when the reader has
// scrolled by a screen.
const PLACES = "places";
const MOST_PLACES = 40;  // pages that are remembered, the latest

function offerPlace() {
  const links = [...document.querySelectorAll(".bd-sidebar-secondary .nav-link[href^='#']")];
  if (!storage || !/\/notebooks\/\d/.test(location.pathname) || links.length < 4) return;
  const placesByPage = () => {
    try {
      return JSON.parse(storage.getItem(PLACES)) ?? {};
    } catch {
      return {};  // what something else has stored
    }
  };
  const { [location.pathname]: hash } = placesByPage();
  const at = links.findIndex((link) => link.hash === hash);
  if (at > 0 && at < links.length - 1 && !location.hash && scrollY < innerHeight / 2) {
    const offer = element("p", { className: "left-off d-print-none" });
    const close = element("button", { type: "button", textContent: "×", ariaLabel: "Close" });
    offer.append("You were at ", element("a", { href: hash, textContent: links[at].textContent.trim() }), close);
    document.querySelector(".bd-article").prepend(offer);
    const remove = () => offer.remove();
    offer.addEventListener("click", remove);
    addEventListener("scroll", () => scrollY > innerHeight && remove(), { passive: true });
  }
  let stored = null;
  watchSections((entry) => {
    if (!entry || entry === stored || (links.indexOf(entry) < 1 && !hash)) return;
    stored = entry;
    const { [location.pathname]: _, ...others } = placesByPage();  // of another tab, too
    const kept = Object.entries(others).slice(1 - MOST_PLACES);
    try {
      storage.setItem(PLACES, JSON.stringify(Object.fromEntries([...kept, [location.pathname, entry.hash]])));
    } catch { /* a browser whose storage is full offers nothing */ }
  });
}

// On a phone, the theme's buttons that start, download and edit a page wait behind one (book.css).
function offerMoreButtons() {
  const bar = document.querySelector(".bd-header-article .article-header-buttons");
  if (!bar?.querySelector(".dropdown")) return;
  const more = element("button", { type: "button", className: "btn btn-sm more-buttons",
    ariaLabel: "Run, download or edit this page", ariaExpanded: "false", textContent: "⋯" });
  more.addEventListener("click", () => { more.ariaExpanded = bar.classList.toggle("all"); });
  bar.querySelector(".theme-switch-button").before(more);
}

// Under a chapter's title, a switch (core.py) leaves the core. A folded section opens at its button, and for a link
// that leads into it.
function offerCore() {
  const deeper = [...document.querySelectorAll(".bd-article section.deeper")];
  const box = document.querySelector(".bd-article label.core-only input");
  if (!deeper.length || !box) return;
  const buttons = deeper.map((section) => {
    const button = element("button", { type: "button", className: "unfold" });
    button.addEventListener("click", () => setOpen(section, !section.classList.contains("open")));
    section.querySelector(":scope > h2").append(button);
    return button;
  });
  function setOpen(section, isOpen) {
    section.classList.toggle("open", isOpen);
    const button = buttons[deeper.indexOf(section)];
    button.textContent = isOpen ? "Hide" : "Show";
    button.ariaExpanded = isOpen;
  }
  box.checked = coreOnlyAtStart;
  box.addEventListener("change", () => {
    document.documentElement.classList.toggle(CORE_ONLY, box.checked);
    deeper.forEach((section) => setOpen(section, false));
    try {
      if (box.checked) storage?.setItem(CORE_ONLY, "yes");
      else storage?.removeItem(CORE_ONLY);
    } catch { /* a browser whose storage is full forgets the choice */ }
  });
  const openTarget = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const section = target && target.closest("section.deeper");
    if (!section || !box.checked || section.classList.contains("open")) return;
    setOpen(section, true);
    target.scrollIntoView();
  };
  deeper.forEach((section) => setOpen(section, false));
  addEventListener("hashchange", openTarget);
  addEventListener("click", ({ target }) => target.closest("a")?.hash && setTimeout(openTarget));
  openTarget();
}

// On a phone, long code is folded to a line that opens it (fold.py), also for a link to a place in it.
function openCode() {
  const turn = (fold, isOpen) => fold?.setAttribute("aria-expanded", isOpen);
  for (const fold of document.querySelectorAll(".bd-article .fold"))
    fold.addEventListener("click", () => turn(fold, fold.getAttribute("aria-expanded") !== "true"));
  const openTarget = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const fold = target && target.closest(".bd-article :has(> .fold)")?.querySelector(":scope > .fold");
    if (!fold || fold.getAttribute("aria-expanded") === "true") return;
    turn(fold, true);
    target.scrollIntoView();
  };
  addEventListener("hashchange", openTarget);
  openTarget();
}

// A field that leaves, of the terms or the rows of tables in its section, only those with all of its words.
// A section in it whose table has no row left is hidden with the table. A word that names rows, in their first
// column or in the heading above them, is not looked for in other columns, unless the reader asks for these.
function addFilter() {
  const place = document.querySelector(".bd-article .filter");
  if (!place) return;
  const what = document.querySelector(".bd-article dl.glossary") ? "terms" : "rows";
  const scope = place.closest("section");
  const rows = [...scope.querySelectorAll(":is(table tbody tr, dl.glossary dt)")]
    .map((row) => (what === "terms" ? [row, row.nextElementSibling] : [row]));
  const sections = new Set(rows.map(([row]) => row.closest("section")).filter((section) => section !== scope));
  const written = (parts) => parts.map((each) => each.textContent).join("\n").toLowerCase();
  const headings = new Map([...sections].map((section) => [section, section.querySelector("h2, h3, h4")]));
  const texts = rows.map((row) => {
    const heading = headings.get(row[0].closest("section"));
    return { all: written(row), name: what === "terms" ? "" : written([row[0].cells[0], ...(heading ? [heading] : [])]) };
  });
  const label = Object.assign(document.createElement("label"),
    { textContent: `Filter ${what} ` });
  const field = Object.assign(document.createElement("input"), { type: "search" });
  const count = Object.assign(document.createElement("output"), { textContent: "" });
  const wider = element("button", { type: "button", className: "wider", hidden: true });
  label.append(field);
  place.append(label, " ", count, " ", wider);
  let everywhere = false;
  const filter = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const naming = new Set(words.filter((word) => texts.some(({ name }) => name.includes(word))));
    const inAll = texts.map(({ all, name }) => words.every((word) => all.includes(word) || name.includes(word)));
    const byName = texts.map(({ name }, at) => inAll[at] && words.every((word) => !naming.has(word) || name.includes(word)));
    const total = (fits) => fits.filter(Boolean).length;
    const fits = everywhere || !total(byName) ? inAll : byName;
    rows.forEach((row, at) => row.forEach((each) => { each.hidden = !fits[at]; }));
    sections.forEach((section) => { section.hidden = !section.querySelector(":is(tbody tr, dt):not([hidden])"); });
    count.textContent = total(fits) ? `${total(fits)} of ${rows.length} ${what}` : `No ${what.slice(0, -1)} has all of this. Try fewer letters or another word.`;
    wider.hidden = total(inAll) === total(byName) || !total(byName);
    wider.textContent = everywhere ? `Only the ${total(byName)} with this name` : `Also the ${total(inAll) - total(byName)} with this in another column`;
    markWords(rows.filter((_, at) => fits[at]).flat(), words);
  };
  field.addEventListener("input", () => {
    everywhere = false;
    filter();
  });
  wider.addEventListener("click", () => {
    everywhere = !everywhere;
    filter();
  });
}

/** Marks words in parts of the page, in browsers that can do so without changing it. */
function markWords(parts, words) {
  if (!CSS.highlights) return;
  const found = [];
  for (const part of parts) {
    const texts = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode.data.toLowerCase();
      for (const word of words) {
        for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
          const range = new StaticRange({ startContainer: texts.currentNode, startOffset: at, endContainer: texts.currentNode, endOffset: at + word.length });
          found.push(range);
        }
      }
    }
  }
  CSS.highlights.set("filtered", new Highlight(...found));
}

// On a page that asks for it, a table is sorted by the column whose head is pressed.
function addSorting() {
  if (!document.querySelector(".bd-article .sortable")) return;
  for (const table of document.querySelectorAll(".bd-article table")) {
    const rows = [...table.tBodies[0].rows];
    const heads = [...table.tHead.rows[0].cells];
    if (rows.length < 3 || rows.some((row) => !row.cells[0].textContent.trim())) continue;
    const isNumber = (text) => /^[−+-]?\d/.test(text.trim());
    const hasNumbers = heads.some((_, column) => rows.every((row) => isNumber(row.cells[column]?.textContent ?? "")));
    if (rows.length < 5 && !hasNumbers) continue;  // a few rows of prose
    heads.forEach((head, column) => {
      const button = Object.assign(document.createElement("button"),
        { type: "button", className: "sort", textContent: head.textContent.trim() });
      (head.querySelector("p") ?? head).replaceChildren(button);
      button.addEventListener("click", () => {
        const order = head.ariaSort === "ascending" ? "descending" : "ascending";
        heads.forEach((each) => { each.ariaSort = null; });
        head.ariaSort = order;
        const key = (row) => row.cells[column].innerText.trim();  // without a phone's label
        const number = (text) => parseFloat(text.replaceAll(",", ""));
        const compare = (a, b) => number(a) - number(b) || a.localeCompare(b);
        rows.sort((a, b) => (order === "ascending" ? 1 : -1) * compare(key(a), key(b)));
        table.tBodies[0].append(...rows);
      });
    });
  }
}

const root = () => document.documentElement.dataset.content_root ?? "./";

// Scripts that are loaded together run in order.
const loadFrom = (src) => new Promise((resolve, reject) => document.head.append(
  element("script", { src, async: false, onload: resolve, onerror: reject })));
const load = (name) => loadFrom(`${root()}_static/${name}.js`);

// Answers while the reader types: in the dialog of Ctrl+K, on the search page and where a page is
// missing. What the search needs is loaded at the first key.
let searching = null;
let canAnswer = false;
const prepareSearch = () => (searching ??= Promise.all(["language_data", "sections", "search"].map(load))
  .then(() => sectionsReady).then(() => { canAnswer = true; }));

/** Leaves only this in a place for answers, in a line that is read out when it changes. search.js uses it. */
function announced(place, words) {
  const line = place.querySelector("[role=status]") ?? place.appendChild(element("p"));
  line.setAttribute("role", "status");
  line.textContent = words;
  while (line.nextSibling) line.nextSibling.remove();
  return line;
}

function searchWhileTyping() {
  const dialog = document.getElementById("pst-search-dialog");
  const page = document.getElementById("search-results");
  const asked = new URLSearchParams(location.search).get("q") ?? "";
  for (const form of document.querySelectorAll("form.bd-search")) {
    const field = form.querySelector("input[name=q]");
    const inDialog = dialog?.contains(form);
    const place = Object.assign(document.createElement("div"), { className: "section-results" });
    announced(place, "");  // before there is anything to read out, or nobody listens
    if (page && !inDialog) {
      place.id = "section-results";
      page.replaceWith(place);
    } else form.after(place);
    const show = async () => {
      if (!canAnswer && field.value.trim()) announced(place, "Searching …");
      try {
        await prepareSearch();
      } catch {
        announced(place, "DecompressionStream" in window
          ? "The search could not be loaded. Reload the page to try again."
          : "This browser is too old for the search. The table of contents lists all sections.");
        return;
      }
      answer(field.value, place, root(), inDialog ? 6 : 30);
    };
    field.autocomplete = "off";
    if (inDialog) {
      form.append(closing(dialog));
      dialog.addEventListener("click", closeForLink);
      dialog.addEventListener("close", returnFocus);
    }
    field.addEventListener("input", show);
    if (!inDialog && asked) field.value = asked;
    if (field.value && (!inDialog || dialog.open)) show();  // the reader may have typed before
    form.parentElement.addEventListener("keydown", (event) => {  // up and down through what is found
      const links = [field, ...place.querySelectorAll("a")];
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const at = links.indexOf(document.activeElement);
      if (!step || at < 0) return;
      event.preventDefault();
      links[Math.max(0, Math.min(links.length - 1, at + step))].focus();
    });
  }
}

// A result on the same page loads no page, so the dialog would stay over it, as would a phone's list of contents.
// The reader is then at the result, and not at the button of the search.
const FOLLOWED = "followed";

function closeForLink(event) {
  const link = event.target.closest("a");
  if (!link?.hash || link.href.split("#")[0] !== location.href.split("#")[0]) return;
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;  // it opens elsewhere
  this.returnValue = FOLLOWED;
  this.close();
}

// When the search closes and nothing else gets the focus, its button does.
function returnFocus() {
  const isFollowed = this.returnValue === FOLLOWED;
  this.returnValue = "";
  if (isFollowed) return;
  setTimeout(() => {
    if (document.activeElement !== document.body) return;
    [...document.querySelectorAll(".search-button__button, .where .find, .search-button")].find((button) => button.checkVisibility())?.focus({ preventScroll: true });
  });
}

// A phone has no Escape; book.css shows the button there.
function closing(dialog) {
  const button = element("button", { type: "button", className: "close-search", ariaLabel: "Close the search", textContent: "×" });
  button.addEventListener("click", () => dialog.close());
  return button;
}

// The explainer in a chapter (explainer.py) weighs as much as the chapter, so it is loaded at a click.
function embedExplainer() {
  const button = document.querySelector("button.open-explainer");
  const guesses = document.querySelectorAll(".run-here .choices button");
  for (const guess of guesses)
    guess.addEventListener("click", () => guesses.forEach((each) => { each.ariaPressed = each === guess; }));
  button?.addEventListener("click", async () => {
    button.disabled = true;
    for (const name of ["models", "view", "data"]) await load(`explainer/${name}`);
    button.remove();
  });
}

// A picture to play with (pictures.py, twins.py) or a widget (widgets.py) loads its script and its data when the
// reader comes near. If they cannot be loaded, its still and a sentence stand there until the reader comes near again.
const NEAR = "1500px 0px";

function loadWhenNear() {
  const loading = new Set();
  const observer = new IntersectionObserver((places) => {
    for (const { isIntersecting, target } of places) if (isIntersecting) fill(target);
  }, { rootMargin: NEAR });

  async function fill(place) {
    if (loading.has(place)) return;
    loading.add(place);
    try {
      await loadFrom(place.dataset.script);
      observer.unobserve(place);
      keepHeight(place);
      removeFailure(place);
    } catch {
      removeFailure(place);
      sayNotLoaded(place);
    }
    loading.delete(place);
  }

  for (const place of document.querySelectorAll("[data-script]")) {
    addStill(place);
    observer.observe(place);
  }
}

// What a picture says gets longer and shorter while it is played with. It keeps the largest height that it has had at
// a width of its place, so that the text below it stays where it is. pictures.css reserves most of it at once.
function keepHeight(place) {
  let width = 0;
  const keep = () => {
    if (width) place.style.minHeight = `${place.getBoundingClientRect().height}px`;
  };
  new ResizeObserver(() => {
    if (place.offsetWidth === width) return keep();
    width = place.offsetWidth;
    place.style.minHeight = "";
    requestAnimationFrame(keep);  // when it has been drawn for the new width
  }).observe(place);
}

// A browser prints without waiting for scripts, so that a picture that is not drawn yet is printed as its still
// (pictures.css). The image is fetched only then, or where the script could not be loaded.
function addStill(place) {
  const instead = place.querySelector(":scope > noscript");
  if (!instead) return;  // of a widget, which shows a table until it is drawn
  const parsed = element("template", { innerHTML: instead.textContent });
  parsed.content.querySelector("img").loading = "lazy";
  const still = element("div", { className: "still" });
  still.append(parsed.content);
  place.append(still);
}

function sayNotLoaded(place) {
  place.classList.add("failed");
  place.append(element("p", { className: "not-loaded d-print-none",
    textContent: "What you can play with here could not be loaded. Scroll away and come back to try again." }));
}

function removeFailure(place) {
  place.classList.remove("failed");
  place.querySelector(":scope > .not-loaded")?.remove();
}

const AT_REST = 600;  // milliseconds without a change

// A sentence that changes with every step of a slider or of a drag is read out once, when that rests: a screen
// reader reads what is put into a line again.
function readOutAtRest() {
  const timers = new Map();
  const placeOf = (part) => (part.getRootNode() === document ? part.closest?.(".picture, #live, #twins") : part.getRootNode());
  const wait = (event) => {
    const [part] = event.composedPath();
    const isMoved = event.type === "input" ? part.matches?.("input[type=range]") : event.buttons > 0;
    if (!isMoved || !part.getRootNode) return;
    for (const line of placeOf(part)?.querySelectorAll("[role=status]") ?? []) {
      line.setAttribute("aria-live", "off");
      clearTimeout(timers.get(line));
      timers.set(line, setTimeout(() => {
        line.removeAttribute("aria-live");
        line.append(...line.childNodes);
      }, AT_REST));
    }
  };
  for (const type of ["input", "pointermove"]) document.addEventListener(type, wait, { capture: true, passive: true });
}

// A promise that the page has been prepared, for the tests. Pictures to play with come later, when the reader is near.
window.bookReady = new Promise((done) => addEventListener("DOMContentLoaded", () => {
  offerMoreButtons();
  showWhere();
  offerPlace();
  enlargeFigures();
  nameArrows();
  offerCore();
  openCode();
  showPageInList();
  followReader();
  addFilter();
  resultFirst();
  searchWhileTyping();
  addSorting();
  embedExplainer();
  loadWhenNear();
  copyFormulas();
  reachScrolling();
  readOutAtRest();
  early.abort();
  done();
}));
