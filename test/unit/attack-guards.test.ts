import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ACTION_FOLDER } from '../../testbed/testbed.ts';
import { guards } from '../e2e/attacks/guards.ts';

test.each(guards)(
  '$source has the guard $guard once, and $test the scene $scene',
  ({ source, guard, test: file, scene }) => {
    expect(readFileSync(join(ACTION_FOLDER, source), 'utf8').split(guard)).toHaveLength(2);
    expect(readFileSync(join(ACTION_FOLDER, 'test/e2e/attacks', `${file}.test.ts`), 'utf8')).toContain(scene ?? '');
  },
);
