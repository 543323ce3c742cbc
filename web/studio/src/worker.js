// worker.js - one character on one method, away from the page: loads, binds, steps. Talks in messages { id, call, ... } and
// answers each with { id, ... } or { id, error }. Progress of a bind comes as { progress, stage }.
import { Supple } from '../../src/supple.js';

let supple, character, actor;
let motions = []; // clips loaded from files

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

  bind({ method, settings, paints, ...posed }) {
    const next = character.bind(method, settings, paints);
    actor?.destroy();
    actor = next;
    pose(posed);
    actor.reset().step(0);
    return { ...skin(), rest: actor.rest.slice(), mainNodes: actor.mainNodes };
  },

  step(message) {
    pose(message);
    const began = performance.now();
    if (message.reset) actor.reset();
    actor.step(message.seconds);
    const milliseconds = message.reset ? undefined : performance.now() - began; // a reset is many steps
    const measured = message.measure ? actor.measure() : undefined;
    const depths = message.depths && measured ? actor.depths : undefined;
    return { ...skin(), milliseconds, measured, depths, ...under(message) };
  },

  // Flesh and field of the pose as it is, without a step.
  look(message) {
    return { ...under(message), tets: actor.inner().tets };
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

  // The character here, or one of files, with its skeleton and weights.
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
  const { vertexCount, nodes, parts } = character;
  return { vertexCount, nodes, parts, positions: character.positions.slice(), triangles: character.triangles.slice(), clips: clips() };
}

// Joints turned by hand come as { node: [x, y, z, w] }: turns in world space after the clip's, parents first.
function pose({ clip, time, turned, moved }) {
  const chosen = allClips()[clip];
  if (chosen) actor.poseClip(chosen, time);
  else actor.poseRest();
  if (turned && Object.keys(turned).length > 0) turn(turned);
  if (moved) shift(moved);
}

// World transforms of a turned node and all below it: the turn is about the node's own place.
function turn(turned) {
  const { world } = actor, { nodes } = character;
  for (const n of Object.keys(turned).map(Number).sort((a, b) => depth(a) - depth(b))) {
    const m = rotation(turned[n]), centre = [world[12 * n + 3], world[12 * n + 7], world[12 * n + 11]];
    for (let k = 0; k < nodes.length; k++) if (isBelow(k, n)) rotateAbout(world, 12 * k, m, centre);
  }
}

function depth(node) {
  let count = 0;
  for (let n = node; n >= 0; n = character.nodes[n].parent) count++;
  return count;
}

function isBelow(node, above) {
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

function rotateAbout(world, at, m, centre) {
  for (let column = 0; column < 4; column++) {
    const origin = column === 3 ? centre : [0, 0, 0];
    const v = [0, 1, 2].map((row) => world[at + 4 * row + column] - origin[row]);
    for (let row = 0; row < 3; row++)
      world[at + 4 * row + column] = origin[row] + m[3 * row] * v[0] + m[3 * row + 1] * v[1] + m[3 * row + 2] * v[2];
  }
}

// What is under the skin, as far as the page shows it.
function under({ inner, slice }) {
  const { points, bones } = inner ? actor.inner({ tets: false }) : {};
  return { points, bones, field: slice ? actor.field(slice) : undefined };
}

// Copies, because the page draws while the next step runs.
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
