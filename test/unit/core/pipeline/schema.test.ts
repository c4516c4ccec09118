import { readFile } from 'node:fs/promises';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { parsePipeline } from '../../../../src/core/pipeline/parse-pipeline.ts';
import { pipelineJsonSchema } from '../../../../src/core/pipeline/file-schema.ts';

test('the published JSON Schema is the one of the code (vitest -u writes it)', async () => {
  await expect(`${JSON.stringify(pipelineJsonSchema(), null, 2)}\n`).toMatchFileSnapshot(
    '../../../../schemas/ralph-pipeline.schema.json',
  );
});

describe('the schema for editors', () => {
  const validate = new Ajv2020({ strict: false }).compile(pipelineJsonSchema());
  const withStep = (step: object): unknown => ({ steps: [{ type: 'agent', name: 'a', ...step }] });

  test.each<[object, boolean]>([
    [{ timeout: '1h30m' }, true],
    [{ timeout: 90 }, true],
    [{ timeout: '${WAIT:-3m}' }, true],
    [{ timeout: -1 }, false],
    [{ timeout: 'soon' }, false],
    [{ timeout: '-5m' }, false],
    [{ max_retries: 11 }, false],
    [{ max_retries: '2' }, false],
    [{ max_retries: '${RETRIES:-2}' }, true],
    [{ enabled: '${ON:-true}' }, true],
    [{ enabled: 'yes' }, false],
  ])('%j: %s', (step, isValid) => {
    expect(validate(withStep(step))).toBe(isValid);
  });
});

describe('the example of the documents', () => {
  test('is a pipeline, for the action and for the schema', async () => {
    const page = await readFile(new URL('../../../../docs/pipelines.md', import.meta.url), 'utf8');
    const examples = [...page.matchAll(/```json\n(.*?)```/gs)].map(([, text = '']) => text);
    const validate = new Ajv2020({ strict: false }).compile(pipelineJsonSchema());
    expect(examples.length).toBeGreaterThan(0);
    for (const text of examples) {
      expect(parsePipeline('.ralph/config.json', text, { variables: {}, ruleProblem: () => null }).kind).toBe(
        'planned',
      );
      expect(validate(JSON.parse(text))).toBe(true);
    }
  });
});
