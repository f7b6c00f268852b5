import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig, type Plugin } from 'vite';

// The binary has each file as it is (for the report in one file) and compressed (for the browser).
function compressed(): Plugin {
  let directory = '';
  return {
    name: 'compressed',
    apply: 'build',
    configResolved(config) {
      directory = config.build.outDir;
    },
    closeBundle() {
      for (const name of readdirSync(directory)) {
        if (name.endsWith('.gz')) continue;
        const path = join(directory, name);
        writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }));
      }
    },
  };
}

const server = process.env.WEFT_SERVER ?? 'http://127.0.0.1:8420';

// `npm run dev` shows the page of the sources with the data of a `weft serve` on its usual port.
export default defineConfig({
  plugins: [svelte(), compressed()],
  base: '/',
  server: { proxy: { '/api': { target: server, changeOrigin: true, headers: { origin: server } } } },
  build: {
    target: 'es2022',
    emptyOutDir: true,
    cssCodeSplit: false,
    assetsInlineLimit: 100_000,
    rollupOptions: {
      output: {
        inlineDynamicImports: true,
        entryFileNames: 'app.js',
        assetFileNames: 'app[extname]',
      },
    },
  },
});
