// main.js - the state of the studio and the event handling.
import { Vector3 } from 'three';
import { readUrlState, writeUrlState } from './url_state.js';
import { Builder } from './builder.js';
import { History } from './history.js';
import { JointPoser } from './joints.js';
import { displayControls } from './display.js';
import { Painter } from './paint.js';
import { button, element, heading, labelled, methodPanel, select } from './panel.js';
import { Plot } from './plots.js';
import { saveBytes, saveVideo, saveImage } from './save.js';
import { Viewport } from './viewport.js';
import { View } from './view.js';

const $ = (id) => document.getElementById(id);
const MESHES = /\.(obj|off|ply|stl)$/i, MOTIONS = /\.bvh$/i, SKELETONS = /\.(skel|bvh)$/i,
      CHARACTERS = /\.(glb|gltf|obj|off|ply|stl)$/i;
const MEASURE_EVERY = 10; // frames

const state = {
  scene: 'human',
  resolution: 1,
  files: null,
  clip: 0,
  time: 0,
  playing: true,
  speed: 1,
  activeView: 0,
  colorMode: 'none',
  skeleton: false,
  wire: false,
  bones: false,
  tissue: false,
  field: false,
  axis: 'z',
  at: 0.5,
  frame: 0
};
const viewport = new Viewport($('canvas'), $('labels'));
const plots = {
  milliseconds: new Plot('Step', 'ms', 2),
  volumeRatio: new Plot('Volume', 'of rest', 4),
  intersections: new Plot('Crossing pairs', '', 0)
};
const painter = new Painter(viewport, (index) => (builder ? null : views[index]), {
  start: () => history.mark(),
  show: (view, values) => view.paint('paint', { map: painter.map, values }),
  done: usePaint
});
const poser = new JointPoser(viewport, (index) => (builder || painter.stroke ? null : views[index]),
  { change: () => request('pose'), start: () => history.mark(), choose: chooseJoint });
const history = new History(captureState, restoreState);
let views = [], methods = [], paints = {}, scenes = [], builder = null, wasm = null, requests = new Set(),
    shakeSeconds = 0, settleSeconds = 0, recording = false;

// ---- messages ----

let messageTimer = 0;
function showMessage(text, bad = false) {
  wake();
  clearTimeout(messageTimer);
  $('message').className = bad ? 'bad' : '';
  $('message').textContent = text;
  if (text) messageTimer = setTimeout(() => ($('message').textContent = ''), bad ? 12000 : 4000);
}

function showProgress(fraction, stageName) {
  clearTimeout(messageTimer);
  $('message').className = '';
  $('message').replaceChildren(
    element('div', {}, `Binding: ${stageName}`), element('progress', { max: 1, value: fraction }));
}

async function reportErrors(work) {
  try {
    return await work();
  } catch (error) {
    if (error.message !== 'stopped') showMessage(error.message, true);
    return undefined;
  }
}

// ---- characters and views ----

function source() {
  return state.files ? { files: state.files } : { scene: state.scene, resolution: state.resolution };
}

function currentPose() {
  return { clip: state.clip, time: clipStart() + state.time, rotations: poser.rotations };
}

function clipStart() {
  return views[0]?.info?.clips[state.clip]?.start ?? 0;
}

function duration() {
  const clip = views[0]?.info?.clips[state.clip];
  return clip ? clip.end - clip.start : 0;
}

async function makeView(method, settings) {
  const view = new View(wasm, showProgress);
  ({ methods, scenes } = await view.started);
  await view.load(source());
  const known = methods.some((m) => m.name === method) ? method : methods[0].name;
  if (view.joints.length > 0) await view.bind(known, settings, paints[known] ?? {}, currentPose());
  else view.showBindPose();
  showMessage('');
  return view;
}

// Replaces the views by `wanted` [{ method, settings }]; keeps the old ones on failure.
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
  viewport.show(views);
  if (reframe) viewport.frame(views[0].positions);
  if (views[0].joints.length === 0) startBuilder();
  state.activeView = Math.min(state.activeView, views.length - 1);
  Object.values(plots).forEach((plot) => plot.clear());
  refresh();
  await applyDisplay();
}

function wantedViews(count = views.length) {
  const names = ['projective', 'linear', 'dualquat', 'position'];
  return Array.from({ length: count },
    (_, i) => (views[i]?.method ? { method: views[i].method, settings: views[i].settings }
                                : { method: names[i], settings: {} }));
}

async function open(next) {
  const before = { scene: state.scene, files: state.files, clip: state.clip, time: state.time }, { rotations } = poser,
        painted = paints;
  Object.assign(state, { scene: null, files: null, clip: 0, time: 0 }, next);
  poser.rotations = {};
  paints = {};
  const opened = await reportErrors(() => showViews(wantedViews(Math.max(1, views.length)), true).then(() => true));
  if (opened) poser.choose(-1), history.clear();
  else Object.assign(state, before), (poser.rotations = rotations), (paints = painted);
  refresh();
}

async function readFile(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (!/\.(ply|stl)$/i.test(file.name)) return [file.name, bytes];
  return [file.name.replace(/\.[^.]*$/, '.obj'), (await import('./meshes.js')).asObj(file.name, bytes)];
}

// Dropped or chosen files: a character, a mesh with its skeleton, an animation for the current character, or settings.
async function openFiles(list) {
  const files = await reportErrors(async () => Object.fromEntries(await Promise.all([...list].map(readFile))));
  if (!files) return undefined;
  const names = Object.keys(files), main = names.find((name) => CHARACTERS.test(name));
  if (main)
    return open({ files: Object.fromEntries([main, ...names.filter((n) => n !== main)].map((n) => [n, files[n]])) });
  const skeleton = names.find((name) => SKELETONS.test(name));
  if (skeleton && views[0]?.joints.length === 0) return open({ files: {...state.files, [skeleton]: files[skeleton] } });
  const settings = names.find((name) => /\.json$/i.test(name));
  if (settings) return reportErrors(() => useSettings(settings, new TextDecoder().decode(files[settings])));
  const motion = names.find((name) => MOTIONS.test(name));
  if (!motion)
    return showMessage(
      `${
        names[0] ??
        'This'}: unknown file format. Supported: .glb .gltf .obj .off .ply .stl .skel .bvh, and settings in .json.`,
      true);
  await reportErrors(async () => {
    for (const view of views)
      view.info.clips = (await view.engine.call('motion', { files: { [motion]: files[motion] } })).clips;
    state.clip = views[0].info.clips.length - 1;
    state.time = 0;
    request('reset');
  });
  refresh();
}

function startBuilder() {
  builder = new Builder(viewport, views[0], useSkeleton, showMessage);
  showMessage('This mesh has no skeleton: click on it to place joints.');
}

function useSkeleton(what, text) {
  if (what === 'changed') return refreshPanel();
  const bytes = new TextEncoder().encode(text);
  if (what === 'save') return saveBytes(bytes, 'skeleton.skel', 'text/plain');
  const mesh = Object.keys(state.files).find((name) => MESHES.test(name)) ?? Object.keys(state.files)[0];
  const files = { [mesh]: state.files[mesh], 'made.skel': bytes };
  if (what === 'use') return open({ files });
  return reportErrors(async () => saveBytes((await views[0].engine.call('rigged', { files })).bytes,
                        `${mesh.replace(/\.[^.]*$/, '')}_rigged.glb`));
}

// ---- undo of pose, parameters and paint ----

function captureState() {
  return { rotations: poser.rotations, paints, views: views.map(({ method, settings }) => ({ method, settings })) };
}

async function restoreState(wanted) {
  poser.rotations = wanted.rotations;
  ({ paints } = wanted);
  await reportErrors(async () => {
    for (const [i, view] of views.entries())
      if (wanted.views[i]) await applySettings(view, wanted.views[i].method, wanted.views[i].settings);
  });
  showMessage('');
  request('pose');
  refreshPanel();
  updateUrl();
}

// Applies method, settings and paint to a view: by live changes if possible, else by a new bind.
async function applySettings(view, method, settings) {
  const { params, maps } = methods.find((m) => m.name === method), painted = paints[method] ?? {};
  const changed = params.filter((p) => view.settings[p.name] !== settings[p.name]),
        stroked = maps.filter((m) => view.paints[m.name] !== painted[m.name]);
  if (view.method !== method || changed.some((p) => !p.live) || stroked.some((m) => !m.live))
    return view.bind(method, settings, painted, currentPose());
  for (const p of changed)
    await view.engine.call('set', {
      name: p.name,
      value: settings[p.name] ?? (p.type === 'choice' ? p.choices[p.default_value] : p.default_value)
    });
  try {
    for (const m of stroked)
      await view.engine.call('paint',
        { map: m.name, values: painted[m.name] ?? new Float32Array(view.info.vertexCount).fill(m.default_value) });
  } catch {
    return view.bind(method, settings, painted, currentPose()); // bound as rigid: needs a new bind
  }
  Object.assign(view, { settings, paints: painted });
  return undefined;
}

// ---- paint ----

let bindTimer = 0;
function usePaint(map, values) {
  const { method } = views[state.activeView];
  paints = { ...paints, [method]: { ...paints[method], [map.name]: values } };
  if (!values) delete paints[method][map.name];
  clearTimeout(bindTimer);
  bindTimer = setTimeout(applyPaint, map.live ? 0 : 700); // one bind for several strokes
  showPaint();
}

async function applyPaint() {
  if (painter.stroke || views.some((view) => view.busyBinding)) return void (bindTimer = setTimeout(applyPaint, 200));
  await reportErrors(async () => {
    for (const view of views) if (view.method) await applySettings(view, view.method, view.settings);
  });
  showMessage('');
  request('pose');
  showPaint();
}

function showPaint() {
  const painting = painter.active && painter.map;
  views.forEach((view) => view.paint(painting ? 'paint' : state.colorMode,
                  painting ? { map: painter.map, values: paints[view.method]?.[painter.map.name] } : null));
  wake();
}

function paintAroundJoint() {
  const view = views[state.activeView];
  if (poser.chosen < 0) return showMessage('Select a joint first, on the skin or under Joints.', true);
  history.mark();
  return usePaint(painter.map,
    painter.dab(view, new Vector3(...view.jointPosition(poser.chosen)),
      painter.start({ info: view.info, paints: paints[view.method] ?? {} })));
}

// Applies saved settings (method, parameters, paint) to the active view.
async function useSettings(name, text) {
  const { method, settings = {}, paints: given = {} } = JSON.parse(text),
                                                    known = methods.find((m) => m.name === method),
                                                    view = views[state.activeView];
  if (!known) throw new Error(`${name}: Unknown method "${method}".`);
  const count = view.info.vertexCount,
        wrong =
          Object.keys(given).find((map) => !known.maps.some((m) => m.name === map) || given[map].length !== count);
  if (wrong)
    throw new Error(
      `${name}: The map "${wrong}" does not belong to this method, or not to a character with ${count} vertices.`);
  history.mark();
  paints = {
    ...paints,
    [method]: Object.fromEntries(Object.entries(given).map(([map, values]) => [map, Float32Array.from(values)]))
  };
  await applySettings(view, method, settings);
  showMessage('');
  request('pose');
  refresh();
}

function savedSettings(view) {
  const round = (values) => Array.from(values, (value) => Number(value.toPrecision(4)));
  const painted = Object.entries(paints[view.method] ?? {}).map(([map, values]) => [map, round(values)]);
  return JSON.stringify({
    method: view.method,
    settings: view.settings,
    ...(painted.length > 0 ? { paints: Object.fromEntries(painted) } : {})
  });
}

// ---- the loop ----

// Requests work for the next step: 'pose' (a joint moved while paused), 'reset'.
function request(what) {
  requests.add(what);
}

// Renders only for a short time after each event or answer: saves power while nothing changes.
let awake = 0;
function wake() {
  awake = performance.now() + 300;
}

// When a step takes longer than the time it simulates, longer steps would be even slower: run in slow motion instead.
let last = performance.now(), cost = 0; // seconds of computation per simulated second
function loop(now) {
  const seconds = Math.min(cost > 0.8 ? 1 / 60 : 0.1, (now - last) / 1000);
  last = now;
  requestAnimationFrame(loop);
  viewport.orbit.update();
  const moving = state.playing || shakeSeconds > 0 || settleSeconds > 0 || requests.size > 0;
  if (!builder) poser.follow();
  if (!builder && moving && views.length > 0 && views.every((view) => view.method && !view.busy)) advance(seconds);
  if (now < awake)
    viewport.draw(views.map(
      (view) => (builder
          ? 'no skeleton'
          : `${view.method} ${view.numbers.milliseconds > 0 ? `${view.numbers.milliseconds.toFixed(1)} ms` : ''}`)));
}

function advance(seconds) {
  if (state.playing && !poser.held?.moved && duration() > 0) {
    state.time += seconds * state.speed;
    if (state.time > duration()) [state.time] = [0, request('reset')];
  }
  const moved =
    shakeSeconds > 0 ? [0.06 * Math.sin(shakeSeconds * 40), 0.04 * Math.sin(shakeSeconds * 53), 0] : undefined;
  shakeSeconds = Math.max(0, shakeSeconds - seconds);
  settleSeconds = Math.max(0, settleSeconds - seconds);
  state.frame++;
  const measure = !$('panel').hidden && state.frame % MEASURE_EVERY === 0;
  const reset = requests.has('reset');
  const message = {
    ...currentPose(),
    moved,
    seconds: reset ? 0 : seconds * state.speed,
    reset,
    measure,
    depths: state.colorMode === 'contact'
  };
  requests.clear();
  reportErrors(async () => {
    await Promise.all(views.map((view) => view.step(message)));
    if (!painter.active && state.colorMode !== 'none') views.forEach((view) => view.paint(state.colorMode));
    if (!reset && message.seconds > 0)
      cost = Math.max(...views.map((view) => view.numbers.milliseconds)) / 1000 / message.seconds;
    if (!reset) plots.milliseconds.add(views.map((view) => view.numbers.milliseconds));
    if (measure)
      ['volumeRatio', 'intersections'].forEach((key) => plots[key].add(views.map((view) => view.numbers[key])));
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
  $('character')
    .replaceChildren(
      ...scenes.map((s) => element('option',
                      { value: s.name, selected: s.name === state.scene && !state.files, title: s.summary }, s.name)));
  if (state.files) $('character').append(element('option', { value: '', selected: true }, Object.keys(state.files)[0]));
  $('clip').replaceChildren(...(info?.clips ??
    []).map((clip, i) => element('option', { value: i, selected: i === state.clip }, clip.name || `clip ${i + 1}`)));
  $('views').value = String(views.length);
  $('play').textContent = state.playing ? 'Pause' : 'Play';
  $('play').setAttribute('aria-pressed', String(state.playing));
  showTime();
  refreshPanel();
  updateUrl();
}

function updateUrl() {
  const clip = views[0]?.info?.clips[state.clip]?.name ?? '';
  writeUrlState({ ...state, scene: state.files ? null : state.scene, clip, views });
}

function refreshPanel() {
  wake();
  const active = views[state.activeView];
  showGravity();
  if (!active) return;
  if (builder) return fillPanel(builder.controls());
  const on = {
    method: (name) => rebind(active, name, {}),
    live: (name, value) => setLive([active], name, value),
    rebind: (name, value) => rebind(active, active.method, { ...active.settings, [name]: value }),
  };
  const which = views.length > 1
    ? [labelled('View',
        select(views.map((v, i) => `${i + 1}: ${v.method}`), `${state.activeView + 1}: ${active.method}`,
          (text) => {
            state.activeView = Number(text.split(':')[0]) - 1;
            refreshPanel();
          }))]
    : [];
  const method = methods.find((m) => m.name === active.method);
  const sections = [
    section('Show', displayControls(state, views, methods, applyDisplay, fit)),
    section('Joints', jointControls(active)),
    section('Paint',
      painter.controls(
        method, refreshPanel, paintAroundJoint, () => (history.mark(), usePaint(painter.map, undefined)))),
    section('Save', saveControls(active)),
  ];
  const { chooser, rows } = methodPanel(methods, active, on);
  fillPanel([
    ...which, ...chooser, ...sections, section('Parameters', rows), heading('Metrics'),
    ...Object.values(plots).map((plot) => plot.canvas)
  ]);
  showPaint();
}

// Replaces the controls of the panel and restores the focus, by id or text.
function fillPanel(controls) {
  const panel = $('panel'), { activeElement: was } = document,
        name = (made) => made.id || `${made.tagName} ${made.textContent}`, top = panel.scrollTop;
  const wanted = panel.contains(was) ? name(was) : null;
  panel.replaceChildren(...controls);
  panel.scrollTop = top;
  if (wanted)
    [...panel.querySelectorAll('input, select, button, summary')].find((made) => name(made) === wanted)?.focus({
      preventScroll: true
    });
}

// A collapsible section that keeps its open state.
const opened = { Show: true, Joints: false, Paint: false, Save: false, Parameters: true };
function section(title, controls) {
  const made = element('details', { open: opened[title] });
  made.addEventListener('toggle', () => {
    opened[title] = made.open;
    if (title === 'Paint' && !made.open && painter.active) (painter.active = false), refreshPanel();
  });
  const head = element('summary', {}, title);
  head.addEventListener(
    'click', () => (opened[title] = !made.open)); // immediately: the panel may be rebuilt before the toggle event
  made.append(head, ...controls);
  return made;
}

// Sets a live parameter in all given views that have it.
function setLive(which, name, value) {
  history.mark();
  return reportErrors(async () => {
    for (const view of which.filter(
           (v) => methods.find((m) => m.name === v.method)?.params.some((p) => p.name === name && p.live))) {
      await view.engine.call('set', { name, value });
      view.settings = { ...view.settings, [name]: value };
    }
    settleSeconds = 1;
    updateUrl();
    showGravity();
  });
}

// The gravity slider applies to all views; disabled, with a reason, if no method has gravity.
function showGravity() {
  const found =
          views.filter((view) => methods.find((m) => m.name === view.method)?.params.some((p) => p.name === 'gravity')),
        slider = $('gravity');
  slider.disabled = found.length === 0 || Boolean(builder);
  const reason = builder
    ? 'A mesh without a skeleton cannot be simulated.'
    : `${views.map((view) => view.method).join(', ')}: no gravity; projective and position support it.`;
  $('gravity-label').title =
    slider.disabled ? reason : 'Gravity in m/s²: 9.8 on Earth; 0: the rest shape already includes gravity';
  $('gravity-value').textContent = slider.disabled ? '–' : Number(found[0].settings.gravity ?? 0).toFixed(1);
  if (!slider.disabled) slider.value = found[0].settings.gravity ?? 0;
}

async function rebind(view, method, settings) {
  history.mark();
  const bound =
    await reportErrors(() => view.bind(method, settings, paints[method] ?? {}, currentPose()).then(() => true));
  if (bound) showMessage('');
  else history.past.pop(); // no change
  await applyDisplay();
  refreshPanel();
  updateUrl();
}

async function applyDisplay() {
  for (const view of views) {
    view.lines.visible = view.dots.visible = state.skeleton && view.joints.length > 0;
    const { hasInner = false, hasField = false } = methods.find((m) => m.name === view.method) ?? {},
                                               see = state.skeleton || (state.bones && hasInner);
    Object.assign(view.material, {
      wireframe: state.wire,
      transparent: see || view.joints.length === 0,
      opacity: view.joints.length === 0 ? 0.75
        : state.bones && hasInner       ? 0.35
        : state.skeleton                ? 0.8
                                        : 1
    });
    view.material.depthWrite = !(state.bones && hasInner);
    view.material.needsUpdate = true;
    await reportErrors(() => view.show(state, { inner: hasInner, field: hasField }));
    await reportErrors(() => chosenWeights(view));
  }
  showPaint();
}

// Weights of the selected joint, for the colors.
async function chosenWeights(view) {
  if (state.colorMode !== 'weights' || !view.method) return;
  view.weights = poser.chosen >= 0 ? (await view.engine.call('weights', { node: poser.chosen })).weights : null;
}

function chooseJoint(node) {
  if (views.length > 0 && !builder) refreshPanel();
  if (state.colorMode === 'weights' && !builder) reportErrors(async () => {
    for (const view of views) await chosenWeights(view);
    showPaint();
  });
  wake();
  return node;
}

function jointControls(view) {
  const names = view.joints.map((n) => view.info.nodes[n].name || `node ${n}`), at = view.joints.indexOf(poser.chosen);
  const joint = select(['none', ...names], at < 0 ? 'none' : names[at],
    () => poser.choose(joint.selectedIndex > 0 ? view.joints[joint.selectedIndex - 1] : -1));
  joint.id = 'joint';
  const rotate = (axis, degrees) =>
    (poser.chosen >= 0 ? poser.rotate(poser.chosen, axis, degrees) : showMessage('Select a joint first.', true));
  const axes = [['x', new Vector3(1, 0, 0)], ['y', new Vector3(0, 1, 0)], ['z', new Vector3(0, 0, 1)]];
  return [
    element('p', {},
      'Click on the skin to select a joint and rotate it with its rings; drag a hand or foot to move the limb.'),
    labelled('Joint', joint),
    ...axes.flatMap(([name,
      axis]) => [button(`${name} −15°`, () => rotate(axis, -15)), button(`${name} +15°`, () => rotate(axis, 15))]),
    button('Reset pose', () => poser.clear()),
  ];
}

function saveControls(view) {
  const stem = state.files ? Object.keys(state.files)[0].replace(/\.[^.]*$/, '') : state.scene;
  const bake = (ending) => reportErrors(async () => {
    showMessage('Baking…');
    const answer = await view.engine.call('bake', {
      name: `${stem}.${ending}`,
      method: view.method,
      settings: view.settings,
      paints: paints[view.method] ?? {},
      clip: state.clip,
      fps: 30
    });
    saveBytes(answer.bytes, `${stem}_${view.method}.${ending}`);
    showMessage(`Saved ${(answer.bytes.length / 1e6).toFixed(1)} MB.`);
  });
  return [
    button('Animation as GLB', () => bake('glb')),
    button('Animation as PC2', () => bake('pc2')),
    button('Rigged GLB',
      () => reportErrors(async () => saveBytes((await view.engine.call('rigged')).bytes, `${stem}_rigged.glb`)),
      'Skeleton and skinning weights, for other programs'),
    button('Settings',
      () => saveBytes(new TextEncoder().encode(savedSettings(view)), `${stem}_settings.json`, 'application/json'),
      'Parameters and painted maps; drop the file on the page to load it'),
    button('Image', () => saveImage($('canvas'), `${stem}.png`)),
    button('Video (5 s)',
      async () => {
        if (recording) return;
        recording = true;
        await reportErrors(() => saveVideo($('canvas'), `${stem}.webm`, 5));
        recording = false;
      }),
  ];
}

function fit() {
  if (views.length > 0) viewport.frame(views[0].positions);
}

function togglePlay() {
  state.playing = !state.playing;
  refresh();
}

function listen() {
  $('undo').addEventListener('click', () => (builder ?? history).undo());
  $('redo').addEventListener('click', () => (builder ?? history).redo());
  $('play').addEventListener('click', togglePlay);
  $('reset').addEventListener('click', () => request('reset'));
  $('shake').addEventListener('click', () => (shakeSeconds = 0.6));
  $('clip').addEventListener('change', (e) => {
    Object.assign(state, { clip: Number(e.target.value), time: 0 });
    request('reset');
    refresh();
  });
  $('time').addEventListener('input', (e) => {
    state.time = Number(e.target.value) * duration();
    request('pose');
    showTime();
  });
  $('time').addEventListener('change', updateUrl);
  $('gravity').addEventListener('change', (e) => setLive(views, 'gravity', Number(e.target.value)).then(refreshPanel));
  $('gravity').addEventListener('input', (e) => ($('gravity-value').textContent = Number(e.target.value).toFixed(1)));
  $('speed').addEventListener('input', (e) => (state.speed = Number(e.target.value)));
  $('character').addEventListener('change', (e) => e.target.value && open({ scene: e.target.value }));
  $('open').addEventListener('change', (e) => openFiles(e.target.files));
  $('views').addEventListener(
    'change', (e) => reportErrors(() => showViews(wantedViews(Number(e.target.value)), false)));
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
  for (const name of ['pointerdown', 'pointermove', 'wheel', 'keydown', 'input', 'change', 'resize', 'focus'])
    window.addEventListener(name, wake, { capture: true, passive: true });
  viewport.dark.addEventListener('change', wake);
}

const MOVES = {
  ArrowLeft: [-1, 0, 0],
  ArrowRight: [1, 0, 0],
  ArrowUp: [0, 1, 0],
  ArrowDown: [0, -1, 0],
  PageUp: [0, 0, 1],
  PageDown: [0, 0, -1]
};

function onKey(event) {
  const { tagName } = event.target, key = event.key.length === 1 ? event.key.toLowerCase() : event.key,
                  held = event.ctrlKey || event.metaKey;
  if (held && (key === 'z' || key === 'y') && !(tagName === 'INPUT' && event.target.type === 'text')) {
    const what = builder ?? history;
    if (key === 'y' || event.shiftKey) what.redo();
    else what.undo();
  } else if (builder && MOVES[key] && builder.chosen >= 0 && !/^(INPUT|SELECT)$/.test(tagName)) {
    builder.move(...MOVES[key]);
    event.stopPropagation(); // otherwise the canvas pans the camera
  } else if (held || /^(INPUT|SELECT|BUTTON|TEXTAREA|SUMMARY)$/.test(tagName)) return;
  else if (key === ' ') togglePlay();
  else if (key === 'r') request('reset');
  else if (key === 's') shakeSeconds = 0.6;
  else if (key === 'f') fit();
  else if (key === 'Escape') poser.choose(-1);
  else if (key === 'Delete') builder?.remove();
  else return;
  event.preventDefault();
}

async function start() {
  listen();
  requestAnimationFrame(loop);
  await reportErrors(async () => {
    wasm = await WebAssembly.compileStreaming(fetch(new URL('../../dist/supple.wasm', import.meta.url)));
    const initial = readUrlState();
    Object.assign(state, { scene: initial.scene, resolution: initial.resolution, playing: initial.playing });
    await showViews(initial.views ?? [{ method: 'projective', settings: {} }], true);
    const clip = views[0].info.clips.findIndex((c) => c.name === initial.clip);
    Object.assign(state, { clip: Math.max(0, clip), time: initial.time });
    request('reset');
    refresh();
  });
}

// For tests.
globalThis.studio = {
  state,
  viewport,
  poser,
  painter,
  history,
  paints: () => paints,
  views: () => views,
  methods: () => methods,
  builder: () => builder
};
start();
