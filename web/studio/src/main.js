// main.js - the state of the studio, and who tells whom when it changes.
import { Vector3 } from 'three';
import { readAddress, writeAddress } from './address.js';
import { Builder } from './builder.js';
import { History } from './history.js';
import { JointTurner } from './joints.js';
import { lookControls } from './look.js';
import { Painter } from './paint.js';
import { button, element, heading, labelled, methodPanel, select } from './panel.js';
import { Plot } from './plots.js';
import { saveBytes, saveFilm, savePicture } from './save.js';
import { Stage } from './stage.js';
import { View } from './view.js';

const $ = (id) => document.getElementById(id);
const MESHES = /\.(obj|off|ply|stl)$/i, MOTIONS = /\.bvh$/i, SKELETONS = /\.(skel|bvh)$/i, CHARACTERS = /\.(glb|gltf|obj|off|ply|stl)$/i;
const MEASURE_EVERY = 10; // frames

const state = { scene: 'human', resolution: 1, files: null, clip: 0, time: 0, playing: true, speed: 1, shown: 0, heat: 'none', skeleton: false, wire: false, bones: false, flesh: false, field: false, axis: 'z', at: 0.5, frame: 0 };
const stage = new Stage($('canvas'), $('labels'));
const plots = { milliseconds: new Plot('Step', 'ms', 2), volumeRatio: new Plot('Volume', 'of rest', 4), intersections: new Plot('Crossing pairs', '', 0) };
const painter = new Painter(stage, (index) => (builder ? null : views[index]), { start: () => history.mark(), show: (view, values) => view.paint('paint', { map: painter.map, values }), done: usePaint });
const turner = new JointTurner(stage, (index) => (builder || painter.stroke ? null : views[index]), { change: () => ask('pose'), start: () => history.mark(), choose: chooseJoint });
const history = new History(takeState, giveState);
let views = [], methods = [], paints = {}, scenes = [], builder = null, wasm = null, wants = new Set(), shaking = 0, settling = 0, film = false;

// ---- words to the person ----

let quiet = 0;
function say(text, bad = false) {
  wake();
  clearTimeout(quiet);
  $('message').className = bad ? 'bad' : '';
  $('message').textContent = text;
  if (text) quiet = setTimeout(() => ($('message').textContent = ''), bad ? 12000 : 4000);
}

function sayProgress(fraction, stageName) {
  clearTimeout(quiet);
  $('message').className = '';
  $('message').replaceChildren(element('div', {}, `Binding: ${stageName}`), element('progress', { max: 1, value: fraction }));
}

async function guarded(work) {
  try {
    return await work();
  } catch (error) {
    if (error.message !== 'stopped') say(error.message, true);
    return undefined;
  }
}

// ---- characters and views ----

function source() {
  return state.files ? { files: state.files } : { scene: state.scene, resolution: state.resolution };
}

function posed() {
  return { clip: state.clip, time: clipStart() + state.time, turned: turner.turned };
}

function clipStart() {
  return views[0]?.info?.clips[state.clip]?.start ?? 0;
}

function duration() {
  const clip = views[0]?.info?.clips[state.clip];
  return clip ? clip.end - clip.start : 0;
}

async function makeView(method, settings) {
  const view = new View(wasm, sayProgress);
  ({ methods, scenes } = await view.started);
  await view.load(source());
  const known = methods.some((m) => m.name === method) ? method : methods[0].name;
  if (view.joints.length > 0) await view.bind(known, settings, paints[known] ?? {}, posed());
  else view.showStill();
  say('');
  return view;
}

// The views of `wanted` [{ method, settings }] in place of those there are; those stay when something fails.
async function showViews(wanted, reframe) {
  const made = [];
  try {
    for (const { method, settings } of wanted) made.push(await makeView(method, settings));
  } catch (error) {
    made.forEach((view) => view.dispose());
    throw error;
  }
  views.forEach((view) => view.dispose());
  builder?.dispose();
  builder = null;
  views = made;
  stage.show(views);
  if (reframe) stage.frame(views[0].positions);
  if (views[0].joints.length === 0) startBuilder();
  state.shown = Math.min(state.shown, views.length - 1);
  Object.values(plots).forEach((plot) => plot.clear());
  refresh();
  await applyLook();
}

function wantedViews(count = views.length) {
  const names = ['projective', 'linear', 'dualquat', 'position'];
  return Array.from({ length: count }, (_, i) => (views[i]?.method ? { method: views[i].method, settings: views[i].settings } : { method: names[i], settings: {} }));
}

async function open(next) {
  const before = { scene: state.scene, files: state.files, clip: state.clip, time: state.time }, { turned } = turner, painted = paints;
  Object.assign(state, { scene: null, files: null, clip: 0, time: 0 }, next);
  turner.turned = {};
  paints = {};
  const opened = await guarded(() => showViews(wantedViews(Math.max(1, views.length)), true).then(() => true));
  if (opened) turner.choose(-1), history.clear();
  else Object.assign(state, before), (turner.turned = turned), (paints = painted);
  refresh();
}

async function readFile(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (!/\.(ply|stl)$/i.test(file.name)) return [file.name, bytes];
  return [file.name.replace(/\.[^.]*$/, '.obj'), (await import('./meshes.js')).asObj(file.name, bytes)];
}

// Files that were dropped or chosen: a character, a mesh with its skeleton, or a motion for the one that is there.
async function openFiles(list) {
  const files = await guarded(async () => Object.fromEntries(await Promise.all([...list].map(readFile))));
  if (!files) return undefined;
  const names = Object.keys(files), main = names.find((name) => CHARACTERS.test(name));
  if (main) return open({ files: Object.fromEntries([main, ...names.filter((n) => n !== main)].map((n) => [n, files[n]])) });
  const skeleton = names.find((name) => SKELETONS.test(name));
  if (skeleton && views[0]?.joints.length === 0) return open({ files: { ...state.files, [skeleton]: files[skeleton] } });
  const settings = names.find((name) => /\.json$/i.test(name));
  if (settings) return guarded(() => useSettings(settings, new TextDecoder().decode(files[settings])));
  const motion = names.find((name) => MOTIONS.test(name));
  if (!motion) return say(`${names[0] ?? 'This'} is not a character, mesh, skeleton or motion that Supple reads: .glb .gltf .obj .off .ply .stl .skel .bvh, or settings in .json.`, true);
  await guarded(async () => {
    for (const view of views) view.info.clips = (await view.engine.call('motion', { files: { [motion]: files[motion] } })).clips;
    state.clip = views[0].info.clips.length - 1;
    state.time = 0;
    ask('reset');
  });
  refresh();
}

function startBuilder() {
  builder = new Builder(stage, views[0], useSkeleton, say);
  say('This mesh has no bones: click on it to place joints.');
}

function useSkeleton(what, text) {
  if (what === 'changed') return refreshPanel();
  const bytes = new TextEncoder().encode(text);
  if (what === 'save') return saveBytes(bytes, 'skeleton.skel', 'text/plain');
  const mesh = Object.keys(state.files).find((name) => MESHES.test(name)) ?? Object.keys(state.files)[0];
  const files = { [mesh]: state.files[mesh], 'made.skel': bytes };
  if (what === 'use') return open({ files });
  return guarded(async () => saveBytes((await views[0].engine.call('rigged', { files })).bytes, `${mesh.replace(/\.[^.]*$/, '')}_rigged.glb`));
}

// ---- undo: what a person did to pose, parameters and paint ----

function takeState() {
  return { turned: turner.turned, paints, views: views.map(({ method, settings }) => ({ method, settings })) };
}

async function giveState(wanted) {
  turner.turned = wanted.turned;
  ({ paints } = wanted);
  await guarded(async () => {
    for (const [i, view] of views.entries()) if (wanted.views[i]) await become(view, wanted.views[i].method, wanted.views[i].settings);
  });
  say('');
  ask('pose');
  refreshPanel();
  remember();
}

// A view with a method, settings and the paint there is: by what may change while it moves where that is enough, else by a bind.
async function become(view, method, settings) {
  const { params, maps } = methods.find((m) => m.name === method), painted = paints[method] ?? {};
  const changed = params.filter((p) => view.settings[p.name] !== settings[p.name]), stroked = maps.filter((m) => view.paints[m.name] !== painted[m.name]);
  if (view.method !== method || changed.some((p) => !p.live) || stroked.some((m) => !m.live)) return view.bind(method, settings, painted, posed());
  for (const p of changed) await view.engine.call('set', { name: p.name, value: settings[p.name] ?? (p.type === 'choice' ? p.choices[p.default_value] : p.default_value) });
  try {
    for (const m of stroked) await view.engine.call('paint', { map: m.name, values: painted[m.name] ?? new Float32Array(view.info.vertexCount).fill(m.default_value) });
  } catch {
    return view.bind(method, settings, painted, posed()); // bound rigid: it cannot be freed while it moves
  }
  Object.assign(view, { settings, paints: painted });
  return undefined;
}

// ---- paint ----

let later = 0;
function usePaint(map, values) {
  const { method } = views[state.shown];
  paints = { ...paints, [method]: { ...paints[method], [map.name]: values } };
  if (!values) delete paints[method][map.name];
  clearTimeout(later);
  later = setTimeout(applyPaint, map.live ? 0 : 700); // several strokes, one bind
  showPaint();
}

async function applyPaint() {
  if (painter.stroke || views.some((view) => view.busyBinding)) return void (later = setTimeout(applyPaint, 200));
  await guarded(async () => {
    for (const view of views) if (view.method) await become(view, view.method, view.settings);
  });
  say('');
  ask('pose');
  showPaint();
}

function showPaint() {
  const painting = painter.active && painter.map;
  views.forEach((view) => view.paint(painting ? 'paint' : state.heat, painting ? { map: painter.map, values: paints[view.method]?.[painter.map.name] } : null));
  wake();
}

function paintAroundJoint() {
  const view = views[state.shown];
  if (turner.chosen < 0) return say('Choose a joint first, on the skin or under Joints.', true);
  history.mark();
  return usePaint(painter.map, painter.dab(view, new Vector3(...view.jointPlace(turner.chosen)), painter.start({ info: view.info, paints: paints[view.method] ?? {} })));
}

// Settings that were saved: method, parameters and paint for the shown view.
async function useSettings(name, text) {
  const { method, settings = {}, paints: given = {} } = JSON.parse(text), known = methods.find((m) => m.name === method), view = views[state.shown];
  if (!known) throw new Error(`${name}: There is no method "${method}".`);
  const count = view.info.vertexCount, wrong = Object.keys(given).find((map) => !known.maps.some((m) => m.name === map) || given[map].length !== count);
  if (wrong) throw new Error(`${name}: The paint "${wrong}" is not for this method, or not for a character of ${count} vertices.`);
  history.mark();
  paints = { ...paints, [method]: Object.fromEntries(Object.entries(given).map(([map, values]) => [map, Float32Array.from(values)])) };
  await become(view, method, settings);
  say('');
  ask('pose');
  refresh();
}

function savedSettings(view) {
  const round = (values) => Array.from(values, (value) => Number(value.toPrecision(4)));
  const painted = Object.entries(paints[view.method] ?? {}).map(([map, values]) => [map, round(values)]);
  return JSON.stringify({ method: view.method, settings: view.settings, ...(painted.length > 0 ? { paints: Object.fromEntries(painted) } : {}) });
}

// ---- the loop ----

// Something to do with the next step: 'pose' (a joint moved while paused), 'reset'.
function ask(what) {
  wants.add(what);
}

// Nothing is drawn while nothing can have changed: awake for a while after each event or answer.
let awake = 0;
function wake() {
  awake = performance.now() + 300;
}

// Where a step takes longer than the time it simulates, longer steps would only be slower still: slow motion instead.
let last = performance.now(), cost = 0; // seconds of work for a second of motion
function loop(now) {
  const seconds = Math.min(cost > 0.8 ? 1 / 60 : 0.1, (now - last) / 1000);
  last = now;
  requestAnimationFrame(loop);
  stage.orbit.update();
  const moving = state.playing || shaking > 0 || settling > 0 || wants.size > 0;
  if (!builder) turner.follow();
  if (!builder && moving && views.length > 0 && views.every((view) => view.method && !view.busy)) advance(seconds);
  if (now < awake) stage.draw(views.map((view) => (builder ? 'no skeleton' : `${view.method} ${view.numbers.milliseconds > 0 ? `${view.numbers.milliseconds.toFixed(1)} ms` : ''}`)));
}

function advance(seconds) {
  if (state.playing && !turner.held?.moved && duration() > 0) {
    state.time += seconds * state.speed;
    if (state.time > duration()) [state.time] = [0, ask('reset')];
  }
  const moved = shaking > 0 ? [0.06 * Math.sin(shaking * 40), 0.04 * Math.sin(shaking * 53), 0] : undefined;
  shaking = Math.max(0, shaking - seconds);
  settling = Math.max(0, settling - seconds);
  state.frame++;
  const measure = !$('panel').hidden && state.frame % MEASURE_EVERY === 0;
  const reset = wants.has('reset');
  const message = { ...posed(), moved, seconds: reset ? 0 : seconds * state.speed, reset, measure, depths: state.heat === 'contact' };
  wants.clear();
  guarded(async () => {
    await Promise.all(views.map((view) => view.step(message)));
    if (!painter.active && state.heat !== 'none') views.forEach((view) => view.paint(state.heat));
    if (!reset && message.seconds > 0) cost = Math.max(...views.map((view) => view.numbers.milliseconds)) / 1000 / message.seconds;
    if (!reset) plots.milliseconds.add(views.map((view) => view.numbers.milliseconds));
    if (measure) ['volumeRatio', 'intersections'].forEach((key) => plots[key].add(views.map((view) => view.numbers[key])));
    showTime();
    wake();
  });
}

// ---- controls ----

function showTime() {
  $('time').value = duration() > 0 ? state.time / duration() : 0;
  $('clock').textContent = `${state.time.toFixed(2)} s`;
}

function refresh() {
  const info = views[0]?.info;
  $('character').replaceChildren(...scenes.map((s) => element('option', { value: s.name, selected: s.name === state.scene && !state.files, title: s.summary }, s.name)));
  if (state.files) $('character').append(element('option', { value: '', selected: true }, Object.keys(state.files)[0]));
  $('clip').replaceChildren(...(info?.clips ?? []).map((clip, i) => element('option', { value: i, selected: i === state.clip }, clip.name || `clip ${i + 1}`)));
  $('views').value = String(views.length);
  $('play').textContent = state.playing ? 'Pause' : 'Play';
  $('play').setAttribute('aria-pressed', String(state.playing));
  showTime();
  refreshPanel();
  remember();
}

function remember() {
  const clip = views[0]?.info?.clips[state.clip]?.name ?? '';
  writeAddress({ ...state, scene: state.files ? null : state.scene, clip, views });
}

function refreshPanel() {
  wake();
  const shown = views[state.shown];
  showGravity();
  if (!shown) return;
  if (builder) return fillPanel(builder.controls());
  const on = {
    method: (name) => rebind(shown, name, {}),
    live: (name, value) => setLive([shown], name, value),
    rebind: (name, value) => rebind(shown, shown.method, { ...shown.settings, [name]: value }),
  };
  const which = views.length > 1 ? [labelled('View', select(views.map((v, i) => `${i + 1}: ${v.method}`), `${state.shown + 1}: ${shown.method}`, (text) => {
    state.shown = Number(text.split(':')[0]) - 1;
    refreshPanel();
  }))] : [];
  const method = methods.find((m) => m.name === shown.method);
  const sections = [
    section('Show', lookControls(state, views, methods, applyLook, fit)),
    section('Joints', jointControls(shown)),
    section('Paint', painter.controls(method, refreshPanel, paintAroundJoint, () => (history.mark(), usePaint(painter.map, undefined)))),
    section('Save', saveControls(shown)),
  ];
  const { chooser, rows } = methodPanel(methods, shown, on);
  fillPanel([...which, ...chooser, ...sections, section('Parameters', rows), heading('Now'), ...Object.values(plots).map((plot) => plot.canvas)]);
  showPaint();
}

// New controls in place of the old; the one that had the focus, by its id or its words, has it again.
function fillPanel(controls) {
  const panel = $('panel'), { activeElement: was } = document, name = (made) => made.id || `${made.tagName} ${made.textContent}`, top = panel.scrollTop;
  const wanted = panel.contains(was) ? name(was) : null;
  panel.replaceChildren(...controls);
  panel.scrollTop = top;
  if (wanted) [...panel.querySelectorAll('input, select, button, summary')].find((made) => name(made) === wanted)?.focus({ preventScroll: true });
}

// A part of the panel that stays as open as it was.
const opened = { Show: true, Joints: false, Paint: false, Save: false, Parameters: true };
function section(title, controls) {
  const made = element('details', { open: opened[title] });
  made.addEventListener('toggle', () => {
    opened[title] = made.open;
    if (title === 'Paint' && !made.open && painter.active) (painter.active = false), refreshPanel();
  });
  const head = element('summary', {}, title);
  head.addEventListener('click', () => (opened[title] = !made.open)); // at once: the panel may be made anew before the toggle is told
  made.append(head, ...controls);
  return made;
}

// A parameter that may change while it moves, for those of the views that have it.
function setLive(which, name, value) {
  history.mark();
  return guarded(async () => {
    for (const view of which.filter((v) => methods.find((m) => m.name === v.method)?.params.some((p) => p.name === name && p.live))) {
      await view.engine.call('set', { name, value });
      view.settings = { ...view.settings, [name]: value };
    }
    settling = 1;
    remember();
    showGravity();
  });
}

// Gravity has a slider of its own, for all views; dim, with the reason, where no method has it.
function showGravity() {
  const found = views.filter((view) => methods.find((m) => m.name === view.method)?.params.some((p) => p.name === 'gravity')), slider = $('gravity');
  slider.disabled = found.length === 0 || Boolean(builder);
  const reason = builder ? 'A mesh without bones does not move.' : `${views.map((view) => view.method).join(', ')}: no flesh that could hang; projective and position have gravity.`;
  $('gravity-label').title = slider.disabled ? reason : 'Pull on the flesh, m/s²; 9.8 on Earth, 0: the rest shape already hangs as it should';
  $('gravity-value').textContent = slider.disabled ? '–' : Number(found[0].settings.gravity ?? 0).toFixed(1);
  if (!slider.disabled) slider.value = found[0].settings.gravity ?? 0;
}

async function rebind(view, method, settings) {
  history.mark();
  const bound = await guarded(() => view.bind(method, settings, paints[method] ?? {}, posed()).then(() => true));
  if (bound) say('');
  else history.past.pop(); // nothing changed
  await applyLook();
  refreshPanel();
  remember();
}

async function applyLook() {
  for (const view of views) {
    view.lines.visible = view.dots.visible = state.skeleton && view.joints.length > 0;
    const { hasInner = false, hasField = false } = methods.find((m) => m.name === view.method) ?? {}, see = state.skeleton || (state.bones && hasInner);
    Object.assign(view.material, { wireframe: state.wire, transparent: see || view.joints.length === 0, opacity: view.joints.length === 0 ? 0.75 : state.bones && hasInner ? 0.35 : state.skeleton ? 0.8 : 1 });
    view.material.depthWrite = !(state.bones && hasInner);
    view.material.needsUpdate = true;
    await guarded(() => view.show(state, { inner: hasInner, field: hasField }));
    await guarded(() => chosenWeights(view));
  }
  showPaint();
}

// Weights of the chosen joint, for the colours.
async function chosenWeights(view) {
  if (state.heat !== 'weights' || !view.method) return;
  view.weights = turner.chosen >= 0 ? (await view.engine.call('weights', { node: turner.chosen })).weights : null;
}

function chooseJoint(node) {
  if (views.length > 0 && !builder) refreshPanel();
  if (state.heat === 'weights' && !builder) guarded(async () => {
    for (const view of views) await chosenWeights(view);
    showPaint();
  });
  wake();
  return node;
}

function jointControls(view) {
  const names = view.joints.map((n) => view.info.nodes[n].name || `node ${n}`), at = view.joints.indexOf(turner.chosen);
  const joint = select(['none', ...names], at < 0 ? 'none' : names[at], () => turner.choose(joint.selectedIndex > 0 ? view.joints[joint.selectedIndex - 1] : -1));
  joint.id = 'joint';
  const turn = (axis, degrees) => (turner.chosen >= 0 ? turner.turn(turner.chosen, axis, degrees) : say('Choose a joint first.', true));
  const axes = [['x', new Vector3(1, 0, 0)], ['y', new Vector3(0, 1, 0)], ['z', new Vector3(0, 0, 1)]];
  return [
    element('p', {}, 'Click on the skin to choose a joint and turn it by its rings; drag a hand or foot and the limb follows.'),
    labelled('Joint', joint),
    ...axes.flatMap(([name, axis]) => [button(`${name} −15°`, () => turn(axis, -15)), button(`${name} +15°`, () => turn(axis, 15))]),
    button('All back', () => turner.clear()),
  ];
}

function saveControls(view) {
  const stem = state.files ? Object.keys(state.files)[0].replace(/\.[^.]*$/, '') : state.scene;
  const bake = (ending) => guarded(async () => {
    say('Baking…');
    const answer = await view.engine.call('bake', { name: `${stem}.${ending}`, method: view.method, settings: view.settings, paints: paints[view.method] ?? {}, clip: state.clip, fps: 30 });
    saveBytes(answer.bytes, `${stem}_${view.method}.${ending}`);
    say(`Saved ${(answer.bytes.length / 1e6).toFixed(1)} MB.`);
  });
  return [
    button('Motion as GLB', () => bake('glb')),
    button('Motion as PC2', () => bake('pc2')),
    button('Rigged GLB', () => guarded(async () => saveBytes((await view.engine.call('rigged')).bytes, `${stem}_rigged.glb`)), 'Skeleton and weights, for any program'),
    button('Settings', () => saveBytes(new TextEncoder().encode(savedSettings(view)), `${stem}_settings.json`, 'application/json'), 'With what is painted; drop the file on the page to use it again'),
    button('Picture', () => savePicture($('canvas'), `${stem}.png`)),
    button('Film (5 s)', async () => {
      if (film) return;
      film = true;
      await guarded(() => saveFilm($('canvas'), `${stem}.webm`, 5));
      film = false;
    }),
  ];
}

function fit() {
  if (views.length > 0) stage.frame(views[0].positions);
}

function togglePlay() {
  state.playing = !state.playing;
  refresh();
}

function listen() {
  $('undo').addEventListener('click', () => (builder ?? history).undo());
  $('redo').addEventListener('click', () => (builder ?? history).redo());
  $('play').addEventListener('click', togglePlay);
  $('reset').addEventListener('click', () => ask('reset'));
  $('shake').addEventListener('click', () => (shaking = 0.6));
  $('clip').addEventListener('change', (e) => {
    Object.assign(state, { clip: Number(e.target.value), time: 0 });
    ask('reset');
    refresh();
  });
  $('time').addEventListener('input', (e) => {
    state.time = Number(e.target.value) * duration();
    ask('pose');
    showTime();
  });
  $('time').addEventListener('change', remember);
  $('gravity').addEventListener('change', (e) => setLive(views, 'gravity', Number(e.target.value)).then(refreshPanel));
  $('gravity').addEventListener('input', (e) => ($('gravity-value').textContent = Number(e.target.value).toFixed(1)));
  $('speed').addEventListener('input', (e) => (state.speed = Number(e.target.value)));
  $('character').addEventListener('change', (e) => e.target.value && open({ scene: e.target.value }));
  $('open').addEventListener('change', (e) => openFiles(e.target.files));
  $('views').addEventListener('change', (e) => guarded(() => showViews(wantedViews(Number(e.target.value)), false)));
  $('panel-toggle').addEventListener('click', () => {
    $('panel').hidden = !$('panel').hidden;
    $('panel-toggle').setAttribute('aria-expanded', String(!$('panel').hidden));
  });
  document.addEventListener('dragover', (e) => (e.preventDefault(), document.body.classList.add('dropping')));
  document.addEventListener('dragleave', (e) => e.relatedTarget ?? document.body.classList.remove('dropping'));
  document.addEventListener('drop', (e) => {
    e.preventDefault();
    document.body.classList.remove('dropping');
    openFiles(e.dataTransfer.files);
  });
  document.addEventListener('keydown', onKey, { capture: true });
  for (const name of ['pointerdown', 'pointermove', 'wheel', 'keydown', 'input', 'change', 'resize', 'focus']) window.addEventListener(name, wake, { capture: true, passive: true });
  stage.dark.addEventListener('change', wake);
}

const MOVES = { ArrowLeft: [-1, 0, 0], ArrowRight: [1, 0, 0], ArrowUp: [0, 1, 0], ArrowDown: [0, -1, 0], PageUp: [0, 0, 1], PageDown: [0, 0, -1] };

function onKey(event) {
  const { tagName } = event.target, key = event.key.length === 1 ? event.key.toLowerCase() : event.key, held = event.ctrlKey || event.metaKey;
  if (held && (key === 'z' || key === 'y') && !(tagName === 'INPUT' && event.target.type === 'text')) {
    const what = builder ?? history;
    if (key === 'y' || event.shiftKey) what.redo();
    else what.undo();
  } else if (builder && MOVES[key] && builder.chosen >= 0 && !/^(INPUT|SELECT)$/.test(tagName)) {
    builder.move(...MOVES[key]);
    event.stopPropagation(); // the canvas would move the camera
  } else if (held || /^(INPUT|SELECT|BUTTON|TEXTAREA|SUMMARY)$/.test(tagName)) return;
  else if (key === ' ') togglePlay();
  else if (key === 'r') ask('reset');
  else if (key === 's') shaking = 0.6;
  else if (key === 'f') fit();
  else if (key === 'Escape') turner.choose(-1);
  else if (key === 'Delete') builder?.remove();
  else return;
  event.preventDefault();
}

async function start() {
  listen();
  requestAnimationFrame(loop);
  await guarded(async () => {
    wasm = await WebAssembly.compileStreaming(fetch(new URL('../../dist/supple.wasm', import.meta.url)));
    const asked = readAddress();
    Object.assign(state, { scene: asked.scene, resolution: asked.resolution, playing: asked.playing });
    await showViews(asked.views ?? [{ method: 'projective', settings: {} }], true);
    const clip = views[0].info.clips.findIndex((c) => c.name === asked.clip);
    Object.assign(state, { clip: Math.max(0, clip), time: asked.time });
    ask('reset');
    refresh();
  });
}

// For tests: what is on the page.
globalThis.studio = { state, stage, turner, painter, history, paints: () => paints, views: () => views, methods: () => methods, builder: () => builder };
start();
