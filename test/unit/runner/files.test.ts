import { createHash } from 'node:crypto';
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { checkChain } from '../../../src/core/journal/chain.ts';
import { createJournalFile } from '../../../src/runner/journal-file.ts';
import { addSummary, readInputTexts } from '../../../src/runner/results.ts';
import { readRunContext, formatUserAgent } from '../../../src/runner/run-context.ts';
import { readWorkspaceFile } from '../../../src/runner/workspace-files.ts';
import { UserError } from '../../../src/errors.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-files-'));
  mkdirSync(join(folder, 'workspace', '.ralph'), { recursive: true });
  writeFileSync(join(folder, 'secret'), 'secret');
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe('the journal', () => {
  test('grows line by line, and reports where it is once it has one', () => {
    const logged: string[] = [];
    const journal = createJournalFile(folder, (path) => {
      logged.push(path);
    });
    expect([journal.path(), journal.hash()]).toEqual([null, null]);
    journal.append('{"a":1}');
    journal.append('{"b":2}');
    const text = readFileSync(journal.path() ?? '', 'utf8');
    expect(text).toMatch(/^\{"prev":"0{64}","a":1\}\n\{"prev":"[0-9a-f]{64}","b":2\}\n$/);
    const sha256 = (line: string): string => createHash('sha256').update(line).digest('hex');
    expect(checkChain(text, sha256)).toEqual({ kind: 'intact', last: journal.hash() });
    expect(logged).toEqual([join(folder, 'journal.jsonl')]);
  });

  test('has the log beside it, up to a size, and none where it cannot be written', () => {
    const journal = createJournalFile(folder, () => undefined);
    const log = join(folder, 'journal.jsonl.log');
    journal.keepLog('Iteration 1');
    journal.keepLog('two\nlines');
    expect(readFileSync(log, 'utf8')).toBe('Iteration 1\ntwo\nlines\n');
    journal.keepLog('x'.repeat(21 * 1024 * 1024));
    journal.keepLog('later');
    expect(readFileSync(log, 'utf8')).toBe('Iteration 1\ntwo\nlines\n… The job log has the rest.\n');
    rmSync(log);
    symlinkSync(join(folder, 'secret'), log);
    createJournalFile(folder, () => undefined).keepLog('through a link');
    expect(readFileSync(join(folder, 'secret'), 'utf8')).toBe('secret');
  });
});

describe('a file of the workspace', () => {
  const read = (path: string, maxBytes = 100) => readWorkspaceFile(join(folder, 'workspace'), path, maxBytes);
  const at = (path: string) => join(folder, 'workspace', path);

  test('is read, at most its end', async () => {
    writeFileSync(at('.ralph/learnings.md'), '0123456789');
    expect(await read('.ralph/learnings.md')).toBe('0123456789');
    expect(await read('.ralph/learnings.md', 4)).toBe('6789');
  });

  test('that is empty is an empty text', async () => {
    writeFileSync(at('empty'), '');
    expect(await read('empty')).toBe('');
  });

  test('may be a link to another file of the workspace', async () => {
    writeFileSync(at('CLAUDE.md'), 'inside');
    symlinkSync('../CLAUDE.md', at('.ralph/PROMPT.md'));
    expect(await read('.ralph/PROMPT.md')).toBe('inside');
  });

  test.each<[string, () => string]>([
    ['does not exist', () => 'absent'],
    ['is a folder', () => '.ralph'],
    [
      'is a link out of the workspace',
      () => {
        symlinkSync('../secret', at('link'));
        return 'link';
      },
    ],
    [
      'is a link to the environment of this process',
      () => {
        symlinkSync('/proc/self/environ', at('link'));
        return 'link';
      },
    ],
    [
      'lies behind a folder that is a link out',
      () => {
        symlinkSync('..', at('up'));
        return 'up/secret';
      },
    ],
    [
      'is a link to a link out',
      () => {
        symlinkSync('../secret', at('b'));
        symlinkSync('b', at('a'));
        return 'a';
      },
    ],
    [
      'is a loop of links',
      () => {
        symlinkSync('loop', at('loop'));
        return 'loop';
      },
    ],
    ['is named from outside', () => '../secret'],
    [
      'is a pipe that nobody writes to',
      () => {
        execFileSync('mkfifo', [at('pipe')]);
        return 'pipe';
      },
    ],
    [
      'is a device',
      () => {
        symlinkSync('/dev/zero', at('zero'));
        return 'zero';
      },
    ],
  ])('that %s does not count', async (_what, prepare) => {
    expect(await read(prepare())).toBeNull();
  });

  test('whose workspace lies next to one of a longer name is not mixed up with it', async () => {
    mkdirSync(join(folder, 'workspace-2'));
    writeFileSync(join(folder, 'workspace-2', 'x'), 'x');
    symlinkSync('../workspace-2/x', at('x'));
    expect(await read('x')).toBeNull();
  });
});

describe("the runner's variables", () => {
  const environment = () => {
    writeFileSync(join(folder, 'event.json'), '{"action":"labeled"}');
    return {
      GITHUB_REPOSITORY: 'acme/shop',
      GITHUB_WORKSPACE: '/workspace',
      RUNNER_TEMP: '/temp',
      GITHUB_SERVER_URL: 'https://github.test/',
      GITHUB_API_URL: 'https://api.github.test/',
      GITHUB_RUN_ID: '42',
      GITHUB_EVENT_NAME: 'issues',
      GITHUB_EVENT_PATH: join(folder, 'event.json'),
    };
  };

  test('say where the run happens', async () => {
    expect(await inOwnProcess({ ...environment(), GITHUB_RUN_ATTEMPT: '2', ANTHROPIC_API_KEY: 'key' })).toEqual({
      workspace: '/workspace',
      temp: '/temp',
      repository: { owner: 'acme', repo: 'shop' },
      serverUrl: 'https://github.test',
      apiUrl: 'https://api.github.test',
      runId: '42',
      runAttempt: 2,
      runUrl: 'https://github.test/acme/shop/actions/runs/42',
      logUrl: 'https://github.test/acme/shop/actions/runs/42',
      runnerName: '',
      workflowPath: null,
      event: { name: 'issues', payload: { action: 'labeled' } },
    });
  });

  test.each([
    ['acme/shop/.github/workflows/ralph.yml@refs/heads/main', '.github/workflows/ralph.yml'],
    ['acme/shop/.github/workflows/my ralph.yaml@refs/pull/3/merge', '.github/workflows/my ralph.yaml'],
    ['acme/shop', null],
    ['', null],
  ])('name the workflow: %j is of %j', async (reference, workflowPath) => {
    expect(await inOwnProcess({ ...environment(), GITHUB_WORKFLOW_REF: reference })).toMatchObject({ workflowPath });
  });

  test('that are missing are named all at once', async () => {
    const names = Object.keys(environment());
    const message = await messageOf(readRunContext({}));
    for (const name of names) expect(message).toContain(`- ${name} is not set`);
    expect(message.split('\n')).toHaveLength(1 + names.length);
  });

  test.each([
    ['GITHUB_REPOSITORY', 'shop', /"shop": expected owner\/name/],
    ['GITHUB_REPOSITORY', 'a/b/c', /expected owner\/name/],
    ['GITHUB_EVENT_PATH', '/nowhere/event.json', /there is no such file/],
  ])('%s=%s is refused', async (name, value, message) => {
    expect(await messageOf(readRunContext({ ...environment(), [name]: value }))).toMatch(message);
  });

  test('an event file that is not JSON is refused', async () => {
    const given = environment();
    writeFileSync(given.GITHUB_EVENT_PATH, '{"action":');
    expect(await inOwnProcess(given)).toMatch(/event\.json": not a JSON file \(.*JSON/);
  });

  test('an event path that is a folder is refused', async () => {
    expect(await inOwnProcess({ ...environment(), GITHUB_EVENT_PATH: folder })).toContain(
      `- GITHUB_EVENT_PATH is "${folder}": not a JSON file`,
    );
  });

  test('an event that is larger than any is refused unread', async () => {
    const given = environment();
    truncateSync(given.GITHUB_EVENT_PATH, 25 * 1024 * 1024 + 1);
    expect(await messageOf(readRunContext(given))).toContain('26214401 bytes is more than an event can have');
  });
});

test.each([
  [undefined, 'ralph-action'],
  ['  ', 'ralph-action'],
  ['a1b2.main.__default ', 'ralph-action actions_orchestration_id/a1b2.main.__default'],
  ['a b\n(c)', 'ralph-action actions_orchestration_id/a_b__c_'],
])('the orchestration id %j of the job is in the user agent', (id, expected) => {
  expect(formatUserAgent({ ACTIONS_ORCHESTRATION_ID: id })).toBe(expected);
});

test('inputs come under the names that the runner gives them', () => {
  expect(readInputTexts({ 'INPUT_MAX-ITERATIONS': '5', INPUT_MAX_ITERATIONS: '6', 'INPUT_MAX-PATCH-KIB': '' })).toEqual(
    { 'max-iterations': '5', max_iterations: '6', 'max-patch-kib': '' },
  );
});

describe('the summary', () => {
  test('is added to what is there', () => {
    const file = join(folder, 'summary.md');
    writeFileSync(file, 'main\n');
    addSummary('post', file);
    expect(readFileSync(file, 'utf8')).toBe('main\npost\n');
  });

  test('is left out when the runner would drop all of it', () => {
    const file = join(folder, 'summary.md');
    writeFileSync(file, 'main\n');
    addSummary('ä'.repeat(500_000), file);
    expect(readFileSync(file, 'utf8')).toBe('main\n');
  });

  test.each([undefined, ''])('without a file (%j) goes nowhere, without a word', (file) => {
    expect(
      wordsOf(() => {
        addSummary('x', file);
      }),
    ).toBe('');
  });

  test.each<[string, () => string, string]>([
    ['whose folder is gone', () => '/nowhere/summary.md', 'ENOENT: no such file or directory'],
    ['on a full disk', () => '/dev/full', 'ENOSPC: no space left on device'],
    ['that is a folder', () => folder, 'EISDIR: illegal operation on a directory'],
    ['that is a named pipe', makePipe, 'its file is a named pipe'],
  ])('in a file %s is one plain sentence in the log', (_, file, why) => {
    const words = wordsOf(() => {
      addSummary('x', file());
    });
    expect(words).toMatch(
      /^::warning::The job summary could not be written: [^\n]+\. Nothing else of this run depends on it\.\n$/,
    );
    expect(words).toContain(why);
  });
});

/** Returns the text written to the log during a call. */
function wordsOf(act: () => void): string {
  const written = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  act();
  return written.mock.calls.map(([text]) => String(text)).join('');
}

function makePipe(): string {
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  return path;
}

/**
 * Returns the context, or the message of its refusal, in a process with this environment: the toolkit reads the
 * environment only once.
 */
async function inOwnProcess(environment: Readonly<Record<string, string>>): Promise<unknown> {
  const source = (path: string) => JSON.stringify(new URL(`../../../src/${path}`, import.meta.url).href);
  const code = `const { readRunContext } = await import(${source('runner/run-context.ts')});
    console.log(JSON.stringify(await readRunContext(process.env).catch(({ message }) => message)));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], {
    env: environment,
  });
  return JSON.parse(stdout);
}

async function messageOf(promise: Promise<unknown>): Promise<string> {
  const error: unknown = await promise.then(
    () => new Error('Nothing was thrown.'),
    (reason: unknown) => reason,
  );
  if (error instanceof UserError) return error.message;
  throw error;
}
