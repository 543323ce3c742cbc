// builder.js - a skeleton for a mesh without bones. A click sends a ray through the mesh, and the joint lands half way
// between where it enters and where it leaves: in the middle of the limb. The new joint hangs on the chosen one.
import { BufferAttribute, BufferGeometry, LineBasicMaterial, LineSegments, Points, PointsMaterial, Raycaster, Vector2, Vector3 } from 'three';
import { History } from './history.js';
import { button, element, heading, labelled, select } from './panel.js';

export class Builder {
  constructor(stage, view, onUse, say) {
    Object.assign(this, { stage, view, onUse, say });
    this.joints = []; // { name, place: [x, y, z], parent }
    this.chosen = -1;
    this.history = new History(() => JSON.stringify({ joints: this.joints, chosen: this.chosen }), (text) => {
      Object.assign(this, JSON.parse(text));
      this.#changed();
    });
    this.dots = new Points(new BufferGeometry(), new PointsMaterial({ vertexColors: true, size: 11, sizeAttenuation: false, depthTest: false, transparent: true }));
    this.lines = new LineSegments(new BufferGeometry(), new LineBasicMaterial({ color: 0x0a62c4, depthTest: false, transparent: true }));
    for (const object of [this.dots, this.lines]) Object.assign(object, { renderOrder: 2, frustumCulled: false });
    view.group.add(this.dots, this.lines);
    view.material.transparent = true;
    view.material.opacity = 0.75;
    this.listen = { down: (e) => this.#down(e), move: (e) => this.#move(e), up: (e) => this.#up(e) };
    const { canvas } = stage;
    canvas.addEventListener('pointerdown', this.listen.down);
    canvas.addEventListener('pointermove', this.listen.move);
    canvas.addEventListener('pointerup', this.listen.up);
  }

  dispose() {
    const { canvas } = this.stage;
    canvas.removeEventListener('pointerdown', this.listen.down);
    canvas.removeEventListener('pointermove', this.listen.move);
    canvas.removeEventListener('pointerup', this.listen.up);
  }

  // What the panel shows.
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
      element('p', {}, 'Click on the mesh to place a joint in the middle of the limb; it hangs on the chosen one. Drag a joint to move it, or use the arrow keys, Page Up and Page Down.'),
      labelled('Name', name),
      ...this.#parentControl(),
      button('Add joint', () => this.addBeside(), 'Beside the chosen joint: for the keyboard'),
      button('Into the middle', () => this.centre(), 'Of the limb, as seen from here'),
      button('Mirror left and right', () => this.mirror()),
      button('Delete', () => this.remove(), 'Delete'),
      button('Save .skel', () => this.onUse('save', this.text())),
      button('Save rigged GLB', () => this.onUse('rigged', this.text()), 'With the weights of bone heat'),
      button('Use this skeleton', () => this.onUse('use', this.text())),
      this.list,
    ];
  }

  #parentControl() {
    if (this.chosen < 0) return [];
    const { parent } = this.joints[this.chosen], allowed = this.joints.filter((_, i) => !this.#hangsOn(i, this.chosen));
    const names = ['root', ...allowed.map((joint) => joint.name)];
    return [labelled('Hangs on', select(names, parent < 0 ? 'root' : this.joints[parent].name, (name) => {
      this.#remember();
      this.joints[this.chosen].parent = this.joints.findIndex((joint) => joint.name === name);
      this.#changed();
    }))];
  }

  #hangsOn(joint, above) {
    for (let i = joint; i >= 0; i = this.joints[i].parent) if (i === above) return true;
    return false;
  }

  // Without a pointer: a new joint beside the chosen one, or in the middle of the mesh.
  addBeside() {
    const size = this.#size(), { center } = this.view.mesh.geometry.boundingSphere, from = this.joints[this.chosen]?.place ?? center.toArray();
    this.add([from[0], from[1] + (this.chosen < 0 ? 0 : 0.15 * size), from[2]]);
  }

  // Moves the chosen joint by parts of the mesh's size along the camera's axes: sideways, up, towards the eye.
  move(sideways, up, near) {
    if (this.chosen < 0) return;
    this.#remember();
    const step = new Vector3(sideways, up, near).multiplyScalar(0.01 * this.#size()).applyQuaternion(this.stage.camera.quaternion), joint = this.joints[this.chosen];
    joint.place = step.add(new Vector3(...joint.place)).toArray();
    this.#changed();
  }

  // The chosen joint goes half way between where the line of sight enters the mesh and where it leaves it.
  centre() {
    if (this.chosen < 0) return;
    const joint = this.joints[this.chosen], p = new Vector3(...joint.place).project(this.stage.camera), middle = this.#middle(p.x, p.y);
    if (!middle) return this.say('There is no mesh behind or before this joint.', false);
    this.#remember();
    joint.place = middle;
    this.#changed();
  }

  add(place) {
    this.#remember();
    this.joints.push({ name: `joint_${this.joints.length + 1}`, place, parent: this.chosen });
    this.choose(this.joints.length - 1);
  }

  choose(index) {
    this.chosen = index;
    this.#changed();
  }

  rename(name) {
    const plain = name.trim().replace(/\s+/g, '_');
    if (plain === '' || plain === 'root' || this.joints.some((j, i) => j.name === plain && i !== this.chosen))
      return this.say(`A joint needs a name of its own, and not "root": "${name}" cannot be used.`, true);
    this.#remember();
    this.joints[this.chosen].name = plain;
    this.#changed();
  }

  // Children of a deleted joint hang on its parent.
  remove() {
    if (this.chosen < 0) return;
    this.#remember();
    const gone = this.chosen, { parent } = this.joints[gone];
    this.joints.splice(gone, 1);
    for (const joint of this.joints) {
      if (joint.parent === gone) joint.parent = parent;
      if (joint.parent > gone) joint.parent--;
    }
    this.choose(parent > gone ? parent - 1 : parent);
  }

  // A copy of every joint beside the middle plane (x = that of the first joint) on the other side, names with the side swapped.
  mirror() {
    if (this.joints.length === 0) return;
    this.#remember();
    const middle = this.joints[0].place[0], size = this.#size(), copies = new Map();
    this.joints.slice().forEach((joint, i) => {
      if (Math.abs(joint.place[0] - middle) < 0.03 * size) return copies.set(i, i);
      const place = [2 * middle - joint.place[0], joint.place[1], joint.place[2]];
      const twin = this.joints.findIndex((j) => Math.hypot(...j.place.map((x, k) => x - place[k])) < 0.01 * size);
      copies.set(i, twin >= 0 ? twin : this.joints.push({ name: this.#freeName(otherSide(joint.name)), place, parent: joint.parent }) - 1);
    });
    for (const [from, to] of copies) if (to > from && this.joints[to].parent === this.joints[from].parent) this.joints[to].parent = copies.get(this.joints[from].parent) ?? -1;
    this.#changed();
  }

  undo() {
    this.history.undo();
  }

  redo() {
    this.history.redo();
  }

  // As .skel: count, then "x y z name parent" a line.
  text() {
    const rows = this.joints.map((j) => `${j.place.map((x) => x.toFixed(6)).join(' ')} ${j.name} ${j.parent < 0 ? 'root' : this.joints[j.parent].name}`);
    return `${this.joints.length}\n${rows.join('\n')}\n`;
  }

  #remember() {
    this.history.mark();
  }

  #changed() {
    const pairs = this.joints.flatMap((j) => (j.parent < 0 ? [] : [...this.joints[j.parent].place, ...j.place]));
    this.dots.geometry.setAttribute('position', new BufferAttribute(new Float32Array(this.joints.flatMap((j) => j.place)), 3));
    this.dots.geometry.setAttribute('color', new BufferAttribute(new Float32Array(this.joints.flatMap((_, i) => (i === this.chosen ? [0.1, 0.45, 1] : [0.8, 0.35, 0]))), 3));
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
    this.#remember();
    this.choose(this.pressed.joint);
    this.stage.orbit.enabled = false;
  }

  #move(event) {
    if (!this.pressed || this.pressed.joint < 0) return;
    const joint = this.joints[this.pressed.joint], depth = new Vector3(...joint.place).project(this.stage.camera).z;
    const { x, y } = this.#place(event);
    joint.place = new Vector3(x, y, depth).unproject(this.stage.camera).toArray();
    this.#changed();
  }

  #up(event) {
    const { pressed } = this;
    this.pressed = null;
    this.stage.orbit.enabled = true;
    if (!pressed) return;
    const still = Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) < 4;
    if (pressed.joint >= 0 && still) this.history.past.pop();
    if (pressed.joint >= 0 || !still) return;
    const { x, y } = this.#place(event), middle = this.#middle(x, y);
    if (!middle) return this.say('There is no mesh under the pointer.', false);
    this.add(middle);
  }

  // The middle of the limb under a place of the view, or null.
  #middle(x, y) {
    const ray = new Raycaster();
    ray.setFromCamera(new Vector2(x, y), this.stage.camera);
    this.view.mesh.geometry.computeBoundingSphere();
    const hits = ray.intersectObject(this.view.mesh);
    if (hits.length === 0) return null;
    const far = hits.find((hit) => hit.distance > hits[0].distance + 1e-6) ?? hits[0];
    return hits[0].point.clone().add(far.point).multiplyScalar(0.5).toArray();
  }

  #place(event) {
    const rect = this.stage.canvas.getBoundingClientRect();
    return this.stage.at(event.clientX - rect.left, event.clientY - rect.top);
  }

  #jointAt(event) {
    const { x, y } = this.#place(event), { clientWidth, clientHeight } = this.stage.canvas;
    let best = 12, found = -1;
    this.joints.forEach((joint, i) => {
      const p = new Vector3(...joint.place).project(this.stage.camera);
      const away = Math.hypot(((p.x - x) * clientWidth) / 2, ((p.y - y) * clientHeight) / 2);
      if (away < best) [best, found] = [away, i];
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
