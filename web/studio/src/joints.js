// joints.js - turning joints by hand. A click near a joint takes it: drag turns it about the view's axis, and with Shift the
// chain above it follows the pointer (cyclic coordinate descent). Turns are world-space quaternions by node, after the clip's.
import { Quaternion, Vector3 } from 'three';

const REACH = 16; // pixels
const CHAIN = 3; // joints above the one that is dragged

export class JointTurner {
  constructor(stage, viewOf, onChange) {
    Object.assign(this, { stage, viewOf, onChange });
    this.turned = {};
    this.held = null;
    const { canvas } = stage;
    canvas.addEventListener('pointerdown', (event) => this.#take(event), { capture: true });
    canvas.addEventListener('pointermove', (event) => this.#drag(event));
    canvas.addEventListener('pointerup', () => this.#release());
    canvas.addEventListener('pointercancel', () => this.#release());
  }

  clear() {
    this.turned = {};
    this.onChange();
  }

  // From the keyboard: a joint by its node, degrees about an axis of the world.
  turn(node, axis, degrees) {
    this.#rotate(node, new Quaternion().setFromAxisAngle(axis, (degrees * Math.PI) / 180));
    this.onChange();
  }

  #take(event) {
    const { x, y, view, index } = this.#pointed(event);
    if (!view || !view.world) return;
    let best = REACH;
    for (const node of view.joints) {
      const place = this.#onScreen(view.jointPlace(node), index), away = Math.hypot(place.x - x, place.y - y);
      if (away < best) {
        best = away;
        this.held = { node, x, y, index };
      }
    }
    if (!this.held) return;
    this.stage.orbit.enabled = false;
    this.stage.canvas.setPointerCapture(event.pointerId);
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  #drag(event) {
    if (!this.held) return;
    const { x, y } = this.#pointed(event), view = this.viewOf(this.held.index);
    if (event.shiftKey) this.#reach(view, x, y);
    else this.#spin(view, x, y);
    Object.assign(this.held, { x, y });
    this.onChange();
  }

  #release() {
    if (!this.held) return;
    this.held = null;
    this.stage.orbit.enabled = true;
  }

  // Sideways turns about the camera's upward axis, up and down about its sideways one.
  #spin(view, x, y) {
    const { quaternion } = this.stage.camera;
    const up = new Vector3(0, 1, 0).applyQuaternion(quaternion), side = new Vector3(1, 0, 0).applyQuaternion(quaternion);
    const turn = new Quaternion().setFromAxisAngle(up, (x - this.held.x) * 0.012).multiply(new Quaternion().setFromAxisAngle(side, (y - this.held.y) * 0.012));
    this.#rotate(this.held.node, turn);
  }

  #reach(view, x, y) {
    const { nodes } = view.info, end = new Vector3(...view.jointPlace(this.held.node));
    const target = this.#underPointer(end, x, y, this.held.index);
    let node = nodes[this.held.node].parent;
    for (let link = 0; link < CHAIN && node >= 0 && nodes[node].isJoint; link++, node = nodes[node].parent) {
      const pivot = new Vector3(...view.jointPlace(node));
      const from = end.clone().sub(pivot), to = target.clone().sub(pivot);
      if (from.lengthSq() < 1e-12 || to.lengthSq() < 1e-12) continue;
      const turn = new Quaternion().setFromUnitVectors(from.clone().normalize(), to.normalize());
      this.#rotate(node, turn);
      end.copy(from.applyQuaternion(turn).add(pivot));
    }
  }

  // A turn of `node` carries the turns below it along.
  #rotate(node, turn) {
    const { nodes } = this.viewOf(0).info, back = turn.clone().invert();
    const old = new Quaternion(...(this.turned[node] ?? [0, 0, 0, 1]));
    for (const key of Object.keys(this.turned).map(Number))
      if (key !== node && isBelow(nodes, key, node))
        this.turned[key] = turn.clone().multiply(new Quaternion(...this.turned[key])).multiply(back).toArray();
    this.turned[node] = turn.clone().multiply(old).normalize().toArray();
  }

  #pointed(event) {
    const rect = this.stage.canvas.getBoundingClientRect(), x = event.clientX - rect.left, y = event.clientY - rect.top;
    const { view: index } = this.stage.at(x, y);
    return { x, y, index, view: this.viewOf(index) };
  }

  #onScreen(place, index) {
    const { width, height, columns, rows } = this.stage.layout(), p = new Vector3(...place).project(this.stage.camera);
    const w = width / columns, h = height / rows;
    return { x: ((index % columns) + (p.x + 1) / 2) * w, y: (Math.floor(index / columns) + (1 - p.y) / 2) * h };
  }

  // The point under the pointer at the depth of `place`.
  #underPointer(place, x, y, index) {
    const { columns, rows, width, height } = this.stage.layout(), depth = place.clone().project(this.stage.camera).z;
    const column = index % columns, row = Math.floor(index / columns);
    return new Vector3(2 * ((x / width) * columns - column) - 1, 1 - 2 * ((y / height) * rows - row), depth).unproject(this.stage.camera);
  }
}

function isBelow(nodes, node, above) {
  for (let n = node; n >= 0; n = nodes[n].parent) if (n === above) return true;
  return false;
}
