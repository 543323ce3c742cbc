// paint.js - per-vertex maps painted on the skin with the pointer: tissue stiffness, rigid regions, bone radius. A
// stroke creates a new array, so that undo can restore the old one.
import { element, button, labelled, select } from './panel.js';

export class Painter {
  // `on`: { start() before a stroke, show(view, values) during it, done(map, values) after it }
  constructor(viewport, viewOf, on) {
    Object.assign(this, { viewport, viewOf, on });
    Object.assign(this, { active: false, map: null, value: 1, size: 0.06, erase: false, stroke: null });
    const { canvas } = viewport;
    canvas.addEventListener('pointerdown', (event) => this.#begin(event), { capture: true });
    canvas.addEventListener('pointermove', (event) => this.#move(event));
    for (const name of ['pointerup', 'pointercancel']) canvas.addEventListener(name, () => this.#end());
  }

  // Selects the map to paint.
  choose(map) {
    this.map = map;
    this.value = map.maximum > 1 && map.minimum > 0 ? Math.max(map.minimum, 0.3) : map.maximum;
  }

  // Panel controls; `aroundJoint` paints around the selected joint, for keyboard users.
  controls(method, refresh, aroundJoint, clear) {
    if (method.maps.length === 0) return [element('p', {}, `The method ${method.name} has no paintable maps.`)];
    if (!method.maps.some((map) => map.name === this.map?.name)) this.choose(method.maps[0]);
    else this.map = method.maps.find((map) => map.name === this.map.name);
    const tick = element('input', { type: 'checkbox', checked: this.active, id: 'paint-on' });
    tick.addEventListener('change', () => ((this.active = tick.checked), refresh()));
    const which = select(method.maps.map((map) => map.name), this.map.name,
      (name) => (this.choose(method.maps.find((map) => map.name === name)), refresh()));
    which.id = 'paint-map';
    const slider = (id, value, minimum, maximum, change) => {
      const input = element('input', { id, type: 'range', min: minimum, max: maximum, step: 'any', value }),
            output = element('output', {}, value.toPrecision(2));
      input.addEventListener(
        'input', () => (change(Number(input.value)), (output.textContent = Number(input.value).toPrecision(2))));
      const row = element('div', { className: 'row' }),
            label =
              element('label', { htmlFor: id }, { 'paint-value': 'value', 'paint-size': 'brush radius / size' }[id]);
      row.append(label, input, output);
      return row;
    };
    const erase = element('input', { type: 'checkbox', checked: this.erase, id: 'paint-erase' });
    erase.addEventListener('change', () => (this.erase = erase.checked));
    return [
      labelled('Paint with the pointer', tick),
      labelled('Map', which),
      element('p', {}, `${this.map.help}${this.map.live ? '' : ' Needs a new bind after a stroke.'}`),
      slider('paint-value', this.value, this.map.minimum, this.map.maximum, (value) => (this.value = value)),
      slider('paint-size', this.size, 0.01, 0.3, (value) => (this.size = value)),
      labelled('Erase', erase),
      button('Paint around the selected joint', aroundJoint, 'Paints within the brush radius'),
      button('Clear the map', clear),
    ];
  }

  // Applies the brush at a point: blends values within its radius towards the brush value, with a soft border.
  dab(view, point, values, normal = null) {
    const { positions, normals } = view, radius = this.size * view.size,
                               value = this.erase ? this.map.default_value : this.value;
    for (let v = 0; v < values.length; v++) {
      const distance =
        Math.hypot(positions[3 * v] - point.x, positions[3 * v + 1] - point.y, positions[3 * v + 2] - point.z) / radius;
      if (distance >= 1) continue;
      if (normal && normals &&
        normals[3 * v] * normal.x + normals[3 * v + 1] * normal.y + normals[3 * v + 2] * normal.z < -0.2)
        continue; // back side
      const weight = distance < 0.5 ? 1 : 2 - 2 * distance;
      values[v] = Math.min(this.map.maximum, Math.max(this.map.minimum, values[v] + weight * (value - values[v])));
    }
    return values;
  }

  // A copy of the current values of the map.
  start(view) {
    return view.paints[this.map.name]?.slice() ?? new Float32Array(view.info.vertexCount).fill(this.map.default_value);
  }

  #begin(event) {
    const view = this.#pointed(event);
    if (!this.active || event.button !== 0 || !event.isPrimary || !view?.method || view.busyBinding) return;
    const hit = this.#hit(event, view);
    if (!hit) return;
    this.on.start();
    this.stroke = { view, values: this.start(view) };
    this.viewport.orbit.enabled = false;
    this.viewport.canvas.setPointerCapture(event.pointerId);
    event.stopImmediatePropagation();
    this.#apply(hit);
  }

  #move(event) {
    if (!this.stroke) return;
    const hit = this.#hit(event, this.stroke.view);
    if (hit) this.#apply(hit);
  }

  #apply(hit) {
    this.dab(this.stroke.view, hit.point, this.stroke.values, hit.face.normal);
    this.on.show(this.stroke.view, this.stroke.values);
  }

  #end() {
    if (!this.stroke) return;
    const { values } = this.stroke;
    this.stroke = null;
    this.viewport.orbit.enabled = true;
    this.on.done(this.map, values);
  }

  #pointed(event) {
    const rect = this.viewport.canvas.getBoundingClientRect();
    return this.viewOf(this.viewport.at(event.clientX - rect.left, event.clientY - rect.top).view);
  }

  #hit(event, view) {
    const rect = this.viewport.canvas.getBoundingClientRect();
    return this.viewport.hit(view, event.clientX - rect.left, event.clientY - rect.top);
  }
}
