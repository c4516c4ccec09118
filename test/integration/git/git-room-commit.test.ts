import { describe } from 'vitest';
import { workIn } from './git-fixture.ts';
import { openSameUserRoom } from './room-fixture.ts';

workIn(openSameUserRoom);

describe('by way of a worker in a room', async () => {
  await import('./git-commit.test.ts');
  await import('./git-quarantine.test.ts');
  await import('./git-pipes.test.ts');
});
