import { KEY_VARIABLES, nameKeyInput } from '../core/agent-names.ts';
import type { ProviderVariables } from '../core/agents/manifest.ts';
import type { VariableAccess } from '../core/mcp/parse-servers.ts';
import { findNeededVariables } from '../core/pipeline/reading/command-variables.ts';
import { toOneLine } from '../core/text/phrase.ts';
import { isJobSecret } from './input-schema.ts';

/**
 * Variables that every program needs to run at all, and the proxies and certificates without which some networks cannot
 * be reached.
 */
const ALWAYS = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'LANG',
  'LC_ALL',
  'LC_CTYPE',
  'TZ',
  'TMPDIR',
  'TERM',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  // At the end of the job the runner kills processes that still have this id, so the agent's processes keep it.
  'RUNNER_TRACKING_ID',
  'RUNNER_OS',
  'RUNNER_ARCH',
  'RUNNER_TOOL_CACHE',
  'CI',
  // These name the sources of packages, for the agent and for its installation.
  'npm_config_registry',
  'npm_config_cafile',
  'NPM_CONFIG_REGISTRY',
  'NPM_CONFIG_CAFILE',
  'JAVA_HOME',
  'GOPATH',
  'GOROOT',
  'CARGO_HOME',
  'RUSTUP_HOME',
  'NVM_DIR',
  'PYTHONPATH',
  'pythonLocation',
  'DOTNET_ROOT',
  'ANDROID_HOME',
] as const;

/** Combines several providers into one. */
export function mergeProviders(providers: readonly ProviderVariables[]): ProviderVariables {
  const all = <Part>(partOf: (provider: ProviderVariables) => readonly Part[]): readonly Part[] => [
    ...new Set(providers.flatMap(partOf)),
  ];
  const any = (formOf: (provider: ProviderVariables) => RegExp): RegExp =>
    new RegExp(providers.map((provider) => `(?:${formOf(provider).source})`).join('|') || '(?!)');
  return {
    variables: any(({ variables }) => variables),
    keys: all(({ keys }) => keys),
    ownLogin: null,
    telemetryName: null,
    otherSecrets: all(({ otherSecrets }) => otherSecrets),
    keyForms: all(({ keyForms }) => keyForms),
    switches: all(({ switches }) => switches),
    cloudVariables: any(({ cloudVariables }) => cloudVariables),
    cloudKeys: all(({ cloudKeys }) => cloudKeys),
    lastingCloudKeys: all(({ lastingCloudKeys }) => lastingCloudKeys),
  };
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the environment of the agent: an allow-list, never the whole environment of the job. */
export function buildAgentEnvironment(
  environment: Environment,
  names: readonly string[],
  provider: ProviderVariables,
): Record<string, string> {
  const ofCloud = isCloud(environment, provider) ? provider.cloudVariables : null;
  return pick(
    environment,
    (name) =>
      (ALWAYS as readonly string[]).includes(name) ||
      provider.variables.test(name) ||
      ofCloud?.test(name) === true ||
      names.includes(name),
  );
}

/**
 * Returns the environment of verify commands, which run code that the agent wrote: the agent's environment without the
 * provider's keys.
 */
export function buildVerifyEnvironment(
  environment: Environment,
  names: readonly string[],
  provider: ProviderVariables,
): Record<string, string> {
  const keys = isCloud(environment, provider) ? provider.cloudKeys : [];
  return pick(
    environment,
    (name) =>
      (ALWAYS as readonly string[]).includes(name) ||
      (names.includes(name) && !provider.variables.test(name) && !keys.includes(name)),
  );
}

/**
 * Returns the access that a server of the agent's tools has to a variable. `names` are those that `agent-env` lists,
 * and `variables` are those of verify commands. Variables of the agent's login are checked where the login is opened.
 */
export function createVariableAccess(
  name: string,
  { names, variables }: { readonly names: readonly string[]; readonly variables: Readonly<Record<string, string>> },
): VariableAccess {
  if (isJobSecret(name) || KEY_VARIABLES.includes(name)) return 'never';
  return names.includes(name) || Object.hasOwn(variables, name) ? 'given' : 'unnamed';
}

function isCloud(environment: Environment, { switches }: ProviderVariables): boolean {
  return switches.some((name) => environment[name] === '1');
}

/** Returns the reasons why the agent cannot log in, as sentences for people; none of them contains a key. */
export function findLoginProblems(environment: Environment, provider: ProviderVariables): readonly string[] {
  const { keys, keyForms } = provider;
  if (keys.length === 0 || isCloud(environment, provider)) return [];
  const given = keys.filter((name) => trimmedVariable(environment, name) !== '');
  const problems = given.flatMap((name) => keyProblem(name, trimmedVariable(environment, name), keyForms) ?? []);
  return given.length > 0 ? problems : [missingKey(environment, provider)];
}

function keyProblem(name: string, value: string, forms: ProviderVariables['keyForms']): string | null {
  if (/\s/.test(value) || /^["']/.test(value))
    return `\`${name}\` is not a key: it contains spaces, line breaks or quotation marks. Copy the key again into the repository secret, without them.`;
  const form = forms.find(({ begin }) => value.startsWith(begin));
  return form === undefined || form.variable === name
    ? null
    : `\`${name}\` holds ${form.what}, which the agent does not accept there. Pass it as \`${nameKeyInput(form.variable)}\` (or \`${form.variable}\`) instead.`;
}

/** Returns a sentence about a login without any key, which names a key under another name if there is one. */
function missingKey(environment: Environment, provider: ProviderVariables): string {
  const { keyForms } = provider;
  const misnamed = describeMisnamedKey(environment, provider);
  if (misnamed !== null) return misnamed;
  const inputs = keyForms.map(({ variable }) => `\`${nameKeyInput(variable)}\``);
  const [example = { variable: '' }] = keyForms;
  const empty = inputs.length === 1 ? 'is empty' : inputs.length === 2 ? 'are both empty' : 'are all empty';
  return `There is no key for the agent: ${inputs.join(' and ')} ${empty}. Add a repository secret and pass it to the step, for example \`${nameKeyInput(example.variable)}: \${{ secrets.${example.variable} }}\`.`;
}

/** Returns what to do about a key under a name that the agent does not look for, or null if there is no such key. */
export function describeMisnamedKey(environment: Environment, { keyForms, keys }: ProviderVariables): string | null {
  const misnamed = Object.keys(environment)
    .filter((name) => !/^INPUT_/.test(name) && !keys.includes(name))
    .flatMap((name) => {
      const form = keyForms.find(
        ({ begin, misspelled }) =>
          trimmedVariable(environment, name).startsWith(begin) ||
          (misspelled.includes(name) && trimmedVariable(environment, name) !== ''),
      );
      return form === undefined ? [] : [{ name, form }];
    });
  const [first] = misnamed;
  return first === undefined
    ? null
    : `There is no key for the agent, but \`${first.name}\` seems to be one. Pass it as the input \`${nameKeyInput(first.form.variable)}\` instead.`;
}

function trimmedVariable(environment: Environment, name: string): string {
  return (environment[name] ?? '').trim();
}

/**
 * Returns the credential with which the agent logs in, if it stays the same from run to run, or null if no variable
 * contains such a credential.
 */
export function findProviderKey(environment: Environment, provider: ProviderVariables): string | null {
  const ofCloud = isCloud(environment, provider) ? provider.lastingCloudKeys : [];
  return (
    [...ofCloud, ...provider.keys].map((name) => trimmedVariable(environment, name)).find((value) => value !== '') ??
    null
  );
}

/**
 * Returns values that must never be shown or published: tokens, keys, and values named by `agent-env` that look like
 * credentials.
 */
export function listSecretValues(
  environment: Environment,
  names: readonly string[],
  { keys, otherSecrets }: ProviderVariables,
): string[] {
  const secret = (name: string): boolean =>
    keys.includes(name) ||
    otherSecrets.includes(name) ||
    /^(INPUT_GITHUB-TOKEN|GITHUB_TOKEN|GH_TOKEN|ACTIONS_RUNTIME_TOKEN|ACTIONS_ID_TOKEN_REQUEST_TOKEN)$/.test(name) ||
    /^INPUT_NOTIFY-WEBHOOK$/.test(name) ||
    /(TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API[-_]?KEY|PRIVATE_KEY|ACCESS_KEY)/i.test(name) ||
    (names.includes(name) && (environment[name] ?? '').length >= 20);
  return [
    ...new Set(
      Object.keys(environment)
        .filter(secret)
        .map((name) => (environment[name] ?? '').trim())
        .concat(Object.keys(environment).flatMap((name) => headerValues(name, environment[name])))
        .filter((value) => value.length >= 8),
    ),
  ];
}

/** Returns the values in a variable with OpenTelemetry's headers, `NAME=VALUE,…`, as they are written and decoded. */
function headerValues(name: string, text = ''): readonly string[] {
  if (!/^OTEL_EXPORTER_OTLP_(\w+_)?HEADERS$/i.test(name)) return [];
  const values = text.split(',').map((pair) => pair.slice(pair.indexOf('=') + 1).trim());
  return values.flatMap((value) => [value, ...value.replaceAll('%20', ' ').split(' ')]);
}

function pick(environment: Environment, wanted: (name: string) => boolean): Record<string, string> {
  const entries = Object.entries(environment).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && wanted(entry[0]) && !isJobSecret(entry[0]),
  );
  return Object.fromEntries(entries);
}

/**
 * Returns one sentence for each variable of the job that a verify command needs but does not get: the command would
 * fail for a reason that no task can fix.
 */
export function describeWithheldVariables(
  commands: readonly string[],
  { job, given }: { readonly job: Environment; readonly given: Environment },
): readonly string[] {
  const isSet = (variables: Environment, name: string): boolean =>
    Object.hasOwn(variables, name) && (variables[name] ?? '') !== '';
  const named = new Set<string>();
  return commands.flatMap((command) =>
    findNeededVariables(command)
      .filter((name) => isSet(job, name) && !isSet(given, name) && !named.has(name))
      .map((name) => {
        named.add(name);
        const why = `The verify command "${toOneLine(command, 200)}" needs \`${name}\`, which is set in this job and withheld from \`verify\``;
        return isJobSecret(name)
          ? `${why}, because it is a secret of the job that code of the branch must not see. Change the command so that it works without it.`
          : `${why}: name it in \`agent-env\`, or give it a default: \`\${${name}:-…}\`.`;
      }),
  );
}
