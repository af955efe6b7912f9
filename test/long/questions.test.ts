/** The questions of `npm test`, for four times as many searches. */

process.env.QUESTIONS_SEARCHES = '250';
await import('../integration/questions.test.ts');
