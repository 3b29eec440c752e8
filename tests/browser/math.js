// node math.js FOLDER: reads JSON [{page, tex, display}], prints JSON of what MathJax refuses.
const folder = process.argv[2];
const formulas = JSON.parse(require("fs").readFileSync(0));
require(folder + "/node-main.js").init({
  loader: { paths: { mathjax: folder }, load: ["input/tex-full", "adaptors/liteDOM"] },
  tex: {
    packages: { "[-]": ["noundefined", "noerrors", "bussproofs"] },
    formatError: (_, error) => { throw error; },
  },
  startup: { typeset: false },
}).then((MathJax) => {
  const refused = [];
  for (const formula of formulas) {
    try { MathJax.tex2mml(formula.tex, { display: formula.display }); }
    catch (error) { refused.push({ ...formula, why: error.message }); }
  }
  process.stdout.write(JSON.stringify(refused));
}).catch((error) => { console.error(error.message || error); process.exit(2); });
