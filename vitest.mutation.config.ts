import { defineConfig } from 'vitest/config';

/** The tests that judge core/, for mutation testing: fast and pure. */
export default defineConfig({ test: { testTimeout: 120_000, include: ['test/unit/{analysis,core}-*.test.ts'] } });
