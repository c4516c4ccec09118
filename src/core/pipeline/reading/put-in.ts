import { NUMBER_KEYS, SWITCH_KEYS } from '../file-schema.ts';
import { expandVariables, isReference, type Variables } from './variables.ts';

interface Expanding {
  readonly variables: Variables;
  /** Names of those that have no value, added to. */
  readonly missing: Set<string>;
}

/** Data with the variables of its texts put in, but for commands, where bash puts them in so that they cannot become code, and for what is not about steps. */
export function putIn(data: unknown, expanding: Expanding): unknown {
  if (Array.isArray(data)) return data.map((item) => putIn(item, expanding));
  if (typeof data !== 'object' || data === null) return typeof data === 'string' ? textOf(data, expanding) : data;
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => {
      if (key === 'command' || key === 'signals') return [key, value as unknown];
      return [key, typeof value === 'string' ? valueOf(key, value, expanding) : putIn(value, expanding)];
    }),
  );
}

/** Where a number or a switch is wanted, a variable that is the whole value is read as one. */
function valueOf(key: string, given: string, expanding: Expanding): unknown {
  const text = textOf(given, expanding);
  if (!isReference(given)) return text;
  if (NUMBER_KEYS.includes(key) && /^-?\d+(?:\.\d+)?$/.test(text)) return Number(text);
  return SWITCH_KEYS.includes(key) && (text === 'true' || text === 'false') ? text === 'true' : text;
}

function textOf(given: string, { variables, missing }: Expanding): string {
  const { text, missing: without } = expandVariables(given, variables);
  for (const name of without) missing.add(name);
  return text;
}
