import { joinCommands, classifyCommand } from './commands.ts';
import type { CiCommand, CiStep, NamedValues } from './jobs.ts';
import { quoteShellText } from '../../text/phrase.ts';

/** Renders a command as one line of `verify`, which starts at the root. */
export function renderVerifyLine({ text, env, folder }: CiCommand): string {
  const pairs = relevantVariables(env).map(([name, value]) => `${name}=${quoteShellText(value)}`);
  const isSimple = !/&&|\|\||[;|()`]|^(?:cd|export|source)\s/.test(text);
  const line =
    pairs.length === 0
      ? text
      : isSimple
        ? `${pairs.join(' ')} ${text}`
        : joinCommands([`export ${pairs.join(' ')}`, text]);
  return folder === '' ? line : `(${joinCommands([`cd ${folder}`, line])})`;
}

/** Builds the lines of `verify` from commands; those that share many variables form one line, which names them once. */
export function buildVerifyLines(commands: readonly CiCommand[]): readonly string[] {
  const [first] = commands;
  const shared = commands.length > 1 ? sharedVariables(commands) : [];
  if (first === undefined || shared.length < MANY) return commands.map(renderVerifyLine);
  const names = new Set(shared.map(([name]) => name));
  const texts = commands.map(({ text, env }) =>
    renderVerifyLine({ text, env: env.filter(([name]) => !names.has(name)), folder: '' }),
  );
  return [renderVerifyLine({ text: joinCommands(texts), env: shared, folder: first.folder })];
}

/** Returns the variables that all commands have, or none if the commands run in several folders. */
function sharedVariables([first, ...rest]: readonly CiCommand[]): NamedValues {
  if (first === undefined || rest.some(({ folder }) => folder !== first.folder)) return [];
  return relevantVariables(first.env).filter((pair) =>
    rest.every(({ env }) => env.some((one) => one.join('=') === pair.join('='))),
  );
}

const MANY = 3;

/** Builds the steps of the set-up from a step of CI, each as lines of YAML; empty if it sets nothing up. */
export function buildSetUpSteps(step: CiStep): readonly (readonly string[])[] {
  if (step.kind === 'use') return [usesLines(step.action, step.inputs)];
  if (step.kind === 'run')
    return ['tool', 'install'].includes(classifyCommand(step.command.text)) ? [buildSetUpCommand(step.command)] : [];
  if (step.kind !== 'local') return [];
  // An action that also checks out, builds or tests is split, because the agent's job has its own checkout.
  const setsUp = step.steps.some((one) => one.kind !== 'run' || classifyCommand(one.command.text) !== 'aside');
  return setsUp && step.steps.every(isSetUpOnly)
    ? [usesLines(step.action, step.inputs)]
    : step.steps.flatMap(buildSetUpSteps);
}

function isSetUpOnly(step: CiStep): boolean {
  if (step.kind === 'local') return step.steps.every(isSetUpOnly);
  return (
    step.kind === 'use' ||
    step.kind === 'unknown' ||
    (step.kind === 'run' && ['tool', 'install', 'aside'].includes(classifyCommand(step.command.text)))
  );
}

/** Builds a step of the set-up from a command, as lines of YAML. */
export function buildSetUpCommand({ text, env, folder }: CiCommand): readonly string[] {
  const pairs = relevantVariables(env);
  return [
    `- run: ${PLAIN_COMMAND.test(text) ? text : JSON.stringify(text)}`,
    ...(folder === '' ? [] : [`  working-directory: ${folder}`]),
    ...(pairs.length === 0 ? [] : ['  env:', ...pairs.map(([name, value]) => `    ${name}: ${JSON.stringify(value)}`)]),
  ];
}

/** Matches commands that need no quotes in YAML. */
export const PLAIN_COMMAND = /^[A-Za-z./][\w ./&=-]*$/;

function usesLines(action: string, inputs: NamedValues): readonly string[] {
  const given = inputs.filter(([, value]) => value !== '').map(([name, value]) => `    ${name}: ${inputText(value)}`);
  return [`- uses: ${action}`, ...(given.length === 0 ? [] : ['  with:', ...given])];
}

/**
 * Renders a text as YAML. Inputs are texts, so quotes are needed only for texts that YAML would read as another type.
 */
function inputText(value: string): string {
  return /^[A-Za-z][\w./-]*$/.test(value) && !/^(?:null|yes|no|on|off|y|n)$/i.test(value)
    ? value
    : JSON.stringify(value);
}

/** Returns the variables that affect what a command does, without those that affect only how CI shows or stores it. */
function relevantVariables(env: NamedValues): NamedValues {
  return env.filter(([name, value]) => value !== '' && !NOISE.test(name));
}

const NOISE =
  /^(?:CI|OS|HOME|ImageOS|PYTHON|NODE|JAVA|RUBY|PHP|CONTEXT|HUSKY|COVERAGE_FILE|RUST_BACKTRACE|UV_(?:NO_PROGRESS|PYTHON_PREFERENCE|PYTHON)|(?:ACTIONS|GITHUB|PIP|MINVER|CODECOV|CICD)_?\w*|\w*_?(?:VERSION|MSRV)|\w*(?:COLORS?|TELEMETRY\w*|NOLOGO|CACHE\w*))$/;
