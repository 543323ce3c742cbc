// A linked WebAssembly file, smaller: node scripts/shrink_wasm.mjs IN OUT
//
// The linker writes every number that it fills in with five bytes, however small it is (its own option against that crashes
// in the version that Debian has). Here the code is read instruction by instruction and every number written anew with as
// few bytes as it needs; locals are numbered by how often they are used. Nothing else changes.
import { readFileSync, writeFileSync } from 'node:fs';

const TYPES = 1, FUNCTIONS = 3, CODE = 10;
const [input, output] = process.argv.slice(2);
const from = readFileSync(input);
const parameters = [], functions = [];
let at = 8, out = [...from.subarray(0, 8)];

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

// What stands behind an opcode: u and s are numbers without and with sign, m the place in memory of a load or store, b a byte,
// 4, 8 and x are 4, 8 and 16 bytes, t a list of branches, v a list of types.
function operands(op) {
  if (op <= 0x01 || op === 0x05 || op === 0x0b || op === 0x0f || op === 0x1a || op === 0x1b || (op >= 0x45 && op <= 0xc4) || op === 0xd1) return '';
  if (op >= 0x02 && op <= 0x04) return 's';
  if (op === 0x0c || op === 0x0d || op === 0x10 || (op >= 0x20 && op <= 0x26) || op === 0xd2) return 'u';
  if (op >= 0x28 && op <= 0x3e) return 'm';
  const others = { 0x0e: 't', 0x11: 'uu', 0x1c: 'v', 0x3f: 'u', 0x40: 'u', 0x41: 's', 0x42: 's', 0x43: '4', 0x44: '8', 0xd0: 's' };
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
  else if (kind === 'm') 'uu'.split('').forEach(copyOperand);
  else if (kind === 't' || kind === 'v') {
    const count = Number(readUnsigned());
    out.push(...unsignedBytes(count));
    for (let i = 0; i < count + (kind === 't' ? 1 : 0); i++) copyOperand(kind === 't' ? 'u' : 'b');
  } else for (let i = { b: 1, 4: 4, 8: 8, x: 16 }[kind]; i > 0; i--) out.push(byte());
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
  locals.sort((a, b) => total.get(b.type) - total.get(a.type) || a.type - b.type || b.uses - a.uses || a.number - b.number);
  at = code;
  out = [];
  const kinds = [...new Set(locals.map((local) => local.type))];
  append(unsignedBytes(kinds.length));
  for (const type of kinds) append([...unsignedBytes(locals.filter((local) => local.type === type).length), type]);
  copyCode(end, new Map(), new Map(locals.map((local, i) => [local.number, i + parameters])));
  const body = out;
  out = whole;
  append(unsignedBytes(body.length));
  append(body);
}

// Numbers of parameters of the types, and the types of the functions: read in passing.
function look(section, end) {
  const begin = at;
  const count = section === TYPES || section === FUNCTIONS ? Number(readUnsigned()) : 0;
  for (let i = 0; i < count; i++) {
    if (section === FUNCTIONS) functions.push(Number(readUnsigned()));
    else {
      byte();
      parameters.push(Number(readUnsigned()));
      at += parameters.at(-1);
      const results = Number(readUnsigned());
      at += results;
    }
  }
  at = begin;
  append(from.subarray(at, end));
  at = end;
}

function append(bytes) {
  for (const b of bytes) out.push(b);
}

while (at < from.length) {
  const section = byte(), size = Number(readUnsigned()), end = at + size, whole = out;
  out = [];
  if (section === CODE) {
    const count = Number(readUnsigned());
    append(unsignedBytes(count));
    for (let i = 0; i < count; i++) copyFunction(parameters[functions[i]]);
  } else look(section, end);
  const body = out;
  out = whole;
  append([section, ...unsignedBytes(body.length)]);
  append(body);
}
const made = Uint8Array.from(out);
if (!WebAssembly.validate(made)) throw new Error(`What became of ${input} is not valid.`);
writeFileSync(output, made);
