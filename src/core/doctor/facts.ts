import type { AgentName } from '../agent-names.ts';
import type { ReportedSettings } from '../settings/effective.ts';
import { toIssueLane, QUEUE } from '../tasks/ids.ts';
import type { RalphStep, Workflow } from './workflow.ts';

/** A fact that was looked up, or a sentence that says why it is unknown. */
export type AskedValue<T> =
  | { readonly kind: 'known'; readonly value: T }
  | { readonly kind: 'unknown'; readonly why: string };

/** A rule that applies to a branch, and its ruleset. */
export interface BranchRule {
  readonly type: string;
  readonly ruleset: number;
  /** The repository or organisation that owns the ruleset. */
  readonly source: string;
  readonly ofOrganization: boolean;
}

/** A repository's settings on GitHub. */
export interface RepositorySettings {
  readonly token: AskedValue<{ readonly writes: boolean; readonly mayOpenPullRequests: boolean }>;
  /** Names of the secrets that the repository's workflows can use, including those of its organisation. */
  readonly secrets: AskedValue<readonly string[]>;
  readonly hasLabel: AskedValue<boolean>;
  readonly workflows: AskedValue<readonly WorkflowState[]>;
  /** Texts of files on the default branch by their paths; null for a file that does not exist. */
  readonly onDefaultBranch: AskedValue<Readonly<Record<string, string | null>>>;
  /** Existing branches whose names prevent git from creating the queue's branch or an issue's branch. */
  readonly inTheWay: AskedValue<readonly { readonly branch: string; readonly existing: readonly string[] }[]>;
  /** The rules for the queue's branch and for an example issue's branch. */
  readonly branchRules: AskedValue<readonly BranchRule[]>;
  /**
   * The classic protection rules of the same two branches; null if neither exists, because GitHub then returns none.
   */
  readonly branchProtection: AskedValue<readonly string[] | null>;
  readonly pushRulesets: AskedValue<readonly { readonly id: number; readonly name: string }[]>;
}

/** Returns example names of Ralph's branches, for settings that GitHub returns only per branch name. */
export function listExampleBranches(prefix: string): readonly string[] {
  return [prefix + QUEUE, prefix + toIssueLane(1)];
}

/** A workflow and its state in GitHub's words: `active`, `disabled_inactivity`, `disabled_manually`. */
interface WorkflowState {
  readonly path: string;
  readonly state: string;
}

/** Returns settings that are all unknown for the same reason. */
export function createUnknownSettings(why: string): RepositorySettings {
  const unknown = { kind: 'unknown', why } as const;
  return {
    token: unknown,
    secrets: unknown,
    hasLabel: unknown,
    workflows: unknown,
    onDefaultBranch: { kind: 'unknown', why },
    inTheWay: unknown,
    branchRules: unknown,
    branchProtection: unknown,
    pushRulesets: unknown,
  };
}

/** The repository on GitHub. */
export interface RepositoryFacts {
  readonly name: string;
  /** URL of the repository without a slash at the end. */
  readonly webUrl: string;
  readonly settings: RepositorySettings;
}

/** The result of trying the agent's key in this environment. */
export type KeyTrial =
  | { readonly kind: 'none' }
  /** A key exists, but not in the form that the agent needs; `problems` are sentences. */
  | { readonly kind: 'malformed'; readonly problems: readonly string[] }
  /** A key exists under a name that the agent does not read; `why` is a sentence. */
  | { readonly kind: 'misnamed'; readonly why: string }
  | { readonly kind: 'form-only' }
  | { readonly kind: 'accepted' }
  | { readonly kind: 'refused'; readonly status: number }
  | { readonly kind: 'unanswered'; readonly why: string };

/** The result of the verify commands on the base; `not-tried` means that nobody requested a trial. */
export type BaseTrial =
  | { readonly kind: 'not-tried' }
  /**
   * The result that an earlier run found for the same commit and commands; `failed` is the command, or null if all
   * passed.
   */
  | { readonly kind: 'remembered'; readonly failed: string | null }
  | { readonly kind: 'passed'; readonly seconds: number }
  | { readonly kind: 'failed'; readonly command: string; readonly tail: string }
  /** A command needs a variable that the run withholds from it; `why` is one sentence per variable. */
  | { readonly kind: 'withheld'; readonly why: string }
  | { readonly kind: 'impossible'; readonly why: string };

/** The pipeline that runs read from the base branch. */
export interface PipelineTrial {
  /** The workflow's file; null for this run and for `ralph run`. */
  readonly where: string | null;
  readonly found:
    | { readonly kind: 'unknown'; readonly why: string }
    /** `problems` are sentences with file, line and column. */
    | { readonly kind: 'wrong'; readonly problems: readonly string[] }
    /** `says` lists the steps and the unused files; empty if there is no pipeline file. */
    | { readonly kind: 'read'; readonly says: readonly string[]; readonly warnings: readonly string[] };
  /** Variables that the pipeline's files use and whose values only a run knows. */
  readonly openVariables: readonly string[];
}

/** A workflow file of the checkout that uses the action, or that cannot be read; `why` is the reason. */
export type WorkflowFile =
  | { readonly kind: 'workflow'; readonly text: string; readonly workflow: Workflow }
  | { readonly kind: 'unreadable'; readonly path: string; readonly why: string };

/** A workflow of the checkout that does not use the action. */
export interface OtherWorkflow {
  /** The name of the workflow under `workflow_run`. */
  readonly name: string;
  readonly checksPullRequests: boolean;
}

/** Everything that the checks read. */
export interface DoctorFacts {
  readonly files: readonly WorkflowFile[];
  readonly others: readonly OtherWorkflow[];
  /** One entry for each workflow. */
  readonly settings: readonly ReportedSettings[];
  readonly pipelines: readonly PipelineTrial[];
  readonly repository: AskedValue<RepositoryFacts>;
  readonly key: KeyTrial;
  readonly verify: BaseTrial;
  /** Text of .ralph/AGENT.md; empty if it does not exist. */
  readonly agentNotes: string;
  readonly hasNpm: boolean;
  /** The cost that all of today's runs (UTC) used or reserved, in US dollars. */
  readonly spentTodayUsd: AskedValue<number>;
}

/** The action's rules for its inputs, events, login and tools, as functions that the checks call. */
export interface ActionRules {
  /** The inputs of action.yml. */
  readonly inputs: readonly string[];
  /** The inputs that only the action of one job has. */
  readonly jobInputs: readonly string[];
  /** Returns a verb phrase about the replacement of an old input name, or null for any other name. */
  readonly renamed: (name: string) => string | null;
  /** Returns the problems of the inputs' values, as verb phrases. */
  readonly inputProblems: (
    texts: Readonly<Record<string, string>>,
  ) => readonly { readonly name: string; readonly why: string }[];
  readonly events: readonly { readonly event: string; readonly types: readonly string[] | null }[];
  /** Returns the problems of a login with these variables, for the agents in a step's inputs. */
  readonly loginProblems: (
    environment: Readonly<Record<string, string>>,
    step: Pick<RalphStep, 'action' | 'inputs'>,
  ) => readonly string[];
  /** Returns the agents in the inputs, in order. If `path` is null, `version` is installed. */
  readonly agents: (
    inputs: Readonly<Record<string, string>>,
  ) => readonly { readonly name: AgentName; readonly version: string; readonly path: string | null }[];
  /** Returns the models in the inputs whose price is unknown. */
  readonly unpricedModels: (inputs: Readonly<Record<string, string>>) => readonly string[];
  readonly keyInputs: readonly string[];
  /**
   * Returns the simple commands of a line that these rules do not allow, or null if the line cannot be parsed with
   * certainty.
   */
  readonly refusedCommands: (line: string, rules: readonly string[]) => readonly string[] | null;
  /** Returns the rules that a value of `allowed-tools` stands for. */
  readonly toolRulesOf: (text: string) => readonly string[];
  readonly defaults: Readonly<Record<string, string>>;
}

/** The inputs whose defaults the checks use. */
export type DefaultedInput =
  | 'task-label'
  | 'task-sources'
  | 'notify'
  | 'auto-merge'
  | 'sign-commits'
  | 'state-store'
  | 'agent-version'
  | 'allowed-tools'
  | 'max-cost-usd'
  | 'max-cost-usd-per-day'
  | 'max-minutes'
  | 'answer-reviews'
  | 'answer-checks'
  | 'branch-prefix';

/**
 * Returns the workflow files with the effective settings in place of inputs that are not given, because the checks
 * examine effective values. Settings with problems are reported separately and change nothing here.
 */
export function withEffectiveInputs(
  files: readonly WorkflowFile[],
  answered: readonly ReportedSettings[],
): readonly WorkflowFile[] {
  return files.map((file) => {
    if (file.kind !== 'workflow') return file;
    const { workflow } = file;
    const of = answered.find(({ workflow: path }) => path === workflow.path);
    if (of === undefined || of.problems.length > 0) return file;
    const found = of.settings
      .filter(({ origin }) => origin !== 'default')
      .map(({ input, text }) => [input, text] as const);
    const uses = workflow.uses.map((step) => ({ ...step, inputs: { ...step.inputs, ...Object.fromEntries(found) } }));
    return { ...file, workflow: { ...workflow, uses } };
  });
}
