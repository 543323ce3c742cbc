// meshes.js - converts PLY and STL to OBJ with the loaders of three.js; supple.wasm does not read them, to stay small.
import { mergeVertices } from 'three/addons/utils/BufferGeometryUtils.js';
import { PLYLoader } from 'three/addons/loaders/PLYLoader.js';
import { STLLoader } from 'three/addons/loaders/STLLoader.js';

export function asObj(name, bytes) {
  const reader = /\.ply$/i.test(name) ? new PLYLoader() : new STLLoader(),
        geometry = reader.parse(bytes.slice().buffer);
  for (const other of Object.keys(geometry.attributes)) if (other !== 'position') geometry.deleteAttribute(other);
  const { index, attributes } = geometry.index ? geometry : mergeVertices(geometry, 0); // STL does not share vertices
  if (!attributes.position?.count || !index?.count || [...attributes.position.array].some((x) => !Number.isFinite(x)))
    throw new Error(`${name} is not a readable mesh.`);
  const rows = (numbers, word, shift) => Array.from(
    { length: numbers.length / 3 }, (_, i) => `${word} ${[0, 1, 2].map((k) => numbers[3 * i + k] + shift).join(' ')}`);
  return new TextEncoder().encode(
    [...rows(attributes.position.array, 'v', 0), ...rows(index.array, 'f', 1)].join('\n') + '\n');
}
