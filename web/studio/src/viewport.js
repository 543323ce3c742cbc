// viewport.js - one canvas with up to four views side by side: shared camera, lights, floor grid, orbit controls.
import {
  Box3,
  Color,
  DirectionalLight,
  GridHelper,
  HemisphereLight,
  PerspectiveCamera,
  Raycaster,
  Scene,
  Vector2,
  Vector3,
  WebGLRenderer
} from 'three';
import { OrbitControls } from 'three/addons/controls/OrbitControls.js';

export class Viewport {
  constructor(canvas, labels) {
    this.canvas = canvas;
    this.labels = labels;
    this.renderer = new WebGLRenderer({ canvas, antialias: true, preserveDrawingBuffer: true });
    this.renderer.setScissorTest(true);
    this.renderer.localClippingEnabled = true;
    this.camera = new PerspectiveCamera(35, 1, 0.01, 1000);
    this.camera.position.set(1.6, 1.4, 3.6);
    this.orbit = new OrbitControls(this.camera, canvas);
    this.orbit.target.set(0, 0.9, 0);
    this.orbit.listenToKeyEvents(canvas);
    this.scenes = [];
    this.ray = new Raycaster();
    this.dark = matchMedia('(prefers-color-scheme: dark)');
    this.dark.addEventListener('change', () => this.#setBackground());
  }

  // Creates one scene per view.
  show(views) {
    this.scenes = views.map((view) => {
      const scene = new Scene(), light = new DirectionalLight(0xffffff, 2.2);
      light.position.set(2, 4, 3);
      const grid = new GridHelper(4, 16, 0x888888, 0xbbbbbb);
      grid.material.transparent = true;
      scene.userData.grid = grid;
      scene.add(new HemisphereLight(0xffffff, 0x556070, 1.4), light, grid, view.group);
      return scene;
    });
    this.#setBackground();
    this.labels.replaceChildren(...views.map(() => document.createElement('div')));
  }

  #setBackground() {
    for (const scene of this.scenes) {
      scene.background = new Color(this.dark.matches ? 0x1d1f24 : 0xeceef2);
      scene.userData.grid.material.opacity = this.dark.matches ? 0.12 : 0.35;
    }
  }

  // Fits the camera to the bounding box of positions.
  frame(positions) {
    const box = new Box3().setFromArray(positions), sides = box.getSize(new Vector3()), size = sides.length() || 1;
    const { width, height, columns, rows } = this.layout(), aspect = width / columns / (height / rows) || 1;
    const far = sides.z / 2 +
      (0.55 * Math.max(sides.y, (sides.x + 0.3 * sides.z) / aspect)) / Math.tan((this.camera.fov * Math.PI) / 360);
    box.getCenter(this.orbit.target);
    this.camera.position.copy(this.orbit.target).add(new Vector3(0.35, 0.12, 1).normalize().multiplyScalar(far));
    this.camera.near = size / 100;
    this.camera.far = size * 20;
    this.orbit.update();
  }

  // Columns and rows of the views.
  layout() {
    const { clientWidth: width, clientHeight: height } = this.canvas, count = Math.max(1, this.scenes.length);
    const columns = width >= height ? (count > 3 ? 2 : count) : count > 3 ? 2 : 1;
    return { width, height, columns, rows: Math.ceil(count / columns) };
  }

  // The view at canvas coordinates, and normalized device coordinates in it.
  at(x, y) {
    const { width, height, columns, rows } = this.layout();
    const column = Math.min(columns - 1, Math.floor((x / width) * columns)),
          row = Math.min(rows - 1, Math.floor((y / height) * rows));
    return {
      view: row * columns + column,
      x: 2 * ((x / width) * columns - column) - 1,
      y: 1 - 2 * ((y / height) * rows - row)
    };
  }

  // Canvas coordinates of a world point in a view.
  onScreen(point, index) {
    const { width, height, columns, rows } = this.layout(), p = point.clone().project(this.camera);
    const w = width / columns, h = height / rows;
    return { x: ((index % columns) + (p.x + 1) / 2) * w, y: (Math.floor(index / columns) + (1 - p.y) / 2) * h };
  }

  // The world point at canvas coordinates with the depth of `point`.
  unprojectAtDepth(point, x, y, index) {
    const { columns, rows, width, height } = this.layout(), depth = point.clone().project(this.camera).z;
    const column = index % columns, row = Math.floor(index / columns);
    return new Vector3(2 * ((x / width) * columns - column) - 1, 1 - 2 * ((y / height) * rows - row), depth)
      .unproject(this.camera);
  }

  // First intersection of the ray through canvas coordinates with the skin of a view, or undefined.
  hit(view, x, y) {
    const at = this.at(x, y);
    this.ray.setFromCamera(new Vector2(at.x, at.y), this.camera);
    view.mesh.geometry.boundingSphere = null; // the skin moves
    return this.ray.intersectObject(view.mesh)[0];
  }

  draw(texts) {
    const { width, height, columns, rows } = this.layout(), ratio = Math.min(devicePixelRatio, 2);
    if (width === 0 || height === 0) return;
    if (this.renderer.getPixelRatio() !== ratio) this.renderer.setPixelRatio(ratio);
    if (this.canvas.width !== Math.floor(width * ratio) || this.canvas.height !== Math.floor(height * ratio))
      this.renderer.setSize(width, height, false);
    const w = width / columns, h = height / rows;
    this.camera.aspect = w / h;
    this.camera.updateProjectionMatrix();
    this.scenes.forEach((scene, i) => {
      const x = (i % columns) * w, y = Math.floor(i / columns) * h;
      this.renderer.setViewport(x, height - y - h, w, h);
      this.renderer.setScissor(x, height - y - h, w, h);
      this.renderer.render(scene, this.camera);
      const label = this.labels.children[i];
      label.style.left = `${x}px`;
      label.style.top = `${y}px`;
      if (label.textContent !== texts[i]) label.textContent = texts[i];
    });
  }
}
