/**
 * The command line and nothing else. A command loads only its own modules: the whole daemon would treble the time of
 * `vigie admin`.
 */

import { COMMANDS } from './cli/commands.ts';
import { runProgram } from './cli/program.ts';

await runProgram(COMMANDS, process.argv.slice(2));
