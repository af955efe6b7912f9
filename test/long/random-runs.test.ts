/** The tests of `npm test` with random cases, with all of their cases. */

process.env.TEST_RUNS = 'all';
// Imported first, because it opens servers before its tests. If the other tests ended earlier, the file would end too.
await import('../integration/found-properties.test.ts');
await import('../change-histories.test.ts');
await import('../commune-outlines.test.ts');
await import('../explanations.test.ts');
await import('../intake-contract.test.ts');
await import('../lenient-words.test.ts');
await import('../matching-kernel.test.ts');
await import('../pair-histories.test.ts');
await import('../polygon-shapes.test.ts');
await import('../replayed-histories.test.ts');
await import('../search-index.test.ts');
