/** Builds the script of the admin page. Run it in the folder where the packages are installed. */

import { build } from 'esbuild';

await build({
  entryPoints: ['admin.jsx'],
  outfile: 'unpacked/admin.js',
  bundle: true,
  define: { 'process.env.NODE_ENV': '"production"' },
  logLevel: 'error',
});
