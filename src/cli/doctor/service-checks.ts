/** The program, its settings, and the daemon that runs on this machine. */

import type { Config } from '../../config.ts';
import { assertServable } from '../../config-conflicts.ts';
import { unsupportedNode } from '../../node-support.ts';
import { VERSION } from '../../version.ts';
import { reasonOf } from '../terminal.ts';
import { type Finding, findingsAbout } from './finding.ts';

const ANSWER_MAX_MS = 5_000;

export function checkProgram(config: Config, now: Date): readonly Finding[] {
  const { fine, lookAt, wrong } = findingsAbout('settings');
  const about = findingsAbout('version');
  const unsupported = unsupportedNode(process.versions.node, now);
  const problems = problemsOf(() => assertServable(config)).map((problem) => wrong(problem));
  const unknown = config.unknownNames.map((name) => lookAt(`${name} is no setting`, 'config/default.env lists them'));
  return [
    unsupported === null
      ? about.fine(`Vigie ${VERSION}, Node.js ${process.versions.node}`)
      : about.lookAt(`Vigie ${VERSION}; ${unsupported}`),
    ...(problems.length + unknown.length === 0 ? [fine('they go together')] : [...problems, ...unknown]),
  ];
}

/** One each, of a `ConfigError`. */
export function problemsOf(work: () => unknown): readonly string[] {
  try {
    work();
    return [];
  } catch (error) {
    if ((error as { code?: string }).code !== 'CONFIG_INVALID') throw error;
    return (error as Error).message
      .split('\n')
      .slice(1)
      .map((line) => line.trim());
  }
}

interface Readiness {
  readonly checks: Readonly<Record<string, { readonly status: string; readonly reason?: string }>>;
}

export async function checkDaemon({ operations: { host, port } }: Config): Promise<readonly Finding[]> {
  const { fine, lookAt, wrong, unknown } = findingsAbout('service');
  const named = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  const url = `http://${named.includes(':') ? `[${named}]` : named}:${port}/readyz`;
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MAX_MS) });
    const { checks } = (await answer.json()) as Readiness;
    const findings = Object.entries(checks).flatMap(([name, { status, reason = '' }]) => {
      if (status === 'ok') return [];
      return [(status === 'failed' ? wrong : lookAt)(`${name}: ${reason}`)];
    });
    return findings.length === 0 ? [fine(`${url}: ready`)] : findings;
  } catch (error) {
    if (error instanceof SyntaxError) return [wrong(`${url} is another program’s`, 'correct VIGIE_OPERATIONS_ADDRESS')];
    const reason = reasonOf(((error as Error).cause as Error | undefined) ?? (error as Error));
    return [unknown(`no daemon answers at ${url} (${reason})`, 'start it, or ask where it runs')];
  }
}
