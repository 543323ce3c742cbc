// supple.js - Supple in a page or in Node: load a character, bind a method, step it, read the skin in place.
//
//     const supple = await Supple.create(fetch('supple.wasm'));
//     const character = supple.load({ 'dancer.glb': bytes });
//     const actor = character.bind('projective');
//     actor.poseClip(character.clips[0], time).step(1 / 60);
//     geometry.attributes.position.array.set(actor.positions);
//
// All objects are in WebAssembly memory: call destroy() when done. Views such as actor.positions become invalid when
// the memory grows; read them again after every call.

import { MemoryFiles } from './memfs.js';

const PARAM_TYPES = ['float', 'int', 'bool', 'choice'];
const TRANSFORM_FLOATS = 10; // translation, rotation (w last), scale

// An error of the library: `message` for users; `id` is stable; `where` is a file, node or line.
export class SuppleError extends Error {
  constructor(message, id = '', where = '') {
    super(message);
    this.name = 'SuppleError';
    this.id = id;
    this.where = where;
  }
}

export class Supple {
  // `source`: the bytes of supple.wasm, a compiled module, a Response or a promise of one.
  static async create(source) {
    const supple = new Supple();
    const resolved = await source;
    const bytes =
      typeof Response !== 'undefined' && resolved instanceof Response ? await resolved.arrayBuffer() : resolved;
    const module = bytes instanceof WebAssembly.Module ? bytes : await WebAssembly.compile(bytes);
    const instance = await WebAssembly.instantiate(module, {
      wasi_snapshot_preview1: supple.files.imports(),
      supple: { progress: (fraction, stage) => (supple.onProgress?.(fraction, supple.text(stage)) === false ? 0 : 1) },
    });
    supple.c = instance.exports;
    supple.files.memory = instance.exports.memory;
    supple.c._initialize();
    supple.scratch = supple.c.sup_web_allocate(128);
    return supple;
  }

  constructor() {
    this.files = new MemoryFiles();
    this.onProgress = null; // (fraction, stage) => false to cancel; called while binding and baking
  }

  get version() {
    const v = this.c.sup_web_version();
    return `${Math.floor(v / 10000)}.${Math.floor(v / 100) % 100}.${v % 100}`;
  }

  // The methods with their parameters and maps.
  get methods() {
    return range(this.c.sup_web_method_count()).map((m) => ({
      name: this.text(this.c.sup_web_method_name(m)),
      summary: this.text(this.c.sup_web_method_summary(m)),
      params: range(this.c.sup_web_method_param_count(m)).map((p) => this.#param(m, p)),
      maps: range(this.c.sup_web_method_map_count(m)).map((p) => this.#map(m, p)),
      hasInner: (this.c.sup_web_method_features(m) & 1) !== 0,
      hasField: (this.c.sup_web_method_features(m) & 2) !== 0,
    }));
  }

  #param(m, p) {
    this.c.sup_web_param_numbers(m, p, this.scratch);
    const [type, minimum, maximum, default_value, live] = this.doubles(this.scratch, 5).slice();
    const [name, unit, help] = range(3).map((which) => this.text(this.c.sup_web_param_text(m, p, which)));
    const choices = [];
    for (let at; PARAM_TYPES[type] === 'choice' && (at = this.c.sup_web_param_choice(m, p, choices.length)) !== 0; )
      choices.push(this.text(at));
    return { name, unit, help, type: PARAM_TYPES[type], minimum, maximum, default_value, live: live !== 0, choices };
  }

  #map(m, p) {
    this.c.sup_web_map_numbers(m, p, this.scratch);
    const [minimum, maximum, default_value, live] = this.doubles(this.scratch, 4).slice();
    const [name, unit, help] = range(3).map((which) => this.text(this.c.sup_web_map_text(m, p, which)));
    return { name, unit, help, minimum, maximum, default_value, live: live !== 0 };
  }

  get scenes() {
    return range(this.c.sup_web_scene_count()).map((s) => ({
      name: this.text(this.c.sup_web_scene_name(s)),
      summary: this.text(this.c.sup_web_scene_summary(s)),
    }));
  }

  // A built-in character; `resolution` multiplies its vertex count.
  scene(name, resolution = 1) {
    return new Character(
      this, this.#checked(this.withText([name], (n) => this.c.sup_web_character_scene(n, resolution))));
  }

  // A character from files in memory: { 'name.glb': Uint8Array, ... }. The first file is the character or mesh; a .skel
  // or .bvh is the skeleton of a mesh; other files are those that the first one references.
  load(files) {
    const names = Object.keys(files);
    for (const name of names) this.files.write(name, asBytes(files[name]));
    const skeleton = /\.(obj|off)$/i.test(names[0]) ? names.slice(1).find((n) => /\.(skel|bvh)$/i.test(n)) : undefined;
    try {
      const texts = skeleton === undefined ? [names[0]] : [names[0], skeleton];
      return new Character(
        this, this.#checked(this.withText(texts, (n, s = 0) => this.c.sup_web_character_load(n, s))));
    } finally {
      for (const name of names) this.files.remove(name);
    }
  }

  #checked(pointer) {
    if (pointer === 0) throw this.error();
    return pointer;
  }

  error() {
    const [message, id, where] = ['message', 'id', 'where'].map((w) => this.text(this.c[`sup_web_error_${w}`]()));
    return new SuppleError(message || 'The call failed.', id, where);
  }

  // ---- memory ----

  text(pointer) {
    if (pointer === 0) return '';
    const bytes = new Uint8Array(this.c.memory.buffer);
    return new TextDecoder().decode(bytes.subarray(pointer, bytes.indexOf(0, pointer)));
  }

  // Calls `fn` with pointers to C strings that are valid during the call.
  withText(texts, fn) {
    const pointers = texts.map((text) => {
      const bytes = new TextEncoder().encode(text), pointer = this.c.sup_web_allocate(bytes.length + 1);
      const memory = new Uint8Array(this.c.memory.buffer, pointer, bytes.length + 1);
      memory.set(bytes);
      memory[bytes.length] = 0;
      return pointer;
    });
    try {
      return fn(...pointers);
    } finally {
      pointers.forEach((pointer) => this.c.sup_web_release(pointer));
    }
  }

  // Calls `fn` with a pointer to the parameter values of a method: `settings`, else the defaults.
  withValues(methodName, settings, fn) {
    const method = this.methods.find((m) => m.name === methodName);
    if (!method)
      throw new SuppleError(
        `Unknown method "${methodName}". Available: ${this.methods.map((m) => m.name).join(', ')}.`);
    const pointer = this.c.sup_web_allocate(8 * method.params.length + 8);
    try {
      this.doubles(pointer, method.params.length).set(parameterValues(method, settings));
      return fn(pointer);
    } finally {
      this.c.sup_web_release(pointer);
    }
  }

  floats(pointer, count) {
    return new Float32Array(this.c.memory.buffer, pointer, count);
  }

  ints(pointer, count) {
    return new Int32Array(this.c.memory.buffer, pointer, count);
  }

  doubles(pointer, count) {
    return new Float64Array(this.c.memory.buffer, pointer, count);
  }
}

// A character as in its file. Plain data, read once.
export class Character {
  constructor(supple, pointer) {
    const { c, scratch } = supple;
    this.supple = supple;
    this.pointer = pointer;
    c.sup_web_character_counts(pointer, scratch);
    const [vertexCount, triangleCount, nodeCount, primitiveCount, clipCount] = supple.ints(scratch, 5);
    Object.assign(this, { vertexCount, triangleCount });
    this.nodes = range(nodeCount).map((n) => ({
      name: supple.text(c.sup_web_node_name(pointer, n)),
      parent: c.sup_web_node_parent(pointer, n),
      isJoint: c.sup_web_node_is_joint(pointer, n) !== 0,
      rest: supple.floats(c.sup_web_node_rest(pointer, n), TRANSFORM_FLOATS).slice(),
    }));
    this.primitives = range(primitiveCount).map((p) => this.#primitive(p));
    this.clips = range(clipCount).map((i) => new Clip(supple, c.sup_web_character_clip(pointer, i)));
  }

  #primitive(p) {
    const { c, scratch } = this.supple;
    c.sup_web_primitive(this.pointer, p, scratch);
    const [node, mesh, indexInMesh, skin, material, vertexFirst, vertexCount, triangleFirst, triangleCount] =
      this.supple.ints(scratch, 9);
    const name = this.supple.text(c.sup_web_primitive_name(this.pointer, p));
    return { name, node, mesh, indexInMesh, skin, material, vertexFirst, vertexCount, triangleFirst, triangleCount };
  }

  // [vertexCount*3] as in the file, mesh space; a view.
  get positions() {
    return this.supple.floats(this.supple.c.sup_web_character_positions(this.pointer), 3 * this.vertexCount);
  }

  // [triangleCount*3] vertex indices; a view.
  get triangles() {
    return this.supple.ints(this.supple.c.sup_web_character_triangles(this.pointer), 3 * this.triangleCount);
  }

  // [vertexCount*2] or null; a view.
  get texcoords() {
    const pointer = this.supple.c.sup_web_character_texcoords(this.pointer);
    return pointer === 0 ? null : this.supple.floats(pointer, 2 * this.vertexCount);
  }

  // Loads an animation for this character from a .bvh or a character file: { 'walk.bvh': bytes }.
  motion(files) {
    const [name] = Object.keys(files), { supple } = this;
    supple.files.write(name, asBytes(files[name]));
    try {
      const clip = supple.withText([name], (n) => supple.c.sup_web_motion_load(n, this.pointer));
      if (clip === 0) throw supple.error();
      return new Clip(supple, clip, true);
    } finally {
      supple.files.remove(name);
    }
  }

  // Binds a method and creates an actor. Takes seconds for simulation methods: call it in a worker. `settings`: {
  // parameter: number | boolean | choice }; `paints`: { map: Float32Array(vertexCount) } for maps of the method.
  bind(method = this.supple.methods[0].name, settings = {}, paints = {}) {
    const { supple } = this;
    const maps = this.#mapArray(method, paints);
    try {
      const pointer = supple.withValues(method, settings, (values) =>
        supple.withText([method], (m) => supple.c.sup_web_actor_create(this.pointer, m, values, maps)),
      );
      if (pointer === 0) throw supple.error();
      return new Actor(this, method, pointer);
    } finally {
      if (maps !== 0) supple.c.sup_web_release(maps);
    }
  }

  // All maps of a method in one array, unpainted maps at their default value; 0 when `paints` is empty.
  #mapArray(methodName, paints) {
    const maps = this.supple.methods.find((m) => m.name === methodName)?.maps ?? [];
    const unknown = Object.keys(paints).find((name) => !maps.some((m) => m.name === name));
    if (unknown !== undefined)
      throw new SuppleError(
        `${methodName} has no map "${unknown}". Available: ${maps.map((m) => m.name).join(', ') || 'none'}.`);
    if (Object.keys(paints).length === 0) return 0;
    const pointer = this.supple.c.sup_web_allocate(4 * maps.length * this.vertexCount);
    maps.forEach((map, i) => {
      const values = this.supple.floats(pointer + 4 * i * this.vertexCount, this.vertexCount);
      if (map.name in paints) values.set(paints[map.name].subarray(0, this.vertexCount));
      else values.fill(map.default_value);
    });
    return pointer;
  }

  // Bakes a clip and returns the bytes of the file: 'clip.glb' or 'clip.pc2'.
  bake(name, { method = this.supple.methods[0].name, settings = {}, paints = {}, clip = null, fps = 30 } = {}) {
    const { supple } = this;
    const maps = this.#mapArray(method, paints);
    try {
      return this.#written(
        name,
        (n) => supple.withValues(
          method,
          settings,
          (values) => supple.withText(
            [method], (m) => supple.c.sup_web_bake(this.pointer, m, values, maps, clip ? clip.pointer : 0, fps, n)),
          ),
      );
    } finally {
      if (maps !== 0) supple.c.sup_web_release(maps);
    }
  }

  // The bytes of a .glb with skeleton and skinning weights (bone heat weights if the character has none).
  rigged(name = 'rigged.glb') {
    return this.#written(name, (n) => this.supple.c.sup_web_rig_save(this.pointer, n));
  }

  // The bytes of the file that `write` writes.
  #written(name, write) {
    const { supple } = this;
    if (supple.withText([name], write) !== 0) throw supple.error();
    const bytes = supple.files.read(name);
    supple.files.remove(name);
    return bytes;
  }

  destroy() {
    this.supple.c.sup_web_character_destroy(this.pointer);
    this.pointer = 0;
  }
}

// An animation clip: of the character, or loaded by Character.motion (then the caller destroys it).
export class Clip {
  constructor(supple, pointer, owned = false) {
    this.supple = supple;
    this.pointer = pointer;
    this.owned = owned;
    this.name = supple.text(supple.c.sup_web_clip_name(pointer));
    this.start = supple.c.sup_web_clip_start(pointer);
    this.end = supple.c.sup_web_clip_end(pointer);
  }

  destroy() {
    if (this.owned) this.supple.c.sup_web_clip_destroy(this.pointer);
    this.pointer = 0;
  }
}

// An animated instance of a character.
export class Actor {
  constructor(character, method, pointer) {
    this.character = character;
    this.supple = character.supple;
    this.method = method;
    this.pointer = pointer;
  }

  // [vertexCount*3] world space of the file, after a step; a view.
  get positions() {
    return this.supple.floats(this.supple.c.sup_web_actor_positions(this.pointer), 3 * this.character.vertexCount);
  }

  get normals() {
    return this.supple.floats(this.supple.c.sup_web_actor_normals(this.pointer), 3 * this.character.vertexCount);
  }

  // [nodes*10] local transforms to write before poseLocal(); a view.
  get local() {
    return this.supple.floats(
      this.supple.c.sup_web_actor_local(this.pointer), TRANSFORM_FLOATS * this.character.nodes.length);
  }

  // [nodes*12] world transforms, rows of 3x4: to read, or to write before a step; a view.
  get world() {
    return this.supple.floats(this.supple.c.sup_web_actor_world(this.pointer), 12 * this.character.nodes.length);
  }

  // [vertexCount*3] the skin in the bind pose; a view.
  get rest() {
    return this.supple.floats(this.supple.c.sup_web_actor_rest(this.pointer), 3 * this.character.vertexCount);
  }

  // The node with the largest skinning weight of each vertex.
  get mainNodes() {
    return this.#filled(4, (pointer) => {
      this.supple.c.sup_web_actor_main_nodes(this.pointer, pointer);
      return this.supple.ints(pointer, this.character.vertexCount).slice();
    });
  }

  // Skinning weights of a node.
  weightsOf(node) {
    return this.#filled(4, (pointer) => {
      this.supple.c.sup_web_actor_weights(this.pointer, node, pointer);
      return this.supple.floats(pointer, this.character.vertexCount).slice();
    });
  }

  // The simulated tissue after the last step: { points: x y z each, tets: 4 point indices each, bones: two ends and a
  // radius each }; empty for methods without (Method.hasInner). Tetrahedra do not change: omit them with `tets` false.
  inner({ tets: withTets = true } = {}) {
    const { c, scratch } = this.supple;
    c.sup_web_actor_inner_counts(this.pointer, scratch);
    const [points, tets, bones] = this.supple.ints(scratch, 3);
    const sizes = [3 * points, withTets ? 4 * tets : 0, 7 * bones];
    const memory = c.sup_web_allocate(4 * (sizes[0] + sizes[1] + sizes[2]));
    try {
      const at = [memory, memory + 4 * sizes[0], memory + 4 * (sizes[0] + sizes[1])];
      c.sup_web_actor_inner(this.pointer, at[0], withTets ? at[1] : 0, at[2]);
      return {
        points: this.supple.floats(at[0], sizes[0]).slice(),
        tets: this.supple.ints(at[1], sizes[1]).slice(),
        bones: this.supple.floats(at[2], sizes[2]).slice()
      };
    } finally {
      c.sup_web_release(memory);
    }
  }

  // Values of the implicit field at points x y z; 0.5 on the skin.
  field(points) {
    const { c } = this.supple, count = points.length / 3, memory = c.sup_web_allocate(16 * count);
    try {
      this.supple.floats(memory, 3 * count).set(points);
      if (c.sup_web_actor_field(this.pointer, memory, count, memory + 12 * count) !== 0)
        throw new SuppleError(`The method ${this.method} has no field.`);
      return this.supple.floats(memory + 12 * count, count).slice();
    } finally {
      c.sup_web_release(memory);
    }
  }

  // Replaces a live map (PaintMap.live) from the next step on; throws for maps that need a new bind.
  paint(map, values) {
    return this.#filled(4, (pointer) => {
      this.supple.floats(pointer, this.character.vertexCount).set(values.subarray(0, this.character.vertexCount));
      if (this.supple.withText([map], (m) => this.supple.c.sup_web_actor_paint(this.pointer, m, pointer)) !== 0)
        throw this.supple.error();
      return this;
    });
  }

  // Quality metrics of the last step; takes milliseconds for 20,000 vertices.
  measure() {
    const { c, scratch } = this.supple;
    if (c.sup_web_actor_measure(this.pointer, scratch) !== 0) throw this.supple.error();
    const [volumeRatio, intersections, penetration, stretchMax, stretchMean, flips] = this.supple.doubles(scratch, 6);
    return { volumeRatio, intersections, penetration, stretchMax, stretchMean, flips };
  }

  // Penetration depth / character size of each vertex, at the last call of measure().
  get depths() {
    return this.#filled(4, (pointer) => {
      this.supple.c.sup_web_actor_depths(this.pointer, pointer);
      return this.supple.floats(pointer, this.character.vertexCount).slice();
    });
  }

  #filled(bytes, fill) {
    const pointer = this.supple.c.sup_web_allocate(bytes * this.character.vertexCount);
    try {
      return fill(pointer);
    } finally {
      this.supple.c.sup_web_release(pointer);
    }
  }

  poseLocal() {
    return this.#done(this.supple.c.sup_web_actor_pose_local(this.pointer), 'The transforms are not finite.');
  }

  poseClip(clip, time) {
    return this.#done(this.supple.c.sup_web_actor_pose_clip(this.pointer, clip.pointer, time),
      'The clip cannot be sampled at this time.');
  }

  poseRest() {
    return this.#done(this.supple.c.sup_web_actor_pose_rest(this.pointer), 'The rest pose cannot be set.');
  }

  step(seconds) {
    return this.#done(this.supple.c.sup_web_actor_step(this.pointer, seconds),
      'The pose contains NaN or infinite values; the state is unchanged.');
  }

  // Moves to the pose and converges to rest there: no velocity.
  reset() {
    return this.#done(this.supple.c.sup_web_actor_reset(this.pointer),
      'The pose contains NaN or infinite values; the state is unchanged.');
  }

  // Sets a live parameter; throws for parameters that need a new bind.
  set(name, value) {
    const param = this.supple.methods.find((m) => m.name === this.method).params.find((p) => p.name === name);
    const number = param ? parameterValue(param, value) : Number(value);
    if (this.supple.withText([name], (n) => this.supple.c.sup_web_actor_set(this.pointer, n, number)) !== 0)
      throw this.supple.error();
    return this;
  }

  destroy() {
    this.supple.c.sup_web_actor_destroy(this.pointer);
    this.pointer = 0;
  }

  #done(result, message) {
    if (result !== 0) throw new SuppleError(message);
    return this;
  }
}

function parameterValue(param, value) {
  if (param.type === 'bool' && typeof value === 'string') return value === 'on' ? 1 : 0;
  if (param.type !== 'choice' || typeof value === 'number') return Number(value);
  const index = param.choices.indexOf(value);
  if (index < 0)
    throw new SuppleError(`${param.name}: unknown value "${value}". Available: ${param.choices.join(', ')}.`);
  return index;
}

function parameterValues(method, settings) {
  for (const name of Object.keys(settings))
    if (!method.params.some((p) => p.name === name))
      throw new SuppleError(
        `${method.name} has no parameter "${name}". Available: ${method.params.map((p) => p.name).join(', ')}.`);
  return method.params.map((p) => (p.name in settings ? parameterValue(p, settings[p.name]) : p.default_value));
}

function asBytes(data) {
  return data instanceof Uint8Array ? data : new Uint8Array(data);
}

function range(count) {
  return Array.from({ length: count }, (_, i) => i);
}
