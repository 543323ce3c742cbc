// worker.js - one character with one method in a worker: loads, binds, steps. Receives messages { id, call, ... } and
// answers with { id, ... } or { id, error }. Reports bind progress as { progress, stage }.
import { Supple } from '../../src/supple.js';

let supple, character, actor;
let motions = []; // clips loaded by motion()

const calls = {
  async start({ module }) {
    supple = await Supple.create(module);
    supple.onProgress = (progress, stage) => void postMessage({ progress, stage });
    return { methods: supple.methods, scenes: supple.scenes, version: supple.version };
  },

  load({ files, scene, resolution }) {
    const next = scene ? supple.scene(scene, resolution) : supple.load(files);
    dispose();
    character = next;
    return describe();
  },

  motion({ files }) {
    motions.push(character.motion(files));
    return { clips: clips() };
  },

  bind({ method, settings, paints, ...poseMessage }) {
    const next = character.bind(method, settings, paints);
    actor?.destroy();
    actor = next;
    pose(poseMessage);
    actor.reset().step(0);
    return { ...skin(), rest: actor.rest.slice(), mainNodes: actor.mainNodes };
  },

  step(message) {
    pose(message);
    const began = performance.now();
    if (message.reset) actor.reset();
    actor.step(message.seconds);
    const milliseconds = message.reset ? undefined : performance.now() - began; // a reset runs many steps
    const measured = message.measure ? actor.measure() : undefined;
    const depths = message.depths && measured ? actor.depths : undefined;
    return { ...skin(), milliseconds, measured, depths, ...insideData(message) };
  },

  // Tissue and field of the current state, without a step.
  inspect(message) {
    return { ...insideData(message), tets: actor.inner().tets };
  },

  paint({ map, values }) {
    actor.paint(map, values);
    return {};
  },

  weights({ node }) {
    return { weights: actor.weightsOf(node) };
  },

  set({ name, value }) {
    actor.set(name, value);
    return {};
  },

  bake({ name, method, settings, paints, clip, fps }) {
    const bytes = character.bake(name, { method, settings, paints, clip: allClips()[clip] ?? null, fps });
    return { bytes, transfer: [bytes.buffer] };
  },

  // The current character, or one from files, with skeleton and weights.
  rigged({ files }) {
    const rigged = files ? supple.load(files) : character, bytes = rigged.rigged();
    if (files) rigged.destroy();
    return { bytes, transfer: [bytes.buffer] };
  },

  memory() {
    return { bytes: supple.c.memory.buffer.byteLength };
  },
};

function allClips() {
  return [...character.clips, ...motions];
}

function clips() {
  return allClips().map(({ name, start, end }) => ({ name, start, end }));
}

function describe() {
  const { vertexCount, nodes, primitives } = character;
  return {
    vertexCount,
    nodes,
    primitives,
    positions: character.positions.slice(),
    triangles: character.triangles.slice(),
    clips: clips()
  };
}

// `rotations`: { node: [x, y, z, w] }, world-space rotations of interactive posing, applied after the clip, parents
// first.
function pose({ clip, time, rotations, moved }) {
  const chosen = allClips()[clip];
  if (chosen) actor.poseClip(chosen, time);
  else actor.poseRest();
  if (rotations && Object.keys(rotations).length > 0) rotateNodes(rotations);
  if (moved) shift(moved);
}

// Rotates a node and its descendants about the position of the node.
function rotateNodes(rotations) {
  const { world } = actor, { nodes } = character;
  for (const n of Object.keys(rotations).map(Number).sort((a, b) => depthOf(a) - depthOf(b))) {
    const m = rotation(rotations[n]), center = [world[12 * n + 3], world[12 * n + 7], world[12 * n + 11]];
    for (let k = 0; k < nodes.length; k++) if (isDescendant(k, n)) rotateAbout(world, 12 * k, m, center);
  }
}

function depthOf(node) {
  let count = 0;
  for (let n = node; n >= 0; n = character.nodes[n].parent) count++;
  return count;
}

function isDescendant(node, above) {
  for (let n = node; n >= 0; n = character.nodes[n].parent) if (n === above) return true;
  return false;
}

function shift([x, y, z]) {
  const { world } = actor;
  for (let n = 0; n < character.nodes.length; n++) {
    world[12 * n + 3] += x;
    world[12 * n + 7] += y;
    world[12 * n + 11] += z;
  }
}

function rotation([x, y, z, w]) {
  return [
    1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),
    2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
    2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y),
  ];
}

function rotateAbout(world, at, m, center) {
  for (let column = 0; column < 4; column++) {
    const origin = column === 3 ? center : [0, 0, 0];
    const v = [0, 1, 2].map((row) => world[at + 4 * row + column] - origin[row]);
    for (let row = 0; row < 3; row++)
      world[at + 4 * row + column] = origin[row] + m[3 * row] * v[0] + m[3 * row + 1] * v[1] + m[3 * row + 2] * v[2];
  }
}

// Data of the inside view, as requested by the page.
function insideData({ inner, slice }) {
  const { points, bones } = inner ? actor.inner({ tets: false }) : {};
  return { points, bones, field: slice ? actor.field(slice) : undefined };
}

// Copies: the page renders while the next step runs.
function skin() {
  const positions = actor.positions.slice(), normals = actor.normals.slice(), world = actor.world.slice();
  return { positions, normals, world, transfer: [positions.buffer, normals.buffer, world.buffer] };
}

function dispose() {
  actor?.destroy();
  motions.forEach((clip) => clip.destroy());
  character?.destroy();
  actor = character = undefined;
  motions = [];
}

onmessage = async ({ data }) => {
  try {
    const { transfer = [], ...answer } = await calls[data.call](data);
    postMessage({ id: data.id, ...answer }, transfer);
  } catch (error) {
    postMessage({ id: data.id, error: error.message, where: error.where ?? '' });
  }
};
