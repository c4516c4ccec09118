import type { ReadmeStep } from '../../core/pipeline/pipeline.ts';
import { readmeProblem } from '../../core/pipeline/readme-check.ts';
import type { LoopDeps } from '../deps.ts';
import type { Running, Tried, Walk } from './walk.ts';

/** Looks whether the README kept up with what the iteration has changed so far. */
export async function tryReadme(
  { repository, files }: LoopDeps,
  { iteration: { before }, step: { path, patterns } }: Running<ReadmeStep>,
  walk: Walk,
): Promise<Tried> {
  const [{ files: changed }, texts] = await Promise.all([
    repository.compare(before, await repository.snapshot()),
    files.read([path]),
  ]);
  const why = readmeProblem({ path, exists: Object.hasOwn(texts, path), patterns, changed });
  return {
    attempt: { result: why === null ? { kind: 'passed' } : { kind: 'failed', why, code: null }, isWorthAnother: false },
    tail: '',
    walk,
    calls: [],
  };
}
