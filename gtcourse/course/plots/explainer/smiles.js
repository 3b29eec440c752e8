// SMILES as the molecules that the models read: gtcourse.smiles.read(text), with the features of
// gtcourse.graphs.molecules.zinc_data and the encodings of explorer._molecule. What it cannot read it
// answers by an Error of one sentence.
//
// RDKit writes a molecule in one canonical way before its features are read: aromatic rings are found
// first, atoms are ranked, and double bonds are placed along the ranks. The same is done here, so that
// a molecule has the same features however it was written. Left out: pieces joined by a dot, isotopes
// and marks for double bonds (/ and \), which no feature depends on.
gtcourse.smiles = (function () {
  "use strict";

  const TYPES = ["C", "O", "N", "F", "C H1", "S", "Cl", "O -", "N H1 +", "Br", "N H3 +", "N H2 +", "N +", "N -", "S -", "I", "P",
    "O H1 +", "N H1 -", "O +", "S +", "P H1", "P H2", "C H2 -", "P +", "S H1 +", "C H1 -", "P H1 +"];
  const NUMBER = { B: 5, C: 6, N: 7, O: 8, F: 9, P: 15, S: 16, Cl: 17, Br: 35, I: 53 };
  const OUTER = { B: 3, C: 4, N: 5, O: 6, F: 7, P: 5, S: 6, Cl: 7, Br: 7, I: 7 };
  const VALENCES = { B: [3], C: [4], N: [3], O: [2], F: [1], P: [3, 5], S: [2, 4, 6], Cl: [1], Br: [1], I: [1, 3, 5] };
  const ORDERS = { "-": 1, "/": 1, "\\": 1, "=": 2, "#": 3, ":": 1.5 };
  const MOST_ATOMS = 60;
  const RANK = 8;  // singular vectors
  const LONGEST_PATH = 20;
  const LARGEST_RING = 18;
  // In lengths of a bond: a drawing that is folded, without a ring and with one, and the room between its rows.
  const [LONG_CHAIN, LONG, APART] = [12, 18, 1.9];
  const [CLOSE, ROUNDS] = [0.85, 20];  // atoms nearer than this are pushed apart, so often
  const BOX = [340, 230];  // pixels, about those of a molecule

  const fault = (sentence) => { throw new Error(sentence); };

  /** Atoms and bonds as they are written; the order of a bond that is not written is null. */
  function parse(text) {
    const [atoms, bonds, branches, open] = [[], [], [], new Map()];
    let [last, order, at] = [-1, null, 0];
    const here = () => `“${text[at]}” at position ${at + 1}`;

    function bond(from, to, kind) {
      if (from === to || bonds.some(({ a, b }) => (a === from && b === to) || (a === to && b === from))) {
        fault(`The bond to ${atoms[to].symbol} before position ${at + 1} is given twice or joins an atom to itself.`);
      }
      bonds.push({ a: from, b: to, order: kind });
    }

    function add(atom) {
      atoms.push({ aromatic: false, hydrogens: null, charge: 0, chiral: false, ...atom });
      if (last >= 0) bond(last, atoms.length - 1, order);
      [last, order] = [atoms.length - 1, null];
    }

    function close(number) {
      if (last < 0) fault(`Ring ${number} begins before any atom.`);
      const start = open.get(number);
      if (start === undefined) open.set(number, { atom: last, order });
      else {
        open.delete(number);
        bond(start.atom, last, order ?? start.order);
      }
      order = null;
    }

    while (at < text.length) {
      const rest = text.slice(at);
      const organic = rest.match(/^(Cl|Br|[BCNOPSFI]|[bcnops])/);
      const bracket = rest.match(/^\[(\d*)(Cl|Br|[BCNOPSFIH]|[bcnops])(@{0,2})(H\d*)?(\++\d*|-+\d*)?(?::\d+)?\]/);
      if (organic) {
        const symbol = organic[1][0].toUpperCase() + organic[1].slice(1);
        add({ symbol, aromatic: organic[1] !== symbol });
        at += organic[1].length;
      } else if (bracket) {
        const [whole, isotope, written, chiral, hydrogens = "", charge = ""] = bracket;
        if (isotope) fault(`${whole} is an isotope, which these models do not know; expected ${whole.replace(isotope, "")}.`);
        const symbol = written[0].toUpperCase() + written.slice(1);
        const size = charge.length > 1 && /\d/.test(charge) ? Number(charge.slice(1)) : charge.length;
        add({ symbol, aromatic: written !== symbol, chiral: chiral !== "", charge: charge[0] === "-" ? -size : size,
          hydrogens: hydrogens ? Number(hydrogens.slice(1) || 1) : 0 });
        at += whole.length;
      } else if (rest[0] === "[") {
        const end = rest.indexOf("]");
        fault(end < 0 ? `The bracket at position ${at + 1} is not closed.` :
          `The atom ${rest.slice(0, end + 1)} cannot be read; the models know ${Object.keys(NUMBER).filter((name) => name !== "B").join(", ")}.`);
      } else if (rest[0] in ORDERS) {
        order = ORDERS[rest[0]];
        at += 1;
      } else if (rest[0] === "(") {
        if (last < 0) fault("A branch begins before any atom.");
        branches.push(last);
        at += 1;
      } else if (rest[0] === ")") {
        if (!branches.length) fault(`The parenthesis at position ${at + 1} closes no branch.`);
        last = branches.pop();
        at += 1;
      } else if (/^\d/.test(rest)) {
        close(rest[0]);
        at += 1;
      } else if (/^%\d\d/.test(rest)) {
        close(rest.slice(1, 3));
        at += 3;
      } else if (rest[0] === ".") fault("The dot separates two molecules; expected one.");
      else fault(`The character ${here()} cannot be read; expected a SMILES string such as CC(=O)O.`);
    }
    if (branches.length) fault("A branch is opened by “(” and never closed.");
    if (open.size) fault(`Ring ${[...open.keys()][0]} is opened and never closed.`);
    if (order !== null) fault("The string ends in a bond; expected an atom after it.");
    return dropHydrogens(atoms, bonds);
  }

  /** A written hydrogen becomes one of its neighbour's. */
  function dropHydrogens(atoms, bonds) {
    const gone = new Set();
    atoms.forEach(({ symbol, charge }, atom) => {
      if (symbol !== "H") return;
      const mine = bonds.filter(({ a, b }) => a === atom || b === atom);
      const other = mine.length === 1 && mine[0].a + mine[0].b - atom;
      if (mine.length !== 1 || charge || atoms[other].symbol === "H") fault("A hydrogen in brackets needs one neighbour that is not a hydrogen.");
      if (atoms[other].hydrogens !== null) atoms[other].hydrogens += 1;
      gone.add(atom);
    });
    const number = [];
    const left = atoms.filter((_, atom) => !gone.has(atom));
    atoms.forEach((_, atom) => { number[atom] = gone.has(atom) ? -1 : number.filter((x) => x >= 0).length; });
    return { atoms: left, bonds: bonds.filter(({ a, b }) => !gone.has(a) && !gone.has(b)).map(({ a, b, order }) => ({ a: number[a], b: number[b], order })) };
  }

  /** For each atom its bonds, with the neighbour as `to`. */
  function neighbours({ atoms, bonds }) {
    const near = atoms.map(() => []);
    for (const bond of bonds) {
      near[bond.a].push({ to: bond.b, bond });
      near[bond.b].push({ to: bond.a, bond });
    }
    return near;
  }

  /** Distances in bonds from an atom; -1 where it cannot be reached. `without` is a bond that is not used. */
  function distances(near, from, without) {
    const found = near.map(() => -1);
    found[from] = 0;
    for (const queue = [from]; queue.length;) {
      const atom = queue.shift();
      for (const { to, bond } of near[atom]) {
        if (bond === without || found[to] >= 0) continue;
        found[to] = found[atom] + 1;
        queue.push(to);
      }
    }
    return found;
  }

  /** The smallest set of smallest rings, each a list of atoms in order (Horton's candidates, greedily). */
  function smallestRings(near, bonds) {
    const far = near.map((_, atom) => distances(near, atom));
    const back = (from, to) => {  // a shortest path, from `to` to `from`
      const path = [to];
      while (path.at(-1) !== from) path.push(near[path.at(-1)].find((step) => far[from][step.to] === far[from][path.at(-1)] - 1).to);
      return path;
    };
    const candidates = [];
    near.forEach((_, atom) => bonds.forEach(({ a, b }) => {
      if (far[atom][a] < 0) return;
      const [left, right] = [back(atom, a), back(atom, b)];
      if (new Set([...left, ...right]).size !== left.length + right.length - 1) return;
      candidates.push([...left, ...right.slice(0, -1).reverse()]);
    }));
    candidates.sort((one, two) => one.length - two.length);
    const wanted = bonds.length - near.length + new Set(near.map((_, atom) => far[atom].findIndex((x) => x >= 0))).size;
    const [rings, basis] = [[], []];
    for (const ring of candidates) {
      if (rings.length === wanted) break;
      let code = ringBonds(ring, near).reduce((sum, bond) => sum ^ (1n << BigInt(bonds.indexOf(bond))), 0n);
      for (const row of basis) if ((code ^ row) < code) code ^= row;
      if (!code) continue;
      basis.push(code);
      basis.sort((one, two) => (one < two ? 1 : -1));
      rings.push(ring);
    }
    return rings;
  }

  const ringBonds = (ring, near) => ring.map((atom, at) => near[atom].find(({ to }) => to === ring[(at + 1) % ring.length]).bond);

  const sum = (list, of) => list.reduce((total, each) => total + of(each), 0);

  /** What an atom's bonds can add up to, the smallest first; ions have those of the element beside. */
  function valences({ symbol, charge }) {
    if (!charge) return VALENCES[symbol];
    const beside = Object.keys(NUMBER).find((name) => NUMBER[name] === NUMBER[symbol] - charge);
    return VALENCES[beside] ?? [4];  // of P⁺, as Si has
  }

  /** N(=O)=O is written N⁺(=O)O⁻, and N=N#N is N=N⁺=N⁻. */
  function separateCharges({ atoms }, near) {
    atoms.forEach((atom, at) => {
      if (atom.symbol !== "N" || atom.charge) return;
      const total = sum(near[at], ({ bond }) => (bond.order === 1.5 ? 1 : bond.order)) + (atom.aromatic && near[at].some(({ bond }) => bond.order === 1.5) ? 1 : 0) + (atom.hydrogens ?? 0);
      const outer = total === 5 && near[at].find(({ to, bond }) => near[to].length === 1 && !atoms[to].charge &&
        ((atoms[to].symbol === "O" && bond.order === 2) || (atoms[to].symbol === "N" && bond.order === 3)));
      if (!outer) return;
      outer.bond.order -= 1;
      atom.charge = 1;
      atoms[outer.to].charge = -1;
      atom.hydrogens ??= 0;
      atoms[outer.to].hydrogens ??= 0;
    });
  }

  /** For each atom the number of its ring system, of rings that share bonds; -1 outside. */
  function ringSystems(rings, near) {
    const parts = rings.map((ring) => ringBonds(ring, near));
    const system = rings.map((_, ring) => ring);
    for (const one of rings.keys()) {
      for (const two of rings.keys()) {
        if (system[one] === system[two] || !parts[one].some((bond) => parts[two].includes(bond))) continue;
        const old = system[two];
        system.forEach((number, ring) => { if (number === old) system[ring] = system[one]; });
      }
    }
    const found = near.map(() => -1);
    rings.forEach((ring, at) => ring.forEach((atom) => { found[atom] = system[at]; }));
    return found;
  }

  /** Gives each aromatic bond an order of 1 or 2. `ranks` say which atom is served first. */
  function alternate({ atoms, bonds }, near, systems, ranks) {
    const open = atoms.map((atom, at) => {
      const mine = near[at];
      if (!mine.some(({ bond }) => bond.order === 1.5)) return false;
      const used = sum(mine, ({ bond }) => (bond.order === 1.5 ? 1 : bond.order)) + (atom.hydrogens ?? 0);
      return valences(atom).find((valence) => valence >= used) > used;
    });
    const wanted = bonds.filter(({ order }) => order === 1.5);
    const doubles = place(open, near, systems, ranks);
    if (!doubles) fault("An aromatic ring has no places for its double bonds; a nitrogen may lack its hydrogen, as in c1cc[nH]c1.");
    for (const bond of wanted) bond.order = doubles.has(bond) ? 2 : 1;
  }

  /** RDKit's search: from the lowest rank on, breadth first, the first neighbour that is open; then back. */
  function place(open, near, systems, ranks) {
    const inside = near.map((mine) => mine.some(({ bond }) => bond.order === 1.5));
    const byRank = (one, two) => ranks[one] - ranks[two];
    const doubles = new Set();
    let all = [];
    let steps = 0;

    function go(queue, done, left) {
      if ((steps += 1) > 20000) return false;
      queue = [...queue];
      const atom = queue.length ? queue.shift() : all.find((each) => !done.has(each));
      if (atom === undefined) return true;
      const seen = new Set(done).add(atom);
      const mine = near[atom].filter(({ to }) => inside[to] && systems[to] === systems[atom] && !seen.has(to)).sort((one, two) => byRank(one.to, two.to));
      for (const { to } of mine) if (!queue.includes(to)) queue.push(to);
      if (!left.has(atom)) return go(queue, seen, left);
      for (const { to, bond } of mine) {
        if (bond.order !== 1.5 || !left.has(to)) continue;
        const rest = new Set(left);
        rest.delete(atom);
        rest.delete(to);
        doubles.add(bond);
        if (go(queue, seen, rest)) return true;
        doubles.delete(bond);
      }
      return false;
    }

    for (const system of new Set(systems.filter((_, atom) => inside[atom]))) {
      all = systems.map((_, atom) => atom).filter((atom) => inside[atom] && systems[atom] === system).sort(byRank);
      steps = 0;
      if (!go([], new Set(), new Set(all.filter((atom) => open[atom])))) return null;
    }
    return doubles;
  }

  /** Marks the bonds that RDKit calls aromatic: rings, alone or joined, of 4k + 2 electrons. */
  function findAromatic({ atoms, bonds }, near, rings) {
    const inRing = new Set(rings.flatMap((ring) => ringBonds(ring, near)));
    const electrons = atoms.map((atom, at) => donated(atom, near[at], inRing, atoms));
    const candidates = rings.filter((ring) => ring.every((atom) => electrons[atom] !== null));
    const parts = candidates.map((ring) => ringBonds(ring, near));
    const joined = parts.map((one) => parts.map((two) => one !== two && one.some((bond) => two.includes(bond))));
    const aromatic = new Set();
    const done = new Set();
    let groups = candidates.map((_, at) => [at]);
    for (let size = 1; size <= 6 && groups.length; size++) {
      for (const group of groups) {
        const counts = new Map();
        for (const ring of group) for (const atom of candidates[ring]) counts.set(atom, (counts.get(atom) ?? 0) + 1);
        const outer = [...counts].filter(([, count]) => count <= 2).map(([atom]) => atom);
        const total = sum(outer, (atom) => electrons[atom]);
        if (!(total === 2 || (total >= 6 && total % 4 === 2))) continue;
        const mine = group.flatMap((ring) => parts[ring]);
        for (const bond of mine) if (mine.indexOf(bond) === mine.lastIndexOf(bond)) aromatic.add(bond);
        group.forEach((ring) => done.add(ring));
      }
      const larger = new Map();
      for (const group of groups) {
        candidates.forEach((_, ring) => {
          if (group.includes(ring) || !group.some((each) => joined[each][ring])) return;
          const next = [...group, ring].sort((one, two) => one - two);
          if (next.some((each) => parts[each].some((bond) => !aromatic.has(bond)))) larger.set(next.join(), next);
        });
      }
      groups = larger.size > 3000 ? [] : [...larger.values()];
    }
    return aromatic;
  }

  /** How many electrons an atom gives to an aromatic ring; null if it cannot be in one. */
  function donated(atom, mine, inRing, atoms) {
    const [valence] = VALENCES[atom.symbol];
    const degree = mine.length + atom.hydrogens;
    const total = sum(mine, ({ bond }) => bond.order) + atom.hydrogens;
    const multiple = mine.filter(({ bond }) => bond.order > 1);
    if (valence <= 1 || degree > 3 || multiple.length > 1 || total > valences(atom)[0]) return null;
    const pairs = Math.max(Math.max(OUTER[atom.symbol] - valence, 0) - atom.charge, 0);
    let free = valence - degree + pairs;
    if (free > 1 && multiple.some(({ bond }) => bond.order > 2)) free = 1;
    const outside = multiple.find(({ bond }) => !inRing.has(bond));
    const other = outside && atoms[outside.to].symbol;
    const stolen = other && (OUTER[other] > OUTER[atom.symbol] ||
      (OUTER[other] === OUTER[atom.symbol] && NUMBER[other] < NUMBER[atom.symbol]));
    if (free < 0) return null;
    if (free === 0) return outside ? 0 : multiple.length ? 1 : null;
    if (free === 1) {
      if (outside) return stolen ? 0 : 1;
      return multiple.length ? 1 : atom.charge === 1 ? 0 : null;
    }
    return (free - (stolen ? 1 : 0)) % 2 ? 1 : 2;
  }

  /** RDKit's ranks: refined by what is around an atom, then ties are broken. */
  function rank({ atoms }, near, aromatic, breakTies = true, chirality = true) {
    const n = atoms.length;
    const order = atoms.map((_, atom) => atom);
    const index = atoms.map(() => 0);
    const count = atoms.map(() => 0);
    const kind = (bond) => (aromatic.has(bond) ? 12 : bond.order);
    const own = atoms.map((atom, at) => [near[at].length, NUMBER[atom.symbol], atom.hydrogens, atom.charge, chirality && atom.chiral ? 1 : 0]);
    const compare = (one, two) => {
      for (let at = 0; at < Math.min(one.length, two.length); at++) if (one[at] !== two[at]) return one[at] - two[at];
      return one.length - two.length;
    };
    const around = (atom) => near[atom].map(({ to, bond }) => [kind(bond), index[to]]).sort((one, two) => compare(two, one)).flat();
    let [stack, waiting, withNeighbours] = [[], new Set(), false];

    function activate(atom) {
      if (count[atom] < 2 || waiting.has(atom)) return;
      waiting.add(atom);
      stack.push(atom);
    }

    function refine() {
      while (stack.length) {
        const first = stack.pop();
        waiting.delete(first);
        const [length, offset] = [count[first], index[first]];
        const keys = new Map(order.slice(offset, offset + length).map((atom) => [atom, withNeighbours ? [...own[atom], ...around(atom)] : own[atom]]));
        const sorted = [...keys.keys()].sort((one, two) => compare(keys.get(one), keys.get(two)));
        let start = 0;
        const changed = [];
        sorted.forEach((atom, at) => {
          order[offset + at] = atom;
          count[atom] = 0;
          if (at && compare(keys.get(atom), keys.get(sorted[at - 1]))) start = at;
          count[sorted[start]] += 1;
          index[atom] = offset + start;
          if (start) changed.push(atom);
        });
        if (!withNeighbours) continue;
        const touched = new Set(changed.flatMap((atom) => near[atom].map(({ to }) => index[to])));
        [...touched].sort((one, two) => one - two).forEach((place) => activate(order[place]));
      }
    }

    count[0] = n;
    activate(0);
    refine();
    withNeighbours = true;
    for (let at = 0; at < n; at += Math.max(1, count[order[at]])) activate(order[at]);
    refine();
    for (let at = 0; breakTies && at < n; at++) {
      while (count[order[at]] > 1) {
        const first = order[at];
        const last = index[first] + count[first] - 1;
        const atom = order[last];
        index[atom] = last;
        count[first] -= 1;
        count[atom] = 1;
        const touched = new Set(near[atom].map(({ to }) => index[to]));
        [...touched].sort((one, two) => one - two).forEach((place) => activate(order[place]));
        refine();
      }
    }
    return index;
  }

  /** A mark for a centre stays where the neighbours differ, or where two such atoms face each other in a ring. */
  function keepChiral(molecule, near, aromatic, rings) {
    const { atoms } = molecule;
    const classes = rank(molecule, near, aromatic, false, false);
    const different = (at) => new Set(near[at].map(({ to }) => classes[to])).size === near[at].length;
    const facing = (at) => rings.some((ring) => ring.includes(at) && ring.some((other) => other !== at && atoms[other].chiral && !different(other)));
    const kept = atoms.map((atom, at) => atom.chiral && near[at].length + atom.hydrogens === 4 && atom.hydrogens < 2 && (different(at) || facing(at)));
    kept.forEach((keep, at) => { atoms[at].chiral = keep; });
  }

  /** What stands for an atom in the vocabulary: hydrogens count only where RDKit would write them. */
  function typeOf(atom, mine, at) {
    const used = sum(mine, ({ bond }) => bond.order);
    const usual = !atom.charge && valences(atom).find((valence) => valence >= used) - used === atom.hydrogens;
    const written = usual && !atom.chiral ? 0 : atom.hydrogens;
    const name = `${atom.symbol}${written ? ` H${written}` : ""}${atom.charge > 0 ? " +" : atom.charge < 0 ? " -" : ""}`;
    const type = TYPES.indexOf(name);
    if (type < 0) {
      fault(`Atom ${at}, ${atom.symbol}${atom.hydrogens ? ` with ${atom.hydrogens} hydrogen${atom.hydrogens > 1 ? "s" : ""}` : ""}${
        atom.charge ? ` and charge ${atom.charge > 0 ? "+" : "−"}${Math.abs(atom.charge)}` : ""}, is not one of the 28 types that these models know.`);
    }
    return type;
  }

  /** Hydrogens that are not written fill the smallest valence that holds the bonds. */
  function fillHydrogens({ atoms }, near) {
    atoms.forEach((atom, at) => {
      const used = sum(near[at], ({ bond }) => bond.order);
      const room = valences(atom).find((valence) => valence >= used + (atom.hydrogens ?? 0));
      if (room === undefined) fault(`Atom ${at}, ${atom.symbol}, has a valence of ${used + (atom.hydrogens ?? 0)}, more than it can have.`);
      atom.hydrogens ??= room - used;
    });
  }

  /** Atoms and bonds with RDKit's canonical places of double bonds. */
  function graph(text) {
    const molecule = parse(text);
    const { atoms, bonds } = molecule;
    if (!atoms.length) fault("There is no atom yet; type a SMILES string such as CC(=O)O.");
    if (atoms.length > MOST_ATOMS) fault(`This molecule has ${atoms.length} atoms; expected at most ${MOST_ATOMS}. The models were trained on 9 to 37.`);
    const near = neighbours(molecule);
    const inRing = new Set(bonds.filter((bond) => distances(near, bond.a, bond)[bond.b] >= 0));
    for (const bond of bonds) {
      const both = atoms[bond.a].aromatic && atoms[bond.b].aromatic;
      if (bond.order === null) bond.order = both && inRing.has(bond) ? 1.5 : 1;
      if (bond.order === 1.5 && !inRing.has(bond)) bond.order = 1;
    }
    const alone = atoms.findIndex((atom, at) => atom.aromatic && !near[at].some(({ bond }) => bond.order === 1.5));
    if (alone >= 0) fault(`Atom ${alone} is written as aromatic (lower case) but is not in an aromatic ring.`);
    separateCharges(molecule, near);
    const rings = smallestRings(near, bonds);
    const systems = ringSystems(rings, near);
    alternate(molecule, near, systems, atoms.map((_, atom) => atom));
    fillHydrogens(molecule, near);
    const aromatic = findAromatic(molecule, near, rings);
    keepChiral(molecule, near, aromatic, rings);
    const ranks = rank(molecule, near, aromatic);
    for (const bond of aromatic) bond.order = 1.5;
    alternate(molecule, near, systems, ranks);
    return { atoms, bonds, near, rings };
  }

  /** Pairs on a common chordless ring, [n²] of 0 and 1. */
  function commonRings(near) {
    const n = near.length;
    const common = new Array(n * n).fill(0);
    const joined = near.map((mine) => new Set(mine.map(({ to }) => to)));
    function extend(path) {
      for (const next of joined[path.at(-1)]) {
        if (next <= path[0] || path.includes(next) || path.slice(1, -1).some((atom) => joined[next].has(atom))) continue;
        const cycle = [...path, next];
        if (path.length > 1 && joined[next].has(path[0])) {
          for (const i of cycle) for (const j of cycle) if (i !== j) common[i * n + j] = 1;
        } else if (cycle.length < LARGEST_RING) extend(cycle);
      }
    }
    near.forEach((_, atom) => extend([atom]));
    return common;
  }

  /** The bonds along each pair's shortest path, a digit each; of several the first in order of digits. */
  function shortestPaths(near, distance) {
    const n = near.length;
    const paths = new Array(n * n).fill("");
    for (let from = 0; from < n; from++) {
      const byDistance = [...Array(n).keys()].filter((to) => distance[from * n + to] > 0)
        .sort((one, two) => distance[from * n + one] - distance[from * n + two]);
      for (const to of byDistance) {
        const ways = near[to].filter((step) => distance[from * n + step.to] === distance[from * n + to] - 1)
          .map((step) => paths[from * n + step.to] + step.bond.order);
        paths[from * n + to] = ways.sort()[0];
      }
    }
    return paths.map((path) => path.slice(0, LONGEST_PATH));
  }

  /** Eigenvalues and vectors (columns) of a symmetric matrix of n rows, by Jacobi's rotations. */
  function eigen(matrix, n) {
    const [A, V] = [Float64Array.from(matrix), new Float64Array(n * n)];
    for (let i = 0; i < n; i++) V[i * n + i] = 1;
    for (let sweep = 0; sweep < 60; sweep++) {
      let off = 0;
      for (let p = 0; p < n; p++) {
        for (let q = p + 1; q < n; q++) {
          off += A[p * n + q] ** 2;
          if (Math.abs(A[p * n + q]) < 1e-300) continue;
          const theta = (A[q * n + q] - A[p * n + p]) / (2 * A[p * n + q]);
          const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.hypot(theta, 1));
          const c = 1 / Math.hypot(t, 1);
          const s = t * c;
          for (const [M, by, step] of [[A, n, 1], [A, 1, n], [V, n, 1]]) {
            for (let k = 0; k < n; k++) {
              const [x, y] = [M[k * by + p * step], M[k * by + q * step]];
              M[k * by + p * step] = c * x - s * y;
              M[k * by + q * step] = s * x + c * y;
            }
          }
        }
      }
      if (off < 1e-26) break;
    }
    return { values: Array.from({ length: n }, (_, i) => A[i * n + i]), vectors: V };
  }

  /** The singular vectors of A + I as AddSVD has them, and whether equal singular values leave them open. */
  function singular(near) {
    const n = near.length;
    const matrix = new Float64Array(n * n);
    near.forEach((mine, i) => [i, ...mine.map(({ to }) => to)].forEach((j) => { matrix[i * n + j] = 1; }));
    const { values, vectors } = eigen(matrix, n);
    const order = values.map((_, k) => k).sort((one, two) => Math.abs(values[two]) - Math.abs(values[one]));
    const size = (place) => Math.abs(values[order[place]] ?? 0);
    const open = order.slice(0, RANK).some((_, place) => size(place) > 1e-7 && place + 1 < n && size(place) - size(place + 1) < 1e-7);
    const svd = new Array(n * 2 * RANK).fill(0);
    order.slice(0, RANK).forEach((k, place) => {
      const column = Array.from({ length: n }, (_, i) => vectors[i * n + k]);
      const largest = Math.max(...column.map(Math.abs));
      const sign = Math.sign(column.find((value) => Math.abs(value) >= largest - 1e-8));
      const scale = sign * Math.sqrt(Math.abs(values[k]));
      column.forEach((value, i) => {
        svd[i * 2 * RANK + place] = value * scale;
        svd[i * 2 * RANK + RANK + place] = value * scale * (values[k] < 0 ? -1 : 1);
      });
    });
    return { svd, open };
  }

  /** Where to draw atoms, [n][2] in lengths of a bond: distances on the page follow those in bonds. */
  function layout(n, distance, rings) {
    const target = distance.map((d) => Math.hypot(0.866 * d, d % 2 ? 0.5 : 0));  // a zigzag chain
    for (const ring of [...rings].sort((one, two) => two.length - one.length)) {
      const m = ring.length;
      ring.forEach((i, at) => ring.forEach((j, to) => {  // the chord of a regular polygon
        if (i !== j) target[i * n + j] = Math.sin(Math.PI * Math.abs(at - to) / m) / Math.sin(Math.PI / m);
      }));
    }
    return loosened(folded(spread(starts(n, distance), target, n), rings.length ? LONG : LONG_CHAIN)).map((place) => place.map((x) => Math.round(100 * x) / 100));
  }

  /** Where the search for places begins: six spirals, and the longest path stretched out. */
  function starts(n, distance) {
    const spiral = Array.from({ length: n }, (_, i) => [Math.cos(2.399 * i) * Math.sqrt(i + 1), Math.sin(2.399 * i) * Math.sqrt(i + 1)]);
    const turned = Array.from({ length: 6 }, (_, turn) => spiral.map(([x, y], i) =>
      [x * Math.cos(turn * i) - y * Math.sin(turn * i), x * Math.sin(turn * i) + y * Math.cos(turn * i)]));
    const longest = Math.max(...distance);
    const end = Math.floor(distance.indexOf(longest) / n);
    const stretched = spiral.map((_, i) => [0.866 * distance[end * n + i], (distance[end * n + i] % 2) / 2 + i / n / 10]);
    return [...turned, stretched];
  }

  /** Moves points until their distances are near the wanted ones (stress majorisation), from several starts. */
  function spread(begin, target, n) {
    const stress = (at) => {
      let total = 0;
      for (let i = 0; i < n; i++) {
        for (let j = 0; j < i; j++) total += (Math.hypot(at[i][0] - at[j][0], at[i][1] - at[j][1]) / target[i * n + j] - 1) ** 2;
      }
      return total;
    };
    const weightOf = target.map((wanted) => wanted ** -2);
    let best = null;
    for (const start of begin) {
      let at = start;
      for (let step = 0; step < 150; step++) {
        at = at.map(([x, y], i) => {
          let sumX = 0;  // no arrays in this loop: it runs half a million times for a molecule
          let sumY = 0;
          let weights = 0;
          for (let j = 0; j < n; j++) {
            if (i === j) continue;
            const wanted = target[i * n + j];
            const other = at[j];
            const dx = x - other[0];
            const dy = y - other[1];
            const length = Math.hypot(dx, dy) || 1e-3;
            const weight = weightOf[i * n + j];
            sumX += weight * (other[0] + wanted * dx / length);
            sumY += weight * (other[1] + wanted * dy / length);
            weights += weight;
          }
          return weights ? [sumX / weights, sumY / weights] : [x, y];
        });
      }
      const found = stress(at);
      if (!best || found < best.found) best = { found, at };
    }
    return flat(best.at);
  }

  /** Turned so that the longest direction is level. */
  function flat(at) {
    const mean = [0, 1].map((axis) => sum(at, (place) => place[axis]) / at.length);
    const moved = at.map(([x, y]) => [x - mean[0], y - mean[1]]);
    const angle = Math.atan2(2 * sum(moved, ([x, y]) => x * y), sum(moved, ([x, y]) => x * x - y * y)) / 2;
    return moved.map(([x, y]) => [x * Math.cos(angle) + y * Math.sin(angle), y * Math.cos(angle) - x * Math.sin(angle)]);
  }

  /** A drawing longer than `most` is laid in rows that are joined by half circles, so that its bonds are longer
      on the page; of all numbers of rows the one with the longest bonds. */
  function folded(at, most) {
    const [long, tall] = [0, 1].map((axis) => Math.max(...at.map((place) => place[axis])) - Math.min(...at.map((place) => place[axis])));
    const [left, top] = [0, 1].map((axis) => Math.min(...at.map((place) => place[axis])));
    if (long < most) return at;
    const radius = (tall + APART) / 2;  // of a half circle, in the middle of the drawing's height
    const row = (rows) => (long - (rows - 1) * Math.PI * radius) / rows;
    const size = (rows) => {
      const ends = Math.min(rows - 1, 2) * (radius + tall / 2);
      return Math.min(BOX[0] / (row(rows) + ends + 1), BOX[1] / (tall + 2 * radius * (rows - 1) + 1));
    };
    const rows = [1, 2, 3, 4, 5].filter((count) => row(count) > 0).reduce((best, count) => (size(count) > size(best) ? count : best));
    const period = row(rows) + Math.PI * radius;
    return at.map(([x, y]) => {
      const which = Math.min(rows - 1, Math.floor((x - left) / period));
      const along = x - left - which * period;
      const across = y - top - tall / 2;
      const sign = which % 2 ? -1 : 1;  // every other row runs back
      const beyond = Math.max(0, along - row(rows)) / radius;  // the angle in the half circle
      const out = radius - sign * across;
      const [u, v] = beyond > 0 ? [row(rows) + out * Math.sin(beyond), radius - out * Math.cos(beyond)] : [along, sign * across];
      return [sign > 0 ? u : row(rows) - u, v + 2 * radius * which];
    });
  }

  /** Atoms that lie on each other, as inside a narrow bend, are pushed apart. */
  function loosened(at) {
    const places = at.map((place) => [...place]);
    for (let round = 0; round < ROUNDS; round++) {
      for (let i = 0; i < places.length; i++) {
        for (let j = 0; j < i; j++) {
          let [dx, dy] = [0, 1].map((axis) => places[i][axis] - places[j][axis]);
          if (!dx && !dy) dx = 1e-3;  // in one place there is no way apart, so any will do
          const length = Math.hypot(dx, dy);
          if (length >= CLOSE) continue;
          const by = (CLOSE - length) / 2 / length;
          places[i] = [places[i][0] + by * dx, places[i][1] + by * dy];
          places[j] = [places[j][0] - by * dx, places[j][1] - by * dy];
        }
      }
    }
    return places;
  }

  /** The molecule of a SMILES string, as the models and the page read it. */
  function read(text) {
    const smiles = text.trim();
    const { atoms, bonds, near, rings } = graph(smiles);
    const n = atoms.length;
    const distance = near.flatMap((_, atom) => distances(near, atom));
    const edge = new Array(n * n).fill(-1);
    for (const { a, b, order } of bonds) edge[a * n + b] = edge[b * n + a] = order;
    const { svd, open } = singular(near);
    return { name: smiles, smiles, value: null, open, symbols: atoms.map(({ symbol }) => symbol), places: layout(n, distance, rings),
      x: atoms.map((atom, at) => typeOf(atom, near[at], at)), degree: near.map((mine) => mine.length), distance, edge, ring: commonRings(near),
      paths: shortestPaths(near, distance).join("."), svd };
  }

  return { read };
})();
