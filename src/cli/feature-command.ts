/** Commands of features, whose code is loaded when one of them is asked for: it would slow down every other one. */

import { type Input, UsageError } from './command.ts';

export async function runOfFeature(words: string, input: Input): Promise<void> {
  const { FEATURES } = await import('../features.ts');
  const run = FEATURES.map(({ commands }) => commands?.[words]).find((found) => found !== undefined);
  if (run === undefined) throw new UsageError(`this program is without ${words}`);
  await run(input);
}
