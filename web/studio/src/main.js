// main.js - the state of the studio, and who tells whom when it changes.
import { Vector3 } from 'three';
import { readAddress, writeAddress } from './address.js';
import { Builder } from './builder.js';
import { JointTurner } from './joints.js';
import { button, element, heading, labelled, methodPanel, select } from './panel.js';
import { Plot } from './plots.js';
import { saveBytes, saveFilm, savePicture } from './save.js';
import { Stage } from './stage.js';
import { View } from './view.js';

const $ = (id) => document.getElementById(id);
const MESHES = /\.(obj|off|ply|stl)$/i, MOTIONS = /\.(bvh|anim)$/i, SKELETONS = /\.(skel|bvh)$/i, CHARACTERS = /\.(glb|gltf|obj|off|ply|stl)$/i;
const MEASURE_EVERY = 10; // frames

const state = { scene: 'human', resolution: 1, files: null, clip: 0, time: 0, playing: true, speed: 1, shown: 0, heat: 'none', skeleton: false, wire: false, frame: 0 };
const stage = new Stage($('canvas'), $('labels'));
const plots = { milliseconds: new Plot('Step', 'ms', 2), volumeRatio: new Plot('Volume', 'of rest', 4), intersections: new Plot('Crossing pairs', '', 0) };
const turner = new JointTurner(stage, (index) => (builder ? null : views[index]), () => ask('pose'));
let views = [], methods = [], scenes = [], builder = null, wasm = null, wants = new Set(), shaking = 0, film = false;

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
  if (view.joints.length > 0) await view.bind(methods.some((m) => m.name === method) ? method : methods[0].name, settings, posed());
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
}

function wantedViews(count = views.length) {
  const names = ['projective', 'linear', 'dualquat', 'position'];
  return Array.from({ length: count }, (_, i) => (views[i]?.method ? { method: views[i].method, settings: views[i].settings } : { method: names[i], settings: {} }));
}

async function open(next) {
  const before = { scene: state.scene, files: state.files, clip: state.clip, time: state.time };
  Object.assign(state, { scene: null, files: null, clip: 0, time: 0 }, next);
  turner.turned = {};
  const opened = await guarded(() => showViews(wantedViews(Math.max(1, views.length)), true).then(() => true));
  if (!opened) Object.assign(state, before);
  refresh();
}

// Files that were dropped or chosen: a character, a mesh with its skeleton, or a motion for the one that is there.
async function openFiles(list) {
  const files = Object.fromEntries(await Promise.all([...list].map(async (file) => [file.name, new Uint8Array(await file.arrayBuffer())])));
  const names = Object.keys(files), main = names.find((name) => CHARACTERS.test(name));
  if (main) return open({ files: Object.fromEntries([main, ...names.filter((n) => n !== main)].map((n) => [n, files[n]])) });
  const skeleton = names.find((name) => SKELETONS.test(name));
  if (skeleton && views[0]?.joints.length === 0) return open({ files: { ...state.files, [skeleton]: files[skeleton] } });
  const motion = names.find((name) => MOTIONS.test(name));
  if (!motion) return say(`${names[0] ?? 'This'} is not a character, mesh, skeleton or motion that Supple reads: .glb .gltf .obj .off .ply .stl .skel .bvh .anim.`, true);
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
  return open({ files: { [mesh]: state.files[mesh], 'made.skel': bytes } });
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
  const moving = state.playing || shaking > 0 || wants.size > 0;
  if (!builder && moving && views.length > 0 && views.every((view) => view.method && !view.busy)) advance(seconds);
  if (now < awake) stage.draw(views.map((view) => (builder ? 'no skeleton' : `${view.method} ${view.numbers.milliseconds > 0 ? `${view.numbers.milliseconds.toFixed(1)} ms` : ''}`)));
}

function advance(seconds) {
  if (state.playing && duration() > 0) {
    state.time += seconds * state.speed;
    if (state.time > duration()) [state.time] = [0, ask('reset')];
  }
  const moved = shaking > 0 ? [0.06 * Math.sin(shaking * 40), 0.04 * Math.sin(shaking * 53), 0] : undefined;
  shaking = Math.max(0, shaking - seconds);
  state.frame++;
  const measure = !$('panel').hidden && state.frame % MEASURE_EVERY === 0;
  const reset = wants.has('reset');
  const message = { ...posed(), moved, seconds: reset ? 0 : seconds * state.speed, reset, measure, depths: state.heat === 'contact' };
  wants.clear();
  guarded(async () => {
    await Promise.all(views.map((view) => view.step(message)));
    if (state.heat !== 'none') views.forEach((view) => view.paint(state.heat));
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
  if (!shown) return;
  if (builder) return $('panel').replaceChildren(...builder.controls());
  const on = {
    method: (name) => rebind(shown, name, {}),
    live: (name, value) => guarded(async () => {
      await shown.engine.call('set', { name, value });
      shown.settings = { ...shown.settings, [name]: value };
      ask('pose');
      remember();
    }),
    rebind: (name, value) => rebind(shown, shown.method, { ...shown.settings, [name]: value }),
  };
  const which = views.length > 1 ? [labelled('View', select(views.map((v, i) => `${i + 1}: ${v.method}`), `${state.shown + 1}: ${shown.method}`, (text) => {
    state.shown = Number(text.split(':')[0]) - 1;
    refreshPanel();
  }))] : [];
  const showing = element('details', { open: true });
  showing.append(element('summary', {}, 'Show'), ...lookControls());
  const joints = element('details');
  joints.append(element('summary', {}, 'Joints'), ...jointControls(shown));
  const saving = element('details');
  saving.append(element('summary', {}, 'Save'), ...saveControls(shown));
  $('panel').replaceChildren(...which, ...methodPanel(methods, shown, on), showing, joints, saving, heading('Now'), ...Object.values(plots).map((plot) => plot.canvas));
}

async function rebind(view, method, settings) {
  await guarded(() => view.bind(method, settings, posed()));
  say('');
  refreshPanel();
  remember();
}

function lookControls() {
  const look = () => views.forEach((view) => {
    view.lines.visible = view.dots.visible = state.skeleton;
    view.material.wireframe = state.wire;
    view.material.transparent = state.skeleton;
    view.material.opacity = state.skeleton ? 0.8 : 1;
    view.paint(state.heat);
  });
  look();
  const tick = (name, text) => {
    const box = element('input', { type: 'checkbox', checked: state[name], id: `show-${name}` });
    box.addEventListener('change', () => ((state[name] = box.checked), look()));
    return labelled(text, box);
  };
  const heat = select(['none', 'stretch', 'contact', 'weights'], state.heat, (value) => ((state.heat = value), look(), ask('pose')));
  heat.id = 'heat';
  return [tick('skeleton', 'Skeleton'), tick('wire', 'Triangles'), labelled('Colours', heat), button('Fit into view', fit, 'F')];
}

function jointControls(view) {
  const names = view.joints.map((n) => view.info.nodes[n].name || `node ${n}`);
  const joint = select(names, names[0], () => {});
  joint.id = 'joint';
  const turn = (axis, degrees) => turner.turn(view.joints[joint.selectedIndex], axis, degrees);
  const axes = [['x', new Vector3(1, 0, 0)], ['y', new Vector3(0, 1, 0)], ['z', new Vector3(0, 0, 1)]];
  return [
    element('p', {}, 'Show the skeleton and drag a joint to turn it; with Shift the limb follows.'),
    labelled('Joint', joint),
    ...axes.flatMap(([name, axis]) => [button(`${name} −15°`, () => turn(axis, -15)), button(`${name} +15°`, () => turn(axis, 15))]),
    button('All back', () => turner.clear()),
  ];
}

function saveControls(view) {
  const stem = state.files ? Object.keys(state.files)[0].replace(/\.[^.]*$/, '') : state.scene;
  const bake = (ending) => guarded(async () => {
    say('Baking…');
    const answer = await view.engine.call('bake', { name: `${stem}.${ending}`, method: view.method, settings: view.settings, clip: state.clip, fps: 30 });
    saveBytes(answer.bytes, `${stem}_${view.method}.${ending}`);
    say(`Saved ${(answer.bytes.length / 1e6).toFixed(1)} MB.`);
  });
  return [
    button('Motion as GLB', () => bake('glb')),
    button('Motion as PC2', () => bake('pc2')),
    button('Settings', () => saveBytes(new TextEncoder().encode(JSON.stringify({ method: view.method, settings: view.settings }, null, 2)), `${stem}_settings.json`, 'application/json')),
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
  document.addEventListener('keydown', onKey);
  for (const name of ['pointerdown', 'pointermove', 'wheel', 'keydown', 'input', 'change', 'resize', 'focus']) window.addEventListener(name, wake, { capture: true, passive: true });
  stage.dark.addEventListener('change', wake);
}

function onKey(event) {
  if (/^(INPUT|SELECT|BUTTON|TEXTAREA|SUMMARY)$/.test(event.target.tagName) && event.key !== 'z') return;
  if (event.key === ' ') togglePlay();
  else if (event.key === 'r') ask('reset');
  else if (event.key === 's') shaking = 0.6;
  else if (event.key === 'f') fit();
  else if (event.key === 'z' && (event.ctrlKey || event.metaKey)) builder?.undo();
  else if (event.key === 'Delete') builder?.remove();
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
globalThis.studio = { state, stage, turner, views: () => views, methods: () => methods, builder: () => builder };
start();
