import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { UserError } from '../../errors.ts';

const actionSchema = z.object({ inputs: z.record(z.string(), z.object({ default: z.string().optional() })) });

/** Defaults of the inputs, from the action.yml of the bundle: they are written nowhere else. Throws a UserError without it. */
export async function readDefaults(actionFolder: string): Promise<Readonly<Record<string, string>>> {
  const path = join(actionFolder, 'action.yml');
  const text = await readFile(path, 'utf8').catch(() => null);
  const { parseYaml } = await import('../../yaml/parse.ts');
  const parsed = text === null ? null : parseYaml(text);
  const action = parsed?.kind === 'data' ? actionSchema.safeParse(parsed.data) : null;
  if (action?.success !== true)
    throw new UserError(
      'configuration',
      `The action's own file ${path} cannot be read, so nobody knows which inputs were given. Run the action from a fresh copy.`,
    );
  return Object.fromEntries(Object.entries(action.data.inputs).map(([name, { default: text = '' }]) => [name, text]));
}
