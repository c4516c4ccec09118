import { randomBytes } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { addCheck, type ReportedCheck } from '../../../../testbed/github/feedback/checks.ts';
import { zipOf } from '../../../../testbed/github/feedback/log-storage.ts';
import type { StoredLog } from '../../../../testbed/github/feedback/stored.ts';
import type { TokenIdentity } from '../../../../testbed/github/route.ts';
import { MAX_TAIL_CHARS, MAX_TAIL_LINES } from '../../../../src/core/feedback/checks/log-tail.ts';
import type { CheckDetails, CheckNow } from '../../../../src/core/feedback/pull-request-now.ts';
import { type ForgeFixture, now, openForge, TOKEN } from '../github-fixture.ts';

const HEAD = 'b'.repeat(40);
const MEBIBYTE = 1024 * 1024;
const everything: TokenIdentity['permissions'] = { metadata: 'read', checks: 'read', actions: 'read' };
const LINE = '2026-11-21T12:00:11.0000000Z';

describe('a failed job', () => {
  test('gives its name, the step, annotations and what the step wrote, with three requests and a download', async () => {
    await using at = await open();
    const details = await detailsOf(at, {
      annotations: [{ path: 'src/a.ts', line: 7, level: 'failure', message: 'Expected 2' }],
      steps: [
        { name: 'Set up job', lines: ['Current runner version'] },
        { name: 'Run npm ci', lines: ['added 7 packages'] },
        { name: 'Run npm test', conclusion: 'failure', lines: ['##[group]Run npm test', 'not ok', '##[error]exit 1'] },
        { name: 'Report', conclusion: 'failure', lines: ['nothing to report'] },
      ],
    });
    expect(details).toEqual({
      job: 'test (24)',
      step: 'Run npm test',
      annotations: [{ path: 'src/a.ts', line: 7, level: 'failure', message: 'Expected 2' }],
      log: '##[group]Run npm test\nnot ok\n##[error]exit 1',
      missing: null,
    });
    expect(at.sent()).toEqual([
      expect.stringMatching(/^GET \/check-runs\/\d+\/annotations\?per_page=50$/),
      expect.stringMatching(/^GET \/actions\/jobs\/\d+$/),
      expect.stringMatching(/^GET \/actions\/jobs\/\d+\/logs$/),
    ]);
    expect(at.forge.requests().sent).toBe(3);
  });

  test('has its log read without the token', async () => {
    await using at = await open();
    await detailsOf(at, {});
    expect(at.github.logStorage.requests).toHaveLength(1);
    expect(JSON.stringify(at.github.logStorage.requests)).not.toContain(TOKEN);
    expect(at.github.logStorage.requests[0]).not.toHaveProperty('authorization');
  });

  test('that ran out of time names the step that was cancelled', async () => {
    await using at = await open();
    expect(await detailsOf(at, { conclusion: 'TIMED_OUT' })).toMatchObject({ step: 'Run npm test' });
  });

  test('has 50 annotations at most', async () => {
    await using at = await open();
    const annotations = Array.from({ length: 70 }, (_none, line) => ({
      ...{ path: 'a.ts', line, message: 'Wrong' },
      level: 'warning' as const,
    }));
    expect((await detailsOf(at, { annotations })).annotations).toHaveLength(50);
  });
});

describe('a log', () => {
  const lines = ['one', 'twö', 'three'].map((text) => `${LINE} ${text}\n`).join('');

  test.each<[string, StoredLog]>([
    ['text', { kind: 'text', content: lines }],
    ['text with a byte order mark', { kind: 'text', content: `\uFEFF${lines}` }],
    ['an archive', { kind: 'zip', content: lines }],
    ['an archive that nothing announces', { kind: 'text', content: zipOf(Buffer.from(lines)) }],
    ['an archive whose sizes follow', { kind: 'text', content: withFlags(zipOf(Buffer.from(lines)), 1 << 3) }],
    ['an archive that is not packed', { kind: 'text', content: storedZip(Buffer.from(lines)) }],
  ])('comes as %s', async (_what, log) => {
    await using at = await open();
    expect(await detailsOf(at, { log })).toMatchObject({ log: 'one\ntwö\nthree', missing: null });
  });

  test('of no line is empty', async () => {
    await using at = await open();
    expect(await detailsOf(at, { log: { kind: 'text', content: '' } })).toMatchObject({ log: '', missing: null });
  });

  test.each(['text', 'zip'] as const)('of 10 MiB as %s leaves its end', async (kind) => {
    await using at = await open();
    const content = Buffer.from(`${`${LINE} ${'x'.repeat(90)}\n`.repeat(90_000)}${LINE} the end\n`);
    expect(content.length).toBeGreaterThan(10 * MEBIBYTE);
    const details = await detailsOf(at, { log: { kind, content } });
    expect(details.log?.split('\n')).toHaveLength(MAX_TAIL_LINES);
    expect(details.log?.split('\n').at(-1)).toBe('the end');
    expect(details.missing).toBeNull();
  });

  const manyLines = `${'x'.repeat(99)}\n`;
  test.each<[string, StoredLog]>([
    ['text without an end', { kind: 'endless', content: manyLines.repeat(1000) }],
    ['a small archive', { kind: 'zip', content: Buffer.alloc(80 * MEBIBYTE, manyLines) }],
  ])('of more than 64 MiB, as %s, is left there', async (_what, log) => {
    await using at = await open();
    const details = await detailsOf(at, { log });
    expect(details.missing).toBe('The log of the job is larger than 64 MiB: its end is missing.');
    expect(details.log?.length).toBeLessThanOrEqual(MAX_TAIL_CHARS);
  });

  test('that does not end is left after its time', async () => {
    await using at = await open({ downloadMs: 300 });
    const details = await detailsOf(at, { log: { kind: 'never-ends', content: `${LINE} begun\n` } });
    expect(details).toMatchObject({
      log: 'begun',
      missing: 'The log of the job did not arrive within 0.3 s: its end is missing.',
    });
  });

  test.each<[string, Buffer, string]>([
    ['is damaged', damaged(), 'its content is damaged'],
    ['is encrypted', withFlags(zipOf(Buffer.from('x')), 1), 'it is encrypted'],
    ['is packed in a way of its own', withMethod(zipOf(Buffer.from('x')), 93), 'it is packed in an unusual way'],
  ])('in an archive that %s is missing', async (_what, content, why) => {
    await using at = await open();
    expect((await detailsOf(at, { log: { kind: 'text', content } })).missing).toBe(
      `The log of the job is an archive that cannot be read: ${why}.`,
    );
  });
});

describe('what cannot be read is missing, and said to be', () => {
  test.each<[string, TokenIdentity['permissions'], RegExp, Partial<CheckDetails>]>([
    [
      'without `actions: read`: job and log',
      { metadata: 'read', checks: 'read' },
      /^GitHub did not let us read a failed job in octo\/demo \(403 [^)]+\)\. Add `actions: read` .+ GitHub did not let us read the log of a failed job/,
      { job: null, step: null, log: null, annotations: [expect.anything()] },
    ],
    [
      'without `checks: read`: annotations',
      { metadata: 'read', actions: 'read' },
      /^GitHub did not let us read the annotations of a check in octo\/demo \(403 [^)]+\)\. Add `checks: read`/,
      { job: 'test (24)', annotations: [], log: expect.stringContaining('not ok') },
    ],
  ])('%s', async (_what, permissions, missing, rest) => {
    await using at = await open({ permissions });
    const details = await detailsOf(at, {
      log: 'not ok',
      annotations: [{ path: 'a', line: 1, level: 'failure', message: 'x' }],
    });
    expect(details).toMatchObject({ ...rest, missing: expect.stringMatching(missing) });
    expect(at.sent()).toHaveLength(3);
  });

  test('a log that GitHub keeps no longer', async () => {
    await using at = await open();
    const details = await detailsOf(at, { log: { kind: 'expired' } });
    expect(details).toMatchObject({ job: 'test (24)', log: null });
    expect(details.missing).toMatch(/^GitHub did not let us read the log of a failed job in octo\/demo/);
  });

  test('a log whose storage refuses, without its address', async () => {
    await using at = await open();
    at.github.faults.inject(redirectTo(`${at.github.logStorage.url}/logs/1?sig=secret`));
    const { missing, log } = await detailsOf(at, {});
    expect({ missing, log }).toEqual({
      missing: 'The log of the job cannot be downloaded: its storage answers 403.',
      log: '',
    });
  });

  test.each([
    ['nowhere', undefined, 'GitHub does not say where the log of the job is.'],
    ['a file', 'file:///etc/passwd', 'GitHub does not say where the log of the job is.'],
  ])('a log that GitHub calls %s', async (_what, location, missing) => {
    await using at = await open();
    at.github.faults.inject(redirectTo(location));
    expect((await detailsOf(at, {})).missing).toBe(missing);
  });

  test('a log whose storage cannot be reached, without its address', async () => {
    await using at = await open();
    at.github.faults.inject(redirectTo('http://127.0.0.1:1/logs/1?sig=secret'));
    const { missing } = await detailsOf(at, {});
    expect(missing).toMatch(/^The log of the job could not be downloaded: .+\.$/);
    expect(missing).not.toContain('secret');
  });

  test('nothing is asked again', async () => {
    await using at = await open();
    at.github.faults.inject({
      match: { path: /jobs|check-runs/ },
      times: 9,
      effect: { kind: 'answer', status: 502, body: {} },
    });
    expect(await detailsOf(at, {})).toMatchObject({ job: null, log: null, annotations: [] });
    expect(at.sent()).toHaveLength(3);
  });
});

describe('of other checks there is less', () => {
  test("an app's has its annotations, with one request", async () => {
    await using at = await open();
    const details = await detailsOf(at, {
      workflow: null,
      app: 'lint-app',
      annotations: [{ path: 'a.ts', line: 2, level: 'notice', message: 'Hm' }],
    });
    expect(details).toEqual({
      job: null,
      step: null,
      annotations: [{ path: 'a.ts', line: 2, level: 'notice', message: 'Hm' }],
      log: null,
      missing: null,
    });
    expect(at.sent()).toHaveLength(1);
  });

  test.each(['status', 'workflow'] as const)('a %s has nothing, and nothing is asked', async (of) => {
    await using at = await open();
    const check = { ...checkOf(7), of, id: null };
    expect(await at.forge.checkDetails(check)).toEqual({
      ...{ job: null, step: null, log: null, missing: null },
      annotations: [],
    });
    expect(at.sent()).toEqual([]);
  });
});

function open(
  options: { readonly permissions?: TokenIdentity['permissions']; readonly downloadMs?: number } = {},
): Promise<ForgeFixture> {
  return openForge({ permissions: everything, ...options });
}

/** Reports a failed check and returns its details. */
function detailsOf(at: ForgeFixture, check: Partial<ReportedCheck>): Promise<CheckDetails> {
  const { id } = addCheck(at.github.state, { head: HEAD, name: 'test (24)', conclusion: 'FAILURE', ...check }, now);
  return at.forge.checkDetails(checkOf(id, check.workflow === null ? 'lint-app' : 'github-actions'));
}

function checkOf(id: number, app = 'github-actions'): CheckNow {
  return {
    of: 'check-run',
    id,
    name: 'test (24)',
    app,
    workflow: null,
    result: 'failed',
    conclusion: 'failure',
    summary: '',
    url: null,
    began: null,
    at: now,
  };
}

function redirectTo(location: string | undefined): Parameters<ForgeFixture['github']['faults']['inject']>[0] {
  return {
    match: { path: /\/logs$/ },
    times: 1,
    effect: {
      kind: 'answer',
      status: 302,
      body: undefined,
      ...(location === undefined ? {} : { headers: { location } }),
    },
  };
}

function withFlags(zip: Buffer, flags: number): Buffer {
  zip.writeUInt16LE(flags, 6);
  return zip;
}

function withMethod(zip: Buffer, method: number): Buffer {
  zip.writeUInt16LE(method, 8);
  return zip;
}

function storedZip(content: Buffer): Buffer {
  const packed = zipOf(content);
  const header = packed.subarray(0, 30 + packed.readUInt16LE(26));
  header.writeUInt16LE(0, 8);
  header.writeUInt32LE(content.length, 18);
  return Buffer.concat([header, content, Buffer.from('PK\x01\x02 the rest')]);
}

function damaged(): Buffer {
  const zip = zipOf(randomBytes(4096));
  const header = zip.subarray(0, 30 + zip.readUInt16LE(26));
  return Buffer.concat([header, Buffer.alloc(4096, 0xff), deflateRawSync('x')]);
}
