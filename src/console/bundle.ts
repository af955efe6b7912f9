/**
 * The console's script and style. The build bundles them from `page/` with esbuild, and the compiled program reads them
 * from `built/`. A process that runs from the sources, as in tests, bundles them at the first request of the page.
 */

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

export interface ConsoleBundle {
  readonly script: string;
  readonly style: string;
}

const BUILT = new URL('built/', import.meta.url);

/** Rejects if the sources cannot be bundled, or if there is no build. */
export function consoleBundle(): Promise<ConsoleBundle> {
  return new URL(import.meta.url).pathname.endsWith('.ts') ? bundleSources() : readBuilt();
}

/** Imports esbuild only here, because an installed package does not have it. */
export async function bundleSources(): Promise<ConsoleBundle> {
  const { build, stop } = await import('esbuild');
  const page = (name: string): string => fileURLToPath(new URL(`page/${name}`, import.meta.url));
  const { outputFiles } = await build({
    entryPoints: [page('main.tsx'), page('console.css')],
    outdir: 'console',
    entryNames: '[name]',
    write: false,
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    // Leaflet's button images are not used.
    loader: { '.png': 'empty' },
    legalComments: 'eof',
    logLevel: 'silent',
  });
  // Otherwise esbuild's process would live as long as the daemon.
  await stop();
  const textOf = (name: string): string => outputFiles.find(({ path }) => path.endsWith(name))?.text ?? '';
  return { script: textOf('main.js'), style: textOf('console.css') };
}

async function readBuilt(): Promise<ConsoleBundle> {
  const [script = '', style = ''] = await Promise.all(
    ['console.js', 'console.css'].map((name) => readFile(new URL(name, BUILT), 'utf8')),
  );
  return { script, style };
}
