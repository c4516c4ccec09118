import { configDefaults, defineConfig } from 'vitest/config';

/**
 * Table tests of core/ and of the parsers of agents' output, for mutation testing. Property tests find more, but are
 * too slow to run for each mutant.
 */
export default defineConfig({
  test: {
    env: { RALPH_MUTATION: '1' },
    testTimeout: 120_000,
    // The tables share nothing; a worker for each file would take most of the time.
    isolate: false,
    include: [
      'test/unit/core/**/*.test.ts',
      'test/unit/agents/*/{events,messages,output}/**/*.test.ts',
      'test/unit/agents/openai/*.test.ts',
    ],
    exclude: [...configDefaults.exclude, '**/*properties.test.ts'],
  },
});
