import { createGlob } from '../text/glob.ts';
import { joinNames } from '../text/phrase.ts';

/** The facts that a README check uses. */
interface ReadmeFacts {
  readonly path: string;
  readonly exists: boolean;
  readonly patterns: readonly string[];
  /** Paths that this iteration has changed so far. */
  readonly changed: readonly string[];
}

const MAX_NAMED = 5;

/**
 * Returns why the README needs an update; null if it does not. It needs one if it is missing, or if it is unchanged
 * although files that match the patterns, other than tests, have changed.
 */
export function findReadmeProblem({ path, exists, patterns, changed }: ReadmeFacts): string | null {
  if (!exists) return `${path} does not exist`;
  if (changed.includes(path)) return null;
  const isMatched = patterns.map(createGlob);
  const significant = changed.filter((file) => !TEST_NAME.test(file) && isMatched.some((matches) => matches(file)));
  return significant.length === 0 ? null : `${path} was not changed together with ${joinNames(significant, MAX_NAMED)}`;
}

const TEST_NAME = /(?:_test\.[^/]+|\.(?:test|spec)\.[^/]+)$/;
