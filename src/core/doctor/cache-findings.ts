import { listFirstNames, toOneLine } from '../text/phrase.ts';
import { type ExaminedStep, findStepInput } from './examined-step.ts';
import { okFinding, problemFinding, createRemedy, uncheckedFinding, warningFinding, type Finding } from './finding.ts';
import type { RalphStep } from './workflow.ts';

/** Warns about caches that the agent's job stores, because their post steps may store files that the agent wrote. */
export function checkJobCaches({ step }: ExaminedStep): readonly Finding[] {
  if (step.caches.length === 0) return [];
  return [
    warningFinding(
      'cache',
      `The agent's job stores a cache (${titlesOf(step.caches)}) after the agent has worked. The checkout then has the agent's commits and, with \`isolation: none\`, everything else that it wrote there. Later jobs restore the cached folders.`,
      createRemedy(ONLY_RESTORE, {}),
    ),
  ];
}

const ONLY_RESTORE = 'Only restore it in this job (`actions/cache/restore`), and store it in a job without the agent.';

/**
 * Returns a warning that names the cache steps of this run's job that may store files of the agent, or null if none. An
 * isolated agent changes only the checkout, which gets its commits when the run ends.
 */
export function warnOfJobCaches(
  uses: readonly Pick<RalphStep, 'job' | 'caches'>[],
  { job, isIsolated }: { readonly job: string; readonly isIsolated: boolean },
): string | null {
  const ofJob = uses.flatMap((step) => (step.job === job ? step.caches : []));
  const caches = isIsolated ? ofJob.filter(({ reach }) => reach === 'checkout') : ofJob;
  if (caches.length === 0) return null;
  const what = isIsolated
    ? "the checkout then has the agent's commits"
    : 'an agent without isolation may have changed it';
  return `This job stores a cache after the agent has worked (${titlesOf(caches)}): ${what}, and later jobs restore it. ${ONLY_RESTORE}`;
}

function titlesOf(caches: RalphStep['caches']): string {
  return listFirstNames([...new Set(caches.map(({ title }) => `\`${toOneLine(title, 80)}\``))]);
}

/** Triggers that may write the default branch's cache; all others can only read it unless `cache-mode` is `write`. */
const CACHE_WRITERS: readonly string[] = [
  'push',
  'schedule',
  'workflow_dispatch',
  'repository_dispatch',
  'delete',
  'registry_package',
  'page_build',
];

/** The warning about `state-store: none`. */
export const withoutStore = warningFinding(
  'cache',
  '`state-store: none` keeps nothing between runs: neither limits nor the circuit hold across runs.',
  createRemedy('Remove it, unless each run should begin from scratch.', {}),
);

/** Checks that runs of every trigger can write the state. */
export function checkStateCache(examined: ExaminedStep): Finding {
  const { workflow, step } = examined;
  const store = findStepInput(examined, 'state-store');
  const readers = workflow.triggers.map(({ event }) => event).filter((event) => !CACHE_WRITERS.includes(event));
  const refusing = step.cacheMode === 'write' ? [] : readers;
  if (store === 'none') return withoutStore;
  if (store === null)
    return uncheckedFinding(
      'cache',
      '`state-store` is an expression, so the location of the state could not be checked.',
      createRemedy('Make sure that it is `auto`, unless you want something else.', {}),
    );
  if (store !== 'cache') return okFinding('cache', 'The state is kept on a git ref, whatever the cache allows.');
  return refusing.length === 0
    ? okFinding('cache', 'Every trigger may write the cache that keeps the state.')
    : problemFinding(
        'cache',
        `The state is kept in the cache alone, which runs of ${listFirstNames(refusing)} can only read.`,
        createRemedy('Keep it on the git ref as well, or remove these triggers.', { paste: 'state-store: auto' }),
      );
}
