// The search page: sections in order of relevance, each with the sentence that answers.
"use strict";

function search(query, sections) {
  const words = query.toLowerCase().match(/[\p{L}\p{N}-]+/gu) ?? [];
  if (!words.length) return [];
  const phrase = words.join(" ");
  const stem = (word) => word.replace(/(?<=\w{3})(es|s|ing|ed)$/, "");
  const patterns = words.map((word) => new RegExp(`(?<![\\p{L}])${stem(word)}`, "giu"));
  const score = (section) => {
    const title = section.title.toLowerCase(), text = section.text.toLowerCase();
    const length = 200 + text.length;
    let total = 0;
    for (const pattern of patterns) {
      const inTitle = title.match(pattern)?.length ?? 0, inText = text.match(pattern)?.length ?? 0;
      const onPage = section.page.match(pattern) ? 1 : 0;
      if (!inTitle && !inText && !onPage) return 0;
      total += 8 * Math.min(inTitle, 1) + onPage + Math.min(6, 400 * inText / length);
    }
    if (words.length > 1) {
      if (title.includes(phrase)) total += 20;
      total += Math.min(12, 3000 * (text.split(phrase).length - 1) / length);
    }
    if (section.title.startsWith("Exercise")) total /= 2;
    return section.url.startsWith("notebooks/") ? total : total / 3;  // reference pages come later
  };
  return sections.map((section) => ({ section, score: score(section), patterns }))
    .filter((found) => found.score > 0).sort((a, b) => b.score - a.score).slice(0, 30);
}

/** The sentence with most of the words, rather one without a hole where a formula cannot be shown. */
function excerpt(text, patterns) {
  const sentences = text.split(/\n|(?<=[.!?])(?<!\b(?:Eqs?|al|vs|Fig)\.)\s+(?=[\p{Lu}“‘(])/u);
  const worth = (sentence) => patterns.filter((pattern) => sentence.search(pattern) >= 0).length -
    (sentence.includes("…") ? .9 : 0) - (sentence.includes(" · ") ? .5 : 0) - (sentence.length < 30 ? .5 : 0);
  const best = sentences.reduce((a, b) => (worth(b) > worth(a) ? b : a)).trim();
  return best.length > 240 ? `${best.slice(0, 240).replace(/\s\S*$/, "")} …` : best;
}

function marked(text, patterns) {
  const any = new RegExp(patterns.map((pattern) => `${pattern.source}[\\p{L}]*`).join("|"), "giu");
  const paragraph = document.createElement("p");
  let end = 0;
  for (const match of text.matchAll(any)) {
    paragraph.append(text.slice(end, match.index));
    paragraph.append(Object.assign(document.createElement("mark"), { textContent: match[0] }));
    end = match.index + match[0].length;
  }
  paragraph.append(text.slice(end));
  return paragraph;
}

document.addEventListener("DOMContentLoaded", () => {
  const query = new URLSearchParams(location.search).get("q") ?? "";
  const place = document.getElementById("search-results");
  if (!query || !place || typeof SECTIONS === "undefined") return;
  document.querySelectorAll('input[name="q"]').forEach((field) => { field.value = query; });
  const found = search(query, SECTIONS);
  const results = document.createElement("div");
  results.id = "section-results";
  const count = document.createElement("p");
  count.setAttribute("role", "status");
  count.textContent = found.length ? `${found.length} sections` : "No section has these words.";
  results.append(count);
  for (const { section, patterns } of found) {
    const heading = document.createElement("h2");
    const link = Object.assign(document.createElement("a"), { href: section.url });
    link.textContent = section.title;
    heading.append(link);
    const page = Object.assign(document.createElement("p"), { className: "page" });
    page.textContent = section.page === section.title ? "" : section.page;
    results.append(heading, page, marked(excerpt(section.text, patterns), patterns));
  }
  place.replaceWith(results);
});
