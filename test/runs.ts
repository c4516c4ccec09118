/** Whether this is `npm run test:deep`, which tries everything. */
export const IS_DEEP = process.env['RALPH_TEST_DEEP'] === '1';

/** How often a property is tried: `all` times in `npm run test:deep`, a quarter of them otherwise. */
export function runs(all: number): number {
  return IS_DEEP ? all : Math.ceil(all / 4);
}
