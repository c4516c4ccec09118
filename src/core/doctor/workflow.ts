import { KEY_INPUTS } from '../agent-names.ts';
import { LOGIN_INPUTS } from '../agents/login-term.ts';
/** A workflow that uses the action, reduced to the parts that the checks read. */
export interface Workflow {
  readonly path: string;
  /** The name by which `workflow_run` refers to the workflow. */
  readonly name: string;
  readonly triggers: readonly Trigger[];
  readonly uses: readonly RalphStep[];
}

interface Trigger {
  readonly event: string;
  /** The activity types, or null if the trigger lists none. */
  readonly types: readonly string[] | null;
  /** The names of the workflows of a `workflow_run` trigger; empty for any other event. */
  readonly workflows: readonly string[];
}

/** A step that uses the action, and the parts of its job that affect it. */
export interface RalphStep {
  readonly job: string;
  /** Path to the step in the workflow's data, or to the job if it calls the reusable workflow. */
  readonly at: readonly (string | number)[];
  /** The text after `uses:`, such as `owner/ralph-action@v1`. */
  readonly action: string;
  /** `inputs` means that the action has another name but takes distinctive inputs of this action. */
  readonly knownBy: 'name' | 'inputs';
  /** The conditions of the job and of the step, joined; empty if none. */
  readonly condition: string;
  readonly permissions: Permissions;
  /** The labels of the job's runner; empty for an expression or a group. */
  readonly runsOn: readonly string[];
  /** The text of `timeout-minutes`; empty if GitHub's default applies. */
  readonly timeoutMinutes: string;
  /** The `cache-mode` of the job or the workflow, or null if GitHub's default applies. */
  readonly cacheMode: string | null;
  /** True if the job names an environment, which may have its own secrets. */
  readonly hasEnvironment: boolean;
  readonly inputs: Texts;
  /** The inputs as written in the workflow file, even where `inputs` has another value. */
  readonly given: Texts;
  readonly environment: Texts;
  /** Inputs of the actions/checkout that precedes the step, preferably one without a `path`; null if none. */
  readonly checkout: Texts | null;
  /** Steps of the job that store a cache after this step. */
  readonly caches: readonly CacheStep[];
}

/** A step that stores a cache. `reach` is `outside` if all of its folders are known to be outside of the checkout. */
interface CacheStep {
  /** The action, with the step's name if it has one. */
  readonly title: string;
  readonly reach: 'checkout' | 'outside';
}

type Texts = Readonly<Record<string, string>>;

/** The permissions of a token; `absent` means that the repository's default applies. */
type Permissions =
  | { readonly kind: 'absent' }
  | { readonly kind: 'all'; readonly level: string }
  | { readonly kind: 'each'; readonly levels: Texts };

/** Parses a workflow from the data of its YAML; returns null if it does not use the action. */
export function parseWorkflow(path: string, data: unknown): Workflow | null {
  const file = asEntries(data);
  const uses = Object.entries(asEntries(file.jobs)).flatMap(([job, value]) => ralphSteps(job, asEntries(value), file));
  return uses.length === 0
    ? null
    : { path, name: scalarTextOf(file.name) || path, triggers: triggersOf(file.on), uses };
}

/** Matches the reusable workflows of the action, with any owner and in any repository. */
const RALPH_WORKFLOW = /^[^/\s]+\/[^/\s]+\/\.github\/workflows\/ralph(?<keyless>-keyless)?\.yml(?:@|$)/i;

/** The condition of the reusable workflow's first job, which filters events. */
const REUSABLE_CONDITION = 'github.event.label.name == inputs.task-label, startsWith(github.event.comment.body)';

/** Returns true if the `uses:` of a job is a reusable workflow of the action. */
export function callsRalph(uses: string): boolean {
  return RALPH_WORKFLOW.test(uses);
}

/** True if the `uses:` of a job is the reusable workflow that logs in without a stored key. */
export function logsInWithoutKey(uses: string): boolean {
  return RALPH_WORKFLOW.exec(uses)?.groups?.['keyless'] !== undefined;
}

/** Matches the login inputs of the reusable workflow without a stored key. */
const LOGIN_INPUT = /^(?:(?:aws|google)-[a-z-]+|anthropic-(?!api-key$)[a-z-]+)$/;

/** Returns a job that calls the reusable workflow as if it were one step with the action; empty for any other job. */
function calledSteps(job: string, given: Entries, file: Entries): readonly RalphStep[] {
  const action = scalarTextOf(given.uses);
  if (!callsRalph(action)) return [];
  const {
    'runs-on': runsOn = 'ubuntu-latest',
    'timeout-minutes': timeoutMinutes = '60',
    ...rest
  } = textsOf(given.with);
  const isOfLogin = ([name]: readonly [string, string]): boolean => logsInWithoutKey(action) && LOGIN_INPUT.test(name);
  const inputs = Object.fromEntries(Object.entries(rest).filter((entry) => !isOfLogin(entry)));
  const logins = [...LOGIN_INPUTS].filter(([, name]) => logsInWithoutKey(action) && (rest[name] ?? '') !== '');
  return [
    {
      job,
      at: ['jobs', job],
      action,
      knownBy: 'name',
      condition: [scalarTextOf(given.if), REUSABLE_CONDITION].join(' ').trim(),
      permissions: permissionsOf(given.permissions ?? file.permissions),
      runsOn: /[[$]/.test(runsOn) ? [] : [runsOn],
      timeoutMinutes,
      cacheMode: scalarTextOf(file['cache-mode']) || null,
      hasEnvironment: false,
      inputs: { ...inputs, ...textsOf(given.secrets) },
      given: { ...inputs, ...textsOf(given.secrets) },
      environment: Object.fromEntries(
        logins.map(([variable]) => [
          variable,
          variable.endsWith('TOKEN') ? '${{ steps.anthropic.outputs.token }}' : '1',
        ]),
      ),
      checkout: { ref: 'its own choice', 'fetch-depth': '0', 'persist-credentials': 'false' },
      caches: [],
    },
  ];
}

function ralphSteps(job: string, given: Entries, file: Entries): readonly RalphStep[] {
  if (given.uses !== undefined) return calledSteps(job, given, file);
  const steps = Array.isArray(given.steps) ? given.steps.map(asEntries) : [];
  return steps.flatMap((step, index) => {
    const action = scalarTextOf(step.uses);
    const knownBy = identifyAction(action, Object.keys(asEntries(step.with)));
    if (knownBy === null) return [];
    const checkouts = steps.slice(0, index).filter(({ uses }) => /^actions\/checkout(@|$)/i.test(scalarTextOf(uses)));
    const checkout = checkouts.find((one) => (textsOf(one.with).path ?? '') === '') ?? checkouts[0];
    return [
      {
        job,
        at: ['jobs', job, 'steps', index],
        action,
        knownBy,
        condition: [given.if, step.if].map(scalarTextOf).join(' ').trim(),
        permissions: permissionsOf(given.permissions ?? file.permissions),
        runsOn: textList(given['runs-on']),
        timeoutMinutes: scalarTextOf(given['timeout-minutes']),
        cacheMode: scalarTextOf(given['cache-mode'] ?? file['cache-mode']) || null,
        hasEnvironment: given.environment !== undefined,
        inputs: textsOf(step.with),
        given: textsOf(step.with),
        environment: {
          ...{ ...textsOf(file.env), ...textsOf(given.env) },
          ...Object.fromEntries(steps.slice(0, index).flatMap(variablesSetBy)),
          ...textsOf(step.env),
        },
        checkout: checkout === undefined ? null : textsOf(checkout.with),
        caches: steps.flatMap((one, at) =>
          storesCache(one) && !storesBefore(one, at < index) ? [cacheStepOf(one)] : [],
        ),
      },
    ];
  });
}

/** Returns the variables that a step's script writes for the later steps of the job. */
function variablesSetBy({ run }: Entries): readonly (readonly [string, string])[] {
  const set = scalarTextOf(run).matchAll(/^\s*(?:echo|printf)\s+["']?(\w+)=(.*?)["']?\s*>>\s*["']?\$\{?GITHUB_ENV\b/gm);
  return [...set].map(([, name = '', value = '']) => [name, value]);
}

/** Matches actions that store a cache, but not those that only restore one. */
const CACHE_ACTION = /^(?!.*\/restore$)[^/]+\/.*cache/i;
/** Matches actions that store a cache unless an input turns it off. */
const CACHES_BY_ITSELF =
  /\/(?:setup-(?:go|gradle|uv|rust|rust-toolchain|bazel|pixi|zig|sbt)|gradle-build-action|golangci-lint-action|composer-install|run-vcpkg)$/i;
/** Matches inputs that turn a cache on. */
const CACHE_INPUT =
  /^(?:(?!(?:no|skip|disable|use-only)[-_])[a-z]+(?:[-_][a-z]+)*[-_])?cache(?:[-_](?:to|enabled|environment|downloads|packages|binary))?$/i;
const NO_CACHE = /^(?:false|no|none|never|off|0)?$/i;

/** Returns true if a step stores files of the machine, mostly at the end of the job. */
function storesCache(step: Entries): boolean {
  const [action = ''] = scalarTextOf(step.uses).split('@');
  const inputs = Object.entries(textsOf(step.with));
  const given = inputs.filter(([name]) => CACHE_INPUT.test(name));
  if (CACHE_ACTION.test(action) || given.some(([, text]) => !NO_CACHE.test(text))) return true;
  const isOff =
    given.length > 0 ||
    inputs.some(([name, text]) => /^(?:cache-disabled|skip-cache)$/i.test(name) && !NO_CACHE.test(text));
  return CACHES_BY_ITSELF.test(action) && !isOff;
}

/** Returns true if a step stores its cache at once, and so before a later step of the job. */
function storesBefore({ uses }: Entries, isEarlier: boolean): boolean {
  return isEarlier && /\/save(?:@|$)/i.test(scalarTextOf(uses));
}

function cacheStepOf(step: Entries): CacheStep {
  const [name, action] = [scalarTextOf(step.name), scalarTextOf(step.uses)];
  const { path = '' } = textsOf(step.with);
  const paths = path.split('\n').filter((line) => !/^\s*(?:[!#]|$)/.test(line));
  const isOutside =
    paths.length > 0
      ? paths.every((line) => /^\s*(?:[~/]|[A-Za-z]:[\\/]|\$\{\{\s*(?:runner|env\.HOME)\b)/.test(line))
      : // Actions that set up a tool store the packages of the machine.
        !CACHE_ACTION.test(action.split('@')[0] ?? '');
  return { title: name === '' ? action : `${action} (${name})`, reach: isOutside ? 'outside' : 'checkout' };
}

/** Returns the evidence that a step uses the action, or null if it does not. */
export function identifyAction(uses: string, inputs: readonly string[]): RalphStep['knownBy'] | null {
  if (RALPH_ACTION.test(uses)) return 'name';
  return uses !== '' && takesRalphInputs(inputs) ? 'inputs' : null;
}

/** Matches the action with any owner, also as a folder of another repository. */
const RALPH_ACTION = /(?:^|\/)ralph-action(?:@|$)/i;

/** Matches inputs that are distinctive of this action, including those of earlier versions. */
const DISTINCTIVE_INPUT =
  /^(?:(?:circuit|cb)-[a-z-]+|task-(?:label|sources)|max-(?:calls|tokens|iterations|cost|open|tasks|lines|patch)[a-z-]*|completion-signals|test-only-iterations|allow-protected-paths|state-store|on-(?:limit|permission-denied)|verify)$/;

/**
 * Returns true if a step's inputs look like this action's: at least two distinctive inputs, or one together with an
 * agent's key.
 */
export function takesRalphInputs(inputs: readonly string[]): boolean {
  const telling = inputs.filter((name) => DISTINCTIVE_INPUT.test(name)).length;
  return telling >= 2 || (telling === 1 && inputs.some((name) => KEY_INPUTS.includes(name)));
}

function triggersOf(on: unknown): Workflow['triggers'] {
  if (typeof on === 'string') return [{ event: on, types: null, workflows: [] }];
  if (Array.isArray(on)) return on.map((event) => ({ event: scalarTextOf(event), types: null, workflows: [] }));
  return Object.entries(asEntries(on)).map(([event, value]) => {
    const { types, workflows } = asEntries(value);
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

function asEntries(value: unknown): Entries {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Entries) : {};
}

function textsOf(value: unknown): Texts {
  return Object.fromEntries(Object.entries(asEntries(value)).map(([name, text]) => [name, scalarTextOf(text)]));
}

function textList(value: unknown): readonly string[] {
  return (Array.isArray(value) ? value : [value]).map(scalarTextOf).filter((text) => text !== '');
}

function scalarTextOf(value: unknown): string {
  return typeof value === 'string' ? value.trim() : ['number', 'boolean'].includes(typeof value) ? String(value) : '';
}

/** Returns true if a workflow's text is an expression, whose value only a run knows. */
export function isExpression(text: string): boolean {
  return text.includes('${{');
}

/** Returns the names of the secrets that a workflow's text reads, in capitals as GitHub stores them. */
export function findSecretsIn(text: string): readonly string[] {
  return [...text.matchAll(/\bsecrets\.([A-Za-z_]\w*)|\bsecrets\[\s*'([A-Za-z_]\w*)'\s*\]/g)].map(
    ([, dotted, quoted]) => (dotted ?? quoted ?? '').toUpperCase(),
  );
}
