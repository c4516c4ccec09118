import { test } from 'vitest';

/** True in `npm run test:deep`, which runs everything. */
export const IS_DEEP = process.env['RALPH_TEST_DEEP'] === '1';

/** Runs only in `npm run test:deep`: a scene whose rules other tests check too, most of them in `test/loop`. */
export const deepTest = test.skipIf(!IS_DEEP);

/** Returns all rows of a table in `npm run test:deep`, otherwise the first `few`, if other tests check the rest. */
export function rows<Row>(few: number, all: readonly Row[]): readonly Row[] {
  return IS_DEEP ? all : all.slice(0, few);
}

/**
 * Returns the number of runs of a property: `all` in `npm run test:deep`, otherwise a tenth, because the seed is then
 * fixed.
 */
export function runs(all: number): number {
  return IS_DEEP ? all : Math.ceil(all / 10);
}
