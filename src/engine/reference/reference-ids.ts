/**
 * Numbers for communes and departments. Their codes are the keys of the official lists but hold letters in Corsica;
 * the interface wants integers (specification, section 2.6). The mapping is fixed, so an id means the same place in
 * every release and on every machine.
 */

/** INSEE code as a number; Corsica's `2Axxx` is 120xxx and `2Bxxx` is 220xxx, both above every other code. */
export function cityIdOf(insee: string): number {
  if (insee.startsWith('2A')) return 120_000 + Number(insee.slice(2));
  if (insee.startsWith('2B')) return 220_000 + Number(insee.slice(2));
  return Number(insee);
}

/** The INSEE code that `cityIdOf` made `id` of. Whether such a commune exists is another question. */
export function inseeOf(id: number): string {
  if (id >= 220_000) return `2B${String(id - 220_000).padStart(3, '0')}`;
  if (id >= 120_000) return `2A${String(id - 120_000).padStart(3, '0')}`;
  return String(id).padStart(5, '0');
}

/** Department code as a number; `2A` is 201 and `2B` is 202, which no department has. */
export function departmentIdOf(code: string): number {
  if (code === '2A') return 201;
  if (code === '2B') return 202;
  return Number(code);
}
