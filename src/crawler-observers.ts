/** What intake reports of the crawlers' side, turned into metrics and log lines: refused messages, misspelt members. */

import { nearestName } from './domain/nearest-name.ts';
import type { IntakeDependencies } from './intake/intake.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

export type CrawlerObservers = Pick<IntakeDependencies, 'onUnknownMember' | 'onTold' | 'onUntold'>;

/** Crawlers can invent names; a label must not grow with them. */
const NAMES_MAX = 50;
const NAME = /^[\w.@:-]{1,80}$/;
const OTHER = 'other';

export function observeCrawlers(metrics: Pick<Metrics, 'rejections' | 'unknownMembers'>, log: Log): CrawlerObservers {
  const names = new Set<string>();

  /** True when `path` has a place of its own among the names. */
  function isNamed(path: string): boolean {
    return names.has(path) || (names.size < NAMES_MAX && NAME.test(path));
  }

  return {
    onUnknownMember({ path, name, known }) {
      const member = isNamed(path) ? path : OTHER;
      metrics.unknownMembers.inc({ member });
      if (member === OTHER || names.has(path)) return;
      names.add(path);
      log.warn({ member, nearest: nearestName(name, known) }, 'crawlers send a member that has no effect');
    },
    onTold: (count) => metrics.rejections.inc({ result: 'told' }, count),
    onUntold: (count) => metrics.rejections.inc({ result: 'untold' }, count),
  };
}
