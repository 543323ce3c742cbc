// A linked WebAssembly file, smaller: node scripts/shrink_wasm.mjs IN OUT
//
// The linker writes every number that it fills in with five bytes, however small it is (its own option against that
// crashes in the version that Debian has). Here the code is read instruction by instruction and every number written
// anew with as few bytes as it needs; locals are numbered by how often they are used, and functions that have much in
// common stand next to each other, where gzip sees it. Nothing else changes.
import { readFileSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const TYPES = 1, IMPORTS = 2, FUNCTIONS = 3, EXPORTS = 7, START = 8, ELEMENTS = 9, CODE = 10;
const FUNCTION = 0; // of what is imported and exported
const [input, output] = process.argv.slice(2);
// What is read, where, and what is written; of one pass over the file. `order`: which function stands where.
let from, at, out, order;
let parameters, functions, imported, bodies;

function byte() {
  if (at >= from.length) throw new Error(`${input} is cut off.`);
  return from[at++];
}

function readUnsigned() {
  let value = 0n;
  for (let shift = 0n, b = 0x80; b & 0x80; shift += 7n) value |= BigInt((b = byte()) & 0x7f) << shift;
  return value;
}

function readSigned() {
  let value = 0n, shift = 0n, b;
  do {
    b = byte();
    value |= BigInt(b & 0x7f) << shift;
    shift += 7n;
  } while (b & 0x80);
  return b & 0x40 ? value - (1n << shift) : value;
}

function unsignedBytes(value) {
  const bytes = [];
  for (value = BigInt(value); value > 0x7fn; value >>= 7n) bytes.push(Number(value & 0x7fn) | 0x80);
  return [...bytes, Number(value)];
}

function signedBytes(value) {
  const bytes = [];
  for (; value > 63n || value < -64n; value >>= 7n) bytes.push(Number(value & 0x7fn) | 0x80);
  return [...bytes, Number(value & 0x7fn)];
}

// What stands behind an opcode: u and s are numbers without and with sign, m the place in memory of a load or store, b
// a byte, 4, 8 and x are 4, 8 and 16 bytes, t a list of branches, v a list of types.
function operands(op) {
  if (
    op <= 0x01 || op === 0x05 || op === 0x0b || op === 0x0f || op === 0x1a || op === 0x1b ||
    (op >= 0x45 && op <= 0xc4) || op === 0xd1)
    return '';
  if (op >= 0x02 && op <= 0x04) return 's';
  if (op === 0x0c || op === 0x0d || op === 0x10 || (op >= 0x20 && op <= 0x26) || op === 0xd2) return 'u';
  if (op >= 0x28 && op <= 0x3e) return 'm';
  const others = {
    0x0e: 't',
    0x11: 'uu',
    0x1c: 'v',
    0x3f: 'u',
    0x40: 'u',
    0x41: 's',
    0x42: 's',
    0x43: '4',
    0x44: '8',
    0xd0: 's'
  };
  if (others[op] === undefined) throw new Error(`An instruction 0x${op.toString(16)} is not known here.`);
  return others[op];
}

function bulkOperands(op) {
  return op < 8 ? '' : [8, 10, 12, 14].includes(op) ? 'uu' : 'u';
}

function vectorOperands(op) {
  if (op <= 11 || op === 92 || op === 93) return 'm';
  if (op === 12 || op === 13) return 'x';
  return op >= 21 && op <= 34 ? 'b' : op >= 84 && op <= 91 ? 'mb' : '';
}

function copyOperand(kind) {
  if (kind === 'u') out.push(...unsignedBytes(readUnsigned()));
  else if (kind === 's') out.push(...signedBytes(readSigned()));
  else if (kind === 'm') {
    readUnsigned(); // how it is aligned: a hint that engines do not take
    out.push(0);
    copyOperand('u');
  }
  else if (kind === 't' || kind === 'v') {
    const count = Number(readUnsigned());
    out.push(...unsignedBytes(count));
    for (let i = 0; i < count + (kind === 't' ? 1 : 0); i++) copyOperand(kind === 't' ? 'u' : 'b');
  } else for (let i = { b: 1, 4: 4, 8: 8, x: 16 }[kind]; i > 0; i--) out.push(byte());
}

// The number of a function after all have changed places; imported ones come first and stay.
function copyFunctionNumber() {
  const number = Number(readUnsigned());
  append(
    unsignedBytes(number < imported ? number : imported + (order?.places[number - imported] ?? number - imported)));
}

// Instructions up to `end`. Locals are counted into `uses`, and get the numbers that `renumber` has for them.
function copyCode(end, uses, renumber) {
  while (at < end) {
    const op = byte();
    out.push(op);
    if (op >= 0x20 && op <= 0x22) {
      const local = Number(readUnsigned());
      uses.set(local, (uses.get(local) ?? 0) + 1);
      append(unsignedBytes(renumber.get(local) ?? local));
    } else if (op === 0x10 || op === 0xd2) {
      copyFunctionNumber();
    } else if (op === 0xfc || op === 0xfd) {
      const more = Number(readUnsigned());
      append(unsignedBytes(more));
      [...(op === 0xfc ? bulkOperands : vectorOperands)(more)].forEach(copyOperand);
    } else [...operands(op)].forEach(copyOperand);
  }
  if (at !== end) throw new Error(`A function of ${input} does not end where it should.`);
}

// Locals one type after another, those used most first: small numbers are shorter, and few numbers compress better.
function copyFunction(parameters) {
  const end = Number(readUnsigned()) + at, whole = out, types = [], uses = new Map();
  for (let groups = Number(readUnsigned()); groups > 0; groups--) {
    const count = Number(readUnsigned()), type = byte();
    for (let i = 0; i < count; i++) types.push(type);
  }
  const code = at;
  out = [];
  copyCode(end, uses, new Map());
  const locals = types.map((type, i) => ({ type, number: i + parameters, uses: uses.get(i + parameters) ?? 0 }));
  const usesOf = (type) => locals.reduce((sum, local) => sum + (local.type === type ? local.uses : 0), 0);
  const total = new Map([...new Set(types)].map((type) => [type, usesOf(type)]));
  locals.sort(
    (a, b) => total.get(b.type) - total.get(a.type) || a.type - b.type || b.uses - a.uses || a.number - b.number);
  at = code;
  out = [];
  const kinds = [...new Set(locals.map((local) => local.type))];
  append(unsignedBytes(kinds.length));
  for (const type of kinds) append([...unsignedBytes(locals.filter((local) => local.type === type).length), type]);
  copyCode(end, new Map(), new Map(locals.map((local, i) => [local.number, i + parameters])));
  bodies.push(out);
  out = whole;
}

// Bytes that are a number of them and then they.
function copyCounted() {
  const count = Number(readUnsigned());
  append(unsignedBytes(count));
  append(from.subarray(at, at + count));
  at += count;
  return count;
}

// One of the entries that a section lists.
const copyEntry = {
  [TYPES]() {
    out.push(byte());
    parameters.push(copyCounted());
    copyCounted();
  },
  [IMPORTS]() {
    copyCounted();
    copyCounted();
    const kind = byte();
    if (kind !== FUNCTION) throw new Error(`${input} imports more than functions.`);
    out.push(kind);
    copyOperand('u');
    imported++;
  },
  [FUNCTIONS]() {
    functions.push(Number(readUnsigned()));
  },
  [EXPORTS]() {
    copyCounted();
    const kind = byte();
    out.push(kind);
    if (kind === FUNCTION) copyFunctionNumber();
    else copyOperand('u');
  },
  [ELEMENTS]() {
    if (byte() !== 0) throw new Error(`A table of ${input} is not the plain one.`);
    out.push(0);
    while (from[at] !== 0x0b) {
      out.push(byte());
      copyOperand('s'); // the constant at which it begins
    }
    out.push(byte());
    const count = Number(readUnsigned());
    append(unsignedBytes(count));
    for (let i = 0; i < count; i++) copyFunctionNumber();
  },
  [CODE]() {
    copyFunction(parameters[functions[bodies.length]]);
  },
};

function copySection(section, end) {
  if (section === START) copyFunctionNumber();
  else if (copyEntry[section] === undefined) append(from.subarray(at, end));
  else {
    const count = Number(readUnsigned()), places = order?.functions ?? [...Array(count).keys()];
    append(unsignedBytes(count));
    for (let i = 0; i < count; i++) copyEntry[section]();
    if (section === FUNCTIONS) for (const i of places) append(unsignedBytes(functions[i]));
    if (section === CODE) for (const i of places) append([...unsignedBytes(bodies[i].length), ...bodies[i]]);
  }
  at = end;
}

// The file with its numbers as short as they can be, and its functions in this order or as they are.
function rewrite(bytes, newOrder) {
  [from, at, out, order] = [bytes, 8, [...bytes.subarray(0, 8)], newOrder];
  [parameters, functions, imported, bodies] = [[], [], 0, []];
  while (at < from.length) {
    const section = byte(), end = Number(readUnsigned()) + at, whole = out;
    out = [];
    copySection(section, end);
    const body = out;
    out = whole;
    append([section, ...unsignedBytes(body.length)]);
    append(body);
  }
  return Uint8Array.from(out);
}

// Runs of six bytes that a function shares with others, but not with very many: what they have in common.
function sharedRuns() {
  const RUN = 6, MANY = 12;
  const holders = new Map();
  bodies.forEach((body, i) => {
    for (let k = 0; k + RUN <= body.length; k++) {
      const run = body.slice(k, k + RUN).reduce((sum, b) => sum * 256 + b, 0);
      const list = holders.get(run);
      if (list === undefined) holders.set(run, [i]);
      else if (list.at(-1) !== i) list.push(i);
    }
  });
  const runs = bodies.map(() => []);
  for (const list of holders.values())
    if (list.length > 1 && list.length < MANY) for (const i of list) runs[i].push(list);
  return runs;
}

// Order of the functions: the next one is the one that shares most, for its size plus `small`, with the last `window`
// bytes; gzip's own window has 32 kB.
function orderBySimilarity(window, small) {
  const runs = sharedRuns(), seen = new Map(), common = bodies.map(() => 0), left = new Set(bodies.keys());
  const size = (i) => bodies[i].length, result = [];
  const remember = (i, by) => {
    for (const list of runs[i]) {
      const before = seen.get(list) ?? 0;
      seen.set(list, before + by);
      if ((before === 0) !== (before + by === 0)) for (const j of list) common[j] += by;
    }
  };
  for (let oldest = 0, bytes = 0; left.size > 0;) {
    const worth = (i) => common[i] / (small + size(i)) || size(i) * 1e-12;
    const next = [...left].reduce((best, i) => (worth(i) > worth(best) ? i : best));
    left.delete(next);
    result.push(next);
    remember(next, 1);
    for (bytes += size(next); bytes > window && oldest < result.length - 1; oldest++) {
      bytes -= size(result[oldest]);
      remember(result[oldest], -1);
    }
  }
  const places = [];
  result.forEach((i, place) => (places[i] = place));
  return { functions: result, places };
}

function append(bytes) {
  for (const b of bytes) out.push(b);
}

const short = rewrite(readFileSync(input), null);
// The greedy order is no optimum: the smallest of some is written.
const settings = [
  [28000, 200], [28000, 400], [24000, 200], [30000, 100], [20000, 300], [31000, 300], [26000, 800],
];
const orders = settings.map((values) => orderBySimilarity(...values));
const compressed = (bytes) => gzipSync(bytes, { level: 9 }).length;
const made = orders.map((one) => rewrite(short, one)).reduce((a, b) => (compressed(b) < compressed(a) ? b : a));
if (!WebAssembly.validate(made)) throw new Error(`The shrunken ${input} is not valid.`);
writeFileSync(output, made);
