/** The tests of queries of `npm test`, with many more searches and properties. */

process.env.QUESTIONS_SEARCHES = '250';
process.env.QUESTIONS_ADVERTS = '2500';
await import('../integration/questions.test.ts');
