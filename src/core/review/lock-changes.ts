import { firstNames } from '../text/lists.ts';
import { isLockFile } from './lock-files.ts';
import type { Finding } from './kinds.ts';

/** Hosts that a lock file names as sources of packages. */
const ADDRESS =
  /\b(?:https?|git|ssh|git\+https?|git\+ssh):\/\/(?:[^\s"'@/]{1,200}@)?([a-z\d.-]{1,253})(?::\d{1,5})?[/"'\s#]/gi;
/** Packages that run a script as they are installed, as npm, pnpm and Yarn write it. */
const RUNS_SCRIPT = /"hasInstallScript"\s*:\s*true|^\s*requiresBuild:\s*true/gim;

/** Returns what a changed lock file brings that nobody sees in its thousands of lines: packages from a host that was not named before, and more packages that run a script as they are installed. */
export function lockFileFindings(path: string, before: string | null, after: string | null): readonly Finding[] {
  if (!isLockFile(path) || after === null) return [];
  const known = hostsIn(before ?? '');
  const hosts = [...hostsIn(after)].filter((host) => !known.has(host));
  const scripts = countOf(after) - countOf(before ?? '');
  // A lock file that is new names its registries for the first time.
  const isElsewhere = before === null ? hosts.filter((host) => !isUsualRegistry(host)) : hosts;
  const what = [
    ...(isElsewhere.length > 0 ? [`packages from ${firstNames(isElsewhere, 3)}`] : []),
    ...(scripts > 0
      ? [`${scripts} more ${scripts === 1 ? 'package runs' : 'packages run'} a script when installed`]
      : []),
  ];
  return what.length === 0 ? [] : [{ kind: 'lock-file', what: what.join('; ') }];
}

function hostsIn(text: string): ReadonlySet<string> {
  return new Set([...text.matchAll(ADDRESS)].map(([, host = '']) => host.toLowerCase()));
}

function countOf(text: string): number {
  return text.match(RUNS_SCRIPT)?.length ?? 0;
}

function isUsualRegistry(host: string): boolean {
  return /(?:^|\.)(?:npmjs\.org|yarnpkg\.com|npmjs\.com|jsr\.io|pypi\.org|pythonhosted\.org|crates\.io|rubygems\.org|packagist\.org|github\.com|hex\.pm|pub\.dev|opencollective\.com|tidelift\.com|patreon\.com|ko-fi\.com)$/.test(
    host,
  );
}
