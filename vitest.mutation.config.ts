import { configDefaults, defineConfig } from 'vitest/config';

/** The tables that judge core/, for mutation testing. Properties find what no table names, but are too slow to run for each mutant. */
export default defineConfig({
  test: {
    testTimeout: 120_000,
    include: ['test/unit/{analysis,core}-*.test.ts'],
    exclude: [...configDefaults.exclude, 'test/unit/*-properties.test.ts'],
  },
});
