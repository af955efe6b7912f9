/** The rows of the table of commands that are about cells. What runs them is loaded when they are asked for. */

import { type Command, flag, valued } from '../command.ts';

const settings = async () => (await import('../../config.ts')).readConfig();
const interruption = async () => (await import('../stop-signal.ts')).interruptSignal();

export const CELL_COMMANDS: readonly Command[] = [
  {
    words: 'cells map',
    summary: 'write which cell each API key and link of an e-mail is of, for proxies',
    options: { output: valued('FILE', 'where to write it, at once; standard output without it') },
    details:
      'VIGIE_CELLS_FILE names the cells. config/nginx-cells.conf is a proxy that reads the map. Write it again when ' +
      'a key was made.',
    example: 'vigie cells map --output /etc/nginx/vigie-cells.map && nginx -s reload',
    async run({ text }) {
      const [{ readCells, withCells }, { writeMap }] = await Promise.all([import('./cells.ts'), import('./map.ts')]);
      await withCells(await readCells(await settings()), (cells) => writeMap(cells, text('output')));
    },
  },
  {
    words: 'cells fill',
    args: 'CELL',
    summary: 'give a new cell the properties of another one, before its first start',
    options: { from: valued('CELL', 'the cell to copy from, which goes on meanwhile; it must be said') },
    details:
      'Properties, their events, places and site categories are copied, all or nothing; the new cell takes adverts ' +
      'in from where the copy ended. Needs VIGIE_CELLS_FILE, and NATS_URL.',
    example: 'vigie cells fill west --from default',
    async run({ args: [name = ''], text }) {
      const { fillCell } = await import('./fill.ts');
      await fillCell(await settings(), { name, from: text('from') }, await interruption());
    },
  },
  {
    words: 'cells move',
    args: 'CLIENT',
    summary: 'move a client to another cell, with everything that it has',
    options: {
      to: valued('CELL', 'where to'),
      back: flag('undo a move that was broken off before it was decided'),
      map: valued('FILE', 'write the map for proxies as well, as `cells map --output` does'),
    },
    details:
      'CLIENT is a name or an id. Keys, links, searches and ids stay. Both cells take no adverts in for as long as ' +
      'the client is copied, and it is answered 503. Broken off at any point, the same command ends the move.',
    example: 'vigie cells move acme --to west --map /etc/nginx/vigie-cells.map && nginx -s reload',
    async run({ args: [client = ''], text, flag: isSet }) {
      const { moveClient } = await import('./move.ts');
      const options = { client, to: text('to'), isBack: isSet('back'), map: text('map') };
      await moveClient(await settings(), options, await interruption());
    },
  },
];
