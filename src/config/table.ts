import type { z } from 'zod';
import type { Prices } from '../core/spending/prices.ts';

/** An input: its name in action.yml, and the form of its text, which parses into the value of a setting. */
export interface Input<Value> {
  readonly name: string;
  readonly form: z.ZodType<Value>;
}

/** A row for each setting, nested as the settings are. */
export type InputTable<Settings> = {
  readonly [Field in keyof Settings]: Settings[Field] extends Leaf
    ? Input<Settings[Field]>
    : InputTable<Settings[Field]>;
};

/** Those settings that were given. */
export type GivenSettings<Settings> = {
  readonly [Field in keyof Settings]?: Settings[Field] extends Leaf ? Settings[Field] : GivenSettings<Settings[Field]>;
};

/** A union of ours, told apart by `kind`, is one value, and so is a list by names. */
type Leaf = string | number | boolean | null | readonly unknown[] | { readonly kind: string } | Prices;

export interface InputProblem {
  readonly name: string;
  /** What is wrong with the text, as a predicate: `is not a branch name`. */
  readonly why: string;
}

/** A row of the table. */
export function input<Value>(name: string, form: z.ZodType<Value>): Input<Value> {
  return { name, form };
}

/** Names of all inputs of the table, in its order. */
export function inputNamesIn(table: object): readonly string[] {
  return Object.values(table).flatMap((entry: object) => (isInput(entry) ? [entry.name] : inputNamesIn(entry)));
}

/** Parses the texts that are there, by the names of their inputs; with every problem at once, in the order of the table. */
export function parseTexts<Settings>(
  table: InputTable<Settings>,
  texts: Readonly<Record<string, string | undefined>>,
): { readonly settings: GivenSettings<Settings>; readonly problems: readonly InputProblem[] } {
  const settings: Record<string, unknown> = {};
  const problems: InputProblem[] = [];
  for (const [field, entry] of Object.entries<object>(table)) {
    if (!isInput(entry)) {
      const inner = parseTexts(entry as InputTable<Record<string, unknown>>, texts);
      settings[field] = inner.settings;
      problems.push(...inner.problems);
    } else if (Object.hasOwn(texts, entry.name)) {
      const parsed = entry.form.safeParse(texts[entry.name]);
      if (parsed.success) settings[field] = parsed.data;
      else problems.push(...parsed.error.issues.map(({ message }) => ({ name: entry.name, why: message })));
    }
  }
  return { settings: settings as GivenSettings<Settings>, problems };
}

function isInput(entry: object): entry is Input<unknown> {
  return 'form' in entry;
}
