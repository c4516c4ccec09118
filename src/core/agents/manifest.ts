/** The facts about an agent that are known before its code is loaded. */
export interface AgentManifest {
  /** Name of the agent for people: `Claude Code`. */
  readonly title: string;
  /** The package; null for a user's own program, which is never installed and only runs for calls. */
  readonly source: CliPackage | null;
  /** True if a session can be resumed, also on another machine; measured, like what follows, on the version above. */
  readonly resume: boolean;
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
  /** True if its own program ends a call that costs too much, whoever counts its requests. */
  readonly capsCost: boolean;
  /** False if it may work where nobody counts its requests and it chooses its model by itself. */
  readonly isCounted: boolean;
  readonly provider: ProviderVariables;
  /** The hosts of its providers, as in `EgressRules.never`; empty if it reaches its model without the broker. */
  readonly hosts: readonly string[];
  /** Sentences for a run that would isolate it while no broker can hold its login; null if that is fine. */
  readonly directLogin: string | null;
  /** Its names for the tools that run commands, and for the one that asks a person, null if there is none. */
  readonly tools: { readonly shell: readonly string[]; readonly question: string | null };
  /** The co-author line of its own commits; null for a user's program, which has no name. */
  readonly coAuthor: string | null;
}

/** An npm package with a CLI. */
interface CliPackage {
  readonly name: string;
  /** The version that is installed by default. */
  readonly version: string;
  /** Returns the paths of its programs below `node_modules`, the best first. */
  readonly programs: (platform: { readonly os: string; readonly cpu: string }) => readonly string[];
}

/** The login of a CLI that a person uses on their own machine. */
interface OwnLogin {
  /** The program on the PATH. */
  readonly program: string;
  /** The variable that names its folder, and the folder's name in the person's home if that is not set. */
  readonly folderVariable: string;
  readonly folder: string;
  /** The file with the login in this folder; macOS keeps it in its keychain. */
  readonly file: string;
  /** The variables that can be set instead, as the object of "Set". */
  readonly otherwise: string;
}

/** The variables by which an agent's CLI finds its provider. */
export interface ProviderVariables {
  /** Matches the names of all these variables. */
  readonly variables: RegExp;
  /** Names of keys, each of which is a login if it is set; empty if there is nothing to log in to. */
  readonly keys: readonly string[];
  /** Its name in OpenTelemetry's conventions; null if only a run knows it, or it has none there. */
  readonly telemetryName: string | null;
  readonly otherSecrets: readonly string[];
  /** null for an agent that has only keys. */
  readonly ownLogin: OwnLogin | null;
  /** The forms of keys that inputs take, the usual one first, with names under which people pass keys by mistake. */
  readonly keyForms: readonly KeyForm[];
  /** Names of variables that mean a cloud's login if they are `1`. */
  readonly switches: readonly string[];
  /** Matches the names of the cloud's variables, including its keys. */
  readonly cloudVariables: RegExp;
  readonly cloudKeys: readonly string[];
  /** Names of the cloud keys that are the same in the next run. */
  readonly lastingCloudKeys: readonly string[];
}

interface KeyForm {
  readonly variable: string;
  /** The beginning of the input's description. */
  readonly description: string;
  readonly begin: string;
  /** The key in words, with its article. */
  readonly what: string;
  readonly misspelled: readonly string[];
}
