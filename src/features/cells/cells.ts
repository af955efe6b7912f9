/**
 * Several cells, each with some of the clients: commands fill a new one, move a client, and write a map for proxies.
 * The engine knows an instance's own cell, and the clients that have moved away.
 */

import { interruptSignal } from '../../cli/terminal.ts';
import { readConfig } from '../../config.ts';
import type { Feature } from '../../feature.ts';

export const cells: Feature = {
  name: 'cells',
  commands: {
    async 'cells map'({ text }) {
      const { readCells, withCells, writeMap } = await import('./cell-list.ts');
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
