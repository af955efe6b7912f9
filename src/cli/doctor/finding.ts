/** The findings of `vigie doctor`, one line each. */

import { bytesText, readDiskSpace } from '../../local/disk-space.ts';
import { print, type Style, styled } from '../terminal.ts';

/** `unknown` means that the command cannot check this from where it runs. */
export type Level = 'fine' | 'look at' | 'wrong' | 'unknown';

export interface Finding {
  readonly level: Level;
  /** The subject, for example `PostgreSQL`. */
  readonly about: string;
  readonly text: string;
  /** The remedy; empty if there is none, or if the text contains it. */
  readonly remedy: string;
}

/** Creates findings about one subject. */
export function findingsAbout(about: string) {
  const of =
    (level: Level) =>
    (text: string, remedy = ''): Finding => ({ level, about, text, remedy });
  return { fine: of('fine'), lookAt: of('look at'), wrong: of('wrong'), unknown: of('unknown') };
}

const STYLES: Readonly<Record<Level, Style>> = { fine: 'green', 'look at': 'yellow', wrong: 'red', unknown: 'dim' };
const LEVEL_WIDTH = 'look at'.length;

export function printFindings(findings: readonly Finding[]): void {
  const width = Math.max(...findings.map(({ about }) => about.length));
  for (const { level, about, text, remedy } of findings) {
    const words = remedy === '' ? text : `${text} ${remedy}`;
    print(
      `${styled(STYLES[level], level.padEnd(LEVEL_WIDTH))}  ${about.padEnd(width)}  ${words.replaceAll('\n', ' ')}`,
    );
  }
}

/** Reports the free disk space of an embedded server. `embeddedIn` is its directory. */
export async function diskFinding(about: string, embeddedIn: string): Promise<Finding> {
  const { freeBytes, isLow } = await readDiskSpace(embeddedIn);
  const text = `Its disk has ${bytesText(freeBytes)} free.`;
  return isLow ? findingsAbout(about).wrong(text, 'Free some space.') : findingsAbout(about).fine(text);
}
