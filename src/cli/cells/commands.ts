/** The rows of the table of commands that are about cells. What runs them is loaded when they are asked for. */

import { type Command, flag, valued } from '../command.ts';

const settings = async () => (await import('../../config.ts')).readConfig();
const CELLS = valued('FILE', 'what names the cells, a line each: name and DATABASE_URL; it must be said');
const interruption = async () => (await import('../stop-signal.ts')).interruptSignal();

export const CELL_COMMANDS: readonly Command[] = [
  {
    words: 'cells map',
    summary: 'write which cell each API key and link of an e-mail is of, for proxies',
    options: { cells: CELLS, output: valued('FILE', 'where to write it, at once; standard output without it') },
    details: 'config/nginx-cells.conf is a proxy that reads the map. Write it again when a key was made.',
    example: 'vigie cells map --cells cells.txt --output /etc/nginx/vigie-cells.map && nginx -s reload',
    async run({ text }) {
      const [{ readCells, withCells }, { writeMap }] = await Promise.all([import('./cells.ts'), import('./map.ts')]);
      await withCells(await readCells(text('cells')), (cells) => writeMap(cells, text('output')));
    },
  },
  {
    words: 'cells fill',
    args: 'CELL',
    summary: 'give a new cell the properties of another one, before its first start',
    options: { cells: CELLS, from: valued('CELL', 'the cell to copy from, which goes on meanwhile; it must be said') },
    details:
      'Properties, their events, places and site categories are copied, all or nothing; the new cell takes adverts ' +
      'in from where the copy ended. Needs NATS_URL.',
    example: 'vigie cells fill west --from default --cells cells.txt',
    async run({ args: [name = ''], text }) {
      const { fillCell } = await import('./fill.ts');
      await fillCell(await settings(), { name, from: text('from'), cellsFile: text('cells') }, await interruption());
    },
  },
  {
    words: 'cells move',
    args: 'CLIENT',
    summary: 'move a client to another cell, with everything that it has',
    options: {
      cells: CELLS,
      to: valued('CELL', 'where to'),
      back: flag('undo a move that was broken off before it was decided'),
      map: valued('FILE', 'write the map for proxies as well, as `cells map --output` does'),
    },
    details:
      'CLIENT is a name or an id. Keys, links, searches and ids stay. Both cells take no adverts in for as long as ' +
      'the client is copied, and it is answered 503. Broken off at any point, the same command ends the move.',
    example: 'vigie cells move acme --to west --cells cells.txt --map /etc/nginx/vigie-cells.map && nginx -s reload',
    async run({ args: [client = ''], text, flag: isSet }) {
      const { moveClient } = await import('./move.ts');
      const options = { client, to: text('to'), isBack: isSet('back'), map: text('map'), cellsFile: text('cells') };
      await moveClient(await settings(), options, await interruption());
    },
  },
];
