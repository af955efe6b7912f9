/** Numbers, money and times as the chosen language writes them. */

function clockOf(seconds: number): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor((seconds % 3_600) / 60)];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

export function formatsOf(tag: string) {
  const number = new Intl.NumberFormat(tag, { maximumFractionDigits: 2 });
  const euros = new Intl.NumberFormat(tag, { style: 'currency', currency: 'EUR', maximumFractionDigits: 0 });
  const percent = new Intl.NumberFormat(tag, { style: 'percent', maximumFractionDigits: 1, signDisplay: 'exceptZero' });
  const timeZone = 'Europe/Paris';
  const toTheMinute = { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' } as const;
  const moment = new Intl.DateTimeFormat(tag, { ...toTheMinute, timeZone });
  const inFull = { day: 'numeric', month: 'short', year: 'numeric' } as const;
  const day = new Intl.DateTimeFormat(tag, { ...inFull, timeZone });
  const date = new Intl.DateTimeFormat(tag, { ...inFull, timeZone: 'UTC' });
  return {
    number: (value: number) => number.format(value),
    euros: (value: number | null) => (value === null ? '–' : euros.format(value)),
    /** `10 mars, 08:15`, in the time of Paris, as in the sentences of the service. */
    moment: (iso: string) => moment.format(new Date(iso)),
    /** A date (`2026-03-10`) is that day in every time zone. */
    day: (iso: string) => (iso.includes('T') ? day : date).format(new Date(iso)),
    percent: (value: number) => percent.format(value / 100),
    /** `59:08`, `1:00:00` */
    clock: (ms: number) => clockOf(Math.max(0, Math.ceil(ms / 1_000))),
  };
}
