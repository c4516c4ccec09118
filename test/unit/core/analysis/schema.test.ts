import { expect, test } from 'vitest';
import { analysisJsonSchema, type analysisSchema } from '../../../../src/core/analysis/analysis-schema.ts';
import type { Analysis } from '../../../../src/core/analysis/analysis.ts';
import type { z } from 'zod';
import { analyzeAt } from './fixtures.ts';

type Mutable<T> = T extends readonly (infer Item)[]
  ? Mutable<Item>[]
  : T extends object
    ? { -readonly [Key in keyof T]: Mutable<T[Key]> }
    : T;

test('the published JSON Schema is the one of the code (vitest -u writes it)', async () => {
  await expect(`${JSON.stringify(analysisJsonSchema(), null, 2)}\n`).toMatchFileSnapshot(
    '../../../../schemas/ralph-analysis.schema.json',
  );
});

test('the schema is the type: neither takes what the other does not', () => {
  // The schema's own file checks the other direction.
  const narrow = (analysis: Mutable<Analysis>): z.infer<typeof analysisSchema> => analysis;
  const analysis = analyzeAt('Done.') as Mutable<Analysis>;
  expect(narrow(analysis)).toBe(analysis);
});

test('it has exactly the keys of the contract', () => {
  expect(Object.keys(analyzeAt('')).sort()).toEqual(
    Object.keys((analysisJsonSchema() as { properties: object }).properties).sort(),
  );
  expect(analysisJsonSchema()).toMatchObject({ additionalProperties: false, required: Object.keys(analyzeAt('')) });
});
