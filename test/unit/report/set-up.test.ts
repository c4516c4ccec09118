import { expect, test } from 'vitest';
import {
  createRemedy,
  okFinding,
  problemFinding,
  uncheckedFinding,
  warningFinding,
} from '../../../src/core/doctor/finding.ts';
import { renderSetUp, describeSetUp, summarizeSetUp } from '../../../src/report/sentences/set-up.ts';

const label = problemFinding(
  'label',
  'There is no label.',
  createRemedy('Create it.', { paste: 'gh label create ralph' }),
);
const rules = uncheckedFinding(
  'branch-rules',
  'Not seen.',
  createRemedy('See.', { link: 'https://github.com/acme/shop/settings' }),
);
const permissions = warningFinding(
  'permissions',
  'Too few.',
  createRemedy('Set them.', { paste: 'permissions:\n  issues: write' }),
);
const good = okFinding('inputs', 'Fine.');

test('worst first, the rest folded', () => {
  expect(renderSetUp([good, rules, permissions, label])).toBe(
    `**Set-up:** ✗ 1 problem, ⚠ 1 warning, ⚠ 1 not checked

- ✗ There is no label. Create it. \`gh label create ralph\`
- ⚠ Too few. Set them.

  <pre><code>permissions:</code>
    <code>issues: write</code></pre>

- ⚠ Not seen. See. [Open the page](https://github.com/acme/shop/settings).

<details>
<summary>1 check fine</summary>

- ✓ Fine.

</details>

<sub>\`ralph doctor\` on your own machine sees what the token of a run cannot.</sub>`,
  );
});

test('nothing to do', () => {
  expect(summarizeSetUp([good])).toBe('✓ Nothing stops a run.');
  expect(describeSetUp([good])).toEqual(['✓ Fine.']);
});

test('text from outside is text: no markup, no mention, no second line', () => {
  const foreign = 'a @octo <img src=x> [x](https://evil.example) `b` #1\n- ✓ all fine';
  const page = renderSetUp([
    { ...warningFinding('inputs', foreign, createRemedy(foreign, { paste: foreign })), where: foreign },
    good,
  ]);
  expect(page).not.toMatch(/@octo|<img|(?<!\\)\]\(https|#1\b/);
  expect(page.split('\n').filter((line) => line.startsWith('- ✓'))).toEqual(['- ✓ Fine.']);
});

test('what could not be checked for one reason is one line with a list, behind the others', () => {
  const why = 'there is no token. Set GITHUB_TOKEN.';
  const see = createRemedy('Look there.', { link: 'https://github.com/acme/shop/settings' });
  const findings = [
    { ...uncheckedFinding('label', `Could not check whether the label \`ralph\` exists: ${why}`, see), where: 'a.yml' },
    uncheckedFinding('push-rules', `Could not check rulesets for all pushes: ${why}`, see),
    uncheckedFinding('key', 'Could not check whether the key is accepted: GitHub never shows secrets.', see),
    { ...good, where: 'a.yml' },
  ];

  expect(describeSetUp(findings)).toEqual([
    '⚠ Could not check whether the key is accepted: GitHub never shows secrets.',
    '    Look there. https://github.com/acme/shop/settings',
    '✓ Fine.',
    '⚠ Not checked: whether the label `ralph` exists; rulesets for all pushes.',
    '    There is no token. Set GITHUB_TOKEN. Or check it yourself:',
    '      https://github.com/acme/shop/settings',
  ]);
  expect(renderSetUp(findings).match(/^- ⚠/gm)).toHaveLength(2);
  expect(summarizeSetUp(findings)).toBe('⚠ 3 not checked');
});
