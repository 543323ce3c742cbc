// joints.js - posing by hand. A click on a joint or on the skin chooses a joint and puts rings around it to turn it; a drag pulls
// the place that was taken, and the limb follows. Turns are world-space quaternions by node, after the clip's.
import { Quaternion, Vector3 } from 'three';
import { chainOf, isBelow, reach } from './chain.js';
import { Gizmo } from './gizmo.js';

const REACH = 14, STILL = 4; // pixels

export class JointTurner {
  // `on`: { change(), start() before something changes, choose(node) }
  constructor(stage, viewOf, on) {
    Object.assign(this, { stage, viewOf, on });
    this.turned = {};
    this.chosen = -1;
    this.held = null;
    this.gizmo = new Gizmo(stage);
    const { canvas } = stage;
    canvas.addEventListener('pointerdown', (event) => this.#take(event), { capture: true });
    canvas.addEventListener('pointermove', (event) => this.#drag(event));
    canvas.addEventListener('pointerup', () => this.#release());
    canvas.addEventListener('pointercancel', () => this.#release());
  }

  clear() {
    this.on.start();
    this.turned = {};
    this.on.change();
  }

  // From the keyboard: a joint by its node, degrees about an axis of the world.
  turn(node, axis, degrees) {
    this.on.start();
    this.turned = this.#turnedBy(this.turned, [{ node, turn: new Quaternion().setFromAxisAngle(axis, (degrees * Math.PI) / 180) }]);
    this.on.change();
  }

  choose(node, index = 0) {
    this.chosen = node;
    this.index = index;
    this.on.choose(node);
  }

  // The rings stay around their joint while it moves.
  follow() {
    const view = this.chosen >= 0 ? this.viewOf(this.index) ?? this.viewOf(0) : null;
    if (view?.world?.length > 0) this.gizmo.show(view, this.viewOf(this.index) ? this.index : 0, view.jointPlace(this.chosen));
    else this.gizmo.hide();
  }

  #take(event) {
    if (event.button !== 0 || !event.isPrimary) return;
    const { x, y, view, index } = this.#pointed(event);
    if (!(view?.world?.length > 0)) return;
    const ring = this.index === index ? this.gizmo.at(x, y) : null;
    const place = ring ? null : this.#jointAt(view, index, x, y) ?? this.#skinAt(view, x, y);
    this.held = ring ? { ring, node: this.chosen } : place;
    if (!this.held) return this.chosen >= 0 ? this.#watchClick(event) : undefined;
    Object.assign(this.held, { x, y, index, from: { x, y }, turned: this.turned, world: view.world });
    this.gizmo.light(ring);
    this.stage.orbit.enabled = false;
    this.stage.canvas.setPointerCapture(event.pointerId);
    this.stage.canvas.focus({ preventScroll: true });
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  // A click beside everything lets the joint go; a drag there turns the camera.
  #watchClick({ clientX, clientY }) {
    this.stage.canvas.addEventListener('pointerup', (event) => {
      if (Math.hypot(event.clientX - clientX, event.clientY - clientY) < STILL) this.choose(-1);
    }, { once: true });
  }

  #drag(event) {
    const { held } = this;
    if (!held) return;
    const { x, y } = this.#pointed(event), view = this.viewOf(held.index);
    if (!view || (!held.moved && Math.hypot(x - held.from.x, y - held.from.y) < STILL)) return;
    if (!held.moved) this.on.start();
    held.moved = true;
    if (held.ring) {
      const turn = new Quaternion().setFromAxisAngle(held.ring.axis, this.gizmo.turn(held.ring, x - held.x, y - held.y));
      this.turned = this.#turnedBy(this.turned, [{ node: held.node, turn }]);
    } else {
      const target = this.stage.underPointer(held.point, x, y, held.index);
      const placeOf = (n) => [held.world[12 * n + 3], held.world[12 * n + 7], held.world[12 * n + 11]];
      this.turned = this.#turnedBy(held.turned, reach(chainOf(view.info.nodes, held.node), placeOf, held.point, target));
    }
    Object.assign(held, { x, y });
    this.on.change();
  }

  #release() {
    const { held } = this;
    if (!held) return;
    this.held = null;
    this.stage.orbit.enabled = true;
    this.gizmo.light(null);
    if (!held.moved && !held.ring) this.choose(held.node, held.index);
  }

  // Turns one after another, root first; each carries the turns below it along. A new object: the old one may be in the history.
  #turnedBy(turned, turns) {
    const { nodes } = this.viewOf(0).info, made = { ...turned };
    for (const { node, turn } of turns) {
      const back = turn.clone().invert();
      for (const key of Object.keys(made).map(Number))
        if (key !== node && isBelow(nodes, key, node)) made[key] = turn.clone().multiply(new Quaternion(...made[key])).multiply(back).toArray();
      made[node] = turn.clone().multiply(new Quaternion(...(made[node] ?? [0, 0, 0, 1]))).normalize().toArray();
    }
    return made;
  }

  #jointAt(view, index, x, y) {
    let best = REACH, found = null;
    for (const node of view.dots.visible ? view.joints : view.joints.filter((n) => n === this.chosen)) {
      const point = new Vector3(...view.jointPlace(node)), place = this.stage.onScreen(point, index), away = Math.hypot(place.x - x, place.y - y);
      if (away < best) [best, found] = [away, { node, point }];
    }
    return found;
  }

  #skinAt(view, x, y) {
    const hit = this.stage.hit(view, x, y);
    return hit ? { node: view.mainNodes[hit.face.a], point: hit.point } : null;
  }

  #pointed(event) {
    const rect = this.stage.canvas.getBoundingClientRect(), x = event.clientX - rect.left, y = event.clientY - rect.top;
    const { view: index } = this.stage.at(x, y);
    return { x, y, index, view: this.viewOf(index) };
  }
}
