/** The facts about an agent that are known before its code is loaded. */
export interface AgentManifest {
  /** Name of the agent for people: `Claude Code`. */
  readonly title: string;
  /** The npm package to install; null for a user's own program, which is never installed. */
  readonly source: CliPackage | null;
  /**
   * True if a session can be resumed, also on another machine. This fact and the following ones were measured with the
   * version in `source`.
   */
  readonly resume: boolean;
  /** True if the CLI reports the tokens of a call. */
  readonly tokens: boolean;
  /**
   * True if the CLI reports the cost of a call. Otherwise, calls are limited by their number, by tokens and by the
   * setting `prices`.
   */
  readonly cost: boolean;
  /** True if the CLI reports refused tools; otherwise no denials are counted. */
  readonly denials: boolean;
  /**
   * `each`: rules for single commands apply; `sandbox`: every command runs in a sandbox instead; `none`: the agent has
   * no rules for tools.
   */
  readonly toolRules: 'each' | 'sandbox' | 'none';
  /** True if an option among `agent-args` can limit the number of turns. */
  readonly turnLimit: boolean;
  /** True if the agent's own program ends a call that reaches a cost limit, even without the broker. */
  readonly capsCost: boolean;
  /** False if the agent may bypass the broker, which counts requests, and choose its model by itself. */
  readonly isCounted: boolean;
  readonly provider: ProviderVariables;
  /**
   * Hosts of the agent's providers, in the form of `EgressRules.never`; empty if it reaches its model without the
   * broker.
   */
  readonly hosts: readonly string[];
  /** The error of an isolated run whose login the broker cannot hold; null if the agent works without the broker. */
  readonly directLogin: string | null;
  /** The agent's names for its shell tools and for the tool that asks a person; null if it has no such tool. */
  readonly tools: { readonly shell: readonly string[]; readonly question: string | null };
  /** The co-author line of the agent's own commits; null for a user's program, which has no name. */
  readonly coAuthor: string | null;
}

/** An npm package with a CLI. */
interface CliPackage {
  readonly name: string;
  /** The version that is installed by default. */
  readonly version: string;
  /** Returns the paths of the package's programs below `node_modules`, best first. */
  readonly programs: (platform: { readonly os: string; readonly cpu: string }) => readonly string[];
}

/** The login of a CLI that a person uses on their own machine. */
interface OwnLogin {
  /** The program on the PATH. */
  readonly program: string;
  /** The variable that names the CLI's folder. */
  readonly folderVariable: string;
  /** The folder's default name in the person's home. */
  readonly folder: string;
  /** The file in this folder that holds the login; macOS keeps the login in its keychain instead. */
  readonly file: string;
  /** The variables that can be set instead, in words that complete "Set ...". */
  readonly otherwise: string;
}

/** The variables by which an agent's CLI finds its provider. */
export interface ProviderVariables {
  /** Matches the names of all these variables. */
  readonly variables: RegExp;
  /** Names of variables for keys, each of which is a login by itself; empty if the agent needs no login. */
  readonly keys: readonly string[];
  /** The provider's name in OpenTelemetry's conventions; null if it has none, or if only a run knows the provider. */
  readonly telemetryName: string | null;
  readonly otherSecrets: readonly string[];
  /** The agent's login on a person's own machine; null if it has only keys. */
  readonly ownLogin: OwnLogin | null;
  /** The forms of keys that inputs accept, the usual form first. */
  readonly keyForms: readonly KeyForm[];
  /** Names of variables that select a cloud's login if they are `1`. */
  readonly switches: readonly string[];
  /** Matches the names of the cloud's variables, including its keys. */
  readonly cloudVariables: RegExp;
  readonly cloudKeys: readonly string[];
  /** Names of the cloud keys that stay valid in later runs. */
  readonly lastingCloudKeys: readonly string[];
}

interface KeyForm {
  readonly variable: string;
  /** The beginning of the input's description. */
  readonly description: string;
  /** The prefix of every key of this form. */
  readonly begin: string;
  /** The key in words, with an article. */
  readonly what: string;
  /** Names of variables under which people pass this key by mistake. */
  readonly misspelled: readonly string[];
}
