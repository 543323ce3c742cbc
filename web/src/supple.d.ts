export type Settings = Record<string, number | boolean | string>;
export type Files = Record<string, Uint8Array | ArrayBuffer>;

export class SuppleError extends Error {
  /** Stable, for programs: "gltf.magic". */
  readonly id: string;
  /** File, node, line or element; "" when it has no place. */
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
  /** May change between steps; otherwise a change needs a new bind. */
  live: boolean;
  choices: string[];
}

/** A map that may be painted over the skin. */
export interface PaintMap {
  name: string;
  unit: string;
  help: string;
  minimum: number;
  maximum: number;
  default_value: number;
  /** May be painted between steps; otherwise a change needs a new bind. */
  live: boolean;
}

export interface Method {
  name: string;
  summary: string;
  params: Param[];
  maps: PaintMap[];
  /** Whether Actor.inner and Actor.field have something to show. */
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
  static create(source: BufferSource | WebAssembly.Module | Response | Promise<BufferSource | WebAssembly.Module | Response>): Promise<Supple>;
  readonly version: string;
  readonly methods: Method[];
  readonly scenes: { name: string; summary: string }[];
  /** Called while binding and baking; return false to cancel. */
  onProgress: ((fraction: number, stage: string) => boolean | void) | null;
  scene(name: string, resolution?: number): Character;
  /** The first file is the character or its mesh; a .skel or .bvh beside a bare mesh is its skeleton. */
  load(files: Files): Character;
}

export interface Node {
  name: string;
  parent: number;
  isJoint: boolean;
  /** Local rest transform: translation, rotation (w last), scale. */
  rest: Float32Array;
}

export interface Part {
  name: string;
  node: number;
  mesh: number;
  primitive: number;
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
  readonly parts: Part[];
  readonly clips: Clip[];
  /** Views of the library's memory; positions are in mesh space. */
  readonly positions: Float32Array;
  readonly triangles: Int32Array;
  readonly texcoords: Float32Array | null;
  motion(files: Files): Clip;
  bind(method?: string, settings?: Settings, paints?: Record<string, Float32Array>): Actor;
  bake(name: string, options?: { method?: string; settings?: Settings; paints?: Record<string, Float32Array>; clip?: Clip | null; fps?: number }): Uint8Array;
  /** Skeleton and weights as a .glb that any program skins. */
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

/** Views are made anew at each access: do not keep them over a call that may take memory. */
export class Actor {
  readonly character: Character;
  readonly method: string;
  readonly positions: Float32Array;
  readonly normals: Float32Array;
  /** 10 floats a node, to write before poseLocal(). */
  readonly local: Float32Array;
  /** 3 rows of 4 a node, to read, or to write before step(). */
  readonly world: Float32Array;
  readonly rest: Float32Array;
  readonly mainNodes: Int32Array;
  readonly depths: Float32Array;
  weightsOf(node: number): Float32Array;
  /** Flesh (points x y z, tets of 4 points) and volumetric bones (two ends and a radius each) as of the last step. */
  inner(options?: { tets?: boolean }): { points: Float32Array; tets: Int32Array; bones: Float32Array };
  /** The field that the skin lies near at points x y z: 0.5 on the skin. */
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
