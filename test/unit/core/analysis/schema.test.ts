import { expect, test } from 'vitest';
import { buildAnalysisSchema, buildPrintedAnalysis } from '../../../../src/core/analysis/analysis.ts';
import { analyzeAt } from '../../agents/claude/fixtures.ts';

test('the published JSON Schema is the one of the code (vitest -u writes it)', async () => {
  await expect(`${JSON.stringify(buildAnalysisSchema(), null, 2)}\n`).toMatchFileSnapshot(
    '../../../../schemas/ralph-analysis.schema.json',
  );
});

test('it has exactly the keys of the contract', () => {
  const keys = Object.keys(buildPrintedAnalysis(analyzeAt('')));
  expect(keys.toSorted()).toEqual(Object.keys((buildAnalysisSchema() as { properties: object }).properties).toSorted());
  expect(buildAnalysisSchema()).toMatchObject({ additionalProperties: false, required: keys });
});
