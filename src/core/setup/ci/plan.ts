import type { UnreadLine } from '../project.ts';
import { classifyCommand, type CommandPurpose } from './commands.ts';
import type { CiCommand, CiJob, CiStep } from './jobs.ts';
import { convertContainerSteps } from './services.ts';

/** A command of CI with its purpose. */
export interface CommandWithPurpose {
  readonly command: CiCommand;
  readonly purpose: CommandPurpose;
}

/** The steps of a job, sorted by purpose. */
export interface JobPlan {
  readonly setUp: readonly CiStep[];
  readonly verify: readonly CommandWithPurpose[];
  readonly offered: readonly CommandWithPurpose[];
  readonly unread: readonly UnreadLine[];
  readonly isForeign: boolean;
  readonly takesArtifacts: boolean;
  /** True if the set-up cannot install a tool: an action cannot be copied, or the job builds the tool. */
  readonly lacksTools: boolean;
}

/** Sorts the steps of a job by purpose. */
export function planJob(job: CiJob): JobPlan {
  const steps = job.container === '' ? job.steps : convertContainerSteps(job.steps);
  const flat = flattenSteps(steps);
  const all = flat.flatMap((step) =>
    step.kind === 'run' ? [{ command: step.command, purpose: classifyCommand(step.command.text) }] : [],
  );
  // After a change of the project's packages, tests would test other packages, so these tests are left out.
  const change = all.findIndex(
    ({ purpose }, at) => purpose === 'change' && all.slice(0, at).some((one) => isTestPurpose(one.purpose)),
  );
  const before = change < 0 ? all : all.slice(0, change);
  const hasTest = before.some(({ purpose }) => purpose === 'test');
  const isProof = ({ purpose }: CommandWithPurpose): boolean => purpose === 'test' || (!hasTest && purpose === 'slow');
  const last = before.findLastIndex(isProof);
  const isNeeded = (one: CommandWithPurpose, at: number): boolean =>
    at <= last &&
    (isProof(one) ||
      ['install', 'build', 'before'].includes(one.purpose) ||
      // The agent's home folder is a different one and lacks a tool that was installed into this one, so `verify` must
      // install it.
      (one.purpose === 'tool' && /\$HOME\b|~\//.test(one.command.text) && !/\bsudo\b|GITHUB_/.test(one.command.text)));
  const unread = flat.flatMap((step) => (step.kind === 'unread' ? [step] : []));
  const end = flat.findIndex((step) => step.kind === 'run' && step.command === before[last]?.command);
  const unknown = flat
    .slice(0, Math.max(end, 0))
    .flatMap((step) => (step.kind === 'unknown' ? [{ what: step.action, why: 'init does not know this action' }] : []));
  const changes = before.flatMap(({ command, purpose }) =>
    purpose === 'change' ? [{ what: command.text, why: 'it changes the files of the project' }] : [],
  );
  const setUp = withoutProducts(steps);
  return {
    setUp,
    verify: before.filter(isNeeded),
    offered: before.filter(
      (one, at) =>
        one.purpose === 'check' ||
        (one.purpose === 'slow' && !isProof(one)) ||
        (at > last && one.purpose === 'before' && RUNS_SCRIPT.test(one.command.text)),
    ),
    unread: [...unknown, ...unread.map(({ what, why }) => ({ what, why })), ...changes],
    isForeign: runsElsewhere(flat) || all.some(({ command }) => /^cd \.\.\//.test(command.text)),
    takesArtifacts: flat.some(({ kind }) => kind === 'download'),
    lacksTools: unread.some(({ isSetUp }) => isSetUp) || setUp.length < steps.length,
  };
}

/**
 * Returns true if a job checks this repository out into a folder only, or another one at the root, so that its commands
 * run elsewhere.
 */
export function runsElsewhere(steps: readonly CiStep[]): boolean {
  const checkouts = steps.flatMap((step) => (step.kind === 'checkout' ? [step] : []));
  const isPlain = checkouts.some(({ isOwn, isAtRoot }) => isOwn && isAtRoot);
  return !isPlain && checkouts.some(({ isOwn, isAtRoot }) => isOwn !== isAtRoot);
}

/** Matches commands that run a script of the project, which after the tests is probably a check. */
const RUNS_SCRIPT =
  /^(?:(?:npm run|pnpm|yarn|bun run|deno task|make|just|task|composer|mix|bundle exec|poetry run|uv run)\s|(?:\.\/)?(?:scripts?|bin|ci|tools)\/)/;

/** Returns the steps of the set-up, except those that install the products of an earlier build. */
function withoutProducts(steps: readonly CiStep[]): readonly CiStep[] {
  const isOf = (step: CiStep, ...purposes: readonly CommandPurpose[]): boolean =>
    step.kind === 'run' && purposes.includes(classifyCommand(step.command.text));
  const built = flattenSteps(steps).findIndex((step) => isOf(step, 'build'));
  const products = new Set(
    flattenSteps(steps).filter(
      (step, at) =>
        built >= 0 &&
        at > built &&
        step.kind === 'run' &&
        isOf(step, 'install', 'tool') &&
        PRODUCT.test(step.command.text),
    ),
  );
  return steps.filter((step) => !products.has(step));
}

/** Matches commands that install the products of a build. */
const PRODUCT = /\b(?:make|ninja|meson|cmake)\b.*\binstall|\s\.?\.?\/|\s(?:dist|build)\/|\.(?:tgz|whl)\b/;

/** Returns the steps with those of local actions in place of the actions. */
export function flattenSteps(steps: readonly CiStep[]): readonly CiStep[] {
  return steps.flatMap((step) => (step.kind === 'local' ? flattenSteps(step.steps) : [step]));
}

/** Returns true for the purposes of commands that test. */
export function isTestPurpose(purpose: CommandPurpose): boolean {
  return purpose === 'test' || purpose === 'slow';
}
