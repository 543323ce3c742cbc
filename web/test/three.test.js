// The three.js adapter on a skinned GLB: with the method linear it must agree with the skinning of three.js.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'node:test';
import { Supple } from '../src/supple.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const asset = join(root, '../shared/assets/gltf/khronos_CesiumMan.glb');
const reason = !existsSync(asset)                     ? 'no shared/assets'
  : !existsSync(join(root, 'web/node_modules/three')) ? 'no three.js'
                                                      : false;

test('Puppet with the method linear agrees with three.js', { skip: reason }, async () => {
  globalThis.self ??= globalThis;
  const { AnimationMixer, Vector3 } = await import('three');
  const { GLTFLoader } = await import('three/addons/loaders/GLTFLoader.js');
  const { Puppet } = await import('../src/three.js');
  const supple = await Supple.create(readFileSync(join(root, 'web/dist/supple.wasm')));
  const bytes = new Uint8Array(readFileSync(asset));
  const loader = new GLTFLoader();
  loader.register((parser) => ((parser.loadTexture = async () => null), { name: 'no textures in Node' }));
  const gltf = await loader.parseAsync(bytes.slice().buffer, '');
  gltf.scene.position.set(3, 0, -2);
  const puppet = new Puppet(supple, gltf, bytes, { method: 'linear' });
  const mixer = new AnimationMixer(gltf.scene);
  mixer.clipAction(gltf.animations[0]).play();
  mixer.setTime(0.7);
  puppet.update(0.1);
  gltf.scene.updateMatrixWorld(true);
  assert.ok(puppet.skins.length > 0);
  for (const { mesh, skinned } of puppet.skins) {
    assert.ok(!skinned.visible && mesh.visible);
    for (let v = 0; v < mesh.geometry.attributes.position.count; v += 97) {
      const theirs = skinned.localToWorld(skinned.getVertexPosition(v, new Vector3()));
      const ours = mesh.localToWorld(new Vector3().fromBufferAttribute(mesh.geometry.attributes.position, v));
      assert.ok(theirs.distanceTo(ours) < 1e-4);
    }
  }
  puppet.destroy();
});
