/**
 * Cells beside each other, each with some of the clients: a new one is filled, a client is moved, and proxies get a map.
 * Commands alone; what an instance knows of its own cell, and of a client that has moved away, is the engine's.
 */

import { interruptSignal } from '../../cli/stop-signal.ts';
import { readConfig } from '../../config.ts';
import type { Feature } from '../../feature.ts';

export const cells: Feature = {
  name: 'cells',
  commands: {
    async 'cells map'({ text }) {
      const { readCells, withCells } = await import('./cell-list.ts');
      const { writeMap } = await import('./proxy-map.ts');
      await withCells(await readCells(text('cells')), (listed) => writeMap(listed, text('output')));
    },
    async 'cells fill'({ args: [name = ''], text }) {
      const { fillCell } = await import('./fill.ts');
      await fillCell(readConfig(), { name, from: text('from'), cellsFile: text('cells') }, interruptSignal());
    },
    async 'cells move'({ args: [client = ''], text, flag }) {
      const { moveClient } = await import('./move.ts');
      const options = { client, to: text('to'), isBack: flag('back'), map: text('map'), cellsFile: text('cells') };
      await moveClient(readConfig(), options, interruptSignal());
    },
  },
};
