/**
 * A set of words as a minimal automaton: words that begin alike share their first arcs, words that end alike their
 * last, so that four hundred thousand French forms fit in a file of a megabyte that is read as it lies. Built from
 * sorted words in one pass (J. Daciuk, S. Mihov, B. Watson, R. Watson, "Incremental Construction of Minimal Acyclic
 * Finite-State Automata", 2000).
 */

/**
 * An arc is one 32-bit integer: the code of its letter, whether it is the last of its node, whether a word ends behind
 * it, and the position of the first arc of the node behind it, 0 where there is none.
 */
const LETTER = 0xff;
const IS_LAST = 0x100;
const ENDS_WORD = 0x200;
const TARGET_SHIFT = 10;
const TARGETS_MAX = 2 ** (32 - TARGET_SHIFT);

type WordGraph = Uint32Array;

/** Where the letters of `text` lead from the node at `from` (0 is the root); 0 where no word goes on, or goes so. */
export function follow(graph: WordGraph, from: number, text: string): number {
  let node = from;
  for (let i = 0; i < text.length; i++) {
    node = targetOf(graph, node, text.charCodeAt(i));
    if (node === 0) return 0;
  }
  return node;
}

function targetOf(graph: WordGraph, node: number, letter: number): number {
  for (let at = node; ; at++) {
    const arc = graph[at] as number;
    if ((arc & LETTER) === letter) return arc >>> TARGET_SHIFT;
    if ((arc & IS_LAST) !== 0) return 0;
  }
}

/** What may follow the prefix that `follow` has led to `node`, in order. */
export function endingsFrom(graph: WordGraph, node: number, beginning = ''): readonly string[] {
  const endings: string[] = [];
  for (let at = node; ; at++) {
    const arc = graph[at] as number;
    const ending = beginning + String.fromCharCode(arc & LETTER);
    if ((arc & ENDS_WORD) !== 0) endings.push(ending);
    if (arc >>> TARGET_SHIFT !== 0) endings.push(...endingsFrom(graph, arc >>> TARGET_SHIFT, ending));
    if ((arc & IS_LAST) !== 0) return endings;
  }
}

interface Node {
  readonly arcs: Map<string, Node>;
  endsWord: boolean;
  /** Position of its first arc, once it is laid out. */
  position: number;
  /** The same for nodes with the same continuations; set once the node is complete. */
  id: number;
}

/** `words`: of ASCII letters, sorted by code, each once. Throws `RangeError` for more than four million arcs. */
export function buildWordGraph(words: readonly string[]): WordGraph {
  const root = newNode();
  const known = new Map<string, Node>();
  let path: Node[] = [root];
  let last = '';
  for (const word of words) {
    let shared = 0;
    while (shared < last.length && last[shared] === word[shared]) shared += 1;
    mergeTail(path, last, shared, known);
    path = path.slice(0, shared + 1);
    for (const letter of word.slice(shared)) {
      const next = newNode();
      (path.at(-1) as Node).arcs.set(letter, next);
      path.push(next);
    }
    (path.at(-1) as Node).endsWord = true;
    last = word;
  }
  mergeTail(path, last, 0, known);
  return layOut(root);
}

function newNode(): Node {
  return { arcs: new Map(), endsWord: false, position: 0, id: 0 };
}

/** Nodes beyond `kept` letters are complete: each is replaced by a known one with the same continuations. */
function mergeTail(path: readonly Node[], word: string, kept: number, known: Map<string, Node>): void {
  for (let depth = word.length; depth > kept; depth--) {
    const node = path[depth] as Node;
    const key = `${Number(node.endsWord)}${[...node.arcs].map(([letter, { id }]) => letter + id).join()}`;
    const same = known.get(key);
    if (same === undefined) {
      node.id = known.size + 1;
      known.set(key, node);
    } else {
      (path[depth - 1] as Node).arcs.set(word[depth - 1] as string, same);
    }
  }
}

function layOut(root: Node): WordGraph {
  const nodes = [root];
  const met = new Set(nodes);
  let end = root.arcs.size;
  for (const node of nodes) {
    for (const next of node.arcs.values()) {
      if (met.has(next) || next.arcs.size === 0) continue;
      met.add(next);
      nodes.push(next);
      next.position = end;
      end += next.arcs.size;
    }
  }
  if (end > TARGETS_MAX) throw new RangeError(`a word graph of ${end} arcs`);
  return Uint32Array.from(nodes.flatMap(({ arcs }) => arcsOf(arcs)));
}

function arcsOf(arcs: ReadonlyMap<string, Node>): number[] {
  return [...arcs].map(
    ([letter, { endsWord, position }], i) =>
      ((position << TARGET_SHIFT) |
        (endsWord ? ENDS_WORD : 0) |
        (i === arcs.size - 1 ? IS_LAST : 0) |
        letter.charCodeAt(0)) >>>
      0,
  );
}

/** Behind the form. */
export const LEMMAS = '/';
/** The integers that follow are little-endian, as is every platform that Node.js runs on here. */
const NOTICE_END = 0;
const INTEGER_BYTES = 4;
const NONE_GO = 'A'.charCodeAt(0);

export function encodeLemma(form: string, lemma: string, homograph: number): string {
  let kept = 0;
  while (kept < form.length && form[kept] === lemma[kept]) kept += 1;
  const gone = String.fromCharCode(NONE_GO + form.length - kept);
  return form + LEMMAS + gone + lemma.slice(kept) + '.'.repeat(homograph);
}

/** `code`: what follows `LEMMAS`. Lemmas that are not the same get different names. */
export function decodeLemma(form: string, code: string): string {
  return form.slice(0, form.length - (code.charCodeAt(0) - NONE_GO)) + code.slice(1);
}

/** `notice`: ASCII. */
export function writeGraphFile(notice: string, graph: WordGraph): Buffer {
  const length = Math.ceil((notice.length + 1) / INTEGER_BYTES) * INTEGER_BYTES;
  const head = Buffer.alloc(length, NOTICE_END);
  head.write(notice, 'latin1');
  return Buffer.concat([head, new Uint8Array(graph.buffer, graph.byteOffset, graph.byteLength)]);
}

export function readGraphFile(file: Uint8Array): WordGraph {
  const start = Math.ceil((file.indexOf(NOTICE_END) + 1) / INTEGER_BYTES) * INTEGER_BYTES;
  return new Uint32Array(Uint8Array.from(file.subarray(start)).buffer);
}
