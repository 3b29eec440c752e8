// The search: sections in order of relevance, each with the sentence that answers, while the reader
// types. book.js loads this file, the sections and Sphinx's stemmer when something is typed into a search field.
//
// What points to a place, such as "eq 7", "table 8.1" or "section 6.5", is looked up as it is. All else is
// a search for words. Code and the teacher's page come last, unless the query is a name of the code.
"use strict";

const WORD = /[\p{L}\p{N}]+/gu;
const WRITTEN = /[\p{L}\p{N}]+(?:[-‑][\p{L}\p{N}]+)*/gu;  // with its hyphens

/** A function of a word that computes each answer once: most words of the book occur often. */
function remembered(answer) {
  const known = new Map();
  return (word) => {
    if (!known.has(word)) known.set(word, answer(word));
    return known.get(word);
  };
}

/** A word in American spelling: "normalised" and "normalized", "neighbour" and "neighbor". */
const american = remembered((word) =>
  word.toLowerCase()
    .replace(/^(\p{L}{3,})is(e|es|ed|er|ers|ing|ation|ations)$/u, "$1iz$2")
    .replace(/^(\p{L}{2,})our/u, "$1or")
    .replace(/ys(e|es|ed|er|ing)$/, "yz$1")
    .replace(/([bt])re(s|d)?$/, "$1er$2")
    .replace(/ogue(s?)$/, "og$1")
    .replace(/ence$/, "ense")
    .replace(/^artef/, "artif")
    .replace(/^programme(s?)$/, "program$1")
    .replace(/ll(ed|ing|er|ers)$/, "l$1")
    .replace(/^grey/, "gray"));

const stem = remembered((word) => new Stemmer().stemWord(word));

/** A word of the index as the book spells it, which may be British. */
const inBook = (word) => SECTIONS.map(({ text }) => text.match(WORD)?.find((each) => american(each) === word)).find(Boolean) ?? word;

/** The words of a text, and each word with hyphens also as one: "over-smoothing", "oversmoothing". */
function wordsOf(text) {
  const found = new Map();
  const add = (word) => found.set(word, (found.get(word) ?? 0) + 1);
  for (const [word] of text.matchAll(WRITTEN)) {
    const parts = word.match(WORD).map(american);
    parts.forEach(add);
    if (parts.length > 1) add(american(parts.join("")));
  }
  return found;
}

/** A word with hyphens as one, in American spelling: "over-smoothing" as "oversmoothing". */
const joined = (word) => american(word.replace(/[-‑]/g, ""));

/** The words of a name, in order: "over-smoothing" as two words and as one. */
function readings(name) {
  const found = name.match(WRITTEN) ?? [];
  return [found.flatMap((word) => word.match(WORD).map(american)), found.map(joined)];
}

let index = null;
function indexed() {
  if (index) return index;
  const vocabulary = new Set();
  const inCode = new Set();  // words that only the code may have: they do not change how a query is read
  const sections = SECTIONS.map((section) => {
    const [title, text, page] = [section.title, section.text, section.page].map(wordsOf);
    for (const words of [title, text, page]) {
      for (const word of words.keys()) (section.code ? inCode : vocabulary).add(word);
    }
    const [plainTitle, plainText] = [section.title, section.text].map((words) => (words.match(WORD) ?? []).map(american).join(" "));
    return { section, title, text, page, plainTitle, plainText, names: (section.names ?? []).flatMap(readings) };
  });
  index = { sections, vocabulary: [...vocabulary], known: vocabulary, inCode: [...inCode] };
  return index;
}

/** How many letters have to be changed, added, dropped or swapped with their neighbour, at most `most`. */
function distance(one, two, most) {
  if (Math.abs(one.length - two.length) > most) return most + 1;
  let older = [];
  let old = Array.from({ length: two.length + 1 }, (_, at) => at);
  for (let i = 1; i <= one.length; i++) {
    const now = [i];
    for (let j = 1; j <= two.length; j++) {
      now[j] = Math.min(old[j] + 1, now[j - 1] + 1, old[j - 1] + (one[i - 1] !== two[j - 1]));
      if (i > 1 && j > 1 && one[i - 1] === two[j - 2] && one[i - 2] === two[j - 1]) now[j] = Math.min(now[j], older[j - 2] + 1);
    }
    if (Math.min(...now) > most) return most + 1;
    [older, old] = [old, now];
  }
  return old[two.length];
}

/** The word of the book that was probably meant by one that is not in it, with the same first letter:
    one slip from five letters on ("bert" is not "best"), two from eight. Of equally near words, the one in most sections. */
function meant(word) {
  if (word.length < 5 || /\d/.test(word)) return null;
  const { sections, vocabulary } = indexed();
  const most = word.length < 8 ? 1 : 2;
  const near = vocabulary.filter((other) => other[0] === word[0])
    .map((other) => [distance(word, other, most), other]).filter(([away]) => away <= most);
  const least = Math.min(...near.map(([away]) => away));
  const uses = (other) => sections.filter(({ title, text }) => title.has(other) || text.has(other)).length;
  const candidates = near.filter(([away]) => away === least).map(([, other]) => [uses(other), other]);
  candidates.sort((one, two) => two[0] - one[0]);
  return candidates[0]?.[1] ?? null;
}

/** A query with its words apart as the book has them: "layernorm" is "layer norm", "eigen vector" is
    "eigenvector". */
function respelt(query) {
  const { vocabulary, known } = indexed();
  const has = (word) => known.has(american(word)) || vocabulary.some((other) => stem(other) === stem(american(word)));
  const words = query.split(/\s+/).filter(Boolean);
  const found = [];
  for (let at = 0; at < words.length; at++) {
    const [word, next] = [words[at], words[at + 1]];
    if (next && !(known.has(american(word)) && known.has(american(next))) && /^\p{L}+$/u.test(word + next) && has(word + next)) {
      found.push(word + next);
      at++;
    } else found.push(apart(word, has) ?? word);
  }
  return found.join(" ");
}

/** The two words of the book that stand in one; null for a word that the book has, or that begins one. */
function apart(word, has) {
  const asked = american(word);
  if (!/^\p{L}{6,}$/u.test(word) || has(word) || indexed().vocabulary.some((other) => other.startsWith(asked))) return null;
  for (let at = 3; at <= word.length - 3; at++) {
    const parts = [word.slice(0, at), word.slice(at)];
    if (parts.every(has)) return parts.join(" ");
  }
  return null;
}

/** Whether a word of the book is so short that many others begin with it, to which it is not related: "pe", "gat". */
const isShortName = (word) => word.length < 4 && indexed().known.has(word);

/** For each word that is asked for, the words of the book that count as it; `slips` are filled with
    the words that were read as others. */
function terms(query, slips = []) {
  const { vocabulary, inCode } = indexed();
  const likeIn = (words, word) => words.filter((other) =>
    (!isShortName(word) && word.length > 1 && other.startsWith(word)) || stem(other) === stem(word));
  const like = (word) => {
    const found = likeIn(vocabulary, word);
    return found.length ? found : likeIn(inCode, word);
  };
  // "pre-norm" as one word or, if that is nowhere, as two
  const asked = (query.match(WRITTEN) ?? []).flatMap((word) => (like(joined(word)).length ? [joined(word)] : word.match(WORD).map(american)));
  return asked.map((word) => {
    const found = like(word);
    if (found.length) return new Set(found);
    const other = meant(word);
    if (!other) return new Set();
    slips.push([word, other]);
    return new Set(like(other));
  });
}

const [RUN_TIMES, CHAPTER_TIMES] = ["book/results/runs.html#the-records", "book/how_to_read.html#how-long-the-pages-take-to-run"];
const ORDER = "notebooks/01_self_attention.html#order-does-not-matter";
const EDGES = "\\bedge (features?|attributes?)\\b";
const WITH_EDGES = {
  graphormer: "notebooks/06_graphormer.html#edges-along-the-shortest-path",
  egt: "notebooks/07_egt.html#a-vector-for-every-pair",
  grpe: "notebooks/08_grpe.html#relations",
  csa: "notebooks/09_csa.html#edges-inside-the-message",
};

// What students type where the book has other words or signs, and the sections that answer it.
const LEADS = [
  [/^layer.?norm/, "book/glossary.html#term-layer-normalisation", "notebooks/02_transformer.html#where-the-norm-goes"],
  [/^q(uer(y|ies))?\W+(and )?k(eys?)?\W+(and )?v(alues?)?$|^qkv$/, "notebooks/01_self_attention.html#one-token-three-steps"],
  [/^q\W*k\W*(t|ᵀ|⊤|transposed?)?$/, "notebooks/01_self_attention.html#all-tokens-at-once"],
  [/temperature|sqrt|√|square root|scaled dot.product/, "notebooks/01_self_attention.html#why-divide-by-the-square-root"],
  [/^data ?sets?$/, "notebooks/data.html"],
  [/\b(which|what) (atoms?|elements?|molecules?|bonds?)\b.*\bzinc\b/, "notebooks/data.html#comparison-with-zinc"],
  [/vanishing|saturat/, "notebooks/01_self_attention.html#why-divide-by-the-square-root", "notebooks/02_transformer.html#what-goes-wrong-in-a-deep-stack"],
  [/^why (do |does |we |you |one )*(scale|divide|normali[sz]e)\b.*\b(dot|products?|logits?|scores?|attention)\b/, "notebooks/01_self_attention.html#why-divide-by-the-square-root"],
  [/^multi.?head|^(how many|number of|several|multiple) (attention )?heads?\b(?!.*\b(graphormer|egt|grpe|csa)\b)/, "notebooks/01_self_attention.html#several-heads"],
  [/\bbatch(es|ing)?\b.*\b(sizes|different|variable|padd\w*)\b|\bgraphs of (different|several) sizes/, "notebooks/01_self_attention.html#batches-and-padding"],
  [/permutation.?equivarian\w*$|\border of (the )?(tokens|nodes|atoms)/, ORDER],
  [/^sinusoid|^sines? and cosines?/, "notebooks/02_transformer.html#a-vector-for-each-position"],
  [/\b(embeddings?|nodes|representations?|features?)\b.*\b(same|similar|identical|alike)$/, "notebooks/03_message_passing.html#over-smoothing"],
  [/random.?walk.*\b(pe|se|encodings?)\b/, "notebooks/04_positional_encodings.html#random-walks", "book/glossary.html#term-RWSE"],
  ...Object.entries(WITH_EDGES).map(([model, url]) => [RegExp(`\\b${model}\\b.*${EDGES}|${EDGES}.*\\b${model}\\b`), url]),
  [/\b(shortest.?paths?|distances?)\b.*\b(encodings?|bias(es)?|embeddings?)$|\bspatial encodings?\b.*\bgraphormer\b|\bgraphormer\b.*\bspatial encodings?\b|^shortest.?path distances?$/, "notebooks/06_graphormer.html#distance-as-an-attention-bias"],
  [/^(node )?degrees? (encodings?|centrality|embeddings?)/, "notebooks/06_graphormer.html#centrality-how-many-edges", "book/glossary.html#term-centrality-encoding"],
  [/\bgat(e|es|ing)\b.*\begt\b|\begt\b.*\bgat(e|es|ing)\b/, "notebooks/07_egt.html#bias-clip-and-gate", "notebooks/07_egt.html#the-gate-and-the-pairs-on-three-kinds-of-data"],
  [/^(compare|comparison of|differences? between) (all )?(the )?models$/, "notebooks/10_one_framework.html#nine-models-side-by-side", "book/which_model.html"],
  [/\b(important|relevant) (atoms?|nodes?)\b|\bwhich (atoms?|nodes?) ((are|is) )?(most )?(important|relevant|matter|decide)|\b(atom|node) importance/, "notebooks/11_what_attention_sees.html#what-the-prediction-depends-on"],
  [/^(multi.?|several |many )gpus?\b|^distributed|^(ddp|data.?parallel\w*)$/, "notebooks/12_from_a_laptop_to_a_cluster.html#several-processes-several-machines"],
  [/^(qm[789]|md17|molecule.?net|tox21|moses)\b/, "notebooks/data.html#the-published-data-sets", "notebooks/data.html"],
  [/\b(loss|training|gradients?)\b.*\b(nans?|explodes?|diverge\w*|infinite)\b|\bnans?\b.*\b(loss|training|gradients?|attention)\b|^nans?$/, "book/results/divergence.html", "notebooks/02_transformer.html#debugging-clinic"],
  [/\bonnx\b/, "book/onnx.html", "notebooks/your_molecules.html#run-a-model-without-python"],
  [/^(solutions?|answers?|hints?)( (to|of|for) (the )?exercises?)?$/, "book/how_to_read.html#exercises"],
  [/^o\W*n\W*(2|²)\W*$|quadratic|complexity/, "notebooks/03_message_passing.html#what-it-costs"],
  [/^express(ive|ivity|iveness)\b/, "notebooks/03_message_passing.html#what-message-passing-cannot-see"],
  [/^oom$|out of memory|less memory/, "notebooks/12_from_a_laptop_to_a_cluster.html#two-ways-to-use-less-memory"],
  [/^laplacian eigen.?vectors?$/, "notebooks/04_positional_encodings.html#the-laplacian"],
  [/^edge.?(channels?|embeddings?)$/, "notebooks/07_egt.html#a-vector-for-every-pair", "notebooks/07_egt.html#attention-updates-the-pairs"],
  [/^neighbou?r(s|hoods?)?$/, "notebooks/03_message_passing.html#one-node-at-a-time"],
  [/^(use |using )?edge (features?|attributes?)$/, WITH_EDGES.graphormer],
  [/^(skip|shortcut) connections?$/, "book/glossary.html#term-residual-connection"],
  [/^(graph)?gps$/, "book/after.html#message-passing-and-attention-side-by-side-gps"],
  [/^(how (do|can) i |how to )?(install|set ?up)|^(pip|conda)\b/, "book/intro.html#a-first-prediction", "book/how_to_read.html#three-ways-to-use-the-book"],
  [/^hyper.?parameters?$|^(batch size|weight decay|adamw?|optimi[sz]er)$/, "book/results/runs.html#what-differs-from-the-published-runs"],
  [/^gat(v2)?$|graph attention network/, "notebooks/03_message_passing.html#the-graph-attention-network"],
  [/^gated.?gcn$/, "book/glossary.html#term-GatedGCN"],
  [/^ffn$|^(relu|gelu)$|^mlp$/, "book/glossary.html#term-feed-forward-network", "notebooks/02_transformer.html#the-block"],
  [/^how (long|much time|many (hours|minutes))\b.*\b(chapters?|notebooks?|book|read(ing)?)\b|^how (long|much time) (does|do|will) (it|this) (take|last|need)/, CHAPTER_TIMES, RUN_TIMES],
  [/^how (long|much time|many (hours|minutes))\b.*\b(train(ing)?|runs?|epochs?)\b|^(training|run(ning)?|wall.?clock) ?times?$|^(hours?|minutes?|durations?)$|^(training|run) durations?$/, RUN_TIMES, CHAPTER_TIMES],
  [/^(permutation\W+)?invarian/, "book/glossary.html#term-invariance", ORDER, "book/glossary.html#term-equivariance"],
  [/^(permutation\W+)?equivarian/, "book/glossary.html#term-equivariance", ORDER, "book/glossary.html#term-invariance"],
  [/^learning.?rate|warm.?up$/, "notebooks/02_transformer.html#where-the-norm-goes"],
  [/(neighbou?r|message).*aggregat|^message.?passing( works?)?$/, "notebooks/03_message_passing.html#one-node-at-a-time"],
  [/\b(gnns?|mpnns?|message.?passing)\b.*\btransformers?\b|\btransformers?\b.*\b(gnns?|mpnns?|message.?passing)\b/, "notebooks/03_message_passing.html"],
  [/^self.?attention$/, "notebooks/01_self_attention.html", "book/glossary.html#term-attention"],
  [/^graph laplacian$/, "book/glossary.html#term-Laplacian", "notebooks/04_positional_encodings.html#the-laplacian"],
  [/\blimit\w* of (message.?passing|gnns?|mpnns?)/, "notebooks/03_message_passing.html#what-message-passing-cannot-see"],
  [/\b(my|own|other) (own )?graphs?$/, "notebooks/your_molecules.html#graphs-that-are-not-molecules"],
  [/^number of parameters$/, "book/results/runs.html#parameters-and-seeds"],
  [/^(graph )?isomorphi/, "book/glossary.html#term-isomorphic", "notebooks/03_message_passing.html#what-message-passing-cannot-see"],
  [/^spectral|^(graph )?fourier|^eigen.?(values?|spaces?)$|^λ$/, "notebooks/04_positional_encodings.html#slow-and-fast-eigenvectors"],
  [/^(φ|phi)\W*i\W*j\W*$/, "notebooks/06_graphormer.html#distance-as-an-attention-bias"],
  [/^\[?cls\]?( token)?$/, "notebooks/06_graphormer.html#vnode-the-layer-the-model"],
  [/^edge gat|^gat(e|es|ing)$/, "book/glossary.html#term-gate", "notebooks/07_egt.html#bias-clip-and-gate"],
  [/^(graph|node|link|edge).(level )?(classification|prediction|regression|tasks?)$/, "notebooks/07_egt.html#one-model-four-questions"],
  [/\bpredict\w*\b.*\b(my|own)\b|\bmy (own )?molecules?$/, "notebooks/your_molecules.html#predict-for-a-table", "notebooks/your_molecules.html"],
  [/^bias(es)?$/, "book/glossary.html#term-attention-bias", "notebooks/06_graphormer.html#distance-as-an-attention-bias"],
  [/^edge.?augment/, "notebooks/07_egt.html"],
  [/^chromatic/, "notebooks/09_csa.html"],
  [/fine.?tun|transfer learning|\bown data/, "notebooks/your_molecules.html#train-on-a-csv-file"],
  [/pre.?trained|^(load|download).*(weights|model)/, "book/models/index.html", "notebooks/your_molecules.html#predict-for-a-table"],
  [/^interpretab|^explainab|^saliency$|^attribution$|^xai$/, "notebooks/11_what_attention_sees.html"],
  [/(mistake|error|bug|typo)s? in .*(paper|lecture|slides?)/, "notebooks/errata.html"],
  [/^teach(er|ers|ing)?$|syllabus|^lessons?$|homework/, "book/teach.html"],
  [/without (a )?gpu|^colab$|^binder$/, "book/how_to_read.html#three-ways-to-use-the-book"],
  [/^reproduc/, "book/results/index.html", "book/results/index.html#run-one-yourself"],
  [/^(how to )?cite|^citation|^references$|^bibliography$/, "book/bibliography.html"],
  [/^which (model|layer)/, "book/which_model.html"],
  [/^pes?$/, "book/glossary.html#term-positional-encoding", "notebooks/04_positional_encodings.html"],
  [/^lap.?pes?$|^lpes?$|^laplacian (pes?|positional encodings?)$/, "notebooks/04_positional_encodings.html#the-laplacian"],
  [/^svd$|^singular v/, "notebooks/07_egt.html#singular-vectors"],
  [/^mpnns?$/, "notebooks/03_message_passing.html"],
  [/^receptive field|^long.?range/, "notebooks/03_message_passing.html#how-far-information-travels"],
  [/toxicity|solubility|drug discovery|^qsar$/, "notebooks/your_molecules.html"],
  [/uncertainty|confidence|error bars?|applicability domain/, "notebooks/your_molecules.html#predict-for-a-table", "book/models/csa-100k-molecules.html#limits"],
  [/^exams?$|grading|^week/, "book/teach.html"],
  [/prerequisite|^maths?\b|background/, "book/intro.html#is-it-for-you"],
  [/^(stanford|cs ?224w)$/, "book/differs/lecture.html"],
  [/^[a-z]_?\{?ijc?\}?$|^symbols?$/, "book/notation.html"],
  [/^ramp[aá][sš]ek/, "book/after.html#message-passing-and-attention-side-by-side-gps"],
  [/^(vaswani|attention is all)/, "notebooks/02_transformer.html", "book/bibliography.html"],
  [/^ying\b/, "notebooks/06_graphormer.html", "book/bibliography.html"],
  [/^hussain/, "notebooks/07_egt.html", "book/bibliography.html"],
  [/^park\b/, "notebooks/08_grpe.html", "book/bibliography.html"],
  [/^menegaux/, "notebooks/09_csa.html", "book/bibliography.html"],
  [/^lim\b/, "notebooks/05_signnet.html", "book/bibliography.html"],
  [/^dwivedi/, "notebooks/04_positional_encodings.html", "book/bibliography.html"],
  [/^veli[cč]kovi[cć]/, "notebooks/03_message_passing.html#the-graph-attention-network", "book/bibliography.html"],
];

// Words that the book writes otherwise.
const OTHERWISE = [[/\bsqrt\b|√/g, "square root"], [/\battn\b/gi, "attention"], [/\bRWPE\b/gi, "RWSE"], [/\bLPEs?\b/gi, "Laplacian positional encoding"], [/\bgraphformer(s?)\b/gi, "Graphormer$1"], [/\bECFP\d*\b/gi, "Morgan fingerprint"],
  [/\bchiral\w*/gi, "stereochemistry"], [/\b(xgboost|lightgbm)\b/gi, "boosted trees"],
  [/\bedge.?channels?\b/gi, "pair vector"],  // the EGT paper's name
  [/\bdata(sets?)\b/gi, "data $1"], [/\^T\b/g, "ᵀ"], [/\^2\b/g, "²"]];

// A question about two models is answered where they are side by side, one about a model's numbers with the results.
const CHAPTERS = { transformer: "02_transformer", gat: "03_message_passing", gin: "04_positional_encodings", gatedgcn: "04_positional_encodings",
  signnet: "05_signnet", graphormer: "06_graphormer", egt: "07_egt", grpe: "08_grpe", csa: "09_csa" };
const MODELS = new RegExp(`\\b(${Object.keys(CHAPTERS).join("|")})\\b`, "g");
const COMPARED = ["notebooks/10_one_framework.html#nine-models-side-by-side", "book/one_layer.html", "book/which_model.html"];
const MEASURED = ["book/results/index.html", "notebooks/10_one_framework.html#the-leaderboard"];

/** The sections that are known to answer what is asked, best first. */
function leading(asked) {
  const models = [...new Set(asked.match(MODELS))];
  const named = models.length;
  const known = LEADS.find(([pattern]) => pattern.test(asked))?.slice(1);
  if (known) return known;
  if (named > 1 || (named && /\b(vs|versus|compar\w*)\b|\bdiffer/.test(asked))) return COMPARED;
  if (named && /\bstands? for\b|\bmean(s|ing)?\b|\babbreviation\b/.test(asked)) return [`notebooks/${CHAPTERS[models[0]]}.html`];
  return named && /\b(mae|results?|errors?|accuracy|scores?|performance|zinc)\b/.test(asked) ? MEASURED : [];
}

// Chapters come before the pages on data and results, those before reference, errata are the last.
const WEIGHTS = [[/^notebooks\/\d/, 1], [/^notebooks\/errata/, 0.2], [/^notebooks/, 0.8],
  [/^book\/(api|differs|ledger|bibliography)/, 0.3], [/^book/, 0.6], [/^/, 0.3]];

const weight = (url) => WEIGHTS.find(([pattern]) => pattern.test(url))[1];

const isCode = ({ url }) => url.startsWith("book/api/");

// What a reader chooses from. Each result is of the first group that it fits.
const GROUPS = [["Glossary", ({ names }) => Boolean(names)], ["Code reference", isCode],
  ["Chapters", ({ url }) => /^notebooks\/\d/.test(url)], ["Pages", () => true]];
const SHOWN = ["Chapters", "Pages", "Glossary", "Code reference"];
const groupOf = (section) => GROUPS.find(([, fits]) => fits(section))[0];
const MOST = 30;  // results of a group

const isLast = (section) => isCode(section) || section.url.startsWith("book/teach");

/** Whether a query is written as code, and the package has the name: "flip_signs", "GraphBatch", "train.loop". */
function isIdentifier(query) {
  const name = nameInCode(query);
  if (!/_|\w\.[a-z]|\w[A-Z]|\(\)$/.test(query.trim()) || CHAPTERS[name.toLowerCase()]) return false;
  return SECTIONS.some((section) => isCode(section) && isNamed(section.title, name));
}

const nameInCode = (query) => query.trim().replace(/\(.*$/, "").replace(/^gtcourse\./, "");
const isNamed = (title, name) => [title, title.split(".").pop()].includes(name);

/** One answer for each text: a section that stands on two pages, and a function that two modules have. */
function withoutCopies(found) {
  const seen = new Set();
  return found.filter(({ section: { title, text } }) => {
    const key = `${title} · ${text.slice(0, 200)}`;
    return !seen.has(key) && seen.add(key);
  });
}

const QUESTION = /^\s*(?:what\s+(?:is|are)|define|definition\s+of|meaning\s+of|explain|introduction\s+to)\s+(?:an?\s+|the\s+)?/i;

const singular = (word) => word.replace(/ies$/, "y").replace(/(s|x|ch|sh)es$/, "$1").replace(/([^s])s$/, "$1");

/** How well a query names a term: 2 as it is, in singular or plural, 1 by the beginnings of its words, 0 not. */
function naming(names, query) {
  const asked = readings(query);
  const some = (fits) => asked.some((words) => names.some((name) => name.length && name.length === words.length &&
    words.every((word, at) => fits(word, name[at]))));
  if (some((word, other) => singular(word) === singular(other) || stem(word) === other)) return 2;
  return Number(some((word, other) => word.length > 2 && other.startsWith(word)));
}

// Words of a question that say nothing about its subject.
const SMALL = new Set(("a an and are as at be been but by can could did do does for from get had has have how i if in into is it its me my " +
  "need of on or own should so some that the their them there these this those to use want was we were what when where which who why will " +
  "with would you your").split(" "));

const ASKING = new Set(["define", "definition", "difference", "explain", "explained", "explanation", "meaning", "understand"]);

// Of these, those that the title of a page has decide between sections that are equally good.
const TELLING = new Set("how my own use when where which why your".split(" "));

/** What answers a question, best first, at most 30 of each group. `totals` of the list says how many
    sections of a group there are. */
function search(question, slips = []) {
  const point = pointing(question);
  const pointed = point ? pointedAt(point) : [];
  const all = pointed.length ? pointed : inWords(point ? point.rest : question, slips);
  const totals = {};
  const best = all.filter(({ section }) => {
    const group = groupOf(section);
    totals[group] = (totals[group] ?? 0) + 1;
    return totals[group] <= MOST;
  });
  return Object.assign(collapsed(best), { totals });
}

/** A question without the small words that it begins with: "what is the", "how do I". */
function subject(asked) {
  if (asked.startsWith("why")) return asked;  // its reasons stand elsewhere than what it is
  const words = asked.split(/\s+/);
  const first = words.findIndex((word) => !SMALL.has(word) && !ASKING.has(word));
  return words.slice(Math.max(first, 0)).join(" ");
}

/** The sections with all words of a question or, where there is none, with the most of them. First those
    that are known to answer it. */
function inWords(question, slips) {
  const all = sectionsWith(question, slips, 0);
  const found = all.length ? all : sectionsWith(question, [], 1);
  const asked = question.trim().toLowerCase().replace(/\s*[?!]+$/, "");
  const meantByReader = slips.reduce((words, [word, other]) => words.replace(word, other), asked);
  const direct = [asked, subject(asked)].map(leading).find((leads) => leads.length) ?? [];
  if (direct.length) slips.length = 0;  // as it is written, it was no slip
  const leads = direct.length ? direct : leading(meantByReader);
  const sections = leads.map((lead) => indexed().sections.find((each) => each.section.url === lead)?.section);
  const first = sections.filter(Boolean).map((section) => ({ section, asked: found[0]?.asked ?? [] }));
  return [...first, ...found.filter(({ section }) => !leads.includes(section.url))];
}

/** Of answers with the same words, the first, which counts the others: a sentence that stands in many cards. */
function collapsed(found) {
  const said = new Map();
  return found.filter((each) => {
    const { section, asked } = each;
    each.words ??= section.names ? shortened(section.text) : excerpt(section.text, asked);
    const key = `${section.title} · ${each.words}`;
    if (said.has(key)) said.get(key).more += 1;
    else said.set(key, Object.assign(each, { more: 0 }));
    return said.get(key) === each;
  });
}

/** The beginnings of words, one after the other: "norm" of "norms", "eigenvector" of "eigenvectors". */
function inOrder(phrase) {
  const beginnings = phrase.split(" ").map((word) => (word.startsWith(stem(word)) ? stem(word) : word).replace(/[^\p{L}\p{N}]/gu, ""));
  return new RegExp(`(?<= |^)${beginnings.join("\\p{L}* ")}\\p{L}*`, "gu");
}

// What a reader may call a thing with a number, and what the book calls it.
const NUMBERED = [["Eq.", "eqs?|eqns?|equations?"], ["Table", "tab|tables?"], ["Figure", "figs?|figures?"],
  ["Interactive", "interactives?"], ["Section", "secs?|sections?|§"], ["Chapter", "ch|chap|chapters?"], ["Exercise", "exercises?"]];
const NUMBER = "\\(?([a-z]?\\d+(?:\\.\\d+)?[a-z]?)\\)?";
const POINTS = NUMBERED.map(([kind, forms]) => [kind, new RegExp(`(?:^|\\s)(?:${forms})\\.?\\s*${NUMBER}\\.?(?=$|[\\s,;?!])`, "i")]);

const literal = (number) => number.replace(".", "\\.");

/** What a query points to: {kind, number, rest}, rest without it; null if it points to nothing. */
function pointing(query) {
  if (/^\s*[1-9]\d?\.\d{1,2}\s*$/.test(query)) return { kind: "Section", number: query.trim(), rest: query.trim() };
  for (const [kind, pattern] of POINTS) {
    const found = query.match(pattern);
    if (found) return { kind, number: found[1].toLowerCase(), rest: query.replace(found[0], " ").trim() };
  }
  return null;
}

// As it is cited: "Eq. 7", "Eqs. 3 and 4", "Eqs. 6 to 9", "Table 2".
const ITEM = "\\(?[A-Z]?\\d+(?:\\.\\d+)?[a-z]?\\)?";
const CITED = new RegExp(`\\b(Eq|Equation|Table|Fig|Figure)s?\\.?\\s(${ITEM}(?:(?:, (?:and )?| and | or | to |–)${ITEM}(?![\\w.]*\\w))*)`, "g");

/** Whether a text cites this number of a kind. The lecture's have a letter, and need no "Eq." before them. */
function cites(text, { kind, number }) {
  if (kind === "Eq." && /^[a-z]/.test(number)) return new RegExp(`(?<![\\w.])${literal(number)}(?![\\w.]*\\w)`, "i").test(text);
  const first = kind.slice(0, 2);
  for (const [, word, list] of text.matchAll(CITED)) {
    if (!word.startsWith(first)) continue;
    const numbers = list.toLowerCase().match(/[a-z]?\d+(?:\.\d+)?[a-z]?/g);
    if (numbers.includes(number)) return true;
    for (const [, from, to] of list.matchAll(/\b(\d+)\)?(?: to |–)\(?(\d+)\b/g)) {
      if (/^\d+$/.test(number) && Number(from) < Number(number) && Number(number) < Number(to)) return true;
    }
  }
  return false;
}

/** Whether a title is that of the section, the chapter or the exercise with this number. */
function isCalled(title, { kind, number }) {
  if (kind === "Chapter" || (kind === "Section" && !number.includes("."))) return title.startsWith(`${number.padStart(2, "0")} `);
  if (kind === "Section") return title.startsWith(`${number} `);
  return kind === "Exercise" && new RegExp(`^Exercise ${literal(number)}\\b(?!\\.\\d)`).test(title);
}

// Of the sections that cite an equation, so many come before the ledger's rows, if the query names more than it.
const BEFORE_ROWS = 3;

/** The caption with this number, the sections that have it in their title, and those that cite it. Every paper
    has an Eq. 7: a reader who names none first gets the ledger's row of each. */
function pointedAt(point) {
  const rest = point.rest === point.number ? [] : (point.rest.match(WRITTEN) ?? []).filter((word) => !SMALL.has(word.toLowerCase()));
  const asked = terms(rest.join(" "));
  if (asked.some((words) => !words.size)) return [];
  const has = (texts, term) => texts.some((text) => [...wordsOf(text).keys()].some((word) => term.has(word)));
  const fits = ({ title, page, text }) => asked.every((term) => has([title, page, text], term));
  const label = `${point.kind} ${point.number}`;
  const captions = CAPTIONS.filter((each) => (each.title === label || (!point.number.includes(".") && each.title.startsWith(`${label}.`))) && fits(each))
    .map((section) => ({ section, asked, words: shortened(section.text) }));
  const alone = new RegExp(`(?<!to |–|[\\w.(])\\(?${literal(point.number)}(?![\\w.]*\\w)(?!\\)? to |–)`, "i");  // not an end of "3 to 7"
  const found = SECTIONS.map((section) => {
    const { title, page, text } = section;
    if (isCalled(title, point)) return fits(section) && { section, asked, score: 100 * weight(section.url) };
    const inTitle = cites(title, point);
    if (!(inTitle || cites(text, point)) || !fits(section)) return false;
    const worth = (sentence) => asked.filter((term) => has([title, page, sentence], term)).length +
      (sentence.startsWith("Sources") ? -1 : 1) + (alone.test(sentence) ? 1 : 0);
    const sentences = text.split(SENTENCE).filter((sentence) => cites(sentence, point)).sort((one, other) => worth(other) - worth(one));
    const best = sentences[0]?.trim();
    const score = (best ? worth(best) : 0) + Math.min(sentences.length, 3) + (inTitle ? 5 : 0);
    return { section, asked, words: shortened(best ?? text), score: score * weight(section.url) };
  }).filter(Boolean).sort((one, other) => isLast(one.section) - isLast(other.section) || other.score - one.score);
  const rows = EQUATIONS.filter((row) => point.kind === "Eq." && row.number === point.number && fits(row))
    .map((section) => ({ section, asked, words: section.text }));
  return asked.length ? [...captions, ...found.slice(0, BEFORE_ROWS), ...rows, ...found.slice(BEFORE_ROWS)] : [...rows, ...captions, ...found];
}

const SENTENCE = /\n|(?<=[.!?])(?<!\b(?:Eqs?|al|vs|Fig)\.)\s+(?=[\p{Lu}“‘(])/u;

/** Whether a sentence has all of these words. */
const inOneSentence = (text, terms) => text.split(SENTENCE).some((sentence) =>
  terms.every((term) => (sentence.match(WORD) ?? []).some((word) => term.has(american(word)))));

/** Sections by relevance. With `missing`, a third of the words that are asked for may be missing, at least one. */
function sectionsWith(question, slips, missing) {
  const asking = OTHERWISE.reduce((text, [word, other]) => text.replace(word, other), question);
  const identifier = isIdentifier(question);
  const query = (identifier ? String : respelt)(asking.replace(QUESTION, "").replace(/\?\s*$/, "") || asking);
  const said = (query.match(WRITTEN) ?? []).filter((word) => !SMALL.has(word.toLowerCase()));
  const telling = [...wordsOf(query).keys()].filter((word) => TELLING.has(word));
  if (!said.length && question.match(WRITTEN)?.length > 1) return [];  // "how do I" asks for nothing
  let asked = terms(said.length ? said.join(" ") : query, slips);
  if (missing) asked = asked.filter((words) => words.size);
  if (!asked.length || asked.some((words) => !words.size)) return [];
  const most = missing ? Math.max(missing, Math.ceil(asked.length / 3)) : 0;
  const phrase = slips.reduce((text, [word, other]) => text.replace(word, other), (query.match(WORD) ?? []).map(american).join(" "));
  const count = (words, term) => {
    let total = 0;
    for (const word of term) total += words.get(word) ?? 0;
    return total;
  };
  const together = inOrder(phrase);
  const score = ({ section, title, text, page, plainTitle, plainText }) => {
    const length = 200 + section.text.length;
    const named = asked.filter((term) => count(title, term)).length / asked.length;  // the part of the words in the title
    let total = 0;
    let without = 0;
    for (const term of asked) {
      const [inTitle, inText, onPage] = [title, text, page].map((words) => count(words, term));
      if (!inTitle && !inText && !onPage) without += 1;
      total += 8 * named * Math.min(inTitle, 1) + Math.min(onPage, 1) + Math.min(6, 400 * inText / length);
    }
    if (without > most || without === asked.length) return 0;
    total /= 1 + without;
    if (!section.url.includes("#")) total *= 1.3;  // a page's own title and beginning
    if (asked.length > 1) {
      const inTitle = plainTitle.match(together);
      const inText = plainText.match(together)?.length ?? 0;
      if (inTitle) total += 20;
      total += Math.min(12, 3000 * inText / length);
      const unsaid = asked.filter((term) => !count(title, term) && !count(page, term));
      if (!inText && !inOneSentence(section.text, unsaid)) total /= 3;  // each word somewhere else
    } else if (section.names) total /= 2;  // a short definition, of another term, that uses the word
    // For a single word, an exercise or an erratum with the word in its title comes after what explains it.
    const alone = asked.length === 1 ? 6 : 1;
    if (section.title.startsWith("Exercise")) total /= 4 * alone;
    else if (section.url.startsWith("notebooks/errata")) total /= alone;
    total += 0.2 * telling.filter((word) => page.has(word)).length;
    return total * weight(section.url);
  };
  // First what defines the term that is asked for, in the glossary and where a chapter introduces it.
  const first = new Map();
  const named = indexed().sections.map((each) => ({ section: each.section, how: naming(each.names, phrase) }));
  const least = isShortName(phrase) || named.some(({ how }) => how === 2) ? 2 : 1;  // "gate" is not meant as the beginning of "GatedGCN"
  for (const { section, how } of named) {
    if (how < least) continue;
    first.set(section.url, 2000 * how);
    if (section.introduced) first.set(section.introduced, Math.max(first.get(section.introduced) ?? 0, 2000 * how - 1000));
  }
  // A page whose title is asked for, with words such as "own" or without.
  const written = (text) => (text.replace(/^\d+ /, "").match(WORD) ?? []).map((word) => stem(american(word)));
  const all = written(query);
  for (const { section } of indexed().sections) {
    if (all.length < 2 || section.url.includes("#") || isCode(section)) continue;
    const title = written(section.title);
    if (all.every((word) => title.includes(word)) && title.every((word) => all.includes(word) || SMALL.has(word))) first.set(section.url, 6000);
  }
  if (identifier) {
    for (const { section } of indexed().sections) if (isCode(section) && isNamed(section.title, nameInCode(question))) first.set(section.url, 5000);
  }
  const rank = ({ section }) => Number(!identifier && isLast(section));
  return withoutCopies(indexed().sections.map((each) => ({ section: each.section, score: score(each) + (first.get(each.section.url) ?? 0), asked }))
    .filter((found) => found.score > 0).sort((a, b) => rank(a) - rank(b) || b.score - a.score));
}

/** Which of the words that were asked for this one is, as written; -1 for none. */
function which(word, asked) {
  const forms = [...word.match(WORD).map(american), joined(word)];
  return asked.findIndex((term) => forms.some((form) => term.has(form)));
}

const shortened = (text) => (text.length > 240 ? `${text.slice(0, 240).replace(/\s\S*$/, "")} …` : text);

/** The sentence with most of the words, rather one without a hole where a formula cannot be shown. */
function excerpt(text, asked) {
  const sentences = text.split(SENTENCE);
  const worth = (sentence) => new Set((sentence.match(WRITTEN) ?? []).map((word) => which(word, asked))
    .filter((at) => at >= 0)).size - (sentence.includes("…") ? .9 : 0) -
    (sentence.includes(" · ") ? .5 : 0) - (sentence.length < 30 ? .5 : 0);
  const worths = sentences.map(worth);
  const best = sentences[worths.indexOf(Math.max(...worths))].trim();
  return shortened(best.replace(/(\(…[,;] |[,:]? …(?=[ ,.;:)]|$))/gu, (hole) => (hole[0] === "(" ? "(" : "")));
}

function marked(text, asked, paragraph = document.createElement("p")) {
  let end = 0;
  for (const match of text.matchAll(WRITTEN)) {
    if (which(match[0], asked) < 0) continue;
    paragraph.append(text.slice(end, match.index));
    paragraph.append(Object.assign(document.createElement("mark"), { textContent: match[0] }));
    end = match.index + match[0].length;
  }
  paragraph.append(text.slice(end));
  return paragraph;
}

/** The whole query, with the words of the book in place of those that it does not have. */
const corrected = (query, slips) => query.trim().replace(WRITTEN, (word) => {
  const slip = slips.find(([asked]) => asked === joined(word));
  return slip ? inBook(slip[1]).toLowerCase() : word;
});

/** A word of a query as the reader wrote it: "colourr" for "colorr". */
const asTyped = (asked, query) => query.match(WRITTEN).find((word) => joined(word) === asked) ?? asked;

/** Shows the sections that answer in a place of the page, at most `most` of them. Where there is room, the
    reader can choose a group of them. */
function answer(query, place, root, most = MOST) {
  const slips = [];
  const found = query.trim() ? search(query, slips) : [];
  const status = announced(place, "");
  if (!found.length) {
    const glossary = Object.assign(document.createElement("a"), { href: `${root}book/glossary.html`, textContent: "glossary" });
    if (query.trim()) status.append("No results. Check the spelling or see the ", glossary, ".");
    return;
  }
  const read = slips.length ? ` for “${corrected(query, slips)}”; the book has no ${slips.map(([word]) => `“${asTyped(word, query)}”`).join(" or ")}` : "";
  const of = (group) => found.filter(({ section }) => !group || groupOf(section) === group);
  /** Of more than a list holds, all are counted; of fewer, those that are shown. */
  const count = (group) => (found.totals[group] > MOST ? found.totals[group] : of(group).length);
  const groups = SHOWN.filter((group) => found.totals[group]);
  const total = groups.reduce((sum, group) => sum + count(group), 0);
  const list = document.createElement("div");
  const show = (group) => {
    const shown = of(group).slice(0, Math.min(most, MOST));
    const all = group ? count(group) : total;
    status.textContent = (all > shown.length ? `The ${shown.length} best of ${all} sections` : `${all} section${all > 1 ? "s" : ""}`) + read;
    list.replaceChildren(...shown.flatMap((each) => entry(each, root, most > 10 ? "h2" : "p")));
    if (most <= 10 && all > shown.length) list.append(every(all));
  };
  /** The way from the best results to all of them. */
  function every(all) {
    const line = Object.assign(document.createElement("p"), { className: "every" });
    line.append(Object.assign(document.createElement("a"), { href: `${root}search.html?q=${encodeURIComponent(query.trim())}`, textContent: `${all > MOST ? "More of" : "All"} ${all} sections` }));
    return line;
  }
  show();
  if (most > 10 && groups.length > 1) place.append(chips([["All", total], ...groups.map((group) => [group, count(group)])], (name) => show(name === "All" ? undefined : name)));
  place.append(list);
}

/** Buttons with a name and a count each, of which one is pressed. */
function chips(counts, choose) {
  const row = Object.assign(document.createElement("div"), { className: "groups" });
  row.setAttribute("role", "group");
  row.setAttribute("aria-label", "what to show");
  for (const [name, count] of counts) {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: `${name} ${count}`, ariaPressed: name === counts[0][0] });
    button.addEventListener("click", () => {
      for (const each of row.children) each.ariaPressed = each === button;
      choose(name);
    });
    row.append(button);
  }
  return row;
}

/** A result: its title, its page, and the sentence that answers. */
function entry({ section, asked, words, more }, root, tag) {
  const heading = Object.assign(document.createElement(tag), { className: "found" });
  const link = Object.assign(document.createElement("a"), { href: root + section.url });
  heading.append(marked(section.title, asked, link));
  const where = [section.page === section.title ? "" : section.page, more ? `and ${more} more page${more > 1 ? "s" : ""} with these words` : ""];
  const page = Object.assign(document.createElement("p"), { className: "page", textContent: where.filter(Boolean).join(", ") });
  return [heading, ...(page.textContent ? [page] : []), marked(words, asked)];
}
