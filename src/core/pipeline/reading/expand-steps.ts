import { NUMBER_KEYS, SWITCH_KEYS } from '../file-schema.ts';
import { expandVariables, isReference, type StepVariables } from './command-variables.ts';

interface Expanding {
  readonly variables: StepVariables;
  /** Collects the names of variables without a value. */
  readonly missing: Set<string>;
}

/**
 * Replaces variables in all texts except in commands, where bash expands them safely, and in `signals`, which does not
 * concern steps.
 */
export function expandStepTexts(data: unknown, expanding: Expanding): unknown {
  if (Array.isArray(data)) return data.map((item) => expandStepTexts(item, expanding));
  if (typeof data !== 'object' || data === null) return typeof data === 'string' ? expandText(data, expanding) : data;
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => {
      if (key === 'command' || key === 'signals') return [key, value as unknown];
      return [key, typeof value === 'string' ? expandValue(key, value, expanding) : expandStepTexts(value, expanding)];
    }),
  );
}

/** Converts a variable that is the whole value to a number or boolean if the key requires one. */
function expandValue(key: string, given: string, expanding: Expanding): unknown {
  const text = expandText(given, expanding);
  if (!isReference(given)) return text;
  if (NUMBER_KEYS.includes(key) && /^-?\d+(?:\.\d+)?$/.test(text)) return Number(text);
  return SWITCH_KEYS.includes(key) && (text === 'true' || text === 'false') ? text === 'true' : text;
}

function expandText(given: string, { variables, missing }: Expanding): string {
  const { text, missing: without } = expandVariables(given, variables);
  for (const name of without) missing.add(name);
  return text;
}
