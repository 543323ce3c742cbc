// End-to-end tests of the built page in Chromium, with mouse and keyboard.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { Supple } from '../../src/supple.js';
import { browse, built, reason, root, serve } from './page.mjs';

const FIGURE = join(process.env.SUPPLE_ASSETS ?? join(root, '../shared/assets'), 'gltf/khronos_RiggedFigure.glb');
const NATIVE = process.env.SUPPLE_PROGRAM ?? join(root, 'build/supple');
const SMALL = '#character=cylinder&resolution=0.3';
const skip = reason;
let server, browser, page, requests = [], pageErrors = [], origins = [];

before(async () => {
  if (reason) return;
  server = await serve();
  browser = await browse();
  page = await visit(SMALL + '&view=linear');
});

after(async () => {
  await browser?.close();
  server?.close();
});

async function visit(hash, at = server.url) {
  origins.push(at);
  const made = await (await browser.newContext({ viewport: { width: 640, height: 480 } })).newPage();
  made.setDefaultTimeout(60000);
  made.on('request', (request) => requests.push(request.url()));
  made.on('pageerror', (error) => pageErrors.push(error.message));
  await made.goto(at + hash);
  await ready(made);
  return made;
}

function ready(on = page) {
  return on.waitForFunction(() => studio.views().length > 0 && studio.views().every((view) => view.method));
}

// Waits until a vertex has moved by more than `distance` after `act`; all positions must be finite.
async function moves(distance, act = async () => {}) {
  const was = await page.evaluate(() => [...studio.views()[0].positions]);
  await act();
  await page.waitForFunction(
    ([old, far]) => studio.views()[0].positions.some((x, i) => Math.abs(x - old[i]) > far), [was, distance]);
  assert.ok(await page.evaluate(() => studio.views()[0].positions.every(Number.isFinite)));
}

// Files dropped on the page: { name: bytes }.
function drop(files) {
  const list = Object.entries(files).map(([name, bytes]) => ({ name, text: Buffer.from(bytes).toString('base64') }));
  return page.evaluate((given) => {
    const dataTransfer = new DataTransfer();
    for (const { name, text } of given)
      dataTransfer.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], name));
    document.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
  }, list);
}

function message() {
  return page.locator('#message').textContent();
}

test('every method animates a built-in character', { skip }, async () => {
  const names = await page.evaluate(() => studio.methods().map((method) => method.name));
  assert.ok(names.length >= 4);
  await page.selectOption('[data-role=method]', 'anatomy'); // needs a character with layers
  await page.waitForFunction(() => document.getElementById('message').className === 'bad');
  for (const name of names.filter((n) => n !== 'anatomy')) {
    await page.selectOption('[data-role=method]', name);
    await page.waitForFunction((wanted) => studio.views()[0].method === wanted, name);
    await moves(1e-4);
    assert.equal(await message(), '', name);
  }
});

test('every parameter of a method is a control', { skip }, async () => {
  const wanted = await page.evaluate(
    () => studio.methods().find((m) => m.name === studio.views()[0].method).params.map((p) => `param-${p.name}`));
  for (const id of wanted) assert.equal(await page.locator(`#${id}`).count(), 1, id);
});

// Page coordinates of a world point; default: the center of the skin.
function onPage(point = null) {
  return page.evaluate((wanted) => {
    const { viewport } = studio, [view] = studio.views(), rect = viewport.canvas.getBoundingClientRect();
    const at = wanted ? viewport.camera.position.clone().set(...wanted) : viewport.orbit.target.clone().set(0, 0, 0);
    if (!wanted)
      view.positions.forEach(
        (x, i) => at.setComponent(i % 3, at.getComponent(i % 3) + (3 * x) / view.positions.length));
    const { x, y } = viewport.onScreen(at, 0);
    return [rect.left + x, rect.top + y];
  }, point);
}

// At rest in the first pose of the clip.
async function upright() {
  await page.waitForFunction(() => !studio.views()[0].busy);
  await page.locator('#time').fill('0');
  const frame = await page.evaluate(() => studio.state.frame);
  await page.locator('#reset').click();
  await page.waitForFunction((from) => studio.state.frame > from && !studio.views()[0].busy, frame);
}

const rotationCount = () => page.evaluate(() => Object.keys(studio.poser.rotations).length);

test('a click selects a joint, the gizmo rotates it, undo and redo work', { skip }, async () => {
  await page.selectOption('[data-role=method]', 'projective');
  await page.waitForFunction(() => studio.views()[0].method === 'projective');
  await page.locator('#play').click();
  await page.waitForFunction(() => !studio.views()[0].busy);
  await upright();
  await page.mouse.click(...(await onPage()));
  await page.waitForFunction(() => studio.poser.chosen >= 0 && studio.poser.gizmo.group.visible);
  assert.notEqual(await page.locator('#joint').inputValue(), 'none');
  const ring = await page.evaluate(() => {
    const { gizmo } = studio.poser, { position, scale } = gizmo.group;
    return [[0.707, 0.707], [0.906, 0.423]].map(
      ([x, y]) => [position.x + scale.x * x, position.y + scale.x * y, position.z]); // on the z ring
  });
  const [from, to] = [await onPage(ring[0]), await onPage(ring[1])];
  await moves(0.02, async () => {
    await page.mouse.move(...from);
    await page.mouse.down();
    await page.mouse.move(...to, { steps: 4 });
    await page.mouse.up();
  });
  const [node, [, , z, w]] = await page.evaluate(() => Object.entries(studio.poser.rotations)[0]);
  assert.equal(Number(node), await page.evaluate(() => studio.poser.chosen));
  const degrees = (2 * Math.atan2(z, w) * 180) / Math.PI;
  assert.ok(degrees < -10 && degrees > -35, `rotated by ${degrees} degrees`);
  await moves(0.02, () => page.keyboard.press('Control+z'));
  assert.equal(await rotationCount(), 0);
  await moves(0.02, () => page.keyboard.press('Control+Shift+Z'));
  assert.equal(await rotationCount(), 1);
  await page.locator('#undo').click();
  await page.waitForFunction(() => Object.keys(studio.poser.rotations).length === 0);
});

test('a limb follows the dragged pointer', { skip }, async () => {
  await upright();
  const end = await page.evaluate(() => {
    const { positions } = studio.views()[0],
                      best = positions.reduce((k, x, i) => (i % 3 === 1 && x > positions[k] ? i : k), 1) - 1;
    return [positions[best], positions[best + 1] - 0.05, positions[best + 2]];
  });
  const [x, y] = await onPage(end), camera = () => page.evaluate(() => studio.viewport.camera.position.toArray()),
            before = await camera();
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + 60, y + 25, { steps: 5 });
  await page.mouse.up();
  await page.waitForFunction(() => !studio.views()[0].busy);
  assert.ok((await rotationCount()) > 0);
  assert.deepEqual(await camera(), before);
  await page.waitForFunction(([px, py]) => { // the skin is under the pointer
    const rect = studio.viewport.canvas.getBoundingClientRect();
    return studio.viewport.hit(studio.views()[0], px - rect.left, py - rect.top) !== undefined;
  }, [x + 52, y + 28]);
  await page.keyboard.press('Control+z');
  await page.waitForFunction(() => Object.keys(studio.poser.rotations).length === 0);
  await page.keyboard.press('Escape');
  assert.equal(await page.evaluate(() => studio.poser.chosen), -1);
});

test('bones, tissue and field are shown if the method has them', { skip }, async () => {
  const inside = () => page.evaluate(() => {
    const { inside: u } = studio.views()[0],
                      field = u.sheet?.parent ? [...u.fieldMaterial.uniforms.field.value.image.data] : [];
    return {
      bones: u.shafts?.count ?? 0,
      tissue: u.tissue?.geometry.attributes.position.count ?? 0,
      field: field.filter((f) => f > 0.6).length > 0 && field.filter((f) => f < 0.4).length > 0
    };
  });
  for (const id of ['bones', 'tissue']) await page.locator(`#show-${id}`).check();
  await page.waitForFunction(() => studio.views()[0].inside.tissue);
  const seen = await inside();
  assert.ok(seen.bones > 1 && seen.tissue > 100 && !seen.field, JSON.stringify(seen));
  assert.ok(await page.locator('#show-field').isDisabled());
  for (const id of ['bones', 'tissue']) await page.locator(`#show-${id}`).uncheck();
  await page.waitForFunction(() => !studio.views()[0].inside.tissue && !studio.views()[0].inside.shafts);
  await page.selectOption('[data-role=method]', 'implicit');
  await page.waitForFunction(() => studio.views()[0].method === 'implicit');
  await page.locator('#show-field').check();
  await page.waitForFunction(() => studio.views()[0].inside.sheet?.parent);
  assert.ok((await inside()).field);
  assert.ok(await page.locator('#gravity').isDisabled());
  assert.match(await page.locator('#gravity-label').getAttribute('title'), /implicit/);
  await page.locator('#show-field').uncheck();
  await page.locator('#undo').click();
  await page.waitForFunction(() => studio.views()[0].method === 'projective');
});

test('gravity moves the skin and can be undone', { skip }, async () => {
  await moves(1e-4, () => page.locator('#gravity').fill('9.8'));
  assert.equal(await page.evaluate(() => studio.views()[0].settings.gravity), 9.8);
  await page.keyboard.press('Control+z');
  await page.waitForFunction(() => studio.views()[0].settings.gravity === undefined);
});

test('painted maps are bound and can be undone', { skip }, async () => {
  await page.locator('summary', { hasText: 'Paint' }).click();
  await page.locator('#paint-on').check();
  await page.selectOption('#paint-map', 'bone_radius');
  const bound = page.evaluate(() => new Promise((resolve) => {
    const [view] = studio.views(), { bind } = view;
    view.bind = (...all) =>
      bind.apply(view, all).then(() => ((view.bind = bind), resolve([...view.paints.bone_radius])));
  }));
  const [x, y] = await onPage();
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + 2, y + 20, { steps: 3 });
  await page.mouse.up();
  const values = await bound;
  assert.ok(values.some((v) => Math.abs(v - 0.3) < 0.01) && values.some((v) => v === 1));
  await page.selectOption('#paint-map', 'rigid');
  await page.mouse.click(x, y);
  await page.waitForFunction(() => studio.views()[0].paints.rigid?.some((v) => v === 1));
  await page.keyboard.press('Control+z');
  await page.waitForFunction(
    () => studio.views()[0].paints.rigid === undefined && studio.views()[0].paints.bone_radius !== undefined);
  await page.locator('#paint-on').uncheck();
  await page.locator('#play').click();
});

test('a link reproduces the view', { skip }, async () => {
  const first = await visit(`${SMALL}&view=projective;iterations=3&view=dualquat&play=0&time=0.5`);
  const paused = (on) => on.waitForFunction(() => studio.state.frame > 0 && studio.views().every((view) => !view.busy));
  await paused(first);
  const hash = await first.evaluate(() => location.hash);
  assert.match(decodeURIComponent(hash), /view=projective;iterations=3&view=dualquat/);
  const second = await visit(hash);
  await paused(second);
  const seen = (on) => on.evaluate(
    () =>
      ({ hash: location.hash, time: studio.state.time, positions: studio.views().map((view) => [...view.positions]) }));
  assert.deepEqual(await seen(second), await seen(first));
  assert.equal((await seen(second)).time, 0.5);
  await first.context().close();
  await second.context().close();
});

test('keyboard shortcuts work, and Tab reaches every control of the footer', { skip }, async () => {
  await page.locator('#canvas').focus();
  await page.keyboard.press('Space');
  assert.equal(await page.locator('#play').textContent(), 'Play');
  await page.waitForFunction(() => !studio.views()[0].busy);
  const frame = await page.evaluate(() => studio.state.frame);
  await page.keyboard.press('r');
  await page.waitForFunction((from) => studio.state.frame === from + 1, frame);
  await page.keyboard.press('Space');
  assert.equal(await page.locator('#play').textContent(), 'Pause');
  await page.locator('#play').focus();
  const reached = [];
  for (let i = 0; i < 7; i++) {
    reached.push(await page.evaluate(() => document.activeElement.id));
    await page.keyboard.press('Tab');
  }
  assert.deepEqual(reached, ['play', 'reset', 'shake', 'clip', 'time', 'gravity', 'speed']);
});

async function saved(button, ending) {
  const [download] =
    await Promise.all([page.waitForEvent('download'), page.getByText(button, { exact: true }).click()]);
  const path = `${await download.path()}.${ending}`;
  await download.saveAs(path);
  return path;
}

test('the native program reads saved settings', { skip: skip || (!existsSync(NATIVE) && 'no native program') },
  async () => {
    await page.selectOption('[data-role=method]', 'projective');
    await page.waitForFunction(() => studio.views()[0].method === 'projective');
    await page.locator('#param-iterations').fill('100');
    await page.waitForFunction(() => studio.views()[0].settings.iterations !== undefined);
    await page.locator('summary', { hasText: 'Save' }).click();
    const path = await saved('Settings', 'json'), text = JSON.parse(readFileSync(path));
    assert.ok(text.paints.bone_radius.some((v) => v === 0.3));
    const out = execFileSync(
      NATIVE, ['bake', 'scene:cylinder@0.3', '-o', `${path}.pc2`, '--frames', '0:1', '--settings', path, '--json']);
    assert.equal(JSON.parse(out).parameters.iterations, text.settings.iterations);
    assert.equal(JSON.parse(out).method, 'projective');
    assert.throws(() => execFileSync(
                    NATIVE, ['bake', 'scene:cylinder@0.5', '-o', `${path}.pc2`, '--settings', path], { stdio: 'pipe' }),
      /painted on a character with/);
    await page.keyboard.press('Control+z'); // iterations
    await page.waitForFunction(() => studio.views()[0].settings.iterations === undefined);
    await drop({ 'again.json': readFileSync(path) });
    await page.waitForFunction((wanted) => studio.views()[0].settings.iterations === wanted, text.settings.iterations);
  });

test('the glTF validator accepts saved GLB files', {
  skip: skip || (!existsSync(join(root, 'tests/validator/node_modules')) && 'npm ci was not run in tests/validator')
},
  async () => {
    const files = [await saved('Animation as GLB', 'glb'), await saved('Rigged GLB', 'glb')];
    execFileSync('node', [join(root, 'tests/validator/validate.mjs'), ...files]);
  });

test('a broken file shows an error and the page keeps working', { skip }, async () => {
  for (const [name, bytes] of [
         ['broken.glb', [1, 2, 3, 4, 5]], ['broken.obj', Buffer.from('v 1 2\nf 1 2 9\n')], ['notes.txt', [65]]]) {
    await drop({ [name]: bytes });
    await page.waitForFunction((wanted) => document.getElementById('message').textContent.includes(wanted), name);
    assert.equal(await page.locator('#message').getAttribute('class'), 'bad');
    await moves(1e-4);
  }
});

test('a dropped GLB is animated', { skip: skip || (!existsSync(FIGURE) && `no ${FIGURE}`) }, async () => {
  await drop({ 'figure.glb': readFileSync(FIGURE) });
  await page.waitForFunction(() => studio.state.files && studio.views()[0].info.vertexCount === 370);
  await ready();
  await moves(1e-3);
});

// The built-in cylinder as a PLY mesh without a skeleton.
async function bareMesh() {
  const supple = await Supple.create(readFileSync(join(built, '../supple.wasm'))), made = supple.scene('cylinder', 0.3);
  const rows = (numbers, word) => Array.from(
    { length: numbers.length / 3 }, (_, i) => `${word}${[0, 1, 2].map((k) => numbers[3 * i + k]).join(' ')}`);
  const head = [
    'ply', 'format ascii 1.0', `element vertex ${made.vertexCount}`,
    ...['x', 'y', 'z'].map((k) => `property float ${k}`), `element face ${made.triangleCount}`,
    'property list uchar int vertex_indices', 'end_header'
  ];
  const text = [...head, ...rows(made.positions, ''), ...rows(made.triangles, '3 ')].join('\n');
  made.destroy();
  return Buffer.from(text + '\n');
}

// The skeleton builder by keyboard: adds, moves, selects and deletes a joint.
async function byKeyboard() {
  const joints = () => page.evaluate(() => studio.builder().joints), before = await joints();
  const press = async (text, key = 'Enter') =>
    (await page.locator('#panel').getByRole('button', { name: text, exact: true }).focus(), page.keyboard.press(key));
  await press('Add joint');
  const [added] = (await joints()).slice(-1);
  await page.locator('#canvas').focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('PageUp');
  const [moved] = (await joints()).slice(-1);
  assert.ok(Math.hypot(...moved.position.map((x, k) => x - added.position[k])) > 0.005);
  await press('joint_2', 'Space');
  assert.equal(await page.evaluate(() => studio.builder().joints[studio.builder().chosen].name), 'joint_2');
  await press(added.name, 'Space');
  await page.keyboard.press('Tab');
  await page.locator('#canvas').focus();
  await page.keyboard.press('Delete');
  assert.deepEqual(await joints(), before);
}

test('a skeleton built by clicks animates a mesh; undo removes joints', { skip }, async () => {
  await drop({ 'tube.ply': await bareMesh() });
  await page.waitForFunction(() => studio.builder());
  // Points along the longest side of the bounding box, on the page.
  const places = await page.evaluate(() => {
    const { positions } = studio.views()[0], { camera, canvas } = studio.viewport,
                      rect = canvas.getBoundingClientRect();
    const low = [Infinity, Infinity, Infinity], high = low.map((x) => -x);
    positions.forEach((x, i) => ((low[i % 3] = Math.min(low[i % 3], x)), (high[i % 3] = Math.max(high[i % 3], x))));
    const long = [0, 1, 2].reduce((a, b) => (high[b] - low[b] > high[a] - low[a] ? b : a));
    return [0.1, 0.4, 0.6, 0.9].map((t) => {
      const at = low.map((x, k) => (k === long ? x + t * (high[k] - x) : (x + high[k]) / 2));
      const p = camera.position.clone().set(...at).project(camera);
      return { at, x: rect.left + ((p.x + 1) / 2) * rect.width, y: rect.top + ((1 - p.y) / 2) * rect.height };
    });
  });
  const joints = () => page.evaluate(() => studio.builder().joints.map((joint) => joint.position));
  for (const { x, y } of places) await page.mouse.click(x, y);
  assert.equal((await joints()).length, 4);
  (await joints())
    .forEach((position, i) => assert.ok(Math.hypot(...position.map((x, k) => x - places[i].at[k])) < 0.05,
               `joint ${i} at ${position}, not at ${places[i].at}`));
  await page.keyboard.press('Control+z');
  assert.equal((await joints()).length, 3);
  await page.getByText('Undo').click();
  assert.equal((await joints()).length, 2);
  await page.keyboard.press('Control+Shift+z');
  assert.equal((await joints()).length, 3);
  await page.keyboard.press('Control+z');
  for (const { x, y } of places.slice(2)) await page.mouse.click(x, y);
  await byKeyboard();
  const rigged = await saved('Save rigged GLB', 'glb');
  assert.equal(readFileSync(rigged).toString('latin1', 0, 4), 'glTF');
  await page.getByText('Use this skeleton').click();
  await page.waitForFunction(() => !studio.builder() && studio.views()[0].method);
  if (!(await page.locator('#joint').isVisible())) await page.locator('summary', { hasText: 'Joints' }).click();
  await page.selectOption('#joint', { index: 3 });
  await moves(0.02, () => page.getByText('z +15°').click());
});

test('the page responds to input during a bind', { skip }, async () => {
  const busy = await visit('#character=arm&view=linear');
  await busy.evaluate(() => {
    globalThis.delays = [];
    const play = document.getElementById('play');
    play.addEventListener('click', (event) => {
      play.getBoundingClientRect(); // forces a layout
      globalThis.delays.push(
        { binding: Boolean(studio.views()[0].busyBinding), milliseconds: performance.now() - event.timeStamp });
    });
  });
  const { x, y, width, height } = await busy.locator('#play').boundingBox();
  let delays = [];
  for (let tries = 0; tries < 5 && !delays.some(({ milliseconds }) => milliseconds < 100);
       tries++) { // on a busy machine the clicks can be late
    await busy.selectOption('[data-role=method]', 'linear');
    await busy.waitForFunction(() => studio.views()[0].method === 'linear' && !studio.views()[0].busyBinding);
    await busy.selectOption('[data-role=method]', 'projective');
    for (let i = 0; i < 4; i++) await busy.mouse.click(x + width / 2, y + height / 2);
    await busy.waitForFunction((count) => globalThis.delays.length === count, 4 * (tries + 1));
    await busy.waitForFunction(() => studio.views()[0].method === 'projective');
    delays = (await busy.evaluate(() => globalThis.delays)).filter(({ binding }) => binding);
  }
  assert.ok(delays.length > 0, 'no click arrived during the bind');
  const best = Math.min(...delays.map(({ milliseconds }) => milliseconds)); // the machine may be busy
  assert.ok(best < 100, `response after ${best} ms`);
  await busy.context().close();
});

test('memory does not grow over a thousand frames', { skip }, async () => {
  const steady = await visit(SMALL + '&view=projective&play=0');
  const session = await steady.context().newCDPSession(steady);
  const used = async () => {
    await session.send('HeapProfiler.collectGarbage');
    const { usedSize, backingStorageSize = 0 } = await session.send('Runtime.getHeapUsage');
    return {
      page: usedSize + backingStorageSize,
      wasm: await steady.evaluate(async () => (await studio.views()[0].engine.call('memory')).bytes)
    };
  };
  const steps = (count) => steady.evaluate(async (n) => {
    const [view] = studio.views();
    for (let i = 0; i < n; i++)
      await view.step(
        { clip: 0, time: (i % 60) / 30, rotations: {}, seconds: 1 / 60, reset: false, measure: i % 10 === 0 });
  }, count);
  await steps(100);
  const early = await used();
  await steps(Number(process.env.STUDIO_FRAMES ?? 1000));
  const late = await used();
  assert.equal(late.wasm, early.wasm);
  assert.ok(late.page < early.page + 500000, `the page grew from ${early.page} to ${late.page} bytes`);
  await steady.context().close();
});

// Also with its Content-Security-Policy.
test('the page works when served by supple studio', { skip: skip || (!existsSync(NATIVE) && 'no native program') },
  async () => {
    const program = spawn(NATIVE, ['studio', '--no-open', '--folder', built]);
    const [line] = await once(program.stdout, 'data');
    const served = await visit(SMALL + '&view=linear', String(line).match(/http:\S+/)[0]);
    await served.waitForFunction(() => studio.state.frame > 5);
    program.kill('SIGINT');
    assert.deepEqual(await once(program, 'exit'), [0, null]);
    await served.context().close();
  });

test('no requests to other hosts and no page errors', { skip }, () => {
  assert.deepEqual(
    requests.filter((url) => !origins.some((at) => url.startsWith(at)) && !/^(blob|data):/.test(url)), []);
  assert.deepEqual(pageErrors, []);
});
