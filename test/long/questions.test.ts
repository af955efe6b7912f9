/** The questions of `npm test`, for sixteen times as many searches among more properties. */

process.env.QUESTIONS_SEARCHES = '250';
process.env.QUESTIONS_ADVERTS = '2500';
await import('../integration/questions.test.ts');
