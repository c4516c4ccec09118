import { joinNames } from '../text/phrase.ts';
import { tryJson } from '../text/try-json.ts';
import type { FileFinding } from './manifest.ts';
import { isLockFile } from './test-files.ts';

/** Matches addresses and what stands for the host in them. Programs read `https:host` like `https://host`. */
const ADDRESS = /(?:\bhttps?:[\\/]*|\b[a-z][a-z\d+.-]{0,20}:\/\/)([^\s"'`\\/?#,;<>(){}|]+)/gi;

/** Matches addresses of git without a scheme, such as `git@host:path`. */
const GIT_ADDRESS = /(?<=[\w.-]@)([a-z][a-z\d-]{0,63}(?:\.[a-z\d-]{1,63}){0,8}\.[a-z]{2,63}):/gi;

/** Matches short names of repositories, such as `github:owner/name`. */
const SHORT_ADDRESS = /\b(github|gitlab|bitbucket|gist):[\w.-]+[/\w]/gi;

const SHORT_HOSTS: Readonly<Record<string, string>> = {
  github: 'github.com',
  gitlab: 'gitlab.com',
  bitbucket: 'bitbucket.org',
  gist: 'gist.github.com',
};

/** Matches the hosts of files whose lines begin with the name of a module or provider, which begins with its host. */
const MODULE_HOST = /^(?:provider ")?([a-z\d-]+(?:\.[a-z\d-]+)+)\//gim;

/**
 * The entries that name the source of a package, as `key` or `key.key`, in lock files that also name web pages and
 * messages.
 */
const SOURCES: readonly { readonly path: RegExp; readonly entry: RegExp }[] = [
  { path: /(?:package-lock|npm-shrinkwrap)\.json$/i, entry: /\.(?:resolved|version|from)$/ },
  { path: /composer\.lock$/i, entry: /(?:^|\.)(?:dist|source|mirrors)\.url$/ },
];

const MODULES = /(?:go(?:\.work)?\.sum|\.terraform\.lock\.hcl)$/i;

const NPM_REGISTRY = /(?:^|\.)(?:npmjs\.org|yarnpkg\.com|npmjs\.com|jsr\.io)$/;
const USUAL_SOURCE = new RegExp(
  `${NPM_REGISTRY.source}|${/(?:^|\.)(?:pypi\.org|pythonhosted\.org|crates\.io|rubygems\.org|packagist\.org|github\.com|hex\.pm|pub\.dev|opencollective\.com|tidelift\.com|patreon\.com|ko-fi\.com|golang\.org|gopkg\.in|uber\.org|k8s\.io|registry\.terraform\.io)$/.source}`,
);

/**
 * Returns changes of a lock file that are easily missed in its thousands of lines: packages from new hosts, and
 * packages that run a script on installation and did not before.
 */
export function inspectLockFile(path: string, before: string | null, after: string | null): readonly FileFinding[] {
  if (!isLockFile(path) || after === null) return [];
  const [old, now] = [before ?? '', after].map((text) => parseLockFile(path, text));
  const isNpm = /(?:package-lock|npm-shrinkwrap)\.json$/i.test(path);
  // A new lock file names its registries for the first time, so only unusual ones are findings.
  const hosts = [...(now?.hosts ?? [])].filter((host) =>
    before === null ? !(isNpm ? NPM_REGISTRY : USUAL_SOURCE).test(host) : old?.hosts.has(host) !== true,
  );
  const scripts = [...(now?.scripts ?? [])].filter((name) => old?.scripts.has(name) !== true).length;
  const what = [
    ...(hosts.length > 0 ? [`packages from ${joinNames(hosts, 3)}`] : []),
    ...(scripts > 0
      ? [`${scripts} more ${scripts === 1 ? 'package runs' : 'packages run'} a script when installed`]
      : []),
  ];
  return what.length === 0 ? [] : [{ kind: 'lock-file', what: what.join('; ') }];
}

/** The hosts from which the packages of a lock file come, and the packages that run a script on installation. */
interface LockedPackages {
  readonly hosts: ReadonlySet<string>;
  readonly scripts: ReadonlySet<string>;
}

function parseLockFile(path: string, text: string): LockedPackages {
  const plain = withoutEscapes(text);
  const wanted = SOURCES.find((file) => file.path.test(path));
  const entries = wanted === undefined ? null : listEntries(tryJson(text));
  const sources =
    wanted === undefined || entries === null
      ? plain
      : entries
          .flatMap(({ key, value }) =>
            typeof value === 'string' && wanted.entry.test(key) ? [withoutEscapes(`"${value}"`)] : [],
          )
          .join('\n');
  return {
    hosts: hostsIn(sources, MODULES.test(path)),
    scripts: new Set([...(entries === null ? [] : scriptsInJson(entries)), ...scriptsInText(plain)]),
  };
}

/** Decodes escapes of JSON, YAML and TOML, and of addresses, which would hide a word or an address. */
function withoutEscapes(text: string): string {
  return (
    text
      .replaceAll(/\\(?:x([\da-f]{2})|u([\da-f]{4})|\/)/gi, (_, byte?: string, unit?: string) =>
        byte === undefined && unit === undefined ? '/' : String.fromCharCode(Number.parseInt(byte ?? unit ?? '', 16)),
      )
      .replaceAll(/%([2-7][\da-f])/gi, (_, byte: string) => String.fromCharCode(Number.parseInt(byte, 16)))
      // The list of all crates is on GitHub, but packages of GitHub are not from that list.
      .replaceAll('https://github.com/rust-lang/crates.io-index', 'https://crates.io')
  );
}

/** Returns the hosts in the order of the text. */
function hostsIn(text: string, hasModules: boolean): ReadonlySet<string> {
  const matches = [ADDRESS, GIT_ADDRESS, SHORT_ADDRESS, ...(hasModules ? [MODULE_HOST] : [])].flatMap((form) =>
    [...text.matchAll(form)].map(({ 1: found = '', index }) => ({
      index,
      host:
        form === ADDRESS ? hostOf(found) : form === SHORT_ADDRESS ? (SHORT_HOSTS[found.toLowerCase()] ?? '') : found,
    })),
  );
  const hosts = matches.sort((one, other) => one.index - other.index).map(({ host }) => host.toLowerCase());
  return new Set(hosts.filter((host) => host !== ''));
}

/** Returns the host in `user:password@host:port`. */
function hostOf(authority: string): string {
  return authority
    .slice(authority.lastIndexOf('@') + 1)
    .replace(/:\d*$/, '')
    .replace(/\.$/, '');
}

/** An entry of a JSON text. `key` is its key behind that of its object, and `owner` is the object that contains it. */
interface Entry {
  readonly key: string;
  readonly value: unknown;
  readonly owner: Readonly<Record<string, unknown>>;
  readonly ownerKey: string;
}

/** Maximum length of an object's key: every entry repeats it, and the end of it names the package. */
const MAX_KEY_CHARS = 300;

/** Returns all entries of objects at any depth, or null if the text was not JSON. */
function listEntries(json: unknown): readonly Entry[] | null {
  if (typeof json !== 'object' || json === null) return null;
  const entries: Entry[] = [];
  // Use a list instead of calls, which deep objects would exhaust.
  const open: { readonly key: string; readonly value: object }[] = [{ key: '', value: json }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const isList = Array.isArray(next.value);
    const owner = next.value as Readonly<Record<string, unknown>>;
    for (const [name, value] of Object.entries(owner)) {
      if (!isList) entries.push({ key: `${next.key}.${name}`, value, owner, ownerKey: next.key });
      if (typeof value === 'object' && value !== null)
        open.push({ key: isList ? next.key : name.slice(-MAX_KEY_CHARS), value });
    }
  }
  return entries;
}

/** Returns the packages that npm marks, and the plugins of Composer, which run whenever it does. */
function scriptsInJson(entries: readonly Entry[]): readonly string[] {
  return entries.flatMap(({ key, value, owner, ownerKey }) => {
    if (key.endsWith('.hasInstallScript') && value === true) return [ownerKey.replace(/^.*node_modules\//, '')];
    if (!key.endsWith('.type') || typeof value !== 'string' || !/^composer-(?:plugin|installer)$/.test(value))
      return [];
    return [JSON.stringify(owner['name'] ?? '')];
  });
}

/**
 * Returns the packages that pnpm marks, those that Bun trusts, and those of Python without a wheel, whose installation
 * runs their build.
 */
function scriptsInText(text: string): readonly string[] {
  const ofPnpm: string[] = [];
  let key = '';
  for (const line of text.includes('requiresBuild:') ? text.split('\n') : []) {
    key = /^ {0,2}['"/]{0,2}([^\s'"].*):\s*$/.exec(line)?.[1] ?? key;
    if (/^\s*requiresBuild:\s*true/.test(line)) ofPnpm.push(key.replace(/(?!^)[@/]\d.*$/, ''));
  }
  const trusted = text.match(/"trustedDependencies"\s*:\s*\[[^\]]*/g) ?? [];
  const ofPython = text.split(/^\[\[packages?\]\]$/m).slice(1);
  return [
    ...ofPnpm,
    ...trusted.flatMap((list) =>
      [...list.slice(list.indexOf('[')).matchAll(/"([^"]+)"/g)].map(([, name = '']) => name),
    ),
    ...ofPython
      .filter((entry) => /\.(?:tar\.(?:gz|bz2)|tgz|zip)["'#?]/.test(entry) && !/\.whl\b/.test(entry))
      .map((entry) => /^name\s*=\s*["'](.+)["']/m.exec(entry)?.[1] ?? ''),
  ];
}
