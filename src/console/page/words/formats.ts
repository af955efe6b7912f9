/** Numbers, money and times as the chosen language writes them. */

import { useValue } from '../observable.ts';
import { type Language, language } from './language.ts';

export interface Formats {
  number(value: number): string;
  euros(value: number | null): string;
  /** `10 mars, 08:15` */
  moment(iso: string): string;
  day(iso: string): string;
  /** `il y a 3 minutes`, `dans 59 minutes` */
  distance(ms: number): string;
  percent(value: number): string;
  /** `59:08`, `1:00:00` */
  clock(ms: number): string;
}

const STEPS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
];

function clockOf(seconds: number): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor((seconds % 3_600) / 60)];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

function formatsOf(tag: string): Formats {
  const number = new Intl.NumberFormat(tag, { maximumFractionDigits: 2 });
  const euros = new Intl.NumberFormat(tag, { style: 'currency', currency: 'EUR', maximumFractionDigits: 0 });
  const percent = new Intl.NumberFormat(tag, { style: 'percent', maximumFractionDigits: 1, signDisplay: 'exceptZero' });
  const moment = new Intl.DateTimeFormat(tag, { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });
  const day = new Intl.DateTimeFormat(tag, { day: 'numeric', month: 'short', year: 'numeric' });
  const distance = new Intl.RelativeTimeFormat(tag, { numeric: 'auto' });
  return {
    number: (value) => number.format(value),
    euros: (value) => (value === null ? '–' : euros.format(value)),
    moment: (iso) => moment.format(new Date(iso)),
    day: (iso) => day.format(new Date(iso)),
    percent: (value) => percent.format(value / 100),
    clock: (ms) => clockOf(Math.max(0, Math.ceil(ms / 1_000))),
    distance(ms) {
      const [unit, length] = STEPS.find(([, step]) => Math.abs(ms) >= step) ?? ['second', 1_000];
      return distance.format(Math.round(ms / length), unit);
    },
  };
}

/** English as it is written on this side of the Channel: days before months, hours to 24. */
const FORMATS: Readonly<Record<Language, Formats>> = { fr: formatsOf('fr'), en: formatsOf('en-GB') };

export function useFormats(): Formats {
  return FORMATS[useValue(language)];
}
