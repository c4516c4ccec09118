import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { findRuleProblem } from '../../../../src/config/tool-rules.ts';
import { KNOWN_SIGNALS, type DoneSignals } from '../../../../src/core/analysis/done-signals.ts';
import { parsePipeline } from '../../../../src/core/pipeline/parse-pipeline.ts';
import { buildPipelineSchema } from '../../../../src/core/pipeline/file-schema.ts';
import { parseSignalFiles } from '../../../../src/core/pipeline/reading/signals-in-files.ts';
import { parseYaml } from '../../../../src/yaml/parse.ts';

test('the published JSON Schema is the one of the code (vitest -u writes it)', async () => {
  await expect(`${JSON.stringify(buildPipelineSchema(), null, 2)}\n`).toMatchFileSnapshot(
    '../../../../schemas/ralph-pipeline.schema.json',
  );
});

describe('the schema for editors', () => {
  const validate = new Ajv2020({ strict: false }).compile(buildPipelineSchema());
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

describe('the examples of the documents', () => {
  const page = readFileSync(new URL('../../../../docs/pipelines.md', import.meta.url), 'utf8');
  const examples = [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].flatMap(([, language = '', text = '']) =>
    language === 'text' ? [] : [{ language, text }],
  );
  const fileOf = { json: '.ralph/config.json', yaml: '.ralph/config.yaml' } as Readonly<Record<string, string>>;

  test('are of both languages, and show signals', () => {
    expect(new Set(examples.map(({ language }) => language))).toEqual(new Set(['json', 'yaml']));
    expect(examples.some(({ text }) => text.includes('"signals"'))).toBe(true);
  });

  test.each(examples)('are pipelines, for the action and for the schema: $language', ({ language, text }) => {
    const validate = new Ajv2020({ strict: false }).compile(buildPipelineSchema());
    const read = parsePipeline(fileOf[language] ?? '', text, { variables: {}, ruleProblem: findRuleProblem });
    expect(read).toMatchObject({ kind: 'planned', unused: [] });
    // JSON is also valid YAML.
    expect(parseYaml(text)).toMatchObject({
      kind: 'data',
      data: expect.toSatisfy((data) => validate(data)) as unknown,
    });
  });

  test('the signals are read as they stand there', () => {
    const texts = examples.flatMap(({ language, text }) => (language === 'json' ? [text] : []));
    const [shown] = texts.filter((text) => text.includes('"signals"'));
    const { signals } = JSON.parse(shown ?? '{}') as { readonly signals: DoneSignals };
    const { done, markers } = KNOWN_SIGNALS;
    expect(parseSignalFiles({ '.ralph/config.json': shown ?? '' })).toEqual({
      problems: [],
      signals: { done: [...done, ...signals.done], markers: [...markers, ...signals.markers] },
    });
  });
});
