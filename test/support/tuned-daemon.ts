/** `vigie serve` with values that no setting changes, for what would take a test minutes otherwise (tuning.ts). */

import { serve } from '../../src/cli/serve.ts';
import { type Config, readConfig } from '../../src/config.ts';
import { TUNING } from './tuning.ts';

const { [TUNING]: values = '{}' } = process.env;
await serve({ ...readConfig(), ...(JSON.parse(values) as Partial<Config>) });
