// The commands of the release workflow, in plain JavaScript so that they need no install:
// `check VERSION` exits with 1 and prints every reason why the version cannot be released now,
// `released VERSION` exits with 1 unless the version has a tag,
// `notes VERSION` prints the version's section of CHANGELOG.md.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Returns every reason why a version cannot be released. `tags` are all existing ones, `here` those of the released
 * commit; `tip` is true if that commit is the newest of main.
 */
export function releaseProblems({ version, packageVersion, changelog, tags, here, tip }) {
  if (!isVersion(version)) return [`"${version}" is not a version such as 1.0.1.`];
  const problems = [];
  if (!tip) problems.push('This commit is not the tip of main: run the workflow again, on main.');
  if (packageVersion !== version) problems.push(`package.json says ${packageVersion}, not ${version}.`);
  const notes = notesOf(changelog, version);
  if (notes === null) problems.push(`CHANGELOG.md has no section "## ${version}".`);
  else if (notes === '') problems.push(`The section "## ${version}" of CHANGELOG.md is empty.`);
  if (tags.includes(`v${version}`) && !here.includes(`v${version}`))
    problems.push(`The tag v${version} names another commit: a released version never changes. Release the next one.`);
  const newer = tags.filter((tag) => isVersion(tag.slice(1)) && isNewer(tag.slice(1), version));
  if (newer.length > 0) problems.push(`${newer.join(', ')} is newer. Choose a higher version.`);
  return problems;
}

/**
 * Returns the text below `## VERSION` (a date may follow) up to the next heading of that level, or null without such a
 * heading.
 */
export function notesOf(changelog, version) {
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((text) => text.split(/[\s\n]/, 1)[0] === version);
  return section === undefined ? null : section.slice(section.indexOf('\n') + 1).trim();
}

function isVersion(text) {
  return /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/.test(text);
}

/** Compares within a major version only, because an older major version may still get fixes. */
function isNewer(one, other) {
  const [a, b] = [one, other].map((text) => text.split('.').map(Number));
  if (a[0] !== b[0]) return false;
  return a[1] === b[1] ? a[2] > b[2] : a[1] > b[1];
}

function main([command, version = '']) {
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
  const git = (...words) => execFileSync('git', words, { cwd: root, encoding: 'utf8' });
  const tagsOf = (...which) => git('tag', '--list', ...which, 'v*').split('\n');
  const tags = tagsOf();
  if (command === 'check') {
    const { version: packageVersion } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const tip = git('rev-parse', 'HEAD') === git('rev-parse', 'origin/main');
    return releaseProblems({ version, packageVersion, changelog, tags, here: tagsOf('--points-at', 'HEAD'), tip });
  }
  if (command === 'released')
    return tags.includes(`v${version}`) && isVersion(version) ? [] : [`There is no released version "${version}".`];
  if (command === 'notes') {
    const notes = notesOf(changelog, version);
    if (notes === null) return [`CHANGELOG.md has no section "## ${version}".`];
    console.log(notes);
    return [];
  }
  return ['Usage: node scripts/release.mjs check|released|notes VERSION'];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const problems = main(process.argv.slice(2));
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
