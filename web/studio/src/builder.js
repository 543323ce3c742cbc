// builder.js - skeleton builder for a mesh without bones. A click casts a ray through the mesh and places a joint
// midway between entry and exit: at the center of the limb. The new joint is a child of the selected one.
import {
  BufferAttribute,
  BufferGeometry,
  LineBasicMaterial,
  LineSegments,
  Points,
  PointsMaterial,
  Raycaster,
  Vector2,
  Vector3
} from 'three';

import {History} from './history.js';
import {button, element, heading, labelled, select} from './panel.js';

export class Builder {
  constructor(viewport, view, onUse, showMessage) {
    Object.assign(this, { viewport, view, onUse, showMessage });
    this.joints = []; // { name, position: [x, y, z], parent }
    this.chosen = -1;
    this.history = new History(() => JSON.stringify({ joints: this.joints, chosen: this.chosen }), (text) => {
      Object.assign(this, JSON.parse(text));
      this.#changed();
    });
    this.dots = new Points(new BufferGeometry(),
      new PointsMaterial(
        { vertexColors: true, size: 11, sizeAttenuation: false, depthTest: false, transparent: true }));
    this.lines = new LineSegments(
      new BufferGeometry(), new LineBasicMaterial({ color: 0x0a62c4, depthTest: false, transparent: true }));
    for (const object of [this.dots, this.lines]) Object.assign(object, { renderOrder: 2, frustumCulled: false });
    view.group.add(this.dots, this.lines);
    view.material.transparent = true;
    view.material.opacity = 0.75;
    this.listen = { down: (e) => this.#down(e), move: (e) => this.#move(e), up: (e) => this.#up(e) };
    const { canvas } = viewport;
    canvas.addEventListener('pointerdown', this.listen.down);
    canvas.addEventListener('pointermove', this.listen.move);
    canvas.addEventListener('pointerup', this.listen.up);
  }

  dispose() {
    const { canvas } = this.viewport;
    canvas.removeEventListener('pointerdown', this.listen.down);
    canvas.removeEventListener('pointermove', this.listen.move);
    canvas.removeEventListener('pointerup', this.listen.up);
  }

  // Panel controls.
  controls() {
    const name = element('input', { value: this.joints[this.chosen]?.name ?? '', disabled: this.chosen < 0 });
    name.addEventListener('change', () => this.rename(name.value));
    this.list = element('ol');
    this.list.append(...this.joints.map((joint, i) => {
      const item = element('li');
      const pick = button(joint.name, () => this.choose(i));
      pick.setAttribute('aria-pressed', String(i === this.chosen));
      item.append(pick);
      return item;
    }));
    return [
      heading('Skeleton builder'),
      element('p', {},
        'Click on the mesh to place a joint at the center of the limb, as a child of the selected joint. ' +
          'Drag a joint to move it, or use the arrow keys, Page Up and Page Down.'),
      labelled('Name', name),
      ...this.#parentControl(),
      button('Add joint', () => this.addBeside(), 'Near the selected joint, without the pointer'),
      button('Center in limb', () => this.center(), 'Along the view direction'),
      button('Mirror left and right', () => this.mirror()),
      button('Delete', () => this.remove(), 'Delete'),
      button('Save .skel', () => this.onUse('save', this.text())),
      button('Save rigged GLB', () => this.onUse('rigged', this.text()), 'With bone colorMode weights'),
      button('Use this skeleton', () => this.onUse('use', this.text())),
      this.list,
    ];
  }

  #parentControl() {
    if (this.chosen < 0) return [];
    const { parent } = this.joints[this.chosen],
                   allowed = this.joints.filter((_, i) => !this.#isDescendant(i, this.chosen));
    const names = ['root', ...allowed.map((joint) => joint.name)];
    return [labelled('Parent', select(names, parent < 0 ? 'root' : this.joints[parent].name, (name) => {
      this.#mark();
      this.joints[this.chosen].parent = this.joints.findIndex((joint) => joint.name === name);
      this.#changed();
    }))];
  }

  #isDescendant(joint, above) {
    for (let i = joint; i >= 0; i = this.joints[i].parent) if (i === above) return true;
    return false;
  }

  // Adds a joint near the selected one, or at the center of the mesh (keyboard controls).
  addBeside() {
    const size = this.#size(), { center } = this.view.mesh.geometry.boundingSphere,
          from = this.joints[this.chosen]?.position ?? center.toArray();
    this.add([from[0], from[1] + (this.chosen < 0 ? 0 : 0.15 * size), from[2]]);
  }

  // Moves the selected joint by a fraction of the mesh size along the camera axes: sideways, up, towards the camera.
  move(sideways, up, near) {
    if (this.chosen < 0) return;
    this.#mark();
    const step = new Vector3(sideways, up, near)
                   .multiplyScalar(0.01 * this.#size())
                   .applyQuaternion(this.viewport.camera.quaternion),
          joint = this.joints[this.chosen];
    joint.position = step.add(new Vector3(...joint.position)).toArray();
    this.#changed();
  }

  // Moves the selected joint midway between entry and exit of its line of sight.
  center() {
    if (this.chosen < 0) return;
    const joint = this.joints[this.chosen], p = new Vector3(...joint.position).project(this.viewport.camera),
          middle = this.#middle(p.x, p.y);
    if (!middle) return this.showMessage('The line of sight through this joint does not hit the mesh.', false);
    this.#mark();
    joint.position = middle;
    this.#changed();
  }

  add(position) {
    this.#mark();
    this.joints.push({ name: `joint_${this.joints.length + 1}`, position, parent: this.chosen });
    this.choose(this.joints.length - 1);
  }

  choose(index) {
    this.chosen = index;
    this.#changed();
  }

  rename(name) {
    const plain = name.trim().replace(/\s+/g, '_');
    if (plain === '' || plain === 'root' || this.joints.some((j, i) => j.name === plain && i !== this.chosen))
      return this.showMessage(`"${name}" cannot be used: joint names must be unique and not "root".`, true);
    this.#mark();
    this.joints[this.chosen].name = plain;
    this.#changed();
  }

  // Children of a deleted joint become children of its parent.
  remove() {
    if (this.chosen < 0) return;
    this.#mark();
    const removed = this.chosen, { parent } = this.joints[removed];
    this.joints.splice(removed, 1);
    for (const joint of this.joints) {
      if (joint.parent === removed) joint.parent = parent;
      if (joint.parent > removed) joint.parent--;
    }
    this.choose(parent > removed ? parent - 1 : parent);
  }

  // Mirrors all joints that are off the middle plane (x of the first joint); swaps left and right in their names.
  mirror() {
    if (this.joints.length === 0) return;
    this.#mark();
    const middle = this.joints[0].position[0], size = this.#size(), copies = new Map();
    this.joints.slice().forEach((joint, i) => {
      if (Math.abs(joint.position[0] - middle) < 0.03 * size) return copies.set(i, i);
      const position = [2 * middle - joint.position[0], joint.position[1], joint.position[2]];
      const twin = this.joints.findIndex((j) => Math.hypot(...j.position.map((x, k) => x - position[k])) < 0.01 * size);
      copies.set(i,
        twin >= 0
          ? twin
          : this.joints.push({ name: this.#freeName(otherSide(joint.name)), position, parent: joint.parent }) - 1);
    });
    for (const [from, to] of copies)
      if (to > from && this.joints[to].parent === this.joints[from].parent)
        this.joints[to].parent = copies.get(this.joints[from].parent) ?? -1;
    this.#changed();
  }

  undo() {
    this.history.undo();
  }

  redo() {
    this.history.redo();
  }

  // .skel text: count, then "x y z name parent" per line.
  text() {
    const rows = this.joints.map((j) => `${j.position.map((x) => x.toFixed(6)).join(' ')} ${j.name} ${
                                   j.parent < 0 ? 'root' : this.joints[j.parent].name}`);
    return `${this.joints.length}\n${rows.join('\n')}\n`;
  }

  #mark() {
    this.history.mark();
  }

  #changed() {
    const pairs = this.joints.flatMap((j) => (j.parent < 0 ? [] : [...this.joints[j.parent].position, ...j.position]));
    this.dots.geometry.setAttribute(
      'position', new BufferAttribute(new Float32Array(this.joints.flatMap((j) => j.position)), 3));
    this.dots.geometry.setAttribute('color',
      new BufferAttribute(
        new Float32Array(this.joints.flatMap((_, i) => (i === this.chosen ? [0.1, 0.45, 1] : [0.8, 0.35, 0]))), 3));
    this.lines.geometry.setAttribute('position', new BufferAttribute(new Float32Array(pairs), 3));
    this.onUse('changed');
  }

  #freeName(name) {
    let free = name;
    for (let i = 2; this.joints.some((j) => j.name === free); i++) free = `${name}_${i}`;
    return free;
  }

  #size() {
    this.view.mesh.geometry.computeBoundingSphere();
    return this.view.mesh.geometry.boundingSphere.radius;
  }

  #down(event) {
    this.pressed = { x: event.clientX, y: event.clientY, joint: this.#jointAt(event) };
    if (this.pressed.joint < 0) return;
    this.#mark();
    this.choose(this.pressed.joint);
    this.viewport.orbit.enabled = false;
  }

  #move(event) {
    if (!this.pressed || this.pressed.joint < 0) return;
    const joint = this.joints[this.pressed.joint],
          depth = new Vector3(...joint.position).project(this.viewport.camera).z;
    const { x, y } = this.#pointer(event);
    joint.position = new Vector3(x, y, depth).unproject(this.viewport.camera).toArray();
    this.#changed();
  }

  #up(event) {
    const { pressed } = this;
    this.pressed = null;
    this.viewport.orbit.enabled = true;
    if (!pressed) return;
    const still = Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) < 4;
    if (pressed.joint >= 0 && still) this.history.past.pop();
    if (pressed.joint >= 0 || !still) return;
    const { x, y } = this.#pointer(event), middle = this.#middle(x, y);
    if (!middle) return this.showMessage('The pointer does not hit the mesh.', false);
    this.add(middle);
  }

  // The center of the limb at normalized device coordinates, or null.
  #middle(x, y) {
    const ray = new Raycaster();
    ray.setFromCamera(new Vector2(x, y), this.viewport.camera);
    this.view.mesh.geometry.computeBoundingSphere();
    const hits = ray.intersectObject(this.view.mesh);
    if (hits.length === 0) return null;
    const far = hits.find((hit) => hit.distance > hits[0].distance + 1e-6) ?? hits[0];
    return hits[0].point.clone().add(far.point).multiplyScalar(0.5).toArray();
  }

  #pointer(event) {
    const rect = this.viewport.canvas.getBoundingClientRect();
    return this.viewport.at(event.clientX - rect.left, event.clientY - rect.top);
  }

  #jointAt(event) {
    const { x, y } = this.#pointer(event), { clientWidth, clientHeight } = this.viewport.canvas;
    let best = 12, found = -1;
    this.joints.forEach((joint, i) => {
      const p = new Vector3(...joint.position).project(this.viewport.camera);
      const distance = Math.hypot(((p.x - x) * clientWidth) / 2, ((p.y - y) * clientHeight) / 2);
      if (distance < best) [best, found] = [distance, i];
    });
    return found;
  }
}

const SIDES = [['left', 'right'], ['Left', 'Right'], ['_l', '_r'], ['_L', '_R'], ['.l', '.r'], ['.L', '.R']];

export function otherSide(name) {
  for (const [a, b] of SIDES) {
    if (name.includes(a)) return name.replace(a, b);
    if (name.includes(b)) return name.replace(b, a);
  }
  return `${name}_mirrored`;
}
