import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect, test } from 'vitest';
import { doctorSchema, type ExamineCheckout } from '../../../src/cli/doctor/doctor.ts';
import {
  createRemedy,
  okFinding,
  problemFinding,
  uncheckedFinding,
  type Finding,
} from '../../../src/core/doctor/finding.ts';
import { ralph, type CliRun } from './fixture.ts';
import { publishedSchema } from '../../published-schema.ts';

const found = (...findings: readonly Finding[]): ExamineCheckout => {
  return () => Promise.resolve({ kind: 'examined', repository: 'acme/shop', findings, settings: [] });
};
const doctor = (examine: ExamineCheckout, ...args: readonly string[]): Promise<CliRun> =>
  ralph(['doctor', ...args], '', undefined, { examine });

const label = problemFinding(
  'label',
  'There is \u001b[2J no label.',
  createRemedy('Create it.', { paste: 'gh label create ralph' }),
);
const rules = uncheckedFinding(
  'branch-rules',
  'Not checked.',
  createRemedy('See.', { link: 'https://github.com/acme/shop' }),
);

test('the published JSON Schema is the one of the code (vitest -u writes it)', async () => {
  await expect(
    `${JSON.stringify(publishedSchema('ralph doctor --json', doctorSchema), null, 2)}\n`,
  ).toMatchFileSnapshot('../../../schemas/ralph-doctor.schema.json');
});

test('the published JSON Schema accepts what is printed', async () => {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  const validate = ajv.compile(publishedSchema('ralph doctor --json', doctorSchema));
  validate(JSON.parse((await doctor(found(label, rules, okFinding('inputs', 'Fine.')), '--json')).out));
  expect(validate.errors).toBeNull();
});

test('as JSON every setting is listed, defaults included, and nothing is cut', async () => {
  const text = `make ${'x'.repeat(3_000)}`;
  const settings = [
    { input: 'verify', text, origin: 'file', where: '.ralphrc:1 TEST_COMMAND' },
    { input: 'max-iterations', text: '10', origin: 'default', where: 'action.yml' },
  ] as const;
  const examine: ExamineCheckout = () =>
    Promise.resolve({
      ...{ kind: 'examined', repository: null, findings: [okFinding('settings', `verify: ${text}`)] },
      settings: [{ workflow: 'ralph run', settings, problems: [] }],
    });
  expect(JSON.parse((await doctor(examine, '--json')).out)).toMatchObject({
    findings: [{ says: `verify: ${text}` }],
    settings: [{ workflow: 'ralph run', settings }],
  });
  expect((await doctor(examine)).out.length).toBeLessThan(1_200);
});

test('each finding has its mark and its remedy, and nothing steers the terminal', async () => {
  expect(await doctor(found(okFinding('inputs', 'Fine.'), label, rules))).toEqual({
    code: 1,
    error: '',
    out: `acme/shop

✓ Fine.
✗ There is [2J no label.
    Create it.
      gh label create ralph
⚠ Not checked.
    See. https://github.com/acme/shop

✗ 1 problem, ⚠ 1 not checked
`,
  });
});

test.each<[string, ExamineCheckout, readonly string[], number, string]>([
  ['nothing wrong', found(okFinding('inputs', 'Fine.')), [], 0, '✓ Nothing stops a run.'],
  ['not checked', found(rules), [], 0, '⚠ 1 not checked'],
  ['a problem', found(label), [], 1, '✗ 1 problem'],
  ['a problem as JSON', found(label), ['--json'], 1, '"kind": "problem"'],
  ['no checkout', () => Promise.resolve({ kind: 'missing', why: 'there is none.' }), [], 2, 'there is none.'],
  ['a slip', found(), ['--verfy'], 2, 'Did you mean --verify?'],
])('%s', async (_, examine, args, code, says) => {
  const ended = await doctor(examine, ...args);
  expect(ended.code).toBe(code);
  expect(ended.out + ended.error).toContain(says);
});

test('what is asked for reaches the examination', async () => {
  const asked: object[] = [];
  const examine: ExamineCheckout = async (given) => {
    asked.push(given);
    given.log('hello\u0007');
    return found()(given);
  };
  const { error } = await doctor(examine, '--dir', 'x', '--remote', 'up', '--verify');
  expect(asked).toMatchObject([{ folder: 'x', remote: 'up', verify: true }]);
  expect(error).toBe('hello\n');
});
