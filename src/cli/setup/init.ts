import { AGENT_NAMES, AGENTS, DEFAULT_AGENT } from '../../core/agent-names.ts';
import { detectProject, selectFilesToRead } from '../../core/setup/detect.ts';
import { buildSetUpFiles, SETUP_PATHS, type SetupChoices, type Templates } from '../../core/setup/files.ts';
import { planFileRemoval, planFileWrite } from '../../core/setup/ownership.ts';
import { convertServices } from '../../core/setup/ci/services.ts';
import type { Project } from '../../core/setup/project.ts';
import {
  callsWorkflow,
  findVerifyProblem,
  keyKinds,
  loginOfChoices,
  proposeVerify,
  workflowShapes,
} from '../../core/setup/workflow.ts';
import { parseArguments, type ParsedArguments } from '../arguments.ts';
import { getDefault } from '../../config/setting-table.ts';
import { listSettingsPaths } from '../../config/settings/run-texts.ts';
import {
  changeFiles,
  describeLockedFolders,
  readFiles,
  type FilesRead,
  findSettingsLeftToFile,
  type LeftToFile,
} from './checkout-files.ts';
import { listOfferedChecks, buildSetupReport } from './setup-report.ts';
import type { SetupReport } from './setup-schema.ts';
import {
  renderStepsByHand,
  renderChangedFiles,
  renderFoundProject,
  renderOfferedChecks,
  renderPreview,
} from './setup-text.ts';
import type { SetupCheckout, SetupWorld } from './setup-world.ts';
import { wrapText } from '../terminal-text.ts';
import { type CliCommand, type CommandEnd, COMMAND_LIST, type Terminal, UsageError } from '../command.ts';

const HELP = `Usage: ralph init [--yes] [--verify COMMAND] [--agent NAME] [--agent-path PATH]
                  [--key KIND] [--workflow FORM] [--prompt] [--remove] [--json]

Sets a repository up. It reads your own CI: the jobs that run for pull requests
and pushes say which set-up steps and which tests the project has; without such
jobs, the files of its languages do. It asks what it cannot know, lists the
files that it would write, and writes them when you agree: the workflow, the
steps that set the project up for the agent, .ralph/AGENT.md with the commands,
an issue form and lines of .gitignore. Existing files stay as they are, and a
second run changes nothing. The workflow does not repeat what a .ralphrc sets.
At the end, init lists what is left to do by hand, and what a run can cost.

  --yes              asks nothing and writes
  --verify COMMAND   what must pass before work counts as done (default: the
                     tests of your CI, or those that were found)
  --agent NAME       which agent works: ${AGENT_NAMES.slice(0, 4).join(', ')},
                     ${AGENT_NAMES.slice(4).join(', ')} (default: ${DEFAULT_AGENT})
  --agent-path PATH  its program; acp and command are programs of yours
  --key KIND         who pays for Claude: api-key (default) or subscription;
                     without a stored key aws, google or anthropic, to which
                     each run then logs in
  --prompt           also writes .ralph/PROMPT.md, to change the instructions
                     that the agent gets
  --workflow FORM    three-jobs (default on github.com): the agent's job holds
                     no token that can write; single: one job, for GitHub
                     Enterprise Server and steps of your own
  --action NAME      what the workflow uses, as OWNER/ralph-action@v1
  --remove           removes what init wrote, unless somebody changed it
  --dir FOLDER       the checkout (default: the current folder)
  --remote NAME      the remote that names the repository (default: origin)
  --json             prints one JSON object instead, and writes only with --yes;
                     described by schemas/ralph-init.schema.json

Exit codes: 0 done or nothing to do, 1 you did not agree or a file could not be
written, 2 wrong arguments.
`;

/** Creates `ralph init`, which writes the files that a repository needs. */
export function createInitCommand(open: () => Promise<SetupWorld>): CliCommand {
  return { ...COMMAND_LIST.init, help: HELP, run: async (args, terminal) => init(args, terminal, open) };
}

async function init(args: readonly string[], terminal: Terminal, open: () => Promise<SetupWorld>): Promise<CommandEnd> {
  const given = parseArguments(
    args,
    {
      ...{ yes: 'flag', prompt: 'flag', remove: 'flag', json: 'flag' },
      ...{ verify: 'value', agent: 'value', 'agent-path': 'value', key: 'value', workflow: 'value', action: 'value' },
      ...{ dir: 'value', remote: 'value' },
    },
    { name: 'an argument', min: 0, max: 0 },
  );
  const problems = [...given.problems, ...valueProblems(given)];
  if (problems.length > 0) throw new UsageError(problems);
  const world = await open();
  const { columns } = world;
  /** Prints text wrapped to the terminal; only diffs are printed with their own line breaks. */
  const say = (text: string): void => {
    terminal.out(columns === null ? text : wrapText(text, columns));
  };
  const { yes, json, remove } = { yes: given.has('yes'), json: given.has('json'), remove: given.has('remove') };
  if (!yes && !json && world.person === null)
    throw new UsageError([
      `there is no terminal to ask in. Use --yes to ${remove ? 'remove' : 'write'} the files, or --json to see what would be ${remove ? 'removed' : 'written'}.`,
    ]);
  const checkout = await world.openCheckout({
    folder: given.values('dir')[0] ?? '.',
    remote: given.values('remote')[0] ?? null,
  });
  if (checkout.kind === 'missing') throw new UsageError([checkout.why]);
  const texts = await readFiles(checkout.folder, [...selectFilesToRead(checkout.paths), ...listSettingsPaths('')]);
  const left = findSettingsLeftToFile(texts);
  const project = detectProject({ ...checkout, texts: textsOf(texts) });
  const defaults = await readDefaults(world);
  const own = textsOf(texts).get(project.ralphWorkflow) ?? null;
  const found = choicesOf(given, { project, checkout, own, left, defaults });
  const isAsking = !yes && !json && !remove && world.person !== null;
  const facts = { project, checkout, maxCostUsd: defaults.maxCostUsd, left };
  if (isAsking) say(renderFoundProject(buildSetupReport(facts, found, { changes: [], workflow: '' })));
  const choices = isAsking ? await world.person.choose(found, listOfferedChecks(project, found.verify)) : found;
  if (choices === null) return failed(terminal, ['nothing was written.']);

  const wanted = remove
    ? buildSetUpFiles(
        { ...project, ralphWorkflow: SETUP_PATHS.workflow },
        { ...choices, shape: 'three-jobs', prompt: true },
        defaults.templates,
      )
    : buildSetUpFiles(project, choices, defaults.templates);
  const before = await readFiles(
    checkout.folder,
    wanted.map(({ path }) => path),
  );
  const refused = [...before].flatMap(([path, file]) => (file.kind === 'refused' ? [`${path} ${file.why}.`] : []));
  if (refused.length > 0) return failed(terminal, refused);
  const change = remove ? planFileRemoval : planFileWrite;
  const changes = wanted.map((file) => change(file, textsOf(before).get(file.path) ?? null, world.digest));
  const ownWorkflow = wanted.find(({ path }) => path === SETUP_PATHS.workflow);
  const present = textsOf(before).get(SETUP_PATHS.workflow) ?? textsOf(texts).get(project.ralphWorkflow);
  const workflow = present ?? (ownWorkflow?.kind === 'whole' ? ownWorkflow.text : '');
  const report = buildSetupReport(facts, choices, { changes, workflow });
  const isNeeded = changes.some(({ kind }) => !['same', 'absent', 'left'].includes(kind));
  if (!json) {
    if (!isAsking && !remove) say(renderFoundProject(report));
    if (yes) terminal.out(renderPreview(changes, world.colours));
    else say(renderChangedFiles(changes));
    if (!isNeeded) terminal.out('Nothing to change.\n');
  }
  const locked = isNeeded && (yes || !json) ? await describeLockedFolders(changes, before) : [];
  if (locked.length > 0)
    return failed(terminal, [
      ...locked,
      'nothing was changed. Make it writable for your user, or use a checkout of your own, and run init again.',
    ]);
  const question = remove ? 'Remove what init wrote?' : 'Write these files?';
  const showDiff = (): void => {
    terminal.out(renderPreview(changes, world.colours));
  };
  const isAgreed = isNeeded && (yes || (!json && (await world.person?.review(question, showDiff)) === true));
  const unwritten = isAgreed ? await changeFiles(changes, before) : [];
  if (json) terminal.out(`${JSON.stringify({ ...report, written: isAgreed && unwritten.length === 0 })}\n`);
  if (unwritten.length > 0) return failed(terminal, unwritten);
  if (isNeeded && !isAgreed && !json) return failed(terminal, [`nothing was ${remove ? 'removed' : 'written'}.`]);
  if (remove && isAgreed && !json) terminal.out('Removed what init wrote and nobody changed.\n');
  if (json || remove) return 'done';
  if (isAsking && choices.verify.length > 0 && (await world.person.confirm('Run verify once in a clean clone now?')))
    say(await triedVerify(world, { folder: checkout.folder, commands: choices.verify }, terminal));
  // A person who was asked has already chosen among the other checks of CI, so do not list them again.
  say(`${isAsking ? '' : renderOfferedChecks(report)}${renderStepsByHand(report)}`);
  return 'done';
}

async function triedVerify(
  world: SetupWorld,
  at: { readonly folder: string; readonly commands: readonly string[] },
  terminal: Terminal,
): Promise<string> {
  const result = await world.tryVerify(at, (line) => {
    terminal.out(`${line}\n`);
  });
  return `${result}\n`;
}

function failed(terminal: Terminal, problems: readonly string[]): CommandEnd {
  terminal.error(problems.map((problem) => `ralph init: ${problem}\n`).join(''));
  return 'failed';
}

function valueProblems(given: ParsedArguments): readonly string[] {
  const [verify = ''] = given.values('verify');
  const [workflow = 'three-jobs'] = given.values('workflow');
  const [path = ''] = given.values('agent-path');
  const { agent, key } = agentOf(given);
  const isLogin = agent !== null && key !== null && loginOfChoices({ agent, key }) !== null;
  const isShape = workflowShapes.some((shape) => shape === workflow);
  const [action] = given.values('action');
  const why = findVerifyProblem(verify);
  return [
    ...(why === null ? [] : [`--verify: ${why}`]),
    ...(key === null ? [`--key: expected one of ${keyKinds.join(', ')}.`] : []),
    ...(isLogin && workflow === 'single' ? ['--key: a login of each run needs the workflow of three jobs.'] : []),
    ...(agent === null ? [`--agent: expected one of ${AGENT_NAMES.join(', ')}.`] : []),
    ...(agent !== null && AGENTS[agent].source === null && path.trim() === ''
      ? [`--agent-path: name the program, since the agent ${agent} is one of yours.`]
      : []),
    ...(findVerifyProblem(path) === null ? [] : [`--agent-path: ${findVerifyProblem(path) ?? ''}`]),
    ...(isShape ? [] : ['--workflow: expected three-jobs or single.']),
    ...(action === undefined || /^[\w.-]+\/[\w.-]+@[\w./-]+$/.test(action)
      ? []
      : ['--action: expected OWNER/NAME@VERSION, such as OWNER/ralph-action@v1.']),
  ];
}

/** Returns the agent and the kind of its key, or null if the agent's name is unknown. */
function agentOf(given: ParsedArguments) {
  const [name = getDefault('agent')] = given.values('agent');
  const [kind = 'api-key'] = given.values('key');
  return {
    agent: AGENT_NAMES.find((known) => known === name) ?? null,
    key: keyKinds.find((known) => known === kind) ?? null,
  };
}

const GITHUB = 'https://github.com';

function choicesOf(
  given: ParsedArguments,
  facts: {
    readonly project: Project;
    readonly checkout: Extract<SetupCheckout, { kind: 'open' }>;
    /** The text of the existing workflow, or null if none. */
    readonly own: string | null;
    readonly left: LeftToFile | null;
    readonly defaults: Defaults;
  },
): SetupChoices {
  const { project, checkout, own, left, defaults } = facts;
  const [verify] = given.values('verify');
  const [asked] = given.values('workflow');
  const services = convertServices(project.learned?.services ?? {});
  // The reusable workflow can start services only in a set-up step. On servers other than github.com it also does not
  // know the name of its own action. In these cases, the workflow has a single job instead.
  const isCallable = services?.steps !== null && (checkout.home?.server ?? GITHUB) === GITHUB;
  const isSingle = own === null ? !isCallable : !callsWorkflow(own);
  const of = agentOf(given);
  const who = {
    agent: of.agent ?? DEFAULT_AGENT,
    key: of.key ?? 'api-key',
    agentPath: given.values('agent-path')[0] ?? '',
  };
  return {
    shape:
      workflowShapes.find((shape) => shape === asked) ??
      (isSingle && loginOfChoices(who) === null ? 'single' : 'three-jobs'),
    verify: verify === undefined ? proposeVerify(project) : [verify].filter((line) => line.trim() !== ''),
    ...who,
    action: given.values('action')[0] ?? defaults.action,
    prompt: given.has('prompt'),
    repository: checkout.home?.repository ?? null,
    label: left?.settings.find(({ input }) => input === 'task-label')?.text.trim() ?? defaults.templates.taskLabel,
    // A `--verify` command goes into the workflow and overrides the one in the file.
    leftTo:
      left === null
        ? null
        : {
            path: left.path,
            inputs: left.settings
              .map(({ input }) => input)
              .filter((input) => input !== 'verify' || verify === undefined),
          },
  };
}

function textsOf(files: FilesRead): ReadonlyMap<string, string> {
  return new Map([...files].flatMap(([path, file]) => (file.kind === 'text' ? [[path, file.text] as const] : [])));
}

interface Defaults {
  readonly templates: Templates;
  /** The action that the workflow uses by default, or null for the template's. */
  readonly action: string | null;
  readonly maxCostUsd: SetupReport['maxCostUsd'];
}

/** Reads the templates of this package and the defaults. */
async function readDefaults(world: SetupWorld): Promise<Defaults> {
  const [home, workflow, called, prompt] = await Promise.all([
    world.home(),
    ...['templates/workflows/ralph.yml', 'templates/workflows/three-jobs.yml', 'templates/PROMPT.md'].map((path) =>
      world.packageFile(path),
    ),
  ]);
  return {
    templates: {
      workflows: { single: workflow ?? '', 'three-jobs': called ?? '' },
      prompt: prompt ?? '',
      allowedTools: getDefault('allowed-tools'),
      taskLabel: getDefault('task-label'),
    },
    action: ownAction(workflow ?? '', home),
    maxCostUsd: { run: Number(getDefault('max-cost-usd')), day: Number(getDefault('max-cost-usd-per-day')) },
  };
}

/** Returns the template's action with the account that it is fetched from, or null if the account is unknown. */
function ownAction(workflow: string, home: string | null): string | null {
  const version = /uses: OWNER\/ralph-action(@\S+)/.exec(workflow)?.[1];
  return home === null || version === undefined ? null : `${home}${version}`;
}
