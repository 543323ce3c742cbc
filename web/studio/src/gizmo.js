// gizmo.js - rotation gizmo: three rings around a joint, one per world axis. A drag rotates by the pointer displacement
// along the screen-space tangent of the ring at the picked point, so rings seen edge-on work as well.
import { Group, Mesh, MeshBasicMaterial, TorusGeometry, Vector3 } from 'three';

const PICK_RADIUS = 9; // pixels
const STEPS = 64; // sample points per ring for picking
const AXES = [new Vector3(1, 0, 0), new Vector3(0, 1, 0), new Vector3(0, 0, 1)];
const COLORS = [0xd64545, 0x3f9b46, 0x3a74d8];

export class Gizmo {
  constructor(viewport) {
    this.viewport = viewport;
    this.group = new Group();
    this.rings = AXES.map((axis, i) => {
      const ring = new Mesh(new TorusGeometry(1, 0.022, 8, 64),
        new MeshBasicMaterial({ color: COLORS[i], depthTest: false, transparent: true, opacity: 0.9 }));
      ring.quaternion.setFromUnitVectors(new Vector3(0, 0, 1), axis);
      ring.renderOrder = 4;
      this.group.add(ring);
      return ring;
    });
    this.hide();
  }

  // Shows the gizmo at a position in a view; its size is a constant fraction of the view height.
  show(view, index, position) {
    if (this.group.parent !== view.group) view.group.add(this.group);
    this.index = index;
    this.group.position.set(...position);
    this.group.scale.setScalar(0.26 * Math.tan((this.viewport.camera.fov * Math.PI) / 360) *
      this.viewport.camera.position.distanceTo(this.group.position));
    this.group.visible = true;
  }

  hide() {
    this.group.removeFromParent();
    this.group.visible = false;
  }

  // The ring at canvas coordinates: { axis, ring, angle }, or null.
  at(x, y) {
    if (!this.group.visible) return null;
    let best = PICK_RADIUS, found = null;
    AXES.forEach((axis, ring) => {
      for (let i = 0; i < STEPS; i++) {
        const angle = (2 * Math.PI * i) / STEPS, p = this.#onScreen(ring, angle),
              distance = Math.hypot(p.x - x, p.y - y);
        if (distance < best) [best, found] = [distance, { axis, ring, angle }];
      }
    });
    return found;
  }

  // Rotation in radians for a pointer displacement of (dx, dy) pixels; updates the picked angle.
  rotate(picked, dx, dy) {
    const h = 0.02, a = this.#onScreen(picked.ring, picked.angle - h),
          b = this.#onScreen(picked.ring, picked.angle + h);
    const tx = (b.x - a.x) / (2 * h), ty = (b.y - a.y) / (2 * h), radius = this.#radius();
    const angle = (dx * tx + dy * ty) / Math.max(tx * tx + ty * ty, 0.05 * radius * radius);
    picked.angle += angle;
    return angle;
  }

  highlight(picked) {
    this.rings.forEach((ring, i) => (ring.material.opacity = picked ? (picked.ring === i ? 1 : 0.25) : 0.9));
  }

  #radius() {
    const { x, y } = this.viewport.onScreen(this.group.position, this.index);
    const side = new Vector3(
      1, 0, 0).applyQuaternion(this.viewport.camera.quaternion)
                   .multiplyScalar(this.group.scale.x)
                   .add(this.group.position);
    const p = this.viewport.onScreen(side, this.index);
    return Math.hypot(p.x - x, p.y - y);
  }

  #onScreen(ring, angle) {
    const position = new Vector3(Math.cos(angle), Math.sin(angle), 0).applyQuaternion(this.rings[ring].quaternion);
    return this.viewport.onScreen(position.multiplyScalar(this.group.scale.x).add(this.group.position), this.index);
  }
}
