#!/usr/bin/env -S node --max-semi-space-size=64
/**
 * Only starts the command line. A command loads only its own modules, because loading the whole daemon would triple the
 * time of `vigie admin`.
 */

import { VERSION } from './version.ts';

const args = process.argv.slice(2);
if (args[0] === '--version') process.stdout.write(`${VERSION}\n`);
else {
  const [{ COMMANDS }, { runProgram }] = await Promise.all([import('./cli/commands.ts'), import('./cli/program.ts')]);
  await runProgram(COMMANDS, args);
}
