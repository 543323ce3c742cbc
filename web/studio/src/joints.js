// joints.js - interactive posing. A click on a joint or on the skin selects a joint and shows its rotation gizmo; a
// drag moves the picked point, and the limb follows by inverse kinematics. Rotations are world-space quaternions per
// node, applied after the clip.
import { Quaternion, Vector3 } from 'three';
import { ikChain, isDescendant, solveIk } from './ik.js';
import { Gizmo } from './gizmo.js';

const PICK_RADIUS = 14, CLICK_RADIUS = 4; // pixels

export class JointPoser {
  // `on`: { start() before a change, change(), choose(node) }
  constructor(viewport, viewOf, on) {
    Object.assign(this, { viewport, viewOf, on });
    this.rotations = {};
    this.chosen = -1;
    this.held = null;
    this.gizmo = new Gizmo(viewport);
    const { canvas } = viewport;
    canvas.addEventListener('pointerdown', (event) => this.#begin(event), { capture: true });
    canvas.addEventListener('pointermove', (event) => this.#drag(event));
    canvas.addEventListener('pointerup', () => this.#release());
    canvas.addEventListener('pointercancel', () => this.#release());
  }

  clear() {
    this.on.start();
    this.rotations = {};
    this.on.change();
  }

  // Rotates a node by degrees about a world axis (keyboard controls).
  rotate(node, axis, degrees) {
    this.on.start();
    this.rotations = this.#rotatedBy(
      this.rotations, [{ node, rotation: new Quaternion().setFromAxisAngle(axis, (degrees * Math.PI) / 180) }]);
    this.on.change();
  }

  choose(node, index = 0) {
    this.chosen = node;
    this.index = index;
    this.on.choose(node);
  }

  // Keeps the gizmo at its joint.
  follow() {
    const view = this.chosen >= 0 ? this.viewOf(this.index) ?? this.viewOf(0) : null;
    if (view?.world?.length > 0)
      this.gizmo.show(view, this.viewOf(this.index) ? this.index : 0, view.jointPosition(this.chosen));
    else this.gizmo.hide();
  }

  #begin(event) {
    if (event.button !== 0 || !event.isPrimary) return;
    const { x, y, view, index } = this.#pointed(event);
    if (!(view?.world?.length > 0)) return;
    const ring = this.index === index ? this.gizmo.at(x, y) : null;
    const hit = ring ? null : this.#jointAt(view, index, x, y) ?? this.#skinAt(view, x, y);
    this.held = ring ? { ring, node: this.chosen } : hit;
    if (!this.held) return this.chosen >= 0 ? this.#watchClick(event) : undefined;
    Object.assign(this.held, { x, y, index, from: { x, y }, rotations: this.rotations, world: view.world });
    this.gizmo.highlight(ring);
    this.viewport.orbit.enabled = false;
    this.viewport.canvas.setPointerCapture(event.pointerId);
    this.viewport.canvas.focus({ preventScroll: true });
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  // A click on the background deselects the joint; a drag there orbits the camera.
  #watchClick({ clientX, clientY }) {
    this.viewport.canvas.addEventListener('pointerup', (event) => {
      if (Math.hypot(event.clientX - clientX, event.clientY - clientY) < CLICK_RADIUS) this.choose(-1);
    }, { once: true });
  }

  #drag(event) {
    const { held } = this;
    if (!held) return;
    const { x, y } = this.#pointed(event), view = this.viewOf(held.index);
    if (!view || (!held.moved && Math.hypot(x - held.from.x, y - held.from.y) < CLICK_RADIUS)) return;
    if (!held.moved) this.on.start();
    held.moved = true;
    if (held.ring) {
      const rotation =
        new Quaternion().setFromAxisAngle(held.ring.axis, this.gizmo.rotate(held.ring, x - held.x, y - held.y));
      this.rotations = this.#rotatedBy(this.rotations, [{ node: held.node, rotation }]);
    } else {
      const target = this.viewport.unprojectAtDepth(held.point, x, y, held.index);
      const positionOf = (n) => [held.world[12 * n + 3], held.world[12 * n + 7], held.world[12 * n + 11]];
      this.rotations = this.#rotatedBy(
        held.rotations, solveIk(ikChain(view.info.nodes, held.node), positionOf, held.point, target));
    }
    Object.assign(held, { x, y });
    this.on.change();
  }

  #release() {
    const { held } = this;
    if (!held) return;
    this.held = null;
    this.viewport.orbit.enabled = true;
    this.gizmo.highlight(null);
    if (!held.moved && !held.ring) this.choose(held.node, held.index);
  }

  // Applies rotations in order, root first; each also rotates those of its descendants. Returns a new object: the old
  // one may be in the history.
  #rotatedBy(rotations, newRotations) {
    const { nodes } = this.viewOf(0).info, result = { ...rotations };
    for (const { node, rotation } of newRotations) {
      const back = rotation.clone().invert();
      for (const key of Object.keys(result).map(Number))
        if (key !== node && isDescendant(nodes, key, node))
          result[key] = rotation.clone().multiply(new Quaternion(...result[key])).multiply(back).toArray();
      result[node] = rotation.clone().multiply(new Quaternion(...(result[node] ?? [0, 0, 0, 1]))).normalize().toArray();
    }
    return result;
  }

  #jointAt(view, index, x, y) {
    let best = PICK_RADIUS, found = null;
    for (const node of view.dots.visible ? view.joints : view.joints.filter((n) => n === this.chosen)) {
      const point = new Vector3(...view.jointPosition(node)), screen = this.viewport.onScreen(point, index),
            distance = Math.hypot(screen.x - x, screen.y - y);
      if (distance < best) [best, found] = [distance, { node, point }];
    }
    return found;
  }

  #skinAt(view, x, y) {
    const hit = this.viewport.hit(view, x, y);
    return hit ? { node: view.mainNodes[hit.face.a], point: hit.point } : null;
  }

  #pointed(event) {
    const rect = this.viewport.canvas.getBoundingClientRect(), x = event.clientX - rect.left,
          y = event.clientY - rect.top;
    const { view: index } = this.viewport.at(x, y);
    return { x, y, index, view: this.viewOf(index) };
  }
}
