import { join } from 'node:path';
import { KEY_VARIABLES } from '../../src/config/agent-inputs.ts';
import { CAPABILITIES, READ_AGENTS, type ReadAgent } from '../../src/core/agent-names.ts';
import { providerOf } from '../../src/wiring/agents/providers.ts';
import { SANDBOX_KEY, SCRIPTED_AGENT, TOOL_CACHE } from '../sandbox.ts';
import type { Performance } from '../workflow/performance.ts';

/** Who can work in the story. */
export const STORY_AGENTS = ['scripted', ...READ_AGENTS] as const;

/** Who works: `workflow` is what a person writes for that, `secrets` what the repository has; `inputs` and `env` beside those put it in place. */
export interface CastAgent extends Required<Performance['standIn']> {
  readonly notice: string;
  readonly secrets: Variables;
  readonly workflow: WorkflowLines;
}

/** `key`: variable whose secret the workflow passes, by the input of the same name. */
interface WorkflowLines {
  readonly key: string;
  readonly inputs: Variables;
}

type Variables = Readonly<Record<string, string>>;

/** The stand-in for an agent and its model. */
export function castScripted(): CastAgent {
  return {
    notice: 'The agent is SCRIPTED: it follows a fixed script, and there is no model behind it.',
    secrets: { ANTHROPIC_API_KEY: SANDBOX_KEY },
    workflow: { key: 'ANTHROPIC_API_KEY', inputs: {} },
    inputs: { 'agent-path': SCRIPTED_AGENT },
    env: {},
  };
}

/** A real CLI before the scripted model at `url`. */
export function castWithModel(name: ReadAgent, url: string): CastAgent {
  const { key, toModel } = WAYS[name];
  return {
    notice: `The agent is the real ${CAPABILITIES[name].title}, installed from npm; the MODEL is scripted, on loopback.`,
    secrets: { [key]: SANDBOX_KEY },
    workflow: { key, inputs: { ...inputsFor(name), ...pricesFor(name) } },
    inputs: {},
    env: { ...CACHES, ...toModel(url) },
  };
}

/** A real CLI with what the environment says of its provider; null: there is no key in it. */
export function castWithKey(name: ReadAgent, environment: NodeJS.ProcessEnv): CastAgent | null {
  const { variables } = providerOf(name);
  const own = Object.entries(environment).filter(
    (entry): entry is [string, string] => variables.test(entry[0]) && (entry[1] ?? '') !== '',
  );
  const keys = own.map(([variable]) => variable).filter((variable) => keysOf(name).includes(variable));
  if (keys.length === 0) return null;
  return {
    notice: `The agent is the real ${CAPABILITIES[name].title}, installed from npm, with YOUR key: this costs money.`,
    secrets: Object.fromEntries(own.filter(([variable]) => KEY_VARIABLES.includes(variable))),
    workflow: {
      key:
        keysOf(name).find((variable) => keys.includes(variable) && KEY_VARIABLES.includes(variable)) ?? WAYS[name].key,
      inputs: inputsFor(name),
    },
    inputs: {},
    env: { ...CACHES, ...Object.fromEntries(own.filter(([variable]) => !KEY_VARIABLES.includes(variable))) },
  };
}

/** Variables of which one must hold a key. */
export function keysOf(name: ReadAgent): readonly string[] {
  return providerOf(name).keys;
}

/** A template's workflow for this agent, with these inputs where it has a comment about `verify`; what is above that may be a comment as well. */
export function workflowFor(template: string, { key, inputs: own }: WorkflowLines, inputs: Variables): string {
  return template
    .replace(
      /anthropic-api-key: ('?)\$\{\{ secrets\.ANTHROPIC_API_KEY \}\}/,
      (_, quote: string) => `${inputOf(key)}: ${quote}\${{ secrets.${key} }}`,
    )
    .replace(/^(?:( +)# with:\n)?( +)# +verify: .*$/m, (_, call: string | undefined, indent: string) => {
      const lines = Object.entries({ ...own, ...inputs }).map(
        ([name, value]) => `${indent}${call === undefined ? '' : '  '}${name}: ${value}`,
      );
      return [...(call === undefined ? [] : [`${call}with:`]), ...lines].join('\n');
    });
}

function inputOf(key: string): string {
  return key.toLowerCase().replaceAll('_', '-');
}

function inputsFor(name: ReadAgent): Variables {
  return {
    ...(name === 'claude' ? {} : { agent: name }),
    ...(ANY_COMMAND.includes(name) ? { 'allowed-tools': 'Read,Edit,Write,Glob,Grep,Bash' } : {}),
  };
}

/** What the scripted model costs under the name by which the CLI asks for it, where that is none of a list: with a limit in dollars it would not be called. */
function pricesFor(name: ReadAgent): Variables {
  if (name === 'codex') return { settings: "'prices: gpt=1.25/0.125/10'" };
  return name === 'copilot' || name === 'qwen' ? { settings: "'prices: scripted=1.25/0.125/10'" } : {};
}

/** They cannot be held to rules for single commands, and nothing isolates them here: a run says so and makes no call, unless they may run any. */
const ANY_COMMAND: readonly ReadAgent[] = ['codex', 'qwen'];

/** What is installed or unpacked once, for all machines of the sandbox. */
const CACHES: Variables = { RUNNER_TOOL_CACHE: TOOL_CACHE, COPILOT_CACHE_HOME: join(TOOL_CACHE, 'copilot') };

/** How each CLI is led to another address; `key`: the variable of the key that goes there. */
interface Way {
  readonly key: string;
  readonly toModel: (url: string) => Variables;
}

const WAYS: Readonly<Record<ReadAgent, Way>> = {
  claude: { key: 'ANTHROPIC_API_KEY', toModel: (url) => ({ ANTHROPIC_BASE_URL: url }) },
  codex: { key: 'OPENAI_API_KEY', toModel: (url) => ({ OPENAI_BASE_URL: `${url}/v1` }) },
  gemini: {
    key: 'GEMINI_API_KEY',
    // Without the name of one, it asks a small model each time which is to answer, and again until that says so.
    toModel: (url) => ({ GOOGLE_GEMINI_BASE_URL: url, GEMINI_MODEL: 'gemini-2.5-pro' }),
  },
  opencode: { key: 'ANTHROPIC_API_KEY', toModel: (url) => ({ ANTHROPIC_BASE_URL: url }) },
  copilot: {
    key: 'COPILOT_GITHUB_TOKEN',
    toModel: (url) => ({
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_PROVIDER_API_KEY: SANDBOX_KEY,
      COPILOT_MODEL: 'scripted',
    }),
  },
  qwen: { key: 'OPENAI_API_KEY', toModel: (url) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: 'scripted' }) },
};
