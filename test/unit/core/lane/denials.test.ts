import { expect, test } from 'vitest';
import { classifyDenials, judgeDenials, type KindOfDenial } from '../../../../src/core/lane/denials.ts';

const docker = { kind: 'forbidden', command: 'docker ps' } as const;
const compound = { kind: 'compound', command: 'npm ci && npm test' } as const;
const question = { kind: 'question', command: null } as const;

const adviceOn = (command: string) =>
  judgeDenials([{ kind: 'compound', command }], false, { onPermissionDenied: 'count' }).advice;

test.each([
  ['after progress is noted, not counted', [docker], true, 'count', 0, false],
  ['with on-permission-denied: continue is not counted', [docker], false, 'continue', 0, false],
  ['with halt is counted', [docker], false, 'halt', 1, false],
  ['of a question alone is a question', [question], false, 'count', 0, true],
  ['of a question and a command is a denial', [question, docker], false, 'count', 1, false],
  ['of a compound of allowed parts is not counted', [compound], false, 'count', 0, false],
  ['of a compound beside forbidden calls: those are counted', [compound, docker, docker], false, 'count', 2, false],
] as const)('a denial %s', (_, denials, progress, onPermissionDenied, counted, askedOnly) => {
  expect(judgeDenials(denials, progress, { onPermissionDenied })).toMatchObject({ counted, askedOnly });
});

test('advice is one line and short, whatever the command holds', () => {
  const [advice = ''] = adviceOn(`npm ci\nnpm run ${'x'.repeat(5_000)}`);
  expect(advice).not.toContain('\n');
  expect(advice.length).toBeLessThan(400);
});

test('advice shows the command, which cannot leave its code span', () => {
  const [advice = ''] = adviceOn("npm ci &&\t\n npm run '`x`'");
  expect(advice).toMatch(/^`npm ci && npm run ''x''` was refused/);
  expect(advice).toContain('allowed-tools');
});

test('advice is the text that journals of earlier versions hold, also where it cuts a character in two', () => {
  const [advice = ''] = adviceOn(`npm ci && npm run ${'x'.repeat(101)}😀`);
  expect(advice.slice(0, 122)).toBe(`\`npm ci && npm run ${'x'.repeat(101)}\uD83D\``);
});

test.each([
  ['a compound', [compound], 1],
  ['equal compounds', [compound, compound], 1],
  ['two compounds', [compound, { ...compound, command: 'npm ci; npm test' }], 2],
  ['anything else', [docker, question], 0],
] as const)('%s: advice, each once', (_, denials, sentences) => {
  expect(judgeDenials(denials, false, { onPermissionDenied: 'count' }).advice).toHaveLength(sentences);
});

test('an agent classifies its own denials under the allowed tools', () => {
  const denial = { tool: 'Shell', command: 'ls' };
  const kindOf: KindOfDenial = ({ tool }, rules) => (rules.includes(tool) ? 'compound' : 'forbidden');
  expect(classifyDenials([denial], { allowedTools: ['Shell'] }, kindOf)).toEqual([{ kind: 'compound', command: 'ls' }]);
  expect(classifyDenials([denial], { allowedTools: [] }, kindOf)).toEqual([{ kind: 'forbidden', command: 'ls' }]);
});
