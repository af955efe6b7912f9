/** Reads the panels of `config/grafana`. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from './checkout.ts';

interface Panel {
  readonly description?: string;
  readonly targets?: readonly { readonly expr: string }[];
  readonly fieldConfig?: { readonly defaults: { readonly thresholds?: { readonly steps: readonly unknown[] } } };
}

export async function readPanels(name: string): Promise<readonly Panel[]> {
  const text = await readFile(join(ROOT, 'config/grafana', name), 'utf8');
  return (JSON.parse(text) as { panels: Panel[] }).panels;
}
