/** The rows of the table of commands that are about cells. */

import { type Command, flag, valued } from './command.ts';
import { runOfFeature } from './feature-command.ts';

const CELLS = valued('FILE', 'what names the cells, a line each: name and DATABASE_URL; it must be said');

export const CELL_COMMANDS: readonly Command[] = [
  {
    words: 'cells map',
    summary: 'write which cell each API key and link of an e-mail is of, for proxies',
    options: { cells: CELLS, output: valued('FILE', 'where to write it, at once; standard output without it') },
    details: 'config/nginx-cells.conf is a proxy that reads the map. Write it again when a key was made.',
    example: 'vigie cells map --cells cells.txt --output /etc/nginx/vigie-cells.map && nginx -s reload',
    run: (input) => runOfFeature('cells map', input),
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
    run: (input) => runOfFeature('cells fill', input),
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
    run: (input) => runOfFeature('cells move', input),
  },
];
