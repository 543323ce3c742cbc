// view.js - one character with one method: its worker, its mesh in the scene, its metrics.
import {
  Box3,
  BufferAttribute,
  BufferGeometry,
  Color,
  DoubleSide,
  Group,
  LineBasicMaterial,
  LineSegments,
  Mesh,
  MeshStandardMaterial,
  Points,
  PointsMaterial,
  Vector3
} from 'three';

import {Engine} from './engine.js';
import {InsideView} from './inside_view.js';

export class View {
  constructor(module, onProgress) {
    this.engine = new Engine(onProgress);
    this.started = this.engine.call('start', { module });
    this.group = new Group();
    this.method = '';
    this.settings = {}; // parameters that differ from the defaults
    this.paints = {}; // map: Float32Array, immutable
    this.display = { bones: false, tissue: false, field: false, axis: 'z', at: 0.5 };
    this.numbers = { milliseconds: 0 };
    this.busy = false;
  }

  async load(source) {
    this.info = await this.engine.call('load', source);
    this.#makeMesh();
    return this.info;
  }

  // `paints`: maps of the method.
  async bind(method, settings, paints, pose) {
    this.busy = this.busyBinding = true;
    try {
      const answer = await this.engine.call('bind', { method, settings, paints, ...pose });
      Object.assign(this, { method, settings, paints, rest: answer.rest, mainNodes: answer.mainNodes, weights: null });
      this.#edges = null;
      this.#update(answer);
      this.inside.faces = null;
      await this.#updateInside();
    } finally {
      this.busy = this.busyBinding = false;
    }
  }

  // Sets the inside view: { bones, tissue, field, axis, at }; `has`: capabilities of the method.
  async show(display, has) {
    this.material.clippingPlanes =
      (display.tissue && has.inner) || (display.field && has.field) ? [this.inside.plane] : null;
    this.display = {
      ...display,
      bones: display.bones && has.inner,
      tissue: display.tissue && has.inner,
      field: display.field && has.field
    };
    if (this.method && !this.busy) await this.#updateInside();
  }

  async #updateInside() {
    const { bones, tissue, field } = this.display;
    await this.#showInside(bones || tissue || field ? await this.engine.call('inspect', this.#insideRequest()) : {});
  }

  // The request to the worker for the inside view; the plane follows the current skin.
  #insideRequest() {
    const { bones, tissue, field, axis, at } = this.display;
    if (tissue || field) this.inside.cut(this.positions, axis, at);
    return { inner: bones || tissue, slice: field ? this.inside.fieldPoints() : undefined };
  }

  async #showInside({ points, bones, field, tets }) {
    if (this.display.tissue && !this.inside.faces)
      this.inside.showTissue(null, tets ?? (await this.engine.call('inspect', {})).tets);
    this.inside.showBones(this.display.bones ? bones : null);
    this.inside.showTissue(this.display.tissue ? points : null);
    this.inside.showField(this.display.field ? field : null);
  }

  async step(message) {
    this.busy = true;
    try {
      const answer = await this.engine.call('step', { ...message, ...this.#insideRequest() });
      this.numbers = {
        ...this.numbers,
        milliseconds: answer.milliseconds ?? this.numbers.milliseconds,
        ...answer.measured
      };
      if (answer.depths) this.depths = answer.depths;
      this.#update(answer);
      await this.#showInside(answer);
    } finally {
      this.busy = false;
    }
  }

  // Shows a mesh without bones as in its file, for the skeleton builder.
  showBindPose() {
    this.#update({ positions: this.info.positions, normals: null, world: new Float32Array(0) });
    this.mesh.geometry.computeVertexNormals();
  }

  dispose() {
    this.engine.stop();
    this.group.removeFromParent();
    this.inside?.dispose();
    this.mesh?.geometry.dispose();
  }

  #makeMesh() {
    this.group.clear();
    this.inside = new InsideView(this.group);
    const { vertexCount, triangles, nodes } = this.info;
    const geometry = new BufferGeometry();
    geometry.setAttribute('position', new BufferAttribute(new Float32Array(3 * vertexCount), 3));
    geometry.setAttribute('normal', new BufferAttribute(new Float32Array(3 * vertexCount), 3));
    geometry.setAttribute('color', new BufferAttribute(new Float32Array(3 * vertexCount).fill(1), 3));
    geometry.setIndex(new BufferAttribute(new Uint32Array(triangles), 1));
    this.material =
      new MeshStandardMaterial({ color: 0xc9a58e, roughness: 0.65, vertexColors: true, side: DoubleSide });
    this.mesh = new Mesh(geometry, this.material);
    this.mesh.frustumCulled = false;
    this.bones = nodes.flatMap(
      (node, n) => (node.isJoint && node.parent >= 0 && nodes[node.parent].isJoint ? [[node.parent, n]] : []));
    this.joints = nodes.flatMap((node, n) => (node.isJoint ? [n] : []));
    this.lines = overlay(new LineSegments(new BufferGeometry(),
                           new LineBasicMaterial({ color: 0x0a62c4, depthTest: false, transparent: true })),
      6 * this.bones.length);
    this.dots = overlay(
      new Points(new BufferGeometry(),
        new PointsMaterial({ color: 0xe07b00, size: 7, sizeAttenuation: false, depthTest: false, transparent: true })),
      3 * this.joints.length);
    this.group.add(this.mesh, this.lines, this.dots);
  }

  #update({ positions, normals, world }) {
    const { attributes } = this.mesh.geometry;
    this.positions = positions;
    this.normals = normals;
    this.size ??= diagonal(positions);
    this.world = world;
    attributes.position.array.set(positions);
    attributes.position.needsUpdate = true;
    if (normals) attributes.normal.array.set(normals);
    attributes.normal.needsUpdate = true;
    if (world.length > 0) {
      write(this.lines, this.bones.flat().flatMap((n) => this.jointPosition(n)));
      write(this.dots, this.joints.flatMap((n) => this.jointPosition(n)));
    }
  }

  jointPosition(node) {
    return [this.world[12 * node + 3], this.world[12 * node + 7], this.world[12 * node + 11]];
  }

  // Skin colors: 'none', 'stretch', 'contact', 'weights' (of the selected joint, or all joints), or 'paint' with a map
  // and its values.
  paint(colorMode, painted = null) {
    const colors = this.mesh.geometry.attributes.color, { vertexCount } = this.info, color = new Color();
    const stretch = colorMode === 'stretch' && this.rest ? this.#stretches() : null;
    for (let v = 0; v < vertexCount; v++) {
      if (stretch) shade(color, stretch[v]);
      else if (colorMode === 'contact' && this.depths) color.set(1, 1, 1).lerp(RED, Math.min(1, this.depths[v] * 60));
      else if (colorMode === 'weights' && this.weights) color.set(1, 1, 1).lerp(BLUE, this.weights[v]);
      else if (colorMode === 'weights' && this.mainNodes) color.setHSL((this.mainNodes[v] * 0.381966) % 1, 0.6, 0.6);
      else if (colorMode === 'paint' && painted?.values) shadePaint(color, painted.map, painted.values[v]);
      else color.set(1, 1, 1);
      colors.setXYZ(v, color.r, color.g, color.b);
    }
    colors.needsUpdate = true;
  }

  #edges = null; // vertex pairs and rest lengths

  // Mean of length / rest length over the edges of each vertex.
  #stretches() {
    if (!this.#edges) this.#edges = restEdges(this.info.triangles, this.rest);
    const { pairs, lengths } = this.#edges, sum = new Float32Array(this.info.vertexCount),
                           count = new Uint16Array(sum.length);
    for (let e = 0; e < lengths.length; e++) {
      const a = pairs[2 * e], b = pairs[2 * e + 1],
            ratio = lengths[e] > 0 ? distance(this.positions, a, b) / lengths[e] : 1;
      sum[a] += ratio;
      sum[b] += ratio;
      count[a]++;
      count[b]++;
    }
    return sum.map((s, v) => (count[v] > 0 ? s / count[v] : 1));
  }
}

const RED = new Color(0.9, 0.05, 0.05), BLUE = new Color(0.1, 0.3, 0.95);

// White at ratio 1, red at 2, blue at 1/2.
function shade(color, ratio) {
  color.set(1, 1, 1).lerp(ratio > 1 ? RED : BLUE, Math.min(1, Math.abs(Math.log2(Math.max(ratio, 1e-3)))));
}

// White at the default value, red towards the maximum of the map, blue towards its minimum.
function shadePaint(color, { minimum, maximum, default_value }, value) {
  const weight = value > default_value ? (value - default_value) / (maximum - default_value)
                                       : (default_value - value) / (default_value - minimum || 1);
  color.set(1, 1, 1).lerp(value > default_value ? RED : BLUE, Math.min(1, Math.sqrt(Math.max(0, weight))));
}

function diagonal(positions) {
  return new Box3().setFromArray(positions).getSize(new Vector3()).length();
}

function restEdges(triangles, rest) {
  const pairs = [];
  for (let t = 0; t < triangles.length; t += 3)
    for (let k = 0; k < 3; k++) {
      const a = triangles[t + k], b = triangles[t + ((k + 1) % 3)];
      if (a < b) pairs.push(a, b);
    }
  return {
    pairs,
    lengths: Float32Array.from({ length: pairs.length / 2 }, (_, e) => distance(rest, pairs[2 * e], pairs[2 * e + 1]))
  };
}

function distance(p, a, b) {
  return Math.hypot(p[3 * a] - p[3 * b], p[3 * a + 1] - p[3 * b + 1], p[3 * a + 2] - p[3 * b + 2]);
}

function overlay(object, floats) {
  object.geometry.setAttribute('position', new BufferAttribute(new Float32Array(floats), 3));
  object.frustumCulled = false;
  object.renderOrder = 1;
  return object;
}

function write(object, numbers) {
  const { position } = object.geometry.attributes;
  position.array.set(numbers);
  position.needsUpdate = true;
}
