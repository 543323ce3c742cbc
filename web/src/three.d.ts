import type { Object3D } from 'three';
import type { Actor, Character, Settings, Supple } from './supple.js';

/** A loaded glTF as GLTFLoader gives it. */
export interface LoadedGltf {
  scene: Object3D;
  parser: { associations: Map<unknown, { nodes?: number; meshes?: number; primitives?: number }> };
}

/** Drives the skinned meshes of a loaded GLB by Supple; bones stay three.js's. */
export class Puppet {
  constructor(supple: Supple, gltf: LoadedGltf, bytes: ArrayBuffer | Uint8Array, options?: { method?: string; settings?: Settings });
  readonly character: Character;
  readonly actor: Actor;
  /** After the bones were moved: `seconds` since the last call. */
  update(seconds: number): this;
  /** Teleport: at rest where the bones are now. */
  reset(): this;
  destroy(): void;
}
