import { describe } from 'vitest';
import { IS_DEEP } from '../../../runs.ts';
import { workIn } from '../git-fixture.ts';
import { openSameUserRoom } from './room-fixture.ts';

workIn(openSameUserRoom);

// Repeating all tests takes a minute, so this runs only in `npm run test:deep`.
describe.runIf(IS_DEEP)('by way of a worker in a room', async () => {
  await import('../git-commit.test.ts');
});
