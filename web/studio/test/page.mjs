// page.mjs - a browser and a local server for tests of the built page.
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../..', import.meta.url));
export const built = join(root, 'web/dist/studio');
const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync);
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm' };

// Reason to skip the tests, or false.
export const reason = !chromium                                 ? 'Chromium is not installed'
  : !existsSync(join(built, 'index.html'))                      ? 'the studio is not built'
  : !existsSync(join(root, 'web/node_modules/playwright-core')) ? 'npm ci was not run in web'
                                                                : false;

export async function serve() {
  const asked = [];
  const server = createServer(async (request, response) => {
    const path = normalize(new URL(request.url, 'http://x').pathname).replace(/^\/$/, '/index.html');
    asked.push(path);
    const bytes = await readFile(join(built, path)).catch(() => null);
    response.writeHead(bytes ? 200 : 404, { 'content-type': TYPES[extname(path)] ?? 'application/octet-stream' });
    response.end(bytes);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${server.address().port}/`, asked, close: () => server.close() };
}

export async function browse() {
  const { chromium: launcher } = await import('playwright-core');
  return launcher.launch({
    executablePath: chromium,
    args: [
      '--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync', '--use-gl=angle', '--use-angle=swiftshader'
    ],
  });
}
