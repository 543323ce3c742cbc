import { defineConfig } from 'vite';

// Relative addresses: the built files may lie in any folder of any host.
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  build:
    {outDir: '../dist/studio', emptyOutDir: true, target: 'es2022', assetsInlineLimit: 0, chunkSizeWarningLimit: 700},
  worker: {format: 'es'}
});
