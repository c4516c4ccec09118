import { test } from 'vitest';

/** Whether this is `npm run test:deep`, which tries everything. */
export const IS_DEEP = process.env['RALPH_TEST_DEEP'] === '1';

/** A scene whose rules other tests hold as well, most of them in `test/loop`: in `npm run test:deep` only. */
export const deepTest = test.skipIf(!IS_DEEP);

/** The rows of a table: all of them in `npm run test:deep`, otherwise the first `few`, where other tests hold the rest. */
export function rows<Row>(few: number, all: readonly Row[]): readonly Row[] {
  return IS_DEEP ? all : all.slice(0, few);
}

/** How often a property is tried: `all` times in `npm run test:deep`. Otherwise, where the seed is always the same, a tenth of them. */
export function runs(all: number): number {
  return IS_DEEP ? all : Math.ceil(all / 10);
}
