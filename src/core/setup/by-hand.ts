import { takesRalphInputs } from '../doctor/workflow.ts';
import { SETUP_PATHS, type SetupChoices } from './files.ts';
import { listFirstNames } from '../text/phrase.ts';
import { hasInitMark } from './ownership.ts';
import type { Project } from './project.ts';
import { isLeftToFile, keyOfChoices, loginOfChoices } from './workflow.ts';

/** A step that a person takes. */
interface Step {
  readonly what: string;
  /** Page of the repository on GitHub, relative to its URL; null if none. */
  readonly path: string | null;
}

/** The workflow after init; `another` is a person's workflow that does not use ralph-action. */
type PresentWorkflow =
  | { readonly kind: 'ralph'; readonly action: string; readonly hasVerify: boolean; readonly hasServices: boolean }
  | { readonly kind: 'another' };

/** Returns true if a job of a workflow starts services. */
export function hasServices(text: string): boolean {
  return /^ {2,8}services:\s*(?:#.*)?$/m.test(text);
}

/** Parses the facts about an existing workflow from its text. */
export function parsePresentWorkflow(text: string): PresentWorkflow {
  const named =
    /^[\s-]*uses:\s*["']?([\w./-]*ralph-action(?:\/\.github\/workflows\/ralph(?:-keyless)?\.yml)?(?:@[\w./-]+)?)["']?\s*(?:#.*)?$/m.exec(
      text,
    )?.[1];
  const inputs = [...text.matchAll(/^ {8,}([a-z-]+):/gm)].map(([, name = '']) => name);
  // A copy of the action may have another name, and init's own file may use any action, so inputs and the mark identify
  // it as well.
  if (named === undefined && !takesRalphInputs(inputs) && !hasInitMark(text)) return { kind: 'another' };
  return {
    kind: 'ralph',
    action: named ?? '',
    hasVerify: /^\s+verify:/m.test(text),
    hasServices: hasServices(text) || /^\s+allowed-hosts:.*\blocalhost:\d/m.test(text),
  };
}

/** Returns the steps that let the agent reach its model. */
function accessSteps(choices: SetupChoices, workflow: string): readonly Step[] {
  const key = keyOfChoices(choices);
  if (key !== null) return [{ what: `Add the secret ${key.secret}.`, path: '/settings/secrets/actions/new' }];
  const login = loginOfChoices(choices);
  const what =
    login === null
      ? `Let a step of the set-up install ${choices.agentPath}, and add to ${workflow} agent-env with the names of its variables, and allowed-hosts with its host.`
      : `Let ${login.title} trust the repository, as "No stored keys" in docs/recipes.md says, and fill in ${listFirstNames(login.inputs)} in ${workflow}.`;
  return [{ what, path: null }];
}

/** Returns the steps that remain after the files are written, in order. */
export function listStepsByHand(given: {
  readonly choices: SetupChoices;
  readonly defaultBranch: string | null;
  readonly workflow: PresentWorkflow;
  /** Files of the set-up that git ignores. */
  readonly ignored: readonly string[];
  /** Problems of the settings file, as sentences. */
  readonly settingProblems: readonly string[];
  readonly project: Pick<Project, 'unreadable' | 'withServices' | 'ralphWorkflow'>;
}): readonly Step[] {
  const { choices, defaultBranch, workflow, ignored } = given;
  const { unreadable, withServices, ralphWorkflow } = given.project;
  return [
    ...unreadable.map((path) => ({
      what: `Repair ${path}: it is not a JSON object, so its commands were not found. Then run init with --remove, and run init again.`,
      path: null,
    })),
    ...given.settingProblems.map((problem) => ({
      what: `Fix this setting, which fails every run: ${problem}`,
      path: null,
    })),
    ...(workflow.kind === 'another'
      ? [
          {
            what: `Rename ${ralphWorkflow}, which does not use ralph-action, and run init again: it never replaces a file.`,
            path: null,
          },
        ]
      : []),
    ...(workflow.kind === 'ralph' && workflow.action.startsWith('OWNER/')
      ? [{ what: `In ${ralphWorkflow}, replace OWNER with the account that ralph-action belongs to.`, path: null }]
      : []),
    ...(workflow.kind === 'ralph' && !workflow.hasVerify && !isLeftToFile(choices, 'verify')
      ? [{ what: `Set verify in ${ralphWorkflow}: the command that proves that work is done.`, path: null }]
      : []),
    ...(workflow.kind === 'ralph' && !workflow.hasServices && withServices.length > 0
      ? [
          {
            what:
              choices.shape === 'single'
                ? `If the tests need the services of ${listFirstNames(withServices)}, such as a database: copy them, and the job's variables, to the job in ${ralphWorkflow}, and name the variables in its input agent-env.`
                : `If the tests need the services of ${listFirstNames(withServices)}, such as a database: start them with docker run in ${SETUP_PATHS.setUp}, and name their ports in the input allowed-hosts.`,
            path: null,
          },
        ]
      : []),
    ...(ignored.length === 0
      ? []
      : [
          {
            what: `Add ${listFirstNames(ignored)} with git add --force, or change .gitignore: git ignores ${ignored.length === 1 ? 'it' : 'them'}.`,
            path: null,
          },
        ]),
    {
      what: `Commit the files and get them onto ${defaultBranch ?? 'the default branch'}: workflows run from there.`,
      path: null,
    },
    ...accessSteps(choices, ralphWorkflow),
    { what: 'Tick "Allow GitHub Actions to create and approve pull requests".', path: '/settings/actions' },
    { what: `Create the label ${choices.label}, then put it on an issue.`, path: '/labels' },
  ];
}
