export type Settings = Record<string, number | boolean | string>;
export type Files = Record<string, Uint8Array | ArrayBuffer>;

export class SuppleError extends Error {
  /** Stable error id: "gltf.magic". */
  readonly id: string;
  /** File, node, line or element; "" if unknown. */
  readonly where: string;
}

export interface Param {
  name: string;
  unit: string;
  help: string;
  type: 'float' | 'int' | 'bool' | 'choice';
  minimum: number;
  maximum: number;
  default_value: number;
  /** Can change between steps; otherwise a change needs a new bind. */
  live: boolean;
  choices: string[];
}

/** A per-vertex map that can be painted on the skin. */
export interface PaintMap {
  name: string;
  unit: string;
  help: string;
  minimum: number;
  maximum: number;
  default_value: number;
  /** Can be painted between steps; otherwise a change needs a new bind. */
  live: boolean;
}

export interface Method {
  name: string;
  summary: string;
  params: Param[];
  maps: PaintMap[];
  /** True if Actor.inner and Actor.field are available. */
  hasInner: boolean;
  hasField: boolean;
}

export interface Measure {
  volumeRatio: number;
  intersections: number;
  penetration: number;
  stretchMax: number;
  stretchMean: number;
  flips: number;
}

export class Supple {
  static create(source: BufferSource|WebAssembly.Module|Response|
                Promise<BufferSource|WebAssembly.Module|Response>): Promise<Supple>;
  readonly version: string;
  readonly methods: Method[];
  readonly scenes: { name: string; summary: string }[];
  /** Called while binding and baking; return false to cancel. */
  onProgress: ((fraction: number, stage: string) => boolean | void) | null;
  scene(name: string, resolution?: number): Character;
  /** The first file is the character or mesh; a .skel or .bvh is the skeleton of a mesh. */
  load(files: Files): Character;
}

export interface Node {
  name: string;
  parent: number;
  isJoint: boolean;
  /** Local rest transform: translation, rotation (w last), scale. */
  rest: Float32Array;
}

export interface Primitive {
  name: string;
  node: number;
  mesh: number;
  /** Index of the primitive in its mesh. */
  indexInMesh: number;
  skin: number;
  material: number;
  vertexFirst: number;
  vertexCount: number;
  triangleFirst: number;
  triangleCount: number;
}

export class Character {
  readonly supple: Supple;
  readonly vertexCount: number;
  readonly triangleCount: number;
  readonly nodes: Node[];
  readonly primitives: Primitive[];
  readonly clips: Clip[];
  /** Views of WebAssembly memory; positions are in mesh space. */
  readonly positions: Float32Array;
  readonly triangles: Int32Array;
  readonly texcoords: Float32Array | null;
  motion(files: Files): Clip;
  bind(method?: string, settings?: Settings, paints?: Record<string, Float32Array>): Actor;
  bake(name: string, options?: {
    method?: string;
    settings?: Settings;
    paints?: Record<string, Float32Array>;
    clip?: Clip | null;
    fps?: number
  }): Uint8Array;
  /** A .glb with skeleton and skinning weights. */
  rigged(name?: string): Uint8Array;
  destroy(): void;
}

export class Clip {
  readonly name: string;
  /** Seconds. */
  readonly start: number;
  readonly end: number;
  destroy(): void;
}

/** Array properties are views of WebAssembly memory: read them again after every call. */
export class Actor {
  readonly character: Character;
  readonly method: string;
  readonly positions: Float32Array;
  readonly normals: Float32Array;
  /** 10 floats per node; write them before poseLocal(). */
  readonly local: Float32Array;
  /** 3x4 matrix per node, row-major; read it, or write it before step(). */
  readonly world: Float32Array;
  readonly rest: Float32Array;
  readonly mainNodes: Int32Array;
  readonly depths: Float32Array;
  weightsOf(node: number): Float32Array;
  /** Tissue (points x y z, tets of 4 points) and volumetric bones (two ends and a radius each) after the last step. */
  inner(options?: { tets?: boolean }): { points: Float32Array; tets: Int32Array; bones: Float32Array };
  /** The implicit field at points x y z: 0.5 on the skin. */
  field(points: ArrayLike<number>): Float32Array;
  paint(map: string, values: Float32Array): this;
  measure(): Measure;
  poseLocal(): this;
  poseClip(clip: Clip, time: number): this;
  poseRest(): this;
  step(seconds: number): this;
  reset(): this;
  set(name: string, value: number | boolean | string): this;
  destroy(): void;
}
