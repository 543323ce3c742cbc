// three.js - replaces the skinning of a GLB loaded by three.js: three.js animates the bones, Supple deforms the skin.
//
//     const gltf = await new GLTFLoader().parseAsync(bytes, '');
//     const puppet = new Puppet(supple, gltf, bytes);
//     renderer.setAnimationLoop(() => { mixer.update(dt); puppet.update(dt); renderer.render(scene, camera); });
//
// Hides the skinned meshes of the scene and adds plain meshes with the same materials to gltf.scene.

import { BufferAttribute, Matrix4, Mesh } from 'three';

export class Puppet {
  // `options`: { method, settings } as for Character.bind.
  constructor(supple, gltf, bytes, options = {}) {
    this.scene = gltf.scene;
    this.character = supple.load({ 'character.glb': bytes });
    this.actor = this.character.bind(options.method, options.settings);
    this.nodes = nodesOf(gltf, this.character.nodes.length);
    this.skins = this.#replaceSkins(gltf);
    this.inverse = new Matrix4();
    this.matrix = new Matrix4();
    this.update(0);
    this.actor.reset();
  }

  // Call after the bones have moved.
  update(seconds) {
    this.#readBones();
    this.actor.step(seconds);
    const { positions, normals } = this.actor;
    for (const { mesh, first, count } of this.skins) {
      const { position, normal } = mesh.geometry.attributes;
      position.array.set(positions.subarray(3 * first, 3 * (first + count)));
      normal.array.set(normals.subarray(3 * first, 3 * (first + count)));
      position.needsUpdate = normal.needsUpdate = true;
    }
    return this;
  }

  // Moves to the current bones without velocity.
  reset() {
    this.#readBones();
    this.actor.reset();
    return this.update(0);
  }

  destroy() {
    for (const { mesh, skinned } of this.skins) {
      mesh.removeFromParent();
      mesh.geometry.dispose();
      skinned.visible = true;
    }
    this.actor.destroy();
    this.character.destroy();
  }

  // World matrices relative to gltf.scene (which may have any transform): column-major 4x4 to row-major 3x4.
  #readBones() {
    this.scene.updateWorldMatrix(true, true);
    this.inverse.copy(this.scene.matrixWorld).invert();
    const { world } = this.actor;
    this.nodes.forEach((node, n) => {
      if (!node) return;
      const e = this.matrix.multiplyMatrices(this.inverse, node.matrixWorld).elements;
      for (let row = 0; row < 3; row++)
        for (let column = 0; column < 4; column++) world[12 * n + 4 * row + column] = e[4 * column + row];
    });
  }

  #replaceSkins(gltf) {
    const found = [];
    this.scene.traverse((object) => {
      const at = object.isSkinnedMesh && gltf.parser.associations.get(object);
      if (!at) return;
      const node = this.#nodeOf(gltf, object);
      const primitive = this.character.primitives.find(
        (p) => p.mesh === at.meshes && p.indexInMesh === at.primitives && (node < 0 || p.node === node));
      if (primitive) found.push({ skinned: object, primitive });
    });
    return found.map(({ skinned, primitive }) => {
      const geometry = skinned.geometry.clone();
      geometry.deleteAttribute('skinIndex');
      geometry.deleteAttribute('skinWeight');
      geometry.morphAttributes = {};
      geometry.setAttribute('position', new BufferAttribute(new Float32Array(3 * primitive.vertexCount), 3));
      geometry.setAttribute('normal', new BufferAttribute(new Float32Array(3 * primitive.vertexCount), 3));
      const mesh = new Mesh(geometry, skinned.material);
      mesh.name = `${skinned.name} (Supple)`;
      mesh.frustumCulled = false; // the skin moves, its bounds do not
      mesh.castShadow = skinned.castShadow;
      mesh.receiveShadow = skinned.receiveShadow;
      skinned.visible = false;
      this.scene.add(mesh);
      return { mesh, skinned, first: primitive.vertexFirst, count: primitive.vertexCount };
    });
  }

  // A mesh with several primitives is a group: its node is that of the parent.
  #nodeOf(gltf, object) {
    for (let o = object; o; o = o.parent) {
      const index = gltf.parser.associations.get(o)?.nodes;
      if (index !== undefined) return index;
    }
    return -1;
  }
}

// Objects of the glTF nodes, by index.
function nodesOf(gltf, count) {
  const nodes = new Array(count).fill(null);
  for (const [object, at] of gltf.parser.associations)
    if (object.isObject3D && at.nodes !== undefined && at.nodes < count) nodes[at.nodes] = object;
  return nodes;
}
