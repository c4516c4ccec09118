import { joinNames } from '../text/phrase.ts';
import type { FileFinding } from './manifest.ts';
import { isLockFile } from './test-files.ts';

/** Matches hosts that a lock file names as sources of packages. Programs read `https:host` like `https://host`. */
const ADDRESS =
  /(?:\b(?:https?:[\\/]*|(?:git|ssh):\/\/)(?:[^\s"'@/]{1,200}@)?([a-z\d.-]{1,253}|\[[\da-f:.]+\])(?::\d{1,5})?[\\/"'\s#?]|\bgit@([a-z\d.-]{1,253}):)/gi;

/** Matches the entries of npm's lock files that name the source of a package, but not its web pages. */
const NPM_SOURCE = /"(?:resolved|version|from)"\s*:\s*"[^"]*"/g;

/** Matches packages that run a script on installation, as npm, pnpm and Yarn mark them. */
const RUNS_SCRIPT = /"hasInstallScript"\s*:\s*true|^\s*requiresBuild:\s*true/gim;

const NPM_REGISTRY = /(?:^|\.)(?:npmjs\.org|yarnpkg\.com|npmjs\.com|jsr\.io)$/;
const USUAL_SOURCE = new RegExp(
  `${NPM_REGISTRY.source}|${/(?:^|\.)(?:pypi\.org|pythonhosted\.org|crates\.io|rubygems\.org|packagist\.org|github\.com|hex\.pm|pub\.dev|opencollective\.com|tidelift\.com|patreon\.com|ko-fi\.com)$/.source}`,
);

/**
 * Returns changes of a lock file that are easily missed in its thousands of lines: packages from new hosts, and more
 * packages that run a script on installation.
 */
export function inspectLockFile(path: string, before: string | null, after: string | null): readonly FileFinding[] {
  if (!isLockFile(path) || after === null) return [];
  const old = withoutJsonEscapes(before ?? '');
  const now = withoutJsonEscapes(after);
  const isNpm = /(?:package-lock|npm-shrinkwrap)\.json$/i.test(path);
  const known = hostsIn(old, isNpm);
  // A new lock file names its registries for the first time, so only unusual ones are findings.
  const hosts = [...hostsIn(now, isNpm)].filter((host) =>
    before === null ? !(isNpm ? NPM_REGISTRY : USUAL_SOURCE).test(host) : !known.has(host),
  );
  const scripts = installScriptsIn(now) - installScriptsIn(old);
  const what = [
    ...(hosts.length > 0 ? [`packages from ${joinNames(hosts, 3)}`] : []),
    ...(scripts > 0
      ? [`${scripts} more ${scripts === 1 ? 'package runs' : 'packages run'} a script when installed`]
      : []),
  ];
  return what.length === 0 ? [] : [{ kind: 'lock-file', what: what.join('; ') }];
}

/** Decodes the characters that JSON may write as escapes, which would hide a word or an address. */
function withoutJsonEscapes(text: string): string {
  return text.replaceAll(/\\(?:u([\da-f]{4})|\/)/gi, (_, code?: string) =>
    code === undefined ? '/' : String.fromCharCode(Number.parseInt(code, 16)),
  );
}

function hostsIn(text: string, isNpm: boolean): ReadonlySet<string> {
  const sources = isNpm ? (text.match(NPM_SOURCE) ?? []).join('\n') : text;
  return new Set([...sources.matchAll(ADDRESS)].map(([, host, ofGit]) => (host ?? ofGit ?? '').toLowerCase()));
}

function installScriptsIn(text: string): number {
  return text.match(RUNS_SCRIPT)?.length ?? 0;
}
