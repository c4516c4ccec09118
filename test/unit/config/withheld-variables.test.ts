import { expect, test } from 'vitest';
import { describeWithheldVariables } from '../../../src/config/agent-environment.ts';

const job = { FROM_SETUP: 'yes', OTHER: '1', EMPTY: '', PATH: '/bin', GITHUB_TOKEN: 'x'.repeat(20) };
const given = { PATH: '/bin', OTHER: '1' };

test.each<[readonly string[], readonly RegExp[]]>([
  [
    ['test "$FROM_SETUP" = yes'],
    [
      /^The verify command "test "\$FROM_SETUP" = yes" needs `FROM_SETUP`, which is set in this job and withheld from `verify`: name it in `agent-env`/,
    ],
  ],
  [['echo $FROM_SETUP', 'echo ${FROM_SETUP}'], [/FROM_SETUP/]],
  [['echo $OTHER $PATH $EMPTY $NOWHERE'], []],
  [['FROM_SETUP=no; echo $FROM_SETUP'], []],
  [["awk '{print $FROM_SETUP}' x", 'echo ${FROM_SETUP:-}'], []],
])('%j → %j', (commands, expected) => {
  const found = describeWithheldVariables(commands, { job, given });
  expect(found).toHaveLength(expected.length);
  for (const [index, pattern] of expected.entries()) expect(found[index]).toMatch(pattern);
});

test('a secret of the job is not offered', () => {
  expect(describeWithheldVariables(['curl -H "$GITHUB_TOKEN"'], { job, given }).join('')).toMatch(
    /is a secret of the job/,
  );
});
