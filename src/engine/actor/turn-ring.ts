/**
 * Whose turn it is: clients take turns, the hosts of a client take turns for its turns, and the endpoints of a host for
 * those. So ten thousand URLs of one client, on one host or on as many, weigh as much as the one URL of its neighbour.
 * The next turn costs what is passed over: clients, never their endpoints.
 */

/** Members are distinguished by identity. */
export interface Member {
  readonly client: string;
  readonly host: string;
}

/** The waiting of one client, by the kind of waiting: what may be given out differs from kind to kind. */
interface ClientQueue<T> {
  readonly client: string;
  /** Kind → host → members, each level in the order of its turns. */
  readonly hosts: readonly Map<string, Set<T>>[];
  /** The kind that goes first next time. */
  turn: number;
}

export class TurnRing<T extends Member> {
  readonly #kinds: number;
  readonly #clients = new Map<string, ClientQueue<T>>();
  readonly #kindOf = new Map<T, number>();

  /** Kinds are numbered from 0; `kinds`: how many there are. */
  constructor(kinds: number) {
    this.#kinds = kinds;
  }

  /** Joins at the end of the turns of its kind; null leaves. One that is there already keeps its place. */
  place(member: T, kind: number | null): void {
    const present = this.#kindOf.get(member) ?? null;
    if (present === kind) return;
    if (present !== null) this.#leave(member, present);
    if (kind !== null) this.#join(member, kind);
  }

  #join(member: T, kind: number): void {
    this.#kindOf.set(member, kind);
    let queue = this.#clients.get(member.client);
    if (queue === undefined) {
      queue = { client: member.client, hosts: Array.from({ length: this.#kinds }, () => new Map()), turn: 0 };
      this.#clients.set(member.client, queue);
    }
    const hosts = queue.hosts[kind] as Map<string, Set<T>>;
    const members = hosts.get(member.host);
    if (members === undefined) hosts.set(member.host, new Set([member]));
    else members.add(member);
  }

  #leave(member: T, kind: number): void {
    this.#kindOf.delete(member);
    const queue = this.#clients.get(member.client) as ClientQueue<T>;
    const hosts = queue.hosts[kind] as Map<string, Set<T>>;
    const members = hosts.get(member.host) as Set<T>;
    members.delete(member);
    if (members.size === 0) hosts.delete(member.host);
    if (queue.hosts.every(({ size }) => size === 0)) this.#clients.delete(member.client);
  }

  /**
   * Whose turn it is among those that `mayServe` lets pass, which then has the last turn of its host, of its client and
   * of all; null when there is nobody.
   */
  next(mayServe: (client: string, kind: number) => boolean): T | null {
    for (const queue of this.#clients.values()) {
      for (let step = 0; step < this.#kinds; step++) {
        const kind = (queue.turn + step) % this.#kinds;
        const hosts = queue.hosts[kind] as Map<string, Set<T>>;
        if (hosts.size === 0 || !mayServe(queue.client, kind)) continue;
        this.#clients.delete(queue.client);
        this.#clients.set(queue.client, queue);
        queue.turn = (kind + 1) % this.#kinds;
        return nextMember(hosts);
      }
    }
    return null;
  }
}

/** `hosts` is not empty, and neither is any of its sets. */
function nextMember<T>(hosts: Map<string, Set<T>>): T {
  const [host, members] = hosts.entries().next().value as [string, Set<T>];
  hosts.delete(host);
  hosts.set(host, members);
  const member = members.values().next().value as T;
  members.delete(member);
  members.add(member);
  return member;
}
