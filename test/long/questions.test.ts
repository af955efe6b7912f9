/** The tests of queries of `npm test`, with sixteen times as many searches and more properties. */

process.env.QUESTIONS_SEARCHES = '250';
process.env.QUESTIONS_ADVERTS = '2500';
await import('../integration/questions.test.ts');
