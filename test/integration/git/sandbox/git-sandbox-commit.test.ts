import { describe } from 'vitest';
import { IS_DEEP } from '../../../runs.ts';
import { workIn } from '../git-fixture.ts';
import { openSameUserSandbox } from './sandbox-fixture.ts';

workIn(openSameUserSandbox);

// Repeating all tests takes a minute, so this runs only in `npm run test:deep`.
describe.runIf(IS_DEEP)('by way of a worker in a sandbox', async () => {
  await import('../git-commit.test.ts');
});
