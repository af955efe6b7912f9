/** Resources of a process and its descendants: CPU seconds and resident memory, from /proc (proc(5)). */

import { readdirSync, readFileSync } from 'node:fs';

export interface Usage {
  readonly cpuSeconds: number;
  readonly residentMb: number;
}

const TICKS_PER_SECOND = 100;
const BYTES_PER_PAGE = 4096;

/** Usage of a process and all its descendants; shared memory counts once for each process that touched it. */
export function usageOf(pid: number): Usage {
  const children = new Map<number, number[]>();
  const usages = new Map<number, Usage>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = readStat(Number(name));
    if (stat === null) continue;
    children.set(stat.parent, [...(children.get(stat.parent) ?? []), Number(name)]);
    usages.set(Number(name), stat.usage);
  }
  return familyIn(children, pid).reduce(
    (sum, member) => ({
      cpuSeconds: sum.cpuSeconds + (usages.get(member)?.cpuSeconds ?? 0),
      residentMb: sum.residentMb + (usages.get(member)?.residentMb ?? 0),
    }),
    { cpuSeconds: 0, residentMb: 0 },
  );
}

/** A process and all its descendants. */
export function familyOf(pid: number): readonly number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    const stat = /^\d+$/.test(name) ? readStat(Number(name)) : null;
    if (stat !== null) children.set(stat.parent, [...(children.get(stat.parent) ?? []), Number(name)]);
  }
  return familyIn(children, pid);
}

function familyIn(children: ReadonlyMap<number, readonly number[]>, pid: number): readonly number[] {
  const family = [pid];
  for (const member of family) family.push(...(children.get(member) ?? []));
  return family;
}

/** Null if the process has ended. */
function readStat(pid: number): { readonly parent: number; readonly usage: Usage } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command, in parentheses, may contain spaces.
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const [, parent = 0] = fields;
    const ticks = (fields[11] ?? 0) + (fields[12] ?? 0) + (fields[13] ?? 0) + (fields[14] ?? 0);
    const residentMb = ((fields[21] ?? 0) * BYTES_PER_PAGE) / 1024 ** 2;
    return { parent, usage: { cpuSeconds: ticks / TICKS_PER_SECOND, residentMb } };
  } catch {
    return null;
  }
}
