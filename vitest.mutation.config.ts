import { defineConfig } from 'vitest/config';

/** The tests that judge core/, for mutation testing: fast and pure. */
export default defineConfig({ test: { include: ['test/unit/{analysis,core}-*.test.ts'] } });
