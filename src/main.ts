/**
 * The command line and nothing else. A command loads its own modules alone: the whole daemon would treble the time that
 * `vigie admin` takes.
 */

import { COMMANDS } from './cli/commands.ts';
import { runProgram } from './cli/program.ts';

await runProgram(COMMANDS, process.argv.slice(2));
