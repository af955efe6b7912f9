/** When e-mails of a day or a week are due, as SQL (decisions, section 12). */

const MAIL_HOUR = 7;

/** The first seven o'clock in Paris after the timestamp `at`, of any day or of a Monday; null for instant e-mails. */
export function morningAfter(frequency: string, at: string): string {
  return `case ${frequency} when 'daily' then ${nextMorning('day', at)} when 'weekly' then ${nextMorning('week', at)} end`;
}

function nextMorning(unit: 'day' | 'week', at: string): string {
  const hour = `interval '${MAIL_HOUR} hours'`;
  const begun = `date_trunc('${unit}', (${at} at time zone 'Europe/Paris') - ${hour})`;
  return `(${begun} + interval '1 ${unit}' + ${hour}) at time zone 'Europe/Paris'`;
}
