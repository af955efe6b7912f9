/** Numbers, money and times as the chosen language writes them. */

import { useValue } from '../observable.ts';
import { type Language, language } from './language.ts';

export interface Formats {
  number(value: number): string;
  euros(value: number | null): string;
  /** `10 mars, 08:15`, in the time of Paris, as in the sentences of the service. */
  moment(iso: string): string;
  /** A date (`2026-03-10`) is that day in every time zone. */
  day(iso: string): string;
  percent(value: number): string;
  /** `59:08`, `1:00:00` */
  clock(ms: number): string;
}

function clockOf(seconds: number): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor((seconds % 3_600) / 60)];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

function formatsOf(tag: string): Formats {
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
    number: (value) => number.format(value),
    euros: (value) => (value === null ? '–' : euros.format(value)),
    moment: (iso) => moment.format(new Date(iso)),
    day: (iso) => (iso.includes('T') ? day : date).format(new Date(iso)),
    percent: (value) => percent.format(value / 100),
    clock: (ms) => clockOf(Math.max(0, Math.ceil(ms / 1_000))),
  };
}

/** British English: days before months, 24 hours. */
const FORMATS: Readonly<Record<Language, Formats>> = { fr: formatsOf('fr'), en: formatsOf('en-GB') };

export function useFormats(): Formats {
  return FORMATS[useValue(language)];
}
