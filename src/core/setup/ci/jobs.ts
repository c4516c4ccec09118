import { toOneLine, quoteShellText } from '../../text/phrase.ts';
import { commandOfAction } from './actions.ts';
import { commandsOfScript, classifyCommand } from './commands.ts';
import { conditionMayHold, INCOMPLETE, resolveText, resolveValue, type Contexts } from './expressions.ts';
import { chooseCombination } from './matrix.ts';
import {
  listMapEntries,
  isRecord,
  getList,
  getMapping,
  parseYamlMap,
  textOfScalar,
  pickText,
  type YamlMap,
} from './yaml-data.ts';
import { findCheckingEvent } from './events.ts';

/** Names and values, such as variables or inputs. */
export type NamedValues = readonly (readonly [string, string])[];

/** A command of a job with its variables and its folder, which is `''` at the root. */
export interface CiCommand {
  readonly text: string;
  readonly env: NamedValues;
  readonly folder: string;
}

/** A part of a job as init reads it; `steps` belong to a composite action of the repository. */
export type CiStep =
  | { readonly kind: 'run'; readonly command: CiCommand }
  | { readonly kind: 'use'; readonly action: string; readonly inputs: NamedValues; readonly env: NamedValues }
  | { readonly kind: 'local'; readonly action: string; readonly inputs: NamedValues; readonly steps: readonly CiStep[] }
  | { readonly kind: 'checkout'; readonly submodules: string; readonly isOwn: boolean; readonly isAtRoot: boolean }
  | { readonly kind: 'download' }
  /** An action of which init does not know the effect. */
  | { readonly kind: 'unknown'; readonly action: string }
  /** An action or a line that init cannot copy. */
  | { readonly kind: 'unread'; readonly what: string; readonly why: string; readonly isSetUp: boolean };

/** A job that checks changes, with the values of one combination of its matrix. */
export interface CiJob {
  readonly path: string;
  readonly id: string;
  readonly name: string;
  readonly needs: readonly string[];
  readonly services: YamlMap;
  /** `Linux`, or the label of a runner with another system. */
  readonly system: string;
  /** The image of the container in which the job runs; `''` if it runs on the runner itself. */
  readonly container: string;
  readonly steps: readonly CiStep[];
}

const MAX_JOBS = 60;
const MAX_STEPS = 100;
const MAX_COMMAND_CHARS = 1000;
const MAX_DEPTH = 3;

/** Matches folders that need no quotes in a shell and in YAML. */
export const PLAIN_FOLDER = /^(?:[A-Za-z0-9_][\w.-]*)(?:\/[A-Za-z0-9_][\w.-]*)*$/;

/** Returns the jobs of workflows that check changes. `texts` also contains the actions of the repository. */
export function parseCheckingJobs(workflows: readonly string[], texts: ReadonlyMap<string, string>): readonly CiJob[] {
  const found = workflows.flatMap((path) => {
    const workflow = parseYamlMap(texts.get(path) ?? '');
    const event = workflow === null ? null : findCheckingEvent(workflow);
    if (workflow === null || event === null) return [];
    const ref = event === 'push' ? 'refs/heads/main' : 'refs/pull/1/merge';
    const github = { event_name: event, ref, workspace: '.', [INCOMPLETE]: null };
    return jobsIn({ path, workflow, texts, contexts: { github, inputs: {} }, depth: 0 });
  });
  return found.slice(0, MAX_JOBS);
}

interface Place {
  readonly path: string;
  readonly workflow: YamlMap;
  readonly texts: ReadonlyMap<string, string>;
  readonly contexts: Contexts;
  readonly depth: number;
}

function jobsIn(place: Place): readonly CiJob[] {
  return listMapEntries(getMapping(place.workflow, 'jobs')).flatMap(([id, job]) =>
    isRecord(job) ? jobOf(id, job, place) : [],
  );
}

function jobOf(id: string, job: YamlMap, place: Place): readonly CiJob[] {
  const { path, workflow, texts, depth } = place;
  const base: Contexts = { ...place.contexts, runner: { os: 'Linux', arch: 'X64', [INCOMPLETE]: null } };
  const matrix = chooseCombination(getMapping(job, 'strategy')['matrix'], base, prereleaseKeys(job));
  const contexts = matrix === null ? base : { ...base, matrix };
  if (!conditionMayHold(job['if'], contexts)) return [];
  const called = pickText(job, 'uses');
  if (called !== '') return depth < MAX_DEPTH ? calledJobs(called, job, { ...place, contexts }) : [];
  const machine = Array.isArray(job['runs-on'])
    ? job['runs-on'].map((label) => resolveValue(label, contexts))
    : resolveValue(job['runs-on'], contexts);
  const runner = [machine].flat().map(textOfScalar).join(', ');
  const env = envOf([getMapping(workflow, 'env'), getMapping(job, 'env')], { contexts, known: [], missing: [] });
  const needs = job['needs'];
  const container = resolvedMap({ of: job['container'] }, contexts)['of'];
  return [
    {
      path,
      id,
      name: toOneLine(pickText(job, 'name') || id, 80),
      needs: typeof needs === 'string' ? [needs] : Array.isArray(needs) ? needs.map(String) : [],
      services: resolvedMap(getMapping(job, 'services'), contexts),
      system: /windows|macos/i.test(runner) ? toOneLine(runner, 40) : 'Linux',
      container: isRecord(container) ? pickText(container, 'image') : textOfScalar(container),
      steps: stepsOf(getList(job, 'steps'), {
        texts,
        env,
        defaults: [getMapping(getMapping(job, 'defaults'), 'run'), getMapping(getMapping(workflow, 'defaults'), 'run')],
        depth: 0,
      }),
    },
  ];
}

/** Returns the keys of the matrix that select a Python version, where a step allows prereleases. */
function prereleaseKeys(job: YamlMap): readonly string[] {
  return getList(job, 'steps')
    .map((step) => (isRecord(step) ? getMapping(step, 'with') : {}))
    .filter((given) => /true|\$\{\{/.test(textOfScalar(given['allow-prereleases'])))
    .flatMap((given) => [...textOfScalar(given['python-version']).matchAll(/\bmatrix\.([\w.-]+)/g)])
    .map(([, key = '']) => key);
}

/** Resolves the expressions in a mapping; unknown ones stay as text. */
function resolvedMap(map: YamlMap, contexts: Contexts): YamlMap {
  return Object.fromEntries(
    listMapEntries(map).map(([key, value]) => {
      if (isRecord(value)) return [key, resolvedMap(value, contexts)];
      const list = Array.isArray(value) ? value.map((item: unknown) => resolveValue(item, contexts) ?? item) : null;
      return [key, list ?? resolveValue(value, contexts) ?? value];
    }),
  );
}

/** Returns the jobs of the repository's own reusable workflow; workflows of other repositories are not read. */
function calledJobs(called: string, job: YamlMap, place: Place): readonly CiJob[] {
  const path = localPath(called);
  const workflow = parseYamlMap(place.texts.get(path ?? '') ?? '');
  if (workflow === null || path === null) {
    const why = 'it is a workflow of another repository';
    const step: CiStep = { kind: 'unread', what: called, why, isSetUp: false };
    return [
      {
        path: place.path,
        id: 'uses',
        name: called,
        needs: [],
        services: {},
        system: 'Linux',
        container: '',
        steps: [step],
      },
    ];
  }
  const declared = getMapping(getMapping(getMapping(workflow, 'on'), 'workflow_call'), 'inputs');
  const inputs = inputsOf(declared, getMapping(job, 'with'), place.contexts);
  return jobsIn({ ...place, path, workflow, contexts: { ...place.contexts, inputs }, depth: place.depth + 1 });
}

/**
 * Returns the inputs as given, or with their defaults. An input with an unknown value is left out, so that it stays
 * unknown.
 */
function inputsOf(declared: YamlMap, given: YamlMap, contexts: Contexts): YamlMap {
  const names = [...new Set([...Object.keys(declared), ...Object.keys(given)])];
  const values = names.flatMap((name) => {
    const value = Object.hasOwn(given, name)
      ? resolveValue(given[name], contexts)
      : getMapping(declared, name)['default'];
    return value === null ? [] : [[name, value ?? ''] as const];
  });
  return { ...Object.fromEntries(values), ...(values.length < names.length ? { [INCOMPLETE]: null } : {}) };
}

/** Returns the path in the repository that a local `uses:` names, or null for an action from elsewhere. */
function localPath(uses: string): string | null {
  return /^[.$]\/(.+?)\/?$/.exec(uses)?.[1] ?? null;
}

interface Env {
  readonly contexts: Contexts;
  readonly known: NamedValues;
  /** Variables whose values are unknown, with the reasons. */
  readonly missing: NamedValues;
}

function envOf(maps: readonly YamlMap[], { contexts, known, missing }: Env): Env {
  const values = new Map(known);
  const without = new Map(missing);
  const current = (): Contexts => ({ ...contexts, env: { ...Object.fromEntries(values), [INCOMPLETE]: null } });
  for (const [name, value] of maps.flatMap(listMapEntries)) {
    if (!/^[A-Za-z_]\w*$/.test(name) || isRecord(value) || Array.isArray(value)) continue;
    const resolved = resolveText(textOfScalar(value), current());
    if (resolved.kind === 'text' && !/\p{Cc}/u.test(resolved.text)) {
      values.set(name, resolved.text);
      without.delete(name);
    } else {
      values.delete(name);
      without.set(name, resolved.kind === 'text' ? 'it has several lines' : resolved.why);
    }
  }
  return { contexts: current(), known: [...values], missing: [...without] };
}

interface StepPlace {
  readonly texts: ReadonlyMap<string, string>;
  readonly env: Env;
  readonly defaults: readonly YamlMap[];
  readonly depth: number;
}

function stepsOf(steps: readonly unknown[], place: StepPlace): readonly CiStep[] {
  return steps.slice(0, MAX_STEPS).flatMap((step) => {
    // Without a run, no step has an output, so caches miss.
    const open = { ...place.env.contexts, steps: {} };
    if (!isRecord(step) || !conditionMayHold(step['if'], open) || step['continue-on-error'] === true) return [];
    const env = envOf([getMapping(step, 'env')], place.env);
    const uses = pickText(step, 'uses');
    return uses === '' ? stepsOfScript(step, { ...place, env }) : usedSteps(uses, step, { ...place, env });
  });
}

function usedSteps(uses: string, step: YamlMap, place: StepPlace): readonly CiStep[] {
  const { env, texts, depth } = place;
  const given = getMapping(step, 'with');
  const name = (/^[^@]+/.exec(uses)?.[0] ?? '').toLowerCase();
  if (name === 'actions/checkout') {
    const submodules = resolveValue(given['submodules'], env.contexts);
    const isOwn = pickText(given, 'repository') === '';
    const isAtRoot = pickText(given, 'path').replace(/^\.\/?$/, '') === '';
    return [{ kind: 'checkout', submodules: textOfScalar(submodules), isOwn, isAtRoot }];
  }
  if (name === 'actions/download-artifact') return [{ kind: 'download' }];
  if (NO_SET_UP.test(name)) return [];
  const command = commandOfAction(name, given);
  if (command !== null) return stepsOfScript({ ...given, run: command }, { ...place, defaults: [] });
  const local = localPath(uses);
  const unread = (why: string): readonly CiStep[] => [
    { kind: 'unread', what: toOneLine(uses, 100), why, isSetUp: true },
  ];
  if (local === null && !(IS_SET_UP.test(name) && PLAIN_ACTION.test(uses)))
    return [{ kind: 'unknown', action: toOneLine(uses, 100) }];
  const inputs: (readonly [string, string])[] = [];
  for (const [key, value] of listMapEntries(given)) {
    if (!/^[A-Za-z][\w-]*$/.test(key) || NO_INPUT.test(key)) continue;
    const resolved = resolveText(textOfScalar(value), env.contexts);
    if (resolved.kind === 'unknown') return unread(resolved.why);
    inputs.push([key, resolved.text]);
  }
  if (local === null) return [{ kind: 'use', action: withVersion(uses, texts), inputs, env: [] }];
  const text = texts.get(`${local}/action.yml`) ?? texts.get(`${local}/action.yaml`);
  const action = parseYamlMap(text ?? '');
  if (action === null || !PLAIN_LOCAL.test(local)) return unread('its action.yml cannot be read');
  const runs = getMapping(action, 'runs');
  if (runs['using'] !== 'composite')
    return IS_SET_UP.test(local) ? [{ kind: 'use', action: `./${local}`, inputs, env: [] }] : [];
  if (depth >= MAX_DEPTH) return [];
  const known = listMapEntries(inputsOf(getMapping(action, 'inputs'), given, env.contexts));
  // An action receives all inputs as texts.
  const asTexts = Object.fromEntries(known.map(([key, value]) => [key, textOfScalar(value)]));
  const contexts = { ...env.contexts, inputs: asTexts };
  const steps = stepsOf(getList(runs, 'steps'), {
    ...place,
    env: { ...env, contexts },
    defaults: [],
    depth: depth + 1,
  });
  return [{ kind: 'local', action: `./${local}`, inputs, steps }];
}

const PLAIN_ACTION = /^[\w.-]+(?:\/[\w.-]+)+@[\w./-]+$/;
const PLAIN_LOCAL = /^[\w.-]+(?:\/[\w.-]+)*$/;
const IS_SET_UP =
  /setup|set-up|install|toolchain|rust-cache|gh-actions-lua|flutter-action$|mise-action$|get-cmake$|cache-apt-pkgs-action$/;
const NO_SET_UP =
  /^(?:actions\/(?:cache|upload-artifact|github-script|labeler|stale|deploy-pages|configure-pages)|docker\/|github\/codeql-action|codecov\/|step-security\/harden-runner|dorny\/paths-filter|cachix\/cachix-action|determinatesystems\/magic-nix-cache-action|coursier\/cache-action|tj-actions\/changed-files|[\w-]+\/free-disk-space)/;
/** Matches inputs that contain credentials, or that make an action install into the work tree. */
const NO_INPUT = /token|^registry-url$|^bundler-cache$|^scope$/;

/** Adds the version to an action that is pinned to a commit; the comment on the same line contains it. */
function withVersion(uses: string, texts: ReadonlyMap<string, string>): string {
  if (!/@[0-9a-f]{40}$/.test(uses)) return uses;
  for (const text of texts.values()) {
    const at = text.indexOf(uses);
    const version =
      at < 0
        ? undefined
        : /^["']?[ \t]+#[ \t]*(v?\d[\w.]{0,20})/.exec(text.slice(at + uses.length, at + uses.length + 60))?.[1];
    if (version !== undefined) return `${uses} # ${version}`;
  }
  return uses;
}

function stepsOfScript(step: YamlMap, { env, defaults }: StepPlace): readonly CiStep[] {
  const script = pickText(step, 'run');
  const commands = commandsOfScript(script);
  const unread = (what: string, why: string): CiStep => ({
    kind: 'unread',
    what: toOneLine(what, 100),
    why,
    isSetUp: false,
  });
  const first = /^(?!\s*#).*\w.*/m.exec(script)?.[0].trim() ?? '';
  const shell = [step, ...defaults].map((map) => pickText(map, 'shell')).find((text) => text !== '') ?? 'bash';
  // If the shell runs in a terminal, each test command runs in one as well.
  const terminal = /^(?:(script)|(unbuffer))\s.*\bbash \{0\}/.exec(shell);
  if (terminal === null && !/^(?:ba)?sh\b/.test(shell)) return [unread(first, `its shell is ${toOneLine(shell, 20)}`)];
  const written =
    [step, ...defaults].map((map) => pickText(map, 'working-directory')).find((text) => text !== '') ?? '';
  const place = resolveText(written, env.contexts);
  if (place.kind === 'unknown') return [unread(first, place.why)];
  const folder = place.text.replaceAll(/^(?:\.\/)+|\/+$|^\.$/g, '');
  if (folder !== '' && !PLAIN_FOLDER.test(folder)) return [unread(first, 'its folder is outside of the repository')];
  if (commands === null) {
    const lines = script.replaceAll(/\s*\\\r?\n\s*/g, ' ').split('\n');
    const test = lines.find((line) => !/^\s*(?:#|echo\b)/.test(line) && classifyCommand(line.trim()) === 'test');
    return [unread(test ?? first, 'it is a script, not a command')];
  }
  return commands.flatMap((command): readonly CiStep[] => {
    const resolved = resolveText(command, env.contexts);
    if (resolved.kind === 'unknown') return [unread(command, resolved.why)];
    const inPlace = resolved.text.replace(/^\$\{?GITHUB_WORKSPACE\}?\//, './');
    // In a folder, `verify` has just changed from the root.
    const root = folder === '' ? '$PWD' : '$OLDPWD';
    const text = (folder === '' ? inPlace : resolved.text).replaceAll(/\$\{?GITHUB_WORKSPACE\}?/g, () => root).trim();
    const without = env.missing.find(([name]) => new RegExp(`\\$\\{?${name}\\b`).test(text));
    if (without !== undefined) return [unread(text, `the variable ${without[0]}: ${without[1]}`)];
    if (/\p{Cc}/u.test(text) || text.length > MAX_COMMAND_CHARS) return [unread(text, 'it is longer than one line')];
    if (text === '') return [];
    const [, script, unbuffer] = terminal ?? [];
    const within =
      script === undefined
        ? `unbuffer bash -c ${quoteShellText(text)}`
        : `script -qec ${quoteShellText(text)} /dev/null`;
    const runsInTerminal = (script ?? unbuffer) !== undefined && classifyCommand(text) === 'test';
    return [{ kind: 'run', command: { text: runsInTerminal ? within : text, env: env.known, folder } }];
  });
}
