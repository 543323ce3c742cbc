// Screenshots of the studio for the docs, to docs/pictures/: node web/studio/test/pictures.mjs [FOLDER [NAME.png]]
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Supple } from '../../src/supple.js';
import { browse, built, reason, root, serve } from './page.mjs';

if (reason) throw new Error(reason);
const folder = process.argv[2] ?? join(root, 'docs/pictures'), server = await serve(), browser = await browse();

async function picture(name, hash, { width = 1200, height = 760, colorScheme = 'light' }, act = async () => {}) {
  if (process.argv[3] && process.argv[3] !== name) return;
  const context = await browser.newContext({ viewport: { width, height }, colorScheme }),
        page = await context.newPage();
  await page.goto(server.url + hash);
  await page.waitForFunction(
    () => studio.views().length > 0 && studio.views().every((view) => view.method), null, { timeout: 90000 });
  await page.waitForFunction(
    () => studio.state.frame > 0 && studio.views().every((view) => !view.busy), null, { timeout: 90000 });
  await act(page);
  await page.waitForFunction(() => document.getElementById('message').textContent === '');
  await page.waitForTimeout(500);
  await page.screenshot({ path: join(folder, name) });
  await context.close();
}

// Plays some frames and pauses.
const play = (frames) => async (page) => {
  await page.waitForFunction((count) => studio.state.frame >= count, frames);
  await page.locator('#play').click();
};

async function bareHuman() {
  const supple = await Supple.create(readFileSync(join(built, '../supple.wasm'))), human = supple.scene('human', 0.3);
  const rows = (numbers, word, shift) => Array.from(
    { length: numbers.length / 3 }, (_, i) => `${word} ${[0, 1, 2].map((k) => numbers[3 * i + k] + shift).join(' ')}`);
  return Buffer.from([...rows(human.positions, 'v', 0), ...rows(human.triangles, 'f', 1)].join('\n') + '\n');
}

// Joints placed by clicks: name and position; each row starts with the parent joint.
const SKELETON = [
  [null, ['hips', 0, 0.955, 0], ['spine', 0, 1.145, -0.02], ['neck', 0, 1.478, -0.03], ['head', 0, 1.6, -0.01]],
  ['neck', ['shoulder_l', 0.18, 1.398, -0.016], ['elbow_l', 0.385, 1.193, -0.016], ['wrist_l', 0.558, 1.02, -0.016]],
  ['hips', ['leg_l', 0.1, 0.86, 0], ['knee_l', 0.111, 0.495, 0], ['ankle_l', 0.13, 0.085, -0.012]],
];

async function build(page) {
  await page.locator('#open').setInputFiles({ name: 'human.obj', mimeType: 'text/plain', buffer: await bareHuman() });
  await page.waitForFunction(() => studio.builder());
  for (const [parent, ...joints] of SKELETON) {
    if (parent) await page.getByRole('button', { name: parent, exact: true }).click();
    for (const [name, ...position] of joints) {
      const at = await page.evaluate((world) => {
        const { camera, canvas } = studio.viewport, rect = canvas.getBoundingClientRect(),
                               p = camera.position.clone().set(...world).project(camera);
        return [rect.left + ((p.x + 1) / 2) * rect.width, rect.top + ((1 - p.y) / 2) * rect.height];
      }, position);
      await page.mouse.click(...at);
      await page.getByLabel('Name').fill(name);
      await page.keyboard.press('Tab');
    }
  }
  await page.getByText('Mirror left and right').click();
}

// Page coordinates of a joint.
function jointAt(page, name) {
  return page.evaluate((wanted) => {
    const { viewport } = studio, [view] = studio.views(), rect = viewport.canvas.getBoundingClientRect();
    const { x, y } = viewport.onScreen(viewport.camera.position.clone().set(...view.jointPosition(
                                         view.info.nodes.findIndex((node) => node.name === wanted))),
      0);
    return [rect.left + x, rect.top + y];
  }, name);
}

// Checks display options and sets the cut position.
async function show(page, names, at) {
  for (const name of names) await page.locator(`#show-${name}`).check();
  if (at) await page.locator('#cut-at').fill(String(at));
  await page.waitForTimeout(1500);
}

async function paint(page) {
  const [x, y] = await jointAt(page, 'chest');
  await page.getByText('Paint', { exact: true }).click();
  await page.locator('#paint-on').check();
  await page.selectOption('#paint-map', 'rigid');
  await page.mouse.move(x - 12, y - 30);
  await page.mouse.down();
  await page.mouse.move(x + 12, y + 30, { steps: 6 });
  await page.mouse.up();
  await page.locator('#paint-erase').scrollIntoViewIfNeeded();
}

const STANDING = '#character=human&clip=walk&time=0.4&play=0';
await picture('studio_bones.png', STANDING, {}, async (page) => {
  await show(page, ['bones', 'skeleton']);
  await page.mouse.click(...(await jointAt(page, 'left_lower_arm')));
});
await picture('studio_flesh.png', '#character=human&clip=arms_crossed&time=1.2&play=0', { colorScheme: 'dark' },
  (page) => show(page, ['tissue'], 0.38));
await picture('studio_field.png', '#character=hand&play=0&time=1&view=implicit', {}, (page) => show(page, ['field']));
await picture('studio_paint.png', STANDING, {}, paint);
await picture('studio.png', '#character=human&clip=walk', {}, play(40));
await picture('studio_compare.png', '#character=arm&time=1&view=linear&view=dualquat&view=position&view=projective', {},
  async (page) => {
    await page.selectOption('#color-mode', 'stretch');
    await play(20)(page);
    await page.getByText('Fit view').click();
  });
await picture('studio_builder.png', '#character=cylinder&view=linear&resolution=0.3', {}, build);
await picture('studio_narrow.png', '#character=human&clip=walk&time=0.4&play=0&view=projective',
  { width: 390, height: 844, colorScheme: 'dark' });
await browser.close();
server.close();
