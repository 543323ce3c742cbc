// gizmo.js - three rings around a joint, one for each axis of the world. A drag goes along the ring: what counts is the way
// of the pointer along the tangent at the place that was taken, so rings that are seen from the side work as well.
import { Group, Mesh, MeshBasicMaterial, TorusGeometry, Vector3 } from 'three';

const REACH = 9; // pixels
const STEPS = 64; // places on a ring that are looked at
const AXES = [new Vector3(1, 0, 0), new Vector3(0, 1, 0), new Vector3(0, 0, 1)];
const COLOURS = [0xd64545, 0x3f9b46, 0x3a74d8];

export class Gizmo {
  constructor(stage) {
    this.stage = stage;
    this.group = new Group();
    this.rings = AXES.map((axis, i) => {
      const ring = new Mesh(new TorusGeometry(1, 0.022, 8, 64), new MeshBasicMaterial({ color: COLOURS[i], depthTest: false, transparent: true, opacity: 0.9 }));
      ring.quaternion.setFromUnitVectors(new Vector3(0, 0, 1), axis);
      ring.renderOrder = 4;
      this.group.add(ring);
      return ring;
    });
    this.hide();
  }

  // In the scene of a view, around a place, as large as a tenth of the view is high.
  show(view, index, place) {
    if (this.group.parent !== view.group) view.group.add(this.group);
    this.index = index;
    this.group.position.set(...place);
    this.group.scale.setScalar(0.26 * Math.tan((this.stage.camera.fov * Math.PI) / 360) * this.stage.camera.position.distanceTo(this.group.position));
    this.group.visible = true;
  }

  hide() {
    this.group.removeFromParent();
    this.group.visible = false;
  }

  // The ring at a place of the canvas: { axis, angle }, or null.
  at(x, y) {
    if (!this.group.visible) return null;
    let best = REACH, found = null;
    AXES.forEach((axis, ring) => {
      for (let i = 0; i < STEPS; i++) {
        const angle = (2 * Math.PI * i) / STEPS, p = this.#onScreen(ring, angle), away = Math.hypot(p.x - x, p.y - y);
        if (away < best) [best, found] = [away, { axis, ring, angle }];
      }
    });
    return found;
  }

  // How far a ring turns, in radians, when the pointer moves by (dx, dy) pixels; the place that was taken goes along.
  turn(taken, dx, dy) {
    const h = 0.02, a = this.#onScreen(taken.ring, taken.angle - h), b = this.#onScreen(taken.ring, taken.angle + h);
    const tx = (b.x - a.x) / (2 * h), ty = (b.y - a.y) / (2 * h), radius = this.#radius();
    const turned = (dx * tx + dy * ty) / Math.max(tx * tx + ty * ty, 0.05 * radius * radius);
    taken.angle += turned;
    return turned;
  }

  light(taken) {
    this.rings.forEach((ring, i) => (ring.material.opacity = taken ? (taken.ring === i ? 1 : 0.25) : 0.9));
  }

  #radius() {
    const { x, y } = this.stage.onScreen(this.group.position, this.index);
    const side = new Vector3(1, 0, 0).applyQuaternion(this.stage.camera.quaternion).multiplyScalar(this.group.scale.x).add(this.group.position);
    const p = this.stage.onScreen(side, this.index);
    return Math.hypot(p.x - x, p.y - y);
  }

  #onScreen(ring, angle) {
    const place = new Vector3(Math.cos(angle), Math.sin(angle), 0).applyQuaternion(this.rings[ring].quaternion);
    return this.stage.onScreen(place.multiplyScalar(this.group.scale.x).add(this.group.position), this.index);
  }
}
