import { join } from 'node:path';
import {
  AGENTS,
  KEY_VARIABLES,
  nameKeyInput,
  PACKAGED_AGENTS,
  type PackagedAgent,
} from '../../src/core/agent-names.ts';
import { TESTBED_KEY, SCRIPTED_AGENT, TOOL_CACHE } from '../testbed.ts';
import type { Performance } from '../workflow/performance.ts';

/** The agents that can work in the story. */
export const STORY_AGENTS = ['scripted', ...PACKAGED_AGENTS] as const;

/**
 * The agent of the story. `workflow` is the workflow file that a person writes for it, `secrets` are the repository's
 * secrets; `inputs` and `env` add the settings that select a stand-in.
 */
export interface CastAgent extends Required<Performance['standIn']> {
  readonly notice: string;
  readonly secrets: Variables;
  readonly workflow: WorkflowLines;
}

/** `key` is the variable whose secret the workflow passes, to the input of the same name. */
interface WorkflowLines {
  readonly key: string;
  readonly inputs: Variables;
}

type Variables = Readonly<Record<string, string>>;

/** Returns the stand-in for an agent and its model. */
export function castScripted(): CastAgent {
  return {
    notice: 'The agent is SCRIPTED: it follows a fixed script, and there is no model behind it.',
    secrets: { ANTHROPIC_API_KEY: TESTBED_KEY },
    workflow: { key: 'ANTHROPIC_API_KEY', inputs: {} },
    inputs: { 'agent-path': SCRIPTED_AGENT },
    env: {},
  };
}

/** Returns a real CLI that talks to the scripted model at `url`. */
export function castWithModel(name: PackagedAgent, url: string): CastAgent {
  const { key, toModel } = WAYS[name];
  return {
    notice: `The agent is the real ${AGENTS[name].title}, installed from npm; the MODEL is scripted, on loopback.`,
    secrets: { [key]: TESTBED_KEY },
    workflow: { key, inputs: { ...inputsFor(name), ...pricesFor(name) } },
    inputs: {},
    env: { ...CACHES, ...toModel(url) },
  };
}

/** Returns a real CLI with the provider's settings from the environment, or null if there is no key in it. */
export function castWithKey(name: PackagedAgent, environment: NodeJS.ProcessEnv): CastAgent | null {
  const { variables } = AGENTS[name].provider;
  const own = Object.entries(environment).filter(
    (entry): entry is [string, string] => variables.test(entry[0]) && (entry[1] ?? '') !== '',
  );
  const keys = own.map(([variable]) => variable).filter((variable) => keysOf(name).includes(variable));
  if (keys.length === 0) return null;
  return {
    notice: `The agent is the real ${AGENTS[name].title}, installed from npm, with YOUR key: this costs money.`,
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

/** Returns the variables of which one must contain a key. */
export function keysOf(name: PackagedAgent): readonly string[] {
  return AGENTS[name].provider.keys;
}

/**
 * Returns a template's workflow for this agent, with these inputs in place of the comment about `verify`; the lines
 * above it may be comments as well.
 */
export function buildAgentWorkflow(template: string, { key, inputs: own }: WorkflowLines, inputs: Variables): string {
  return template
    .replace(
      /anthropic-api-key: ('?)\$\{\{ secrets\.ANTHROPIC_API_KEY \}\}/,
      (_, quote: string) => `${nameKeyInput(key)}: ${quote}\${{ secrets.${key} }}`,
    )
    .replace(/^(?:( +)# with:\n)?( +)# +verify: .*$/m, (_, call: string | undefined, indent: string) => {
      const lines = Object.entries({ ...own, ...inputs }).map(
        ([name, value]) => `${indent}${call === undefined ? '' : '  '}${name}: ${value}`,
      );
      return [...(call === undefined ? [] : [`${call}with:`]), ...lines].join('\n');
    });
}

function inputsFor(name: PackagedAgent): Variables {
  return {
    ...(name === 'claude' ? {} : { agent: name }),
    // Codex cannot restrict single commands. Nothing isolates it here, so a run refuses to call it unless any command
    // is allowed.
    ...(name === 'codex' ? { 'allowed-tools': 'Read,Edit,Write,Glob,Grep,Bash' } : {}),
  };
}

/**
 * Returns a price for the scripted model if its name in the CLI is in no price list; without a price, a limit in
 * dollars would prevent every call.
 */
function pricesFor(name: PackagedAgent): Variables {
  if (name === 'codex') return { settings: "'prices: gpt=1.25/0.125/10'" };
  return name === 'copilot' || name === 'qwen' ? { settings: "'prices: scripted=1.25/0.125/10'" } : {};
}

/** Folders in which tools are installed or unpacked once for all machines of the testbed. */
const CACHES: Variables = { RUNNER_TOOL_CACHE: TOOL_CACHE, COPILOT_CACHE_HOME: join(TOOL_CACHE, 'copilot') };

/** The way to redirect a CLI to another address; `key` is the variable of the key that is sent there. */
interface Way {
  readonly key: string;
  readonly toModel: (url: string) => Variables;
}

const WAYS: Readonly<Record<PackagedAgent, Way>> = {
  claude: { key: 'ANTHROPIC_API_KEY', toModel: (url) => ({ ANTHROPIC_BASE_URL: url }) },
  codex: { key: 'OPENAI_API_KEY', toModel: (url) => ({ OPENAI_BASE_URL: `${url}/v1` }) },
  gemini: {
    key: 'GEMINI_API_KEY',
    // Without a model name, Gemini CLI asks a small model before each answer which model to use, and repeats that until
    // it gets a name.
    toModel: (url) => ({ GOOGLE_GEMINI_BASE_URL: url, GEMINI_MODEL: 'gemini-2.5-pro' }),
  },
  opencode: { key: 'ANTHROPIC_API_KEY', toModel: (url) => ({ ANTHROPIC_BASE_URL: url }) },
  copilot: {
    key: 'COPILOT_GITHUB_TOKEN',
    toModel: (url) => ({
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_PROVIDER_API_KEY: TESTBED_KEY,
      COPILOT_MODEL: 'scripted',
    }),
  },
  qwen: { key: 'OPENAI_API_KEY', toModel: (url) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: 'scripted' }) },
};
