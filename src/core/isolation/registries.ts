import { isPublicHost, parseTarget, sortUniqueHosts, type HostRule } from './hosts.ts';

/** The registries in a package manager's settings. */
interface RegistrySettings {
  /** Registries used in place of the well-known ones. */
  readonly replacing: readonly string[];
  /** Registries used in addition. */
  readonly additional: readonly string[];
}

/** A package manager, the command that prints its registries, and its default registries. */
export interface PackageManager {
  /** The package manager is installed if one of these is on PATH. */
  readonly programs: readonly string[];
  /** The command that prints the settings; null if there is no such command. */
  readonly question: readonly [file: string, ...args: readonly string[]] | null;
  readonly parse: (answer: string) => RegistrySettings;
  /** Environment variables that set registries; `*` matches any text, and case is ignored. */
  readonly variables: { readonly replacing: readonly string[]; readonly additional: readonly string[] };
  readonly usual: readonly string[];
}

/** A package manager as found on this machine. */
export interface FoundPackageManager {
  readonly isThere: boolean;
  /** The output of the command in `question`; null if the command was not run or failed. */
  readonly answer: string | null;
}

const MAX_ANSWER_CHARS = 64 * 1024;
/** Maximum number of hosts of one package manager. */
const MAX_HOSTS = 50;
const NO_REGISTRIES: RegistrySettings = { replacing: [], additional: [] };
const NO_VARIABLES = { replacing: [], additional: [] };

const NPM = ['registry.npmjs.org'];
const PYPI = ['pypi.org'];
const MAVEN = ['repo.maven.apache.org', 'repo1.maven.org'];

const quiet = (...programs: readonly string[]) => ({
  programs,
  question: null,
  parse: () => NO_REGISTRIES,
  variables: NO_VARIABLES,
});

/** The package managers whose registries are allowed. */
export const packageManagers: readonly PackageManager[] = [
  {
    programs: ['npm', 'pnpm'],
    question: ['npm', 'config', 'ls', '--json'],
    parse: parseNpm,
    variables: { replacing: ['npm_config_registry'], additional: ['npm_config_@*:registry'] },
    usual: NPM,
  },
  {
    ...quiet('yarn'),
    variables: { replacing: ['yarn_registry', 'yarn_npm_registry_server'], additional: [] },
    usual: ['registry.yarnpkg.com', 'repo.yarnpkg.com', ...NPM],
  },
  { ...quiet('bun'), variables: { replacing: ['bun_config_registry'], additional: [] }, usual: NPM },
  { ...quiet('deno'), variables: { replacing: [], additional: ['jsr_url'] }, usual: ['jsr.io', 'deno.land', ...NPM] },
  {
    programs: ['pip', 'pip3', 'python3'],
    question: ['pip3', 'config', 'list'],
    parse: parsePip,
    variables: { replacing: ['pip_index_url'], additional: ['pip_extra_index_url', 'pip_find_links'] },
    usual: PYPI,
  },
  {
    ...quiet('uv'),
    variables: {
      replacing: ['uv_index_url', 'uv_default_index'],
      additional: ['uv_index', 'uv_extra_index_url', 'uv_find_links'],
    },
    usual: PYPI,
  },
  {
    ...quiet('poetry', 'pipenv', 'pdm'),
    variables: { replacing: ['pipenv_pypi_mirror', 'pdm_pypi_url'], additional: [] },
    usual: PYPI,
  },
  {
    ...quiet('cargo'),
    variables: { replacing: [], additional: ['cargo_registries_*_index'] },
    usual: ['index.crates.io', 'static.crates.io'],
  },
  {
    programs: ['go'],
    question: ['go', 'env', 'GOPROXY', 'GOSUMDB'],
    parse: parseGo,
    variables: { replacing: ['goproxy'], additional: ['gosumdb'] },
    usual: ['proxy.golang.org', 'sum.golang.org'],
  },
  {
    programs: ['gem', 'bundle'],
    question: ['gem', 'sources', '--list'],
    parse: (answer) => ({ replacing: urlsIn(answer), additional: [] }),
    variables: { replacing: [], additional: ['bundle_mirror__*'] },
    usual: ['rubygems.org'],
  },
  { ...quiet('mvn', 'java'), usual: MAVEN },
  // A project may bring its own gradle, so an installed java is enough to expect one.
  {
    ...quiet('gradle', 'java'),
    usual: [
      'services.gradle.org',
      'downloads.gradle.org',
      'plugins.gradle.org',
      'plugins-artifacts.gradle.org',
      ...MAVEN,
    ],
  },
  { ...quiet('dotnet', 'nuget'), usual: ['api.nuget.org'] },
  { ...quiet('composer'), usual: ['repo.packagist.org'] },
  {
    ...quiet('mix'),
    variables: { replacing: ['hex_mirror', 'hex_mirror_url'], additional: [] },
    usual: ['hex.pm', 'repo.hex.pm', 'builds.hex.pm'],
  },
  { ...quiet('dart'), variables: { replacing: ['pub_hosted_url'], additional: [] }, usual: ['pub.dev'] },
  { ...quiet('cabal'), usual: ['hackage.haskell.org'] },
  { ...quiet('stack'), usual: ['hackage.haskell.org', 'www.stackage.org', 'casa.stackage.org'] },
];

/** Hosts that are allowed together with a registry, because its index refers to files there. */
const COMPANIONS: Readonly<Record<string, readonly string[]>> = {
  'pypi.org': ['files.pythonhosted.org'],
  'rubygems.org': ['index.rubygems.org'],
};

/**
 * Returns the public hosts of one package manager's registries. Neither its output nor its environment variables are
 * trusted.
 */
export function parseRegistryHosts(
  manager: PackageManager,
  { isThere, answer }: FoundPackageManager,
  environment: Readonly<Record<string, string | undefined>>,
): readonly HostRule[] {
  const reported = answer === null ? NO_REGISTRIES : manager.parse(answer.slice(0, MAX_ANSWER_CHARS));
  const values = (patterns: readonly string[]): readonly string[] =>
    Object.entries(environment)
      .filter(([name]) => patterns.some((pattern) => namesVariable(pattern, name)))
      .flatMap(([, value = '']) => urlsIn(value.slice(0, MAX_ANSWER_CHARS)));
  const replacing = [...reported.replacing, ...values(manager.variables.replacing)];
  const additional = [...reported.additional, ...values(manager.variables.additional)];
  const usual = replacing.length === 0 && isThere ? manager.usual.map((host) => `https://${host}`) : [];
  const hosts = [...replacing, ...additional].slice(0, MAX_HOSTS).concat(usual).flatMap(hostOf);
  return sortUniqueHosts(hosts.flatMap((rule) => [rule, ...companionsOf(rule)]));
}

function companionsOf({ host }: HostRule): readonly HostRule[] {
  const companions = Object.hasOwn(COMPANIONS, host) ? COMPANIONS[host] : [];
  return companions?.map((name) => ({ host: name, port: 443 })) ?? [];
}

/** Returns the host and port of a URL without its user name and password; empty if the host is not public. */
function hostOf(url: string): readonly HostRule[] {
  const [, scheme = '', authority = ''] = /^(https?):\/\/([^/?#]*)/i.exec(url) ?? [];
  const target = parseTarget(
    authority.slice(authority.lastIndexOf('@') + 1),
    scheme.toLowerCase() === 'http' ? 80 : 443,
  );
  return target !== null && isPublicHost(target.host) ? [target] : [];
}

/** Finds URLs between blanks, quotes, commas and bars; a prefix such as `name=` or `sparse+` is skipped. */
function urlsIn(text: string): readonly string[] {
  return text.match(/https?:\/\/[^\s'",|\\]+/gi) ?? [];
}

function namesVariable(pattern: string, name: string): boolean {
  const [start = '', end] = pattern.split('*');
  const lower = name.toLowerCase();
  return end === undefined ? lower === pattern : lower.startsWith(start) && lower.endsWith(end);
}

/** Parses the registries in npm's configuration, which is JSON. */
function parseNpm(answer: string): RegistrySettings {
  const registries = [...answer.matchAll(/^[ \t]*"((?:@[^"]*:)?registry)": *"(https?:[^"]*)"/gim)];
  const isScoped = (name = ''): boolean => name.startsWith('@');
  return {
    replacing: registries.filter(([, name]) => !isScoped(name)).flatMap(([, , url = '']) => urlsIn(url)),
    additional: registries.filter(([, name]) => isScoped(name)).flatMap(([, , url = '']) => urlsIn(url)),
  };
}

/** Parses lines such as `global.index-url='https://…'`. */
function parsePip(answer: string): RegistrySettings {
  const lines = answer.split('\n');
  const under = (pattern: RegExp): readonly string[] => lines.filter((line) => pattern.test(line)).flatMap(urlsIn);
  return { replacing: under(/^[^=]*\.index-url=/), additional: under(/^[^=]*\.(?:extra-index-url|find-links)=/) };
}

/** Parses two lines: the proxies, and the checksum database as a name, a name with its key, or a name and its URL. */
function parseGo(answer: string): RegistrySettings {
  const [proxies = '', sums = ''] = answer.split('\n').map((line) => line.trim());
  const [name = ''] = sums.split(/[+ ]/);
  const ofSums = urlsIn(sums);
  const isNamed = name.includes('.') && ofSums.length === 0;
  return { replacing: urlsIn(proxies), additional: isNamed ? [`https://${name}`] : ofSums };
}
