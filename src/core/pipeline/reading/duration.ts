import { HOUR_MS, MINUTE_MS } from '../../time.ts';

/** `10m`, `1h30m`, `1.5h`, `500ms`; a sign is read, so that a negative one can be named as such. */
const DURATION_PATTERN = /^[+-]?(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+$|^0$/;

const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: MINUTE_MS,
  h: HOUR_MS,
};

/** A duration in whole ms, from seconds or a text such as `1h30m`; null: it is none. May be negative. */
export function parseDuration(value: string | number): number | null {
  if (typeof value === 'number') return Number.isFinite(value) ? Math.round(value * 1000) : null;
  const text = value.trim();
  if (/^[+-]?\d+(?:\.\d+)?$/.test(text)) return Math.round(Number(text) * 1000);
  if (!DURATION_PATTERN.test(text)) return null;
  const sum = [...text.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g)].reduce(
    (total, [, amount, unit = '']) => total + Number(amount) * (UNIT_MS[unit] ?? 0),
    0,
  );
  return Math.round(text.startsWith('-') ? -sum : sum);
}
