// inside_view.js - the inside of a character: volumetric bones, a cross-section of the tissue, and iso-lines of the
// implicit field in the cutting plane.
import {
  BufferAttribute,
  BufferGeometry,
  CylinderGeometry,
  DataTexture,
  DoubleSide,
  FloatType,
  InstancedMesh,
  Matrix4,
  Mesh,
  MeshStandardMaterial,
  Plane,
  PlaneGeometry,
  Quaternion,
  RedFormat,
  ShaderMaterial,
  SphereGeometry,
  Vector3
} from 'three';

const UP = new Vector3(0, 1, 0), FIELD_SIZE = 96;
export const AXES = { x: 0, y: 1, z: 2 };

export class InsideView {
  constructor(group) {
    this.group = group;
    this.plane = new Plane(new Vector3(0, 0, -1), 0);
    this.boneMaterial = new MeshStandardMaterial({ color: 0xf2ead8, roughness: 0.5 });
    this.tissueMaterial = new MeshStandardMaterial({
      color: 0xffffff,
      vertexColors: true,
      roughness: 0.6,
      side: DoubleSide,
      flatShading: true,
      polygonOffset: true,
      polygonOffsetFactor: 2,
      polygonOffsetUnits: 8
    });
    this.fieldMaterial = new ShaderMaterial({
      uniforms: { field: { value: null } },
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
      side: DoubleSide,
      transparent: true
    });
  }

  // Sets the cutting plane: normal to an axis, at a fraction of the bounding box of the positions.
  cut(positions, axis, at) {
    const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
    for (let i = 0; i < positions.length; i++) {
      low[i % 3] = Math.min(low[i % 3], positions[i]);
      high[i % 3] = Math.max(high[i % 3], positions[i]);
    }
    const k = AXES[axis], normal = [0, 0, 0];
    normal[k] = -1;
    this.box = { low, high };
    this.axis = k;
    this.plane.normal.set(...normal);
    this.plane.constant = low[k] + at * (high[k] - low[k]);
  }

  // Bones as [x y z, x y z, radius] each, or null.
  showBones(bones) {
    const count = bones ? bones.length / 7 : 0;
    if (this.spheres?.count !== 2 * count) this.#makeBones(count);
    const from = new Vector3(), to = new Vector3(), matrix = new Matrix4(), rotation = new Quaternion();
    for (let i = 0; i < count; i++) {
      from.fromArray(bones, 7 * i);
      to.fromArray(bones, 7 * i + 3);
      const radius = bones[7 * i + 6], along = to.clone().sub(from), length = along.length(),
            size = new Vector3(radius, radius, radius);
      this.spheres.setMatrixAt(2 * i, matrix.compose(from, rotation.identity(), size));
      this.spheres.setMatrixAt(2 * i + 1, matrix.compose(to, rotation, size));
      rotation.setFromUnitVectors(UP, length > 0 ? along.divideScalar(length) : UP);
      this.shafts.setMatrixAt(i, matrix.compose(from.add(to).multiplyScalar(0.5), rotation, size.setY(length)));
    }
    if (count > 0) this.spheres.instanceMatrix.needsUpdate = this.shafts.instanceMatrix.needsUpdate = true;
  }

  #makeBones(count) {
    for (const object of [this.spheres, this.shafts]) object?.removeFromParent(), object?.dispose();
    this.spheres = this.shafts = null;
    if (count === 0) return;
    this.spheres = new InstancedMesh(new SphereGeometry(1, 16, 10), this.boneMaterial, 2 * count);
    this.shafts = new InstancedMesh(new CylinderGeometry(1, 1, 1, 16, 1, true), this.boneMaterial, count);
    for (const object of [this.spheres, this.shafts]) object.frustumCulled = false;
    this.group.add(this.spheres, this.shafts);
  }

  // Shows the tissue behind the plane; pass `tets` the first time and after every bind; null hides it.
  showTissue(points, tets) {
    if (tets !== undefined) this.faces = tets ? facesOf(tets) : null;
    if (!points || !this.faces) return this.#hideTissue();
    const { corner, tet, count } = this.faces, { constant } = this.plane, inside = this.faces.inside.fill(0);
    for (let f = 0; f < count; f++) for (let k = 0; k < 2; k++) {
      const t = tet[2 * f + k];
      if (t >= 0) inside[t] += this.#height(points, corner, f) - 3 * constant < 0 ? 1 : -1; // majority of its faces
    }
    const positions = [], colors = [];
    for (let f = 0; f < count; f++) {
      const a = inside[tet[2 * f]] > 0, b = tet[2 * f + 1] >= 0 && inside[tet[2 * f + 1]] > 0;
      if (a === b) continue;
      const open = tet[2 * f + 1] >= 0; // a face between two tetrahedra is part of the cut
      for (let k = 0; k < 3; k++) {
        const v = 3 * corner[3 * f + k];
        positions.push(points[v], points[v + 1], points[v + 2]);
        colors.push(...(open ? CUT : OUTER));
      }
    }
    if (!this.tissue) this.group.add((this.tissue = new Mesh(new BufferGeometry(), this.tissueMaterial)));
    this.tissue.frustumCulled = false;
    this.tissue.geometry.dispose();
    this.tissue.geometry = new BufferGeometry();
    this.tissue.geometry.setAttribute('position', new BufferAttribute(new Float32Array(positions), 3));
    this.tissue.geometry.setAttribute('color', new BufferAttribute(new Float32Array(colors), 3));
    this.tissue.geometry.computeVertexNormals();
  }

  #height(points, corner, f) {
    const k = this.axis;
    return points[3 * corner[3 * f] + k] + points[3 * corner[3 * f + 1] + k] + points[3 * corner[3 * f + 2] + k];
  }

  #hideTissue() {
    this.tissue?.removeFromParent();
    this.tissue?.geometry.dispose();
    this.tissue = null;
  }

  // Sample points of the field in the plane, FIELD_SIZE^2, x y z each.
  fieldPoints() {
    const { low, high } = this.box, [u, v] = [0, 1, 2].filter((k) => k !== this.axis),
                      points = new Float32Array(3 * FIELD_SIZE * FIELD_SIZE);
    for (let j = 0, i = 0; j < FIELD_SIZE; j++)
      for (let n = 0; n < FIELD_SIZE; n++, i += 3) {
        points[i + this.axis] = this.plane.constant;
        points[i + u] = low[u] + (high[u] - low[u]) * (1.1 * (n / (FIELD_SIZE - 1)) - 0.05);
        points[i + v] = low[v] + (high[v] - low[v]) * (1.1 * (j / (FIELD_SIZE - 1)) - 0.05);
      }
    this.corners = [0, FIELD_SIZE - 1, FIELD_SIZE * (FIELD_SIZE - 1), FIELD_SIZE * FIELD_SIZE - 1].map(
      (i) => points.slice(3 * i, 3 * i + 3));
    return points;
  }

  // Field values at the sample points; null hides the iso-lines.
  showField(values) {
    if (!values) {
      this.sheet?.removeFromParent();
      return;
    }
    this.sheet ??= new Mesh(new PlaneGeometry(1, 1), this.fieldMaterial);
    this.sheet.frustumCulled = false;
    this.sheet.renderOrder = 1;
    if (this.sheet.parent !== this.group) this.group.add(this.sheet);
    this.fieldMaterial.uniforms.field.value?.dispose();
    this.fieldMaterial.uniforms.field.value = new DataTexture(values, FIELD_SIZE, FIELD_SIZE, RedFormat, FloatType);
    this.fieldMaterial.uniforms.field.value.needsUpdate = true;
    const { position, uv } = this.sheet.geometry.attributes;
    this.corners.forEach((corner, i) => (position.setXYZ(i, ...corner), uv.setXY(i, i % 2, i >> 1)));
    position.needsUpdate = uv.needsUpdate = true;
  }

  dispose() {
    this.#makeBones(0);
    this.#hideTissue();
    this.showField(null);
    this.fieldMaterial.uniforms.field.value?.dispose();
  }
}

const CUT = [0.72, 0.2, 0.16], OUTER = [0.87, 0.66, 0.55];

// Faces of tetrahedra: three vertices each, and the one or two tetrahedra that share it.
function facesOf(tets) {
  const seen = new Map(), corner = [], tet = [];
  for (let t = 0; t < tets.length / 4; t++)
    for (let skip = 0; skip < 4; skip++) {
      const face = [0, 1, 2, 3].filter((k) => k !== skip).map((k) => tets[4 * t + k]),
            key = face.slice().sort((a, b) => a - b).join();
      const known = seen.get(key);
      if (known === undefined) {
        seen.set(key, tet.length / 2);
        corner.push(...face);
        tet.push(t, -1);
      } else tet[2 * known + 1] = t;
    }
  return {
    corner: Int32Array.from(corner),
    tet: Int32Array.from(tet),
    count: tet.length / 2,
    inside: new Int8Array(tets.length / 4)
  };
}

const VERTEX =
  'varying vec2 coordinate; void main() { coordinate = uv; ' +
  'gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0); }';
// Iso-lines every 0.05 as in `supple slice`: blue outside, red inside, a thick dark line at 0.5.
const FRAGMENT = `
varying vec2 coordinate;
uniform sampler2D field;
float value(vec2 at) {
  vec2 size = vec2(${FIELD_SIZE}.0), p = at * (size - 1.0), cell = min(floor(p), size - 2.0), t = p - cell;
  vec2 a = (cell + 0.5) / size, d = 1.0 / size;
  float low = mix(texture2D(field, a).r, texture2D(field, a + vec2(d.x, 0.0)).r, t.x);
  float high = mix(texture2D(field, a + vec2(0.0, d.y)).r, texture2D(field, a + d).r, t.x);
  return mix(low, high, t.y);
}
void main() {
  float f = value(coordinate), line = floor(f * 20.0 + 0.5), away = abs(f * 20.0 - line), width = fwidth(f * 20.0);
  if (line < 1.0 || line > 19.0) discard;
  bool skin = line == 10.0;
  float ink = 1.0 - smoothstep(skin ? 1.0 : 0.5, skin ? 2.0 : 1.3, away / max(width, 1e-4));
  vec3 color = skin ? vec3(0.12) : f < 0.5 ? vec3(0.2, 0.42, 0.85) : vec3(0.82, 0.2, 0.16);
  gl_FragColor = vec4(mix(vec3(1.0), color, ink), max(ink, 0.55));
}`;
