/** A workflow that uses the action, as far as the checks look at it. */
export interface Workflow {
  readonly path: string;
  /** By which `workflow_run` knows it. */
  readonly name: string;
  readonly triggers: readonly Trigger[];
  readonly uses: readonly RalphStep[];
}

interface Trigger {
  readonly event: string;
  /** null: none are given. */
  readonly types: readonly string[] | null;
  /** Of `workflow_run`: the names of the workflows; of others empty. */
  readonly workflows: readonly string[];
}

/** A step with the action, and what its job gives it. */
export interface RalphStep {
  readonly job: string;
  /** `owner/ralph-action@v1`. */
  readonly action: string;
  /** `inputs`: the action has another name, but takes what only this one takes. */
  readonly knownBy: 'name' | 'inputs';
  /** The conditions of its job and of itself, one after the other; empty: none. */
  readonly condition: string;
  readonly permissions: Permissions;
  /** Labels of the machine; empty: an expression or a group. */
  readonly runsOn: readonly string[];
  /** As it is written; empty: GitHub's own limit. */
  readonly timeoutMinutes: string;
  /** The workflow's or the job's `cache-mode`; null: GitHub's own choice. */
  readonly cacheMode: string | null;
  /** Whether its job names an environment, which has secrets of its own. */
  readonly hasEnvironment: boolean;
  readonly inputs: Texts;
  /** The inputs as the workflow has them, whatever stands in their place in `inputs`. */
  readonly given: Texts;
  readonly environment: Texts;
  /** Inputs of the actions/checkout before it, of the one without a `path` if there is one; null: there is none. */
  readonly checkout: Texts | null;
  /** Actions of its job that store a cache once its last step is done. */
  readonly caches: readonly string[];
}

type Texts = Readonly<Record<string, string>>;

/** `absent`: the repository's default holds. */
type Permissions =
  | { readonly kind: 'absent' }
  | { readonly kind: 'all'; readonly level: string }
  | { readonly kind: 'each'; readonly levels: Texts };

/** Reads a workflow's YAML, as plain data; null: it does not use the action. */
export function parseWorkflow(path: string, data: unknown): Workflow | null {
  const file = entriesOf(data);
  const uses = Object.entries(entriesOf(file.jobs)).flatMap(([job, value]) => ralphSteps(job, entriesOf(value), file));
  return uses.length === 0 ? null : { path, name: textOf(file.name) || path, triggers: triggersOf(file.on), uses };
}

/** The reusable workflow of the action, of any owner and in whatever copy. */
const RALPH_WORKFLOW = /^[^/\s]+\/[^/\s]+\/\.github\/workflows\/ralph\.yml(?:@|$)/i;

/** As its first job filters events. */
const ITS_CONDITION = 'github.event.label.name == inputs.task-label, startsWith(github.event.comment.body)';

/** Whether a job's `uses:` is the reusable workflow. */
export function callsRalph(uses: string): boolean {
  return RALPH_WORKFLOW.test(uses);
}

/** A job that calls the reusable workflow, as the step that its jobs are made of. */
function calledSteps(job: string, given: Entries, file: Entries): readonly RalphStep[] {
  const action = textOf(given.uses);
  if (!callsRalph(action)) return [];
  const {
    'runs-on': runsOn = 'ubuntu-latest',
    'timeout-minutes': timeoutMinutes = '60',
    ...inputs
  } = textsOf(given.with);
  return [
    {
      job,
      action,
      knownBy: 'name',
      condition: [textOf(given.if), ITS_CONDITION].join(' ').trim(),
      permissions: permissionsOf(given.permissions ?? file.permissions),
      runsOn: /[[$]/.test(runsOn) ? [] : [runsOn],
      timeoutMinutes,
      cacheMode: textOf(file['cache-mode']) || null,
      hasEnvironment: false,
      inputs: { ...inputs, ...textsOf(given.secrets) },
      given: { ...inputs, ...textsOf(given.secrets) },
      environment: {},
      checkout: { ref: 'its own choice', 'fetch-depth': '0', 'persist-credentials': 'false' },
      caches: [],
    },
  ];
}

function ralphSteps(job: string, given: Entries, file: Entries): readonly RalphStep[] {
  if (given.uses !== undefined) return calledSteps(job, given, file);
  const steps = Array.isArray(given.steps) ? given.steps.map(entriesOf) : [];
  return steps.flatMap((step, index) => {
    const action = textOf(step.uses);
    const knownBy = actionKnownBy(action, Object.keys(entriesOf(step.with)));
    if (knownBy === null) return [];
    const checkouts = steps.slice(0, index).filter(({ uses }) => /^actions\/checkout(@|$)/i.test(textOf(uses)));
    const checkout = checkouts.find((one) => (textsOf(one.with).path ?? '') === '') ?? checkouts[0];
    return [
      {
        job,
        action,
        knownBy,
        condition: [given.if, step.if].map(textOf).join(' ').trim(),
        permissions: permissionsOf(given.permissions ?? file.permissions),
        runsOn: textList(given['runs-on']),
        timeoutMinutes: textOf(given['timeout-minutes']),
        cacheMode: textOf(given['cache-mode'] ?? file['cache-mode']) || null,
        hasEnvironment: given.environment !== undefined,
        inputs: textsOf(step.with),
        given: textsOf(step.with),
        environment: { ...textsOf(file.env), ...textsOf(given.env), ...textsOf(step.env) },
        checkout: checkout === undefined ? null : textsOf(checkout.with),
        caches: steps.filter(storesCache).map((one) => textOf(one.uses)),
      },
    ];
  });
}

/** Whether a step's post step stores files of the machine, as they are at the end of the job. */
function storesCache(step: Entries): boolean {
  const uses = textOf(step.uses);
  const { cache = '' } = textsOf(step.with);
  return (
    /^actions\/cache(?:@|$)/i.test(uses) ||
    (/^actions\/setup-[\w-]+(?:@|$)/i.test(uses) && !['', 'false'].includes(cache))
  );
}

/** How a step shows that it uses the action; null: it does not. */
export function actionKnownBy(uses: string, inputs: readonly string[]): RalphStep['knownBy'] | null {
  if (RALPH_ACTION.test(uses)) return 'name';
  return uses !== '' && takesRalphInputs(inputs) ? 'inputs' : null;
}

/** Of any owner, also of a folder of a repository that has it under another name. */
const RALPH_ACTION = /(?:^|\/)ralph-action(?:@|$)/i;

/** Inputs that hardly any other action has, those of earlier versions included. */
const TELLING =
  /^(?:(?:circuit|cb)-[a-z-]+|task-(?:label|sources)|max-(?:calls|tokens|iterations|cost|open|tasks|lines|patch)[a-z-]*|completion-signals|test-only-iterations|allow-protected-paths|state-store|on-(?:limit|permission-denied)|verify)$/;

const KEYS = /^(?:anthropic-api-key|claude-code-oauth-token|openai-api-key|gemini-api-key|copilot-github-token)$/;

/** Whether a step's inputs look like this action's: two telling ones, or one beside a key for the agent. */
export function takesRalphInputs(inputs: readonly string[]): boolean {
  const telling = inputs.filter((name) => TELLING.test(name)).length;
  return telling >= 2 || (telling === 1 && inputs.some((name) => KEYS.test(name)));
}

function triggersOf(on: unknown): Workflow['triggers'] {
  if (typeof on === 'string') return [{ event: on, types: null, workflows: [] }];
  if (Array.isArray(on)) return on.map((event) => ({ event: textOf(event), types: null, workflows: [] }));
  return Object.entries(entriesOf(on)).map(([event, value]) => {
    const { types, workflows } = entriesOf(value);
    return {
      event,
      types: types === undefined || types === null ? null : textList(types),
      workflows: textList(workflows),
    };
  });
}

function permissionsOf(value: unknown): Permissions {
  if (value === undefined) return { kind: 'absent' };
  return typeof value === 'string' ? { kind: 'all', level: value } : { kind: 'each', levels: textsOf(value) };
}

type Entries = Readonly<Record<string, unknown>>;

function entriesOf(value: unknown): Entries {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Entries) : {};
}

function textsOf(value: unknown): Texts {
  return Object.fromEntries(Object.entries(entriesOf(value)).map(([name, text]) => [name, textOf(text)]));
}

function textList(value: unknown): readonly string[] {
  return (Array.isArray(value) ? value : [value]).map(textOf).filter((text) => text !== '');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.trim() : ['number', 'boolean'].includes(typeof value) ? String(value) : '';
}

/** Whether a text of a workflow is only known when it runs. */
export function isExpression(text: string): boolean {
  return text.includes('${{');
}

/** Names of the secrets that a text of a workflow reads, in capitals as GitHub keeps them. */
export function secretsIn(text: string): readonly string[] {
  return [...text.matchAll(/\bsecrets\.([A-Za-z_]\w*)|\bsecrets\[\s*'([A-Za-z_]\w*)'\s*\]/g)].map(
    ([, dotted, quoted]) => (dotted ?? quoted ?? '').toUpperCase(),
  );
}
