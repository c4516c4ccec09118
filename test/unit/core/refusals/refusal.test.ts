import { describe, expect, test } from 'vitest';
import { cpuMs } from '../../../cpu.ts';
import {
  findConflictingBranch,
  explainRefusal,
  isForSignatures,
  parseRefusal,
  refusalOfSigning,
  findRefusedPaths,
  flattenServerWords,
} from '../../../../src/core/refusals/refusal.ts';
import type { RefusalKind } from '../../../../src/core/refusals/server-rules.ts';

/** Returns the message as GitHub prints it, from public reports of 2024 to 2026. */
const pushProtection = (files: readonly string[]): string =>
  [
    'remote: error: GH013: Repository rule violations found for refs/heads/ralph/queue.        ',
    'remote: ',
    'remote: - GITHUB PUSH PROTECTION        ',
    'remote:   —————————————————————————————————————————        ',
    'remote:     Resolve the following violations before pushing again        ',
    'remote: ',
    'remote:     - Push cannot contain secrets        ',
    'remote: ',
    'remote:      (?) Learn how to resolve a blocked push        ',
    'remote:      https://docs.github.com/code-security/secret-scanning/pushing-a-branch-blocked-by-push-protection        ',
    'remote: ',
    'remote:       —— GitHub Personal Access Token ——————————————————————        ',
    'remote:        locations:        ',
    ...files.flatMap((file) => [
      'remote:          - commit: 5477a7dd26384ed3c8b3814ee677f755ad27a597        ',
      `remote:            path: ${file}        `,
    ]),
    'remote: ',
    'remote:        (?) To push, remove secret from commit(s) or follow this URL to allow the secret.        ',
    'remote:        https://github.com/octo/sample/security/secret-scanning/unblock-secret/2gakJrAududURpxlh        ',
    'To https://github.com/octo/sample',
    " ! [remote rejected] HEAD -> ralph/queue (push declined due to repository rule violations)\nerror: failed to push some refs to 'https://github.com/octo/sample'",
  ].join('\n');

const ruleset = (...lines: readonly string[]): string =>
  [
    '[remote rejected] (push declined due to repository rule violations)',
    'remote: error: GH013: Repository rule violations found for refs/heads/ralph/queue.',
    'remote: Review all repository rules at https://github.com/octo/sample/rules?ref=refs%2Fheads%2Fralph%2Fqueue',
    'remote: ',
    ...lines.map((line) => `remote: ${line}`),
  ].join('\n');

const LARGE_FILE_WARNING = [
  'remote: warning: See https://gh.io/lfs for more information.',
  "remote: warning: File big.bin is 60.00 MB; this is larger than GitHub's recommended maximum file size of 50.00 MB",
  'remote: warning: GH001: Large files detected. You may want to try Git Large File Storage - https://git-lfs.github.com.',
].join('\n');

describe('each refusal is of one kind', () => {
  test.each<[RefusalKind, string, string, readonly string[]]>([
    ['content', 'secret', pushProtection(['src/api/github.ts:34']), ['src/api/github.ts']],
    ['content', 'secret', pushProtection(['a.ts:1', 'my notes/b.txt:12:3', 'a.ts:9']), ['a.ts', 'my notes/b.txt']],
    ['content', 'secret', 'remote: error: GH009: Secrets detected! This push failed.', []],
    [
      'content',
      'large-file',
      "remote: error: File images/a b.zip is 301.74 MB; this exceeds GitHub's file size limit of 100.00 MB\nremote: error: GH001: Large files detected.",
      ['images/a b.zip'],
    ],
    [
      'content',
      'workflow',
      '[remote rejected] (refusing to allow a GitHub App to create or update workflow `.github/workflows/x.yml` without `workflows` permission)',
      ['.github/workflows/x.yml'],
    ],
    [
      'content',
      'workflow',
      'refusing to allow an OAuth App to create or update workflow `.github/workflows/x.yml` without `workflow` scope',
      ['.github/workflows/x.yml'],
    ],
    [
      'content',
      'file-path',
      ruleset('- File path is restricted', '  locations:', '    - commit: 1', '      path: infra/x.tf'),
      ['infra/x.tf'],
    ],
    ['content', 'file-extension', ruleset('- File extension is restricted', '  tools/run.exe'), ['tools/run.exe']],
    ['content', 'path-length', ruleset('- File path is too long', '  - a/b/c/d.txt'), ['a/b/c/d.txt']],
    [
      'content',
      'path-length',
      ruleset('- File paths can not be greater than 9 characters.', '  Found 1 violation:', '', '  docs/ü b/c'),
      ['docs/ü b/c'],
    ],
    [
      'content',
      'file-size',
      ruleset('- File size can not exceed 5 MB.', '  Found 2 violations:', '', '  my video.mp4', '  Makefile'),
      ['my video.mp4', 'Makefile'],
    ],
    [
      'content',
      'file-path',
      ruleset(
        '- Files cannot include restricted file extensions.',
        '  Found 11 violations (showing first 10):',
        '',
        '  a b/c.exe',
        '',
        '- File path is restricted',
        '  Found 1 violation:',
        '',
        '  infra',
      ),
      ['a b/c.exe', 'infra'],
    ],
    [
      'content',
      'workflow',
      '[remote rejected] (refusing to allow an integration to create or update .github/workflows/x.yml)',
      [],
    ],
    ['content', 'lfs', 'remote: error: GH008: Your push referenced at least 1 unknown Git LFS object:', []],
    // Words in the name of a file are not a rule.
    ...['read-only.ts', 'case-insensitive.ts', 'commit_message_pattern.json', 'required status checks.md'].map(
      (file): [RefusalKind, string, string, readonly string[]] => [
        'content',
        'secret',
        pushProtection([`src/${file}:3`]),
        [`src/${file}`],
      ],
    ),
    // GitHub warns of large files in every push, whatever it refuses.
    [
      'content',
      'large-file',
      `${LARGE_FILE_WARNING}\nremote: error: File b.zip is 301.74 MB; this exceeds GitHub's file size limit of 100.00 MB\nremote: error: GH001: Large files detected.`,
      ['b.zip'],
    ],
    ['content', 'secret', `${LARGE_FILE_WARNING}\n${pushProtection(['a.ts:1'])}`, ['a.ts']],
    ['stale', 'moved', `[remote rejected] (failed to update ref)\n${LARGE_FILE_WARNING}`, []],
    ['transient', 'breakdown', `[remote rejected] (Internal Server Error)\n${LARGE_FILE_WARNING}`, []],
    // GitHub names the rules that the pusher may bypass.
    [
      'stale',
      'moved',
      '[remote rejected] (failed to update ref)\nremote: Bypassed rule violations for refs/heads/ralph/queue:\nremote: \nremote: - Changes must be made through a pull request.\nremote: ',
      [],
    ],
    ['branch', 'creation', ruleset('- Cannot create ref due to creations being restricted.'), []],
    ['branch', 'update', ruleset('- Cannot update this protected ref.'), []],
    ['branch', 'deletion', ruleset('- Cannot delete this branch'), []],
    [
      'branch',
      'deletion',
      'remote: error: GH006: Protected branch update failed for refs/heads/x.\nremote: error: Cannot delete this protected branch',
      [],
    ],
    [
      'branch',
      'signatures',
      ruleset('- Commits must have verified signatures.', '  Found 1 violation:', '  027faa'),
      [],
    ],
    ['branch', 'linear-history', ruleset('- This branch must not contain merge commits.', '  Found 1 violation:'), []],
    ['branch', 'author', ruleset('- Commit author email must match a given regex pattern: @corp.com$'), []],
    ['branch', 'author', ruleset('- Author email must end with @corp.com'), []],
    ['branch', 'author', "remote: GitLab: Author's email 'a@b.c' does not follow the pattern '@corp'", []],
    ['branch', 'signatures', 'remote: GitLab: Commit must be signed with a GPG key', []],
    [
      'branch',
      'update',
      "[remote rejected] (protected branch hook declined)\nremote: error: GH006: Protected branch update failed for refs/heads/x.\nremote: error: You're not authorized to push to this branch.",
      [],
    ],
    ['branch', 'committer', ruleset('- Committer email must match a given regex pattern: @corp'), []],
    ['branch', 'message', ruleset('- Commit message must match a given regex pattern: ^feat'), []],
    ['branch', 'private-email', 'remote: error: GH007: Your push would publish a private email address.', []],
    ['branch', 'pull-request', ruleset('- Changes must be made through a pull request.'), []],
    ['branch', 'pull-request', 'remote: error: GH006: \nremote: error: At least 1 approving review is required.', []],
    ['branch', 'merge-queue', ruleset('- Changes must be made through the merge queue'), []],
    ['branch', 'status-checks', ruleset('- Required status check "build" is expected.'), []],
    ['branch', 'deployments', ruleset('- Required deployments must succeed'), []],
    ['branch', 'branch-name', ruleset('- Branch name must start with feature/'), []],
    ['branch', 'protection', ruleset('- Something that GitHub says in five years.'), []],
    ['branch', 'access', "fatal: unable to access 'https://x/': The requested URL returned error: 403", []],
    ['branch', 'unknown', '[remote rejected] (pre-receive hook declined)\nremote: declined by policy 17', []],
    ...["'a.exe' is disabled", 'the single sign-on page', 'two-factor authentication failed', 'it was archived'].map(
      (words): [RefusalKind, string, string, readonly string[]] => [
        'branch',
        'unknown',
        `remote: ${words}\n ! [remote rejected] x -> x (pre-receive hook declined)`,
        [],
      ],
    ),
    ['branch', 'access', "remote: Repository 'o/r' is disabled. Please ask the owner to check their account.", []],
    [
      'branch',
      'unknown',
      '[remote rejected] (pre-receive hook declined)\nremote: permission denied: infra is frozen',
      [],
    ],
    [
      'name',
      'name-in-the-way',
      "[remote rejected] (cannot lock ref 'refs/heads/ralph/queue': 'refs/heads/ralph' exists; cannot create 'refs/heads/ralph/queue')",
      [],
    ],
    ['name', 'name-in-the-way', '[remote rejected] (directory file conflict)', []],
    ['stale', 'moved', '[rejected] (fetch first)', []],
    ['stale', 'moved', '[rejected] (non-fast-forward)', []],
    ['stale', 'moved', "cannot lock ref 'refs/heads/x': is at 5477a7 but expected 027faa", []],
    ['stale', 'moved', '[rejected] (stale info)', []],
    ['transient', 'unreachable', "fatal: unable to access 'https://x/': The requested URL returned error: 503", []],
    ['transient', 'unreachable', "fatal: unable to access 'https://x/': Recv failure: Connection reset by peer", []],
    ['transient', 'breakdown', '[remote rejected] (Internal Server Error)', []],
    [
      'transient',
      'breakdown',
      'remote: fatal: write error: No space left on device\nerror: remote unpack failed: unpack-objects abnormal exit',
      [],
    ],
    ...[
      "fatal: unable to access 'https://x/': GnuTLS recv error (-110): The TLS connection was non-properly terminated.",
      "fatal: unable to access 'https://x/': SSL certificate problem: certificate has expired",
      'send-pack: unexpected disconnect while reading sideband packet\nfatal: the remote end hung up unexpectedly',
      'error: RPC failed; curl 92 HTTP/2 stream 7 was not closed cleanly: CANCEL (err 8)',
      'fatal: early EOF',
    ].map((words): [RefusalKind, string, string, readonly string[]] => [
      'transient',
      words.includes('RPC failed') ? 'unreachable' : 'interrupted',
      words,
      [],
    ]),
    ...[
      'remote: fatal error in commit_refs\n ! [remote rejected] x -> x (failure)',
      'error: remote unpack failed: eof before pack header was fully read\n ! [remote rejected] x -> x (unpacker error)',
      '! [remote rejected] x -> x (deadline exceeded)',
      'remote: This repository is temporarily read-only for maintenance.',
    ].map((words): [RefusalKind, string, string, readonly string[]] => ['transient', 'breakdown', words, []]),
    ['transient', 'breakdown', 'remote: GitLab: The git server, Gitaly, is not available at this time.', []],
    ['transient', 'breakdown', 'remote: Gitea: Internal Server Connection Error', []],
    ['transient', 'breakdown', '[remote rejected] (unable to migrate objects to permanent storage)', []],
    ['content', 'large-file', 'error: RPC failed; HTTP 413 curl 22 The requested URL returned error: 413', []],
    ['content', 'large-file', 'remote: fatal: pack exceeds maximum allowed size (2.00 GiB)', []],
    ['branch', 'access', "remote: Not Found\nfatal: repository 'https://x/o/r.git/' not found", []],
    ['transient', 'unreachable', 'error: RPC failed; HTTP 408 curl 22 The requested URL returned error: 408', []],
    [
      'transient',
      'breakdown',
      'remote: error: cannot write: Read-only file system\n[remote rejected] (unpacker error)',
      [],
    ],
    ['transient', 'rate-limit', "fatal: unable to access 'https://x/': The requested URL returned error: 429", []],
    [
      'transient',
      'rate-limit',
      'remote: You have exceeded a secondary rate limit.\nfatal: The requested URL returned error: 403',
      [],
    ],
  ])('%s, %s: %j', (kind, rule, words, files) => {
    expect(parseRefusal(words)).toMatchObject({ kind, rule, files });
  });

  test('signatures are asked for by the server, or missing although it made the commits; no other rule is like that', () => {
    const asked = parseRefusal(ruleset('- Commits must have verified signatures.'));
    const unsigned = refusalOfSigning('unsigned');
    for (const refusal of [asked, unsigned]) expect(isForSignatures({ kind: 'refused', refusal })).toBe(true);
    for (const words of ['- Changes must be made through a pull request.', '- All commits must be signed off.']) {
      const other = parseRefusal(ruleset(words));
      expect(isForSignatures({ kind: 'refused', refusal: other })).toBe(false);
    }
    expect(isForSignatures({ kind: 'pushed' })).toBe(false);
    expect(explainRefusal(unsigned)).toMatch(/^GitHub did not sign the commits\. .*GitHub Apps.*said: unsigned\)$/);
  });

  test.each([
    [
      'remote: This repository was archived so it is read-only.\nfatal: The requested URL returned error: 403',
      /archived/,
    ],
    [
      'remote: Your organization has enabled or enforced SAML SSO.\nfatal: The requested URL returned error: 403',
      /Authorise/,
    ],
    ["fatal: unable to access 'http://127.0.0.1:1/a/b.git/': The requested URL returned error: 301", /renamed/],
    ['remote: The organization has an IP allow list enabled.\nfatal: The requested URL returned error: 403', /runner/],
    ["remote: Invalid username or token.\nfatal: Authentication failed for 'https://x/'", /has expired or was revoked/],
    ['remote: Permission to o/r.git denied to x.\nfatal: The requested URL returned error: 403', /contents: write/],
  ])('a token that may not push is explained by what helps: %s', (words, remedy) => {
    expect(parseRefusal(words)).toMatchObject({
      kind: 'branch',
      rule: 'access',
      meaning: expect.stringMatching(remedy),
    });
  });

  test('if an answer has several rules, the one that leaving out a file does not fix counts', () => {
    const both = ruleset(
      '- Cannot create ref due to creations being restricted.',
      '- refusing to allow a GitHub App to create or update workflow `.github/workflows/x.yml` without `workflows` permission',
    );
    expect(parseRefusal(both)).toMatchObject({ kind: 'branch', rule: 'creation', files: [] });
  });

  test.each([['https://github.com/read-only/rate limit.git'], ['http://127.0.0.1:403/octo/GH013.git']])(
    'nothing in the address %s counts',
    (url) => {
      expect(parseRefusal(`fatal: unable to access '${url}': Could not resolve host`).kind).toBe('transient');
    },
  );
});

describe("the server's words", () => {
  test('of an archived repository, what helps is named beside the permission', () => {
    const words =
      'remote: This repository was archived so it is read-only.\nfatal: The requested URL returned error: 403';
    const refusal = parseRefusal(words);
    expect(refusal).toMatchObject({ kind: 'branch', rule: 'access' });
    expect(explainRefusal(refusal)).toMatch(
      /^The repository accepts no pushes, because it is archived.*Unarchive it, or switch the workflow off;/,
    );
  });

  test('are kept without decoration, and without the offer to let the secret through', () => {
    const said = explainRefusal(parseRefusal(pushProtection(['src/config.ts:3'])));
    expect(said).toContain('Push cannot contain secrets');
    expect(said).toContain('src/config.ts:3');
    for (const never of ['unblock-secret', 'allow the secret', '——', 'Exempt', 'switch', 'bypass', 'Settings'])
      expect(said).not.toContain(never);
  });

  test('are one line of bounded length, whatever a server prints', () => {
    const words = flattenServerWords(`remote: \u001B[31m${'x'.repeat(20_000)}\nremote: @octocat <!-- y -->`);
    expect(words.length).toBeLessThanOrEqual(700);
    expect(words).not.toMatch(/[\n\u001B]/);
  });
});

describe('which of the changed files is refused', () => {
  const refusal = parseRefusal(pushProtection(['src/config.ts:3']));
  test.each<[string, readonly string[], readonly string[]]>([
    ['the one that is named', ['src/config.ts', 'src/app.ts'], ['src/config.ts']],
    ['none: it is not among them', ['src/app.ts'], []],
    ['not one whose name is a part of another', ['config.ts', 'src/config.tsx'], []],
  ])('%s', (_, changed, refused) => {
    expect(findRefusedPaths(refusal, changed)).toEqual(refused);
  });

  test('in words of a form that nobody knows, a whole word is enough', () => {
    const own = { ...parseRefusal('remote: policy: "docs/a b.md" holds a number'), kind: 'content' } as const;
    expect(findRefusedPaths(own, ['docs/a b.md', 'b.md', 'docs'])).toEqual(['docs/a b.md']);
  });

  test.each([
    ['in a sentence', String.raw`remote: policy: "caf\303\251/a\"b.md" holds a number`],
    ['behind the word file', String.raw`remote: The file "caf\303\251/a\"b.md" holds a number`],
    [
      'on a line of its own',
      String.raw`remote: policy: a file holds a number:` + '\n' + String.raw`remote:   "caf\303\251/a\"b.md"`,
    ],
  ])('a name that git prints with numbers instead of letters is found %s', (_, words) => {
    const own = { ...parseRefusal(words), kind: 'content' } as const;
    expect(findRefusedPaths(own, ['café/a"b.md', 'b.md', 'cafe/a"b.md'])).toEqual(['café/a"b.md']);
  });

  test.each(['a', 'path ', 'File a is ', 'path: '])('a long line is read in linear time: %s', (word) => {
    expect(cpuMs(() => parseRefusal(`remote: ${word.repeat(30_000)}`))).toBeLessThan(1_000);
  });

  test('a refusal of the branch is about no file', () => {
    expect(findRefusedPaths(parseRefusal(ruleset('- Cannot update this protected ref.', '  a.ts')), ['a.ts'])).toEqual(
      [],
    );
  });
});

describe('a branch in the way', () => {
  test.each<[string, readonly string[], string | null]>([
    ['ralph/queue', ['main', 'ralph'], 'ralph'],
    ['ralph/queue', ['ralph/queue/foo'], 'ralph/queue/foo'],
    ['bots/ralph/queue', ['bots/ralph'], 'bots/ralph'],
    ['bots/ralph/queue', ['bots'], 'bots'],
    ['ralph/queue', ['Ralph', 'Ralph/Queue'], null],
    ['ralph/queue', ['ralph/queue'], null],
    ['ralph/queue', ['ralph/queue-2', 'ralphs', 'ralph/issue-1', 'queue'], null],
  ])('of %s among %j: %s', (branch, existing, other) => {
    expect(findConflictingBranch(branch, existing)).toBe(other);
  });
});
