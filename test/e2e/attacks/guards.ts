/** A guard, and the rows of the corpus that fail without it, and only they: `npm run mutation -- --guards` plays that. */
export interface Guard extends Edit, Scene {
  /** A part of the name of each test that must fail. */
  readonly rows: readonly string[];
}

/** A text that a file has once, and its replacement. */
export interface Edit {
  readonly source: string;
  readonly guard: string;
  readonly without: string;
}

interface Scene {
  readonly test: string;
  /** A part of the names of the tests that are played; null for all of the file. */
  readonly scene: string | null;
  /** Edits that let a run begin although something found that the guard is gone. */
  readonly checked: readonly Edit[];
}

type Row = readonly [guard: string, without: string, ...rows: readonly string[]];

const SANDBOX: Scene = {
  test: 'sandboxes/doors',
  scene: null,
  checked: [{ source: 'src/core/isolation/probe.ts', guard: "level !== 'none' && ", without: 'false && ' }],
};
const ISSUE: Scene = { test: 'people', scene: 'What an issue says', checked: [] };
const REVIEW: Scene = { test: 'later/review', scene: 'What later runs, tools and machines obey', checked: [] };
const HIDDEN: Scene = { test: 'later/later-runs', scene: 'The hidden data of a pull request', checked: [] };
const NOTES: Scene = { test: 'later/later-runs', scene: 'The notes of another task', checked: [] };
const CACHED: Scene = { test: 'later/later-runs', scene: 'Folders of the checkout that a later step', checked: [] };

/** By file in src/. */
const removals: Readonly<Record<string, readonly [Scene, ...Row[]]>> = {
  'core/isolation/egress/opening.ts': [
    SANDBOX,
    ['asHost(opening.name) === host ? null : formatOtherName(opening.name)', 'null', 'names another host'],
    ["parseAddress(host) === null ? ' without a server name' : null", 'null', 'names no host'],
    ["case 'other':\n      return WITHOUT_TLS;", "case 'other':\n      return null;", 'speaks no TLS'],
  ],
  'isolation/namespaces/seal.ts': [
    SANDBOX,
    ['\nsyscall($keyctl + 0, 1, 0);', '', 'lists its keys'],
    ['if (opendir my $open,', 'if (0 && opendir my $open,', 'a file that the runner had open', 'lists its descriptors'],
  ],
  'core/isolation/sandbox/system-calls.ts': [
    SANDBOX,
    ['[1, 2, 10, 16]', '[1, 2, 10, 16, 40]', 'to the hypervisor: refused', 'by a call of 32 bits'],
    ['sockets: [359, 360]', 'sockets: []', 'by a call of 32 bits'],
    ["...each(unseen, 'unseen')", '', 'opens a ring'],
    ["...each(keys, 'key')", '', 'adds a key', 'asks for a key', 'looks for a key'],
  ],
  'isolation/namespaces/scripts.ts': [
    SANDBOX,
    // Shows the folder as it is, above the mount that keeps its sockets from being reached.
    [
      'case " $mapped" in',
      'mount --bind -- "$1" "$stage/$number"; case " $number " in',
      'asks a daemon by its socket',
      'writes into a pipe of a daemon',
    ],
  ],
  'wiring/isolation/sandbox-place.ts': [
    SANDBOX,
    ['(isFilled(work) ? runnerFolders(work) : checkoutsIn(work))', '[]', "reads another checkout of root's runner"],
  ],
  'git/checkout/tree/check-out-tree.ts': [
    CACHED,
    // The copies are then the files of the checkout under other names.
    [
      '{ "$tar" -c -f - "$@" --null -T - || [ $? -eq 1 ] || : > "$mark"; } | "$tar" -x -p -f - -C "$to" && ',
      'xargs -0 cp -al --parents -t "$to" && ',
      'the agent: changes an ignored file',
      'what verify runs: changes an ignored file',
    ],
  ],
  'git/checkout/lane.ts': [
    CACHED,
    ['await refuseIgnoredFiles(repository, branch, [head, commit])', '', 'in a folder that git ignored'],
  ],
  'core/doctor/cache-findings.ts': [
    CACHED,
    ['if (caches.length === 0) return null', 'if (caches.length >= 0) return null', 'in a job that stores a cache'],
  ],
  'markdown/drawn.ts': [
    ISSUE,
    ['  /%%[^\\n]*/g,', '', 'in a comment of a diagram'],
    ['  /%%\\{[^]*?(?:\\}%%|$)/g,', '', 'in the configuration of a diagram'],
    ['(?=---)(?<=^', '(?!)(?=---)(?<=^', 'in the front matter of a diagram'],
    ['color[ \\t]*:(?![ \\t]*', 'color[ \\t]*:(?!)(?![ \\t]*', 'that are nearly white'],
    ['(?=participant|actor)', '(?=actor)', 'that another one replaces'],
    ['[...MERMAID_UNSEEN, ...comments].flatMap', 'MERMAID_UNSEEN.flatMap', 'in a comment behind a message'],
    ["found === '%' || ", '', 'in a comment of a formula'],
    ['maltese`', 'maltese phantom`', 'in an invisible part of a formula'],
    ['maltese`', 'maltese color`', 'in white text of a formula'],
    ['maltese`', 'maltese DeclareMathOperator y`', 'in a definition of a formula'],
    ["'geojson', ", '', 'in the names of a map'],
    ["'stl', ", '', 'in the name of a solid'],
  ],
  'core/text/phrase.ts': [
    HIDDEN,
    ["'\\\\u005b'", "'['", 'with [skip ci] and its kin'],
    ["'\\\\u002a'", "'*'", 'with [skip ci] and its kin'],
    ["'$1\\\\u002d'", "'$1-'", 'with [skip ci] and its kin'],
  ],
  'core/prompt/learnings.ts': [
    NOTES,
    ['`(${path}, written on another task)\\n`', "''", 'leaves orders for other tasks'],
  ],
  'core/review/look-at.ts': [
    REVIEW,
    ['(?:progress|learnings|', '(?:progress|', "in Ralph's own notes"],
    ['(?:progress|learnings|', '(?:learnings|', "in another Ralph's notes"],
    ['(?:AGENTS?|CLAUDE', '(?:AGENTS|CLAUDE', 'writes instructions for later agents'],
    ['|\\.qwen|', '|', 'writes settings of Qwen Code'],
    ['|\\.copilot|', '|', 'writes settings of Copilot CLI'],
    ['...(embedded.has(change.path) ?', '...(embedded.size < 0 ?', 'hides a bare repository'],
    ['\\.ralph\\/(?:config|configs', '\\.ralph\\/(?:configs', 'writes the steps of later runs'],
    ["binary && kind === 'changed' &&", 'false &&', 'changes a program.'],
    ['(?:gradlew|mvnw', '(?:mvnw', 'changes the program that starts the build tool'],
  ],
  'core/review/lock-files.ts': [
    REVIEW,
    ['hosts.length > 0', 'hosts.length < 0', 'packages from another host', 'a module come from another host'],
    ['...(hasModules ? [MODULE_HOST] : [])', '', 'a module come from another host'],
    ['...(scripts > 0', '...(scripts < 0', 'a package that runs a script', 'take the place of another one'],
    [
      '.filter((name) => old?.scripts.has(name) !== true).length;',
      '.length - (old?.scripts.size ?? 0);',
      'take the place of another one',
    ],
  ],
  'core/review/manifest.ts': [
    REVIEW,
    ["['packageManager', ", '[', 'names another package manager'],
    ['LIFECYCLE.test(name) || Object.hasOwn(scripts, of) || OWN_COMMANDS', '[]', 'run before and after others'],
  ],
};

export const guards: readonly Guard[] = Object.entries(removals).flatMap(([source, [scene, ...all]]) =>
  all.map(([guard, without, ...rows]) => ({ ...scene, source: `src/${source}`, guard, without, rows })),
);
