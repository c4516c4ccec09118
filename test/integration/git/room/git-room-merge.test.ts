import { describe } from 'vitest';
import { IS_DEEP } from '../../../runs.ts';
import { workIn } from '../git-fixture.ts';
import { openSameUserRoom } from './room-fixture.ts';

workIn(openSameUserRoom);

// All of it a second time takes a minute and more: for `npm run test:deep`.
describe.runIf(IS_DEEP)('by way of a worker in a room', async () => {
  await import('../merge/git-merge.test.ts');
  await import('../merge/git-merge-locks.test.ts');
});
