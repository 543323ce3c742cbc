import type { Object3D } from 'three';
import type { Actor, Character, Settings, Supple } from './supple.js';

/** The result of GLTFLoader. */
export interface LoadedGltf {
  scene: Object3D;
  parser: { associations: Map<unknown, { nodes?: number; meshes?: number; primitives?: number }> };
}

/** Replaces the skinning of a loaded GLB by Supple; three.js animates the bones. */
export class Puppet {
  constructor(supple: Supple, gltf: LoadedGltf, bytes: ArrayBuffer|Uint8Array,
    options?: { method?: string; settings?: Settings });
  readonly character: Character;
  readonly actor: Actor;
  /** Call after the bones have moved; `seconds` since the last call. */
  update(seconds: number): this;
  /** Moves to the current bones without velocity. */
  reset(): this;
  destroy(): void;
}
