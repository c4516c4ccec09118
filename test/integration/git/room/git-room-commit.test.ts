import { describe } from 'vitest';
import { workIn } from '../git-fixture.ts';
import { openSameUserRoom } from './room-fixture.ts';

workIn(openSameUserRoom);

// All of it a second time takes a minute: for `npm run test:deep`.
describe.runIf(process.env['RALPH_TEST_DEEP'] !== undefined)('by way of a worker in a room', async () => {
  await import('../git-commit.test.ts');
});
