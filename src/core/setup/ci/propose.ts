import type { CiProposal, Stack, UnreadLine } from '../project.ts';
import {
  findGivenVariables,
  findOpenVariables,
  joinCommands,
  listPrograms,
  classifyCommand,
  type CommandPurpose,
} from './commands.ts';
import { describeContainerJob } from './services.ts';
import type { CiCommand, CiJob, CiStep } from './jobs.ts';
import { type CommandWithPurpose, flattenSteps, isTestPurpose, type JobPlan, planJob, runsElsewhere } from './plan.ts';
import { renderVerifyLine, buildVerifyLines, buildSetUpSteps, buildSetUpCommand } from './render.ts';
import type { YamlMap } from './yaml-data.ts';

const MAX_OFFERED = 12;
const MAX_OFFER_CHARS = 200;
const MAX_UNREAD = 8;

/** Returns what the jobs of CI propose, or null if none of them has a test that init can repeat. */
export function proposeFromCi(jobs: readonly CiJob[], stacks: readonly Stack[]): CiProposal | null {
  const read = jobs.map((job) => ({ job, plan: planJob(job) }));
  const candidates = read
    .filter(({ plan }) => plan.verify.some(({ purpose }) => isTestPurpose(purpose)))
    .toSorted((a, b) => scoreOf(b, stacks) - scoreOf(a, stacks));
  const [first] = candidates;
  if (first === undefined || scoreOf(first, stacks) < MIN_SCORE) return null;
  // A repository often tests each service, or each of its languages, in a job of its own, so each may add a job.
  const chosen = [first];
  for (const stack of stacks) {
    const covers = ({ plan }: typeof first): boolean =>
      stack.folder === '' ? testsWith(plan, stack) : verifiedFolders(plan).has(stack.folder);
    const isKnown = stack.folder !== '' || stacks.some((other) => other.folder === '' && testsWith(first.plan, other));
    const next = chosen.some(covers) || !isKnown ? undefined : candidates.find(covers);
    if (next !== undefined && (stack.folder !== '' || scoreOf(next, stacks) >= ORDINARY_SCORE)) chosen.push(next);
  }
  const parts = chosen.map(({ job, plan }) => completed(plan, { job, jobs, stacks }));
  const verify = unique(parts.flatMap(({ commands }) => buildVerifyLines(commands.map(({ command }) => command))));
  const others = read.filter((one) => !chosen.includes(one) && !NO_CHECK.test(`${one.job.path} ${one.job.id}`));
  const actions = new Set(parts.flatMap(({ setUp }) => setUp.flatMap((step) => actionsOf(step))));
  const texts = parts.flatMap(({ commands }) => commands.map(({ command }) => command.text));
  const offered = unique([
    ...chosen.flatMap(({ plan }) => plan.offered.map(({ command }) => renderVerifyLine(command))),
    ...others.flatMap(({ plan }) =>
      offersOf(plan, { actions, texts, hasBuilds: parts.some(({ hasBuilds }) => hasBuilds) }),
    ),
  ]).filter((line) => !verify.includes(line) && line.length <= MAX_OFFER_CHARS);
  return {
    from: chosen.map(({ job }) => `${job.path} (${job.id})`),
    setup: uniqueSteps(parts.flatMap(({ lines }) => lines)).flat(),
    verify,
    offered: offered.slice(0, MAX_OFFERED),
    programs: listPrograms(texts),
    variables: unique([
      ...findOpenVariables(
        texts,
        new Set(parts.flatMap(({ commands }) => commands.flatMap(({ command }) => command.env.map(([name]) => name)))),
      ),
      ...findGivenVariables(parts.flatMap(({ lines }) => lines.flat())),
    ]),
    unread: unique(
      [
        ...chosen.flatMap(({ job, plan }) => [...describeContainerJob(job.container), ...plan.unread]),
        ...candidates
          .filter((one) => others.includes(one) && scoreOf(one, stacks) >= ORDINARY_SCORE)
          .flatMap(({ job, plan }) => testsApart(plan, { actions, texts, job })),
      ],
      ({ what }) => what,
    ).slice(0, MAX_UNREAD),
    services: Object.assign({}, ...chosen.map(({ job }) => job.services)) as YamlMap,
    submodules: submodulesOf(chosen.flatMap(({ job }) => flattenSteps(job.steps))),
    byFolder: commandsByFolder(
      parts.flatMap(({ commands }) => commands),
      offered,
    ),
  };
}

/** Returns the lines of CI that may be tests and that init cannot repeat, and the jobs whose tests run elsewhere. */
export function listUnreadTests(jobs: readonly CiJob[]): readonly UnreadLine[] {
  const found = jobs.flatMap(({ path, id, system, steps }): readonly UnreadLine[] => {
    const flat = flattenSteps(steps);
    const job = `${path} (${id})`;
    if (system !== 'Linux') return [{ what: job, why: `it runs on ${system}, and Ralph's job on Linux` }];
    if (runsElsewhere(flat))
      return [{ what: job, why: 'its commands run outside of a plain checkout of the repository' }];
    return flat.flatMap((step) =>
      step.kind === 'unread' &&
      (step.isSetUp || ['test', 'slow', 'build'].includes(classifyCommand(step.what.replaceAll('_', ' '))))
        ? [{ what: step.what, why: step.why }]
        : [],
    );
  });
  return unique(found, ({ what }) => what).slice(0, MAX_UNREAD);
}

const MIN_SCORE = 0;
/** The score of a job that runs tests and has no special purpose. */
const ORDINARY_SCORE = 30;
const IS_TEST_NAME = /\b(?:tests?|unit|specs?)\b/i;
const IS_CI_NAME = /\b(?:ci|build|check|main|verify)\b/i;
const IS_SPECIAL =
  /e2e|integration|external|bench|fuzz|coverage|nightly|\bdocs?\b|example|compat|\bmin|lowest|oldest|msrv|publish|types?\b|typing|smoke|lint|release|deploy|canary|windows|macos|\bmac\b|wasm|cross|downstream|sanitiz|\bscan|musl|alpine|memcheck|valgrind|native-image|subset|reproducib/i;
const NO_CHECK = /release|publish|deploy|pages|nightly|stale|label|codeql|depend|security|bench/i;

function scoreOf({ job, plan }: { readonly job: CiJob; readonly plan: JobPlan }, stacks: readonly Stack[]): number {
  const names = `${job.path.replace(/^.*\//, '')} ${job.id} ${job.name}`.replaceAll('_', ' ');
  const commands = plan.verify.map(({ command }) => command.text).join('\n');
  const [main] = stacks;
  const points: readonly (readonly [boolean, number])[] = [
    [plan.verify.some(({ purpose }) => purpose === 'test'), 30],
    // Only the name of a file says `test` in some commands.
    [plan.verify.some(({ command: { text } }) => isTestPurpose(classifyCommand(text.replaceAll(/\S*\/\S*/g, '')))), 3],
    [IS_TEST_NAME.test(names), 10],
    // A file `tests.yml` may also contain jobs that build pages or packages.
    [IS_TEST_NAME.test(`${job.id} ${job.name}`.replaceAll('_', ' ')), 6],
    [IS_CI_NAME.test(names), 5],
    [IS_SPECIAL.test(names), -20],
    [plan.isForeign, -100],
    [plan.takesArtifacts, -3],
    [plan.lacksTools, -5],
    [job.container !== '', -10],
    [plan.unread.some(({ what }) => isTestPurpose(classifyCommand(what))), -5],
    [main !== undefined && verifiedFolders(plan).has(main.folder), 4],
    [main !== undefined && toolPattern(main.packageManager).test(commands), 5],
  ];
  return points.reduce((sum, [holds, value]) => (holds ? sum + value : sum), 0);
}

/** Returns true if a job tests with the tool of a stack. */
function testsWith({ verify }: JobPlan, { packageManager }: Stack): boolean {
  const tests = verify.filter(({ purpose }) => isTestPurpose(purpose)).map(({ command }) => command.text);
  return tests.some((text) => toolPattern(packageManager).test(text));
}

/** Returns a pattern for the commands of a tool. */
export function toolPattern(tool: string): RegExp {
  const names: Readonly<Record<string, string>> = {
    maven: 'mvn',
    gradle: 'gradle',
    bundler: 'bundle|rake|rspec',
    pip: 'python|pytest|pip|tox|nox',
  };
  return new RegExp(`\\b(?:${names[tool] ?? tool})`);
}

function verifiedFolders({ verify }: JobPlan): ReadonlySet<string> {
  return new Set(
    verify.flatMap(({ command }) => [
      command.folder,
      /(?:^|&& )cd ([\w./-]+)/.exec(command.text)?.[1] ?? command.folder,
    ]),
  );
}

interface Completed {
  readonly commands: readonly CommandWithPurpose[];
  readonly setUp: readonly CiStep[];
  /** True if other jobs build what this job tests. */
  readonly hasBuilds: boolean;
  /** The set-up steps, each as lines of YAML. */
  readonly lines: readonly (readonly string[])[];
}

/** Completes a plan with the builds and packages that its job takes from other jobs or from actions. */
function completed(
  plan: JobPlan,
  { job, jobs, stacks }: { readonly job: CiJob; readonly jobs: readonly CiJob[]; readonly stacks: readonly Stack[] },
): Completed {
  const needed = plan.takesArtifacts ? jobs.filter(({ path, id }) => path === job.path && job.needs.includes(id)) : [];
  const builds = needed.flatMap((one) =>
    flattenSteps(one.steps).flatMap((step): readonly CommandWithPurpose[] =>
      step.kind === 'run' && classifyCommand(step.command.text) === 'build'
        ? [{ command: step.command, purpose: 'build' }]
        : [],
    ),
  );
  // If the other job's build is unknown, the tool must build the package itself.
  const verify = plan.verify.map((one) =>
    plan.takesArtifacts && builds.length === 0
      ? { ...one, command: { ...one.command, text: one.command.text.replace(/ --installpkg[ =]\S+/, '') } }
      : one,
  );
  const isInstall = (text: string): boolean => classifyCommand(text) === 'install';
  // `npm ci && npm test` installs as well, though its purpose is to test, so each of its parts is examined.
  const installsIn = (folder: string): boolean =>
    verify.some(({ command }) => command.folder === folder && command.text.split(' && ').some(isInstall));
  const installs = verify.filter(({ purpose }) => purpose === 'install');
  const rest = verify.filter(({ purpose }) => purpose !== 'install');
  const folders = new Set(rest.map(({ command }) => command.folder));
  const bringsItself = rest.every(
    ({ command, purpose }) => !isTestPurpose(purpose) || /\b(?:tox|nox|hatch|uv run)\b/.test(command.text),
  );
  // In a folder with several languages, the job needs only the packages of those whose tools it starts.
  const isForeign = (stack: Stack): boolean =>
    !testsWith(plan, stack) && stacks.some((one) => one.folder === stack.folder && testsWith(plan, one));
  const missing = stacks.flatMap((stack): readonly CommandWithPurpose[] =>
    stack.install === null || isForeign(stack) || bringsItself || !folders.has(stack.folder) || installsIn(stack.folder)
      ? []
      : [{ command: { text: stack.install, env: [], folder: stack.folder }, purpose: 'install' }],
  );
  const commands = builds.length === 0 ? [...missing, ...verify] : [...missing, ...installs, ...builds, ...rest];
  const own = plan.setUp.flatMap(buildSetUpSteps);
  const hasTools = !plan.lacksTools && flattenSteps(plan.setUp).some(({ kind }) => kind === 'use');
  const used = plan.setUp.flatMap(actionsOf);
  const isUsed = (line: string): boolean => used.some((action) => line.includes(` ${action}@`));
  const isPipx = (line: string): boolean => line.startsWith('- run: pipx install');
  const installsTool = (tool: string): boolean =>
    own.some(([line = '']) => line.startsWith('- run: ') && new RegExp(`install .*\\b${tool}\\b`).test(line));
  const tools = hasTools
    ? []
    : stacks
        .filter(({ folder, setup }) => folders.has(folder) && setup.length > 0 && !setup.some(isUsed))
        .map(({ setup, packageManager }) => setup.filter((line) => !(isPipx(line) && installsTool(packageManager))))
        .filter((lines) => lines.length > 0);
  const isInstalled = own.some(([line = '']) => /uses: \S*\/\S*install/.test(line));
  return {
    commands,
    setUp: plan.setUp,
    hasBuilds: builds.length > 0,
    lines: [...tools, ...own, ...(isInstalled ? [] : missing.map(({ command }) => buildSetUpCommand(command)))],
  };
}

/** Returns the note on a job with other tests, if these need actions that the set-up lacks. */
function testsApart(
  { setUp, verify }: JobPlan,
  given: { readonly actions: ReadonlySet<string>; readonly texts: readonly string[]; readonly job: CiJob },
): readonly UnreadLine[] {
  const missing = unique(setUp.flatMap(actionsOf)).filter((action) => !given.actions.has(action));
  const isNew = verify.some(({ command, purpose }) => purpose === 'test' && !given.texts.includes(command.text));
  if (missing.length === 0 || !isNew) return [];
  return [{ what: `${given.job.path} (${given.job.id})`, why: `its tests also need ${missing.join(', ')}` }];
}

function actionsOf(step: CiStep): readonly string[] {
  if (step.kind === 'local') return [step.action, ...step.steps.flatMap(actionsOf)];
  return step.kind === 'use' ? [step.action.replace(/@.*$/s, '')] : [];
}

/**
 * Returns the checks of another job that need only the tools of the set-up, each with the commands that must run before
 * it: the installations and, for tests, the builds.
 */
function offersOf(
  plan: JobPlan,
  given: { readonly actions: ReadonlySet<string>; readonly texts: readonly string[]; readonly hasBuilds: boolean },
): readonly string[] {
  const isSetUp = plan.setUp.flatMap(actionsOf).every((action) => given.actions.has(action));
  const all = flattenSteps(plan.setUp).flatMap((step) => (step.kind === 'run' ? [step.command] : []));
  const isChanged = all.some(({ text }) => classifyCommand(text) === 'change');
  if (!isSetUp || isChanged || plan.isForeign || plan.lacksTools || (plan.takesArtifacts && !given.hasBuilds))
    return [];
  return all.flatMap((check, at) => {
    const purpose = classifyCommand(check.text);
    if (!['check', 'test', 'slow'].includes(purpose) || given.texts.includes(check.text)) return [];
    if (NEEDS_OTHER_TOOLS.test(check.text)) return [];
    const builds: readonly CommandPurpose[] = isTestPurpose(purpose) ? ['install', 'build', 'before'] : ['install'];
    const needed = all.slice(0, at).filter(({ text }) => builds.includes(classifyCommand(text)));
    // A build with other options overwrites what `verify` built, so all of its commands are needed.
    const isNew = ({ text }: CiCommand): boolean => !given.texts.includes(text);
    const isOther = needed.some((one) => isNew(one) && classifyCommand(one.text) !== 'install');
    const before = needed.filter((one) => isNew(one) || (isOther && classifyCommand(one.text) !== 'install'));
    return [joinCommands([...before, check].map(renderVerifyLine))];
  });
}

/** Matches commands for another toolchain or machine, which only their own job installs. */
const NEEDS_OTHER_TOOLS = /^\w+ \+\w|\s--target[ =]/;

function commandsByFolder(commands: readonly CommandWithPurpose[], offered: readonly string[]): CiProposal['byFolder'] {
  const folders = [...new Set(commands.map(({ command }) => command.folder))];
  return new Map(
    folders.map((folder) => {
      const joined = (...purposes: readonly CommandPurpose[]): string | null => {
        const all = unique(
          commands
            .filter((one) => one.command.folder === folder && purposes.includes(one.purpose))
            .map(({ command }) => ({ ...command, folder: '' })),
          renderVerifyLine,
        );
        const isInOther = ({ text }: CiCommand): boolean => all.length > 1 && /^cd\s|&& cd\s/.test(text);
        return (
          joinCommands(all.map((one) => (isInOther(one) ? `(${renderVerifyLine(one)})` : renderVerifyLine(one)))) ||
          null
        );
      };
      const lint =
        folder === '' ? (offered.find((line) => /lint|clippy|\bvet\b|credo|rubocop/.test(line)) ?? null) : null;
      return [
        folder,
        { install: joined('install'), build: joined('build'), test: joined('test', 'slow'), lint },
      ] as const;
    }),
  );
}

function submodulesOf(steps: readonly CiStep[]): CiProposal['submodules'] {
  const given = steps.map((step) => (step.kind === 'checkout' ? step.submodules : ''));
  return given.includes('recursive') ? 'recursive' : given.includes('true') ? 'true' : null;
}

function uniqueSteps(steps: readonly (readonly string[])[]): readonly (readonly string[])[] {
  return unique(steps, (lines) => (lines[0]?.startsWith('- uses: ') === true ? lines[0] : lines.join('\n')));
}

function unique<T>(list: readonly T[], keyOf: (item: T) => unknown = (item) => item): readonly T[] {
  return [...new Map(list.map((item) => [keyOf(item), item])).values()];
}
