// A linked WebAssembly file, smaller: node scripts/shrink_wasm.mjs IN OUT
//
// The linker writes every number that it fills in with five bytes, however small it is (its own option against that crashes
// in the version that Debian has). Here the code is read instruction by instruction and every number written anew with as
// few bytes as it needs. Nothing else changes.
import { readFileSync, writeFileSync } from 'node:fs';

const CODE = 10;
const [input, output] = process.argv.slice(2);
const from = readFileSync(input);
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

function copyFunction() {
  const end = Number(readUnsigned()) + at, whole = out;
  out = [];
  const groups = Number(readUnsigned());
  out.push(...unsignedBytes(groups));
  for (let i = 0; i < groups; i++) 'ub'.split('').forEach(copyOperand); // locals: how many, which type
  while (at < end) {
    const op = byte();
    out.push(op);
    if (op === 0xfc || op === 0xfd) {
      const more = Number(readUnsigned());
      out.push(...unsignedBytes(more));
      [...(op === 0xfc ? bulkOperands : vectorOperands)(more)].forEach(copyOperand);
    } else [...operands(op)].forEach(copyOperand);
  }
  if (at !== end) throw new Error(`A function of ${input} does not end where it should.`);
  const body = out;
  out = whole;
  append(unsignedBytes(body.length));
  append(body);
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
    for (let i = 0; i < count; i++) copyFunction();
  } else {
    append(from.subarray(at, end));
    at = end;
  }
  const body = out;
  out = whole;
  append([section, ...unsignedBytes(body.length)]);
  append(body);
}
const made = Uint8Array.from(out);
if (!WebAssembly.validate(made)) throw new Error(`What became of ${input} is not valid.`);
writeFileSync(output, made);
