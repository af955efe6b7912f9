/**
 * `vigie serve` with configuration values that have no setting, for tests that would otherwise take minutes
 * (tuning.ts).
 */

import { runProgram } from '../../src/cli/program.ts';
import { serve } from '../../src/cli/serve.ts';
import { type Config, readConfig } from '../../src/config.ts';
import { TUNING } from './tuning.ts';

const { [TUNING]: values = '{}' } = process.env;
const run = (): Promise<void> => serve({ ...readConfig(), ...(JSON.parse(values) as Partial<Config>) });
const command = { words: 'serve', summary: 'run the daemon', example: 'serve', run };
await runProgram({ commands: [command], groups: [] }, ['serve']);
