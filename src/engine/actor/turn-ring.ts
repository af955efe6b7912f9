/**
 * Round-robin on three levels. Clients take turns, the hosts of a client share its turns, and the members of a host
 * share the turns of the host. A client with ten thousand members, on one host or many, gets as many turns as a client
 * with one member. The cost of a turn depends on the number of skipped clients, not on their members.
 */

/** An endpoint or a request, for example. Members are distinguished by identity. */
export interface Member {
  readonly client: string;
  readonly host: string;
}

/** The members of one client, by kind. `next` can skip a kind. */
interface ClientQueue<T> {
  readonly client: string;
  /** Kind → host → members. Hosts and members are in the order of their turns. */
  readonly hosts: readonly Map<string, Set<T>>[];
  /** The kind that is served first at the client's next turn. */
  turn: number;
}

export class TurnRing<T extends Member> {
  readonly #kinds: number;
  readonly #clients = new Map<string, ClientQueue<T>>();
  readonly #kindOf = new Map<T, number>();

  /** `kinds` is the number of kinds. Kinds are numbered from 0. */
  constructor(kinds: number) {
    this.#kinds = kinds;
  }

  get isEmpty(): boolean {
    return this.#clients.size === 0;
  }

  /** Moves the member to the end of its host's queue of `kind`, unless it is there. Removes it if `kind` is null. */
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
   * The next member for whose client and kind `mayServe` returns true; null if there is none. The member moves to the
   * end of its host's queue, and the host to the end of its client's queue. The client moves behind all other clients.
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

/** Neither `hosts` nor any of its sets is empty. */
function nextMember<T>(hosts: Map<string, Set<T>>): T {
  const [host, members] = hosts.entries().next().value as [string, Set<T>];
  hosts.delete(host);
  hosts.set(host, members);
  const member = members.values().next().value as T;
  members.delete(member);
  members.add(member);
  return member;
}
